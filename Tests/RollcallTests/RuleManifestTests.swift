import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallTools

/// What `rollcall manifest rules` and `alertmanager` print for given settings (V20); whether Prometheus and
/// Alertmanager do by it what they should is asked of them elsewhere.
@Suite struct RuleManifestTests {
    private static let alerts = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Alerts")

    private func rules(_ yaml: String, all: Bool = false) throws -> String {
        RulesFile.text(try Configuration(yaml: yaml), printsAll: all)
    }

    /// The alerts that a file holds, each with its severity, in order.
    private func alerts(_ text: String) -> [String] {
        text.matches(
            of: #/- alert: (\w+)\n(?:(?! +annotations:).*\n)*? +(?:labels: \{)?severity: (\w+)/#
        )
        .map { "\($0.1) \($0.2)" }
    }

    @Test(arguments: [
        ("rollcall.rules.yml", "rules", false), ("rollcall.rules.test.yml", "rules --tests", true),
        ("alertmanager.example.yml", "alertmanager", false),
    ])
    func `a file of Alerts is what is printed of the defaults`(
        name: String, command: String, isTests: Bool
    ) throws {
        var form = Manifest.Form()
        form.rules.printsTests = isTests
        let manifest: Manifest = command == "alertmanager" ? .alertmanager : .rules
        let file = try String(
            contentsOf: Self.alerts.appendingPathComponent(name), encoding: .utf8)
        let isSame = file == manifest.text(nil, form)
        #expect(
            isSame, "write it anew: .build/debug/rollcall manifest \(command) > Alerts/\(name)")
    }

    @Test func `settings of defaults are the defaults`() throws {
        #expect(try rules("{}") == RulesFile.text(Configuration(), printsAll: false))
        #expect(try rules("{}", all: true) == rules("{}"))
        #expect(try rules("receivers: [{name: lines, log: {}}]") == rules("{}"))
    }

    @Test func `thresholds, labels and texts of the settings are in the rules`() throws {
        let text = try rules(
            """
            web: {external_url: "https://watch.example.org/roll/"}
            alerts:
              HighOfflineRate:
                {above: 0.25, by: region, min_active: 10, min_offline: 3, for: 90s, keep_firing_for: 5m,
                 severity: critical, labels: {team: "{{x}}", job: y}, annotations: {summary: "a: {b}"},
                 runbook_url: "https://wiki.example.org/rate"}
              ResponderFlapping: {enabled: false}
            coverage: {regions: ['a"b\\', north]}
            """)
        for part in [
            "region:responders_offline_per_responders_active:ratio > 0.25\n",
            "  and region:responders_active:sum >= 10\n",
            "  and sum without (status) (rollcall_responders{status=\"OFFLINE\"}) >= 3\n",
            "        for: 90s\n        keep_firing_for: 5m\n",
            "          severity: critical\n          team: \"{{\\\"{\\\"}}{{\\\"{\\\"}}x}}\"\n",
            "            -max without (alertname, alertstate, severity, team)\n",
            "      # Without the label job of the settings",
            "          summary: \"a: {{\\\"{\\\"}}b}\"\n",
            "          runbook_url: \"https://wiki.example.org/rate\"\n",
            "          page_url: https://watch.example.org/roll/silent{{ with",
            "region:responders_active:sum{region=\"a\\\"b\\\\\"}\n",
            "region:responders_active:sum{region=\"north\"}\n",
            "# ResponderFlapping (warning)\n",
        ] { #expect(text.contains(part), "\(part)") }
        #expect(!alerts(text).contains("ResponderFlapping warning"))
    }

    @Test func `nobody is left out whom no receiver is surely told of at once`() throws {
        let own = alerts(try rules("{}")).filter { !$0.hasPrefix("Rollcall") }
        func people(_ receivers: String, all: Bool = false) throws -> [String] {
            alerts(try rules("receivers: [\(receivers)]", all: all))
                .filter { !$0.hasPrefix("Rollcall") }
        }
        func slack(_ name: String, _ rest: String) -> String {
            "{name: \(name), slack: {url: \"https://example.org/\"}\(rest)}"
        }
        let everything = slack("chat", "")
        // Nobody is counted for it while it is off, so nobody is told.
        #expect(try people(everything) == ["ResponderOffline info", "Watchdog none"])
        #expect(try people(everything, all: true) == own)
        #expect(
            try people(slack("oncall", ", match: {severity: critical}"))
                == own.filter { !$0.hasSuffix("critical") })
        // Only some of them, or later: a page too many is better than none.
        for rest in [
            ", match: {region: north}", ", match: [\"region!=north\"]", ", escalate_after: 15m",
            ", match: none", ", match: {alertname: Watchdog}",
        ] {
            let left = try people(slack("some", rest))
            let isOfRegions = rest.contains("!=")
            #expect(
                left
                    == own.filter {
                        !isOfRegions || !$0.hasPrefix("HighOffline") && !$0.hasPrefix("Telemetry")
                    },
                "\(rest)")
        }
        let text = try rules("receivers: [\(slack("oncall", ", match: {severity: critical}"))]")
        #expect(
            text.contains("#   NoOnlineResponders (critical): oncall\n")
                || text.contains("# NoOnlineResponders (critical): oncall\n"))
        #expect(
            text.contains(
                "rollcall_alert_receivers{alertname=\"TelemetryFeedDown\", severity=\"warning\"} > 0"
            ))
        // Whoever is told of a part only is not named.
        let partly = slack("oncall", ", match: {severity: critical}") + ", "
        let named = try rules("receivers: [\(partly + slack("north", ", match: {region: north}"))]")
        #expect(named.contains("# NoOnlineResponders (critical): oncall\n"))
        // Everything is told here: nothing can be twice.
        let both = everything + ", " + slack("rest", "")
        let none = try rules(
            "{alerts: {ResponderOffline: {enabled: true}}, receivers: [\(both)]}")
        #expect(!none.contains("RollcallPagesTwice\n") && !none.contains("alertname:rollcall_"))
    }

    @Test func `receivers that are told are counted, and logs are none`() throws {
        func counts(_ yaml: String) throws -> [String] {
            AlertAudience.all(try Configuration(yaml: yaml).policy).filter { !$0.receivers.isEmpty }
                .map { "\($0.name.word) \($0.severity.word) \($0.receivers.count) \($0.isWhole)" }
        }
        #expect(try counts("{}") == [])
        #expect(try counts("receivers: [{name: lines, log: {}}]") == [])
        let hook = "webhook: {url: \"https://example.org/\"}"
        #expect(
            try counts(
                """
                receivers:
                  - {name: north, \(hook), match: {region: north}}
                  - {name: feed, \(hook), match: {alertname: TelemetryFeedDown, severity: critical}}
                alerts: {ResponderFlapping: {enabled: false}, ResponderOffline: {enabled: true}}
                """) == [
                    "NoOnlineResponders critical 1 false", "ResponderOffline info 1 false",
                    "TelemetryFeedDown critical 1 true",
                ])
    }

    @Test(arguments: [
        ("north", "north"), ("", "\"\""), ("true", "\"true\""), ("a: b", "\"a: b\""),
        ("-x", "\"-x\""),
        ("a\"b\\", "\"a\\\"b\\\\\""), ("two\nlines", "\"two\\nlines\""),
        ("\u{2028}\u{85}\u{FEFF}", "\"\\u2028\\u0085\\ufeff\""), ("söder", "\"söder\""),
        ("\u{E0041}", "\"\\U000e0041\""), ("a ", "\"a \""), ("#x", "\"#x\""),
    ])
    func `a text is that text to YAML`(text: String, quoted: String) {
        #expect(RuleText.yaml(text) == quoted)
    }

    @Test func `a text in a template, a question and a comment is that text`() {
        #expect(RuleText.template("{{ .X }}") == "{{\"{\"}}{{\"{\"}} .X }}")
        #expect(RuleText.query("a & b/ö?#~_") == "a+%26+b%2F%C3%B6%3F%23~_")
        #expect(RuleText.comment("a\nb\u{2028}") == "a\\u{A}b\\u{2028}")
        #expect(
            RuleText.share(10_000) == "1" && RuleText.share(1) == "0.0001"
                && RuleText.share(0) == "0")
        #expect(
            RuleText.seconds(Milliseconds(1500)) == "1.5"
                && RuleText.seconds(Milliseconds(1)) == "0.001")
        #expect(
            RuleText.duration(.seconds(60)) == "60s" && RuleText.duration(.seconds(120)) == "2m")
        #expect(
            RuleText.words(.seconds(900)) == "15 min" && RuleText.words(.seconds(7200)) == "2 h")
        #expect(RuleCase.time(0) == "0s" && RuleCase.time(241) == "1h15s")
    }

    @Test
    func
        `an Alertmanager's file says what Rollcall itself sends, and mutes nothing by what is off`()
        throws
    {
        let text = AlertmanagerFile.text(
            try Configuration(
                yaml: """
                    receivers: [{name: am, alertmanager: {urls: ["http://127.0.0.1:9093"]}, resolve_timeout: 4m}]
                    alerts:
                      NoOnlineResponders: {enabled: false}
                      TelemetryFeedDown: {enabled: false}
                      HighOfflineRate: {labels: {team: night}}
                    """))
        for part in [
            "# Rollcall sends alerts itself, as its receiver am.", "for 4 min without",
            "HighOfflineRate: team=\"night\"",
        ] { #expect(text.contains(part), "\(part)") }
        let matchers = text.split(separator: "\n").filter { $0.contains("_matchers: ") }.joined()
        #expect(!matchers.contains("NoOnlineResponders") && !matchers.contains("TelemetryFeedDown"))
    }
}
