import RollcallCore

/// The alerts about a watch on several machines; on one machine their series are not there.
enum MemberRules {
    static func all(_ settings: RuleSettings) -> [AlertRule] {
        let page = WatchRules.page(settings, "feeds")
        return [leader(settings, page)]
            + WatchRules.own(settings, .rollcallUnsteady) { _ in unsteady(page) }
            + [lost(page), missing(page), copy(page), differs(page)]
    }

    private static func leader(_ settings: RuleSettings, _ page: String) -> AlertRule {
        AlertRule(
            "RollcallNoLeader",
            "Of a watch on several machines: one leads, or nobody watches. A change of leaders takes "
                + "seconds, \(RuleText.words(settings.configuration.cluster.silence)) of silence among them "
                + "(`cluster.silence`).",
            ["max by (job, cell) (instance:rollcall_member_leading:cell) == 0"],
            pendingFor: settings.leaderless,
            summary: "No member of the watch leads; nobody watches.",
            description: [
                "All members of {{ $labels.job }}{{ with $labels.cell }}, cell {{ . }},{{ end }} that answer",
                "follow, and none takes writes. Mostly most of etcd is away.",
            ], page: page)
    }

    private static func unsteady(_ page: String) -> AlertRule {
        AlertRule(
            "RollcallUnsteady", "Deadlines do not wait for a fourth change within five minutes.",
            [
                "max by (job, cell) (",
                "    (rollcall_member_reign - rollcall_member_reign offset 5m)",
                "      * on (job, instance) group_left (cell) rollcall_cell_role",
                "  or on (job, instance)",
                "    rollcall_member_reign - rollcall_member_reign offset 5m",
                ") > 3",
            ],
            summary: "The watch changes leaders again and again.",
            description: [
                "{{ $labels.job }}{{ with $labels.cell }}, cell {{ . }},{{ end }} had {{ $value | humanize }}",
                "leaders within 5 min. Somebody may be called OFFLINE whom no leader could hear.",
            ], page: page)
    }

    private static func lost(_ page: String) -> AlertRule {
        AlertRule(
            "RollcallLogLost", "The log was restored from an older copy, or is another one.",
            ["rollcall_member_lost == 1"],
            summary: "The log is not the one that a member followed.",
            description: [
                "{{ $labels.instance }} holds turns that are not in the log. It follows no more and never",
                "leads from there.",
            ], page: page)
    }

    private static func missing(_ page: String) -> AlertRule {
        AlertRule(
            "RollcallMemberMissing",
            "As the leader sees it: each member says every few seconds what it holds.",
            [
                "(",
                "    time() - rollcall_member_noted_timestamp_seconds > 60",
                "  or",
                "    rollcall_member_noted_position",
                "      < on (job, instance) group_left () (rollcall_member_position - 2000)",
                ")",
                "  and on (job, instance) rollcall_member_leading == 1",
            ], pendingFor: .seconds(60), severity: .warning,
            summary: "A member of the watch is missing or behind.",
            description: [
                "Member {{ $labels.member }} has not said for a minute what it holds, or holds much less than",
                "the leader {{ $labels.instance }}. The watch goes on without it.",
            ], page: page)
    }

    private static func copy(_ page: String) -> AlertRule {
        AlertRule(
            "RollcallSingleCopy",
            "Only a full log, or a list of one member, lets go of what nobody else has.",
            ["rollcall_member_single_copy == 1"],
            summary: "The watch stands on one machine.",
            description: [
                "The log has let go of turns that only {{ $labels.instance }} is known to hold. With its disk",
                "they are lost.",
            ], page: page)
    }

    private static func differs(_ page: String) -> AlertRule {
        AlertRule(
            "RollcallStateDiffers",
            "Members compare digests of their states each quarter of an hour.",
            [
                "rollcall_member_divergent == 1",
                "  or increase(rollcall_member_state_differences_total[15m]) > 0",
            ], severity: .warning,
            summary: "A member of the watch holds something else than the others.",
            description: [
                "{{ $labels.instance }} found its state to be another than the leader's. It never leads, and",
                "takes a copy of another member's store.",
            ], page: page)
    }
}
