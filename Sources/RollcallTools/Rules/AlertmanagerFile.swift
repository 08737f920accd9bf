import RollcallBasis
import RollcallCore
import RollcallSupport

/// The configuration of an Alertmanager that `rollcall manifest alertmanager` prints. Source: rule V20.
enum AlertmanagerFile {
    static func text(_ configuration: Configuration) -> String {
        let alerts = configuration.policy.alerts
        return head + own(configuration) + route + inhibitionHead(configuration)
            + inhibitions(alerts) + receivers
    }

    private static let head = """
        # An Alertmanager (0.25 or newer) behind Rollcall or behind rollcall.rules.yml, as
        # `rollcall manifest alertmanager` prints it for given settings. What is yours to decide is marked
        # CHANGE.

        """

    // MARK: - What the settings say

    /// Comments about what Rollcall itself sends here, and about labels.
    private static func own(_ configuration: Configuration) -> String {
        var text = ""
        let senders = configuration.policy.receivers.filter { $0.kind == .alertmanager }
        if !senders.isEmpty {
            let names = senders.map { String(decoding: $0.name, as: UTF8.self) }
            text += RuleText.comment(
                "Rollcall sends alerts itself, as its receiver \(names.joined(separator: ", ")). They have the "
                    + "labels alertname, severity, region, source and suspected of those from Prometheus, "
                    + "and neither job nor instance; routes and inhibitions below are by these labels and "
                    + "fit both.", indent: 0)
        }
        let shapes = AlertShape.all(
            configuration.policy.alerts, isCluster: false, role: configuration.policy.role)
        let dogs = senders.filter { sender in
            shapes.contains { $0.name == .watchdog && $0.mayBe(for: sender) }
        }
        if !dogs.isEmpty {
            text += RuleText.comment(
                "CHANGE: Rollcall sends a Watchdog too. With that of Prometheus the heartbeat below rings only "
                    + "when both stay away: tell them apart by external_labels of Prometheus, with a route for "
                    + "each.", indent: 0)
        }
        let labels = added(configuration.policy.alerts)
        if !labels.isEmpty {
            text += "# The settings add these labels, by which routes may go:\n"
            text += labels.map { RuleText.comment("  \($0)", indent: 0) }.joined()
        }
        return text
    }

    /// The labels that the settings add, a line for each alert.
    private static func added(_ alerts: AlertRules) -> [String] {
        AlertName.allCases.compactMap { name in
            let labels = RuleSettings.added(alerts[name])
            if labels.isEmpty { return nil }
            let pairs = labels.map { "\($0.name)=\(RuleText.promQL($0.value))" }
            return "\(name.word): \(pairs.joined(separator: ", "))"
        }
    }

    // MARK: - Routes

    private static let route = """
        global:
          # For alerts that come without an end. Rollcall and Prometheus send one with each and send again
          # each minute, so this only matters to others.
          resolve_timeout: 5m

        route:
          receiver: chat
          # One message for what happens at once. Rollcall's own alerts have no job and no instance.
          group_by: [alertname, job, instance]
          group_wait: 30s
          group_interval: 5m
          repeat_interval: 4h
          routes:
            # Rings when it stays away. Not to be grouped, held back or resolved. Each 30 s it is looked
            # whether 50 s are over since the last one: so one goes out each minute. (With the same time
            # for both it would be every second minute whenever a look comes a little too soon.)
            - matchers: [alertname="Watchdog"]
              receiver: heartbeat
              group_by: [...]
              group_wait: 0s
              group_interval: 30s
              repeat_interval: 50s
            # One incident for each alert: a region that is back resolves without the others. The first
            # message goes out at once. Its end, and the same alert if it comes again, are looked for once a
            # minute (`group_interval`).
            - matchers: [severity="critical"]
              receiver: pager
              group_by: [...]
              group_wait: 0s
              group_interval: 1m
              repeat_interval: 4h


        """

    // MARK: - Inhibitions

    private static func inhibitionHead(_ configuration: Configuration) -> String {
        let senders = configuration.policy.receivers.filter { $0.kind == .alertmanager }
        let spans = (senders.isEmpty ? [Receiver(name: [], kind: .alertmanager)] : senders)
            .map(\.resolveTimeout.count)
        let least = RuleText.words(Milliseconds(spans.min() ?? 0))
        return RuleText.comment(
            "`equal` compares labels, and two that lack one are equal in it: so each Rollcall mutes its own "
                + "alerts only. What is muted here sends no resolve either until its source is over. That is "
                + "no loss: Rollcall and Prometheus send what is over for 15 minutes, and neither lets an "
                + "alert about people end while it does not see. What fires holds for \(least) without "
                + "Rollcall too (`resolve_timeout` of its receiver): a restart or a take-over resolves no "
                + "page. After that it is resolved here, which is no all-clear: nobody was seen to be back. "
                + "RollcallDown of Prometheus says so, and mutes nothing of what Rollcall sends: it fires as well "
                + "where Prometheus alone cannot reach Rollcall, or for one of several members, while the others "
                + "see who is missing. `global.resolve_timeout` here decides nothing, since Rollcall always says "
                + "until when.",
            indent: 0) + "inhibit_rules:\n"
    }

    private static func inhibitions(_ alerts: AlertRules) -> String {
        let feed = alerts.telemetryFeedDown.isEnabled
        let nobody = alerts.noOnlineResponders.isEnabled
        // It may be switched on by a reload.
        let behind =
            (alerts.highOfflineRate.isEnabled ? ["HighOfflineRate"] : []) + ["ResponderOffline"]
        let people =
            (behind + (nobody ? ["NoOnlineResponders"] : [])
            + (alerts.responderFlapping.isEnabled ? ["ResponderFlapping"] : [])).sorted()
        let whole = "[alertname=\"TelemetryFeedDown\", source=\"\", suspected=\"\"]"
        var text = ""
        if nobody {
            text += rule(
                "Nobody is ONLINE in a region: that many are OFFLINE there is no news.",
                "[alertname=\"NoOnlineResponders\"]", "[alertname=~\"\(joined(behind))\"]",
                equal: "job, instance, region")
        }
        if feed {
            text += rule(
                "All sources are missing: so is each.", whole,
                "[alertname=\"TelemetryFeedDown\", source!=\"\"]")
        }
        let blind = ["RollcallBlind", "RollcallDown", "RollcallOverloaded", "RollcallStoreFailing"]
        text += rule(
            "Rollcall does not see: one page about that, and none about people."
                + (feed ? " A feed that is only suspected to stand still mutes nothing." : ""),
            "[alertname=~\"\(joined(blind))\"]", "[alertname=~\"\(joined(people))\"]")
        if feed { text += rule("", whole, "[alertname=~\"\(joined(people))\"]") }
        return text
            + rule(
                "It does not even answer: whatever it said last is no news.",
                "[alertname=\"RollcallDown\"]",
                "[alertname=~\"Rollcall(Blind|NotDelivering|Overloaded|StoreFailing)"
                    + (feed ? "|TelemetryFeedDown\"]" : "\"]"))
            + "\n"
    }

    private static func rule(
        _ comment: String, _ source: String, _ target: String, equal: String = "job, instance"
    ) -> String {
        (comment.isEmpty ? "" : RuleText.comment(comment, indent: 2)) + """
              - source_matchers: \(source)
                target_matchers: \(target)
                equal: [\(equal)]

            """
    }

    private static func joined(_ names: [String]) -> String { names.joined(separator: "|") }

    // MARK: - Receivers

    /// The sentence of what happens. Rules have one for all regions, Rollcall's own names the region.
    private static let title = """
                  {{ with .CommonAnnotations.summary }}{{ . }}{{ else }}{{ .CommonLabels.alertname }}:
                  {{ len .Alerts }} alerts{{ end }}
                  {{- if .CommonLabels.job }}{{ with .CommonLabels.region }} ({{ . }}){{ end }}{{ end }}
        """

    private static let receivers = """
        receivers:
          - name: pager
            pagerduty_configs:
              # CHANGE: the integration key of an Events API v2 service, in a file of its own.
              - routing_key_file: /etc/prometheus/pagerduty.key
                send_resolved: true
                # The title of the incident.
                description: >-
        \(title)
          - name: chat
            slack_configs:
              # CHANGE: an incoming webhook, in a file of its own.
              - api_url_file: /etc/prometheus/slack.url
                channel: '#oncall'
                send_resolved: true
                title: >-
                  {{ .Status | toUpper }}:
        \(title)
                # Rules that were printed without --runbook-url and --page-url lead nowhere: no links.
                text: >-
                  {{ range .Alerts }}{{ .Annotations.summary }}
                  {{- with .Annotations.description }}{{ "\\n" }}{{ . }}{{ end }}
                  {{- if match "^https?://" .Annotations.page_url }}{{ "\\n" }}<{{ .Annotations.page_url }}|Rollcall>
                  {{- end }}
                  {{- if match "^https?://" .Annotations.runbook_url }}{{ "\\n" }}<{{ .Annotations.runbook_url }}|Runbook>
                  {{- end }}{{ "\\n\\n" }}{{ end }}
          - name: heartbeat
            webhook_configs:
              # CHANGE: a dead man's switch: Healthchecks, Dead Man's Snitch, another Alertmanager. One
              # comes each minute: give it a period of 1 min and a grace of 3, so that neither a lost one
              # nor a restart of Alertmanager rings. After the end of Prometheus they go on for 4 min more.
              - url: http://127.0.0.1:9/rollcall-watchdog
                send_resolved: false

        """
}
