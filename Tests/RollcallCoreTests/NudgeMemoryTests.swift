import RollcallCore
import Testing

/// What is remembered of why somebody was not nudged, and what makes them evaluated again. Source:
/// N1, N8, F31, F32.
@Suite struct NudgeMemoryTests {
    /// 42 stays in the region of 41, so nobody gains or loses an active peer there.
    @Test func `who changes circles neither leaves nor joins the region`() throws {
        try timeline(
            """
            0s      policy nudges stale=10m
            0s      41 reports with 1 circles a
            0s      42 is told on duty circles b
            10m     → 41 held because solo
            10m10s  store fails
            10m20s  42 is told circles c
            10m30s  42 is told in north                  → 41 held because blind
            """, nudges: true)
    }

    @Test func `who stays in a circle neither leaves nor joins it`() throws {
        try timeline(
            """
            0s      policy nudges expo,stale=10m
            0s      41 reports with 1 circles a in north
            0s      42 is told on duty circles a in south
            10m     → 41 held because no_token
            10m10s  store fails
            10m20s  42 is told circles a,b
            10m30s  42 is told circles b                 → 41 held because blind
            """, nudges: true)
    }

    @Test func `another offline threshold ends the time after blindness earlier`() throws {
        try timeline(
            """
            0s      policy nudges stale=10m
            0s      41,42 report with 1
            9m50s   store fails
            10m20s  store recovers
            10m30s  → 41 held because blind, 42 held because blind
            11m     policy on_duty 60/70/90 nudges stale=10m
            11m50s  → 41 nudged, 42 nudged
            """, nudges: true)
    }

    @Test func `another offline threshold ends it later`() throws {
        try timeline(
            """
            0s      policy nudges stale=10m
            0s      41,42 report with 1
            9m50s   store fails
            10m20s  store recovers
            10m30s  → 41 held because blind, 42 held because blind
            11m     policy on_duty 60/70/300 nudges stale=10m
            15m20s  → 41 nudged, 42 nudged
            """, nudges: true)
    }

    @Test func `blindness noticed late alone forgets nothing`() throws {
        try timeline(
            """
            0s      policy nudges stale=10m
            0s      41 reports with 1 circles home
            9m55s   source beats every 4s
            10m     → 41 held because solo
            10m6s   source beats every 4s
            10m7s   source beats every 0s
            14m     41 is told circles home,work
            """, nudges: true)
    }

    /// The location that comes while 41 seems young again is a newer one all the same.
    @Test func `a location told after blindness noticed late begins anew`() throws {
        try timeline(
            """
            0s      policy nudges stale=10m
            0s      41 reports with 1 circles home
            9m50s   source beats every 10s
            10m     → 41 held because solo
            10m20s  41 reports with 2
            10m21s  source beats every 0s
            20m20s  → 41 held because solo
            """, nudges: true)
    }

    @Test func `a restart evaluates nobody again while blind`() throws {
        let engine = try timeline(
            """
            0s      policy nudges stale=10m,rate=1
            0s      41,42 report with 1 circles home
            0s      43 is told on duty circles home
            9m      42 is told off duty
            9m      43 is told off duty
            10m     → 41 held because solo
            10m10s  store fails
            """, nudges: true)
        #expect(try nudged(restarted(engine), after: .seconds(60)) == [])
    }

    @Test func `who waits for their turn does so in order after a restart`() throws {
        let engine = try timeline(
            """
            0s      policy nudges stale=10m,rate=1
            0s      9,1,7,3,5 report with 1
            10m     → 1 nudged, 3 held because rate, 5 held because rate, 7 held because rate, 9 held because rate
            """, nudges: true)
        let later = try nudged(restarted(engine), after: .seconds(4))
        #expect(later == ["3 send", "5 send", "7 send", "9 send"])
    }

    @Test func `N10, F17: who is erased waits no longer, and the others in order`() throws {
        let engine = try timeline(
            """
            0s      policy nudges stale=10m,rate=1
            0s      9,1,7,3,5 report with 1
            10m     → 1 nudged, 3 held because rate, 5 held because rate, 7 held because rate, 9 held because rate
            10m500ms  5 is erased
            """, nudges: true)
        #expect(engine.brokenInvariants() == [])
        #expect(nudged(engine, after: .seconds(4)) == ["3 send", "7 send", "9 send"])
    }

    @Test func `what followed nudges of one instant is told by their ids, also after a restart`()
        throws
    {
        let engine = try timeline(
            """
            0s      policy nudges webhook,stale=10m
            0s      9,1,7,3,5 report with 1
            10m     → 1 nudged, 3 nudged, 5 nudged, 7 nudged, 9 nudged
            """, nudges: true)
        let told = ["1 followed", "3 followed", "5 followed", "7 followed", "9 followed"]
        #expect(nudged(engine, after: .seconds(1800)) == told)
        #expect(try nudged(restarted(engine), after: .seconds(1800)) == told)
    }

    private func restarted(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    private func nudged(_ engine: Engine, after span: Milliseconds) -> [String] {
        var engine = engine
        _ = engine.takeDecisions()
        engine.advance(to: engine.clock.now + span)
        return engine.takeDecisions().compactMap { entry in
            guard case .nudge(_, let number, let report) = entry.decision else { return nil }
            let id = String(decoding: engine.roster.id(number), as: UTF8.self)
            return "\(id) \(report.kind)"
        }
    }
}
