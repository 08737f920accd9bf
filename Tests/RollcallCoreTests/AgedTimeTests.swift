import RollcallCore
import Testing

/// Times that lie far back. Source: P2.
@Suite struct AgedTimeTests {
    @Test func `P2: what was captured 30 days before it was received is the last location`() throws
    {
        let engine = try timeline(
            """
            30d    41 reports with 1 captured 0s      → 41 #1 accepted, 41 unknown, 41 online
            30d1s  42 reports with 1 captured 0.999s  → 42 #1 accepted, 42 unknown, 42 online
            30d90s                                    → 41 degraded
            30d91s                                    → 42 degraded
            """, updates: true)
        #expect(engine.counters.delay.count == 1)
        #expect((0..<2).map { engine.roster[$0].lastLocation > .distantPast } == [true, false])
        #expect((0..<2).map { engine.roster[$0].lastLocationAt > .distantPast } == [true, false])
    }

    @Test func `P2: how old a location is counts from its received_at`() throws {
        let engine = try timeline(
            """
            31d    41 reports with 1 captured 1d received 31d → 41 #1 accepted, 41 unknown, 41 online
            31d1s  42 reports with 1 captured 1d received 31d → 42 #1 accepted, 42 unknown, 42 online
            31d1s  43 reports with 1 captured 1d      → 43 #1 accepted, 43 unknown, 43 online
            """, updates: true)
        #expect(engine.counters.delay.count == 2)
    }

    @Test func `P2: a fact from more than 30 days ago counts as one of 30 days ago`() throws {
        try timeline(
            """
            40d    41 is told on duty at 1d           → 41 unknown
            40d1s  41 is told off duty at 10d         → 41 not expected
            40d2s  41 is told on duty at 9d           → 41 unknown
            """)
    }
}
