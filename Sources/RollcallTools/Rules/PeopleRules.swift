import RollcallCore

/// The alerts about people.
enum PeopleRules {
    static func all(_ settings: RuleSettings) -> [AlertRule] {
        let alerts = settings.alerts
        return settings.addressed(
            [
                (.highOfflineRate, alerts.highOfflineRate, rate(settings)),
                (.responderFlapping, alerts.responderFlapping, flapping(settings)),
                (.responderOffline, alerts.responderOffline, offline(settings)),
                (.noOnlineResponders, alerts.noOnlineResponders, nobody(settings)),
            ].compactMap { (name: AlertName, rule: AlertRules.Rule, alert: AlertRule) in
                settings.place(name, rule.severity) == .printed ? alert : nil
            })
    }

    private static let watching = "  and on (job, instance) rollcall_watching == 1"

    /// The address of a view of the page.
    private static func page(_ settings: RuleSettings, _ view: String) -> String {
        RuleText.template(settings.page) + view
    }

    // MARK: - HighOfflineRate

    private static func rate(_ settings: RuleSettings) -> AlertRule {
        let alerts = settings.alerts
        let level = alerts.isOfflineByRegion ? "region" : "instance"
        let counts = alerts.isOfflineByRegion ? "rollcall_responders" : "responders_by_status"
        var expression = [
            "\(level):responders_offline_per_responders_active:ratio > \(RuleText.share(alerts.offlineAbove))"
        ]
        if alerts.offlineMinActive > 1 {
            expression.append(
                "  and \(level):responders_active:sum >= \(alerts.offlineMinActive)")
        }
        if alerts.offlineMin > 1 {
            expression.append(
                "  and sum without (status) (\(counts){status=\"OFFLINE\"}) >= \(alerts.offlineMin)"
            )
        }
        expression += [watching, AlertRule.notOfCells]
        return AlertRule(
            .highOfflineRate, alerts.highOfflineRate,
            [
                alerts.isOfflineByRegion
                    ? "Each region by itself (`by: region`); those beyond `limits.regions` as one, `other`."
                    : "The whole fleet of one Rollcall."
            ], expression + AlertRule.held(.highOfflineRate, alerts.highOfflineRate),
            summary:
                "More than \(RuleText.percent(alerts.offlineAbove)) % of the people expected to report are "
                + "OFFLINE.",
            description: [
                "{{ if lt $value 0.0 }}So it was when {{ $labels.instance }} last saw; it does not see",
                "now.{{ else }}{{ $value | humanizePercentage }} of the people whom {{ $labels.instance }}",
                "expects to report{{ with $labels.region }} in region {{ . }}{{ end }} are OFFLINE.{{ end }}",
                "{{- with printf",
                "`topk(1, sum by (cause) (increase(rollcall_gaps_total{job=%q,instance=%q}[15m])) > 0)`",
                "$labels.job $labels.instance | query }}",
                "Suspected most in the last 15 minutes: {{ . | first | label \"cause\" }}.{{ end }}",
            ],
            page: page(
                settings, "silent{{ with $labels.region }}?region={{ . | urlquery }}{{ end }}"))
    }

    // MARK: - By what Rollcall counts

    private static func flapping(_ settings: RuleSettings) -> AlertRule {
        let alerts = settings.alerts
        return AlertRule(
            .responderFlapping, alerts.responderFlapping,
            [
                "\(alerts.flappingChanges) changes between ONLINE and OFFLINE within "
                    + "\(RuleText.words(alerts.flappingWindow)), until fewer than "
                    + "\(alerts.flappingClearBelow): Rollcall counts them for each person "
                    + "(`alerts.ResponderFlapping`), and says how many people. No rule could: no metric is "
                    + "of a person."
            ],
            ["rollcall_responders_flapping > 0", watching, AlertRule.notOfCells]
                + AlertRule.held(.responderFlapping, alerts.responderFlapping),
            summary: "People in a region change between ONLINE and OFFLINE again and again.",
            description: [
                "{{ if lt $value 0.0 }}So it was in region {{ $labels.region }} when",
                "{{ $labels.instance }} last saw; it does not see now.{{ else }}So do {{ $value }} in",
                "region {{ $labels.region }}; do not rely on them for an assignment.{{ end }}",
            ], page: page(settings, "people?region={{ $labels.region | urlquery }}"))
    }

    private static func offline(_ settings: RuleSettings) -> AlertRule {
        let rule = settings.alerts.responderOffline
        var alert = AlertRule(
            .responderOffline, rule,
            [
                "Each person who is OFFLINE, as `alerts.ResponderOffline` counts them in Rollcall, each for "
                    + "themselves from its `for` on, by `duty_states` and `regions`"
                    + (rule.isEnabled
                        ? "."
                        : ": nobody while it is switched off there, as it is in these settings.")
            ],
            ["rollcall_responders_missed > 0", watching]
                + AlertRule.held(.responderOffline, rule),
            summary: "Somebody in a region is OFFLINE.",
            description: [
                "{{ if lt $value 0.0 }}So it was in region {{ $labels.region }} when",
                "{{ $labels.instance }} last saw; it does not see now.{{ else }}{{ $value }} of region",
                "{{ $labels.region }} are OFFLINE.{{ end }}",
            ], page: page(settings, "people?status=OFFLINE&region={{ $labels.region | urlquery }}"))
        alert.pendingFor = Milliseconds(0)
        return alert
    }

    // MARK: - NoOnlineResponders

    private static func nobody(_ settings: RuleSettings) -> AlertRule {
        let rule = settings.alerts.noOnlineResponders
        return AlertRule(
            .noOnlineResponders, rule, [coverage(settings)],
            [
                "(",
                "    region:responders_silent:sum > 0",
                "      unless region:responders_online:sum > 0",
            ] + unstaffed(settings) + [")", watching, AlertRule.notOfCells]
                + AlertRule.held(.noOnlineResponders, rule),
            summary: "Nobody in a region can be reached.",
            description: [
                "{{ if lt $value 0.0 }}So it was in region {{ $labels.region }} when",
                "{{ $labels.instance }} last saw; it does not see now.{{ else if eq $value 0.0 }}Nobody is",
                "on duty in region {{ $labels.region }}, which must always be staffed.{{ else }}Nobody is",
                "ONLINE in region {{ $labels.region }}; without contact: {{ $value }}.{{ end }}",
            ], page: page(settings, "people?region={{ $labels.region | urlquery }}"))
    }

    private static func coverage(_ settings: RuleSettings) -> String {
        let first = "Somebody is expected to report in the region and nobody is ONLINE."
        if settings.covered.isEmpty {
            return first
                + " Of regions that must always be staffed (`coverage.regions`, none in these settings) the "
                + "names stand here once they are set."
        }
        let other =
            settings.covered.contains("other")
            ? " Of `other` this says nothing as long as anybody is expected in any region beyond "
                + "`limits.regions`: it is their sum too." : ""
        return first
            + " Or nobody is expected where somebody always must be (`coverage.regions`), once a batch came; "
            + "in Rollcall a roster or a fact is enough.\(other)"
    }

    /// The half of the expression about regions that must be staffed, which always have a series (F30).
    private static func unstaffed(_ settings: RuleSettings) -> [String] {
        let series = settings.covered.map {
            "region:responders_active:sum{region=\(RuleText.promQL($0))}"
        }
        guard let first = series.first else { return [] }
        let since = "      and on (job, instance) rollcall_last_batch_timestamp_seconds > 0"
        if series.count == 1 { return ["  or", "    \(first) == 0", since] }
        return ["  or", "    (", "        \(first)"]
            + series.dropFirst().flatMap { ["      or", "        \($0)"] }
            + ["    ) == 0", since]
    }
}
