import RollcallCore

/// A setting that decides something a replay can show.
struct TuneSetting: Sendable {
    /// The name in the file: `liveness.on_duty.offline_after`.
    let key: String
    /// Takes this setting, and nothing else, over from another policy.
    let copy: @Sendable (_ policy: inout Policy, _ other: Policy) -> Void

    private init(
        _ key: String, _ copy: @escaping @Sendable (inout Policy, Policy) -> Void
    ) {
        self.key = key
        self.copy = copy
    }

    private init<Value>(_ key: String, _ path: any WritableKeyPath<Policy, Value> & Sendable) {
        self.init(key) { policy, other in policy[keyPath: path] = other[keyPath: path] }
    }

    /// All of them.
    static let all: [TuneSetting] =
        liveness + feed + rule("HighOfflineRate", \.alerts.highOfflineRate)
        + rule("ResponderFlapping", \.alerts.responderFlapping)
        + rule("NoOnlineResponders", \.alerts.noOnlineResponders)
        + rule("TelemetryFeedDown", \.alerts.telemetryFeedDown) + numbers + nudges

    /// The setting of this name.
    static func named(_ key: String) -> TuneSetting? { all.first { $0.key == key } }

    private static let liveness = [
        TuneSetting("liveness.on_duty.expected", \.onDuty.expected),
        TuneSetting("liveness.on_duty.degraded_after", \.onDuty.degradedAfter),
        TuneSetting("liveness.on_duty.offline_after", \.onDuty.offlineAfter),
        TuneSetting("liveness.on_mission.expected", \.onMission.expected),
        TuneSetting("liveness.on_mission.degraded_after", \.onMission.degradedAfter),
        TuneSetting("liveness.on_mission.offline_after", \.onMission.offlineAfter),
        TuneSetting("liveness.low_power_factor", \.lowPowerFactor),
        TuneSetting("liveness.platform_factors.ios", \.iosFactor),
        TuneSetting("liveness.platform_factors.android", \.androidFactor),
        TuneSetting("liveness.server_transitions", \.serverTransitions),
        TuneSetting("liveness.forget_after", \.forgetAfter),
    ]

    private static let feed = [
        TuneSetting("feed.min_active", \.feedMinActive),
        TuneSetting("feed.stall_after", \.feedStallAfter),
    ]

    private static func rule(
        _ name: String, _ path: any WritableKeyPath<Policy, AlertRules.Rule> & Sendable
    ) -> [TuneSetting] {
        [
            TuneSetting("alerts.\(name).enabled") {
                $0[keyPath: path].isEnabled = $1[keyPath: path].isEnabled
            },
            TuneSetting("alerts.\(name).for") {
                $0[keyPath: path].pendingFor = $1[keyPath: path].pendingFor
            },
            TuneSetting("alerts.\(name).keep_firing_for") {
                $0[keyPath: path].keepFiringFor = $1[keyPath: path].keepFiringFor
            },
            TuneSetting("alerts.\(name).severity") {
                $0[keyPath: path].severity = $1[keyPath: path].severity
            },
        ]
    }

    private static let numbers = [
        TuneSetting("alerts.HighOfflineRate.above", \.alerts.offlineAbove),
        TuneSetting("alerts.HighOfflineRate.by", \.alerts.isOfflineByRegion),
        TuneSetting("alerts.HighOfflineRate.min_active", \.alerts.offlineMinActive),
        TuneSetting("alerts.HighOfflineRate.min_offline", \.alerts.offlineMin),
        TuneSetting("alerts.ResponderFlapping.changes", \.alerts.flappingChanges),
        TuneSetting("alerts.ResponderFlapping.window", \.alerts.flappingWindow),
        TuneSetting("alerts.ResponderFlapping.clear_below", \.alerts.flappingClearBelow),
    ]

    private static let nudges = [
        TuneSetting("nudges.mode", \.nudges.mode),
        TuneSetting("nudges.stale_after", \.nudges.staleAfter),
        TuneSetting("nudges.min_interval", \.nudges.minInterval),
        TuneSetting("nudges.rate", \.nudges.ratePerSecond),
        TuneSetting("nudges.company", \.nudges.company),
    ]
}

/// Settings as a file has them.
enum TuneText {
    /// A file in which these settings stand, by their names and values.
    static func yaml(_ settings: [(key: String, value: String)]) -> String {
        var text = ""
        var above: [Substring] = []
        for (key, value) in settings.sorted(by: { $0.key < $1.key }) {
            let parts = key.split(separator: ".")
            let sections = parts.dropLast()
            let shared = zip(above, sections).prefix { $0 == $1 }.count
            for depth in shared..<sections.count {
                text += String(repeating: "  ", count: depth) + sections[depth] + ":\n"
            }
            above = Array(sections)
            text += String(repeating: "  ", count: sections.count)
            text += "\(parts.last ?? ""): \(value)\n"
        }
        return text
    }

    /// The value of a setting in a policy, as a file has it.
    static func value(_ key: String, _ policy: Policy) -> String {
        var configuration = Configuration()
        configuration.policy = policy
        configuration.nudgeMode = policy.nudges.mode
        return Setting.all.first { $0.key == key }?.value(configuration) ?? ""
    }
}
