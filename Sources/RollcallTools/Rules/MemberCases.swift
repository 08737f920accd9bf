import RollcallCore

/// The tests of the alerts about a watch on several machines.
enum MemberCases {
    static func all(
        _ settings: RuleSettings, _ named: (String) -> AlertRule?
    ) -> [RuleCase] {
        func test(_ name: String, _ make: (RuleSettings, AlertRule) -> RuleCase) -> [RuleCase] {
            named(name).map { [make(settings, $0)] } ?? []
        }
        return test("RollcallNoLeader", leader) + test("RollcallUnsteady", unsteady)
            + test("RollcallSingleCopy", copy) + test("RollcallStateDiffers", differs)
            + test("RollcallLogLost", lost) + test("RollcallMemberMissing", missing)
    }

    private static func leader(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        let pending = RuleCase.steps(rule.pendingFor)
        let last = 20 + pending + 4
        var test = RuleCase(
            "a follower is not blind while another member leads, and nobody watches while none does"
        )
        let leads: [(from: Int, RuleCase.Value)] = [(0, .number(1)), (20, .number(0))]
        for (instance, values) in [("a", leads), ("b", [(from: 0, RuleCase.Value.number(0))])] {
            test.series("up", instance: instance, [(0, .number(1))], last: last)
            test.series("rollcall_watching", instance: instance, values, last: last)
            test.series("rollcall_member_leading", instance: instance, values, last: last)
        }
        test.at(16, "RollcallBlind")
        test.at(19, rule.name)
        test.at(20 + pending - 1, rule.name)
        test.at(
            20 + pending, rule.name,
            [
                WatchCases.firing(
                    settings, rule, instance: nil,
                    "All members of \(settings.job) that answer follow, and none takes writes. Mostly most of "
                        + "etcd is away.")
            ])
        return test
    }

    private static func unsteady(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallUnsteady fires with the fourth leader within five minutes")
        for instance in ["a", "b"] {
            test.series(
                "rollcall_member_reign", instance: instance,
                [
                    (0, .number(7)), (21, .number(8)), (25, .number(9)), (29, .number(10)),
                    (33, .number(11)),
                ],
                last: 60)
        }
        let unsteady = WatchCases.firing(
            settings, rule, instance: nil,
            "\(settings.job) had 4 leaders within 5 min. Somebody may be called OFFLINE whom no leader could "
                + "hear."
        )
        test.at(32, rule.name)
        test.at(33, rule.name, [unsteady])
        test.at(40, rule.name, [unsteady])
        test.at(41, rule.name)
        return test
    }

    private static func copy(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        once(
            settings, rule, "rollcall_member_single_copy",
            "The log has let go of turns that only a is known to hold. With its disk they are lost."
        )
    }

    private static func lost(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        once(
            settings, rule, "rollcall_member_lost",
            "a holds turns that are not in the log. It follows no more and never leads from there.")
    }

    private static func once(
        _ settings: RuleSettings, _ rule: AlertRule, _ series: String, _ description: String
    ) -> RuleCase {
        var test = RuleCase("\(rule.name) fires at once")
        test.series(series, [(0, .number(0)), (4, .number(1)), (9, .number(0))], last: 12)
        test.at(3, rule.name)
        test.at(4, rule.name, [WatchCases.firing(settings, rule, description)])
        test.at(9, rule.name)
        return test
    }

    private static func differs(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase("RollcallStateDiffers fires at once, and for what was different lately")
        test.series(
            "rollcall_member_divergent", [(0, .number(0)), (4, .number(1)), (9, .number(0))],
            last: 80)
        test.series(
            "rollcall_member_state_differences_total", [(0, .number(0)), (13, .number(1))], last: 80
        )
        let differs = WatchCases.firing(
            settings, rule,
            "a found its state to be another than the leader's. It never leads, and takes a copy of another "
                + "member's store.")
        test.at(3, rule.name)
        test.at(4, rule.name, [differs])
        test.at(9, rule.name)
        test.at(14, rule.name, [differs])
        test.at(80, rule.name)
        return test
    }

    private static func missing(_ settings: RuleSettings, _ rule: AlertRule) -> RuleCase {
        var test = RuleCase(
            "RollcallMemberMissing fires for who says nothing, and for who is far behind")
        func number(
            _ name: String, _ instance: String, of member: String? = nil,
            _ values: [(from: Int, RuleCase.Value)]
        ) {
            test.series(
                name, of: member.map { [("member", $0)] } ?? [], instance: instance, values,
                last: 40)
        }
        number("rollcall_member_leading", "a", [(0, .number(1))])
        number("rollcall_member_leading", "b", [(0, .number(0))])
        number("rollcall_member_position", "a", [(0, .number(9000))])
        let position = "rollcall_member_noted_position"
        number(position, "a", of: "b", [(0, .number(8999))])
        number(position, "b", of: "c", [(0, .number(1))])
        number(position, "a", of: "c", [(0, .number(8999)), (11, .number(5000))])
        let noted = "rollcall_member_noted_timestamp_seconds"
        number(noted, "a", of: "b", [(0, .rising(0, by: 15)), (5, .number(60))])
        number(noted, "a", of: "c", [(0, .rising(0, by: 15))])
        test.at(11, rule.name)
        test.at(
            24, rule.name,
            ["b", "c"].map {
                WatchCases.firing(
                    settings, rule, of: [("member", $0)],
                    "Member \($0) has not said for a minute what it holds, or holds much less than the leader "
                        + "a. The watch goes on without it.")
            })
        return test
    }
}
