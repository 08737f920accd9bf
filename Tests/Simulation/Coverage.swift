/// The rare situations that a long campaign must have met: a world that ceases to make one of them
/// would otherwise go on to find nothing there.
enum Coverage {
    /// Stories from which on all of them are expected, whatever the seeds.
    private static let storiesMin = 10_000

    /// What `campaign` should have met and did not.
    static func missing(_ campaign: Campaign, _ options: Options) -> [String] {
        // The first 2000 seeds are known to meet all.
        let isKnown = options.first == 1 && campaign.stories >= 2000
        guard isKnown || campaign.stories >= storiesMin else { return [] }
        return situations.filter { campaign.marks[$0] == nil }
    }

    private static let gapSituations = [
        "backlog of kind 0", "backlog of kind 1", "backlog of kind 2", "backlog of kind 3",
        "backlog of kind 4", "battery charged", "battery nearly empty", "feed settings changed",
        "five and more cut off", "location services off", "location services on again",
        "permission granted again", "permission revoked", "region cut off", "return afterDuty",
        "return beforeBlindness", "return byServer", "return confessing", "return empty",
        "return forAMoment", "return inPieces", "return reinstalled", "return stopped",
        "stale telemetry", "telemetry left out", "telemetry of one member",
        "two minutes of calm", "weak network", "wrong telemetry",
    ]

    private static let alertSituations = [
        "HighOfflineRate firing", "HighOfflineRate inactive", "HighOfflineRate of a region firing",
        "HighOfflineRate of a region inactive", "HighOfflineRate of a region pending",
        "HighOfflineRate of a region resolved", "HighOfflineRate pending",
        "HighOfflineRate resolved", "NoOnlineResponders of a region firing",
        "NoOnlineResponders of a region inactive", "NoOnlineResponders of a region pending",
        "NoOnlineResponders of a region resolved",
        "NoOnlineResponders of a region unstaffed firing",
        "NoOnlineResponders of a region unstaffed inactive",
        "NoOnlineResponders of a region unstaffed pending",
        "NoOnlineResponders of a region unstaffed resolved",
        "ResponderFlapping of a region firing", "ResponderFlapping of a region inactive",
        "ResponderFlapping of a region pending", "ResponderFlapping of a region resolved",
        "ResponderOffline of a region firing", "ResponderOffline of a region resolved",
        "TelemetryFeedDown firing", "TelemetryFeedDown inactive",
        "TelemetryFeedDown of a source firing", "TelemetryFeedDown of a source inactive",
        "TelemetryFeedDown of a source pending",
        "TelemetryFeedDown of a source resolved", "TelemetryFeedDown of a suspected firing",
        "TelemetryFeedDown of a suspected inactive", "TelemetryFeedDown of a suspected pending",
        "TelemetryFeedDown of a suspected resolved", "TelemetryFeedDown pending",
        "TelemetryFeedDown resolved", "a phone comes and goes", "a region at work is not heard",
        "a region comes to work", "a region goes home", "a region moves", "alert rules changed",
        "alerts switched on or off", "coverage changed", "the server says that it came",
        "the server says that it went",
    ]

    private static let nudgeSituations = [
        "a step that freezes nothing", "a step that freezes nudges", "an old location",
        "changes that nudges depend on in blindness", "circles changed", "company comes or goes",
        "not nudged because blind", "not nudged because no_token", "not nudged because rate",
        "not nudged because solo", "not nudged because throttled", "nudge mode changed",
        "nudge rules changed", "nudged after blind", "nudged after no_token", "nudged after rate",
        "nudged after solo", "nudged after throttled", "nudged again", "nudged at once",
        "nudged for another silence", "nudges frozen", "nudges switched on or off",
        "push token told", "somebody is left alone",
    ]

    private static let noticeSituations = [
        "a silence begins", "a silence is ended", "another region says more",
        "not told because blind", "not told because inhibited", "not told because silence",
        "receivers changed", "told a fallback", "told fired", "told of several at once",
        "told repeated", "told resolved", "told who left and who is back",
    ]

    private static let actSituations = [
        "a take ends by itself", "a take holds a fallback", "a take holds a repeat",
        "a take holds an escalation", "a take is cut to twelve hours", "a take replaces another",
        "ask: blind", "ask: disabled", "ask: dry_run", "ask: fresh", "ask: no_token",
        "ask: off_duty", "ask: paused", "ask: rate", "ask: send", "ask: solo", "ask: outsider",
        "ask: throttled", "ask: unknown", "asked again and again", "asked for many at once",
        "asked for six times a day",
        "asked within the interval between nudges", "people act in blindness", "take: given back",
        "take: over", "take: resolved", "take: taken", "take: unknown", "take: untaken",
        "take: watchdog", "told who escalates", "what is taken is over",
    ]

    private static let situations =
        gapSituations + alertSituations + nudgeSituations + noticeSituations + actSituations + [
            "all backends cut off", "an old install speaks again", "app killed",
            "back-off at its longest", "backend clock measured", "backend clock skewed",
            "backend cut off",
            "background throttling", "backlog", "backlog in parts", "backlog newest first",
            "batch lost in an outage", "beats skipped", "cached fix", "clean stop",
            "clock a day off", "clock corrected", "clock restored", "clock right",
            "clock stepped back", "clock stepped forward", "clock too_far", "clock unmeasured",
            "clock unsure",
            "company at a fault's instant", "crash", "crash loop", "death", "delayed and overtaken",
            "drifting phone clock", "duplicate", "duty shift", "duty told by both",
            "duty told by the backend", "empty fact", "erased", "event at a deadline",
            "everybody declared", "fact from the future", "fact of the past", "factors changed",
            "facts about everybody", "facts received at one instant", "flood after an absence",
            "flushed newest first", "heartbeat disarmed", "heartbeat disarmed at the end",
            "heartbeat interval changed", "heartbeats missing", "holes", "install ids begin",
            "long down time", "lost while down", "low power mode", "mass declaration",
            "more holes than are remembered", "more installs than are remembered",
            "moved to another region", "named again after erasure", "named again at the end",
            "observe toggled", "offline queue overflowed", "one sequence twice", "overload",
            "part of a roster lost", "part of a roster repeated", "pause ended early",
            "pause in the past", "pause with an end", "phone clock behind", "phone clock corrected",
            "phone clock in the future", "policy drawn anew", "policy looser", "policy stricter",
            "policy swapped", "punctual turn after a long distance", "reinstall with ids",
            "reinstall without ids", "restart at once", "retired at the end", "roster complete",
            "roster in parts", "roster refused", "roster shrunk a little",
            "roster shrunk by permission", "several batches in one array", "several sources beat",
            "sharing paused", "somebody without a phone", "source missing for 15 minutes",
            "store failing", "store works while Rollcall is down", "stuck forwarder", "suspension",
            "suspension just too short", "transition ONLINE", "transition agreeing",
            "transition early", "transition from the future", "transition late",
            "transition of somebody never heard", "transition retried", "transition wrong",
            "tunnel",
            "update without a location", "wildly different profiles", "write refused",
            "write while the store fails",
        ]
}
