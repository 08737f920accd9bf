import RollcallCore
import Testing

/// What the server's own transitions are worth. Source: L7, F6, F19, F20.
@Suite struct ServerTests {
    // MARK: - ONLINE is contact

    @Test func `a server's ONLINE is contact at its time`() throws {
        try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            10s    server says 41 UNKNOWN to ONLINE   → 41 online by server
            70s    server says 41 ONLINE to ONLINE 60s
            150s                                      → 41 degraded
            160s   server says 41 DEGRADED to ONLINE  → 41 online by server
            """)
    }

    @Test func `a server's ONLINE from before the last contact moves nothing`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            60s    41 reports
            70s    server says 41 OFFLINE to ONLINE 30s
            150s                                      → 41 degraded
            """)
    }

    @Test func `a server's ONLINE is worth what its age is worth`() throws {
        try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            180s                                      → 41 offline
            500s   server says 41 OFFLINE to ONLINE 180.001s ago
            500s   server says 41 OFFLINE to ONLINE 90s ago → 41 online by server
            500s                                      → 41 degraded
            """)
    }

    @Test func `who is off duty is heard, but not expected`() throws {
        try timeline(
            """
            0s     41 goes off duty
            10s    server says 41 OFFLINE to ONLINE
            20s    server says 41 ONLINE to OFFLINE
            100s   41 goes on duty                    → 41 unknown, 41 online
            190s                                      → 41 degraded
            """)
    }

    // MARK: - Worse is adopted

    @Test func `a worse status is adopted and undone by the next contact`() throws {
        try timeline(
            """
            0s     a,b report                         → a unknown, a online, b unknown, b online
            50s    server says a ONLINE to OFFLINE    → a offline by server
            50s    server says b ONLINE to DEGRADED   → b degraded by server
            60s    a reports                          → a online
            61s    b reports                          → b online
            150s                                      → a degraded
            """)
    }

    @Test func `who was declared degraded is missing at the usual time`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            50s    server says 41 ONLINE to DEGRADED  → 41 degraded by server
            60s    server says 41 DEGRADED to DEGRADED
            180s                                      → 41 offline
            """)
    }

    @Test func `a transition is adopted only if it is later than the last contact`() throws {
        try timeline(
            """
            0s     a,b,c report                       → a unknown, a online, b unknown, b online, \
            c unknown, c online
            50s    a,b,c report
            60s    server says a ONLINE to OFFLINE 49.999s
            60s    server says b ONLINE to OFFLINE 50s
            60s    server says c ONLINE to OFFLINE 50.001s → c offline by server
            """)
    }

    /// F20.
    @Test func `an adopted transition is undone only by contact later than it`() throws {
        try timeline(
            """
            0s     a,b,c report                       → a unknown, a online, b unknown, b online, \
            c unknown, c online
            60s    server says a ONLINE to OFFLINE 50s → a offline by server
            60s    server says b ONLINE to OFFLINE 50s → b offline by server
            60s    server says c ONLINE to OFFLINE 50s → c offline by server
            70s    a reports received 49.999s
            70s    b reports received 50s
            70s    c reports received 50.001s         → c online
            140.001s                                  → c degraded
            """)
    }

    @Test func `a better, an equal and an UNKNOWN status change nothing`() throws {
        try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            180s                                      → 41 offline
            190s   server says 41 OFFLINE to DEGRADED
            191s   server says 41 DEGRADED to OFFLINE
            200s   server says 41 OFFLINE to UNKNOWN
            210s   41 reports                         → 41 online
            220s   server says 41 ONLINE to UNKNOWN
            """)
    }

    /// F18: DEGRADED is better than UNKNOWN, and only what is worse than what the server saw before
    /// is adopted.
    @Test func `DEGRADED is worse than UNKNOWN only for whom the server saw ONLINE`() throws {
        try timeline(
            """
            0s     a,b,c goes on duty                 → a unknown, b unknown, c unknown
            10s    server says a OFFLINE to DEGRADED
            10s    server says b DEGRADED to DEGRADED
            10s    server says c UNKNOWN to DEGRADED
            180s                                      → a offline, b offline, c offline
            """)
    }

    @Test func `L7: ONLINE to DEGRADED of somebody UNKNOWN is adopted as named`() throws {
        let engine = try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            10s    server says 41 ONLINE to DEGRADED  → 41 degraded from online by server
            20s    server says 41 ONLINE to DEGRADED
            30s    41 reports received 10s
            40s    41 reports                         → 41 online
            130s                                      → 41 degraded
            """)
        let counts = engine.counters.transitions
        #expect(counts[Int(Status.online.rawValue) * 4 + Int(Status.degraded.rawValue)] == 2)
        #expect(counts[Int(Status.unknown.rawValue) * 4 + Int(Status.degraded.rawValue)] == 0)
        #expect(engine.counters.disagreements.reduce(0, +) == 0)
    }

    @Test func `L7: who is declared DEGRADED and never heard is OFFLINE in time`() throws {
        try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            10s    server says 41 ONLINE to DEGRADED  → 41 degraded from online by server, \
            41 gap open never_heard
            180s   → 41 offline, 41 gap judged never_heard
            200s   41 reports                         → 41 online, 41 gap closed never_heard
            290s   → 41 degraded, 41 verdict unexplained after never_heard, \
            41 gap open unexplained
            """, gaps: true)
    }

    @Test func `L7: who is UNKNOWN and declared DEGRADED is not adopted under observe`() throws {
        try timeline(
            """
            0s     policy observe
            0s     41 goes on duty                    → 41 unknown
            10s    server says 41 ONLINE to DEGRADED
            180s                                      → 41 offline
            """)
    }

    /// F6: there are no planned changes.
    @Test func `a transition in the future is one of now`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            10s    server says 41 ONLINE to OFFLINE 1h ahead → 41 offline by server
            10.001s 41 reports                        → 41 online
            """)
    }

    @Test func `a transition from before becoming active is not adopted`() throws {
        try timeline(
            """
            50s    a,b goes on duty                   → a unknown, b unknown
            60s    server says a ONLINE to OFFLINE 49.999s
            60s    server says b ONLINE to OFFLINE 50s → b offline from online by server
            230s                                      → a offline
            """)
    }

    // MARK: - Believing the server's `from`

    @Test func `from is believed while the status is UNKNOWN, and it is one line`() throws {
        let engine = try timeline(
            """
            0s     a,b,c goes on duty                 → a unknown, b unknown, c unknown
            10s    server says a ONLINE to OFFLINE    → a offline from online by server
            10s    server says b DEGRADED to OFFLINE  → b offline from degraded by server
            10s    server says c OFFLINE to ONLINE    → c online from offline by server
            """)
        let counts = engine.counters.transitions
        #expect(counts[Int(Status.online.rawValue) * 4 + Int(Status.offline.rawValue)] == 1)
        #expect(counts[Int(Status.degraded.rawValue) * 4 + Int(Status.offline.rawValue)] == 1)
        #expect(counts[Int(Status.offline.rawValue) * 4 + Int(Status.online.rawValue)] == 1)
    }

    @Test func `from is not believed once the model knows better`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s                                       → 41 degraded
            100s   server says 41 ONLINE to OFFLINE   → 41 offline by server
            """)
    }

    // MARK: - Enrolment (I9, F20)

    @Test func `a transition enrols, and is adopted however old it is`() throws {
        try timeline(
            """
            1d     server says a OFFLINE to ONLINE    → a unknown, a online from offline by server
            1d     server says b ONLINE to OFFLINE 7h ago → \
            b unknown, b offline from online by server
            1d     server says c ONLINE to UNKNOWN    → c unknown
            1d90s                                     → a degraded
            1d180s                                    → a offline, c offline
            """)
    }

    // MARK: - Retries

    @Test func `a retry under the same id counts once`() throws {
        let engine = try timeline(
            """
            0s     41,42 report                       → 41 unknown, 41 online, 42 unknown, 42 online
            10s    server says 41 ONLINE to OFFLINE id x → 41 offline by server
            20s    41 reports                         → 41 online
            30s    server says 41 ONLINE to OFFLINE id x
            40s    server says 41 ONLINE to OFFLINE id y → 41 offline by server
            50s    server says 42 ONLINE to OFFLINE id x → 42 offline by server
            """)
        #expect(engine.counters.serverTransitions[Int(Status.offline.rawValue)] == 3)
    }

    // MARK: - observe

    @Test func `under observe the server's transitions decide nothing, but enrol`() throws {
        let engine = try timeline(
            """
            0s     policy observe
            0s     41 reports                         → 41 unknown, 41 online
            10s    server says 41 ONLINE to OFFLINE
            60s    server says 41 ONLINE to ONLINE
            60s    server says 42 OFFLINE to ONLINE   → 42 unknown
            90s                                       → 41 degraded
            100s   server says 41 OFFLINE to ONLINE
            180s                                      → 41 offline
            240s                                      → 42 offline
            """)
        #expect(engine.counters.serverTransitions.reduce(0, +) == 4)
    }

    @Test func `under observe disagreements are counted too`() throws {
        let engine = try timeline(
            """
            0s     policy observe
            0s     41 reports                         → 41 unknown, 41 online
            10s    server says 41 ONLINE to OFFLINE
            20s    server says 41 ONLINE to ONLINE
            """)
        #expect(engine.counters.disagreements[Int(Status.offline.rawValue)] == 1)
        #expect(engine.counters.disagreements.reduce(0, +) == 1)
    }

    // MARK: - A server that is blind itself

    /// Reports of `count` people at 0 s, and what they make.
    private func everybody(_ count: Int) -> String {
        let ids = (100..<(100 + count)).map(String.init)
        return "0s \(ids.joined(separator: ",")) report → "
            + ids.map { "\($0) unknown, \($0) online" }.joined(separator: ", ") + "\n"
    }

    /// The server's OFFLINE for `people` at `at`, adopted or not.
    private func declared(_ people: Range<Int>, at: String, adopted: Bool) -> String {
        people.map {
            "\(at) server says \(100 + $0) ONLINE to OFFLINE"
                + (adopted ? " → \(100 + $0) offline by server" : "") + "\n"
        }.joined()
    }

    @Test func `from the twentieth and half of the active on none is adopted`() throws {
        try timeline(
            everybody(40) + declared(0..<19, at: "10s", adopted: true)
                + declared(19..<25, at: "20s", adopted: false))
    }

    @Test func `twenty of more than forty are adopted`() throws {
        try timeline(
            everybody(41) + declared(0..<20, at: "10s", adopted: true)
                + declared(20..<25, at: "20s", adopted: false))
    }

    @Test func `nineteen are adopted though they are all that are active`() throws {
        try timeline(everybody(19) + declared(0..<19, at: "10s", adopted: true))
    }

    @Test func `declarations are counted together for 60 s`() throws {
        let begin = everybody(30) + declared(0..<19, at: "10s", adopted: true)
        try timeline(begin + declared(19..<20, at: "69.999s", adopted: false))
        try timeline(begin + declared(19..<20, at: "70s", adopted: true))
    }

    @Test func `nobody counts twice`() throws {
        var text = everybody(24) + declared(0..<19, at: "10s", adopted: true)
        for second in 20..<30 { text += declared(0..<1, at: "\(second)s", adopted: false) }
        try timeline(text + declared(19..<20, at: "40s", adopted: false))
        let few = everybody(24) + declared(0..<18, at: "10s", adopted: true)
        try timeline(
            few + declared(0..<5, at: "11s", adopted: false)
                + declared(18..<19, at: "40s", adopted: true))
    }

    /// Erasure takes a person out of memory (I11); who has the id later is somebody new.
    @Test func `an erased person's declaration no longer counts`() throws {
        try timeline(
            everybody(24) + declared(0..<19, at: "10s", adopted: true)
                + "11s 118 is erased\n12s 118 is told on duty → 118 unknown\n"
                + "13s 118 reports → 118 online\n" + declared(18..<19, at: "14s", adopted: true)
                + declared(19..<20, at: "15s", adopted: false))
        // Behind one that is older than 60 s.
        let engine = try timeline(
            everybody(3) + declared(0..<1, at: "10s", adopted: true)
                + declared(1..<2, at: "70s", adopted: true)
                + "71s 100 is erased\n71s 101 is erased\n"
                + declared(2..<3, at: "72s", adopted: true))
        #expect(Checkpoint(engine).sliceCount > 0)
    }

    @Test func `those who were late anyhow do not count`() throws {
        let late = (200..<230).map { "\($0) online" }
        let ids = (200..<230).map(String.init).joined(separator: ",")
        let first = late.flatMap { [$0.replacing("online", with: "unknown"), $0] }
        let degraded = late.map { $0.replacing("online", with: "degraded") }
        let declared = (200..<230).map {
            "200s server says \($0) DEGRADED to OFFLINE"
        }
        try timeline(
            """
            0s \(ids) report → \(first.joined(separator: ", "))
            90s → \(degraded.joined(separator: ", "))
            180s → \(late.map { $0.replacing("online", with: "offline") }.joined(separator: ", "))
            \(declared.joined(separator: "\n"))
            201s 1 reports → 1 unknown, 1 online
            202s server says 1 ONLINE to OFFLINE → 1 offline by server
            """)
    }
}
