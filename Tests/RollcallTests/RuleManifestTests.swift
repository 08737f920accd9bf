import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall manifest rules` and `alertmanager` print for given settings (V20); whether Prometheus and
/// Alertmanager do by it what they should is asked of them elsewhere.
@Suite struct RuleManifestTests {
    private static let alerts = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Alerts")

    private func rules(_ yaml: String, all: Bool = false) throws -> String {
        var options = RuleOptions()
        options.printsAll = all
        return RulesFile.text(try Configuration(yaml: yaml), options)
    }

    /// A text with one blank where it has any, as YAML folds it.
    private func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
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
        #expect(try rules("{}") == RulesFile.text(Configuration(), .init()))
        // The file says by which command it was printed.
        let all = try rules("{}", all: true).replacing("rollcall.yml --all ", with: "rollcall.yml ")
        #expect(try all == rules("{}"))
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

    @Test func `the job and both addresses are in rules and tests alike`() throws {
        var options = RuleOptions()
        options.job = "ops/watch"
        options.runbooks = ExternalURL("https://wiki.example.org/books/")
        options.page = ExternalURL("https://watch.example.org")
        let settings = try Configuration(yaml: "web: {external_url: \"https://old.example.org\"}")
        let text = RulesFile.text(settings, options)
        let tests = RuleCases.text(settings, options)
        for part in [
            "#   rollcall manifest rules --config.file rollcall.yml --job ops/watch --runbook-url "
                + "'https://wiki.example.org/books' --page-url 'https://watch.example.org' --tests > ",
            "up{job=\"ops/watch\"}\n",
            "expr: up{job=\"ops/watch\"} == 0 or absent(up{job=\"ops/watch\"})\n",
            "runbook_url: https://wiki.example.org/books/RollcallDown.md\n",
            "page_url: https://watch.example.org/silent{{ with",
        ] { #expect(text.contains(part), "\(part)") }
        #expect(flat(text).contains("no target of job ops/watch.{{ end }}"))
        #expect(flat(tests).contains("no target of job ops/watch."))
        for part in [
            "- series: up{job=\"ops/watch\", instance=\"a\"}", "job: ops/watch,",
            "- labels: status_transitions{job=\"ops/watch\",",
            "runbook_url: \"https://wiki.example.org/books/RollcallDown.md\"\n",
            "page_url: \"https://watch.example.org/silent\"\n",
        ] {
            #expect(tests.contains(part), "\(part)")
        }
        for text in [text, tests] {
            for old in ["job=\"rollcall\"", "job: rollcall", "url: runbooks/", "old.example"] {
                #expect(!text.contains(old), "\(old)")
            }
        }
        for name in ["", "a b", "a\"", "ä", "{{x}}", "a\n"] {
            #expect(!RuleOptions.isJob(name))
        }
    }

    @Test func `receivers of a part are meant, and those of all are not`() throws {
        func twice(_ receivers: String, all: Bool = false) throws -> [String] {
            try rules("receivers: [\(receivers)]", all: all).split(separator: "\n")
                .filter { $0.contains("  rollcall_alert_receivers{") }
                .map { String($0.drop { $0 == " " }) }
        }
        let hook = "webhook: {url: \"https://example.org/\"}"
        func count(_ rest: String) -> String { "rollcall_alert_receivers{alertname=\"\(rest)" }
        let north =
            "{name: north, \(hook), match: [alertname=NoOnlineResponders, \"region!=test\"]}"
        let later =
            "{name: later, \(hook), match: {alertname: NoOnlineResponders}, escalate_after: 15m}"
        let found = try twice("\(north), \(later)")
        #expect(
            found.filter { $0.contains("NoOnline") } == [
                count("NoOnlineResponders\", severity=\"critical\", extent=\"all\"} > 0"),
                count("NoOnlineResponders\", severity=\"critical\", extent=\"some\"} > 2"),
            ])
        #expect(found.contains(count("HighOfflineRate\"} > 0")))
        // Who wants all of it in both is still told that both page.
        let whole = "{name: whole, \(hook), match: {alertname: NoOnlineResponders}}"
        #expect(try !twice(whole).contains { $0.contains("NoOnline") })
        #expect(try twice(whole, all: true).contains(count("NoOnlineResponders\"} > 0")))
        let audiences = AlertAudience.all(
            try Configuration(yaml: "receivers: [\(whole), \(north), \(later)]").policy)
        let nobody = try #require(audiences.first { $0.name == .noOnlineResponders })
        #expect(nobody.whole.count == 1 && nobody.partial.count == 2)
    }

    @Test func `an end that nobody saw is no all-clear where Rollcall sends to an Alertmanager`()
        throws
    {
        #expect(flat(try rules("{}")).contains("{{ end }} Alerts about people stay as they were. "))
        let sends = try rules(
            "receivers: [{name: am, alertmanager: {urls: [\"http://127.0.0.1:9093\"]}, resolve_timeout: 4m}]"
        )
        #expect(
            flat(sends).contains(
                "Those that Rollcall sends to Alertmanager end there 4 min after its last word: that is no "
                    + "all-clear, nobody was seen to be back."))
    }

    @Test func `two rules of a feed differ by labels of their own if both warn`() throws {
        func heads(_ severity: String) throws -> [Substring] {
            let text = try rules("alerts: {TelemetryFeedDown: {severity: \(severity)}}")
            return text.split(separator: "- alert: ").filter { $0.hasPrefix("TelemetryFeedDown") }
                .flatMap { $0.split(separator: "\n") }
                .filter { $0.contains("labels: {") }.map { $0.drop { $0 == " " } }
        }
        #expect(
            try heads("warning") == [
                "labels: {severity: warning, source: \"\"}", "labels: {severity: warning}",
                "labels: {severity: warning, suspected: \"true\"}",
            ])
        #expect(try heads("critical").first == "labels: {severity: critical}")
    }

    @Test func `nobody is left out whom no receiver is surely told of at once`() throws {
        // What cells tell of each other is there in any case: a lone watch does not tell it.
        func isOfPeople(_ name: String) -> Bool {
            !name.hasPrefix("Rollcall") && !name.contains("Dark")
        }
        let own = alerts(try rules("{}")).filter(isOfPeople)
        func people(_ receivers: String, all: Bool = false) throws -> [String] {
            alerts(try rules("receivers: [\(receivers)]", all: all))
                .filter(isOfPeople)
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
                "rollcall_alert_receivers{alertname=\"TelemetryFeedDown\", severity=\"warning\"} > 0\n"
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
