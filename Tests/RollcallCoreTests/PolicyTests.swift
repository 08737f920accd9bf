import RollcallCore
import Testing

/// Other thresholds, by duty or by settings. Source: L6, F19.
@Suite struct PolicyTests {
    // MARK: - Stricter

    @Test func `a stricter duty state counts from the change, or from the old deadline`() throws {
        try timeline(
            """
            0s     a,b,c report                       → a unknown, a online, b unknown, b online, \
            c unknown, c online
            10s    a goes on mission
            40s                                       → a degraded
            60s    b goes on mission
            70s                                       → a offline
            80s    c goes on mission
            90s                                       → b degraded, c degraded
            120s                                      → b offline
            140s                                      → c offline
            """)
    }

    @Test func `stricter settings put nobody late at once`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            20s    policy on_duty 30/40/80
            60s                                       → 41 degraded
            100s                                      → 41 offline
            110s   41 reports                         → 41 online
            150s                                      → 41 degraded
            190s                                      → 41 offline
            """)
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            89s    policy on_duty 5/10/20
            90s                                       → 41 degraded
            109s                                      → 41 offline
            """)
    }

    @Test func `stricter settings at the deadline itself change nothing about it`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            90s    policy on_duty 5/10/20             → 41 degraded
            110s                                      → 41 offline
            """)
    }

    @Test func `stricter settings bring the end of UNKNOWN forward`() throws {
        try timeline(
            """
            0s     41 goes on duty                    → 41 unknown
            10s    policy on_duty 30/40/80
            90s                                       → 41 offline
            """)
    }

    @Test func `both deadlines are handled each on its own`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            20s    policy on_duty 30/40/300
            60s                                       → 41 degraded
            300s                                      → 41 offline
            """)
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            20s    policy on_duty 60/100/120
            100s                                      → 41 degraded
            140s                                      → 41 offline
            """)
    }

    @Test func `stricter twice takes the earliest deadline`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            10s    policy on_duty 30/60/120
            20s    policy on_duty 30/55/110
            70s                                       → 41 degraded
            130s                                      → 41 offline
            """)
    }

    // MARK: - Looser

    @Test func `a looser duty state evaluates the age anew`() throws {
        try timeline(
            """
            0s     a,b,c report on mission            → a unknown, a online, b unknown, b online, \
            c unknown, c online
            30s                                       → a degraded, b degraded, c degraded
            40s    a goes on duty                     → a online by duty
            60s                                       → b offline, c offline
            70s    b goes on duty                     → b online by duty
            90s                                       → a degraded, b degraded
            100s   c goes on duty                     → c degraded by duty
            180s                                      → a offline, b offline, c offline
            """)
    }

    @Test func `who is older than the looser thresholds stays`() throws {
        try timeline(
            """
            0s       a,b report on mission            → a unknown, a online, b unknown, b online
            30s                                       → a degraded, b degraded
            60s                                       → a offline, b offline
            180.001s a goes on duty
            500s     b goes on duty
            """)
        try timeline(
            """
            0s       41 reports on mission {"platform":"ios"} → 41 unknown, 41 online
            30s                                       → 41 degraded
            55s      policy on_mission 15/31/70
            70s                                       → 41 offline
            """)
    }

    /// ONLINE while age ≤ degraded (L4), and at closing D ≤ now passes (F1).
    @Test func `an age exactly at the looser threshold counts, and its deadline passes`() throws {
        try timeline(
            """
            0s       a,b report on mission            → a unknown, a online, b unknown, b online
            30s                                       → a degraded, b degraded
            60s                                       → a offline, b offline
            90s      a goes on duty                   → a online by duty, a degraded
            180s     b goes on duty                   → b degraded by duty, a offline, b offline
            """)
    }

    @Test func `so does one exactly at the looser degraded threshold alone`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            90s                                       → 41 degraded
            100s     policy on_duty 60/100/180        → 41 online by policy, 41 degraded
            """)
    }

    /// F19: in one batch facts apply before contact.
    @Test func `a batch that brings a looser duty state re-judges before it is contact`() throws {
        try timeline(
            """
            0s       a,b report on mission            → a unknown, a online, b unknown, b online
            30s                                       → a degraded, b degraded
            40s      a reports on duty                → a online by duty
            60s                                       → b offline
            100s     b reports on duty                → b degraded by duty, b online
            130s                                      → a degraded
            """)
    }

    @Test func `a batch that brings a stricter duty state is contact under it`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            60s      41 reports on mission
            90s                                       → 41 degraded
            120s                                      → 41 offline
            """)
    }

    @Test func `who was never heard goes back to UNKNOWN`() throws {
        try timeline(
            """
            0s       a,b goes on mission              → a unknown, b unknown
            60s                                       → a offline, b offline
            70s      a goes on duty                   → a unknown
            180s                                      → a offline
            181s     b goes on duty
            """)
    }

    /// A contact from before becoming active does not count as heard since (L4).
    @Test func `who was not heard since becoming active goes back to UNKNOWN`() throws {
        try timeline(
            """
            0s       41 reports off duty
            100s     41 goes on mission               → 41 unknown
            160s                                      → 41 offline
            200s     41 goes on duty                  → 41 unknown
            280s                                      → 41 offline
            """)
    }

    /// Found by simulation: news that came too late to change the status is contact all the same.
    @Test func `who was heard too late is judged by that contact`() throws {
        try timeline(
            """
            0s       41 goes on mission               → 41 unknown
            60s                                       → 41 offline
            70s      41 reports received 65s ago
            80s      41 goes on duty                  → 41 online by duty
            95s                                       → 41 degraded
            """)
    }

    @Test func `what was adopted from the server stays until contact`() throws {
        try timeline(
            """
            0s       a,b report on mission            → a unknown, a online, b unknown, b online
            10s      server says a ONLINE to OFFLINE  → a offline by server
            10s      server says b ONLINE to DEGRADED → b degraded by server
            20s      a,b goes on duty
            30s      a reports                        → a online
            120s                                      → a degraded
            180s                                      → b offline
            """)
    }

    /// A grace moves deadlines, not ages.
    /// F19: each threshold on its own. OFFLINE was decided before the blindness was noticed and
    /// stands (B1).
    @Test func `whoever a looser threshold brings back keeps the deadline of a stricter one`()
        throws
    {
        try timeline(
            """
            0s     policy on_duty 60/179/180
            0s     41 reports                         → 41 unknown, 41 online
            176s   source b1 beats every 4s
            179s                                      → 41 degraded
            180s                                      → 41 offline
            186s                                      → blind heartbeat since 176s
            190s   source b1 beats every 1h           → blind heartbeat ended since 176s
            191s   policy on_duty 60/178/300          → 41 online by policy
            193s                                      → 41 degraded
            314s                                      → 41 offline
            """)
    }

    @Test func `ages are what they are after a grace`() throws {
        try timeline(
            """
            0s       41 reports on mission            → 41 unknown, 41 online
            10s      store fails
            11s                                       → blind store since 10s
            30s      store recovers                   → blind store ended since 10s
            60s                                       → 41 degraded
            90s                                       → 41 offline
            100s     41 goes on duty                  → 41 online by duty
            120s                                      → 41 degraded
            210s                                      → 41 offline
            """)
    }

    // MARK: - Settings

    @Test func `looser settings evaluate everybody anew, by id`() throws {
        try timeline(
            """
            0s       9,a,10 report                    → 9 unknown, 9 online, a unknown, a online, \
            10 unknown, 10 online
            90s                                       → 10 degraded, 9 degraded, a degraded
            100s     policy on_duty 60/120/240        → 10 online by policy, 9 online by policy, \
            a online by policy
            120s                                      → 10 degraded, 9 degraded, a degraded
            240s                                      → 10 offline, 9 offline, a offline
            """)
    }

    @Test func `what a policy lacks is default`() throws {
        try timeline(
            """
            0s       policy on_duty 60/300/600 on_mission 15/300/600
            0s       41 reports                       → 41 unknown, 41 online
            0s       42 reports on mission            → 42 unknown, 42 online
            10s      policy on_duty 60/300/600
            40s                                       → 42 degraded
            70s                                       → 42 offline
            300s                                      → 41 degraded
            """)
    }

    @Test func `the same settings again change nothing`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      policy on_duty 60/90/180
            90s                                       → 41 degraded
            150s     policy on_duty 60/90/180
            180s                                      → 41 offline
            """)
    }

    /// F19: factors take effect at the next contact.
    @Test func `factors in force are those of the last contact`() throws {
        try timeline(
            """
            0s       41 reports low power             → 41 unknown, 41 online
            50s      policy low_power 2
            90s                                       → 41 degraded
            100s     41 reports                       → 41 online
            280s                                      → 41 degraded
            290s     policy low_power 1
            460s                                      → 41 offline
            """)
    }

    @Test func `looser settings are multiplied by the factor in force`() throws {
        try timeline(
            """
            0s       policy ios 2
            0s       41 reports ios                   → 41 unknown, 41 online
            180s                                      → 41 degraded
            190s     policy on_duty 60/100/200 ios 2  → 41 online by policy
            200s                                      → 41 degraded
            400s                                      → 41 offline
            """)
    }

    @Test func `who is not expected is not judged by new settings`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 goes off duty                 → 41 not expected
            20s      policy on_duty 5/10/20
            31s      41 goes on duty                  → 41 unknown
            51s                                       → 41 offline
            """)
    }
}

extension Policy {
    /// The policy that a `policy` line names: `on_duty 60/90/180`, `on_mission 15/30/60`, `low_power
    /// 2`, `ios 2`, `android 2`, `behind 900/1350/2700`, `mission_behind …`, `promise_max 10800` and
    /// `mission_promise_max 600` in seconds, `learn 1`, `observe`, `forget 1d`, alerts as in `AlertRules.set`, nudges as in
    /// `NudgeRules.set`; the rest is default.
    @Sendable static func of(_ body: [UInt8]) throws -> Policy {
        var policy = Policy()
        var words = Words(String(decoding: body, as: UTF8.self).dropFirst().dropLast())
        while let word = words.next() {
            if word == "observe" { policy.serverTransitions = .observe }
            if word == "min_active" { policy.feedMinActive = Int(try words.some()) ?? 0 }
            if word == "forget" { policy.forgetAfter = Milliseconds(try Script.span(words.some())) }
            if word == "covers" {
                policy.coverageRegions = try words.some().split(separator: ",").map {
                    Array($0.utf8)
                }
            }
            if AlertRules.names.contains(word) { try policy.alerts.set(word, words.some()) }
            if word == "nudges" { try policy.nudges.set(words.some()) }
            guard !["observe", "forget", "min_active", "covers", "nudges"].contains(word),
                !AlertRules.names.contains(word)
            else { continue }
            let numbers = try words.some().split(separator: "/").compactMap { Double($0) }
            let seconds = numbers.map { Int64($0) }
            switch (word, seconds.count) {
            case ("on_duty", 3), ("on_mission", 3):
                let profile = Profile(
                    expected: seconds[0], degradedAfter: seconds[1], offlineAfter: seconds[2])
                if word == "on_duty" { policy.onDuty = profile } else { policy.onMission = profile }
            case ("behind", 3):
                policy.onDuty.background = Background(
                    expected: seconds[0], degradedAfter: seconds[1], offlineAfter: seconds[2])
            case ("mission_behind", 3):
                policy.onMission.background = Background(
                    expected: seconds[0], degradedAfter: seconds[1], offlineAfter: seconds[2])
            case ("promise_max", 1): policy.promiseMax = .seconds(seconds[0])
            case ("learn", 1): policy.learnsGaps = numbers[0] > 0
            case ("mission_promise_max", 1): policy.missionPromiseMax = .seconds(seconds[0])
            case ("low_power", 1): policy.lowPowerFactor = numbers[0]
            case ("ios", 1): policy.iosFactor = numbers[0]
            case ("android", 1): policy.androidFactor = numbers[0]
            default: throw TimelineError(message: "no policy: \(word)")
            }
        }
        return policy
    }
}
