import Testing

@testable import RollcallCore

/// Who is asked to reconnect because somebody wants it. Source: R3.
@Suite struct AskTests {
    // MARK: - As timelines

    @Test func `R3: a member of a circle asks, outside the interval between nudges`() throws {
        try timeline(
            """
            0s      41,42 report with 1 circles home
            4h      → 41 nudged, 42 nudged
            4h10m   41 is asked by 42  → 41 nudged
            5h9m    41 is asked by 42
            5h10m   41 is asked by 42  → 41 nudged
            10h     → 41 nudged, 42 nudged
            """, nudges: true)
    }

    @Test func `R3: one ask a target and hour, whoever asks`() throws {
        try timeline(
            """
            0s      41,42,43 report with 1 circles home
            1h      41 is asked by 42      → 41 nudged
            1h1m    41 is asked by 43
            1h2m    41 is asked
            1h2m    42 is asked by 43      → 42 nudged
            2h      41 is asked            → 41 nudged
            """, nudges: true)
    }

    @Test func `R3: six a day, and the seventh once the first is a day ago`() throws {
        try timeline(
            """
            0s      policy nudges stale=30d
            0s      41,42 report with 1 circles home
            1h      41 is asked by 42      → 41 nudged
            2h      41 is asked by 42      → 41 nudged
            3h      41 is asked by 42      → 41 nudged
            4h      41 is asked by 42      → 41 nudged
            5h      41 is asked by 42      → 41 nudged
            6h      41 is asked by 42      → 41 nudged
            24h59m  41 is asked by 42
            25h     41 is asked by 42      → 41 nudged
            25h59m  41 is asked by 42
            26h     41 is asked by 42      → 41 nudged
            """, nudges: true)
    }

    @Test func `R3: a nudge within an hour after an ask is throttled`() throws {
        try timeline(
            """
            0s      policy nudges stale=4h
            0s      41,42 report with 1 circles home
            1h      42 reports with 2
            3h30m   41 is asked by 42      → 41 nudged
            4h      → 41 held because throttled
            4h30m   → 41 nudged
            5h      → 42 nudged
            """, nudges: true)
    }

    @Test func `R3: whoever asks must be in a circle of theirs, unless they are an operator`()
        throws
    {
        try timeline(
            """
            0s      41,42 report with 1 circles home
            0s      43 reports with 1 in north circles work
            0s      44 reports with 1 in north circles work
            1h      41 is asked by 43
            1h      41 is asked by 41
            1h      41 is asked by nobody
            1h      nobody is asked by 41
            1h      41 is asked            → 41 nudged
            """, nudges: true)
    }

    @Test func `R3, B4: nobody is asked for while we cannot see, or could not until lately`() throws
    {
        try timeline(
            """
            0s      41,42 report with 1 circles home
            1h      store fails
            1h10s   41 is asked by 42
            2h      store recovers
            2h1m    41 is asked by 42
            2h3m    41 is asked by 42      → 41 nudged
            """, nudges: true)
    }

    @Test func `R3, N2: a clock that leaps freezes asks too`() throws {
        try timeline(
            """
            0s      policy nudges stale=30d
            0s      41,42 report with 1 circles home
            2h      clock steps +1h
            2h1s    41 is asked by 42
            7h59m   41 is asked by 42
            8h      41 is asked by 42      → 41 nudged
            """, nudges: true)
    }

    // MARK: - The answers

    /// A fleet of which 41 and 42 are in a circle, seen an hour ago.
    private static func stage(_ nudges: String = "live,webhook") throws -> NoticeStage {
        var stage = try NoticeStage([], "nudges \(nudges)")
        try batch(
            &stage,
            #"[{"responder_id":"41","circles":["home"]}, {"responder_id":"42","circles":["home"]}]"#
        )
        return stage
    }

    private static func batch(_ stage: inout NoticeStage, _ body: String, at second: Int64 = 0)
        throws
    {
        let captured = NoticeStage.zero.milliseconds + second * 1000
        let update = #"{"sequence":\#(second + 1),"captured_at":\#(captured)}"#
        let located = body.replacing("}", with: ",\"updates\":[\(update)]}")
        let scan = try ItemScanner.scan(Array(located.utf8).span, kind: .batch)
        _ = stage.fold(.items(scan.items, source: []), at: second)
    }

    private static func tell(_ stage: inout NoticeStage, _ body: String, at second: Int64) throws {
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .responder)
        _ = stage.fold(.items(scan.items, source: []), at: second)
    }

    private static func ask(
        _ stage: inout NoticeStage, by asker: String? = nil, at second: Int64 = 3600
    ) -> AskAnswer? {
        let call = AskCall.ids(Array("41".utf8), by: asker.map { Array($0.utf8) })
        return stage.fold(.ask(call, source: []), at: second).ask
    }

    @Test func `R3: the operator hears the first reason that holds`() throws {
        for (change, reason) in [
            (
                #"{"responder_id":"41","sharing":"paused"}"#,
                NudgeReason.paused
            ),
            (#"{"responder_id":"41","duty_state":"OFF_DUTY","sharing":"paused"}"#, .offDuty),
            (#"{"responder_id":"42","duty_state":"OFF_DUTY"}"#, .solo),
        ] {
            var stage = try Self.stage()
            try Self.tell(&stage, change, at: 10)
            #expect(Self.ask(&stage)?.result == .hold(reason), "\(change)")
        }
        var stage = try Self.stage()
        #expect(Self.ask(&stage, at: 90)?.result == .hold(.fresh))
        #expect(Self.ask(&stage, at: 91)?.result == .send)
        let again = Self.ask(&stage, at: 100)
        #expect(again?.result == .hold(.throttled))
        #expect(again?.until == Timestamp(milliseconds: NoticeStage.zero.milliseconds + 3_691_000))
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R3: a sink that needs a token, and nudges' rate, hold for asks`() throws {
        var stage = try Self.stage("live,expo")
        #expect(Self.ask(&stage)?.result == .hold(.noToken))
        stage = try Self.stage("live,webhook,rate=1")
        let first = AskCall.ids(Array("42".utf8), by: nil)
        let instant = NoticeStage.zero + .seconds(3600)
        #expect(stage.engine.fold(.ask(first, source: []), at: instant).ask?.result == .send)
        let second = AskCall.ids(Array("41".utf8), by: nil)
        #expect(
            stage.engine.fold(.ask(second, source: []), at: instant).ask?.result == .hold(.rate))
    }

    @Test func `R3, N10: a dry run decides with a throttle of its own; disabled decides nothing`()
        throws
    {
        var stage = try Self.stage("dry_run")
        let answer = Self.ask(&stage)
        #expect(answer?.result == .dryRun)
        #expect(Self.ask(&stage, at: 3700)?.result == .hold(.throttled))
        var policy = stage.engine.policy
        (policy.nudges.mode, policy.nudges.sink) = (.live, .webhook)
        _ = stage.fold(.policy(policy), at: 3800)
        #expect(Self.ask(&stage, at: 3900)?.result == .send)
        policy.nudges.mode = .disabled
        _ = stage.fold(.policy(policy), at: 8000)
        #expect(Self.ask(&stage, at: 9000)?.result == .disabled)
    }

    @Test func `R3: what follows an ask is known, and a location is no reason to ask again`() throws
    {
        var stage = try Self.stage()
        let push = try #require(Self.ask(&stage)?.push)
        #expect(push > 0)
        try Self.batch(&stage, #"[{"responder_id":"41"}]"#, at: 3700)
        #expect(stage.engine.counters.nudges.followed(.located, .unknown) == 1)
        #expect(stage.engine.counters.nudges.asked(.send) == 1)
        #expect(stage.engine.counters.nudges.sent == 0)
        #expect(Self.ask(&stage, at: 3750)?.result == .hold(.fresh))
    }

    @Test func `R3: who was asked is remembered over a checkpoint`() throws {
        var stage = try Self.stage()
        _ = Self.ask(&stage)
        try stage.restore()
        #expect(stage.engine.counters.nudges.asked(.send) == 1)
        #expect(Self.ask(&stage, at: 7199)?.result == .hold(.throttled))
        #expect(Self.ask(&stage, at: 7200)?.result == .send)
        #expect(stage.engine.brokenInvariants() == [])
    }

    @Test func `R3: a member who is an outsider, or asks for themselves, asks nobody`() throws {
        var stage = try Self.stage()
        try Self.batch(&stage, #"[{"responder_id":"43","circles":["work"]}]"#)
        for asker in ["43", "41"] {
            #expect(Self.ask(&stage, by: asker)?.result == .outsider)
        }
        #expect(Self.ask(&stage, by: "nobody")?.result == .outsider)
        #expect(stage.engine.counters.nudges.asked(.outsider) == 3)
        #expect(Self.ask(&stage, by: "42")?.result == .send)
    }

    @Test func `R3: who left the roster asks for nobody`() throws {
        var stage = try Self.stage()
        let roster = try ItemScanner.scan(
            Array(#"[{"responder_id":"41"}]"#.utf8).span, kind: .rosterEntry)
        let terms = RosterTerms(allowsShrink: true)
        _ = stage.fold(.roster(roster.items, source: [], terms), at: 10)
        #expect(Self.ask(&stage, by: "42")?.result == .outsider)
    }

    @Test func `R3: an ask comes out of the journal as it went in`() {
        for call in [AskCall.numbers(7, by: 3), .numbers(7, by: nil), .numbers(-1, by: -1)] {
            let bytes = call.journalBytes(Array("app".utf8))
            let read = AskCall.reading(bytes)
            #expect(read?.call == call)
            #expect(read?.source == Array("app".utf8))
            for count in bytes.indices { _ = AskCall.reading(Array(bytes[..<count])) }
        }
    }
}
