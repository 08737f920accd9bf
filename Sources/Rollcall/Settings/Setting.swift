import RollcallCore

/// One setting: its name, its meaning, and what it is worth in a configuration.
///
/// This table is the one description of all settings: the default file, the words of `check` and
/// what a reload tells are made of it.
package struct Setting: Sendable {
    /// The event with which another value takes effect.
    package enum Effect: Sendable {
        /// With the next reload.
        case reload
        /// With the next start.
        case start
    }

    /// The name in the file: `storage.path`.
    package let key: String
    /// The meaning of it, in a few words.
    package let meaning: String
    package let effect: Effect
    /// The value as it stands in a file; never a secret.
    package let value: @Sendable (Configuration) -> String

    init(
        _ key: String, _ meaning: String, _ effect: Effect = .reload,
        _ value: @escaping @Sendable (Configuration) -> String
    ) {
        self.key = key
        self.meaning = meaning
        self.effect = effect
        self.value = value
    }

    /// All settings, in the order of the file.
    package static let all: [Setting] =
        web + storage + liveness + feed + limits + coverage + alerts + receivers
        + nudges

    private static let web = [
        Setting(
            "web.listen_address", "IPv4:port or [IPv6]:port; port 0 picks a free one", .start
        ) { Self.text($0.listenAddress) },
        Setting(
            "web.metrics_listen_address", "a listener of its own for /metrics and health", .start
        ) { Self.text($0.doors.metricsListenAddress) },
        Setting("web.external_url", "where people reach it from outside, behind a proxy") {
            Self.text($0.doors.externalURL?.text ?? "")
        },
        Setting("web.tokens", "{name, scopes: [ingest, read, admin], token_file}") {
            let tokens = $0.doors.access.tokens.map { token in
                let scopes = token.scopes.map(\.rawValue).sorted().joined(separator: ", ")
                return "{name: \(Self.quoted(Array(token.name.utf8))), scopes: [\(scopes)]}"
            }
            return "[\(tokens.joined(separator: ", "))]"
        },
    ]

    private static let storage = [
        Setting("storage.path", "the database", .start) { Self.text($0.storagePath) },
        Setting("storage.retention", "history is kept for so long, 1d to 3650d") {
            SettingText.of($0.policy.retention)
        },
        Setting("storage.size", "older history goes sooner, 64MiB to 16TiB", .start) {
            SettingText.of(bytes: $0.storageBytesMax)
        },
    ]

    private static let liveness =
        profile("on_duty", { $0.policy.onDuty }) + profile("on_mission", { $0.policy.onMission })
        + [
            Setting("liveness.low_power_factor", "multiplies the thresholds in low power mode") {
                "\($0.policy.lowPowerFactor)"
            },
            Setting("liveness.platform_factors.ios", "multiplies the thresholds on iOS") {
                "\($0.policy.iosFactor)"
            },
            Setting("liveness.platform_factors.android", "multiplies the thresholds on Android") {
                "\($0.policy.androidFactor)"
            },
            Setting("liveness.server_transitions", "or observe: your server's are only counted") {
                $0.policy.serverTransitions == .adopt ? "adopt" : "observe"
            },
            Setting("liveness.forget_after", "OFFLINE for so long: no longer expected") {
                SettingText.of($0.policy.forgetAfter)
            },
        ]

    private static func profile(
        _ name: String, _ profile: @escaping @Sendable (Configuration) -> Policy.Profile
    ) -> [Setting] {
        [
            Setting("liveness.\(name).expected", "how often a phone is to report") {
                SettingText.of(profile($0).expected)
            },
            Setting("liveness.\(name).degraded_after", "without contact; not below expected") {
                SettingText.of(profile($0).degradedAfter)
            },
            Setting("liveness.\(name).offline_after", "without contact; above degraded_after") {
                SettingText.of(profile($0).offlineAfter)
            },
        ]
    }

    private static let feed = [
        Setting("feed.min_active", "so many ONLINE, and a feed may be suspected of a stall") {
            "\($0.policy.feedMinActive)"
        },
        Setting("feed.stall_after", "without a batch from anyone") {
            SettingText.of($0.policy.feedStallAfter)
        },
    ]

    private static let limits = [
        Setting("limits.body", "of one request, 1KiB to 32MiB", .start) {
            SettingText.of(bytes: $0.bodyBytesMax)
        },
        Setting("limits.items", "items of a body") { "\($0.scanLimits.itemsMax)" },
        Setting("limits.depth", "nesting of a body, 3 to 64") { "\($0.scanLimits.depthMax)" },
        Setting("limits.responders", "people held; further ones are rejected") {
            "\($0.policy.respondersMax)"
        },
        Setting("limits.regions", "with labels of their own in metrics") {
            "\($0.policy.regionLabelsMax)"
        },
        Setting("limits.circles", "of one person, 1 to 64; further ones are left out") {
            "\($0.scanLimits.circlesMax)"
        },
        Setting("limits.circle_names", "circles, and sets of them, known at once") {
            "\($0.policy.circleNamesMax)"
        },
        Setting("limits.region_names", "regions known at once; further ones are left out") {
            "\($0.policy.regionNamesMax)"
        },
        Setting("limits.version_names", "versions of apps and systems known at once") {
            "\($0.policy.versionNamesMax)"
        },
        Setting("limits.connections", "open at once, 8 to 900; further ones wait", .start) {
            "\($0.connectionsMax)"
        },
    ]

    private static let coverage = [
        Setting("coverage.regions", "regions that must always be staffed") { configuration in
            let names = configuration.policy.coverageRegions.map { Self.quoted($0) }
            return "[\(names.joined(separator: ", "))]"
        }
    ]

    // MARK: - YAML

    /// A text, in quotes only where YAML would take it for something else.
    static func text(_ text: String) -> String {
        let isPlain =
            text.first.map { $0.isLetter || $0.isNumber || $0 == "." || $0 == "/" } ?? false
            && text.utf8.allSatisfy { byte in
                (0x30...0x3A).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || "-._/".utf8.contains(byte)
            } && text.last != ":"
        return isPlain ? text : quoted(Array(text.utf8))
    }

    /// JSON's strings are YAML's as well.
    static func quoted(_ text: [UInt8]) -> String {
        var bytes: [UInt8] = []
        JSONWriter.string(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
