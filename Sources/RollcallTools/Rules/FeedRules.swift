import RollcallCore

/// The alerts about what is forwarded to Rollcall.
enum FeedRules {
    static func all(_ settings: RuleSettings) -> [AlertRule] {
        let rule = settings.alerts.telemetryFeedDown
        func isPrinted(_ severity: Severity) -> Bool {
            settings.place(.telemetryFeedDown, severity) == .printed
        }
        return settings.addressed(
            (isPrinted(rule.severity) ? [whole(settings)] : [])
                + (isPrinted(.warning) ? [source(settings)] : [])
                + (isPrinted(rule.severity) ? [suspected(settings)] : []))
    }

    private static func page(_ settings: RuleSettings) -> String {
        RuleText.template(settings.page) + "feeds"
    }

    private static func whole(_ settings: RuleSettings) -> AlertRule {
        let rule = settings.alerts.telemetryFeedDown
        var alert = AlertRule(
            .telemetryFeedDown, rule,
            ["All sources that declared themselves by heartbeats are missing: Rollcall is blind."],
            [
                "count without (source) (rollcall_feed_up)",
                "  unless max without (source) (rollcall_feed_up) > 0", AlertRule.notOfCells,
            ]
                + AlertRule.held(
                    .telemetryFeedDown, rule, selected: ", source=\"\", suspected=\"\"",
                    while: "up == 0"),
            summary: "No backend forwards to Rollcall any more; it does not see.",
            description: [
                "{{ if lt $value 0.0 }}So it was when {{ $labels.instance }} was last scraped.{{ else",
                "}}All {{ $value }} sources of {{ $labels.instance }} stopped beating. Nobody is called",
                "DEGRADED or OFFLINE until one is back.{{ end }}",
            ], page: page(settings))
        alert.isWithoutSource = rule.severity == .warning
        return alert
    }

    private static func source(_ settings: RuleSettings) -> AlertRule {
        let rule = settings.alerts.telemetryFeedDown
        return AlertRule(
            .telemetryFeedDown, rule, severity: .warning,
            [
                "One of them: a warning, whatever the severity of the other two is. After 15 minutes it is "
                    + "forgotten, if another one beats."
            ],
            ["rollcall_feed_up == 0", AlertRule.notOfCells]
                + AlertRule.held(
                    .telemetryFeedDown, rule, selected: ", source!=\"\"", while: "up == 0"),
            summary: "A backend does not forward to Rollcall any more.",
            description: [
                "Source {{ $labels.source }} of {{ $labels.instance }} stopped beating",
                "{{- if lt $value 0.0 }}; Rollcall itself does not answer now{{ end }}.",
            ], page: page(settings))
    }

    private static func suspected(_ settings: RuleSettings) -> AlertRule {
        let rule = settings.alerts.telemetryFeedDown
        let stall = RuleText.seconds(settings.policy.feedStallAfter)
        let silence =
            "timestamp(rollcall_last_batch_timestamp_seconds) - rollcall_last_batch_timestamp_seconds"
        var expression = [
            "(",
            "    timestamp(rollcall_last_batch_timestamp_seconds)",
            "      - rollcall_last_batch_timestamp_seconds > \(stall)",
        ]
        if let spacing = settings.spacing {
            expression += [
                "  and on (job, instance)",
                "    (\(silence))",
                "      * on (job, instance) instance:responders_active:sum > \(RuleText.seconds(spacing))",
            ]
        }
        expression += [
            "  and on (job, instance)",
            "    (",
            "        max_over_time(responders_by_status{status=\"ONLINE\"}"
                + "[\(RuleText.duration(settings.onlineWindow))]) >= \(settings.policy.feedMinActive)",
            "      and on (job, instance)",
            "        timestamp(process_start_time_seconds) - process_start_time_seconds > \(stall)",
            "      and on (job, instance)",
            "        min_over_time(rollcall_watching[\(RuleText.duration(settings.sightWindow))]) == 1",
            "      or on (job, instance)",
            "        ALERTS{alertname=\"TelemetryFeedDown\", suspected=\"true\"}",
            "    )",
            "  unless on (job, instance)",
            "    rollcall_feed_up",
            ")", AlertRule.notOfCells,
        ]
        var alert = AlertRule(
            .telemetryFeedDown, rule, suspicion(settings),
            expression
                + AlertRule.held(
                    .telemetryFeedDown, rule, selected: ", suspected=\"true\"",
                    without: ["suspected"], while: "up == 0"),
            summary: "All telemetry stopped at once; the feed is suspected, not the people.",
            description: [
                "{{ if lt $value 0.0 }}So it was when {{ $labels.instance }} was last scraped.{{ else }}No",
                "batch from anyone came to {{ $labels.instance }} for {{ $value | humanizeDuration }}. No",
                "source sends heartbeats, so people are called OFFLINE all the same.{{ end }}",
            ], page: page(settings))
        alert.isSuspected = true
        return alert
    }

    private static func suspicion(_ settings: RuleSettings) -> [String] {
        let spacing =
            settings.spacing == nil
            ? ""
            : " The product is that of silence and people: so few are silent together for twelve times what "
                + "lies between two reports of theirs. Rollcall reckons with each profile and with "
                + "promises, the rule with the longest `expected`, so that it comes later rather than sooner."
        return [
            "Nobody ever sent a heartbeat, and all batches stop at once: suspicion only, it holds nothing "
                + "back. It stays until a batch comes. Whether at least \(settings.policy.feedMinActive) were "
                + "ONLINE is looked for in the last \(RuleText.words(settings.onlineWindow)), since no "
                + "scrape is taken right after the last batch.\(spacing)"
        ]
    }
}
