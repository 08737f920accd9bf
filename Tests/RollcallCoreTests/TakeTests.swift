import Testing

@testable import RollcallCore

/// Who sees to an incident, and who is told because nobody does. Source: R2.
///
/// One person of one region falls silent at 0 s, so that the region's page is decided at 150 s.
@Suite struct TakeTests {
    private static let rules = "rate off flapping off noonline keep=0s"
    private static let page = "NoOnlineResponders#1(north)"

    private static func receiver(
        _ name: String = "oncall", _ kind: ReceiverKind = .webhook, escalateAfter: Int64 = 0,
        repeats: Int64 = 600
    ) -> Receiver {
        var receiver = Receiver.named(name, kind)
        receiver.escalateAfter = .seconds(escalateAfter)
        receiver.repeatInterval = .seconds(repeats)
        return receiver
    }

    private static func stage(_ receivers: Receiver...) throws -> NoticeStage {
        var stage = try NoticeStage(receivers, rules)
        try stage.report("1", at: 0)
        stage.pass(to: 160)
        return stage
    }

    private static func wall(_ second: Int64) -> Timestamp {
        Timestamp(milliseconds: NoticeStage.zero.milliseconds + second * 1000)
    }

    /// Kim takes an incident.
    @discardableResult
    private static func take(
        _ stage: inout NoticeStage, _ incident: Int64 = 1, at second: Int64, until: Int64
    ) -> Receipt {
        let take = Take(incident: incident, by: Array("kim".utf8), until: wall(until))
        return stage.fold(.take(.begin(take)), at: second)
    }

    @discardableResult
    private static func giveBack(
        _ stage: inout NoticeStage, _ incident: Int64 = 1, at second: Int64
    ) -> Receipt { stage.fold(.take(.end(incident)), at: second) }

    // MARK: - Repeats

    @Test func `R2: what is taken is not repeated until the take ends, then as it was due`() throws
    {
        var stage = try Self.stage(Self.receiver())
        let receipt = Self.take(&stage, at: 200, until: 1000)
        #expect((receipt.taken, receipt.accepted) == (1, 1))
        stage.pass(to: 999)
        #expect(stage.notified == ["150 oncall fired \(Self.page)"])
        stage.pass(to: 1700)
        #expect(
            stage.notified.dropFirst() == [
                "1000 oncall repeated \(Self.page)", "1600 oncall repeated \(Self.page)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R2: a take that ends before the next repeat changes nothing`() throws {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 700)
        stage.pass(to: 800)
        #expect(
            stage.notified == [
                "150 oncall fired \(Self.page)", "750 oncall repeated \(Self.page)",
            ])
    }

    @Test func `R2: what is given back is repeated when it is due, at once if it was`()
        throws
    {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 5000)
        #expect(Self.giveBack(&stage, at: 900).taken == 1)
        Self.take(&stage, at: 1000, until: 5000)
        Self.giveBack(&stage, at: 1100)
        stage.pass(to: 1600)
        #expect(
            stage.notified.dropFirst() == [
                "900 oncall repeated \(Self.page)", "1500 oncall repeated \(Self.page)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R2: the end of what was taken is told, and the next firing is nobody's`() throws {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 5000)
        try stage.report("1", at: 900)
        #expect(stage.notified.last == "900 oncall resolved \(Self.page)")
        #expect(Self.giveBack(&stage, at: 901).takeFault == .resolved)
        stage.pass(to: 1700)
        #expect(
            stage.notified.suffix(2) == [
                "1050 oncall fired NoOnlineResponders#2(north)",
                "1650 oncall repeated NoOnlineResponders#2(north)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R2: a second take replaces the first, whether it ends sooner or later`() throws {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 5000)
        Self.take(&stage, at: 300, until: 900)
        stage.pass(to: 1000)
        #expect(stage.notified.last == "900 oncall repeated \(Self.page)")
        Self.take(&stage, at: 1000, until: 1400)
        Self.take(&stage, at: 1100, until: 2000)
        stage.pass(to: 1999)
        #expect(stage.notified.count == 2)
        stage.pass(to: 2000)
        #expect(stage.notified.last == "2000 oncall repeated \(Self.page)")
    }

    @Test func `R2: a take holds for twelve hours at most`() throws {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 90_000)
        let take = stage.engine.alerting.notifications.take(of: 1, at: stage.engine.clock.now)
        #expect(take?.until == Self.wall(200 + 12 * 3600))
        stage.pass(to: 200 + 12 * 3600)
        #expect(stage.notified.last == "43400 oncall repeated \(Self.page)")
        #expect(
            stage.engine.alerting.notifications.take(of: 1, at: stage.engine.clock.now) == nil)
    }

    @Test func `R2, F9: a step of the wall does not move the end of a take`() throws {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 1000)
        _ = stage.fold(.clock(step: .seconds(3600)), at: 300)
        stage.pass(to: 999)
        #expect(stage.notified == ["150 oncall fired \(Self.page)"])
        stage.pass(to: 1000)
        #expect(stage.notified.count == 2)
    }

    @Test func `R2: a group's repeat leaves out what is taken`() throws {
        var stage = try NoticeStage([Self.receiver()], Self.rules)
        try stage.report("1", at: 0)
        try stage.report("2", in: "south", at: 100)
        stage.pass(to: 260)
        Self.take(&stage, at: 300, until: 5000)
        stage.pass(to: 900)
        #expect(
            stage.notified == [
                "150 oncall fired NoOnlineResponders#1(north)",
                "250 oncall fired NoOnlineResponders#2(south)",
                "850 oncall repeated NoOnlineResponders#2(south)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    // MARK: - Escalation

    @Test func `R2: who is to be told of what nobody takes is told then, and of the end`() throws {
        var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        stage.pass(to: 449)
        #expect(stage.notified == ["150 oncall fired \(Self.page)"])
        stage.pass(to: 450)
        try stage.report("1", at: 500)
        #expect(
            stage.notified.dropFirst() == [
                "450 boss fired \(Self.page)", "500 oncall resolved \(Self.page)",
                "500 boss resolved \(Self.page)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R2: who escalates is not told of what somebody has taken, nor of its end`() throws {
        var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        Self.take(&stage, at: 449, until: 3000)
        stage.pass(to: 2000)
        try stage.report("1", at: 2100)
        #expect(!stage.notified.contains { $0.contains("boss") })
    }

    @Test(arguments: [(400, 450), (1000, 1000)] as [(Int64, Int64)])
    func `R2: once nobody has it any more, escalation goes on`(
        end: Int64, told: Int64
    ) throws {
        for isGivenBack in [false, true] {
            var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
            Self.take(&stage, at: 200, until: isGivenBack ? 5000 : end)
            if isGivenBack { Self.giveBack(&stage, at: end) }
            stage.pass(to: 1049)
            #expect(
                stage.notified.filter { $0.contains("boss") } == [
                    "\(told) boss fired \(Self.page)"
                ])
            #expect(stage.engine.brokenInvariants() == [])
        }
    }

    @Test func `R2: what is over before it escalates is told to those who know it alone`() throws {
        var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        try stage.report("1", at: 440)
        stage.pass(to: 500)
        #expect(!stage.notified.contains { $0.contains("boss") })
    }

    @Test func `R2, A7: what is silenced when it escalates is told when the silence ends`() throws {
        var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        _ = stage.silence([.of("alertname", "NoOnlineResponders")], from: 200, until: 600)
        stage.pass(to: 700)
        #expect(
            stage.notified.dropFirst() == [
                "450 boss not told NoOnlineResponders#1: silence 1", "600 boss fired \(Self.page)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test
    func `R2: what is taken while it is silenced waits for the take's end`()
        throws
    {
        var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        _ = stage.silence([.of("alertname", "NoOnlineResponders")], from: 200, until: 600)
        stage.pass(to: 460)
        Self.take(&stage, at: 500, until: 900)
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 899)
        #expect(stage.engine.brokenInvariants() == [])
        #expect(!stage.notified.contains { $0.contains("boss fired") })
        stage.pass(to: 900)
        #expect(stage.notified.contains("900 boss fired \(Self.page)"))
    }

    @Test func `R2: running time goes on while we are down, and a take too`() throws {
        var stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        try stage.restore()
        _ = stage.fold(.start(), at: 1000)
        #expect(stage.notified.contains("1000 boss fired \(Self.page)"))

        stage = try Self.stage(Self.receiver(), Self.receiver("boss", escalateAfter: 300))
        Self.take(&stage, at: 200, until: 900)
        try stage.restore()
        _ = stage.fold(.start(), at: 800)
        stage.pass(to: 899)
        #expect(stage.notified == ["150 oncall fired \(Self.page)"])
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 900)
        #expect(stage.notified.contains("900 boss fired \(Self.page)"))
    }

    @Test func `R2, D3: nothing is given to a fallback that somebody has taken`() throws {
        var oncall = Self.receiver()
        oncall.fallback = Array("duty".utf8)
        let never = LabelMatcher(name: [], values: [])
        var stage = try Self.stage(oncall, .named("duty", .webhook, [never]))
        Self.take(&stage, at: 200, until: 700)
        stage.pass(to: 699)
        #expect(stage.notified == ["150 oncall fired \(Self.page)"])
        stage.pass(to: 700)
        #expect(stage.notified.last == "700 duty fired \(Self.page) for oncall")
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test
    func `R2: whom a reload makes escalate is told in time what they do not know`()
        throws
    {
        var stage = try Self.stage(Self.receiver())
        var policy = stage.engine.policy
        policy.receivers.append(Self.receiver("boss", escalateAfter: 300))
        _ = stage.fold(.policy(policy), at: 200)
        #expect(!stage.notified.contains { $0.contains("boss") })
        stage.pass(to: 450)
        #expect(stage.notified.last == "450 boss fired \(Self.page)")
        policy.receivers.append(Self.receiver("chief", escalateAfter: 300))
        _ = stage.fold(.policy(policy), at: 500)
        #expect(stage.notified.last == "500 chief fired \(Self.page)")
    }

    @Test func `R2: whom a reload adds is told of what is taken, and not again until that ends`()
        throws
    {
        var stage = try Self.stage(Self.receiver())
        Self.take(&stage, at: 200, until: 2000)
        var policy = stage.engine.policy
        policy.receivers.append(Self.receiver("desk"))
        _ = stage.fold(.policy(policy), at: 300)
        stage.pass(to: 301)
        // The board knows when the next is due: it looks at nothing before.
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 2000)
        #expect(
            stage.notified.dropFirst() == [
                "300 desk fired \(Self.page)", "2000 oncall repeated \(Self.page)",
                "2000 desk repeated \(Self.page)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    // MARK: - Storms

    @Test func `R2, D11: who takes a storm has all of its alerts, and those that join`() throws {
        var stage = try NoticeStage(
            [Self.receiver("pager", .pagerduty), Self.receiver("boss", escalateAfter: 300)],
            Self.rules)
        stage.engine.policy.alerts.storm = 2
        for region in ["a", "b", "c"] { try stage.report(region, in: region, at: 0) }
        try stage.report("d", in: "d", at: 100)
        stage.pass(to: 160)
        stage.take(1, "pager", at: 170)
        #expect(Self.take(&stage, 4, at: 200, until: 2000).takeFault == nil)
        stage.pass(to: 1990)
        #expect(stage.engine.brokenInvariants() == [])
        try stage.restore()
        _ = stage.fold(.start(), at: 1999)
        stage.pass(to: 1999)
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 2000)
        let messages = stage.notified.filter { !$0.contains("not told") }
        #expect(
            messages == [
                "150 pager fired NoOnlineResponders#4",
                "2000 pager repeated NoOnlineResponders#4",
                "2000 boss fired NoOnlineResponders#1(a) NoOnlineResponders#2(b) "
                    + "NoOnlineResponders#3(c) NoOnlineResponders#5(d)",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R2, D11: who takes one receiver's storm holds another's about the same alerts`()
        throws
    {
        var stage = try NoticeStage(
            [Self.receiver("pager", .pagerduty), Self.receiver("chat", .slack)], Self.rules)
        stage.engine.policy.alerts.storm = 2
        for region in ["a", "b", "c"] { try stage.report(region, in: region, at: 0) }
        stage.pass(to: 160)
        stage.take(1, "pager", at: 170)
        stage.take(2, "chat", at: 170)
        #expect(Self.take(&stage, 4, at: 200, until: 2000).takeFault == nil)
        for region in ["d", "e", "f", "g"] { try stage.report(region, in: region, at: 300) }
        stage.pass(to: 1990)
        try stage.restore()
        _ = stage.fold(.start(), at: 1999)
        stage.pass(to: 1999)
        let messages = { (stage: NoticeStage) in stage.notified.filter { !$0.contains("not told") }
        }
        #expect(
            messages(stage) == [
                "150 pager fired NoOnlineResponders#4", "150 chat fired NoOnlineResponders#5",
            ])
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 2000)
        #expect(
            messages(stage).dropFirst(2) == [
                "2000 pager repeated NoOnlineResponders#4",
                "2000 chat repeated NoOnlineResponders#5",
            ])
    }

    @Test func `R2, D11: a storm of which somebody has a part alone is told again as ever`() throws
    {
        var stage = try NoticeStage([Self.receiver("pager", .pagerduty)], Self.rules)
        stage.engine.policy.alerts.storm = 2
        for region in ["a", "b", "c"] { try stage.report(region, in: region, at: 0) }
        stage.pass(to: 160)
        stage.take(1, "pager", at: 170)
        Self.take(&stage, 1, at: 200, until: 5000)
        Self.take(&stage, 2, at: 200, until: 5000)
        stage.pass(to: 770)
        #expect(stage.notified.last == "770 pager repeated NoOnlineResponders#4")
        stage.take(2, "pager", at: 780)
        Self.take(&stage, 3, at: 800, until: 5000)
        stage.pass(to: 4999)
        #expect(stage.notified.last == "770 pager repeated NoOnlineResponders#4")
        stage.pass(to: 5000)
        #expect(stage.notified.last == "5000 pager repeated NoOnlineResponders#4")
        #expect(stage.engine.brokenInvariants() == [])
    }

    // MARK: - What cannot be taken

    @Test func `R2: what never was, is over, is past or is the watchdog is not taken`() throws {
        var stage = try Self.stage(
            Self.receiver(), .named("dead man", .webhook, [.of("alertname", "Watchdog")]))
        // The watchdog is incident 1, the page 2.
        #expect(Self.take(&stage, 7, at: 200, until: 900).takeFault == .unknown)
        #expect(Self.take(&stage, -1, at: 200, until: 900).takeFault == .unknown)
        #expect(Self.take(&stage, 2, at: 200, until: 200).takeFault == .over)
        #expect(Self.giveBack(&stage, 2, at: 201).takeFault == .untaken)
        #expect(Self.take(&stage, 1, at: 210, until: 900).takeFault == .watchdog)
        #expect(Self.giveBack(&stage, 1, at: 211).takeFault == .watchdog)
        try stage.report("1", at: 300)
        let receipt = Self.take(&stage, 2, at: 310, until: 900)
        #expect((receipt.takeFault, receipt.taken, receipt.accepted) == (.resolved, nil, 0))
        #expect(stage.engine.alerting.notifications.takes.isEmpty)
    }

    @Test func `R2: a change of takes comes out of the journal as it went in`() {
        var take = Take(
            incident: 7, by: Array("kim".utf8), token: Array("desk".utf8),
            note: Array("on my way".utf8), until: Self.wall(900))
        take.at = Self.wall(1)
        for change in [TakeChange.begin(take), .end(12)] {
            let bytes = change.journalBytes
            #expect(TakeChange(journalBytes: bytes) == change)
            for count in bytes.indices {
                _ = TakeChange(journalBytes: Array(bytes[..<count]))
            }
        }
    }
}
