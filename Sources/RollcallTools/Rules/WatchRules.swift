import RollcallBasis
import RollcallCore

/// The alerts about Rollcall itself, and about the way to whoever is to be called.
enum WatchRules {
    static func all(_ settings: RuleSettings) -> [AlertRule] {
        let first =
            own(settings, .rollcallStoreFailing, store) + own(settings, .rollcallStateLost, lost)
            + own(settings, .rollcallOverloaded, overloaded)
        let others = [down, delivering, subscription, unreached, refused].map { $0(settings) }
        return settings.addressed(
            first + [blind(settings)] + CellRules.all(settings) + MemberRules.all(settings) + others
                + twice(settings) + [watchdog(settings)])
    }

    /// One that Rollcall has itself, at its place.
    static func own(
        _ settings: RuleSettings, _ name: AlertName, _ alert: (RuleSettings) -> AlertRule
    ) -> [AlertRule] {
        settings.place(name, settings.alerts[name].severity) == .printed ? [alert(settings)] : []
    }

    /// The address of a view of the page.
    static func page(_ settings: RuleSettings, _ view: String) -> String {
        RuleText.template(settings.page) + view
    }

    /// The second half of an expression, for one that waits until Rollcall answers again.
    static func held(_ name: String) -> [String] {
        [
            "or", "  -max without (alertname, alertstate, severity)",
            "    (ALERTS{alertname=\"\(name)\", alertstate=\"firing\"})",
            "  and on (job, instance) up == 0",
        ]
    }

    // MARK: - What it holds

    private static func store(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallStoreFailing",
            "Nothing can be stored: every write is answered 503 and the watch is blind.",
            ["max without (reason) (rollcall_blind{reason=\"store\"}) == 1"]
                + held("RollcallStoreFailing"),
            summary: "Rollcall cannot write to its store; it does not see.",
            description: [
                "{{ $labels.instance }} refuses all writes with 503",
                "{{- if lt $value 0.0 }}, or did when it was last scraped{{ end }}. Nobody is called",
                "DEGRADED or OFFLINE until it can.",
            ], page: page(settings, "feeds"))
    }

    private static func lost(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallStateLost",
            "The store was damaged or gone, or is older than it should be.",
            [
                "max without (alertname, alertstate, severity)",
                "  (rollcall_alerts{alertname=\"RollcallStateLost\", alertstate=\"firing\"}) == 1",
            ] + held("RollcallStateLost"),
            summary: "Rollcall lost what it knew with its store.",
            description: [
                "{{ $labels.instance }} began anew, or with a store that is older than what it",
                "acknowledged. It watches whom it hears of; nudges rest.",
            ], page: page(settings, "feeds"))
    }

    private static func overloaded(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallOverloaded", "Half of the writes of 15 s were refused.",
            ["max without (reason) (rollcall_blind{reason=\"overload\"}) == 1"],
            summary: "Rollcall refuses half of what it is told; it does not see.",
            description: [
                "{{ $labels.instance }} answers 503 to at least half of all writes. Nobody is called",
                "DEGRADED or OFFLINE until it keeps up.",
            ], page: page(settings, "feeds"))
    }

    // MARK: - What only Prometheus sees

    private static func blind(_ settings: RuleSettings) -> AlertRule {
        let unfed = [
            "  unless on (job, instance)", "    (",
            "      rollcall_blind{reason=\"heartbeat\"} == 1",
            "      \(AlertRule.notOfCells)", "    )",
        ]
        return AlertRule(
            "RollcallBlind",
            "Blind for a reason without an alert of its own, or it answers without Rollcall's metrics. Of a "
                + "cell that hears no heartbeat the fleet cell's TelemetryFeedDown says nothing: it decides by "
                + "those that it hears itself.",
            [
                "instance:rollcall_not_watching:up == 1",
                "  unless on (job, instance) rollcall_blind{reason=~\"overload|store\"} == 1",
            ] + (settings.isFeedUnsaid ? [] : unfed) + [
                "  unless on (job, instance)",
                "    (",
                "      instance:rollcall_member_leading:cell == 0",
                "        and on (job, cell) max by (job, cell) (instance:rollcall_member_leading:cell) == 1",
                "    )",
            ], pendingFor: .seconds(120),
            summary: "Rollcall runs and does not see.",
            description: ["'{{ $labels.instance }} answers, but rollcall_watching is not 1.'"],
            page: page(settings, "feeds"))
    }

    private static func down(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallDown",
            "A restart takes seconds. `absent` is for a job without any target; one of several targets that "
                + "service discovery lists no longer is not missed.",
            ["up{job=\"\(settings.job)\"} == 0 or absent(up{job=\"\(settings.job)\"})"],
            pendingFor: .seconds(60),
            summary: "Rollcall does not answer; nobody watches.",
            description: [
                "{{ with $labels.instance }}{{ . }} cannot be scraped.{{ else }}Prometheus has no target of",
                "job \(settings.job).{{ end }} \(downOfPeople(settings))",
            ], page: "")
    }

    /// The sentence about what becomes of alerts about people. What Rollcall itself sends to an Alertmanager
    /// holds there for so long and no longer (D9).
    static func downOfPeople(_ settings: RuleSettings) -> String {
        guard let held = settings.heldByAlertmanager else {
            return "Alerts about people stay as they were."
        }
        return
            "Alerts about people that come from Prometheus stay as they were. Those that Rollcall sends to "
            + "Alertmanager end there \(RuleText.words(held)) after its last word: that is no all-clear, nobody "
            + "was seen to be back."
    }

    private static func refused(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallReloadRefused",
            "A reload was refused, whole. Most of what a reload refuses, a start refuses too.",
            ["rollcall_config_last_reload_successful == 0"],
            pendingFor: .seconds(900), severity: .warning,
            summary: "Rollcall refused its settings; those from before are in force.",
            description: [
                "{{ $labels.instance }} could not take its settings when it last read them. It may not start",
                "with them either: `rollcall check` says what is wrong.",
            ], page: page(settings, "feeds"))
    }

    private static func delivering(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallNotDelivering",
            "What Rollcall itself wants to tell a pager does not get out (`receivers` in its settings).",
            ["rollcall_outbox_pending > 0"] + held("RollcallNotDelivering"),
            pendingFor: .seconds(300),
            summary: "Rollcall cannot deliver to one of its receivers.",
            description: [
                "{{ if lt $value 0.0 }}Messages{{ else }}{{ $value }} messages{{ end }} of",
                "{{ $labels.instance }} to receiver {{ $labels.receiver }} wait",
                "{{- if lt $value 0.0 }}, or did when it was last scraped{{ end }}.",
            ], page: page(settings, "feeds"))
    }

    private static func subscription(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallSubscriptionStuck",
            "Whoever lives on events (`subscriptions`), such as a dispatcher, hears nothing.",
            ["rollcall_subscription_lag_seconds > 300 or rollcall_subscription_stopped > 0"],
            pendingFor: .seconds(60), severity: .warning,
            summary: "A subscriber does not take its events.",
            description: [
                "Subscription {{ $labels.subscription }} of {{ $labels.instance }} does not take its events.",
                "They wait, and come in order once it does; what is older than max_lag is skipped.",
            ], page: page(settings, "feeds"))
    }

    private static func unreached(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "RollcallNobodyReached",
            "A critical alert fires for a minute, and nobody took it: whoever is on call does not know. It "
                + "takes the way through Prometheus, since Rollcall's own is the one that fails.",
            ["max without (severity) (rollcall_alerts_unreached{severity=\"critical\"}) > 0"]
                + held("RollcallNobodyReached"),
            summary: "Nobody has been reached.",
            description: [
                "{{ if lt $value 0.0 }}So it was when {{ $labels.instance }} was last scraped.{{ else }}{{ $value }}",
                "critical alerts of {{ $labels.instance }} fire, and no receiver has taken them.{{ end }}",
            ], page: page(settings, "alerts"))
    }

    private static func watchdog(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "Watchdog", "Always fires: route it to something that rings when it stays away.",
            ["vector(1)"], severity: .none, summary: "Alerts of Prometheus arrive.",
            description: ["It always fires. If it stays away, so does every other alert."], page: ""
        )
    }

    // MARK: - Both

    /// The series of receivers that are told of what this file alerts of, where they are more than those
    /// that are meant.
    static func shared(_ settings: RuleSettings) -> [String] {
        var selected: [String] = []
        for audience in settings.audiences {
            guard settings.place(audience.name, audience.severity) == .printed else { continue }
            let isWholeName = settings.audiences.allSatisfy {
                $0.name != audience.name
                    || settings.place($0.name, $0.severity) == .printed && $0.partial.isEmpty
            }
            let severity = isWholeName ? "" : ", severity=\"\(audience.severity.word)\""
            let name = "alertname=\"\(audience.name.word)\"\(severity)"
            let counts =
                audience.partial.isEmpty
                ? ["{\(name)} > 0"]
                : [
                    "{\(name), extent=\"all\"} > 0",
                    "{\(name), extent=\"some\"} > \(audience.partial.count)",
                ]
            for count in counts {
                let series = "rollcall_alert_receivers\(count)"
                if !selected.contains(series) { selected.append(series) }
            }
        }
        return selected
    }

    private static func twice(_ settings: RuleSettings) -> [AlertRule] {
        if shared(settings).isEmpty { return [] }
        return [
            AlertRule(
                "RollcallPagesTwice",
                "Rollcall tells receivers of its own of what is in this file too, beyond those that were told "
                    + "of a part when it was printed. One of the two is to page, or a person gets each page twice.",
                ["count without (alertname) (alertname:rollcall_alert_receivers:max)"],
                pendingFor: .seconds(600), severity: .warning,
                summary: "Rollcall and Prometheus both alert of the same.",
                description: [
                    "{{ $labels.instance }} tells receivers of its own of what Prometheus alerts of too:",
                    "{{- range $place, $found :=",
                    "printf `alertname:rollcall_alert_receivers:max{job=%q,instance=%q}`",
                    "$labels.job $labels.instance | query | sortByLabel \"alertname\" }}",
                    "{{- if $place }},{{ end }} {{ $found.Labels.alertname }}{{ end }}.",
                ], page: page(settings, "alerts"))
        ]
    }
}
