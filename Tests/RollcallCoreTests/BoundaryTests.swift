import RollcallCore
import Testing

/// Bounds and clocks at which a fault of one line went unnoticed: each has a test of its own.
@Suite struct BoundaryTests {
    // MARK: - Reachable, by the wall (L11)

    /// Observed time says 10 s, the wall more: nobody is sent on the word of a clock that stood
    /// still.
    @Test(arguments: [
        ("179.999s", "169.999s", Reachable.yes), ("180s", "170s", .yes),
        ("180.001s", "170.001s", .unknown), ("1h", "3590s", .unknown),
    ])
    func `L11: who was heard longer ago by the wall than the offline threshold is not reachable`(
        at: String, step: String, reachable: Reachable
    ) throws {
        let engine = try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            \(at)  clock steps +\(step)
            """)
        #expect(engine.roster[0].status == .online)
        #expect(engine.reachable(engine.roster[0]) == reachable)
    }

    @Test func `L11: a wall that was set back makes nobody unreachable`() throws {
        let engine = try timeline(
            """
            1h     41 reports                         → 41 unknown, 41 online
            10s    clock steps -3600s
            """)
        #expect(engine.reachable(engine.roster[0]) == .yes)
    }

    @Test func `L11: reachable is yes only ONLINE and confirmed, no only OFFLINE and seen`() throws
    {
        let begin = "0s 41 reports → 41 unknown, 41 online\n"
        let degraded = begin + "90s → 41 degraded\n"
        let offline = degraded + "180s → 41 offline\n"
        let blind = "1s store fails\n2s → blind store since 1s\n3s turn\n"
        let seen = "4s store recovers → blind store ended since 1s\n5s turn\n"
        let cases: [(String, Reachable)] = [
            (begin, .yes), (degraded, .unknown), (offline, .no),
            (begin + "1s 41 goes off duty → 41 not expected", .unknown),
            (begin + blind, .unknown), (begin + blind + seen, .unknown),
            (begin + blind + seen + "6s 41 reports", .yes),
            (offline + "200s store fails\n201s → blind store since 200s", .unknown),
        ]
        for (text, reachable) in cases {
            let engine = try timeline(text)
            #expect(engine.reachable(engine.roster[0]) == reachable, "\(text)")
        }
    }

    // MARK: - Steps of the wall (T1, F9)

    @Test(arguments: [Int64(3600), -3600, 299])
    func `F9: a step of the wall does not move a silence's end`(step: Int64) throws {
        var stage = try NoticeStage([.named("hook")])
        _ = stage.silence([.of("region", "north")], from: 0, until: 300)
        _ = stage.fold(.clock(step: .seconds(step)), at: 100)
        stage.pass(to: 299)
        #expect(stage.engine.alerting.notifications.silences.count == 1)
        stage.pass(to: 300)
        #expect(stage.engine.alerting.notifications.silences.isEmpty)
    }

    /// What began before a step is stamped by the wall as it was then, however many came since.
    @Test func `T1: a step of the wall is remembered for what began before it`() throws {
        try timeline(
            """
            10s    store fails
            11s                                       → blind store since 10s
            1h     clock steps +3580s
            2h     clock steps +3580s
            2h10s  store recovers                     → blind store ended since 10s
            2h20s  store fails
            2h21s                                     → blind store since 2h20s
            1h     clock steps -3630s
            1h5s   store recovers                     → blind store ended since 2h20s
            """)
    }

    @Test func `T1: a step of the wall moves no deadline`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            1h10s  clock steps +1h
            1h90s                                     → 41 degraded
            1h180s                                    → 41 offline
            """)
    }

    // MARK: - Bounds

    @Test(arguments: zip(LocationAges.boundsSeconds, LocationAges.boundsSeconds.indices))
    func `a location as old as a bucket's bound is in it, one second older is not`(
        bound: Int64, index: Int
    ) throws {
        for (age, count) in [(bound - 1, 1), (bound, 1), (bound + 1, 0)] {
            let engine = try timeline(
                """
                20000s 41 reports with 1 captured \(20_000 - age)s → 41 unknown, 41 online
                """)
            let ages = engine.aggregates.ages.distribution(now: engine.clock.observedNow)
            #expect(ages.cumulated[index] == count, "\(age) s old")
            #expect(ages.count == 1 && ages.sumMilliseconds == age * 1000)
        }
    }

    /// C1: six of twenty are 30 %, six of twenty-one are less.
    @Test(arguments: [(20, true), (21, false)])
    func `C1: 30 % of a region who fall silent at once are a mass, less is none`(
        active: Int, isMass: Bool
    ) throws {
        let ids = (0..<active).map { "p\($0 + 10)" }
        let online = ids.map { "\($0) unknown, \($0) online" }.joined(separator: ", ")
        let silent = ids.prefix(6)
        var told = silent.dropLast().map { "\($0) degraded, \($0) gap open unexplained" }
        let last = silent.last ?? ""
        told.append("\(last) degraded, \(last) gap open \(isMass ? "mass_gap" : "unexplained")")
        if isMass { told += silent.dropLast().map { "\($0) gap judged mass_gap" } }
        try timeline(
            """
            0s     \(ids.joined(separator: ",")) report → \(online)
            60s    \(ids.dropFirst(6).joined(separator: ",")) report
            90s    → \(told.joined(separator: ", "))
            """, gaps: true)
    }

    // MARK: - Who counts

    /// L1: whoever is not expected is in no denominator: 2 of 10, however many are off duty.
    @Test func `L1: the NOT_EXPECTED are in no denominator`() throws {
        try timeline(
            """
            0s      1,2,3,4,5,6,7,8,9,10,21,22,23,24,25,26,27,28,29 report
            10s     21,22,23 goes off duty
            10s     24,25,26 pauses
            10s     roster 1 2 3 4 5 6 7 8 9 10 21 22 23 24 25 26
            90s     3,4,5,6,7,8,9,10 report
            170s    3,4,5,6,7,8,9,10 report
            180s    → alert HighOfflineRate pending 0.2
            240s    → alert HighOfflineRate firing 0.2
            """, alerts: true)
    }

    // MARK: - Locations

    @Test func `I5: an older location moves the last one back neither here nor by the wall`() throws
    {
        let engine = try timeline(
            """
            60s    41 reports with 1 captured 50s     → 41 #1 accepted, 41 unknown, 41 online
            70s    41 reports with 2 captured 10s     → 41 #2 accepted
            80s    41 reports with 0 captured 49.999s → 41 #0 accepted
            """, updates: true)
        let at = Timestamp(milliseconds: Script.zero + 50_000)
        #expect(engine.roster[0].lastLocationAt == at)
        #expect(engine.clock.observedNow - engine.roster[0].lastLocation == Milliseconds(30_000))
        #expect(engine.counters.delay.count == 3)
    }
}
