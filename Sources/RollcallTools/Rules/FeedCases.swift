import RollcallCore

/// The tests of the alerts about what is forwarded to Rollcall.
enum FeedCases {
    static func all(_ settings: RuleSettings) -> [RuleCase] {
        let rules = FeedRules.all(settings)
        if rules.isEmpty { return [] }
        let suspected = rules.first { $0.isSuspected }
        return [sources(settings, rules)]
            + (suspected.map { [stall(settings, $0), unsuspected(settings, $0)] } ?? [])
    }

    private static let name = "TelemetryFeedDown"

    private static func firing(
        _ settings: RuleSettings, _ rule: AlertRule, instance: String = "a",
        of labels: [(String, String)] = [], _ description: String
    ) -> RuleCase.Firing {
        RuleCase.Firing(
            rule, [("job", settings.job), ("instance", instance)] + labels, description,
            page: settings.page + "feeds")
    }

    // MARK: - Sources that beat

    /// The words of one of the alerts, from one step up to another.
    private typealias Span = (from: Int, until: Int, firing: RuleCase.Firing)

    private static func sources(_ settings: RuleSettings, _ rules: [AlertRule]) -> RuleCase {
        let rule = settings.alerts.telemetryFeedDown
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let second = 4 + pending + 8
        let silent = second + pending + 4
        let back = silent + 4
        let forgotten = back + 4
        let last = forgotten + kept + 4
        var test = RuleCase(
            "TelemetryFeedDown warns of one source, and of all once all are missing")
        test.comment(
            "p2 is missing from \(RuleCase.time(4)) on and disarmed at \(RuleCase.time(forgotten)); p1 from "
                + "\(RuleCase.time(second)) to \(RuleCase.time(back)). From \(RuleCase.time(silent)) on "
                + "Rollcall itself does not answer for a minute.")
        test.series("up", [(0, .number(1)), (silent, .number(0)), (back, .number(1))], last: last)
        test.series(
            "rollcall_feed_up", of: [("source", "p1")],
            [(0, .number(1)), (second, .number(0)), (silent, .gone), (back, .number(1))],
            last: last)
        test.series(
            "rollcall_feed_up", of: [("source", "p2")],
            [
                (0, .number(1)), (4, .number(0)), (silent, .gone), (back, .number(0)),
                (forgotten, .gone),
            ], last: last)
        var spans: [Span] = []
        for rule in rules where !rule.isSuspected {
            if rule.name == name, rule.expression.first?.hasPrefix("count") == true {
                let seen =
                    "All 2 sources of a stopped beating. Nobody is called DEGRADED or OFFLINE until one "
                    + "is back."
                spans.append((second + pending, silent, firing(settings, rule, seen)))
                spans.append(
                    (
                        silent, back + kept,
                        firing(settings, rule, "So it was when a was last scraped.")
                    ))
            } else {
                func source(_ name: String, _ rest: String) -> RuleCase.Firing {
                    firing(
                        settings, rule, of: [("source", name)],
                        "Source \(name) of a stopped beating\(rest).")
                }
                let held = "; Rollcall itself does not answer now"
                spans.append((4 + pending, silent, source("p2", "")))
                spans.append((silent, back, source("p2", held)))
                spans.append((back, forgotten + kept, source("p2", "")))
                spans.append((second + pending, silent, source("p1", "")))
                spans.append((silent, back + kept, source("p1", held)))
            }
        }
        let asked = [
            3, 4 + pending - 1, 4 + pending, second - 1, second + pending, silent, back - 1, back,
            back + kept, forgotten + kept,
        ]
        for step in asked.sorted() {
            test.at(
                step, name,
                spans.filter { ($0.from..<$0.until).contains(step) }.map(\.firing))
        }
        return test
    }

    // MARK: - A feed of which nothing is known

    /// So many people that their silence is as long as a feed's may be.
    private static func people(_ settings: RuleSettings) -> Int {
        let stall = max(1, settings.policy.feedStallAfter.count)
        let spaced = settings.spacing.map { Int(($0.count + stall - 1) / stall) } ?? 0
        return max(settings.policy.feedMinActive, spaced)
    }

    /// The first step at which more than `span` is over.
    private static func after(_ milliseconds: Int64) -> Int {
        Int(milliseconds / RuleSettings.interval.count) + 1
    }

    private static func stall(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let lastBatch = 8
        let fires = lastBatch + after(settings.policy.feedStallAfter.count) + pending
        let silent = fires + 8
        let back = silent + 4
        let batch = back + 4
        let last = batch + kept + 4
        let people = people(settings)
        var test = RuleCase(
            "TelemetryFeedDown suspects a feed without sources until the next batch")
        test.series("up", [(0, .number(1)), (silent, .number(0)), (back, .number(1))], last: last)
        func scraped(
            _ name: String, of labels: [(String, String)] = [], _ values: [(Int, RuleCase.Value)]
        ) {
            test.series(name, of: labels, values.map { (from: $0.0, $0.1) }, last: last)
        }
        scraped("rollcall_watching", [(0, .number(1)), (silent, .gone), (back, .number(1))])
        scraped(
            "process_start_time_seconds", [(0, .number(0)), (silent, .gone), (back, .number(0))])
        test.comment(
            "Batches come until 2:00, and from \(RuleCase.time(batch)) on again. All are DEGRADED 30 s after "
                + "the last one. From \(RuleCase.time(silent)) on Rollcall does not answer for a minute."
        )
        scraped(
            "rollcall_last_batch_timestamp_seconds",
            [
                (0, .rising(0, by: 15)), (lastBatch + 1, .number(120)), (silent, .gone),
                (back, .number(120)), (batch, .rising(batch * 15, by: 15)),
            ])
        scraped(
            "responders_by_status", of: [("status", "ONLINE")],
            [
                (0, .number(people)), (lastBatch + 3, .number(0)), (silent, .gone),
                (back, .number(0)), (batch, .number(people)),
            ])
        scraped(
            "responders_by_status", of: [("status", "DEGRADED")],
            [
                (0, .number(0)), (lastBatch + 3, .number(people)), (silent, .gone),
                (back, .number(people)), (batch, .number(0)),
            ])
        func seen(_ step: Int) -> [RuleCase.Firing] {
            [firing(settings, rule, said(of: "a", (step - lastBatch) * 15))]
        }
        let held = [firing(settings, rule, "So it was when a was last scraped.")]
        test.at(fires - pending - 1, name)
        if pending > 0 { test.at(fires - 1, name) }
        test.at(fires, name, seen(fires))
        test.at(silent - 1, name, seen(silent - 1))
        test.at(silent, name, held)
        test.at(back - 1, name, held)
        test.at(batch - 1, name, seen(batch - 1))
        test.at(batch + kept, name)
        return test
    }

    private static func said(of instance: String, _ seconds: Int) -> String {
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"),
            (seconds % 60, "s"),
        ].drop { $0.0 == 0 }
        let time = parts.map { "\($0.0)\($0.1)" }.joined(separator: " ")
        return
            "No batch from anyone came to \(instance) for \(time). No source sends heartbeats, so people "
            + "are called OFFLINE all the same."
    }

    private static func unsuspected(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let stall = settings.policy.feedStallAfter.count
        let pending = RuleCase.steps(rule.pendingFor)
        // Prometheus 2 counts a sample at the beginning of a window, 3 does not.
        let early = Int((stall + 90_000) / RuleSettings.interval.count)
        let fires = after(stall + 110_000) + 1 + pending
        let last = fires + 4
        let people = people(settings) + 1
        var test = RuleCase(
            "no feed is suspected of few people, of declared sources, soon after a start or blindness"
        )
        func rollcall(
            _ instance: String, batch: Int, people: Int, start: Int,
            watching: [(Int, RuleCase.Value)] = [(0, .number(1))], from: Int = 0
        ) {
            func scraped(_ name: String, of labels: [(String, String)] = [], _ value: Int) {
                test.series(
                    name, of: labels, instance: instance, [(0, .absent), (from, .number(value))],
                    last: last)
            }
            scraped("rollcall_last_batch_timestamp_seconds", batch)
            scraped("responders_by_status", of: [("status", "ONLINE")], people)
            scraped("process_start_time_seconds", start)
            let values = from > 0 ? [(0, .absent), (from, .number(1))] : watching
            test.series(
                "rollcall_watching", instance: instance, values.map { (from: $0.0, $0.1) },
                last: last)
        }
        rollcall("few", batch: 0, people: settings.policy.feedMinActive - 1, start: 0)
        rollcall("beats", batch: 0, people: people, start: 0)
        test.series(
            "rollcall_feed_up", of: [("source", "p1")], instance: "beats", [(0, .number(1))],
            last: last)
        test.comment("Started at 1:50, with a store in which all are ONLINE.")
        rollcall("started", batch: 30, people: people, start: 110, from: 8)
        test.comment("It sees again from 1:45 on.")
        rollcall(
            "blind", batch: 30, people: people, start: 0,
            watching: [(0, .number(0)), (7, .number(1))])
        test.at(early, name)
        test.at(
            fires, name,
            ["started", "blind"].map {
                firing(settings, rule, instance: $0, said(of: $0, fires * 15 - 30))
            })
        return test
    }
}
