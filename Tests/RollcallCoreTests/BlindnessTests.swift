import RollcallCore
import Testing

/// What we do while we cannot see, and after. Source: Contract/Blindness, F5 to F12.
@Suite struct BlindnessTests {
    // MARK: - Not running (B1)

    @Test func `nobody is late for the time in which we did not run`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      stop
            60s      start                            → blind stopped since 50s, \
            blind stopped ended since 50s
            100s                                      → 41 degraded
            190s                                      → 41 offline
            """)
    }

    @Test func `what fell due before a stop was decided`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            100s     stop
            105s     start                            → blind stopped since 100s, \
            blind stopped ended since 100s
            185s                                      → 41 offline
            """)
    }

    /// F5: nothing is decided after the last line, `stopped` since that line.
    @Test func `a start without a stop is a crash since the line before`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            500s     start                            → blind stopped since 0s, \
            blind stopped ended since 0s
            590s                                      → 41 degraded
            680s                                      → 41 offline
            """)
    }

    @Test func `the first start ends nothing`() throws {
        try timeline(
            """
            0s       start
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            """)
    }

    // MARK: - Grace (B5, F7)

    @Test func `an episode just below 15 s only stops the clock`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      stop
            64.999s  start                            → blind stopped since 50s, \
            blind stopped ended since 50s
            104.999s                                  → 41 degraded
            194.999s                                  → 41 offline
            """)
    }

    @Test func `an episode of 15 s starts all deadlines anew`() throws {
        try timeline(
            """
            0s       a reports                        → a unknown, a online
            10s      u goes on duty                   → u unknown
            20s      m reports on mission             → m unknown, m online
            50s                                       → m degraded
            55s      stop
            70s      start                            → blind stopped since 55s, \
            blind stopped ended since 55s
            130s                                      → m offline
            160s                                      → a degraded
            250s                                      → a offline, u offline
            """)
    }

    @Test func `a grace does not reach those who are offline`() throws {
        try timeline(
            """
            0s       policy forget 1h
            0s       41 goes on duty                  → 41 unknown
            180s                                      → 41 offline
            200s     stop
            800s     start                            → blind stopped since 200s, \
            blind stopped ended since 200s
            1h780s                                    → 41 not expected by deadline
            """)
    }

    /// B5, F18: nor does it move the deadlines that a later contact gives them.
    @Test func `who was offline at a grace counts from contact alone`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            300s     store fails
            301s                                      → blind store since 300s
            330s     store recovers                   → blind store ended since 300s
            340s     41 reports received 160s ago     → 41 degraded by contact
            390s                                      → 41 offline
            """)
    }

    /// Found by simulation.
    @Test func `a grace that was granted stays when a later one is not`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      store fails
            11s                                       → blind store since 10s
            30s      store recovers                   → blind store ended since 10s
            120s                                      → 41 degraded
            210s                                      → 41 offline
            300s     store fails
            301s                                      → blind store since 300s
            320s     store recovers                   → blind store ended since 300s
            330s     policy on_duty 60/400/600        → 41 online by policy
            450s                                      → 41 degraded
            """)
    }

    @Test func `there are at most three graces in 30 minutes`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            80s      stop
            100s     start                            → blind stopped since 80s, \
            blind stopped ended since 80s
            180s     stop
            200s     start                            → blind stopped since 180s, \
            blind stopped ended since 180s
            280s     stop
            300s     start                            → blind stopped since 280s, \
            blind stopped ended since 280s
            380s     stop
            400s     start                            → blind stopped since 380s, \
            blind stopped ended since 380s
            410s                                      → 41 degraded
            500s                                      → 41 offline
            """)
    }

    /// F7: fewer than three were granted in the 30 min of wall time before.
    @Test(arguments: [("1899.999s", false), ("1900s", true), ("1900.001s", true)])
    func `a grace is spent for 30 minutes`(end: String, isGranted: Bool) throws {
        let start = try Script.span(Substring(end))
        let degraded = isGranted ? start + 90_000 : start + 10_000
        try timeline(
            """
            80s      stop
            100s     start                            → blind stopped since 80s, \
            blind stopped ended since 80s
            180s     stop
            200s     start                            → blind stopped since 180s, \
            blind stopped ended since 180s
            280s     stop
            300s     start                            → blind stopped since 280s, \
            blind stopped ended since 280s
            1800s    41 reports                       → 41 unknown, 41 online
            1880s    stop
            \(end)   start                            → blind stopped since 1880s, \
            blind stopped ended since 1880s
            \(degraded)ms                             → 41 degraded
            """)
    }

    /// F18: deadlines count from the last grace if that is later than the last contact.
    @Test func `a contact from before a grace does not shorten it`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      store fails
            51s                                       → blind store since 50s
            70s      store recovers                   → blind store ended since 50s
            75s      41 reports received 45s
            160s                                      → 41 degraded
            250s                                      → 41 offline
            """)
    }

    // MARK: - Late turns (B1)

    @Test func `a turn up to 5 s late is none`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            5s       turn
            15s      turn
            90s      42 reports                       → 42 unknown, 42 online, 41 degraded
            """)
    }

    @Test func `a turn more than 5 s late was blindness since the line before`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            5s       turn
            15.001s  turn                             → blind suspended since 5s, \
            blind suspended ended since 5s
            100.001s                                  → 41 degraded
            """)
    }

    @Test func `nothing is decided about a suspended stretch`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            5s       turn
            400s     turn                             → blind suspended since 5s, \
            blind suspended ended since 5s
            490s                                      → 41 degraded
            580s                                      → 41 offline
            """)
    }

    // MARK: - The store (B1)

    @Test func `nothing gets worse while the store fails`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            89.999s  store fails
            90.999s                                   → blind store since 89.999s
            99.999s  store recovers                   → blind store ended since 89.999s
            100s                                      → 41 degraded
            190s                                      → 41 offline
            """)
    }

    /// F1: blindness comes before the deadlines of its instant.
    @Test func `a deadline at the onset itself does not pass`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s      store fails
            91s                                       → blind store since 90s
            105s     store recovers                   → blind store ended since 90s
            195s                                      → 41 degraded
            """)
    }

    @Test func `statuses improve while the store fails`() throws {
        try timeline(
            """
            0s       41,42 goes on duty               → 41 unknown, 42 unknown
            180s                                      → 41 offline, 42 offline
            200s     store fails
            201s                                      → blind store since 200s
            300s     41 reports                       → 41 online
            310s     server says 42 OFFLINE to ONLINE → 42 online by server
            320s     43 reports                       → 43 unknown, 43 online
            900s     store recovers                   → blind store ended since 200s
            990s                                      → 41 degraded, 42 degraded, 43 degraded
            """)
    }

    @Test func `a store that fails twice or recovers twice says nothing new`() throws {
        try timeline(
            """
            0s       store recovers
            10s      store fails
            11s      store fails
            11s                                       → blind store since 10s
            20s      store recovers                   → blind store ended since 10s
            21s      store recovers
            """)
    }

    // MARK: - What is told while blind (F8, F9)

    @Test func `facts take effect while blind`() throws {
        try timeline(
            """
            0s       41,42 report                     → 41 unknown, 41 online, 42 unknown, 42 online
            10s      store fails
            11s                                       → blind store since 10s
            20s      41 goes off duty                 → 41 not expected
            30s      42 pauses                        → 42 not expected
            40s      41 goes on duty                  → 41 unknown, 41 online
            50s      roster 42                        → 41 not expected
            60s      store recovers                   → blind store ended since 10s
            """)
    }

    @Test func `a server's worse status is counted, not adopted, while blind`() throws {
        let engine = try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      store fails
            11s                                       → blind store since 10s
            20s      server says 41 ONLINE to OFFLINE
            30s      store recovers                   → blind store ended since 10s
            120s                                      → 41 degraded
            """)
        #expect(engine.counters.serverTransitions[Int(Status.offline.rawValue)] == 1)
    }

    @Test func `a pause that runs out while blind ends with the blindness`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 pauses until 60s              → 41 not expected
            50s      store fails
            51s                                       → blind store since 50s
            70s      store recovers                   → blind store ended since 50s, \
            41 unknown, 41 online
            160s                                      → 41 degraded
            """)
    }

    @Test func `a contact while blind counts as one at its onset`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      store fails
            51s                                       → blind store since 50s
            60s      41 reports
            64s      store recovers                   → blind store ended since 50s
            154s                                      → 41 degraded
            """)
    }

    @Test func `a contact told later for a blind instant counts as one at its onset`() throws {
        try timeline(
            """
            0s       a,b,c report                     → a unknown, a online, b unknown, b online, \
            c unknown, c online
            50s      store fails
            51s                                       → blind store since 50s
            64s      store recovers                   → blind store ended since 50s
            70s      a reports received 45s
            70s      b reports received 60s
            70s      c reports received 65s
            149s                                      → a degraded
            154s                                      → b degraded
            155s                                      → c degraded
            """)
    }

    @Test func `forgetting counts observed time`() throws {
        try timeline(
            """
            0s       policy forget 1h
            0s       41 goes on duty                  → 41 unknown
            180s                                      → 41 offline
            1h       store fails
            3601s                                     → blind store since 1h
            2h       store recovers                   → blind store ended since 1h
            2h179.999s
            """)
        try timeline(
            """
            0s       policy forget 1h
            0s       41 goes on duty                  → 41 unknown
            180s                                      → 41 offline
            1h       store fails
            3601s                                     → blind store since 1h
            2h       store recovers                   → blind store ended since 1h
            2h180s                                    → 41 not expected by deadline
            """)
    }

    /// L2 in observed time.
    @Test func `a contact before a blind window is as old as the time we watched`() throws {
        try timeline(
            """
            0s       41 reports off duty
            50s      store fails
            51s                                       → blind store since 50s
            64s      store recovers                   → blind store ended since 50s
            104s     41 goes on duty                  → 41 unknown, 41 online
            194s                                      → 41 degraded
            """)
    }

    // MARK: - Episodes (F7)

    @Test func `each cause has a window of its own`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      store fails
            11s                                       → blind store since 10s
            20s      refused 10
            21s                                       → blind overload since 20s
            30s      store recovers                   → blind store ended since 10s
            35s                                       → blind overload ended since 20s
            125s                                      → 41 degraded
            """)
    }

    @Test func `short windows that overlap make one episode, and it has a grace`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      source b1 beats every 2s
            15s                                       → blind heartbeat since 10s
            16s      store fails
            17s      source b1 beats every 1h         → blind store since 16s, \
            blind heartbeat ended since 10s
            25s      store recovers                   → blind store ended since 16s
            115s                                      → 41 degraded
            """)
    }

    @Test func `short windows with sight between them make two episodes without a grace`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      store fails
            11s                                       → blind store since 10s
            20s      store recovers                   → blind store ended since 10s
            20.001s  store fails
            21.001s                                   → blind store since 10s
            30s      store recovers                   → blind store ended since 10s
            109.999s                                  → 41 degraded
            """)
    }

    @Test func `windows that touch make one episode`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      store fails
            11s                                       → blind store since 10s
            20s      store recovers                   → blind store ended since 10s
            20s      stop
            27s      start                            → blind stopped since 20s, \
            blind stopped ended since 20s
            117s                                      → 41 degraded
            """)
    }

    @Test func `windows begin before others end at one instant`() throws {
        try timeline(
            """
            0s       source b1 beats every 4s
            10s      store fails                      → blind heartbeat since 0s
            11s                                       → blind store since 10s
            20s      source b1 beats every 1h
            20s      store recovers                   → blind heartbeat ended since 0s, \
            blind store ended since 10s
            30s      store fails
            31s                                       → blind store since 30s
            39s      refused 10
            40s      store recovers                   → blind overload since 39s, \
            blind store ended since 30s
            54s                                       → blind overload ended since 39s
            """)
    }

    // MARK: - The wall (T1, F9)

    @Test func `a step of the wall is no deadline`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            3650s    clock steps +3600s
            3690s                                     → 41 degraded
            3780s                                     → 41 offline
            """)
    }

    @Test func `a step of the wall backwards gives nobody more time`() throws {
        try timeline(
            """
            1000s    41 reports                       → 41 unknown, 41 online
            50s      clock steps -1000s
            90s                                       → 41 degraded
            180s                                      → 41 offline
            """)
    }

    @Test func `a told time lies as far back as the wall says when it is folded`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            1050s    clock steps +1000s
            1060s    41 reports received 20s ago
            1130s                                     → 41 degraded
            """)
    }
}
