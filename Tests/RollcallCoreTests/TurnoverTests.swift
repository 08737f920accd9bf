import Testing

@testable import RollcallCore

/// What receivers hear of who left and who is back. Source: R1.
///
/// Three people of one region are heard at 0 s. 1 falls silent, so that it fires at 180 s; 3 goes on
/// reporting.
@Suite struct TurnoverTests {
    private static let rules = "rate off flapping off noonline off offline on"
    private static let fired = "180 chat fired ResponderOffline#1(north)"

    private static func receiver(
        _ name: String = "chat", _ kind: ReceiverKind = .webhook, escalateAfter: Int64 = 0
    ) -> Receiver {
        var receiver = Receiver.named(name, kind)
        receiver.escalateAfter = .seconds(escalateAfter)
        return receiver
    }

    private static func stage(
        _ receivers: Receiver..., rules: String = TurnoverTests.rules, lastOf2: Int64 = 100,
        names: Int = 10
    ) throws -> NoticeStage {
        var stage = try NoticeStage(receivers, rules)
        stage.engine.policy.alerts.namesMax = names
        try stage.report("1,2,3", at: 0)
        try stage.report("2", at: lastOf2)
        try stage.report("3", at: 101)
        stage.pass(to: 180)
        return stage
    }

    @Test func `R1: a message tells who left, the next who is back and what it was`() throws {
        var stage = try Self.stage(Self.receiver())
        try stage.report("3", at: 190)
        try stage.report("3", at: 270)
        stage.pass(to: 281)
        try stage.report("1", at: 290)
        stage.pass(to: 315)
        try stage.report("2", at: 320)
        #expect(
            stage.notified == [
                Self.fired, "280 chat repeated ResponderOffline#1(north)",
                "310 chat repeated ResponderOffline#1(north)",
                "320 chat resolved ResponderOffline#1(north)",
            ])
        #expect(
            stage.summaries == [
                "north: 1 of 3 OFFLINE: 1 (unexplained)",
                "north: 2 of 3 OFFLINE; left: 2 (unexplained)",
                "north: 1 of 3 OFFLINE; 1 back after 110 s: it was unexplained",
                "Over: north: nobody is OFFLINE any more; 2 back after 40 s: it was unexplained",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R1: who left and is back within the half minute is said in one`() throws {
        var stage = try Self.stage(Self.receiver(), lastOf2: 5)
        stage.pass(to: 190)
        try stage.report("2,3", at: 197)
        stage.pass(to: 209)
        #expect(stage.notified.count == 1)
        stage.pass(to: 260)
        #expect(stage.notified.last == "210 chat repeated ResponderOffline#1(north)")
        #expect(
            stage.summaries.last
                == "north: 1 of 3 OFFLINE; 2 was out for 12 s: it was unexplained")
        #expect(stage.notified.count == 2)
    }

    @Test func `R1: each receiver has its own half minute, from its first message on`() throws {
        var stage = try Self.stage(
            Self.receiver(), Self.receiver("boss", escalateAfter: 10), lastOf2: 20)
        stage.pass(to: 260)
        #expect(
            stage.notified == [
                Self.fired, "190 boss fired ResponderOffline#1(north)",
                "210 chat repeated ResponderOffline#1(north)",
                "220 boss repeated ResponderOffline#1(north)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R1, R2: a take holds it, and its end tells all that changed`() throws {
        var stage = try Self.stage(Self.receiver())
        let until = Timestamp(milliseconds: NoticeStage.zero.milliseconds + 400_000)
        let take = Take(incident: 1, by: Array("kim".utf8), until: until)
        _ = stage.fold(.take(.begin(take)), at: 185)
        for second in [190, 270, 350] { try stage.report("3", at: Int64(second)) }
        stage.pass(to: 399)
        #expect(stage.notified == [Self.fired])
        stage.pass(to: 405)
        #expect(stage.notified.last == "400 chat repeated ResponderOffline#1(north)")
        #expect(stage.summaries.last == "north: 2 of 3 OFFLINE; left: 2 (unexplained)")
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R1, A7: what changes in a silence is told within half a minute of its end`() throws
    {
        var stage = try Self.stage(Self.receiver())
        _ = stage.silence([.of("alertname", "ResponderOffline")], from: 185, until: 395)
        for second in [190, 270, 350] { try stage.report("3", at: Int64(second)) }
        stage.pass(to: 430)
        #expect(
            stage.notified == [Self.fired, "400 chat repeated ResponderOffline#1(north)"])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R1, A6: that nobody at all is ONLINE says more`() throws {
        var stage = try Self.stage(
            Self.receiver(), rules: "rate off flapping off noonline for=0s offline on")
        #expect(
            stage.notified == [
                "90 chat fired NoOnlineResponders#1(north)",
                "180 chat not told ResponderOffline#2: by NoOnlineResponders",
            ])

        stage = try Self.stage(
            Self.receiver(), rules: "rate off flapping off noonline for=60s,keep=0s offline on")
        stage.pass(to: 299)
        try stage.report("3", at: 300)
        stage.pass(to: 330)
        #expect(
            stage.notified == [
                Self.fired, "251 chat fired NoOnlineResponders#2(north)",
                "300 chat resolved NoOnlineResponders#2(north)",
                "310 chat repeated ResponderOffline#1(north)",
            ])
        #expect(
            stage.summaries.last
                == "north: 2 of 3 OFFLINE; left: 2 (unexplained); "
                + "3 was out for 19 s: it was unexplained")
    }

    @Test func `R1: a restart forgets nobody who left or came back`() throws {
        var stage = try Self.stage(Self.receiver(), lastOf2: 5)
        stage.pass(to: 190)
        try stage.report("2,3", at: 197)
        try stage.restore()
        #expect(stage.engine.brokenInvariants() == [])
        _ = stage.fold(.start(), at: 200)
        stage.pass(to: 250)
        #expect(stage.notified.last == "210 chat repeated ResponderOffline#1(north)")
        #expect(
            stage.summaries.last
                == "north: 1 of 3 OFFLINE; 2 was out for 12 s: it was unexplained")
    }

    @Test func `R1: somebody who waits to be counted does so after a restart`() throws {
        var stage = try Self.stage(
            Self.receiver(), rules: "rate off flapping off noonline off offline on,for=30s")
        try stage.restore()
        try stage.report("3", at: 190)
        stage.pass(to: 220)
        #expect(stage.notified == ["210 chat fired ResponderOffline#1(north)"])
        try stage.restore()
        #expect(stage.engine.aggregates.missed == 1)
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R1: as many are named as may be, and the rest is counted`() throws {
        for names in [2, 0] {
            var stage = try NoticeStage([Self.receiver()], Self.rules)
            stage.engine.policy.alerts.namesMax = names
            try stage.report("a", at: 0)
            try stage.report("b1,b2,b3,b4", at: 60)
            stage.pass(to: 250)
            let said = stage.summaries.last?.split(separator: ";").map { part in
                part.prefix { $0 != "(" }.trimmed
            }
            #expect(
                said == [
                    "north: 5 of 5 OFFLINE", names > 0 ? "left: b4" : "4 left",
                ] + (names > 0 ? ["2 more left"] : []))
        }
    }

    @Test func `R1: who is erased is named no more`() throws {
        var stage = try Self.stage(Self.receiver(), lastOf2: 5)
        stage.pass(to: 190)
        _ = stage.fold(.erase(.id(Array("2".utf8)), source: []), at: 200)
        stage.pass(to: 260)
        #expect(stage.summaries.last == "north: 1 of 2 OFFLINE; 1 left")
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R1: while it is kept firing it tells that everybody is back`() throws {
        var stage = try Self.stage(
            Self.receiver(), rules: "rate off flapping off noonline off offline on,keep=300s")
        for second in [190, 270, 350, 430] { try stage.report("1,2,3", at: Int64(second)) }
        stage.pass(to: 495)
        #expect(
            stage.summaries.dropFirst() == [
                "north: 0 of 3 OFFLINE; 1 back after 10 s: it was unexplained",
                "Over: north: nobody is OFFLINE any more",
            ])
        #expect(
            stage.notified.dropFirst() == [
                "210 chat repeated ResponderOffline#1(north)",
                "490 chat resolved ResponderOffline#1(north)",
            ])
    }

    @Test func `R1: a person who works elsewhere is not back there`() throws {
        var stage = try Self.stage(Self.receiver(), lastOf2: 5)
        stage.pass(to: 190)
        let body = #"[{"responder_id":"2","region":"south"}]"#
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .responder)
        _ = stage.fold(.items(scan.items, source: []), at: 200)
        stage.pass(to: 215)
        let south = "south: 1 of 1 OFFLINE: 2 (unexplained)"
        #expect(
            stage.summaries.dropFirst() == [
                south, "north: 1 of 2 OFFLINE; 2 is not expected there any more", south,
            ])
    }

    @Test func `R1: the verdict takes the place of what was suspected`() {
        var turnover = Turnover()
        turnover.leave(Absentee(number: 7, cause: .lowPower), most: 3)
        turnover.comeBack(
            Absentee(number: 7, cause: .lowPower, absence: .seconds(240), isBack: true), most: 3)
        turnover.learn(.network, 7)
        let news = turnover.news(since: Turnover.Mark(left: 1, back: 0))
        #expect(news.back.map(\.verdict) == [.network])
        #expect(news.left.isEmpty && news.moreLeft == 0 && news.moreBack == 0)
        for number in 0..<100 { turnover.leave(Absentee(number: number), most: 3) }
        let many = turnover.news(since: turnover.mark)
        #expect(many == TurnoverFacts())
        let all = turnover.news(since: Turnover.Mark())
        #expect(all.left.map(\.number) == [97, 98, 99])
        #expect((all.moreLeft, all.moreBack) == (98, 0))
    }

    @Test func `R1: a notice comes out of the journal with all that it says of people`() {
        var member = NoticeMember()
        member.name = .responderOffline
        member.facts.people = [4, 5]
        member.facts.memberCauses = [.lowPower, .noNetwork]
        var turnover = TurnoverFacts()
        turnover.left = [Absentee(number: 3, cause: .batteryEmpty)]
        turnover.back = [
            Absentee(number: 9, cause: .noNetwork, absence: .seconds(61), isBack: true)
        ]
        (turnover.moreLeft, turnover.moreBack) = (7, 8)
        member.facts.turnover = turnover
        let other = NoticeMember()
        let notice = Notice(
            number: 7, receiver: Array("chat".utf8), kind: .repeated, members: [other, member])
        #expect(Notice(journalBytes: notice.journalBytes) == notice)
    }
}

extension Substring {
    /// Without the spaces around it.
    fileprivate var trimmed: String { split(separator: " ").joined(separator: " ") }
}
