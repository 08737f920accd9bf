import RollcallCore
import Testing

/// What was received before, and what is contact. Source: I1 to I6, F6, F13,
/// F14, F16.
@Suite struct SequenceTests {
    // MARK: - Taken once (I1)

    @Test func `an update is taken once, however late the retry`() throws {
        try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports with 6,7                → 41 #6 accepted, 41 #7 accepted
            20s    41 reports with 5                  → 41 #5 duplicate
            90s    41 reports with 7,8                → 41 #7 duplicate, 41 #8 accepted
            180s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `a hole between ranges is filled by what belongs there`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 5,9                → 41 #5 accepted, 41 #9 accepted, \
            41 unknown, 41 online
            10s    41 reports with 7                  → 41 #7 accepted
            20s    41 reports with 8,6,7              → 41 #8 accepted, 41 #6 accepted, 41 #7 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 0)
        #expect(engine.counters.updates == [5, 1, 0])
    }

    @Test func `the same sequence twice in one batch is taken once`() throws {
        try timeline(
            """
            0s     41 reports with 5,5                → 41 #5 accepted, 41 #5 duplicate, \
            41 unknown, 41 online
            """, updates: true)
    }

    @Test func `sequences are each person's own`() throws {
        try timeline(
            """
            0s     41,42 report with 0                → 41 #0 accepted, 41 unknown, 41 online, \
            42 #0 accepted, 42 unknown, 42 online
            """, updates: true)
    }

    /// F6.
    @Test func `a sequence is an integer from 0 to 2⁶³−1`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 0,9223372036854775807,9223372036854775808,-1,1.5,9223372036854775806 → \
            41 #0 accepted, 41 #9223372036854775807 accepted, 41 #9223372036854775806 accepted, \
            41 unknown, 41 online
            1s     41 reports with 9223372036854775807,1 → \
            41 #9223372036854775807 duplicate, 41 #1 accepted
            """, updates: true)
        #expect(engine.counters.updates == [4, 1, 0])
    }

    // MARK: - Repeats (I4, F13)

    @Test func `a forwarder's retry is not contact`() throws {
        try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            60s    41 reports with 5                  → 41 #5 duplicate
            90s                                       → 41 degraded
            120s   41 reports with 5                  → 41 #5 duplicate
            180s                                      → 41 offline
            190s   41 reports with 5                  → 41 #5 duplicate
            """, updates: true)
    }

    @Test func `a repeat that the backend heard anew is contact`() throws {
        try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            60s    41 reports with 5 received 10s ago → 41 #5 duplicate
            140s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `a repeat must have been received after the last contact`() throws {
        let begin = """
            0s     41 reports with 5 received 0s      → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports with 6                  → 41 #6 accepted

            """
        try timeline(
            begin + """
                60s    41 reports with 5 received 10s     → 41 #5 duplicate
                100s                                      → 41 degraded
                """, updates: true)
        try timeline(
            begin + """
                60s    41 reports with 5 received 10.001s → 41 #5 duplicate
                100.001s                                  → 41 degraded
                """, updates: true)
    }

    @Test func `a repeat from the future proves nothing, up to 2 s it counts as now`() throws {
        try timeline(
            """
            0s     41,42 report with 5                → 41 #5 accepted, 41 unknown, 41 online, \
            42 #5 accepted, 42 unknown, 42 online
            60s    41 reports with 5 received 2s ahead → 41 #5 duplicate
            60s    42 reports with 5 received 2.001s ahead → 42 #5 duplicate
            90s                                       → 42 degraded
            150s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `one new update makes a batch contact`() throws {
        try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            60s    41 reports with 5,6                → 41 #5 duplicate, 41 #6 accepted
            150s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `a batch without updates is contact`() throws {
        try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            60s    41 reports {"updates":[]}
            100s   41 reports
            190s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `a repeat moves no facts`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 5 ios              → 41 #5 accepted, 41 unknown, 41 online
            60s    41 reports with 5 off duty android → 41 #5 duplicate
            70s    41 reports with 5 received 0s off duty → 41 #5 duplicate
            """, updates: true)
        #expect(engine.roster[0].platform == .ios)
    }

    @Test func `a repeat that is contact moves facts`() throws {
        try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            60s    41 reports with 5 received 60s off duty → 41 #5 duplicate, 41 not expected
            """, updates: true)
    }

    @Test func `a repeat does not bring back who was retired or forgotten`() throws {
        try timeline(
            """
            0s     policy forget 1h
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            10s    roster 42                          → 41 not expected
            20s    41 reports with 5                  → 41 #5 duplicate
            30s    41 reports with 5 received 30s     → 41 #5 duplicate, 41 unknown, 41 online
            120s                                      → 41 degraded
            210s                                      → 41 offline
            1h210s                                    → 41 not expected by deadline
            2h     41 reports with 5                  → 41 #5 duplicate
            3h     41 reports with 5 received 3h      → 41 #5 duplicate, 41 unknown, 41 online
            """, updates: true)
    }

    // MARK: - Late (I1, F13)

    /// Even sequences from 0 on: as many ranges.
    private func ranges(_ count: Int, from: Int = 0) -> (list: String, expected: String) {
        let all = (0..<count).map { "\((from + $0) * 2)" }
        return (
            all.joined(separator: ","), all.map { "41 #\($0) accepted" }.joined(separator: ", ")
        )
    }

    @Test func `sixty-four ranges leave every hole open`() throws {
        let full = ranges(64)
        try timeline(
            """
            0s     41 reports with \(full.list)       → \(full.expected), 41 unknown, 41 online
            1s     41 reports with 1 captured 0s      → 41 #1 accepted
            2s     41 reports with 1 captured 0s      → 41 #1 duplicate
            """, updates: true)
    }

    @Test func `one range more closes the oldest hole, and what arrives up to it is late`() throws {
        let full = ranges(65)
        try timeline(
            """
            0s     41 reports with \(full.list)       → \(full.expected), 41 unknown, 41 online
            1s     41 reports with 1,0 captured 0s    → 41 #1 late, 41 #0 late
            2s     41 reports with 2,3                → 41 #2 duplicate, 41 #3 accepted
            92s                                       → 41 degraded
            """, updates: true)
    }

    @Test func `late updates are no contact without a newer received_at`() throws {
        let full = ranges(65)
        try timeline(
            """
            0s     41 reports with \(full.list)       → \(full.expected), 41 unknown, 41 online
            60s    41 reports with 1 captured 0s      → 41 #1 late
            90s                                       → 41 degraded
            100s   41 reports with 1 captured 0s received 100s → 41 #1 late, 41 online
            """, updates: true)
    }

    @Test func `P9: a late update captured after all that was taken is contact`() throws {
        let full = ranges(65)
        try timeline(
            """
            0s     41 reports install a with \(full.list) → \(full.expected), 41 unknown, 41 online
            60s    41 reports install a with 1 captured 59s → 41 #1 late
            100s   41 reports install a with 1 captured 59s → 41 #1 late
            110s   41 reports install a with 0 captured 40s → 41 #0 late
            120s   41 reports install a with 1 captured 119s → 41 #1 late
            210s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `P9: a late update proves nothing by a clock that is ahead`() throws {
        let full = ranges(65)
        try timeline(
            """
            0s     41 reports install a with \(full.list) → \(full.expected), 41 unknown, 41 online
            60s    41 reports install a with 1 captured 62.001s → 41 #1 late
            80s    41 reports install a with 1 captured 82s → 41 #1 late
            170s                                      → 41 degraded
            """, updates: true)
    }

    @Test func `P9: with a received_at a late update follows I4`() throws {
        let full = ranges(65)
        try timeline(
            """
            0s     41 reports install a with \(full.list) → \(full.expected), 41 unknown, 41 online
            50s    41 reports install a with 1 captured 49s received 0s → 41 #1 late
            60s    41 reports install a with 1 captured 0s received 60s → 41 #1 late
            150s                                      → 41 degraded
            """, updates: true)
    }

    // MARK: - Reinstalls (I3, F14)

    @Test func `another install id is another install`() throws {
        let engine = try timeline(
            """
            0s     41 reports install a with 5        → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports install b with 5        → 41 #5 accepted
            20s    41 reports install a with 5,6      → 41 #5 duplicate, 41 #6 accepted
            30s    41 reports install b with 5        → 41 #5 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 1)
    }

    @Test func `with an install id a sequence that begins anew is a duplicate`() throws {
        let engine = try timeline(
            """
            0s     41 reports install a with 5,6      → 41 #5 accepted, 41 #6 accepted, \
            41 unknown, 41 online
            10s    41 reports install a with 5 captured 9s → 41 #5 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 0)
    }

    @Test func `without an id a taken sequence captured later than all starts an install`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 1,2,3 captured 0s  → 41 #1 accepted, 41 #2 accepted, \
            41 #3 accepted, 41 unknown, 41 online
            10s    41 reports with 2 captured 0s      → 41 #2 duplicate
            20s    41 reports with 2 captured 0.001s  → 41 #2 accepted
            21s    41 reports with 2 captured 0.001s  → 41 #2 duplicate
            22s    41 reports with 3 captured 22s     → 41 #3 accepted
            """, updates: true)
        #expect(engine.counters.installsReset == 1)
    }

    @Test func `without an id a sequence below the lowest starts one if it was captured last`()
        throws
    {
        let engine = try timeline(
            """
            0s     41,42 report with 5                → 41 #5 accepted, 41 unknown, 41 online, \
            42 #5 accepted, 42 unknown, 42 online
            10s    41 reports with 1 captured 10s     → 41 #1 accepted
            11s    41 reports with 5 captured 11s     → 41 #5 accepted
            20s    42 reports with 1 captured 0s      → 42 #1 accepted
            21s    42 reports with 5 captured 0s      → 42 #5 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 1)
    }

    @Test func `a hole between ranges never starts an install`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 1,9                → 41 #1 accepted, 41 #9 accepted, \
            41 unknown, 41 online
            10s    41 reports with 5 captured 10s     → 41 #5 accepted
            20s    41 reports with 9 captured 5s      → 41 #9 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 0)
    }

    @Test func `without captured_at no install is guessed`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 5 captured never   → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports with 5 captured never   → 41 #5 duplicate
            20s    41 reports with 4 captured never   → 41 #4 accepted
            """, updates: true)
        #expect(engine.counters.installsReset == 0)
    }

    /// F14: `captured_at` is compared as sent, before clamping.
    @Test func `a phone from the future starts an install only by a later future`() throws {
        try timeline(
            """
            0s     41 reports with 5 captured 1h      → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports with 5 captured 10s     → 41 #5 duplicate
            20s    41 reports with 5 captured 1h      → 41 #5 duplicate
            30s    41 reports with 5 captured 1h1s    → 41 #5 accepted
            """, updates: true)
    }

    /// F14.
    @Test func `what was captured before the current install belongs to the one before`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 1,2,3 captured 0s  → 41 #1 accepted, 41 #2 accepted, \
            41 #3 accepted, 41 unknown, 41 online
            60s    41 reports with 1 captured 60s     → 41 #1 accepted
            70s    41 reports with 4 captured 59.999s → 41 #4 accepted
            71s    41 reports with 3 captured 0s      → 41 #3 duplicate
            72s    41 reports with 3 captured 72s     → 41 #3 accepted
            73s    41 reports with 4 captured 73s     → 41 #4 accepted
            74s    41 reports with 4 captured 59.999s → 41 #4 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 1)
    }

    @Test func `the first id seen adopts the anonymous install`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 5                  → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports install a with 5,6      → 41 #5 duplicate, 41 #6 accepted
            20s    41 reports install b with 5        → 41 #5 accepted
            """, updates: true)
        #expect(engine.counters.installsReset == 1)
    }

    @Test func `an id may be told before any update`() throws {
        let engine = try timeline(
            """
            0s     41 reports install a               → 41 unknown, 41 online
            10s    41 reports install a with 5        → 41 #5 accepted
            20s    41 reports install b
            30s    41 reports with 5 captured 30s     → 41 #5 accepted
            40s    41 reports install b with 5        → 41 #5 duplicate
            """, updates: true)
        #expect(engine.counters.installsReset == 1)
    }

    @Test func `a batch without an id belongs to the current install, and nothing is guessed`()
        throws
    {
        let engine = try timeline(
            """
            0s     41 reports install a with 5        → 41 #5 accepted, 41 unknown, 41 online
            10s    41 reports with 5 captured 10s     → 41 #5 duplicate
            20s    41 reports with 6 captured 20s     → 41 #6 accepted
            30s    41 reports install a with 6        → 41 #6 duplicate
            40s    41 reports with 1 captured 40s     → 41 #1 accepted
            """, updates: true)
        #expect(engine.counters.installsReset == 0)
    }

    /// I1: four installs; F14: batches of forgotten ones are late.
    @Test func `the fifth install makes us forget the first`() throws {
        let engine = try timeline(
            """
            0s     41 reports install a with 5        → 41 #5 accepted, 41 unknown, 41 online
            1s     41 reports install b with 5        → 41 #5 accepted
            2s     41 reports install c with 5        → 41 #5 accepted
            3s     41 reports install d with 5        → 41 #5 accepted
            5s     41 reports install e with 5        → 41 #5 accepted
            6s     41 reports install a with 7        → 41 #7 late
            7s     41 reports install a
            8s     41 reports install b with 5        → 41 #5 duplicate
            96s                                       → 41 degraded
            100s   41 reports install a with 8 received 100s → 41 #8 late, 41 online
            """, updates: true)
        #expect(engine.counters.installsReset == 4)
    }

    // MARK: - Order (I2)

    @Test func `of two batches received at once the higher sequence tells the facts`() throws {
        let engine = try timeline(
            """
            0s     a,b reports                        → a unknown, a online, b unknown, b online
            10s    a reports received 5s with 9 captured 1s android
            11s    a reports received 5s with 10 captured 2s ios
            12s    b reports received 5s with 10 captured 2s ios
            13s    b reports received 5s with 9 captured 1s android {"region":"n"}
            """)
        #expect(engine.roster[0].platform == .ios)
        #expect(engine.roster[1].platform == .ios)
        #expect(engine.regions[engine.roster[1].region] == Array("n".utf8))
    }

    /// Found by simulation: the higher sequence wins also when a newer contact came meanwhile.
    @Test func `of two batches received at once long ago the higher sequence tells the facts`()
        throws
    {
        let engine = try timeline(
            """
            0s     a,b reports                        → a unknown, a online, b unknown, b online
            30s    a,b reports
            31s    a reports received 10s with 7 captured 1s android
            32s    a reports received 10s with 6 captured 1s ios
            33s    b reports received 10s with 7 captured 1s android
            34s    b is told at 10s ios
            35s    b reports received 10s with 6 captured 1s android
            """)
        #expect(engine.roster[0].platform == .android)
        // What is told without a sequence has none to be compared with: the later word wins.
        #expect(engine.roster[1].platform == .android)
    }

    // MARK: - Two clocks (I5, I6, F16)

    private func location(_ engine: Engine) -> Int64 {
        engine.roster[0].lastLocationAt.milliseconds - Script.zero
    }

    @Test func `a flushed backlog makes a phone reachable, not located now`() throws {
        let engine = try timeline(
            """
            0s     41 reports with 1                  → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            600s   41 reports with 2,3 captured 60s   → 41 online
            """)
        #expect(location(engine) == 60_000)
    }

    @Test func `the last location is the newest one captured, in whatever order they come`() throws
    {
        let engine = try timeline(
            """
            0s     41 reports with 1 captured 0s      → 41 unknown, 41 online
            60s    41 reports with 3 captured 50s with 2 captured 20s
            70s    41 reports with 4 captured never
            """)
        #expect(location(engine) == 50_000)
    }

    @Test func `a repeated update is no location`() throws {
        let engine = try timeline(
            """
            0s     41 reports install a with 1 captured 0s → 41 unknown, 41 online
            60s    41 reports install a with 1 captured 50s
            """)
        #expect(location(engine) == 0)
    }

    @Test func `a location captured in the future counts as received, and as skew beyond 2 s`()
        throws
    {
        let engine = try timeline(
            """
            10s    41 reports with 1 captured 12s     → 41 unknown, 41 online
            """)
        #expect(engine.counters.skewedUpdates == 0)
        #expect(engine.counters.delay.count == 1)
        #expect(engine.counters.delay.sum == 0)
        let skewed = try timeline(
            """
            10s    41 reports with 1 captured 12.001s → 41 unknown, 41 online
            """)
        #expect(skewed.counters.skewedUpdates == 1)
        #expect(skewed.counters.delay.count == 0)
        #expect(location(skewed) == 10_000)
    }

    @Test func `skew is measured against when the backend heard the phone`() throws {
        let engine = try timeline(
            """
            100s   41 reports received 50s with 1 captured 52.001s with 2 captured 40s → \
            41 unknown, 41 online
            """)
        #expect(engine.counters.skewedUpdates == 1)
        #expect(engine.counters.delay.count == 1)
        #expect(engine.counters.delay.sum == 10_000)
    }
}
