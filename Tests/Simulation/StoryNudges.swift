import RollcallTools

/// Who is nudged when, as far as the simulation varies it. Source: Contract/Nudges, V8.
struct StoryNudges: Equatable {
    /// Whether nudges are decided, and sent. Source: N10.
    enum Mode: String {
        case disabled
        case dryRun = "dry_run"
        case live
    }

    /// Who would carry a push; only Expo needs to be told a token.
    enum Sink: String { case none, webhook, expo }

    var mode = Mode.dryRun
    var sink = Sink.none
    /// The age of a location from which on its owner is nudged, milliseconds.
    var staleAfter: Int64 = 4 * 3_600_000
    /// The same where it is another; the smallest that applies holds (F34).
    var staleOnDuty: Int64?
    var staleOnMission: Int64?
    var staleOfIOS: Int64?
    var staleOfAndroid: Int64?
    /// Between two nudges of one person, milliseconds of the wall.
    var minInterval: Int64 = 6 * 3_600_000
    /// Nudges within any 1000 ms at most.
    var rate = 5
    /// True if those without circles have no company (N3).
    var needsCircle = false

    /// The rules as the section `nudges` of a configuration.
    func json() -> String {
        let others = [
            "on_duty": staleOnDuty, "on_mission": staleOnMission, "ios": staleOfIOS,
            "android": staleOfAndroid,
        ]
        let ages = others.compactMapValues { $0 }.sorted { $0.key < $1.key }
        let stale = [("default", staleAfter)] + ages.map { ($0.key, $0.value) }
        var members = [
            JSON.member("mode", mode.rawValue),
            "\"stale_after\":" + JSON.object(stale.map { JSON.member($0.0, "\($0.1)ms") }),
            JSON.member("min_interval", "\(minInterval)ms"), JSON.member("rate", "\(rate)/s"),
            JSON.member("company", needsCircle ? "circle" : "circle_or_region"),
        ]
        switch sink {
        case .none: break
        case .expo: members.append("\"sink\":{\"expo\":{}}")
        case .webhook:
            members.append(
                "\"sink\":{\"webhook\":{\"url\":\"http://127.0.0.1:9/nudges\","
                    + "\"secret\":\"whsec_cm9sbGNhbGwtc2ltdWxhdGlvbi1zZWNyZXQ=\"}}")
        }
        return JSON.object(members)
    }

    // MARK: - Drawing

    /// Draws rules that have much to decide in a short story; `policy` tells which lengths matter.
    static func drawn(_ dice: inout Dice, _ policy: StoryPolicy) -> StoryNudges {
        var nudges = StoryNudges()
        for part in 0...3 { nudges.draw(part, &dice, policy) }
        return nudges
    }

    /// Draws one part of the rules anew.
    mutating func draw(_ part: Int, _ dice: inout Dice, _ policy: StoryPolicy) {
        switch part {
        case 0:
            sink = dice.pick([.none, .none, .webhook, .expo, .expo])
            mode = sink == .none ? .dryRun : dice.pick([.live, .live, .live, .dryRun])
            if dice.chance(60) { mode = .disabled }
        case 1:
            let lengths = Self.lengths(policy)
            staleAfter = dice.pick(lengths)
            staleOnDuty = dice.chance(200) ? dice.pick(lengths) : nil
            staleOnMission = dice.chance(300) ? dice.pick(lengths) : nil
            staleOfIOS = dice.chance(200) ? dice.pick(lengths) : nil
            staleOfAndroid = dice.chance(200) ? dice.pick(lengths) : nil
        case 2:
            minInterval = dice.pick(
                Self.lengths(policy) + [60_000, 300_000, 600_000, 3_600_000, 21_600_000])
        default:
            rate = dice.pick([1, 1, 2, 2, 3, 5])
            needsCircle = dice.chance(300)
        }
    }

    private static func lengths(_ policy: StoryPolicy) -> [Int64] {
        let profile = policy.onDuty
        let mission = policy.onMission
        return [
            profile.expected, profile.degradedAfter, profile.offlineAfter,
            profile.offlineAfter * 2, profile.offlineAfter * 4, mission.degradedAfter,
            mission.offlineAfter, mission.offlineAfter * 3, 60_000, 120_000, 300_000,
        ].map { max(1000, $0) }
    }

    /// Lengths become whole seconds, so that ties abound.
    mutating func roundToSeconds() {
        staleAfter = Self.rounded(staleAfter)
        staleOnDuty = staleOnDuty.map(Self.rounded)
        staleOnMission = staleOnMission.map(Self.rounded)
        staleOfIOS = staleOfIOS.map(Self.rounded)
        staleOfAndroid = staleOfAndroid.map(Self.rounded)
        minInterval = Self.rounded(minInterval)
    }

    private static func rounded(_ length: Int64) -> Int64 { (length + 999) / 1000 * 1000 }
}
