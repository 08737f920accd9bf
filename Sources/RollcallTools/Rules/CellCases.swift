import RollcallCore

/// The tests of what the rules make of cells, a fleet cell and gateways in one job.
enum CellCases {
    static func all(
        _ settings: RuleSettings, _ named: (String) -> AlertRule?
    ) -> [RuleCase] {
        func test(_ name: String, _ make: (RuleSettings, AlertRule) -> RuleCase) -> [RuleCase] {
            named(name).map { [make(settings, $0)] } ?? []
        }
        return [decided(settings)] + test("RollcallBlind", gateway)
            + test("RollcallNoLeader", leader) + test("RollcallUnsteady", unsteady)
            + test("CellDark", cell) + test("FleetDark", fleet)
    }

    /// Adds the series of a watch that has a role in a fleet.
    private static func role(
        _ test: inout RuleCase, _ role: String, _ cell: String? = nil, at instance: String,
        last: Int
    ) {
        test.series(
            "rollcall_cell_role", of: [("role", role)] + (cell.map { [("cell", $0)] } ?? []),
            instance: instance, [(0, .number(1))], last: last)
    }

    // MARK: - People

    private static func decided(_ settings: RuleSettings) -> RuleCase {
        let printed = PeopleRules.all(settings) + FeedRules.all(settings)
        let longest = printed.map { RuleCase.steps($0.pendingFor) }.max() ?? 0
        let step = max(longest, RuleCase.steps(settings.unknownWindow)) + 8
        var test = RuleCase(
            "what the fleet cell decides is not asked of cells, and of the fleet cell it is")
        func series(
            _ name: String, _ value: Int, _ labels: [(String, String)] = [], at instance: String
        ) {
            test.series(name, of: labels, instance: instance, [(0, .number(value))], last: step)
        }
        for (instance, name) in [("cell", "cell"), ("fleet", "fleet")] {
            role(
                &test, name, name == "cell" ? "north-1" : nil, at: instance, last: step)
            series("up", 1, at: instance)
            series("rollcall_watching", 1, at: instance)
            series("rollcall_responders_flapping", 2, [("region", "north")], at: instance)
        }
        test.comment("All of a cell's people are OFFLINE, and it hears no heartbeats.")
        series("responders_by_status", 1000, [("status", "OFFLINE")], at: "cell")
        let north = [("region", "north"), ("status", "OFFLINE")]
        series("rollcall_responders", 1000, north, at: "cell")
        series("rollcall_feed_up", 0, [("source", "p")], at: "cell")
        for name in ["HighOfflineRate", "NoOnlineResponders", "TelemetryFeedDown"] {
            test.at(step, name)
        }
        for rule in printed where rule.name == "ResponderFlapping" {
            test.at(
                step, rule.name,
                [
                    RuleCase.Firing(
                        rule, [("job", settings.job), ("instance", "fleet"), ("region", "north")],
                        "So do 2 in region north; do not rely on them for an assignment.",
                        page: settings.page + "people?region=north")
                ])
        }
        return test
    }

    // MARK: - Watches

    private static func gateway(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let last = 8 + RuleCase.steps(rule.pendingFor)
        var test = RuleCase(
            "RollcallBlind leaves gateways alone, and tells of a cell that hears no heartbeats")
        test.series("up", instance: "gateway", [(0, .number(1))], last: last)
        test.series(
            "rollcall_gateway_fleet_requests_total", of: [("outcome", "answered")],
            instance: "gateway", [(0, .rising(0, by: 1))], last: last)
        test.comment("Of the fleet cell TelemetryFeedDown tells.")
        for (instance, cell) in [("cell", "north-1"), ("fleet", nil)] {
            role(
                &test, cell == nil ? "fleet" : "cell", cell, at: instance, last: last)
            test.series("up", instance: instance, [(0, .number(1))], last: last)
            test.series("rollcall_watching", instance: instance, [(0, .number(0))], last: last)
            test.series(
                "rollcall_blind", of: [("reason", "heartbeat")], instance: instance,
                [(0, .number(1))], last: last)
        }
        let names = ["cell"] + (settings.isFeedUnsaid ? ["fleet"] : [])
        test.at(
            last, rule.name,
            names.map {
                WatchCases.firing(
                    settings, rule, instance: $0, "\($0) answers, but rollcall_watching is not 1.")
            })
        return test
    }

    private static func leader(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let last = 12 + RuleCase.steps(rule.pendingFor)
        var test = RuleCase(
            "a cell without a leader is one that nobody watches, though other cells have one")
        for (instance, cell, leads) in [
            ("a1", "a", 1), ("a2", "a", 0), ("b1", "b", 0), ("b2", "b", 0), ("f1", nil, 1),
            ("f2", nil, 0),
        ] {
            role(
                &test, cell == nil ? "fleet" : "cell", cell, at: instance, last: last)
            test.series("up", instance: instance, [(0, .number(1))], last: last)
            for name in ["rollcall_watching", "rollcall_member_leading"] {
                test.series(name, instance: instance, [(0, .number(leads))], last: last)
            }
        }
        test.at(
            0, record: "instance:rollcall_member_leading:cell",
            [
                ([("cell", "a")], "a1", "1"), ([("cell", "a")], "a2", "0"),
                ([("cell", "b")], "b1", "0"), ([("cell", "b")], "b2", "0"), ([], "f1", "1"),
                ([], "f2", "0"),
            ])
        test.at(
            last, rule.name,
            [
                WatchCases.firing(
                    settings, rule, instance: nil, of: [("cell", "b")],
                    "All members of \(settings.job), cell b, that answer follow, and none takes writes. Mostly "
                        + "most of etcd is away.")
            ])
        for blind in WatchRules.all(settings) where blind.name == "RollcallBlind" {
            test.at(
                last, blind.name,
                ["b1", "b2"].map { (name: String) in
                    WatchCases.firing(
                        settings, blind, instance: name,
                        "\(name) answers, but rollcall_watching is not 1.")
                })
        }
        return test
    }

    private static func unsteady(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallUnsteady names the cell")
        for (instance, last) in [("a", 8), ("b", 7)] {
            role(&test, "cell", instance, at: instance, last: 32)
            test.series(
                "rollcall_member_reign", instance: instance,
                [(0, .number(4)), (24, .number(last))], last: 32)
        }
        test.at(
            24, rule.name,
            [
                WatchCases.firing(
                    settings, rule, instance: nil, of: [("cell", "a")],
                    "\(settings.job), cell a, had 4 leaders within 5 min. Somebody may be called OFFLINE whom "
                        + "no leader could hear.")
            ])
        return test
    }

    // MARK: - Of each other

    private static func cell(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        dark(
            settings, rule, "CellDark fires while the fleet cell says so, and is held",
            "The fleet cell a hears nothing of 2 of its cells: `rollcall cluster cells` says which. No alert "
                + "about many fires or ends that depends on their people.", 2)
    }

    private static func fleet(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        dark(
            settings, rule, "FleetDark fires while a cell says so, and is held",
            "Neither a nor another cell is asked by the fleet cell. Nobody decides about many.", 1)
    }

    private static func dark(
        _ settings: RuleSettings, _ rule: AlertRule, _ name: String, _ description: String,
        _ count: Int
    ) -> RuleCase {
        var test = RuleCase(name)
        test.series("up", [(0, .number(1)), (8, .number(0)), (12, .number(1))], last: 16)
        let labels = [
            ("alertname", rule.name), ("severity", "\(rule.severity.word)"),
            ("alertstate", "firing"),
        ]
        test.series(
            "rollcall_alerts", of: labels,
            [(0, .number(0)), (4, .number(count)), (8, .gone), (12, .number(0))], last: 16)
        test.comment("A member that follows says the same, and its leader tells of it.")
        test.series("up", instance: "follower", [(0, .number(1))], last: 16)
        test.series("rollcall_member_leading", instance: "follower", [(0, .number(0))], last: 16)
        test.series(
            "rollcall_alerts", of: labels, instance: "follower", [(0, .number(count))], last: 16)
        test.at(3, rule.name)
        let fires = WatchCases.firing(settings, rule, description)
        let held = WatchCases.firing(settings, rule, "So it was when a was last scraped.")
        for step in [4, 7] { test.at(step, rule.name, [fires]) }
        for step in [8, 11] { test.at(step, rule.name, [held]) }
        test.at(12, rule.name)
        return test
    }
}
