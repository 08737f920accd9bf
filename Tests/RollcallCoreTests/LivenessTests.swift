import RollcallCore
import Testing

/// Who can be reached, by time and by contact. Source: Contract/Liveness, F2, F3, F17, F18, F22.
@Suite struct LivenessTests {
    // MARK: - Deadlines (L4, L8)

    @Test func `somebody on duty is late after 90 s and missing after 180 s`() throws {
        try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            0s     41 reports                         → 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            181s   41 reports                         → 41 online
            """)
    }

    @Test func `somebody on a mission is late after 30 s and missing after 60 s`() throws {
        try timeline(
            """
            0s     41 reports on mission              → 41 unknown, 41 online
            30s                                       → 41 degraded
            60s                                       → 41 offline
            """)
    }

    @Test func `nothing is late one millisecond before its deadline`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            89.999s
            """)
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            179.999s
            """)
    }

    /// F1: what arrives at a deadline itself is in time.
    @Test(arguments: ["89.999s", "90s"])
    func `a report up to the degraded deadline keeps a responder online`(at: String) throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            \(at)    41 reports
            179.998s
            """)
    }

    @Test func `a report one millisecond after the degraded deadline brings back`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            90.001s  41 reports                       → 41 online
            180.001s                                  → 41 degraded
            270.001s                                  → 41 offline
            """)
    }

    @Test(arguments: ["179.999s", "180s"])
    func `a report up to the offline deadline spares OFFLINE`(at: String) throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            \(at)    41 reports                       → 41 online
            """)
    }

    @Test func `a report one millisecond after the offline deadline comes too late`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            180.001s 41 reports                       → 41 online
            """)
    }

    /// F2, F3, L9.
    @Test func `a long quiet is two transitions, each stamped with its own deadline`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            5h     42 reports                         → 42 unknown, 42 online
            """)
    }

    // MARK: - UNKNOWN (L2, L5)

    @Test func `somebody on duty who never reports is missing after the offline threshold`() throws
    {
        try timeline(
            """
            0s       41 goes on duty                  → 41 unknown
            0s       42 goes on mission               → 42 unknown
            60s                                       → 42 offline
            180s                                      → 41 offline
            """)
    }

    /// F18: by time UNKNOWN never becomes DEGRADED.
    @Test(arguments: ["1s", "179.999s", "180s"])
    func `the first report makes UNKNOWN online`(at: String) throws {
        try timeline(
            """
            0s       41 goes on duty                  → 41 unknown
            \(at)    41 reports                       → 41 online
            """)
    }

    /// L2: a contact within the degraded threshold before becoming active counts. F18: deadlines
    /// count from becoming active if that is later.
    @Test func `a contact up to 90 s before going on duty counts at once`() throws {
        try timeline(
            """
            0s     41 reports off duty
            90s    41 goes on duty                    → 41 unknown, 41 online
            180s                                      → 41 degraded
            270s                                      → 41 offline
            """)
    }

    @Test func `a contact more than 90 s before going on duty does not count`() throws {
        try timeline(
            """
            0s        41 reports off duty
            90.001s   41 goes on duty                 → 41 unknown
            270.001s                                  → 41 offline
            """)
    }

    @Test func `it is the threshold of the new duty state that an earlier contact must meet`()
        throws
    {
        try timeline(
            """
            0s        41,42 report off duty
            30s       41 goes on mission              → 41 unknown, 41 online
            30.001s   42 goes on mission              → 42 unknown
            60s                                       → 41 degraded
            90s                                       → 41 offline
            90.001s                                   → 42 offline
            """)
    }

    // MARK: - What a contact is worth (L3, F18)

    @Test func `a first batch that was received a while ago gives the status of its age`() throws {
        try timeline(
            """
            1000s  a reports received 90s ago         → a unknown, a online
            1000s  b reports received 90.001s ago     → b unknown, b degraded by contact
            1000s  c reports received 180s ago        → c unknown, c degraded by contact
            1000s  d reports received 180.001s ago    → d unknown
            1090s                                     → a degraded
            1180s                                     → a offline, b offline, c offline, d offline
            """)
    }

    @Test func `a late batch brings back no further than its age allows`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            300s   41 reports received 150s ago       → 41 degraded by contact
            310s   41 reports received 155s ago
            335s                                      → 41 offline
            400s   41 reports received 89s ago        → 41 online
            401s                                      → 41 degraded
            491s                                      → 41 offline
            """)
    }

    @Test func `a contact exactly as old as a threshold still counts, and its deadline passes`()
        throws
    {
        try timeline(
            """
            0s     41,42 report                       → 41 unknown, 41 online, 42 unknown, 42 online
            90s                                       → 41 degraded, 42 degraded
            180s                                      → 41 offline, 42 offline
            500s   41 reports received 90s ago        → 41 online
            500s   42 reports received 180s ago       → 42 degraded by contact
            500s                                      → 41 degraded, 42 offline
            590s                                      → 41 offline
            """)
    }

    @Test func `a contact older than the offline threshold changes nothing`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            500s   41 reports received 180.001s ago
            """)
    }

    /// I2: batches come in any order.
    @Test func `a batch received before the last one neither helps nor harms`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            50s    41 reports
            60s    41 reports received 50s ago
            140s                                      → 41 degraded
            """)
    }

    /// Design §3: `received_at` is clamped to now.
    @Test func `a batch received in the future was received now`() throws {
        try timeline(
            """
            0s     41 reports received 1h ahead       → 41 unknown, 41 online
            90s                                       → 41 degraded
            100s   41 reports                         → 41 online
            190s                                      → 41 degraded
            280s                                      → 41 offline
            """)
    }

    @Test func `a newer but old contact moves the offline deadline`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s                                       → 41 degraded
            170s   41 reports received 100s ago
            250s                                      → 41 offline
            """)
    }

    /// F17: nobody goes OFFLINE sooner than one offline threshold after we first knew them active.
    @Test func `old news enrols without putting anybody late`() throws {
        try timeline(
            """
            1d     41 reports received 7h ago         → 41 unknown
            1d     42 is told on mission at 7h ago    → 42 unknown
            1d60s                                     → 42 offline
            1d180s                                    → 41 offline
            """)
    }

    // MARK: - Forgetting (L10, F22)

    @Test func `somebody offline for seven days is forgotten`() throws {
        try timeline(
            """
            0s        41 reports                      → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            7d180s                                    → 41 not expected by deadline
            8d        41 reports                      → 41 unknown, 41 online
            """)
    }

    @Test func `nobody is forgotten one millisecond before seven days`() throws {
        try timeline(
            """
            0s         41 goes on duty                → 41 unknown
            180s                                      → 41 offline
            7d179.999s
            """)
    }

    @Test func `contact at the very end of the seven days is in time`() throws {
        try timeline(
            """
            0s        41 goes on duty                 → 41 unknown
            180s                                      → 41 offline
            7d180s    41 reports                      → 41 online
            """)
    }

    @Test func `the seven days count from the last time that somebody became offline`() throws {
        try timeline(
            """
            0s        policy forget 1d
            0s        41 goes on duty                 → 41 unknown
            180s                                      → 41 offline
            20h       41 reports                      → 41 online
            20h90s                                    → 41 degraded
            20h180s                                   → 41 offline
            1d20h180s                                 → 41 not expected by deadline
            """)
    }

    /// F22: contact brings back, or duty coming from OFF_DUTY.
    @Test func `duty brings a forgotten person back only when it comes from OFF_DUTY`() throws {
        try timeline(
            """
            0s        policy forget 1d
            0s        41 goes on duty                 → 41 unknown
            180s                                      → 41 offline
            1d180s                                    → 41 not expected by deadline
            2d        41 is told on duty
            3d        41 goes off duty
            4d        41 goes on duty                 → 41 unknown
            4d180s                                    → 41 offline
            5d180s                                    → 41 not expected by deadline
            """)
    }

    @Test func `somebody who is not expected is not late and not forgotten`() throws {
        try timeline(
            """
            0s        policy forget 1d
            0s        41 reports                      → 41 unknown, 41 online
            10s       41 goes off duty                → 41 not expected
            30d
            """)
    }

    // MARK: - Low power and platform (L4, F4, F19)

    @Test func `phones that save power get longer thresholds from their next contact on`() throws {
        try timeline(
            """
            0s     policy low_power 2
            0s     41 reports                         → 41 unknown, 41 online
            60s    41 reports low power
            240s                                      → 41 degraded
            420s                                      → 41 offline
            500s   41 reports normal power            → 41 online
            590s                                      → 41 degraded
            680s                                      → 41 offline
            """)
    }

    @Test func `factors multiply one another and are rounded to the nearest millisecond`() throws {
        try timeline(
            """
            0s          policy low_power 1.5 ios 2 android 1.000005
            0s          i reports ios low power       → i unknown, i online
            0s          a reports android             → a unknown, a online
            90s                                       → a degraded
            180.001s                                  → a offline
            270s                                      → i degraded
            540s                                      → i offline
            """)
    }

    @Test func `a platform told by the backend takes effect at the next contact`() throws {
        try timeline(
            """
            0s     policy ios 2
            0s     41 reports                         → 41 unknown, 41 online
            10s    41 is told ios
            90s                                       → 41 degraded
            100s   41 reports                         → 41 online
            280s                                      → 41 degraded
            460s                                      → 41 offline
            """)
    }

    // MARK: - What is counted (L9)

    @Test func `a transition is counted once under its from and to`() throws {
        let engine = try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            10s    server says 41 ONLINE to OFFLINE   → 41 offline by server
            11s    server says 41 ONLINE to OFFLINE
            20s    41 reports                         → 41 online
            110s                                      → 41 degraded
            """)
        func count(_ from: Status, _ to: Status) -> Int {
            engine.counters.transitions[Int(from.rawValue) * 4 + Int(to.rawValue)]
        }
        #expect(count(.unknown, .online) == 1)
        #expect(count(.online, .offline) == 1)
        #expect(count(.offline, .online) == 1)
        #expect(count(.online, .degraded) == 1)
    }
}

extension Engine {
    /// Records an issue unless what is kept by the way equals what a look at everybody finds.
    func expectSound(_ decided: [String], sourceLocation: SourceLocation) {
        var byStatus = [0, 0, 0, 0]
        var notExpected = [Int](repeating: 0, count: NotExpected.allCases.count)
        for number in 0..<roster.count where !roster.id(number).isEmpty {
            let person = roster[number]
            #expect(person.isActive == (person.notExpected == nil), sourceLocation: sourceLocation)
            if let reason = person.notExpected {
                notExpected[Int(reason.rawValue)] += 1
            } else {
                byStatus[Int(person.status.rawValue)] += 1
            }
        }
        #expect(aggregates.byStatus == byStatus, "tally by status", sourceLocation: sourceLocation)
        #expect(
            aggregates.notExpected == notExpected, "not expected", sourceLocation: sourceLocation)
        #expect(
            aggregates.byRegion.reduce(0, +) == aggregates.active, sourceLocation: sourceLocation)
        // Every transition is counted once, becoming (not) expected never. Source: L9, F5.
        let transitions = decided.count {
            $0.contains("\"kind\":\"status\"") && !$0.contains("NOT_EXPECTED")
        }
        #expect(
            counters.transitions.reduce(0, +) == transitions, "transitions counted",
            sourceLocation: sourceLocation)
    }
}
