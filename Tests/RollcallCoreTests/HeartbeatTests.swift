import RollcallCore
import Testing

/// The dead-man's switch on the feed. Source: B2, F6, F10, F11.
@Suite struct HeartbeatTests {
    @Test func `without heartbeats a quiet feed is taken literally`() throws {
        try timeline(
            """
            0s       41 reports through b1            → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            """)
    }

    @Test func `the watch is blind once the only source missed two and a half beats`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            24.999s
            """)
        try timeline(
            """
            0s       source b1 beats every 10s
            25s                                       → blind heartbeat since 0s
            40s      source b1 beats every 10s        → blind heartbeat ended since 0s
            """)
    }

    /// F1: what arrives at an instant comes before blindness.
    @Test func `a beat at the last instant is in time`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            25s      source b1 beats every 10s
            49.999s
            """)
        try timeline(
            """
            0s       source b1 beats every 10s
            25s                                       → blind heartbeat since 0s
            25.001s  source b1 beats every 10s        → blind heartbeat ended since 0s
            """)
    }

    @Test func `writes of a source are beats of it`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            20s      41 reports through b1            → 41 unknown, 41 online
            40s      41 is told ios through b1
            64.999s
            """)
    }

    @Test func `a line without a source is of source default`() throws {
        try timeline(
            """
            0s       source beats every 10s
            20s      41 reports                       → 41 unknown, 41 online
            40s      42 reports through b1            → 42 unknown, 42 online
            45s                                       → blind heartbeat since 20s
            50s      43 reports through b1            → 43 unknown, 43 online
            60s      44 reports                       → 44 unknown, 44 online, \
            blind heartbeat ended since 20s
            """)
    }

    @Test func `one source that beats is enough to see`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            5s       source b2 beats every 10s
            20s      source b1 beats every 10s
            44s      source b1 beats every 10s
            69s                                       → blind heartbeat since 44s
            70s      source b2 beats every 10s        → blind heartbeat ended since 44s
            """)
    }

    @Test func `blindness begins at the last beat of any source`() throws {
        try timeline(
            """
            0s       source b1 beats every 100s
            200s     source b2 beats every 4s
            210s
            250s                                      → blind heartbeat since 200s
            """)
    }

    /// B1: observed time is set back to the onset; what was decided in between stands.
    @Test func `what was decided before blindness was noticed stands`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            88s      source b1 beats every 1s
            90s                                       → 41 degraded
            90.5s                                     → blind heartbeat since 88s
            92s      source b1 beats every 1h         → blind heartbeat ended since 88s
            184s                                      → 41 offline
            """)
    }

    @Test func `observed time is set back to the last beat`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            60s      source b1 beats every 4s
            65s      42 reports through b2            → 42 unknown, 42 online
            70s                                       → blind heartbeat since 60s
            74s      source b1 beats every 1h         → blind heartbeat ended since 60s
            104s                                      → 41 degraded
            164s                                      → 42 degraded
            194s                                      → 41 offline
            """)
    }

    /// L6: the time of change is the onset too, if it lies in the blind stretch.
    @Test func `observed time that is set back leaves nobody more than their threshold`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            60s      source b1 beats every 4s
            65s      policy on_duty 5/25/60
            70s                                       → blind heartbeat since 60s
            74s      source b1 beats every 1h         → blind heartbeat ended since 60s
            99s                                       → 41 degraded
            134s                                      → 41 offline
            """)
    }

    /// F10.
    @Test func `a start is a beat of every source that was not down`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            20s      stop
            100s     start                            → blind stopped since 20s, \
            blind stopped ended since 20s
            125s                                      → blind heartbeat since 100s
            """)
    }

    /// F5: nothing is decided after the last line before a crash.
    @Test func `a source that fell silent before a crash was not missing yet`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            100s     start                            → blind stopped since 0s, \
            blind stopped ended since 0s
            125s                                      → blind heartbeat since 100s
            """)
    }

    /// What a suspended machine was not told is not missing: no page at the resume.
    @Test func `D6: the end of a suspension is a beat of every source that was up`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            20s      source b1 beats every 10s
            100s     turn                             → blind suspended since 20s, \
            blind suspended ended since 20s
            125s                                      → blind heartbeat since 100s
            """)
    }

    @Test func `D6: a source that was refused while the store failed is not missing`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            10s      source b1 beats every 10s
            12s      store fails
            13s                                       → blind store since 12s
            60s      store recovers                   → blind store ended since 12s
            84.999s
            85s                                       → blind heartbeat since 60s
            """)
    }

    @Test func `D6: a source that was down before the store failed is down after it`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            25s                                       → blind heartbeat since 0s
            40s      store fails
            41s                                       → blind store since 40s
            60s      store recovers                   → blind store ended since 40s
            70s      source b1 beats every 10s        → blind heartbeat ended since 0s
            """)
    }

    @Test func `D6: a source that was down before a suspension is down after it`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            10s      turn
            20s      turn
            25s                                       → blind heartbeat since 0s
            30s      turn
            130s     turn                             → blind suspended since 30s, \
            blind suspended ended since 30s
            140s     source b1 beats every 10s        → blind heartbeat ended since 0s
            """)
    }

    @Test func `a source that was down before a restart is down after it`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            0s       41 reports through b2            → 41 unknown, 41 online
            25s                                       → blind heartbeat since 0s
            30s      stop
            40s      start                            → blind stopped since 30s, \
            blind stopped ended since 30s
            50s      source b1 beats every 1h         → blind heartbeat ended since 0s
            140s                                      → 41 degraded
            """)
    }

    /// F6: 1…3600, and the latest told holds.
    @Test func `the latest promise of a source holds`() throws {
        try timeline(
            """
            0s       source b1 beats every 10s
            10s      source b1 beats every 1s
            12.5s                                     → blind heartbeat since 10s
            13s      source b1 beats every 3600s      → blind heartbeat ended since 10s
            9012.999s
            """)
        try timeline(
            """
            0s       source b1 beats every 3600s
            9000s                                     → blind heartbeat since 0s
            """)
    }

    @Test(arguments: ["3601s", "0.999s"])
    func `a promise out of range arms nothing`(every: String) throws {
        let engine = try timeline(
            """
            0s       source b1 beats every \(every)
            3h
            """)
        #expect(engine.sight.feed.sources.isEmpty)
    }

    @Test func `a missing source is disarmed after 15 minutes while another one beats`() throws {
        let text = """
            0s       source b1 beats every 3600s
            0s       source b2 beats every 10s
            """
        let before = try timeline(text + "\n924.999s")
        #expect(before.sight.feed.sources.count == 2)
        let after = try timeline(text + "\n925s")
        #expect(after.sight.feed.sources.map(\.name) == [Array("b1".utf8)])
    }

    @Test func `no source is disarmed while all are missing`() throws {
        let text = """
            0s       source b1 beats every 10s
            0s       source b2 beats every 10s
            25s                                       → blind heartbeat since 0s
            2000s    source b1 beats every 3600s      → blind heartbeat ended since 0s
            """
        let before = try timeline(text + "\n2899.999s")
        #expect(before.sight.feed.sources.count == 2)
        let after = try timeline(text + "\n2900s")
        #expect(after.sight.feed.sources.count == 1)
    }

    @Test func `at most 64 sources are armed`() throws {
        let beats = (1...65).map { "0s source b\($0) beats every 10s" }.joined(separator: "\n")
        let engine = try timeline(beats)
        #expect(engine.sight.feed.sources.count == 64)
        #expect(engine.sight.feed.sources.last?.name == Array("b64".utf8))
    }
}
