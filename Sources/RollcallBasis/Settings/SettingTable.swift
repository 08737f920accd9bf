import RollcallCore
import RollcallStore

/// The table of all settings: a setting is declared here and nowhere else. Its default is that of
/// the property that it is kept in.
extension Setting {
    /// All settings, in the order of the file.
    package static let all: [Setting] =
        web + inputs + storage + liveness + gaps + feed + limits + coverage + alerts + delivery
        + metrics + otlp + nudges + cluster + cells

    private static let web = [
        Setting(
            "web.listen_address", .listener, \.listenAddress,
            "IPv4:port or [IPv6]:port; port 0 picks a free one", .start),
        Setting(
            "web.metrics_listen_address", .listenerOrNone, \.accessPolicy.metricsListenAddress,
            "a listener of its own for /metrics and health", .start),
        Setting(
            "web.threads", .integer(in: 0...16), \.webThreads,
            "that serve connections; 0: one a processor, 4 at most", .start),
        Setting(
            "web.external_url", .externalURL, \.accessPolicy.externalURL,
            "where people reach it from outside, behind a proxy"),
        Setting(
            "web.trusted_hosts", .hosts, \.accessPolicy.trustedHosts,
            "more names that Host may hold on loopback"),
        Setting(
            "web.person_url", .personURL, \.accessPolicy.personURL,
            "a person elsewhere: https://example.org/people/{id}"),
        Setting(
            "web.tokens", .tokens, \.accessPolicy.access,
            "{name, scopes: [ingest, input:NAME, …], token_file}"
        ).hiding("tokens") { $0.accessPolicy.access },
        Setting(
            "web.config_file", .webConfiguration, \.accessPolicy.web,
            "TLS, users and headers as exporters have them"
        ).hiding("certificates, users or headers") { $0.accessPolicy.web },
    ]

    private static let inputs = [
        Setting(
            "inputs", "ways in for what phones send anyway: {name, preset}",
            shown: { .list($0.inputs.map(\.shown)) },
            read: { (top, configuration) throws(ConfigurationError) in
                configuration.inputs = try InputSettings.list(&top)
            }
        ).listing { configuration in
            configuration.inputs.map { ($0.name, SettingValue.members($0.members)) }
        }.hiding("mappings and keys") { $0.inputs }
    ]

    private static let storage = [
        Setting("storage.path", .text, \.storagePath, "the database", .start),
        Setting(
            "storage.retention", .duration(from: .days(1), to: .days(3650)), \.policy.retention,
            "history is kept for so long, 1d to 3650d", replay: .known),
        Setting(
            "storage.size", .size(in: (64 << 20)...(16 << 40)), \.storageBytesMax,
            "older history goes sooner, 64MiB to 16TiB", .start),
        Setting(
            "storage.upgrade_copy", .flag, \.keepsUpgradeCopy,
            "false: an upgrade keeps no copy to go back by", .start),
    ]

    private static let liveness =
        profile("on_duty", \.policy.onDuty) + profile("on_mission", \.policy.onMission)
        + [
            Setting(
                "liveness.on_mission.promise_max", .duration(from: Milliseconds(0), to: .days(2)),
                \.policy.missionPromiseMax,
                "the same on a mission; 0s: never", replay: .tried),
            Setting(
                "liveness.promise_max", .duration(from: Milliseconds(0), to: .days(2)),
                \.policy.promiseMax,
                "not OFFLINE on a phone's word, to 2d; 0s: never", replay: .tried),
            Setting(
                "liveness.low_power_factor", .factor, \.policy.lowPowerFactor,
                "multiplies the thresholds in low power mode", replay: .tried),
            Setting(
                "liveness.platform_factors.ios", .factor, \.policy.iosFactor,
                "multiplies the thresholds on iOS", replay: .tried),
            Setting(
                "liveness.platform_factors.android", .factor, \.policy.androidFactor,
                "multiplies the thresholds on Android", replay: .tried),
            Setting(
                "liveness.server_transitions",
                .word([("adopt", .adopt), ("observe", .observe)]), \.policy.serverTransitions,
                "or observe: your server's are only counted", replay: .tried),
            Setting(
                "liveness.forget_after", .duration(), \.policy.forgetAfter,
                "OFFLINE for so long: no longer expected", replay: .tried),
        ]

    private static func profile(
        _ name: String, _ path: any WritableKeyPath<Configuration, Policy.Profile> & Sendable
    ) -> [Setting] {
        let wait = SettingKind.duration(from: Milliseconds(0))
        return [
            Setting(
                "liveness.\(name).expected", .duration(), \.[in: path].expected,
                "how often a phone is to report", replay: .tried),
            Setting(
                "liveness.\(name).degraded_after", .duration(), \.[in: path].degradedAfter,
                "without contact; not below expected", replay: .tried),
            Setting(
                "liveness.\(name).offline_after", .duration(), \.[in: path].offlineAfter,
                "without contact; above degraded_after", replay: .tried),
            Setting(
                "liveness.\(name).background.expected", wait, \.[in: path].background.expected,
                "the same with the app in the background; 0s: as in front", replay: .tried),
            Setting(
                "liveness.\(name).background.degraded_after", wait,
                \.[in: path].background.degradedAfter, "there; not below the one in front",
                replay: .tried),
            Setting(
                "liveness.\(name).background.offline_after", wait,
                \.[in: path].background.offlineAfter, "there; not below the one in front",
                replay: .tried),
        ]
    }

    private static let gaps = [
        Setting(
            "gaps.learn", .flag, \.policy.learnsGaps,
            "true: suspects what 200 verdicts say is likelier", replay: .known)
    ]

    private static let feed = [
        Setting(
            "feed.min_active", .integer(in: 1...1_000_000), \.policy.feedMinActive,
            "so many ONLINE, and a feed may be suspected of a stall", replay: .tried),
        Setting(
            "feed.stall_after", .duration(), \.policy.feedStallAfter,
            "without a batch from anyone", replay: .tried),
    ]

    private static let limits = [
        // An item is journaled as one row, and never longer there than it was in its body.
        Setting(
            "limits.body", .size(in: 1024...Journal.bodyBytesMax), \.bodyBytesMax,
            "of one request, 1KiB to 32MiB", .start),
        Setting(
            "limits.items", .integer(in: 1...1_000_000), \.scanLimits.itemsMax, "items of a body"),
        Setting(
            "limits.depth", .integer(in: 3...64), \.scanLimits.depthMax,
            "nesting of a body, 3 to 64"),
        Setting(
            "limits.responders", .integer(in: 1...50_000_000), \.policy.respondersMax,
            "people held; further ones are rejected", replay: .known),
        Setting(
            "limits.regions", .integer(in: 1...10_000), \.policy.regionLabelsMax,
            "with labels of their own in metrics", replay: .known),
        Setting(
            "limits.circles", .integer(in: 1...ItemScanner.circlesMax), \.scanLimits.circlesMax,
            "of one person, 1 to 64; further ones are left out"),
        Setting(
            "limits.circle_names", .integer(in: 1...50_000_000), \.policy.circleNamesMax,
            "circles, and sets of them, known at once", replay: .known),
        Setting(
            "limits.region_names", .integer(in: 2...1_000_000), \.policy.regionNamesMax,
            "regions known at once; further ones are left out", replay: .known),
        Setting(
            "limits.version_names", .integer(in: 1...65_000), \.policy.versionNamesMax,
            "versions of apps and systems known at once", replay: .known),
        Setting(
            "limits.connections", .integer(in: 8...900), \.connectionsMax,
            "open at once, 8 to 900; further ones wait", .start),
        Setting(
            "limits.streams", .integer(in: 0...10_000), \.streamsMax,
            "streams of events at once, beside the connections", .start),
    ]

    private static let coverage = [
        Setting(
            "coverage.regions", .names, \.policy.coverageRegions,
            "regions that must always be staffed", replay: .known)
    ]

    private static let alerts =
        rule("HighOfflineRate", \.policy.alerts.highOfflineRate)
        + [
            Setting(
                "alerts.HighOfflineRate.above", .share, \.policy.alerts.offlineAbove,
                "this share OFFLINE of those expected", replay: .tried),
            Setting(
                "alerts.HighOfflineRate.by", .word([("fleet", false), ("region", true)]),
                \.policy.alerts.isOfflineByRegion, "fleet: over all; region: each by itself",
                replay: .tried),
            Setting(
                "alerts.HighOfflineRate.min_active", .integer(in: 1...1_000_000),
                \.policy.alerts.offlineMinActive, "fewer expected are no rate", replay: .tried),
            Setting(
                "alerts.HighOfflineRate.min_offline", .integer(in: 1...1_000_000),
                \.policy.alerts.offlineMin, "nor are fewer OFFLINE", replay: .tried),
        ] + rule("ResponderFlapping", \.policy.alerts.responderFlapping)
        + [
            Setting(
                "alerts.ResponderFlapping.changes", .integer(in: 2...100),
                \.policy.alerts.flappingChanges, "between ONLINE and OFFLINE, 2 to 100",
                replay: .tried),
            // Longer windows remember more than a day's changes.
            Setting(
                "alerts.ResponderFlapping.window", .duration(from: .seconds(1), to: .days(1)),
                \.policy.alerts.flappingWindow, "in so much time, 1s to 24h", replay: .tried),
            Setting(
                "alerts.ResponderFlapping.clear_below", .integer(in: 1...100),
                \.policy.alerts.flappingClearBelow, "over with fewer; below changes",
                replay: .tried),
        ] + rule("ResponderOffline", \.policy.alerts.responderOffline)
        + [
            Setting(
                "alerts.ResponderOffline.duty_states",
                .words([("ON_DUTY", DutyState.onDuty), ("ON_MISSION", .onMission)]),
                \.policy.alerts.offlineDuties, "of whom it tells", replay: .tried),
            Setting(
                "alerts.ResponderOffline.regions", .names, \.policy.alerts.offlineRegions,
                "where; none: everywhere", replay: .known),
        ] + rule("NoOnlineResponders", \.policy.alerts.noOnlineResponders)
        + rule("TelemetryFeedDown", \.policy.alerts.telemetryFeedDown)
        + [
            Setting(
                "alerts.name_members", .integer(in: 0...100), \.policy.alerts.namesMax,
                "people named in a text at most, 0 to 100", replay: .known),
            Setting(
                "alerts.storm", .integer(in: 0...1_000_000), \.policy.alerts.storm,
                "more of one name waiting for people become one; 0: off", replay: .known),
        ]

    /// The settings that every alert has.
    private static func rule(
        _ name: String, _ path: any WritableKeyPath<Configuration, AlertRules.Rule> & Sendable
    ) -> [Setting] {
        let wait = SettingKind.duration(from: Milliseconds(0))
        return [
            Setting(
                "alerts.\(name).enabled", .flag, \.[in: path].isEnabled, "or false",
                replay: .tried),
            Setting(
                "alerts.\(name).for", wait, \.[in: path].pendingFor,
                "true for so long before it fires", replay: .tried),
            Setting(
                "alerts.\(name).keep_firing_for", wait, \.[in: path].keepFiringFor,
                "false for so long before it ends", replay: .tried),
            Setting(
                "alerts.\(name).severity", .word(Severity.allCases.map { ("\($0.word)", $0) }),
                \.[in: path].severity, "critical, warning, info or none", replay: .tried),
            Setting(
                "alerts.\(name).labels", .pairs(taken: AlertRules.Rule.ownLabels),
                \.[in: path].labels, "more labels, {team: north}", replay: .known),
            // Also `summary` and `description`: whoever writes them has better ones.
            Setting(
                "alerts.\(name).annotations", .pairs(taken: ["runbook_url"]),
                \.[in: path].writtenAnnotations, "more texts", replay: .known),
            Setting(
                "alerts.\(name).runbook_url", .link, \.[in: path].runbookURL,
                "a link to what is to be done", replay: .known),
        ]
    }

    private static let delivery = [
        Setting(
            "receivers", "who is told; without any, the log", shown: ReceiverField.list,
            read: { (top, configuration) throws(ConfigurationError) in
                let named = try ReceiverSettings(&top)
                configuration.policy.receivers = named.receivers
                configuration.receivers = named.addresses
            }
        ).listing(ReceiverField.entries).hiding("addresses and secrets") { $0.receivers },
        Setting(
            "subscriptions", "who is sent events: {name, url, secret_file}",
            shown: { .list($0.subscriptions.map(\.shown)) },
            read: { (top, configuration) throws(ConfigurationError) in
                configuration.subscriptions = try SubscriptionSettings.list(&top)
            }
        ).listing { configuration in
            configuration.subscriptions.map { ($0.name, SettingValue.members($0.members)) }
        }.hiding("addresses and secrets") { $0.subscriptions },
        Setting(
            "alive_ping.url", .hiddenURL, \.alivePing.url,
            "pinged while the watch works; or url_file"
        ).hiding("an address") { $0.alivePing.url },
        Setting(
            "alive_ping.url_file", "a file with the url", shown: { _ in .word("") },
            read: { _, _ in }),
        Setting(
            "alive_ping.every", .duration(from: .seconds(10), to: .seconds(3600)),
            \.alivePing.every,
            "10s to 1h"),
    ]

    private static let nudges = [
        Setting(
            "nudges.mode", .modeOrNone, \.nudgeMode,
            "or disabled, dry_run, live; \"\": live if there is a sink", replay: .tried),
        // Below a second nothing is stale, and above a year it is forgotten.
        Setting(
            "nudges.stale_after",
            .staleness(from: .seconds(1)),
            \.policy.nudges.staleAfter,
            "of a location; or {default: 4h, on_mission: 1h, ios: 2h}", replay: .tried),
        Setting(
            "nudges.min_interval", .duration(from: .seconds(1)),
            \.policy.nudges.minInterval, "between two nudges of one person, by the wall clock",
            replay: .tried),
        // No service keeps a push for longer than 28 days.
        Setting(
            "nudges.ttl", .duration(from: .seconds(1), to: .days(28)), \.policy.nudges.timeToLive,
            "a push is worth delivering for so long, 1s to 28d", replay: .known),
        // Expo takes 600 a second from one project.
        Setting(
            "nudges.rate", .rate(in: 1...600), \.policy.nudges.ratePerSecond,
            "nudges at most, 1/s to 600/s; who is late waits", replay: .tried),
        Setting(
            "nudges.company",
            .word(NudgeRules.Peers.allCases.map { ("\($0.word)", $0) }), \.policy.nudges.peers,
            "or circle: who has no circles has no company", replay: .tried),
        // Where it is, and its secrets, nobody journals; that it wants tokens decides.
        Setting(
            "nudges.sink", "who carries pushes: {webhook: {…}} or {expo: {…}}", replay: .known,
            shown: PushSink.shown, read: PushSink.read
        ).hiding("an address and secrets") { configuration in
            var sink = configuration.pushSink
            // What it says has a setting of its own.
            sink?.texts = NudgeTexts()
            return sink
        },
        Setting(
            "nudges.texts", .nudgeTexts, \.nudgeTexts,
            "{CAUSE: {title, body}}, default for all others"),
    ]

    private static let cluster = [
        Setting(
            "cluster.member", .textOrNone, \.cluster.member,
            "this member's name; \"\": the host's", .start),
        Setting(
            "cluster.address", .externalURL, \.cluster.address,
            "where the other members reach this one", .start),
        Setting(
            "cluster.token_file", .textOrNone, \.cluster.tokenFile,
            "the token that the others ask for, of read and admin", .start),
        Setting(
            "cluster.silence", .duration(from: .seconds(1), to: .seconds(60)), \.cluster.silence,
            "without a beat of the leader another stands, 1s to 60s", .start),
        Setting(
            "cluster.log.etcd.endpoints", .names, \.cluster.endpoints,
            "URLs of etcd's members; without a log no cluster", .start),
        Setting(
            "cluster.log.etcd.prefix", .textOrNone, \.cluster.prefix,
            "the start of its keys; one for each watch", .start),
        Setting(
            "cluster.log.etcd.ca_file", .textOrNone, \.cluster.authorityFile,
            "authorities that may vouch for it", .start),
        Setting(
            "cluster.log.etcd.cert_file", .textOrNone, \.cluster.certificateFile,
            "the certificate by which it knows us", .start),
        Setting(
            "cluster.log.etcd.key_file", .textOrNone, \.cluster.keyFile,
            "and its key", .start),
        Setting(
            "cluster.log.etcd.user", .textOrNone, \.cluster.user,
            "the user whom it asks for", .start),
        Setting(
            "cluster.log.etcd.password_file", .textOrNone, \.cluster.passwordFile,
            "and the file of the password", .start),
        Setting(
            "cluster.log.postgres.url", .textOrNone, \.cluster.postgresURL,
            "a PostgreSQL instead; no password in it", .start),
        Setting(
            "cluster.log.postgres.password_file", .textOrNone, \.cluster.postgresPasswordFile,
            "the file of its user's password", .start),
        Setting(
            "cluster.log.postgres.table", .textOrNone, \.cluster.postgresTable,
            "the log's table; one for each watch", .start),
        Setting(
            "cluster.log.postgres.single_copy", .flag, \.cluster.isSingleCopy,
            "true: a log without a standby will do", .start),
    ]
}

extension Configuration {
    /// The part at `path`, for the paths of what is in it.
    fileprivate subscript<Part>(
        in path: any WritableKeyPath<Configuration, Part> & Sendable
    ) -> Part {
        get { self[keyPath: path] }
        set { self[keyPath: path] = newValue }
    }
}

extension Milliseconds {
    fileprivate static func days(_ count: Int64) -> Milliseconds { .seconds(count * 86_400) }
}
