import RollcallCore

/// The tests of the alerts about Rollcall itself.
enum WatchCases {
    static func all(_ settings: RuleSettings) -> [RuleCase] {
        let rules = WatchRules.all(settings)
        func named(_ name: String) -> AlertRule? { rules.first { $0.name == name } }
        func test(_ name: String, _ make: (AlertRule) -> RuleCase) -> [RuleCase] {
            named(name).map { [make($0)] } ?? []
        }
        return test("RollcallStoreFailing") { store(settings, $0) }
            + test("RollcallOverloaded") { overloaded(settings, $0) }
            + test("RollcallStateLost") { lost(settings, $0) }
            + test("RollcallBlind") { blind(settings, $0) }
            + test("RollcallDown") { down(settings, $0) }
            + test("Watchdog") { watchdog(settings, $0) }
            + test("RollcallNotDelivering") { delivering(settings, $0) }
            + test("RollcallSubscriptionStuck") { subscription(settings, $0) }
            + test("RollcallNobodyReached") { unreached(settings, $0) }
            + test("RollcallReloadRefused") { refused(settings, $0) }
            + test("RollcallPagesTwice") { twice(settings, $0) }
            + MemberCases.all(settings, named) + CellCases.all(settings, named)
    }

    /// The alert of `rule` about what `labels` say, with the view of its page.
    static func firing(
        _ settings: RuleSettings, _ rule: AlertRule, instance: String? = "a",
        of labels: [(String, String)] = [], view: String = "feeds", _ description: String
    ) -> RuleCase.Firing {
        RuleCase.Firing(
            rule, [("job", settings.job)] + (instance.map { [("instance", $0)] } ?? []) + labels,
            description, page: view.isEmpty ? "" : settings.page + view)
    }

    // MARK: - What it holds

    private static func store(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallStoreFailing fires while nothing can be stored, and is held")
        test.series("up", [(0, .number(1)), (12, .number(0)), (20, .number(1))], last: 24)
        test.comment("It ends, or hangs, with its disk, and comes back with a good one.")
        test.series(
            "rollcall_blind", of: [("reason", "store")],
            [(0, .number(0)), (4, .number(1)), (12, .gone), (20, .number(0))], last: 24)
        let failing = firing(
            settings, rule,
            "a refuses all writes with 503. Nobody is called DEGRADED or OFFLINE until it can.")
        let held = firing(
            settings, rule,
            "a refuses all writes with 503, or did when it was last scraped. Nobody is called DEGRADED or "
                + "OFFLINE until it can.")
        test.at(3, rule.name)
        test.at(4, rule.name, [failing])
        test.at(11, rule.name, [failing])
        test.at(12, rule.name, [held])
        test.at(19, rule.name, [held])
        test.at(20, rule.name)
        return test
    }

    private static func overloaded(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallOverloaded fires while half of all writes are refused")
        test.series("up", [(0, .number(1))], last: 12)
        test.series(
            "rollcall_blind", of: [("reason", "overload")],
            [(0, .number(0)), (4, .number(1)), (8, .number(0))], last: 12)
        test.at(3, rule.name)
        test.at(
            4, rule.name,
            [
                firing(
                    settings, rule,
                    "a answers 503 to at least half of all writes. Nobody is called DEGRADED or OFFLINE until "
                        + "it keeps up.")
            ])
        test.at(8, rule.name)
        return test
    }

    private static func lost(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallStateLost fires as long as Rollcall itself says so, and while it does not answer"
        )
        test.series("up", [(0, .number(1)), (8, .number(0)), (12, .number(1))], last: 16)
        test.series(
            "rollcall_alerts",
            of: [
                ("alertname", "RollcallStateLost"), ("severity", "critical"),
                ("alertstate", "firing"),
            ], [(0, .number(0)), (4, .number(1)), (8, .gone), (12, .number(0))], last: 16)
        let lost = firing(
            settings, rule,
            "a began anew, or with a store that is older than what it acknowledged. It watches whom it hears "
                + "of; nudges rest.")
        test.at(3, rule.name)
        for step in [4, 8, 11] { test.at(step, rule.name, [lost]) }
        test.at(12, rule.name)
        return test
    }

    private static func blind(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallBlind fires for what has no alert of its own")
        test.comment("Something else on Rollcall's port answers, with metrics of its own.")
        test.series("up", instance: "another", [(0, .number(1))], last: 40)
        test.comment("Suspended again and again; the others have an alert of their own.")
        for (instance, reason) in [
            ("sleepy", "suspended"), ("full", "store"), ("busy", "overload"),
            ("unfed", "heartbeat"),
        ] {
            test.series("up", instance: instance, [(0, .number(1))], last: 40)
            test.series("rollcall_watching", instance: instance, [(0, .number(0))], last: 40)
            test.series(
                "rollcall_blind", of: [("reason", reason)], instance: instance, [(0, .number(1))],
                last: 40)
        }
        test.series("up", instance: "away", [(0, .number(0))], last: 40)
        let names = ["sleepy", "another"] + (settings.isFeedUnsaid ? ["unfed"] : [])
        let blind = names.map {
            firing(settings, rule, instance: $0, "\($0) answers, but rollcall_watching is not 1.")
        }
        test.at(7, rule.name)
        test.at(8, rule.name, blind)
        test.at(40, rule.name, blind)
        return test
    }

    // MARK: - The way to people

    private static func down(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallDown fires for a target that does not answer")
        test.series("up", [(0, .number(1)), (4, .number(0)), (12, .number(1))], last: 16)
        test.at(7, rule.name)
        let away = RuleCase.Firing(
            rule, [("job", settings.job), ("instance", "a")],
            "a cannot be scraped. \(WatchRules.downOfPeople(settings))")
        test.at(8, rule.name, [away])
        test.at(11, rule.name, [away])
        test.at(12, rule.name)
        return test
    }

    private static func watchdog(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("Watchdog always fires, and RollcallDown without any target")
        test.series("up", job: "node", [(0, .number(0))], last: 8)
        test.at(
            0, rule.name,
            [
                RuleCase.Firing(
                    rule, [], "It always fires. If it stays away, so does every other alert.")
            ])
        for down in WatchRules.all(settings) where down.name == "RollcallDown" {
            test.at(3, down.name)
            test.at(
                4, down.name,
                [
                    RuleCase.Firing(
                        down, [("job", settings.job)],
                        "Prometheus has no target of job \(settings.job). "
                            + WatchRules.downOfPeople(settings))
                ])
        }
        return test
    }

    private static func delivering(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallNotDelivering fires for a receiver that takes nothing for five minutes")
        test.series("up", [(0, .number(1)), (34, .number(0)), (38, .number(1))], last: 44)
        test.comment("It does not answer any more, and comes back without anything that waits.")
        test.series(
            "rollcall_outbox_pending", of: [("receiver", "oncall")],
            [(0, .number(1)), (12, .number(0)), (13, .number(3)), (34, .gone), (38, .number(0))],
            last: 44)
        test.series(
            "rollcall_outbox_pending", of: [("receiver", "chat")], [(0, .number(0))], last: 44)
        func waiting(_ description: String) -> [RuleCase.Firing] {
            [firing(settings, rule, of: [("receiver", "oncall")], description)]
        }
        test.at(32, rule.name)
        test.at(33, rule.name, waiting("3 messages of a to receiver oncall wait."))
        let held = waiting(
            "Messages of a to receiver oncall wait, or did when it was last scraped.")
        test.at(34, rule.name, held)
        test.at(37, rule.name, held)
        test.at(38, rule.name)
        return test
    }

    private static func subscription(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallSubscriptionStuck fires for a subscriber that is behind, or has refused for good"
        )
        func lag(_ name: String, _ value: RuleCase.Value) {
            test.series(
                "rollcall_subscription_lag_seconds", of: [("subscription", name)], [(0, value)],
                last: 40)
        }
        lag("away", .rising(0, by: 15))
        lag("well", .number(300))
        test.series(
            "rollcall_subscription_stopped", of: [("subscription", "over")],
            [(0, .number(0)), (21, .number(1))], last: 40)
        func stuck(_ name: String) -> RuleCase.Firing {
            firing(
                settings, rule, of: [("subscription", name)],
                "Subscription \(name) of a does not take its events. They wait, and come in order once it "
                    + "does; what is older than max_lag is skipped.")
        }
        test.at(24, rule.name)
        test.at(25, rule.name, [stuck("away"), stuck("over")])
        return test
    }

    private static func unreached(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallNobodyReached fires as soon as a scrape says that nobody took what is critical"
        )
        test.series("up", [(0, .number(1)), (8, .number(0)), (12, .number(1))], last: 16)
        test.series(
            "rollcall_alerts_unreached", of: [("severity", "critical")],
            [(0, .number(0)), (4, .number(2)), (8, .gone), (12, .number(0))], last: 16)
        test.series(
            "rollcall_alerts_unreached", of: [("severity", "warning")], [(0, .number(5))], last: 16)
        test.at(3, rule.name)
        test.at(
            4, rule.name,
            [
                firing(
                    settings, rule, view: "alerts",
                    "2 critical alerts of a fire, and no receiver has taken them.")
            ])
        test.comment("It does not answer: nobody knows that anybody was reached.")
        let held = firing(
            settings, rule, view: "alerts", "So it was when a was last scraped.")
        test.at(8, rule.name, [held])
        test.at(11, rule.name, [held])
        test.at(12, rule.name)
        return test
    }

    private static func refused(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallReloadRefused fires a quarter of an hour after settings were refused, until some are taken"
        )
        test.series(
            "rollcall_config_last_reload_successful",
            [(0, .number(1)), (4, .number(0)), (72, .number(1))], last: 76)
        let refused = firing(
            settings, rule,
            "a could not take its settings when it last read them. It may not start with them either: "
                + "`rollcall check` says what is wrong.")
        test.at(63, rule.name)
        test.at(64, rule.name, [refused])
        test.at(71, rule.name, [refused])
        test.at(72, rule.name)
        return test
    }

    private static func twice(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallPagesTwice fires for what Rollcall tells receivers of its own, too")
        let printed = settings.audiences.filter { settings.place($0.name, $0.severity) == .printed }
        func receivers(
            _ name: String, _ severity: Severity, of extent: String,
            _ values: [(from: Int, RuleCase.Value)]
        ) {
            test.series(
                "rollcall_alert_receivers",
                of: [
                    ("alertname", name), ("severity", "\(severity.word)"), ("extent", extent),
                ], values, last: 60)
        }
        var counts: [(name: String, most: Int)] = []
        test.comment(
            "As they were when this was printed until 1:00, and again from 13:00 on; meanwhile one more."
        )
        for audience in printed {
            let (name, meant) = ("\(audience.name.word)", audience.partial.count)
            receivers(
                name, audience.severity, of: "some",
                [(0, .number(meant)), (4, .number(meant + 1)), (52, .number(meant))])
            guard let place = counts.firstIndex(where: { $0.name == name }) else {
                counts.append((name, meant + 1))
                continue
            }
            counts[place].most = max(counts[place].most, meant + 1)
        }
        let names = counts.map(\.name)
        test.comment("Of this nothing is said here.")
        receivers("RollcallOther", .critical, of: "all", [(0, .number(3))])
        test.at(3, record: "alertname:rollcall_alert_receivers:max", [])
        test.at(43, rule.name)
        test.at(
            43, record: "alertname:rollcall_alert_receivers:max",
            counts.map { ([("alertname", $0.name)], "a", "\($0.most)") })
        test.at(
            44, rule.name,
            [
                firing(
                    settings, rule, view: "alerts",
                    "a tells receivers of its own of what Prometheus alerts of too: "
                        + "\(names.joined(separator: ", ")).")
            ])
        test.at(52, rule.name)
        return test
    }
}
