import Testing

@testable import RollcallCore

/// Phones that report as their system lets them: thresholds of the background, and what a phone
/// promises. Source: P5, F19.
@Suite struct CadenceTests {
    // MARK: - The background

    @Test func `in the background other thresholds are in force, from contact to contact`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports phone foreground       → 41 unknown, 41 online
            20s     41 reports phone background
            920s    41 reports phone background
            2270s                                     → 41 degraded
            3620s                                     → 41 offline
            3700s   41 reports phone foreground       → 41 online
            3790s                                     → 41 degraded
            3880s                                     → 41 offline
            """)
    }

    @Test(arguments: ["background", "suspended", "terminated"])
    func `these states of the app are the background`(state: String) throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports phone \(state)         → 41 unknown, 41 online
            1350s                                     → 41 degraded
            """)
    }

    @Test(arguments: ["foreground", "inactive", "wifi"])
    func `these states of the app, and none, are not`(state: String) throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports phone \(state)         → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            """)
    }

    /// Right, and the reason why an app should send one batch when it goes to the background.
    @Test func `who goes there without a word is OFFLINE after the thresholds in front`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports phone foreground       → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            900s    41 reports phone background       → 41 online
            2250s                                     → 41 degraded
            """)
    }

    @Test func `a batch without telemetry keeps what the newest one said`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports phone background       → 41 unknown, 41 online
            100s    41 reports
            1450s                                     → 41 degraded
            """)
    }

    /// F19: what a late batch tells is in force from the next contact on.
    @Test func `the profile changes at contact, not before`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports with 1                 → 41 unknown, 41 online
            10s     41 reports with 3
            20s     41 reports with 2 phone background received 5s
            100s                                      → 41 degraded
            150s    41 reports with 4                 → 41 online
            1500s                                     → 41 degraded
            """)
    }

    @Test func `factors multiply the thresholds of the background`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700 low_power 2
            0s      41 reports phone background,saving → 41 unknown, 41 online
            2700s                                     → 41 degraded
            5400s                                     → 41 offline
            """)
    }

    @Test func `each duty has a background of its own, or none`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700 mission_behind 60/120/240
            0s      41 reports on mission phone background → 41 unknown, 41 online
            120s                                      → 41 degraded
            240s                                      → 41 offline
            """)
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports on mission phone background → 41 unknown, 41 online
            30s                                       → 41 degraded
            60s                                       → 41 offline
            """)
    }

    /// L6.
    @Test func `a change of duty judges by the other background`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports phone background       → 41 unknown, 41 online
            600s    41 goes on mission
            630s                                      → 41 degraded
            660s                                      → 41 offline
            700s    41 goes on duty                   → 41 online by duty
            1350s                                     → 41 degraded
            """)
    }

    /// L6, F19: only a change of duty or policy judges again.
    @Test func `new settings judge at once whoever is in the background`() throws {
        try timeline(
            """
            0s      41 reports phone background       → 41 unknown, 41 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            200s    policy behind 900/1350/2700       → 41 online by policy
            1350s                                     → 41 degraded
            1400s   policy behind 900/1350/1500
            2700s                                     → 41 offline
            """)
    }

    // MARK: - Promises

    @Test func `a promise is good for one and a half of it, then OFFLINE after three`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            1350s                                     → 41 degraded
            2700s                                     → 41 offline
            2800s   41 reports next 15m               → 41 online
            4150s                                     → 41 degraded
            """)
    }

    @Test func `it holds until the next batch, which may promise nothing`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            600s    41 reports
            690s                                      → 41 degraded
            780s                                      → 41 offline
            """)
    }

    @Test func `it makes nothing stricter than the profile in force`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports next 20s               → 41 unknown, 41 online
            0s      42 reports phone background next 60s → 42 unknown, 42 online
            90s                                       → 41 degraded
            180s                                      → 41 offline
            1350s                                     → 42 degraded
            2700s                                     → 42 offline
            """)
    }

    @Test func `factors raise the floor, and never a promise`() throws {
        try timeline(
            """
            0s      policy low_power 2
            0s      41 reports low power next 15m     → 41 unknown, 41 online
            0s      42 reports low power next 100s    → 42 unknown, 42 online
            180s                                      → 42 degraded
            360s                                      → 42 offline
            1350s                                     → 41 degraded
            2700s                                     → 41 offline
            """)
    }

    @Test(arguments: ["1h", "2h", "3d"])
    func `nobody is believed for longer than promise_max`(told: String) throws {
        try timeline(
            """
            0s      41 reports next \(told)           → 41 unknown, 41 online
            5400s                                     → 41 degraded
            10800s                                    → 41 offline
            """)
        try timeline(
            """
            0s      policy promise_max 600
            0s      41 reports next \(told)           → 41 unknown, 41 online
            300s                                      → 41 degraded
            600s                                      → 41 offline
            """)
    }

    @Test func `a promise_max of nothing believes nobody`() throws {
        try timeline(
            """
            0s      policy promise_max 0
            0s      41 reports next 15m               → 41 unknown, 41 online
            90s                                       → 41 degraded
            """)
    }

    /// L6: each deadline is the sooner of the old one and the time of the change plus the new
    /// threshold.
    @Test func `new settings judge promises too`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            1000s   policy promise_max 600
            1300s                                     → 41 degraded
            1600s                                     → 41 offline
            1700s   policy promise_max 10800          → 41 degraded by policy
            2700s                                     → 41 offline
            """)
    }

    @Test func `only the batch that was received last may promise`() throws {
        try timeline(
            """
            0s      41 reports with 1                 → 41 unknown, 41 online
            20s     41 reports with 3
            25s     41 reports with 2 received 10s next 15m
            110s                                      → 41 degraded
            """)
        try timeline(
            """
            0s      41 reports with 1                 → 41 unknown, 41 online
            20s     41 reports with 3 next 15m
            25s     41 reports with 2 received 10s
            1370s                                     → 41 degraded
            """)
    }

    /// I2: in whatever order they come.
    @Test(arguments: [["2", "3 next 15m"], ["3 next 15m", "2"], ["2 next 15m", "3 next 5m"]])
    func `of batches received at one instant the longest promise counts`(told: [String]) throws {
        try timeline(
            """
            0s      41 reports with 1                 → 41 unknown, 41 online
            20s     41 reports on duty received 20s with \(told[0])
            20.5s   41 reports on duty received 20s with \(told[1])
            1370s                                     → 41 degraded
            """)
    }

    /// L6: the old deadlines hold if they are sooner.
    @Test func `a change of duty ends it`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            600s    41 goes on mission
            630s                                      → 41 degraded
            660s                                      → 41 offline
            700s    41 goes on duty
            """)
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            600s    41 goes off duty                  → 41 not expected
            610s    41 goes on duty                   → 41 unknown
            790s                                      → 41 offline
            """)
    }

    @Test func `a batch that changes the duty may promise for the new one`() throws {
        try timeline(
            """
            0s      41 reports on mission             → 41 unknown, 41 online
            10s     41 reports on duty next 15m
            1360s                                     → 41 degraded
            """)
    }

    @Test func `on a mission no promise counts unless the settings say so`() throws {
        try timeline(
            """
            0s      41 reports on mission next 15m    → 41 unknown, 41 online
            30s                                       → 41 degraded
            60s                                       → 41 offline
            """)
        try timeline(
            """
            0s      policy mission_promise_max 600
            0s      41 reports on mission next 15m    → 41 unknown, 41 online
            300s                                      → 41 degraded
            600s                                      → 41 offline
            """)
    }

    /// L7: the server heard the phone, and knows nothing of what it promised.
    @Test func `the server's word for contact leaves it`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            10s     server says 41 DEGRADED to ONLINE
            1360s                                     → 41 degraded
            """)
    }

    @Test func `the server's word for silence is adopted nonetheless`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            180s    server says 41 ONLINE to OFFLINE  → 41 offline by server
            """)
    }

    // MARK: - What else goes by the thresholds in force

    /// B5.
    @Test func `a grace starts the thresholds in force anew`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports next 20m               → 41 unknown, 41 online
            0s      42 reports phone background       → 42 unknown, 42 online
            60s     store fails
            61s                                       → blind store since 60s
            80s     store recovers                    → blind store ended since 60s
            1430s                                     → 42 degraded
            1880s                                     → 41 degraded
            2780s                                     → 42 offline
            3680s                                     → 41 offline
            """)
    }

    /// F17, F18: deadlines count from becoming active, and by what was promised before.
    @Test func `a pause ends no promise`() throws {
        try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            60s     41 pauses                         → 41 not expected
            660s    41 shares                         → 41 unknown, 41 online by contact
            2010s                                     → 41 degraded
            """)
    }

    /// L11.
    @Test func `who promised is reachable until it is too late`() throws {
        let engine = try timeline(
            """
            0s      41 reports next 15m               → 41 unknown, 41 online
            1300s
            """)
        #expect(engine.reachable(engine.roster[0]) == .yes)
        let promised = engine.policy.promisedUntil(engine.roster[0])
        #expect(promised?.milliseconds == Script.zero + 900_000)
        let short = try timeline("0s 41 reports next 20s → 41 unknown, 41 online")
        #expect(short.policy.promisedUntil(short.roster[0]) == nil)
    }

    /// P5: last contact + promise, while the promise makes anything later than the profile would.
    @Test func `a promise counts from the last contact, and is told while it changes something`()
        throws
    {
        func promised(_ text: String) throws -> Int64? {
            let engine = try timeline(text)
            return engine.policy.promisedUntil(engine.roster[0]).map {
                $0.milliseconds - Script.zero
            }
        }
        let again = """
            0s      41 reports next 15m               → 41 unknown, 41 online
            600s    41 reports next 15m
            """
        #expect(try promised(again) == 1_500_000)
        #expect(try promised(again + "\n700s 41 pauses → 41 not expected") == nil)
        // It makes OFFLINE alone later.
        let offline = """
            0s      policy on_duty 60/200/300
            0s      41 reports next 2m                → 41 unknown, 41 online
            200s                                      → 41 degraded
            360s                                      → 41 offline
            """
        #expect(try promised(offline) == 120_000)
    }

    /// F29: UNKNOWN for longer than the degraded threshold in force.
    @Test func `a region is unreachable by the thresholds in force`() throws {
        try timeline(
            """
            0s      policy behind 900/1350/2700
            0s      41 reports in north phone background
            10s     41 reports off duty phone background
            2000s   41 goes on duty
            3350s   → alert NoOnlineResponders region=north pending 1
            3410s   → alert NoOnlineResponders region=north firing 1
            """, alerts: true)
    }

    /// F11: twelve times what the people are expected to do, at most the longest patience with any.
    @Test func `a stall is suspected by what the people are expected to do`() throws {
        try timeline(
            """
            0s     policy min_active 3 behind 100/150/3000
            0s     a,b,c report phone background → a unknown, a online, b unknown, b online, \
            c unknown, c online
            150s   → a degraded, a gap open app_suspended, b degraded, b gap open app_suspended, \
            c degraded, c gap open app_suspended
            400s   → a gap judged mass_gap, b gap judged mass_gap, c gap judged mass_gap
            """, gaps: true)
        try timeline(
            """
            0s     policy min_active 3
            0s     a,b,c report next 10m → a unknown, a online, b unknown, b online, \
            c unknown, c online
            900s   → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained
            1800s  → a gap judged mass_gap, b gap judged mass_gap, c gap judged mass_gap, \
            a offline, a gap judged, b offline, b gap judged, c offline, c gap judged
            """, gaps: true)
    }

    /// C4: not dark, and how much of that rests on a promise alone.
    @Test func `what rests on promises alone is counted`() throws {
        let engine = try timeline(
            """
            0s      41 reports with 1 next 15m        → 41 unknown, 41 online
            600s    41 reports with 2 next 15m
            1950s                                     → 41 degraded
            2000s   41 reports with 3                 → 41 online
            2090s                                     → 41 degraded
            2100s
            """)
        // 90 to 600, 690 to 1950.
        #expect(engine.promised(region: nil, .unknown) == 510_000 + 1_260_000)
        #expect(engine.dark(.contact, region: nil, .unknown) == 50_000 + 10_000)
    }

    /// C4: what a location covered by a promise is not uncovered when the next batch promises none.
    @Test func `the end of a promise leaves no hole behind`() throws {
        let engine = try timeline(
            """
            0s      41 reports with 1 next 15m        → 41 unknown, 41 online
            600s    41 reports
            620s    41 reports with 2
            680s    41 reports with 3
            760s
            """)
        #expect(engine.dark(.location, region: nil, .unknown) == 20_000)
    }

    // MARK: - A day of it

    /// The issue: a few reports an hour from behind flipped a living phone OFFLINE 18 times in six
    /// hours. Two cadences, 20 s in front and some 15 min behind, and one batch at each change.
    @Test(arguments: [true, false])
    func `a living phone is never OFFLINE in six hours, and a death in front is told in 3 min`(
        promises: Bool
    ) throws {
        var lines = ["0s policy behind 900/1350/2700"]
        if promises { lines = ["0s policy promise_max 10800"] }
        let behind = promises ? "phone background next 15m" : "phone background"
        var at = 0
        var isFirst = true
        var draw: UInt64 = 7
        func next(_ below: Int) -> Int {
            draw = draw &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(draw >> 33) % below
        }
        while at < 6 * 3600 {
            for _ in 0..<(3 + next(12)) {
                let told = "\(at)s 41 reports phone foreground"
                lines.append(isFirst ? told + " → 41 unknown, 41 online" : told)
                isFirst = false
                at += 20
            }
            lines.append("\(at)s 41 reports \(behind)")
            for _ in 0..<(1 + next(4)) {
                at += 600 + next(600)
                lines.append("\(at)s 41 reports \(behind)")
            }
            at += 20
        }
        lines.append("\(at)s 41 reports phone foreground")
        lines.append("\(at + 90)s → 41 degraded")
        lines.append("\(at + 180)s → 41 offline")
        try timeline(lines.joined(separator: "\n"))
    }
}
