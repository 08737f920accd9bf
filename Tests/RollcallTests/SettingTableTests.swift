import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// One table describes all settings: the printed file, the words about it and the page of settings
/// agree with what is really read.
@Suite struct SettingTableTests {
    /// A configuration in which nothing is default.
    private var strange: Configuration {
        var strange = Configuration()
        strange.listenAddress = "[::1]:0"
        strange.accessPolicy.metricsListenAddress = "0.0.0.0:1"
        strange.accessPolicy.externalURL = ExternalURL("https://a.example/b")
        strange.accessPolicy.trustedHosts = ["api.example-shadow", "[::2]", "1.2.3.4"]
        strange.storagePath = "/var/lib/roll call/#1: \"x\".db"
        strange.policy.retention = .seconds(90_000)
        strange.storageBytesMax = (64 << 20) + 1
        strange.keepsUpgradeCopy = false
        strange.policy.onDuty = Policy.Profile(expected: 1, degradedAfter: 61, offlineAfter: 600)
        strange.policy.onMission = Policy.Profile(expected: 2, degradedAfter: 3, offlineAfter: 4)
        strange.policy.onDuty.background = Policy.Background(
            expected: 2, degradedAfter: 61, offlineAfter: 601)
        strange.policy.onMission.background = Policy.Background(
            expected: 5, degradedAfter: 6, offlineAfter: 7)
        strange.policy.learnsGaps = true
        strange.policy.promiseMax = .seconds(7201)
        strange.policy.missionPromiseMax = .seconds(61)
        strange.policy.lowPowerFactor = 0.1
        strange.policy.iosFactor = 1.0 / 3
        strange.policy.androidFactor = 100
        strange.policy.serverTransitions = .observe
        strange.policy.forgetAfter = Milliseconds(1_234_567)
        strange.policy.feedMinActive = 1
        strange.policy.feedStallAfter = Milliseconds(1500)
        strange.bodyBytesMax = 1025
        strange.scanLimits = ScanLimits(itemsMax: 1, depthMax: 3, circlesMax: 4)
        strange.policy.respondersMax = 2
        strange.policy.regionLabelsMax = 3
        strange.policy.circleNamesMax = 5
        strange.policy.regionNamesMax = 6
        strange.policy.versionNamesMax = 7
        strange.connectionsMax = 8
        strange.policy.coverageRegions = ["north", "yes", "Köln \"Süd\"\n#", "1e3"].map {
            Array($0.utf8)
        }
        strange.policy.alerts = Self.strangeAlerts
        strange.alivePing.every = .seconds(61)
        strange.metrics.offersNativeHistograms = true
        strange.otlp.interval = .seconds(61)
        strange.otlp.timeout = .seconds(9)
        strange.otlp.temporality = .delta
        strange.otlp.compresses = false
        strange.otlp.resource = [Self.label("service.name", "Köln: #"), Self.label("a-b", "yes")]
        strange.policy.nudges = Self.strangeNudges
        strange.nudgeMode = .disabled
        strange.nudgeTexts.fallback.body = "\"{stale}\": #"
        strange.nudgeTexts.written[.lowPower] = NudgeTexts.Text(title: "Köln", body: "yes")
        return strange
    }

    private static var strangeAlerts: AlertRules {
        var alerts = AlertRules()
        let paths: [WritableKeyPath<AlertRules, AlertRules.Rule>] = [
            \.highOfflineRate, \.responderFlapping, \.responderOffline, \.noOnlineResponders,
            \.telemetryFeedDown,
        ]
        for path in paths {
            alerts[keyPath: path].isEnabled = path == \.responderOffline
            alerts[keyPath: path].pendingFor = Milliseconds(1)
            alerts[keyPath: path].keepFiringFor = .seconds(3600)
            alerts[keyPath: path].severity = .none
            alerts[keyPath: path].labels = [label("a_1", "yes"), label("null", "#\n\"")]
            alerts[keyPath: path].annotations = [
                label("summary", "Köln: {x}"), label("runbook_url", "https://a.example/b?c#d"),
            ]
        }
        alerts.offlineAbove = 1
        alerts.isOfflineByRegion = true
        alerts.offlineMinActive = 2
        alerts.offlineMin = 3
        alerts.flappingChanges = 100
        alerts.flappingWindow = .seconds(86_400)
        alerts.flappingClearBelow = 99
        alerts.offlineDuties = [.onMission]
        alerts.offlineRegions = ["north", "Köln \"Süd\"\n#"].map { Array($0.utf8) }
        alerts.namesMax = 100
        alerts.storm = 7
        return alerts
    }

    private static var strangeNudges: NudgeRules {
        var nudges = NudgeRules()
        nudges.mode = .disabled
        nudges.staleAfter.standard = .seconds(61)
        nudges.staleAfter.onDuty = .seconds(1)
        nudges.staleAfter.onMission = .seconds(86_400)
        nudges.staleAfter.ios = Milliseconds(1001)
        nudges.staleAfter.android = .seconds(366 * 86_400)
        nudges.minInterval = .seconds(1)
        nudges.timeToLive = .seconds(28 * 86_400)
        nudges.ratePerSecond = 600
        nudges.peers = .circle
        return nudges
    }

    /// The names of files with what is never shown.
    private static let ofSecrets = [
        "alive_ping.url_file", "otlp.endpoint_file", "otlp.bearer_token_file",
    ]

    private static func label(_ name: String, _ value: String) -> Label {
        Label(Array(name.utf8), Array(value.utf8))
    }

    @Test func `the printed file is read as the defaults`() throws {
        let text = SettingsFile.text()
        #expect(try Configuration(yaml: text) == Configuration())
        let wide = text.split(separator: "\n").filter { $0.count > 100 }
        #expect(wide == [])
    }

    @Test func `whatever stands in a configuration is read back from its file`() throws {
        #expect(try Configuration(yaml: SettingsFile.text(strange)) == strange)
        // Not written out: a file of them would be a file of secrets.
        let secret = Setting.all.filter { $0.hidden != nil || Self.ofSecrets.contains($0.key) }
        #expect(secret.allSatisfy { $0.value(strange) == $0.value(Configuration()) })
    }

    @Test func `an error names values that are taken, kept, printed and read back`() throws {
        var sources = SettingSources()
        _ = try Configuration(yaml: "", sources: &sources)
        for setting in Setting.all where sources.keys.contains(setting.key) {
            guard setting.hidden == nil, !setting.key.hasSuffix("_file") else { continue }
            // A list, and a word that few take: the errors say what would be right.
            let words = ["[]", "a-word"].flatMap { wrong -> [Substring] in
                do {
                    _ = try Self.configuration(setting.key, wrong)
                    return [wrong[...]]
                } catch {
                    return "\(error)".split { " ,".contains($0) }
                }
            }
            let others = words.compactMap { try? Self.configuration(setting.key, $0) }.filter {
                setting.value($0) != setting.value(Configuration())
            }
            // Those that its error names are all beyond on_mission.offline_after; a user needs a file; the
            // braces of a person's address need quotes; whom a cell is split from needs a cell.
            let without = [
                "liveness.on_mission.degraded_after", "cluster.log.etcd.user", "web.person_url",
                "cluster.split_from.cell", "cluster.split_from.log",
            ]
            // Of the three thresholds of a background none is taken alone.
            let isTakenAlone =
                !without.contains(setting.key) && !setting.key.contains(".background.")
            #expect(
                others.isEmpty != isTakenAlone,
                "\(setting.key): \(words)")
            for other in others {
                #expect(try Configuration(yaml: SettingsFile.text(other)) == other)
            }
        }
    }

    /// Returns the configuration of a file with this one setting.
    private static func configuration(
        _ key: String, _ value: some StringProtocol
    ) throws -> Configuration {
        let parts = key.split(separator: ".")
        let braces = String(repeating: "}", count: parts.count)
        return try Configuration(yaml: "{\(parts.joined(separator: ": {")): \(value)\(braces)")
    }

    @Test func `the table holds every setting that is read and no other`() throws {
        var sources = SettingSources()
        _ = try Configuration(yaml: "", sources: &sources)
        #expect(Setting.all.map(\.key).sorted() == (sources.keys + sources.listKeys).sorted())
    }

    @Test func `the page of settings names each with its default and what it needs`() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/Rollcall/Rollcall.docc/Settings.md"),
            encoding: .utf8)
        var listed: [String: String] = [:]
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { Self.code(in: $0) }
            guard cells.count > 1, cells[0].count == cells[1].count else { continue }
            for (name, value) in zip(cells[0], cells[1]) {
                // `.ios` after `liveness.platform_factors.android` stands beside it.
                let parent = cells[0][0].split(separator: ".").dropLast().joined(separator: ".")
                let mark = line.hasSuffix("* |") ? " *" : ""
                listed[name.hasPrefix(".") ? parent + name : name] = value + mark
            }
        }
        for setting in Setting.all {
            let mark = setting.effect == .start ? " *" : ""
            let value = setting.value(Configuration()) + mark
            #expect(listed[setting.key] == value, "\(setting.key)")
        }
    }

    /// What stands between backquotes.
    private static func code(in cell: Substring) -> [String] {
        let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    // MARK: - Words

    @Test func `the words say what a configuration means`() throws {
        let configuration = try Configuration(
            yaml: """
                web: {listen_address: "0.0.0.0:80", metrics_listen_address: "127.0.0.1:81"}
                liveness:
                  on_mission: {expected: 1500ms, degraded_after: 2s, offline_after: 10m}
                  low_power_factor: 2
                  platform_factors: {ios: 1.5}
                  server_transitions: observe
                coverage: {regions: [north, south]}
                """)
        #expect(
            configuration.summary == [
                "It listens at 0.0.0.0:80; other machines can reach it. Nobody needs a token. Metrics "
                    + "and health are open at 127.0.0.1:81.",
                "Its store is ./rollcall.db. It keeps 30 d of history, or 4 GiB if that is less.",
                "On duty, a phone is to report every 60 s. Without contact it is DEGRADED after "
                    + "90 s and OFFLINE after 180 s.",
                "On a mission, a phone is to report every 1500 ms. Without contact it is DEGRADED "
                    + "after 2 s and OFFLINE after 10 m.",
                "What a phone says of its next report spares nobody OFFLINE for more than 3 h, and on "
                    + "a mission counts for nothing.",
                "These thresholds are multiplied, in low power mode by 2.0, on iOS by 1.5.",
                "Your server's own changes of status are counted and adopted never.",
                "Who is OFFLINE for 7 d is no longer expected, until they report again.",
                "A stalled feed may be suspected once 20 were ONLINE and nobody sent a batch for "
                    + "45 s.",
                "A body holds at most 8 MiB, 10000 items and 16 levels; there are at most 512 "
                    + "connections, 5000000 people and, in metrics, 256 regions. Known at once are at most "
                    + "100000 regions, 2000000 circles, 64 of them a person, and 10000 versions.",
                "Must always be staffed: north, south.",
                "HighOfflineRate (warning) fires after 60 s when more than 10 % of all people who "
                    + "are expected are OFFLINE.",
                "ResponderFlapping (warning) fires at once when somebody went 4 times between "
                    + "ONLINE and OFFLINE within 15 m, and until it is fewer than 2 times.",
                "ResponderOffline is switched off.",
                "NoOnlineResponders (critical) fires after 60 s when nobody of those expected in a "
                    + "region is ONLINE, or nobody is expected where somebody always must be; it "
                    + "ends once that was not so for 120 s.",
                "TelemetryFeedDown (critical) fires at once when a source that beats is missing, or "
                    + "the whole feed is.",
                "Alerts go to the log and nowhere else.",
                "Somebody whose location is older than 4 h is asked to open the app, at most every "
                    + "6 h, if somebody else of their circles, or without circles of their region, "
                    + "is active. Dry run: nothing is sent.",
                "A reload changes all but web.listen_address, web.metrics_listen_address, web.threads, "
                    + "storage.path, storage.size, storage.upgrade_copy, limits.body, "
                    + "limits.connections, limits.streams, all of cluster: these need a restart.",
            ])
    }

    /// P5.
    @Test func `the words tell of the background, and of whose promise counts`() throws {
        func words(_ yaml: String) throws -> String {
            try Configuration(yaml: "liveness: \(yaml)").summary.joined(separator: "\n")
        }
        let behind = "{expected: 15m, degraded_after: 22m30s, offline_after: 45m}"
        let told = try words(
            "{on_duty: {background: \(behind)}, on_mission: {promise_max: 10m}, promise_max: 0s}")
        #expect(
            told.contains(
                "On duty, with the app in the background, it is to report every 15 m, and is DEGRADED "
                    + "after 1350 s and OFFLINE after 45 m."))
        #expect(
            told.contains(
                "What a phone says of its next report counts on a mission only, and spares nobody "
                    + "OFFLINE for more than 10 m."))
        #expect(try words("{promise_max: 0s}").contains("next report counts for nothing."))
        #expect(
            try words("{on_mission: {promise_max: 3m}}").contains(
                "more than 3 h, on a mission spares nobody OFFLINE for more than 180 s."))
    }

    /// L4, P5.
    @Test func `check prints the thresholds of everybody there may be`() {
        var configuration = Configuration()
        configuration.policy.onDuty.background = Policy.Background(
            expected: 900, degradedAfter: 1350, offlineAfter: 2700)
        configuration.policy.lowPowerFactor = 2
        configuration.policy.iosFactor = 1.5
        let table = ThresholdTable(configuration.policy)
        #expect(
            table.lines.dropFirst(2).prefix(6) == [
                "  ON_DUTY     foreground  ios       60s            135s, 270s         270s, 540s",
                "  ON_DUTY     foreground  android   60s            90s, 180s          180s, 360s",
                "  ON_DUTY     foreground  other     60s            90s, 180s          180s, 360s",
                "  ON_DUTY     background  ios       15m            2025s, 4050s       4050s, 135m",
                "  ON_DUTY     background  android   15m            1350s, 45m         45m, 90m",
                "  ON_DUTY     background  other     15m            1350s, 45m         45m, 90m",
            ])
        #expect(table.lines.count == 14)
        #expect(table.lines[0] == "Without contact, and without a promise:")
        #expect(table.lines[1].hasSuffix("  DEGRADED, OFFLINE  in low power mode"))
        let rows = table.tree.elements
        #expect(rows.count == 24)
        #expect(rows[1]["offline_after_seconds"]?.number == 540)
    }

    @Test func `the defaults are not weak`() {
        #expect(Configuration().configurationWarnings == [])
    }

    @Test(
        arguments: [
            ("web: {listen_address: \"0.0.0.0:80\"}", "web.listen_address", "speaks no TLS"),
            ("storage: {path: /tmp/r.db}", "storage.path", "emptied"),
            ("storage: {retention: 6d}", "storage.retention", "6 d is less than a week"),
            ("storage: {upgrade_copy: false}", "storage.upgrade_copy", "no way back but a backup"),
            (
                "inputs: [{name: o, preset: owntracks}]", "liveness.on_duty.offline_after",
                "is less than most apps leave between two reports, and o takes what they send"
            ),
            (
                "liveness: {on_duty: {expected: 90s}}", "liveness.on_duty.degraded_after",
                "90 s leaves no room beside expected (90 s)"
            ),
            (
                "liveness: {on_duty: {offline_after: 119s}}", "liveness.on_duty.offline_after",
                "119 s is less than twice expected (60 s): one lost report"
            ),
            (
                "liveness: {on_duty: {offline_after: 61m}}", "liveness.on_duty.offline_after",
                "silent for 1 h is not OFFLINE"
            ),
            (
                "liveness: {on_mission: {offline_after: 181s}}",
                "liveness.on_mission.offline_after",
                "less closely"
            ),
            ("liveness: {low_power_factor: 0.9}", "liveness.low_power_factor", "0.9 shortens"),
            (
                "liveness: {platform_factors: {ios: 0.5}}", "liveness.platform_factors.ios",
                "0.5 shortens"
            ),
            ("liveness: {server_transitions: observe}", "liveness.server_transitions", "nothing"),
            ("liveness: {forget_after: 23h}", "liveness.forget_after", "overnight"),
            ("limits: {responders: 10000000}", "limits.responders", "about 3 GB"),
            (
                "alerts: {HighOfflineRate: {above: 1}}", "alerts.HighOfflineRate.above",
                "cannot fire"
            ),
            (
                "alerts: {NoOnlineResponders: {enabled: false}}",
                "alerts.NoOnlineResponders.enabled", "nobody is told"
            ),
            ("receivers: [{name: a, log: {}}]", "receivers", "nobody but the log is told of NoOnl"),
            (
                "receivers: [{name: a, slack: {}, match: {severity: warning}}]", "receivers",
                "NoOnlineResponders, TelemetryFeedDown, RollcallOverloaded, RollcallStateLost, "
                    + "RollcallStoreFailing, which are critical"
            ),
            (
                "receivers: [{name: a, slack: {}}, {name: b, slack: {}, match: {alertname: Hi}}]",
                "receivers[1].match", "no alert can ever have alertname=Hi: b is never told"
            ),
            (
                "receivers: [{name: a, pagerduty: {}, send_resolved: false}]",
                "receivers[0].send_resolved", "stay open at a"
            ),
        ])
    func `a weak setting is named with its reason`(
        yaml: String, key: String, reason: String
    ) throws {
        let configurationWarnings = try Configuration(yaml: yaml).configurationWarnings
        try #require(configurationWarnings.count == 1)
        #expect(configurationWarnings[0].key == key)
        #expect(configurationWarnings[0].reason.contains(reason))
    }

    @Test(
        arguments: [
            "storage: {retention: 7d}", "liveness: {on_duty: {offline_after: 120s}}",
            "liveness: {on_duty: {offline_after: 1h}}", "liveness: {forget_after: 24h}",
            "liveness: {on_duty: {expected: 81s}}", "alerts: {HighOfflineRate: {above: 0.9999}}",
            """
            inputs: [{name: o, preset: owntracks}]
            liveness: {on_duty: {expected: 10m, degraded_after: 15m, offline_after: 30m}}
            """,
            "receivers: [{name: a, slack: {}}]",
            "receivers: [{name: a, slack: {}}, {name: w, slack: {}, match: {alertname: Watchdog}}]",
            "receivers: [{name: a, slack: {}}, {name: b, slack: {}, match: {region: north}}]",
            "receivers: [{name: a, slack: {}}, {name: b, slack: {}, match: {source: b-1, "
                + "severity: warning}}]",
            """
            alerts: {NoOnlineResponders: {labels: {team: night}}}
            receivers: [{name: a, slack: {}}, {name: b, slack: {}, match: {team: night}}]
            """,
        ])
    func `a setting at the edge is not weak`(yaml: String) throws {
        #expect(try Configuration(yaml: yaml).configurationWarnings == [])
    }
}
