import RollcallCore
import Testing

@testable import RollcallBasis

/// The settings under `alerts`. Source: Contract/Alerts, V8.
@Suite struct AlertSettingsTests {
    private func fault(_ yaml: String) -> String {
        do {
            _ = try Configuration(yaml: yaml)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test func `every number, word and text of an alert can be set`() throws {
        let rules = try Configuration(
            yaml: """
                alerts:
                  HighOfflineRate:
                    enabled: false
                    above: 0.0525
                    by: region
                    min_active: 10
                    min_offline: 3
                    for: 0s
                    keep_firing_for: 5m
                    severity: critical
                    labels: {team: night, area_1: "7"}
                    annotations: {who: "call Kim"}
                    runbook_url: https://wiki.example.org/r?a=b#high
                  ResponderFlapping: {changes: 6, window: 1h, clear_below: 3}
                  NoOnlineResponders: {for: 2m}
                  TelemetryFeedDown: {severity: warning}
                  name_members: 0
                  storm: 0
                """
        ).policy.alerts
        var expected = AlertRules()
        expected.highOfflineRate.isEnabled = false
        expected.offlineAbove = 525
        expected.isOfflineByRegion = true
        expected.offlineMinActive = 10
        expected.offlineMin = 3
        expected.highOfflineRate.pendingFor = Milliseconds(0)
        expected.highOfflineRate.keepFiringFor = .seconds(300)
        expected.highOfflineRate.severity = .critical
        expected.highOfflineRate.labels = [label("area_1", "7"), label("team", "night")]
        expected.highOfflineRate.annotations = [
            label("who", "call Kim"),
            label("runbook_url", "https://wiki.example.org/r?a=b#high"),
        ]
        expected.flappingChanges = 6
        expected.flappingWindow = .seconds(3600)
        expected.flappingClearBelow = 3
        expected.noOnlineResponders.pendingFor = .seconds(120)
        expected.telemetryFeedDown.severity = .warning
        expected.namesMax = 0
        expected.storm = 0
        #expect(rules == expected)
    }

    private func label(_ name: String, _ value: String) -> Label {
        Label(Array(name.utf8), Array(value.utf8))
    }

    @Test(
        arguments: [
            (
                "HighOfflineRate: {above: 10}",
                "HighOfflineRate.above must be a number from 0 to 1 with at most four decimals (10)"
            ),
            (
                "HighOfflineRate: {by: team}",
                "HighOfflineRate.by must be one of fleet, region (team)"
            ),
            (
                "HighOfflineRate: {enabled: yes}",
                "HighOfflineRate.enabled must be true or false (yes)"
            ),
            (
                "TelemetryFeedDown: {severity: page}",
                "TelemetryFeedDown.severity must be one of critical, warning, info, none (page)"
            ),
            (
                "ResponderOffline: {duty_states: []}",
                "ResponderOffline.duty_states must hold some of ON_DUTY, ON_MISSION, each once"
            ),
            (
                "ResponderOffline: {duty_states: [ON_DUTY, OFF_DUTY]}",
                "ResponderOffline.duty_states must hold some of ON_DUTY, ON_MISSION, each once"
            ),
            (
                "ResponderOffline: {duty_states: ON_DUTY}",
                "ResponderOffline.duty_states must be a list"
            ),
            (
                "ResponderFlapping: {changes: 2}",
                "ResponderFlapping.clear_below must be less than changes (2 >= 2)"
            ),
            (
                "ResponderFlapping: {clear_below: 4}",
                "ResponderFlapping.clear_below must be less than changes (4 >= 4)"
            ),
            (
                "NoOnlineResponders: {labels: {region: x}}",
                "NoOnlineResponders.labels: region is set by Rollcall itself"
            ),
            (
                "NoOnlineResponders: {labels: {7up: x}}",
                "NoOnlineResponders.labels: 7up must be a name of letters, digits and _, no digit "
                    + "first"
            ),
            (
                "NoOnlineResponders: {labels: {team: ''}}",
                "NoOnlineResponders.labels: team must be a text of 1 to 1024 bytes"
            ),
            ("NoOnlineResponders: {labels: [a]}", "NoOnlineResponders.labels must be a mapping"),
            (
                "NoOnlineResponders: {annotations: {runbook_url: x}}",
                "NoOnlineResponders.annotations: runbook_url has a setting of its own beside "
                    + "annotations"
            ),
            (
                "NoOnlineResponders: {runbook_url: wiki}",
                "NoOnlineResponders.runbook_url must be a link such as "
                    + "https://wiki.example.org/runbook (wiki)"
            ),
            (
                "NoOnlineRespnders: {}",
                "NoOnlineRespnders: unknown setting, did you mean "
                    + "\"NoOnlineResponders\"?"
            ),
        ])
    func `a wrong value is told with its rule`(yaml: String, message: String) {
        #expect(fault("alerts: {\(yaml)}") == "line 1: alerts.\(message)")
    }

    @Test(
        arguments: [
            ("HighOfflineRate: {above: 0}", "HighOfflineRate: {above: -0.0001}"),
            ("HighOfflineRate: {above: 1}", "HighOfflineRate: {above: 1.0001}"),
            ("HighOfflineRate: {above: 0.1234}", "HighOfflineRate: {above: 0.12345}"),
            ("HighOfflineRate: {above: 0.5}", "HighOfflineRate: {above: .nan}"),
            ("HighOfflineRate: {min_active: 1}", "HighOfflineRate: {min_active: 0}"),
            ("HighOfflineRate: {for: 366d}", "HighOfflineRate: {for: 367d}"),
            ("ResponderFlapping: {changes: 100}", "ResponderFlapping: {changes: 101}"),
            ("ResponderFlapping: {window: 24h}", "ResponderFlapping: {window: 86401s}"),
            ("ResponderFlapping: {clear_below: 1}", "ResponderFlapping: {clear_below: 0}"),
            ("name_members: 100", "name_members: 101"),
            ("storm: 1000000", "storm: 1000001"),
        ])
    func `a number is taken at its limit and refused one past it`(
        inside: String, outside: String
    ) throws {
        _ = try Configuration(yaml: "alerts: {\(inside)}")
        #expect(throws: ConfigurationError.self) {
            try Configuration(yaml: "alerts: {\(outside)}")
        }
    }

    @Test func `an alert has 32 labels of 1024 bytes and not one more`() throws {
        func yaml(_ count: Int, _ bytes: Int) -> String {
            let value = String(repeating: "v", count: bytes)
            let labels = (0..<count).map { "l\($0): \(value)" }.joined(separator: ", ")
            return "alerts: {TelemetryFeedDown: {labels: {\(labels)}}}"
        }
        #expect(
            try Configuration(yaml: yaml(32, 1024)).policy.alerts.telemetryFeedDown.labels.count
                == 32)
        #expect(fault(yaml(33, 1)).hasSuffix("labels must hold at most 32 (33)"))
        #expect(fault(yaml(1, 1025)).hasSuffix("l0 must be a text of 1 to 1024 bytes"))
    }

    @Test func `the words tell when an alert fires`() throws {
        let configuration = try Configuration(
            yaml: """
                alerts:
                  HighOfflineRate: {above: 0.075, by: region, min_active: 5, min_offline: 2}
                  ResponderFlapping: {enabled: false}
                  ResponderOffline:
                    {enabled: true, for: 30s, duty_states: [ON_MISSION], regions: [north, west]}
                  TelemetryFeedDown: {for: 10s}
                coverage: {regions: [north]}
                """)
        #expect(
            configuration.alertWords == [
                "HighOfflineRate (warning) fires after 60 s when more than 7.5 % of a region's "
                    + "people who are expected (at least 5 of them), and at least 2, are OFFLINE.",
                "ResponderFlapping is switched off.",
                "ResponderOffline (info) fires after 30 s when somebody ON_MISSION of north or west is "
                    + "OFFLINE.",
                "NoOnlineResponders (critical) fires after 60 s when nobody of those expected in a "
                    + "region is ONLINE, or nobody is expected where somebody always must be; it "
                    + "ends once that was not so for 120 s.",
                "TelemetryFeedDown (critical) fires after 10 s when a source that beats is missing, "
                    + "or the whole feed is.",
            ])
    }

    @Test func `a variable sets one value of an alert`() throws {
        var sources = SettingSources()
        sources.variables = ["ROLLCALL_ALERTS_HIGHOFFLINERATE_ABOVE": "0.2"]
        let rules = try Configuration(
            yaml: "alerts: {HighOfflineRate: {above: 0.3}}", sources: &sources
        ).policy.alerts
        #expect(rules.offlineAbove == 2000)
    }
}
