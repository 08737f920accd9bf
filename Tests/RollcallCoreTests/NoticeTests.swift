import RollcallCore
import Testing

/// A fleet whose engine decides who is told, by the second.
private struct Desk {
    static let zero = RunningTime(milliseconds: 1_795_219_200_000)
    var engine: Engine
    /// What was decided about telling, in words.
    private(set) var told: [String] = []

    init(_ receivers: [Receiver], _ words: String = "") throws {
        var policy = try Policy.of(Array("\"\(words)\"".utf8))
        policy.receivers = receivers
        engine = Engine(policy: policy)
    }

    mutating func fold(_ event: Event, at second: Int64) -> Receipt {
        let instant = Self.zero + .seconds(second)
        let receipt = engine.fold(event, at: instant)
        engine.advance(to: instant)
        note()
        return receipt
    }

    mutating func report(_ ids: String, in region: String = "north", at second: Int64) throws {
        let items = ids.split(separator: ",").map {
            "{\"responder_id\":\"\($0)\",\"region\":\"\(region)\"}"
        }
        let body = "[\(items.joined(separator: ","))]"
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        _ = fold(.items(scan.items, source: []), at: second)
    }

    mutating func pass(to second: Int64) {
        engine.advance(to: Self.zero + .seconds(second))
        note()
    }

    mutating func silence(_ matchers: [LabelMatcher], from: Int64, until: Int64) -> Receipt {
        let end = Timestamp(milliseconds: Self.zero.milliseconds + until * 1000)
        let silence = Silence(
            matchers: matchers, endsAt: end, author: Array("kim".utf8), comment: [])
        return fold(.silence(.begin(silence)), at: from)
    }

    private mutating func note() {
        for numbered in engine.takeDecisions() {
            switch numbered.decision {
            case .notice(let at, let notice):
                let members = notice.members.map { member in
                    let region = member.labels.value(of: Array("region".utf8))
                    return "\(member.name.word)#\(member.incident)"
                        + (region.isEmpty ? "" : "(\(Self.text(region)))")
                }
                told.append(
                    "\(second(at)) \(Self.text(notice.receiver)) \(notice.kind.word) "
                        + members.joined(separator: " "))
            case .mute(let at, let mute):
                var reason = "blind"
                if case .silence(let number) = mute.reason { reason = "silence \(number)" }
                if case .inhibited(let key) = mute.reason { reason = "by \(key.name.word)" }
                told.append(
                    "\(second(at)) \(Self.text(mute.receiver)) not told "
                        + "\(mute.key.name.word)#\(mute.incident): \(reason)")
            default: break
            }
        }
    }

    private func second(_ at: Timestamp) -> Int64 {
        (at.milliseconds - Self.zero.milliseconds) / 1000
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// Who is told of which alert, when. Source: design §6 A6 to A9, A11.
@Suite struct NoticeTests {
    private func receiver(
        _ name: String, _ kind: ReceiverKind = .webhook, _ match: [LabelMatcher] = []
    ) -> Receiver {
        var receiver = Receiver(name: Array(name.utf8), kind: kind)
        receiver.match = match
        return receiver
    }

    private func label(_ name: String, _ values: String..., isEqual: Bool = true) -> LabelMatcher {
        LabelMatcher(
            name: Array(name.utf8), isEqual: isEqual, values: values.map { Array($0.utf8) })
    }

    @Test func `an alert is told once, and its end once`() throws {
        var desk = try Desk([receiver("hook")], "rate off")
        try desk.report("1,2", at: 0)
        desk.pass(to: 300)
        try desk.report("1", at: 400)
        desk.pass(to: 450)
        try desk.report("1", at: 480)
        desk.pass(to: 560)
        #expect(
            desk.told == [
                "150 hook fired NoOnlineResponders#1(north)",
                "520 hook resolved NoOnlineResponders#1(north)",
            ])
    }

    @Test func `a pending alert that ends is nobody's business`() throws {
        var desk = try Desk([receiver("hook")], "rate off")
        try desk.report("1", at: 0)
        desk.pass(to: 120)
        try desk.report("1", at: 130)
        desk.pass(to: 200)
        #expect(desk.told == [])
    }

    @Test func `matchers choose by labels, and the watchdog goes only to who names it`() throws {
        var desk = try Desk(
            [
                receiver("critical", .webhook, [label("severity", "critical")]),
                receiver("others", .webhook, [label("severity", "critical", isEqual: false)]),
                receiver("south", .webhook, [label("region", "south", "west")]),
                receiver("dog", .webhook, [label("alertname", "Watchdog")]),
            ], "rate for=0s")
        try desk.report("1", at: 0)
        desk.pass(to: 200)
        #expect(
            desk.told == [
                "0 dog fired Watchdog#1",
                "150 critical fired NoOnlineResponders#2(north)",
                "180 others fired HighOfflineRate#3",
            ])
    }

    @Test func `who was told is told again after the interval, and not before`() throws {
        var hook = receiver("hook")
        hook.repeatInterval = .seconds(3600)
        var desk = try Desk([hook], "rate off")
        try desk.report("1", at: 0)
        desk.pass(to: 150 + 2 * 3600)
        #expect(
            desk.told == [
                "150 hook fired NoOnlineResponders#1(north)",
                "3750 hook repeated NoOnlineResponders#1(north)",
                "7350 hook repeated NoOnlineResponders#1(north)",
            ])
    }

    @Test func `alerts of one name and instant are one notice, and one each for PagerDuty`()
        throws
    {
        var desk = try Desk([receiver("hook"), receiver("pager", .pagerduty)], "rate off")
        try desk.report("1", in: "north", at: 0)
        try desk.report("2", in: "south", at: 0)
        desk.pass(to: 200)
        #expect(
            desk.told == [
                "150 hook fired NoOnlineResponders#1(north) NoOnlineResponders#2(south)",
                "150 pager fired NoOnlineResponders#1(north)",
                "150 pager fired NoOnlineResponders#2(south)",
            ])
    }

    @Test func `who is muted is told at the silence's end, who was told is not told again`()
        throws
    {
        var desk = try Desk([receiver("hook")], "rate off")
        #expect(desk.silence([label("region", "north")], from: 0, until: 300).silence == 1)
        try desk.report("1", in: "north", at: 10)
        try desk.report("2", in: "south", at: 10)
        desk.pass(to: 200)
        #expect(desk.silence([label("region", "south")], from: 210, until: 400).silence == 2)
        desk.pass(to: 500)
        #expect(
            desk.told == [
                "160 hook not told NoOnlineResponders#1: silence 1",
                "160 hook fired NoOnlineResponders#2(south)",
                "300 hook fired NoOnlineResponders#1(north)",
            ])
    }

    @Test func `what was told and ends while muted still sends its resolve`() throws {
        var desk = try Desk([receiver("hook")], "rate off flapping off noonline keep=0s")
        try desk.report("1", at: 0)
        desk.pass(to: 200)
        _ = desk.silence([label("alertname", "NoOnlineResponders")], from: 210, until: 900)
        try desk.report("1", at: 300)
        desk.pass(to: 600)
        try desk.report("1", at: 700)
        #expect(
            desk.told == [
                "150 hook fired NoOnlineResponders#1(north)",
                "300 hook resolved NoOnlineResponders#1(north)",
                "450 hook not told NoOnlineResponders#2: silence 1",
            ])
    }

    @Test func `a silence can be ended, once, and its end must lie ahead`() throws {
        var desk = try Desk([receiver("hook")])
        #expect(desk.silence([], from: 100, until: 100).silenceFault == .over)
        #expect(desk.silence([], from: 100, until: 200).silence == 1)
        #expect(desk.fold(.silence(.end(1)), at: 150).silence == 1)
        #expect(desk.fold(.silence(.end(1)), at: 160).silenceFault == .unknown)
        #expect(desk.engine.desk.pastSilences.map(\.number) == [1])
    }

    @Test func `so many silences are in force at most`() throws {
        var desk = try Desk([receiver("hook")])
        for number in 1...Int64(Silence.countMax) {
            #expect(desk.silence([], from: 0, until: 100).silence == number)
        }
        #expect(desk.silence([], from: 0, until: 100).silenceFault == .tooMany)
        desk.pass(to: 100)
        #expect(desk.silence([], from: 101, until: 200).silence != nil)
    }

    @Test func `nobody online inhibits the rate of the same region until it is over`() throws {
        var desk = try Desk(
            [receiver("hook")], "rate by=region,for=0s,above=0.4 noonline for=0s,keep=0s")
        try desk.report("1,2", at: 0)
        desk.pass(to: 200)
        try desk.report("1", at: 210)
        try desk.report("2", at: 220)
        #expect(
            desk.told == [
                "90 hook fired NoOnlineResponders#1(north)",
                "180 hook not told HighOfflineRate#2: by NoOnlineResponders",
                "210 hook fired HighOfflineRate#2(north)",
                "210 hook resolved NoOnlineResponders#1(north)",
                "220 hook resolved HighOfflineRate#2(north)",
            ])
    }

    @Test func `an alert keeps the labels with which it fired, and no setting pages again`() throws
    {
        var desk = try Desk([receiver("hook")], "rate off")
        var policy = desk.engine.policy
        policy.alerts.noOnlineResponders.labels = [
            Label(Array("team".utf8), Array("a".utf8))
        ]
        _ = desk.fold(.policy(policy), at: 0)
        try desk.report("1", at: 0)
        desk.pass(to: 200)
        policy.alerts.noOnlineResponders.severity = .info
        policy.alerts.noOnlineResponders.labels = []
        _ = desk.fold(.policy(policy), at: 210)
        desk.pass(to: 300)
        let alert = desk.engine.alerts.all[0].alert
        #expect(
            alert.labels.map { String(decoding: $0.name + [61] + $0.value, as: UTF8.self) } == [
                "alertname=NoOnlineResponders", "region=north", "severity=critical", "team=a",
            ])
        #expect(desk.told == ["150 hook fired NoOnlineResponders#1(north)"])
    }

    @Test func `a new receiver learns what fires, one that left learns nothing`() throws {
        var desk = try Desk([receiver("old")], "rate off noonline keep=0s")
        try desk.report("1", at: 0)
        desk.pass(to: 200)
        var policy = desk.engine.policy
        policy.receivers = [receiver("new")]
        _ = desk.fold(.policy(policy), at: 210)
        try desk.report("1", at: 220)
        #expect(
            desk.told == [
                "150 old fired NoOnlineResponders#1(north)",
                "210 new fired NoOnlineResponders#1(north)",
                "220 new resolved NoOnlineResponders#1(north)",
            ])
    }

    @Test func `while blind one page stands in, and the others wait for sight`() throws {
        var desk = try Desk([receiver("hook")], "rate off noonline keep=0s")
        _ = desk.fold(.heartbeat(source: Array("a".utf8), every: .seconds(120)), at: 0)
        _ = desk.silence([label("alertname", "NoOnlineResponders")], from: 0, until: 400)
        try desk.report("1", at: 10)
        desk.pass(to: 500)
        _ = desk.fold(.heartbeat(source: Array("a".utf8), every: .seconds(3600)), at: 600)
        #expect(
            desk.told == [
                "160 hook not told NoOnlineResponders#1: silence 1",
                "300 hook not told TelemetryFeedDown#3: by TelemetryFeedDown",
                "300 hook fired TelemetryFeedDown#2",
                "400 hook not told NoOnlineResponders#1: blind",
                "600 hook fired NoOnlineResponders#1(north)",
                "600 hook resolved TelemetryFeedDown#2",
            ])
    }

    @Test func `overload is a page of its own`() throws {
        var desk = try Desk([receiver("hook")])
        _ = desk.fold(.refused(count: 10), at: 0)
        desk.pass(to: 20)
        #expect(
            desk.told == [
                "0 hook fired RollcallOverloaded#1", "15 hook resolved RollcallOverloaded#1",
            ])
    }

    @Test func `our own absence is told with the next page, once`() throws {
        var desk = try Desk([receiver("hook")], "rate off")
        try desk.report("1", in: "north", at: 0)
        _ = desk.fold(.start(), at: 60)
        desk.pass(to: 120)
        let instant = Desk.zero + .seconds(300)
        desk.engine.advance(to: instant)
        let facts = desk.engine.takeDecisions().compactMap { numbered -> AlertFacts? in
            guard case .notice(_, let notice) = numbered.decision else { return nil }
            return notice.members[0].facts
        }
        #expect(facts.count == 1)
        #expect(facts.first?.absentFrom == Timestamp(milliseconds: Desk.zero.milliseconds))
        #expect(
            facts.first?.absentTo == Timestamp(milliseconds: Desk.zero.milliseconds + 60_000))
    }

    @Test func `a drill goes to one receiver and ends itself once it arrived`() throws {
        let pager = receiver("pager", .pagerduty, [label("severity", "critical")])
        var desk = try Desk([receiver("hook"), pager])
        let name = Array("pager".utf8)
        #expect(desk.fold(.drill(receiver: name), at: 0).drill == 1)
        #expect(desk.fold(.drill(receiver: Array("nobody".utf8)), at: 1).drill == nil)
        let end = NoticeEnd(
            notice: 1, receiver: name, target: 0, outcome: .delivered, took: Milliseconds(5))
        _ = desk.fold(.outcome(end), at: 2)
        _ = desk.fold(.outcome(end), at: 3)
        #expect(
            desk.told == [
                "0 pager fired RollcallDrill#-1", "2 pager resolved RollcallDrill#-1",
            ])
        #expect(desk.engine.counters.notifications.count(name, .delivered) == 2)
    }

    @Test func `who was told is known after a restart`() throws {
        var desk = try Desk([receiver("hook")], "rate off noonline keep=0s")
        _ = desk.silence([label("region", "south")], from: 0, until: 1000)
        try desk.report("1", at: 0)
        desk.pass(to: 200)
        var reader = CheckpointReader()
        let checkpoint = Checkpoint(desk.engine)
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        desk.engine = try #require(reader.finish())
        _ = desk.fold(.start(), at: 205)
        try desk.report("1", at: 300)
        #expect(
            desk.told == [
                "150 hook fired NoOnlineResponders#1(north)",
                "300 hook resolved NoOnlineResponders#1(north)",
            ])
        #expect(desk.engine.desk.silences.map(\.number) == [1])
    }
}
