import RollcallTools

/// When alerts fire, as far as the simulation varies it. Source: Contract/Alerts, V8.
struct StoryAlerts: Equatable {
    /// What every alert has; milliseconds.
    struct Rule: Equatable {
        var isEnabled = true
        var pendingFor: Int64
        var keepFiringFor: Int64
    }

    var highOfflineRate = Rule(pendingFor: 60_000, keepFiringFor: 0)
    /// Ten-thousandths of the active.
    var above: Int64 = 1000
    var isByRegion = false
    var minActive = 1
    var minOffline = 1

    var responderFlapping = Rule(pendingFor: 0, keepFiringFor: 0)
    var changes = 4
    /// Milliseconds.
    var window: Int64 = 900_000
    var clearBelow = 2

    /// Its people wait each by themselves: `offlineFor`, not `pendingFor`.
    var responderOffline = Rule(isEnabled: false, pendingFor: 0, keepFiringFor: 0)
    /// Milliseconds.
    var offlineFor: Int64 = 0
    var offlineDuties = ["ON_DUTY", "ON_MISSION"]
    /// None for all.
    var offlineRegions: [String] = []

    var noOnlineResponders = Rule(pendingFor: 60_000, keepFiringFor: 120_000)
    var telemetryFeedDown = Rule(pendingFor: 0, keepFiringFor: 0)

    /// The rule of the alert that a decision names.
    func rule(of name: String) -> Rule {
        switch name {
        case "HighOfflineRate": highOfflineRate
        case "NoOnlineResponders": noOnlineResponders
        case "ResponderFlapping": responderFlapping
        case "ResponderOffline": responderOffline
        case "TelemetryFeedDown": telemetryFeedDown
        default: Rule(pendingFor: 0, keepFiringFor: 0)
        }
    }

    /// The rules as the section `alerts` of a configuration.
    func json() -> String {
        JSON.object([
            "\"HighOfflineRate\":"
                + highOfflineRate.json([
                    "\"above\":\(Double(above) / 10_000)",
                    JSON.member("by", isByRegion ? "region" : "fleet"),
                    "\"min_active\":\(minActive)", "\"min_offline\":\(minOffline)",
                ]),
            "\"ResponderFlapping\":"
                + responderFlapping.json([
                    "\"changes\":\(changes)", JSON.member("window", "\(window)ms"),
                    "\"clear_below\":\(clearBelow)",
                ]),
            "\"ResponderOffline\":" + offlineJSON,
            "\"NoOnlineResponders\":" + noOnlineResponders.json([]),
            "\"TelemetryFeedDown\":" + telemetryFeedDown.json([]),
        ])
    }

    private var offlineJSON: String {
        var rule = responderOffline
        rule.pendingFor = offlineFor
        func list(_ words: [String]) -> String {
            "[" + words.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        }
        return rule.json([
            "\"duty_states\":" + list(offlineDuties), "\"regions\":" + list(offlineRegions),
        ])
    }

    // MARK: - Drawing

    /// Draws all rules; `policy` tells which lengths matter.
    static func drawn(_ dice: inout Dice, _ policy: StoryPolicy) -> StoryAlerts {
        var alerts = StoryAlerts()
        for part in 0...3 { alerts.draw(part, &dice, policy) }
        return alerts
    }

    /// Draws the rules of one of the four alerts anew.
    mutating func draw(_ part: Int, _ dice: inout Dice, _ policy: StoryPolicy) {
        switch part {
        case 0:
            highOfflineRate = .drawn(&dice, policy)
            above = dice.pick([0, 1000, 1000, 2000, 3333, 5000, 6667, 9999, 10_000])
            isByRegion = dice.chance(500)
            minActive = dice.pick([1, 1, 1, 2, 3, 5])
            minOffline = dice.pick([1, 1, 1, 2, 3])
        case 1:
            responderFlapping = .drawn(&dice, policy)
            changes = dice.pick([2, 2, 2, 3, 3, 4, 4, 6])
            clearBelow = Int(dice.number(1...Int64(changes) - 1))
            let offline = dice.pick([policy.onDuty, policy.onMission]).offlineAfter
            window = dice.pick([offline, offline * 3, offline * 6, offline * 20, 60_000, 900_000])
            drawOffline(policy)
        case 2: noOnlineResponders = .drawn(&dice, policy)
        default: telemetryFeedDown = .drawn(&dice, policy)
        }
    }

    /// Draws from a number of its own: everything else stays as it is without it.
    private mutating func drawOffline(_ policy: StoryPolicy) {
        let seed = window &* 31 &+ Int64(changes) &* 7 &+ Int64(clearBelow) &+ above
        var dice = Dice(seed: UInt64(bitPattern: seed &+ responderFlapping.pendingFor))
        responderOffline = .drawn(&dice, policy)
        offlineFor = dice.chance(500) ? 0 : responderOffline.pendingFor
        responderOffline.pendingFor = 0
        responderOffline.isEnabled = dice.chance(600)
        offlineDuties = dice.pick([
            ["ON_DUTY", "ON_MISSION"], ["ON_DUTY", "ON_MISSION"], ["ON_DUTY"], ["ON_MISSION"],
        ])
        offlineRegions = dice.pick([[], [], ["north"], ["default", "north", "south"]])
    }

    /// Lengths become whole seconds, so that ties abound.
    mutating func roundToSeconds() {
        highOfflineRate.roundToSeconds()
        responderFlapping.roundToSeconds()
        responderOffline.roundToSeconds()
        offlineFor = offlineFor / 1000 * 1000
        noOnlineResponders.roundToSeconds()
        telemetryFeedDown.roundToSeconds()
        window = max(1000, window / 1000 * 1000)
    }
}

extension StoryAlerts.Rule {
    /// Short lengths often, so that much happens in one story.
    fileprivate static func drawn(_ dice: inout Dice, _ policy: StoryPolicy) -> Self {
        let profile = dice.pick([policy.onDuty, policy.onMission])
        var lengths: [Int64] = [0, 0, 0, 1, 1000, 5000, 15_000, 60_000, 120_000]
        lengths += [profile.expected, profile.degradedAfter, profile.offlineAfter]
        lengths.append(profile.offlineAfter - profile.degradedAfter)
        var rule = Self(pendingFor: dice.pick(lengths), keepFiringFor: dice.pick(lengths))
        rule.isEnabled = dice.chance(920)
        return rule
    }

    fileprivate mutating func roundToSeconds() {
        pendingFor = pendingFor / 1000 * 1000
        keepFiringFor = keepFiringFor / 1000 * 1000
    }

    fileprivate func json(_ members: [String]) -> String {
        JSON.object(
            ["\"enabled\":\(isEnabled)"] + members + [
                JSON.member("for", "\(pendingFor)ms"),
                JSON.member("keep_firing_for", "\(keepFiringFor)ms"),
            ])
    }
}
