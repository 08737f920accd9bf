import RollcallBasis
import RollcallCore

/// The tests of the rules, for `promtool test rules`, that `rollcall manifest rules --tests` prints.
/// Source: rule V20.
enum RuleCases {
    static func text(_ configuration: Configuration, _ options: RuleOptions) -> String {
        let settings = RuleSettings(configuration, options)
        let cases =
            [recorded(settings), silent(settings)] + PeopleCases.all(settings)
            + FeedCases.all(settings) + WatchCases.all(settings)
        let long = cases.filter { $0.end > RuleCase.stepsMax }
        var text = head
        for left in long {
            text += RuleText.comment("Longer than a day, and not tried: \(left.name)", indent: 0)
        }
        return text + "tests:"
            + cases.filter { $0.end <= RuleCase.stepsMax }.enumerated()
            .map { $0.element.text(at: $0.offset + 1, job: settings.job) }.joined()
    }

    private static let head = """
        # What the rules do, as `rollcall manifest rules --tests` prints it for the same settings:
        #
        #   promtool test rules rollcall.rules.test.yml
        #
        # One scrape each 15 s, and rules are evaluated right after it. `stale` is a scrape that failed, or
        # without the series; `_` the next ones.
        rule_files: [rollcall.rules.yml]
        evaluation_interval: 15s


        """

    // MARK: - Recording rules

    private static func recorded(_ settings: RuleSettings) -> RuleCase {
        var test = RuleCase(
            "recording rules sum up each Rollcall by itself and keep the other labels")
        func constant(_ value: Int) -> [(from: Int, RuleCase.Value)] { [(0, .number(value))] }
        test.series(
            "status_transitions_total", of: [("from", "ONLINE"), ("to", "DEGRADED")],
            [(0, .rising(3, by: 2))], last: 4)
        for (status, count) in [("ONLINE", 6), ("DEGRADED", 1), ("OFFLINE", 2), ("UNKNOWN", 1)] {
            test.series("responders_by_status", of: [("status", status)], constant(count), last: 4)
        }
        for status in ["ONLINE", "OFFLINE"] {
            test.series(
                "responders_by_status", of: [("status", status)], instance: "b", constant(0),
                last: 4)
        }
        for (region, status, count) in [
            ("north", "ONLINE", 3), ("north", "OFFLINE", 1), ("south", "OFFLINE", 0),
        ] {
            test.series(
                "rollcall_responders", of: [("region", region), ("status", status)],
                constant(count), last: 4)
        }
        for (instance, up) in [("a", 1), ("b", 1), ("c", 0)] {
            test.series("up", of: [("cluster", "x")], instance: instance, constant(up), last: 4)
        }
        test.series("up", job: "node", constant(0), last: 4)
        test.series("rollcall_watching", constant(1), last: 4)
        test.series("rollcall_watching", instance: "b", constant(0), last: 4)

        test.at(
            4, record: "status_transitions",
            [([("from", "ONLINE"), ("to", "DEGRADED")], "a", "11")])
        test.at(4, record: "instance:responders_active:sum", [([], "a", "10"), ([], "b", "0")])
        test.at(
            4, record: "instance:responders_offline_per_responders_active:ratio",
            [([], "a", "0.2")])
        let (north, south) = ([("region", "north")], [("region", "south")])
        test.at(4, record: "region:responders_active:sum", [(north, "a", "4"), (south, "a", "0")])
        test.at(4, record: "region:responders_online:sum", [(north, "a", "3")])
        test.at(
            4, record: "region:responders_offline_per_responders_active:ratio",
            [(north, "a", "0.25")])
        test.at(
            4, record: "instance:rollcall_not_watching:up",
            [([("cluster", "x")], "b", "1"), ([("cluster", "x")], "c", "0")])
        return test
    }

    private static func silent(_ settings: RuleSettings) -> RuleCase {
        let window = settings.unknownWindow
        let steps = RuleCase.steps(window)
        var test = RuleCase(
            "somebody is silent if DEGRADED, OFFLINE, or UNKNOWN in every scrape of the last "
                + RuleText.words(window))
        func unknown(_ region: String, _ values: [(from: Int, RuleCase.Value)]) {
            test.series(
                "rollcall_responders", of: [("region", region), ("status", "UNKNOWN")], values,
                last: 2 * steps + 4)
        }
        for (status, count) in [("DEGRADED", 1), ("OFFLINE", 2)] {
            test.series(
                "rollcall_responders", of: [("region", "north"), ("status", status)],
                [(0, .number(count))], last: 2 * steps + 4)
        }
        test.comment(
            "New at 0:15; a shift that begins at 0:30; one who leaves; a region that is gone; heard, and "
                + "another one since.")
        unknown("new", [(0, .absent), (1, .number(4))])
        unknown("shift", [(0, .number(0)), (2, .number(3))])
        unknown("relief", [(0, .number(2)), (steps, .number(1))])
        unknown("gone", [(0, .number(1)), (steps + 2, .gone)])
        unknown("heard", [(0, .number(1)), (steps + 1, .number(0)), (steps + 2, .number(1))])
        func said(_ step: Int, _ counts: [(String, String)]) {
            test.at(
                step, record: "region:responders_silent:sum",
                counts.map { ([("region", $0.0)], "a", $0.1) })
        }
        said(steps - 1, [("north", "3")])
        said(steps, [("north", "3"), ("relief", "1"), ("gone", "1"), ("heard", "1")])
        // As late as an answer still tells of the step at which nobody of `heard` was UNKNOWN.
        said(
            2 * steps,
            [("north", "3"), ("new", "4"), ("relief", "1"), ("shift", "3"), ("heard", "0")])
        return test
    }
}
