import RollcallCore
import Testing

/// Who is expected, and whose word counts. Source: L1, L2, F15, F17, F23.
@Suite struct DutyTests {
    // MARK: - Expected or not (L1)

    @Test func `who goes off duty is not expected and never late`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            60s    41 goes off duty                   → 41 not expected
            1d
            """)
    }

    @Test func `who goes off duty at the deadline itself is not late`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s    41 goes off duty                   → 41 not expected
            """)
    }

    @Test func `a batch says itself that its sender goes off and on duty`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            60s    41 reports off duty                → 41 not expected
            300s   41 reports
            310s   41 reports on mission              → 41 unknown, 41 online
            340s                                      → 41 degraded
            """)
    }

    /// Design §3: a batch enrols ON_DUTY, and other mentions enrol as not expected.
    @Test func `somebody merely mentioned is not expected until a batch or a duty state comes`()
        throws
    {
        let engine = try timeline(
            """
            0s     41,42,43 goes {"region":"north"}
            1d     41 reports                         → 41 unknown, 41 online
            1d     42 goes on duty                    → 42 unknown
            """)
        #expect(engine.aggregates.notExpected[Int(NotExpected.noDuty.rawValue)] == 1)
        #expect(engine.regions[engine.roster[0].region] == Array("north".utf8))
    }

    @Test func `a transition does not make somebody expected who was merely mentioned`() throws {
        try timeline(
            """
            0s     41 goes {"region":"north"}
            10s    server says 41 OFFLINE to ONLINE
            20s    41 goes on duty                    → 41 unknown, 41 online
            """)
    }

    @Test func `somebody merely mentioned who then goes off duty stays unexpected`() throws {
        let engine = try timeline(
            """
            0s     41 goes {"platform":"ios"}
            10s    41 goes off duty
            20s    41 reports
            30s    41 goes on duty                    → 41 unknown, 41 online
            """)
        #expect(engine.aggregates.notExpected.reduce(0, +) == 0)
    }

    @Test func `a batch enrols into region default`() throws {
        let engine = try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            """)
        #expect(engine.regions[engine.roster[0].region] == Array("default".utf8))
    }

    // MARK: - Whose word counts (F15)

    @Test func `a duty state told by the backend wins over one in a batch soon after`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 goes off duty                 → 41 not expected
            69.999s  41 reports on duty
            """)
    }

    @Test func `a duty state in a batch counts again after 60 s`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 goes off duty                 → 41 not expected
            70.001s  41 reports on duty               → 41 unknown, 41 online
            """)
    }

    /// "Within 60 s" means younger than 60 s.
    @Test func `a duty state in a batch counts 60 s after the backend's`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 goes off duty                 → 41 not expected
            70s      41 reports on duty               → 41 unknown, 41 online
            """)
    }

    @Test func `the backend wins within 60 s in whichever order the two arrive`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            60s      41 reports on mission
            70s      41 goes off duty at 20s          → 41 not expected
            79s      41 reports on duty
            81s      41 reports on duty               → 41 unknown, 41 online
            """)
    }

    @Test func `a batch received more than 60 s after what the backend told keeps its word`() throws
    {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            61s      41 reports on duty
            70s      41 goes off duty at 0.999s
            """)
    }

    @Test func `the backend wins at the same instant, before and after the batch`() throws {
        try timeline(
            """
            0s       41,42 report                     → 41 unknown, 41 online, 42 unknown, 42 online
            10s      41 goes off duty                 → 41 not expected
            10s      41 reports on duty
            10s      42 reports on duty
            10s      42 goes off duty                 → 42 not expected
            """)
    }

    @Test func `a batch received before the backend's word does not overrule it`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            89s      41 goes off duty at 85s          → 41 not expected
            110s     41 reports on duty received 30s ago
            """)
    }

    @Test func `the newest word of the backend counts, whenever it arrives`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      41 goes off duty at 40s          → 41 not expected
            55s      41 goes on duty at 30s
            60s      41 goes on duty at 45s           → 41 unknown, 41 online
            """)
    }

    /// A blind stretch noticed later brings two words closer together (B1, F9), so one that did not
    /// count at once is kept.
    @Test func `the backend's 60 s are observed time, also for a word that came too late`() throws {
        try timeline(
            """
            100s     source b1 beats every 30s
            165s     41 reports on duty through b2    → 41 unknown, 41 online
            166s     41 is told on mission at 90s through b2
            175s                                      → blind heartbeat since 100s
            180s     41 reports off duty through b2
            """)
        try timeline(
            """
            100s     source b1 beats every 30s
            105s     41 is told on duty through b2    → 41 unknown
            166s     41 reports on mission through b2 → 41 online
            175s                                      → blind heartbeat since 100s
            180s     41 is told off duty at 95s through b2
            """)
    }

    @Test func `the newest batch's duty state counts, whenever it arrives`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      41 reports off duty              → 41 not expected
            55s      41 reports on duty received 15s ago
            60s      41 reports
            70s      41 reports on duty               → 41 unknown, 41 online
            """)
    }

    /// F6: there are no planned changes.
    @Test func `a duty state told for the future counts now`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 goes off duty at 1h           → 41 not expected
            20s      41 goes on duty                  → 41 unknown, 41 online
            """)
    }

    @Test func `an unknown duty state or sharing keeps the last one`() throws {
        try timeline(
            """
            0s       41 reports on mission {"sharing":"ghost"}  → 41 unknown, 41 online
            10s      41 reports {"duty_state":"LUNCH"}
            20s      41 goes {"duty_state":"LUNCH","sharing":"ghost"}
            40s                                       → 41 degraded
            50s      42 reports {"duty_state":"LUNCH"} → 42 unknown, 42 online
            70s                                       → 41 offline
            """)
    }

    @Test func `facts follow the newest time field by field`() throws {
        let engine = try timeline(
            """
            0s       41 reports ios {"region":"a","battery_level":0.9} → 41 unknown, 41 online
            50s      41 reports {"region":"c"}
            60s      41 reports received 30s ago {"region":"b","battery_level":0.5}
            61s      41 goes at 49s {"region":"d","platform":"android"}
            """)
        let person = engine.roster[0]
        #expect(engine.regions[person.region] == Array("c".utf8))
        #expect(person.battery == 5000)
        #expect(person.platform == .android)
    }

    /// F15: what the newest batch with a `telemetry` does not say is unknown.
    @Test func `telemetry is taken as a whole`() throws {
        let engine = try timeline(
            """
            0s       41 reports low power             → 41 unknown, 41 online
            10s      41 reports {"telemetry":{"network_type":"wifi"}}
            20s      41 reports
            30s      41 reports received 25s ago low power
            """)
        var telemetry = Telemetry()
        telemetry.networkType = 1
        #expect(engine.roster[0].telemetry == telemetry)
    }

    // MARK: - Pauses (L1, F23)

    @Test func `who pauses is not expected until they share again`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses                        → 41 not expected
            1h       41 reports
            1h90s    41 shares                        → 41 unknown, 41 online
            1h91s    41 reports paused                → 41 not expected
            2h       41 reports sharing               → 41 unknown, 41 online
            """)
    }

    @Test func `a pause ends at the instant that it was told to end at`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 90s              → 41 not expected
            90s                                       → 41 unknown, 41 online
            180s                                      → 41 degraded
            270s                                      → 41 offline
            """)
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 90.001s          → 41 not expected
            90s
            90.001s                                   → 41 unknown
            270.001s                                  → 41 offline
            """)
    }

    /// F1: everything that arrives at an instant, then pause expiries.
    @Test func `who pauses on at the very end of a pause stays paused`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 60s              → 41 not expected
            60s      41 pauses until 90s
            90s                                       → 41 unknown, 41 online
            """)
    }

    @Test func `an expiry in the past means active`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses                        → 41 not expected
            20s      41 pauses until 19.999s          → 41 unknown, 41 online
            """)
    }

    @Test func `the expiry is kept while the pause lasts`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 60s              → 41 not expected
            20s      41 pauses
            30s      41 reports paused
            60s                                       → 41 unknown, 41 online
            """)
    }

    @Test func `the expiry of a pause that was ended does not end the next one`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 60s              → 41 not expected
            20s      41 shares                        → 41 unknown, 41 online
            30s      41 pauses                        → 41 not expected
            1h
            """)
    }

    @Test func `the newest expiry counts`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 60s              → 41 not expected
            20s      41 pauses until 40s
            40s                                       → 41 unknown, 41 online
            50s      41 pauses until 60s              → 41 not expected
            55s      41 pauses until 80s
            80s                                       → 41 unknown, 41 online
            """)
    }

    @Test func `an older word about sharing does not end a newer pause`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      41 pauses                        → 41 not expected
            60s      41 shares at 40s
            65s      41 reports received 20s ago sharing
            """)
    }

    @Test func `a pause that ends off duty changes nothing`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 60s              → 41 not expected
            20s      41 goes off duty
            60s
            70s      41 goes on duty                  → 41 unknown, 41 online
            """)
    }

    /// F9: `paused_until` reads the wall.
    @Test func `a step of the wall moves the end of a pause`() throws {
        try timeline(
            """
            0s       41,42 report                     → 41 unknown, 41 online, 42 unknown, 42 online
            10s      41 pauses until 100s             → 41 not expected
            20s      42 pauses until 300s             → 42 not expected
            130s     clock steps +100s                → 41 unknown, 41 online
            100s     clock steps -50s
            170s                                      → 41 degraded
            """)
    }
}
