import RollcallCore
import Testing

/// Which blind windows are told and counted, and which gaps are left out for them. Source: D5.
@Suite struct BlindReportingTests {
    @Test func `D5: a blind window of 20 ms is not told, and observed time stood still in it`()
        throws
    {
        let engine = try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            89.990s  store fails
            90.010s  store recovers
            90.020s                                   → 41 degraded
            """)
        #expect(engine.clock.blindMilliseconds(.store) == 0)
    }

    @Test func `D5: a window is told once it is 1 s old, with its true begin`() throws {
        let engine = try timeline(
            """
            10s      store fails
            10.999s  store recovers
            30s      store fails
            31s      store recovers                   → blind store since 30s, \
            blind store ended since 30s
            50s      store fails
            51s                                       → blind store since 50s
            55s      store recovers                   → blind store ended since 50s
            """)
        #expect(engine.clock.blindMilliseconds(.store) == 6000)
    }

    @Test func `D5: an open window counts from its first second on`() throws {
        let text = "10s store fails\n"
        let young = try timeline(text + "10.999s refused 0")
        #expect(young.clock.isBlind)
        #expect(young.clock.blindMilliseconds(.store) == 0)
        let old = try timeline(text + "11s → blind store since 10s\n11s refused 0")
        #expect(old.clock.blindMilliseconds(.store) == 1000)
    }

    @Test func `D5: windows of one reason less than 10 s apart are told as one`() throws {
        try timeline(
            """
            10s      store fails
            11s                                       → blind store since 10s
            20s      store recovers                   → blind store ended since 10s
            25s      store fails
            25.5s    store recovers
            29.999s  store fails
            30.999s                                   → blind store since 10s
            40s      store recovers                   → blind store ended since 10s
            50s      store fails
            51s                                       → blind store since 50s
            60s      store recovers                   → blind store ended since 50s
            """)
    }

    @Test func `D5: a crash loop is one window, and a start at once is none`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            6s       start                            → blind stopped since 0s, \
            blind stopped ended since 0s
            9s       turn
            9.5s     start
            14s      turn
            20s      start                            → blind stopped since 0s, \
            blind stopped ended since 0s
            102.5s                                    → 41 degraded
            """)
    }

    @Test func `D5: windows of other reasons stay apart`() throws {
        try timeline(
            """
            10s      store fails
            11s                                       → blind store since 10s
            20s      store recovers                   → blind store ended since 10s
            22s      turn
            32.001s  turn                             → blind suspended since 22s, \
            blind suspended ended since 22s
            """)
    }

    @Test(arguments: [("59.473s", 9473, 0), ("59.474s", 9474, 1)])
    func `D5: a gap is left out if 5 % of it was blind`(
        end: String, blind: Int64, leftOut: Int
    ) throws {
        func at(_ milliseconds: Int64) -> String { "\(Double(milliseconds) / 1000)s" }
        let engine = try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      store fails
            51s                                       → blind store since 50s
            \(end)  store recovers                   → blind store ended since 50s
            \(at(90_000 + blind))                    → 41 degraded
            \(at(180_000 + blind))                   → 41 offline
            """)
        #expect(engine.counters.gaps.gapsBlind == leftOut)
        #expect(engine.counters.gaps.gaps(.unexplained, .unknown) == 1 - leftOut)
    }

    @Test(arguments: [
        (999, 1000, false), (1000, 20_000, true), (1000, 20_001, false), (0, 0, false),
    ])
    func `D5: less than a second leaves nothing out, nor does less than 5 %`(
        blind: Int64, span: Int64, isLeftOut: Bool
    ) {
        #expect(
            GapReport.isLeftOut(blind: Milliseconds(blind), of: Milliseconds(span)) == isLeftOut)
    }
}
