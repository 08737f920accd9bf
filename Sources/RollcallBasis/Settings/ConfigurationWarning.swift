import RollcallCore
import RollcallSupport

/// A setting that is legal and will probably be regretted.
package struct ConfigurationWarning: Equatable, Sendable, CustomStringConvertible {
    /// The setting's name.
    package let key: String
    /// The reason why it is one.
    package let reason: String

    package var description: String { "\(key): \(reason)" }
}

extension Configuration {
    /// The configuration warnings in it, in the order of the file.
    package var configurationWarnings: [ConfigurationWarning] {
        accessWarnings + scopeWarnings + brokerWarnings + storeWarnings + clusterWarnings
            + Self.configurationWarnings(of: policy.onDuty, "liveness.on_duty")
            + Self.configurationWarnings(of: policy.onMission, "liveness.on_mission")
            + Self.configurationWarnings(of: policy.onDuty.background, "liveness.on_duty")
            + Self.configurationWarnings(of: policy.onMission.background, "liveness.on_mission")
            + livenessWarnings + inputWarnings + alertWarnings + receiverWarnings + otlpWarnings
            + nudgeWarnings
    }

    private static let day = Milliseconds.seconds(86_400)
    private static let hour = Milliseconds.seconds(3600)
    /// Bytes of memory that somebody takes, as promised (Q5).
    private static let personBytes = 300

    /// Those about the web configuration, which the log of a start says too.
    package var webWarnings: [ConfigurationWarning] { certificateWarnings + probeWarnings }

    private var accessWarnings: [ConfigurationWarning] {
        webWarnings
            + (HTTPListener.isLoopback(listenAddress) == false ? reachWarnings : [])
    }

    private var reachWarnings: [ConfigurationWarning] {
        let isOpen = accessPolicy.letIn.isOpen && !accessPolicy.asksForCertificates
        let more =
            isOpen
            ? "; without web.tokens, users or client certificates serve refuses it unless --insecure is said"
            : ""
        if accessPolicy.web.tls != nil, !isOpen { return [] }
        let reason =
            accessPolicy.web.tls == nil
            ? "and speaks no TLS: set web.config_file, or put it behind a proxy" : "by everybody"
        return [
            ConfigurationWarning(
                key: "web.listen_address",
                reason: "\(listenAddress) can be reached from other machines \(reason)\(more)")
        ]
    }

    private var probeWarnings: [ConfigurationWarning] {
        let address = accessPolicy.metricsListenAddress
        let web = accessPolicy.web
        guard web.tls != nil || !web.users.isEmpty, !address.isEmpty,
            HTTPListener.isLoopback(address) == false
        else { return [] }
        return [
            ConfigurationWarning(
                key: "web.metrics_listen_address",
                reason: "web.config_file does not hold at \(address): metrics and health are open "
                    + "there to whoever reaches it, without TLS and passwords")
        ]
    }

    private var certificateWarnings: [ConfigurationWarning] {
        guard let tls = accessPolicy.web.tls else { return [] }
        var reasons: [String] = []
        if tls.oldest < .tls12 {
            reasons.append("min_version \(tls.oldest.rawValue) has been broken for years")
        }
        if tls.clientAuth != .none, tls.clientAuth != .requireAndVerify {
            reasons.append(
                "client_auth_type \(tls.clientAuth.rawValue) keeps nobody out: only "
                    + "RequireAndVerifyClientCert does")
        }
        return reasons.map { ConfigurationWarning(key: "web.config_file", reason: $0) }
    }

    private var brokerWarnings: [ConfigurationWarning] {
        inputs.enumerated().flatMap { index, input in
            let key = "inputs[\(index)].mqtt"
            let keyed = ConfigurationWarning(
                key: key,
                reason: "device_key_file holds for HTTP alone: who may publish as whom says the "
                    + "broker's access list")
            return [
                input.mqtt?.warning(key),
                input.mqtt != nil && input.deviceKey != nil ? keyed : nil,
            ].compactMap(\.self)
        }
    }

    /// Tokens and inputs that do not meet: a scope that opens nothing, an input that nobody may use.
    private var scopeWarnings: [ConfigurationWarning] {
        let tokens = accessPolicy.access.tokens
        if tokens.isEmpty { return [] }
        let opened = Set(tokens.flatMap(\.inputs))
        let names = Set(inputs.map(\.name))
        let idle = opened.subtracting(names).sorted().map { name in
            ConfigurationWarning(
                key: "web.tokens",
                reason: "the scope input:\(name) opens nothing: no input has this name")
        }
        let shut = inputs.enumerated().compactMap { index, input -> ConfigurationWarning? in
            guard !opened.contains(input.name), input.deviceKey == nil, input.mqtt == nil else {
                return nil
            }
            return ConfigurationWarning(
                key: "inputs[\(index)]",
                reason: "no token has the scope input:\(input.name): nobody may "
                    + "send to it")
        }
        return idle + shut
    }

    private var storeWarnings: [ConfigurationWarning] {
        var found: [ConfigurationWarning] = []
        // What hier(7) says is gone after a start of the machine.
        for folder in ["/tmp/", "/dev/shm/", "/run/"] where storagePath.hasPrefix(folder) {
            found.append(
                ConfigurationWarning(
                    key: "storage.path", reason: "\(folder) is emptied when the machine starts"))
        }
        if policy.retention < Milliseconds.seconds(7 * 86_400) {
            found.append(
                ConfigurationWarning(
                    key: "storage.retention",
                    reason: "\(Self.text(policy.retention)) is less than a week: two Mondays "
                        + "cannot be compared"))
        }
        if !keepsUpgradeCopy {
            found.append(
                ConfigurationWarning(
                    key: "storage.upgrade_copy",
                    reason: "after an upgrade there is no way back but a backup"))
        }
        return found
    }

    private var clusterWarnings: [ConfigurationWarning] {
        guard !cluster.postgresURL.isEmpty, cluster.isSingleCopy else { return [] }
        return [
            ConfigurationWarning(
                key: "cluster.log.postgres.single_copy",
                reason: "what is acknowledged may be on PostgreSQL's machine only: it is lost with "
                    + "that")
        ]
    }

    private static func configurationWarnings(of profile: Policy.Profile, _ key: String)
        -> [ConfigurationWarning]
    {
        var found: [ConfigurationWarning] = []
        let (expected, degraded, offline) = (
            profile.expected, profile.degradedAfter, profile.offlineAfter
        )
        if degraded < expected.scaled(by: 1.1) {
            found.append(
                ConfigurationWarning(
                    key: "\(key).degraded_after",
                    reason: "\(text(degraded)) leaves no room beside expected (\(text(expected))): "
                        + "each report that is a moment late makes a phone DEGRADED"))
        }
        if offline < expected.scaled(by: 2) {
            found.append(
                ConfigurationWarning(
                    key: "\(key).offline_after",
                    reason: "\(text(offline)) is less than twice expected (\(text(expected))): one "
                        + "lost report makes a phone OFFLINE"))
        }
        if offline > hour {
            found.append(
                ConfigurationWarning(
                    key: "\(key).offline_after",
                    reason: "somebody silent for \(text(hour)) is not OFFLINE yet"))
        }
        return found
    }

    /// In the background an hour is a phone's usual silence: only the room between reports is looked at.
    private static func configurationWarnings(of profile: Policy.Background, _ key: String)
        -> [ConfigurationWarning]
    {
        guard profile.isSet, profile.offlineAfter < profile.expected.scaled(by: 2) else {
            return []
        }
        return [
            ConfigurationWarning(
                key: "\(key).background.offline_after",
                reason: "\(text(profile.offlineAfter)) is less than twice expected "
                    + "(\(text(profile.expected))): one lost report makes a phone OFFLINE")
        ]
    }

    /// The usual thresholds are for phones that report every minute, which the apps behind presets do not.
    private var inputWarnings: [ConfigurationWarning] {
        let offline = policy.onDuty.offlineAfter
        let names = inputs.filter { $0.preset != nil }.map(\.name)
        guard let first = names.first, offline <= Policy().onDuty.offlineAfter else { return [] }
        let takers = names.count > 1 ? "\(first) and others take" : "\(first) takes"
        return [
            ConfigurationWarning(
                key: "liveness.on_duty.offline_after",
                reason: "\(Self.text(offline)) is less than most apps leave between two reports, "
                    + "and \(takers) what they send: set liveness.on_duty to what the apps are "
                    + "set to")
        ]
    }

    private var livenessWarnings: [ConfigurationWarning] {
        var found: [ConfigurationWarning] = []
        if policy.onMission.offlineAfter > policy.onDuty.offlineAfter {
            found.append(
                ConfigurationWarning(
                    key: "liveness.on_mission.offline_after",
                    reason: "a mission is watched less closely than plain duty"))
        }
        for (key, factor) in [
            ("low_power_factor", policy.lowPowerFactor),
            ("platform_factors.ios", policy.iosFactor),
            ("platform_factors.android", policy.androidFactor),
        ] where factor < 1 {
            found.append(
                ConfigurationWarning(
                    key: "liveness.\(key)",
                    reason:
                        "\(factor) shortens the thresholds, but these phones do not report more "
                        + "often"))
        }
        if policy.serverTransitions == .observe {
            found.append(
                ConfigurationWarning(
                    key: "liveness.server_transitions",
                    reason: "observe: what your server knows of somebody's silence changes nothing")
            )
        }
        if policy.forgetAfter < Self.day {
            found.append(
                ConfigurationWarning(
                    key: "liveness.forget_after",
                    reason: "\(Self.text(policy.forgetAfter)) is less than a day: who is OFFLINE "
                        + "overnight is in no count in the morning"))
        }
        if policy.forgetAfter < max(policy.onDuty.offlineAfter, policy.onMission.offlineAfter) {
            found.append(
                ConfigurationWarning(
                    key: "liveness.forget_after",
                    reason: "\(Self.text(policy.forgetAfter)) is shorter than offline_after"))
        }
        if policy.respondersMax > Policy().respondersMax {
            let gigabytes = policy.respondersMax / 1_000_000 * Self.personBytes / 1000
            found.append(
                ConfigurationWarning(
                    key: "limits.responders",
                    reason: "\(policy.respondersMax) people take about \(gigabytes) GB of memory"))
        }
        return found
    }

    private static func text(_ span: Milliseconds) -> String {
        SettingText.of(span, between: " ")
    }
}
