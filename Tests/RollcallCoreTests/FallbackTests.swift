import Testing

@testable import RollcallCore

/// Who is told what others have not taken. Source: D3.
///
/// One person of one region falls silent at 0 s, so that the region's page is decided at 150 s.
@Suite struct FallbackTests {
    private static let rules = "rate off flapping off noonline keep=0s"
    private static let fired = "150 oncall fired NoOnlineResponders#1(north)"
    private static let never = LabelMatcher(name: [], values: [])

    /// A receiver of everything that has a fallback after a minute.
    private static func receiver(
        _ name: String = "oncall", _ kind: ReceiverKind = .webhook, fallback: String = "duty"
    ) -> Receiver {
        var receiver = Receiver.named(name, kind)
        receiver.fallback = Array(fallback.utf8)
        return receiver
    }

    /// One that no alert is for.
    private static func standby(
        _ name: String = "duty", _ kind: ReceiverKind = .webhook
    ) -> Receiver { .named(name, kind, [never]) }

    private static func stage(_ receivers: [Receiver]? = nil) throws -> NoticeStage {
        var stage = try NoticeStage(receivers ?? [receiver(), standby()], rules)
        try stage.report("1", at: 0)
        stage.pass(to: 160)
        return stage
    }

    private static func reload(
        _ stage: inout NoticeStage, _ receivers: [Receiver], at second: Int64
    ) {
        var policy = stage.engine.policy
        policy.receivers = receivers
        _ = stage.fold(.policy(policy), at: second)
    }

    // MARK: - When

    @Test func `D3: what is not taken in time is given to the fallback once, and both get the end`()
        throws
    {
        var stage = try Self.stage()
        stage.pass(to: 209)
        #expect(stage.notified == [Self.fired])
        stage.pass(to: 20_000)
        try stage.report("1", at: 20_010)
        #expect(
            stage.notified == [
                Self.fired,
                "210 duty fired NoOnlineResponders#1(north) for oncall",
                // A repeat is given to nobody.
                "14550 oncall repeated NoOnlineResponders#1(north)",
                "20010 oncall resolved NoOnlineResponders#1(north)",
                "20010 duty resolved NoOnlineResponders#1(north) for oncall",
            ])
        #expect(stage.engine.counters.notifications.given(from: [], to: []) == 0)
        #expect(
            stage.engine.counters.notifications.given(
                from: Array("oncall".utf8), to: Array("duty".utf8)) == 1)
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test(arguments: [(210, false), (211, true)] as [(Int64, Bool)])
    func `D3: what is taken at the deadline is taken in time, and both get the end if it was later`(
        second: Int64, isGiven: Bool
    ) throws {
        var stage = try Self.stage()
        stage.take(1, "oncall", at: second)
        try stage.report("1", at: 300)
        let given = stage.notified.filter { $0.contains("duty") }
        #expect(
            given
                == (isGiven
                    ? [
                        "210 duty fired NoOnlineResponders#1(north) for oncall",
                        "300 duty resolved NoOnlineResponders#1(north) for oncall",
                    ] : []))
        #expect(stage.notified.contains("300 oncall resolved NoOnlineResponders#1(north)"))
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `D3: what is over before is given to nobody, and neither is its end`() throws {
        var stage = try Self.stage()
        try stage.report("1", at: 200)
        stage.pass(to: 300)
        #expect(stage.notified == [Self.fired, "200 oncall resolved NoOnlineResponders#1(north)"])
        #expect(stage.engine.alerting.board.untaken.isEmpty)
    }

    @Test(arguments: [170, 400] as [Int64])
    func `D3: the time runs from a start on, whether we were down before or over the deadline`(
        start: Int64
    ) throws {
        var stage = try Self.stage()
        try stage.restore()
        _ = stage.fold(.start(), at: start)
        stage.pass(to: start + 59)
        #expect(stage.notified == [Self.fired])
        stage.pass(to: start + 60)
        #expect(
            stage.notified.last == "\(start + 60) duty fired NoOnlineResponders#1(north) for oncall"
        )
        #expect(stage.engine.brokenInvariants() == [])
        // It is given once, whatever happens then.
        let count = stage.notified.count
        try stage.restore()
        _ = stage.fold(.start(), at: start + 100)
        stage.pass(to: start + 1000)
        #expect(stage.notified.count == count)
    }

    @Test func `D3: a suspension is like a start`() throws {
        var stage = try Self.stage()
        _ = stage.fold(.turn(lateness: .seconds(600)), at: 760)
        stage.pass(to: 819)
        #expect(stage.notified == [Self.fired])
        stage.pass(to: 820)
        #expect(stage.notified.last == "820 duty fired NoOnlineResponders#1(north) for oncall")
    }

    @Test func `D3: blindness holds nothing up that was decided`() throws {
        var stage = try NoticeStage([Self.receiver(), Self.standby()], Self.rules)
        _ = stage.fold(.heartbeat(source: Array("a".utf8), every: .seconds(80)), at: 0)
        try stage.report("1", at: 0)
        // All sources are missing from 200 s on.
        stage.pass(to: 215)
        #expect(stage.engine.clock.isBlind)
        #expect(stage.notified.contains("210 duty fired NoOnlineResponders#1(north) for oncall"))
    }

    @Test func `D3: a checkpoint keeps what is not taken, and for how long`() throws {
        var stage = try Self.stage()
        try stage.restore()
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 215)
        try stage.restore()
        try stage.report("1", at: 300)
        #expect(
            stage.notified == [
                Self.fired, "210 duty fired NoOnlineResponders#1(north) for oncall",
                "300 oncall resolved NoOnlineResponders#1(north)",
                "300 duty resolved NoOnlineResponders#1(north) for oncall",
            ])
    }

    // MARK: - Who

    @Test func `D3: who gets it by its own matchers is given nothing`() throws {
        var stage = try Self.stage([Self.receiver(), .named("duty")])
        stage.pass(to: 1000)
        #expect(stage.notified == [Self.fired, "150 duty fired NoOnlineResponders#1(north)"])
    }

    @Test func `D3: several with one fallback give it once, in the order of the settings`() throws {
        var stage = try Self.stage([
            Self.standby(), Self.receiver("hook"), Self.receiver("chat"),
        ])
        stage.pass(to: 1000)
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north)",
                "150 chat fired NoOnlineResponders#1(north)",
                "210 duty fired NoOnlineResponders#1(north) for hook",
            ])
    }

    @Test func `D3: one who takes it does not take it for the others`() throws {
        var stage = try Self.stage([
            Self.standby(), Self.receiver("hook"), Self.receiver("chat"),
        ])
        stage.take(1, "hook", at: 170)
        stage.pass(to: 1000)
        #expect(stage.notified.last == "210 duty fired NoOnlineResponders#1(north) for chat")
    }

    @Test func `D3: a fallback's own fallback is not followed`() throws {
        var duty = Self.standby()
        duty.fallback = Array("boss".utf8)
        var stage = try Self.stage([Self.receiver(), duty, Self.standby("boss")])
        stage.pass(to: 10_000)
        #expect(
            stage.notified == [Self.fired, "210 duty fired NoOnlineResponders#1(north) for oncall"])
    }

    @Test func `D3: one address is enough, and members of one message go together`() throws {
        var stage = try NoticeStage([Self.receiver(), Self.standby()], Self.rules)
        try stage.report("1", in: "north", at: 0)
        try stage.report("2", in: "south", at: 0)
        stage.pass(to: 160)
        try stage.report("2", in: "south", at: 200)
        stage.pass(to: 250)
        #expect(
            stage.notified == [
                "150 oncall fired NoOnlineResponders#1(north) NoOnlineResponders#2(south)",
                "200 oncall resolved NoOnlineResponders#2(south)",
                "210 duty fired NoOnlineResponders#1(north) for oncall",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `D3: a fallback that keeps incidents gets the end always, others as they wish`()
        throws
    {
        for kind in ReceiverKind.allCases where kind.keepsIncidents || kind == .webhook {
            var duty = Self.standby("duty", kind)
            duty.sendsResolved = false
            var stage = try Self.stage([Self.receiver(), duty])
            stage.pass(to: 220)
            try stage.report("1", at: 300)
            let ends = stage.notified.filter { $0.hasPrefix("300 duty") }
            #expect(ends.count == (kind.keepsIncidents ? 1 : 0))
        }
    }

    @Test func `D3: the watchdog goes to nobody who does not name it`() throws {
        let dog = LabelMatcher.of("alertname", "Watchdog")
        var receiver = Self.receiver()
        receiver.match = [dog]
        var stage = try NoticeStage([receiver, Self.standby()])
        stage.pass(to: 0)
        stage.pass(to: 1000)
        #expect(stage.notified == ["0 oncall fired Watchdog#1"])
    }

    // MARK: - Mutes

    @Test func `D3: what is silenced meanwhile is given at the silence's end, if nobody took it`()
        throws
    {
        for isTaken in [false, true] {
            var stage = try Self.stage()
            _ = stage.silence([.of("region", "north")], from: 170, until: 400)
            stage.pass(to: 300)
            #expect(stage.engine.brokenInvariants() == [])
            if isTaken { stage.take(1, "oncall", at: 310) }
            stage.pass(to: 500)
            #expect(
                stage.notified == [
                    Self.fired, "210 duty not told NoOnlineResponders#1: silence 1",
                ] + (isTaken ? [] : ["400 duty fired NoOnlineResponders#1(north) for oncall"]))
            #expect(stage.engine.brokenInvariants() == [])
            #expect(stage.engine.alerting.board.muted.isEmpty)
        }
    }

    /// Two receivers share a fallback, and what one waits for is silenced while the other's time runs.
    private static func shared() throws -> NoticeStage {
        var slow = receiver("slow")
        slow.fallbackAfter = .seconds(600)
        var stage = try Self.stage([standby(), receiver("quick"), slow])
        _ = stage.silence([.of("region", "north")], from: 170, until: 400)
        stage.pass(to: 300)
        return stage
    }

    @Test func `D3: of several with one fallback, the first whose time is up gives`()
        throws
    {
        var stage = try Self.shared()
        #expect(stage.engine.brokenInvariants() == [])
        stage.pass(to: 1000)
        #expect(
            stage.notified.dropFirst(2) == [
                "210 duty not told NoOnlineResponders#1: silence 1",
                "400 duty fired NoOnlineResponders#1(north) for quick",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `D3: of several with one fallback, one that takes it leaves the others time`()
        throws
    {
        var stage = try Self.shared()
        stage.take(1, "quick", at: 310)
        #expect(stage.engine.brokenInvariants() == [])
        #expect(stage.engine.alerting.board.muted.isEmpty)
        stage.pass(to: 749)
        #expect(stage.notified.count == 3)
        stage.pass(to: 750)
        #expect(stage.notified.last == "750 duty fired NoOnlineResponders#1(north) for slow")
        #expect(stage.engine.brokenInvariants() == [])
    }

    // MARK: - Reloads

    @Test func `D3: a fallback set while nobody takes it is given it at once`() throws {
        var stage = try Self.stage([.named("oncall")])
        stage.pass(to: 300)
        Self.reload(&stage, [Self.receiver(), Self.standby()], at: 310)
        stage.pass(to: 400)
        #expect(
            stage.notified == [Self.fired, "310 duty fired NoOnlineResponders#1(north) for oncall"])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `D3: one that was silenced before it became a fallback is given it in time`() throws
    {
        var stage = try NoticeStage([.named("oncall"), .named("duty")], Self.rules)
        try stage.report("1", at: 0)
        _ = stage.silence([.of("region", "north")], from: 100, until: 400)
        stage.pass(to: 200)
        Self.reload(&stage, [Self.receiver(), Self.standby()], at: 210)
        stage.pass(to: 1000)
        #expect(
            stage.notified.dropFirst(2) == [
                "400 oncall fired NoOnlineResponders#1(north)",
                "460 duty fired NoOnlineResponders#1(north) for oncall",
            ])
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `D3: one that is taken out of the settings is given nothing`() throws {
        var stage = try Self.stage()
        Self.reload(&stage, [.named("oncall")], at: 200)
        stage.pass(to: 400)
        #expect(stage.notified == [Self.fired])
    }

    @Test func `D3: another fallback is given it only if the first one is gone`() throws {
        for isGone in [false, true] {
            var stage = try Self.stage()
            stage.pass(to: 220)
            let old = isGone ? [] : [Self.standby()]
            Self.reload(
                &stage, [Self.receiver(fallback: "boss"), Self.standby("boss")] + old, at: 300)
            stage.pass(to: 400)
            try stage.report("1", at: 500)
            let boss = stage.notified.filter { $0.contains("boss") }
            #expect(
                boss
                    == (isGone
                        ? [
                            "300 boss fired NoOnlineResponders#1(north) for oncall",
                            "500 boss resolved NoOnlineResponders#1(north) for oncall",
                        ] : []))
            #expect(stage.notified.contains { $0.hasPrefix("500 duty resolved") } == !isGone)
        }
    }

    // MARK: - What it says

    private static func member(_ fallback: Fallback?) -> NoticeMember {
        var member = OutboxStage.member(7, region: "north", severity: "critical")
        member.fallback = fallback
        return member
    }

    @Test func `D3: the text says in whose place it comes and why`() {
        let fallback = Fallback(receiver: Array("oncall".utf8), after: .seconds(60))
        var member = Self.member(fallback)
        let text = AlertText(member, error: "HTTP 500") { _ in nil }
        #expect(text.summary.hasSuffix(" (fallback for oncall)"))
        let why = "oncall has not taken it for 60 s: HTTP 500"
        #expect(text.description.hasSuffix("Told as a fallback: \(why)."))
        #expect(text.details.value(of: Array("fallback".utf8)) == Array(why.utf8))
        member.labels[0] = Label(Array("region".utf8), Array(repeating: 0x61, count: 200))
        #expect(AlertText(member) { _ in nil }.summary.count <= AlertText.titleMax)
        // Of an end nobody asks why.
        member.endsAt = Timestamp(milliseconds: 9)
        #expect(!AlertText(member) { _ in nil }.summary.contains("fallback"))
        let plain = AlertText(Self.member(nil)) { _ in nil }
        #expect(!plain.details.contains { $0.name == Array("fallback".utf8) })
    }

    @Test func `D3: a notice is stored as before unless somebody is told in another's place`() {
        let fallback = Fallback(receiver: Array("oncall".utf8), after: .seconds(60))
        var notice = Notice(
            number: 3, receiver: Array("duty".utf8), kind: .fired,
            members: [Self.member(nil), Self.member(fallback)])
        #expect(Notice(journalBytes: notice.journalBytes) == notice)
        let bytes = notice.journalBytes
        notice.members[1].fallback = nil
        #expect(bytes.starts(with: notice.journalBytes) && bytes != notice.journalBytes)
        #expect(Notice(journalBytes: notice.journalBytes) == notice)
        #expect(Notice(journalBytes: Array(bytes.dropLast())) == nil)
    }

    @Test func `D3: the error that is told is the message's own, else the address's last one`() {
        var stage = OutboxStage([OutboxStage.receiver("oncall", .webhook)])
        stage.decide(.fired, [1])
        stage.decide(.fired, [2])
        let name = Array("oncall".utf8)
        func error(_ incident: Int64) -> String? {
            stage.outbox.lastError(of: incident, to: name)
        }
        #expect(error(1) == nil)
        let number = stage.turn().compactMap { Int64($0.prefix { $0.isNumber }) }[0]
        _ = stage.outbox.end(
            number, in: QueueKey(receiver: name, target: 0), .failed, error: "HTTP 500",
            now: stage.now, wall: OutboxStage.wall)
        #expect(error(1) == "HTTP 500" && error(2) == "HTTP 500")
        #expect(stage.outbox.lastError(of: 1, to: Array("duty".utf8)) == nil)
    }
}
