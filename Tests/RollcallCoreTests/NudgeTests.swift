import Testing

/// Who is asked to open their app, as timelines. Source: Contract/Nudges, F31 to F34.
@Suite struct NudgeTests {
    /// Four hours after the last location, with somebody there for whom it matters (N1, N3).
    @Test func `an old location is asked for, and nobody else's`() throws {
        try timeline(
            """
            0s      41,42 report with 1 circles home
            10s     42 reports with 2
            4h      → 41 nudged
            4h10s   → 42 nudged
            """, nudges: true)
    }

    @Test func `nobody is nudged who is the only one of their circle`() throws {
        try timeline(
            """
            0s      41 reports with 1 circles home
            0s      42 is told on duty circles work
            4h      → 41 held because solo
            4h1s    42 is told circles home,work  → 41 nudged
            """, nudges: true)
    }

    @Test func `settings say who is nudged when, and how many at once`() throws {
        try timeline(
            """
            0s      policy nudges live,expo,stale=10m,on_mission=5m,interval=20m,rate=1
            0s      41,42,43 report with 1 in north
            0s      42 reports on mission
            0s      41,42 are told token T
            5m      → 42 nudged
            10m     → 41 nudged, 43 held because no_token
            25m     → 42 nudged
            26m     42 reports with 2
            30m     → 41 nudged
            31m     → 42 held because throttled
            45m     → 42 nudged
            """, nudges: true)
    }

    @Test func `more than the rate allows wait for their turn`() throws {
        try timeline(
            """
            0s      policy nudges stale=10m,rate=2
            0s      41,42,43 report with 1
            10m     → 41 nudged, 42 nudged, 43 held because rate
            10m1s   → 43 nudged
            """, nudges: true)
    }
}
