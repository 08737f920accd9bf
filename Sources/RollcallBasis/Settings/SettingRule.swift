import RollcallCore
import RollcallSupport

/// A `SettingRule` says what must hold between the settings of a section, or follows from several
/// of them; it is checked once all of the section is read.
struct SettingRule: Sendable {
    typealias Check =
        @Sendable (ConfigurationTree, inout Configuration) throws(ConfigurationError) -> Void

    /// The section's name from the top on.
    let section: String
    let check: Check

    private init(_ section: String, _ check: @escaping Check) {
        self.section = section
        self.check = check
    }

    /// All of them.
    static let all = [
        SettingRule("web", usersBesideTokens),
        SettingRule("liveness.on_duty") { (tree, configuration) throws(ConfigurationError) in
            try ordered(configuration.policy.onDuty, tree)
        },
        SettingRule("liveness.on_mission") { (tree, configuration) throws(ConfigurationError) in
            try ordered(configuration.policy.onMission, tree)
        },
        SettingRule("liveness.on_duty.background") {
            (tree, configuration) throws(ConfigurationError) in
            try patient(configuration.policy.onDuty, tree)
        },
        SettingRule("liveness.on_mission.background") {
            (tree, configuration) throws(ConfigurationError) in
            try patient(configuration.policy.onMission, tree)
        },
        SettingRule("alerts.ResponderFlapping", clearsBelowChanges),
        SettingRule("alive_ping", canPing),
        SettingRule("otlp", OTLPSettings.check),
        SettingRule("nudges", nudgesHaveSink),
        SettingRule("cluster", ClusterSettings.check),
        SettingRule("cluster.log.etcd", ClusterSettings.checkEtcd),
        SettingRule("cluster.log.postgres", ClusterSettings.checkPostgres),
    ]

    private static func usersBesideTokens(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        do throws(AccessError) {
            _ = try configuration.accessPolicy.web.access(beside: configuration.accessPolicy.access)
        } catch {
            throw tree.fault("config_file", "and web.tokens do not go together: \(error)", "")
        }
    }

    private static func ordered(
        _ profile: Policy.Profile, _ tree: ConfigurationTree
    ) throws(ConfigurationError) {
        let (expected, degraded, offline) = (
            SettingText.of(profile.expected), SettingText.of(profile.degradedAfter),
            SettingText.of(profile.offlineAfter)
        )
        if profile.expected > profile.degradedAfter {
            throw tree.fault(
                "expected", "must not be longer than degraded_after", "\(expected) > \(degraded)",
                or: ["degraded_after"])
        }
        if profile.degradedAfter >= profile.offlineAfter {
            throw tree.fault(
                "offline_after", "must be longer than degraded_after", "\(offline) <= \(degraded)",
                or: ["degraded_after"])
        }
    }

    /// A phone in the background has its three thresholds, in order, and never less time than in
    /// front.
    private static func patient(
        _ profile: Policy.Profile, _ tree: ConfigurationTree
    ) throws(ConfigurationError) {
        let behind = profile.background
        let all = [
            ("expected", behind.expected, profile.expected),
            ("degraded_after", behind.degradedAfter, profile.degradedAfter),
            ("offline_after", behind.offlineAfter, profile.offlineAfter),
        ]
        guard all.contains(where: { $0.1.count > 0 }) else { return }
        for (key, span, inFront) in all {
            let others = all.map(\.0).filter { $0 != key }
            if span.count == 0 {
                throw tree.fault(
                    key, "must be given too: the background has all three or none", "0s",
                    or: others)
            }
            if span < inFront {
                throw tree.fault(
                    key, "must not be shorter than in front",
                    "\(SettingText.of(span)) < \(SettingText.of(inFront))")
            }
        }
        var asOne = profile
        asOne.expected = behind.expected
        asOne.degradedAfter = behind.degradedAfter
        asOne.offlineAfter = behind.offlineAfter
        try ordered(asOne, tree)
    }

    private static func clearsBelowChanges(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        let rules = configuration.policy.alerts
        guard rules.flappingClearBelow >= rules.flappingChanges else { return }
        throw tree.fault(
            "clear_below", "must be less than changes",
            "\(rules.flappingClearBelow) >= \(rules.flappingChanges)", or: ["changes"])
    }

    private static func canPing(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        guard configuration.alivePing.url != nil, let missing = tree.sources.missingCurl()
        else { return }
        throw ConfigurationError(
            origin: tree.origin(of: "url"), message: "\(tree.full("url")): \(missing)",
            key: tree.full("url"))
    }

    /// The mode follows from the sink where it is not written, and the sink knows the texts.
    private static func nudgesHaveSink(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        configuration.pushSink?.texts = configuration.nudgeTexts
        configuration.settleNudgeMode()
        // A replay sends nothing, and need not say how.
        guard configuration.nudgeMode == .live, configuration.policy.nudges.sink == .none,
            tree.sources.opensSecrets
        else { return }
        throw tree.fault(
            "mode", "needs nudges.sink, or must be dry_run or disabled: nobody carries a push",
            "live")
    }
}
