import RollcallCore

/// The tests of the alerts about people.
enum PeopleCases {
    static func all(_ settings: RuleSettings) -> [RuleCase] {
        PeopleRules.all(settings).flatMap { rule -> [RuleCase] in
            switch rule.name {
            case "HighOfflineRate": rates(settings, rule)
            case "ResponderFlapping": [flapping(settings, rule)]
            case "ResponderOffline": [offline(settings, rule)]
            default: [nobody(settings, rule), held(settings, rule)] + covered(settings, rule)
            }
        }
    }

    private static let blindText = "So it was when a last saw; it does not see now."

    /// Adds the series of Rollcall itself: it watches if nothing else is said.
    private static func sight(
        _ test: inout RuleCase, watching: [(from: Int, RuleCase.Value)] = [(0, .number(1))],
        up: [(from: Int, RuleCase.Value)] = [(0, .number(1))], last: Int
    ) {
        test.series("up", up, last: last)
        test.series("rollcall_watching", watching, last: last)
    }

    // MARK: - HighOfflineRate

    private static func firing(
        _ settings: RuleSettings, _ rule: AlertRule, _ description: String
    ) -> [RuleCase.Firing] {
        let isByRegion = settings.alerts.isOfflineByRegion
        let labels = [("job", settings.job), ("instance", "a")]
        return [
            RuleCase.Firing(
                rule, labels + (isByRegion ? [("region", "north")] : []), description,
                page: settings.page + "silent" + (isByRegion ? "?region=north" : ""))
        ]
    }

    private static func rates(_ settings: RuleSettings, _ rule: AlertRule) -> [RuleCase] {
        let rate = RateNumbers(settings.alerts)
        guard rate.isPossible else { return [impossible(rate)] }
        return [threshold(settings, rule, rate), sight(settings, rule, rate)]
            + [removed(settings, rule, rate)]
    }

    private static func impossible(_ rate: RateNumbers) -> RuleCase {
        var test = RuleCase("HighOfflineRate never fires: more than all are never OFFLINE")
        sight(&test, last: 8)
        rate.add(to: &test, [(0, rate.all, rate.all)], last: 8)
        test.at(8, "HighOfflineRate")
        return test
    }

    private static func place(_ settings: RuleSettings) -> String {
        settings.alerts.isOfflineByRegion ? " in region north" : ""
    }

    private static func threshold(
        _ settings: RuleSettings, _ rule: AlertRule, _ rate: RateNumbers
    ) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let begin = pending + 2
        let end = begin + pending + 4
        let last = end + kept + 4
        let share = RuleText.percent(settings.alerts.offlineAbove)
        let above = RuleText.percent(settings.alerts.offlineAbove + 1)
        var test = RuleCase("HighOfflineRate fires above \(share) %, and ends")
        sight(&test, last: last)
        for (cause, growth) in [("low_power", 2), ("no_network", 1)] {
            test.series(
                "rollcall_gaps_total", of: [("cause", cause), ("platform", "ios")],
                [(0, .rising(0, by: growth))], last: last)
        }
        test.comment("Exactly \(share) % is not above; \(above) % is.")
        rate.add(
            to: &test,
            [(0, rate.most, rate.all), (begin, rate.above, rate.all), (end, 0, rate.all)],
            last: last)
        if rate.alerts.offlineMinActive > 1 {
            let few = rate.alerts.offlineMinActive - 1
            test.comment("All OFFLINE, and too few to be a rate.")
            test.series("rollcall_watching", instance: "few", [(0, .number(1))], last: last)
            rate.add(to: &test, [(0, few, few)], instance: "few", last: last)
        }
        if rate.alerts.offlineMin > 1 {
            let offline = rate.alerts.offlineMin - 1
            let all = max(offline, rate.alerts.offlineMinActive)
            test.comment("Enough people, and too few OFFLINE.")
            test.series("rollcall_watching", instance: "some", [(0, .number(1))], last: last)
            rate.add(to: &test, [(0, offline, all)], instance: "some", last: last)
        }
        let firing = firing(
            settings, rule,
            "\(above)% of the people whom a expects to report\(place(settings)) are OFFLINE. "
                + "Suspected most in the last 15 minutes: low_power.")
        test.at(begin - 1, rule.name)
        if pending > 0 { test.at(begin + pending - 1, rule.name) }
        test.at(begin + pending, rule.name, firing)
        test.at(end + kept - 1, rule.name, firing)
        test.at(end + kept, rule.name)
        return test
    }

    private static func sight(
        _ settings: RuleSettings, _ rule: AlertRule, _ rate: RateNumbers
    ) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        // It is pending when blindness begins, if it is ever pending for so long.
        let blind = pending > 1 ? 5 : 4
        let sees = blind + 8
        let fires = sees + pending
        let again = fires + 8
        let silent = again + 12
        let back = silent + 8
        let last = back + kept + 4
        var test = RuleCase("HighOfflineRate neither begins nor ends while Rollcall does not see")
        test.comment(
            "Blind at \(RuleCase.time(blind)) and \(RuleCase.time(again)), for two minutes each; at "
                + "\(RuleCase.time(silent)) it falls silent for as long.")
        sight(
            &test,
            watching: [
                (0, .number(1)), (blind, .number(0)), (sees, .number(1)), (again, .number(0)),
                (again + 8, .number(1)), (silent, .gone), (back, .number(1)),
            ], up: [(0, .number(1)), (silent, .number(0)), (back, .number(1))], last: last)
        test.comment(
            "What comes in while it is blind makes things better; that is not told before it sees again."
        )
        rate.add(
            to: &test,
            [
                (0, 0, rate.all), (4, rate.above, rate.all), (again, 0, rate.all),
                (again + 8, rate.above, rate.all),
            ], gone: silent, again: back, last: last)
        let above = RuleText.percent(settings.alerts.offlineAbove + 1)
        let seen = firing(
            settings, rule,
            "\(above)% of the people whom a expects to report\(place(settings)) are OFFLINE.")
        let held = firing(settings, rule, blindText)
        test.at(blind, rule.name)
        test.at(sees - 1, rule.name)
        if pending > 0 { test.at(fires - 1, rule.name) }
        test.at(fires, rule.name, seen)
        test.at(again - 1, rule.name, seen)
        test.at(again, rule.name, held)
        test.at(again + 7, rule.name, held)
        test.at(again + 8, rule.name, seen)
        test.at(silent, rule.name, held)
        test.at(back - 1, rule.name, held)
        test.at(back + kept, rule.name)
        return test
    }

    private static func removed(
        _ settings: RuleSettings, _ rule: AlertRule, _ rate: RateNumbers
    ) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let silent = pending + 4
        let removed = silent + 8
        let last = removed + kept + 4
        var test = RuleCase(
            "what is held ends when the target is taken away, and another Rollcall changes nothing")
        sight(
            &test, watching: [(0, .number(1)), (silent, .gone)],
            up: [(0, .number(1)), (silent, .number(0)), (removed, .gone)], last: last)
        test.series("up", instance: "b", [(0, .number(1))], last: last)
        test.series("rollcall_watching", instance: "b", [(0, .number(1))], last: last)
        rate.add(to: &test, [(0, rate.above, rate.all)], gone: silent, last: last)
        rate.add(to: &test, [(0, 0, rate.all)], instance: "b", last: last)
        test.at(removed - 1, rule.name, firing(settings, rule, blindText))
        test.at(removed + kept, rule.name)
        return test
    }

    // MARK: - By what Rollcall counts

    private static func flapping(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        counted(
            settings, rule,
            "ResponderFlapping fires and ends with what Rollcall counts, and is held",
            metric: "rollcall_responders_flapping", view: "people?region=north",
            "So do 2 in region north; do not rely on them for an assignment.")
    }

    private static func offline(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        counted(
            settings, rule, "ResponderOffline fires while Rollcall counts somebody, and is held",
            metric: "rollcall_responders_missed", view: "people?status=OFFLINE&region=north",
            "2 of region north are OFFLINE.")
    }

    private static func counted(
        _ settings: RuleSettings, _ rule: AlertRule, _ name: String, metric: String, view: String,
        _ description: String
    ) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let fires = 4 + pending
        let blind = fires + 4
        let sees = blind + 4
        let last = sees + kept + 4
        var test = RuleCase(name)
        sight(
            &test,
            watching: [
                (0, .number(0)), (4, .number(1)), (blind, .number(0)), (sees, .number(1)),
            ], last: last)
        test.series(
            metric, of: [("region", "north")], [(0, .number(2)), (blind, .number(0))], last: last)
        test.series(metric, of: [("region", "south")], [(0, .number(0))], last: last)
        func firing(_ description: String) -> [RuleCase.Firing] {
            [region(settings, rule, "north", description, view: view)]
        }
        test.at(3, rule.name)
        if pending > 0 { test.at(fires - 1, rule.name) }
        test.at(fires, rule.name, firing(description))
        test.at(sees - 1, rule.name, firing(heldText("north")))
        test.at(sees + kept, rule.name)
        return test
    }

    /// An alert about a region.
    private static func region(
        _ settings: RuleSettings, _ rule: AlertRule, _ name: String, _ description: String,
        view: String? = nil
    ) -> RuleCase.Firing {
        RuleCase.Firing(
            rule, [("job", settings.job), ("instance", "a"), ("region", name)], description,
            page: settings.page + (view ?? "people?region=\(RuleText.query(name))"))
    }

    private static func heldText(_ region: String) -> String {
        "So it was in region \(region) when a last saw; it does not see now."
    }

    // MARK: - NoOnlineResponders

    private static func nobody(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let east = 1 + RuleCase.steps(settings.unknownWindow) + pending
        let north = 4 + pending
        let back = north + 8
        let last = max(east, back + kept) + 4
        var test = RuleCase(
            "NoOnlineResponders fires if nobody is ONLINE, and ends after the first is back")
        sight(&test, last: last)
        test.comment(
            "North is cut off from 1:00 on; south keeps one; in west nobody is expected; in east somebody "
                + "has been UNKNOWN since 0:15.")
        func people(_ region: String, _ status: String, _ values: [(from: Int, RuleCase.Value)]) {
            test.series(
                "rollcall_responders", of: [("region", region), ("status", status)], values,
                last: last)
        }
        people("north", "ONLINE", [(0, .number(3)), (4, .number(0)), (back, .number(1))])
        people("north", "DEGRADED", [(0, .number(0)), (4, .number(3)), (8, .number(0))])
        people("north", "OFFLINE", [(0, .number(0)), (8, .number(3)), (back, .number(2))])
        people("south", "ONLINE", [(0, .number(1))])
        people("south", "OFFLINE", [(0, .number(9))])
        for status in ["ONLINE", "OFFLINE"] { people("west", status, [(0, .number(0))]) }
        people("east", "ONLINE", [(0, .number(0))])
        people("east", "UNKNOWN", [(0, .number(0)), (1, .number(1))])
        let spans = [
            (north, back + kept, "north", "Nobody is ONLINE in region north; without contact: 3."),
            (east, last + 1, "east", "Nobody is ONLINE in region east; without contact: 1."),
        ]
        let asked = [north - 1, north, east - 1, east, back + kept - 1, back + kept]
        for step in asked.sorted() {
            test.at(
                step, rule.name,
                spans.filter { ($0.0..<$0.1).contains(step) }
                    .map { region(settings, rule, $0.2, $0.3) })
        }
        return test
    }

    private static func held(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let (pending, kept) = (
            RuleCase.steps(rule.pendingFor), RuleCase.steps(rule.keepFiringFor)
        )
        let blind = pending + 4
        let sees = blind + 8
        let last = sees + max(pending, kept) + 4
        var test = RuleCase(
            "NoOnlineResponders is held while blind, also if the region is back or gone")
        sight(
            &test, watching: [(0, .number(1)), (blind, .number(0)), (sees, .number(1))], last: last)
        func people(_ region: String, _ status: String, _ values: [(from: Int, RuleCase.Value)]) {
            test.series(
                "rollcall_responders", of: [("region", region), ("status", status)], values,
                last: last)
        }
        people("north", "ONLINE", [(0, .number(0)), (blind + 4, .number(1))])
        people("north", "OFFLINE", [(0, .number(2)), (blind + 4, .number(1))])
        test.comment("Cut off while blind: it waits from the end of blindness on.")
        people("south", "ONLINE", [(0, .number(1)), (blind + 4, .number(0))])
        people("south", "DEGRADED", [(0, .number(0)), (blind + 4, .number(1))])
        test.comment("Its last person is erased while blind.")
        people("gone", "ONLINE", [(0, .number(0)), (blind + 1, .gone)])
        people("gone", "OFFLINE", [(0, .number(1)), (blind + 1, .gone)])
        let spans = [
            (blind, sees + kept, "north", heldText("north")),
            (blind, sees + kept, "gone", heldText("gone")),
            (
                sees + pending, last + 1, "south",
                "Nobody is ONLINE in region south; without contact: 1."
            ),
        ]
        let asked = [
            blind, sees - 1, sees + pending - 1, sees + pending, sees + kept - 1, sees + kept,
        ]
        for step in asked.sorted() {
            test.at(
                step, rule.name,
                spans.filter { ($0.0..<$0.1).contains(step) }
                    .map { region(settings, rule, $0.2, $0.3) })
        }
        return test
    }

    private static func covered(_ settings: RuleSettings, _ rule: AlertRule) -> [RuleCase] {
        let names = settings.covered
        if names.isEmpty { return [] }
        let pending = RuleCase.steps(rule.pendingFor)
        let fires = 4 + pending
        var test = RuleCase(
            "NoOnlineResponders fires if nobody is on duty where somebody always must be")
        sight(&test, last: fires + 4)
        test.comment("Nobody can be missed before the first batch, at 1:00.")
        test.series(
            "rollcall_last_batch_timestamp_seconds", [(0, .number(0)), (4, .number(1))],
            last: fires + 4)
        var free = "closed"
        while names.contains(free) { free += "-2" }
        for name in names + [free] {
            test.series(
                "rollcall_responders", of: [("region", name), ("status", "ONLINE")],
                [(0, .number(0))],
                last: fires + 4)
        }
        test.at(fires - 1, rule.name)
        test.at(
            fires, rule.name,
            names.map { name in
                region(
                    settings, rule, name,
                    "Nobody is on duty in region \(name), which must always be staffed.")
            })
        return [test]
    }
}
