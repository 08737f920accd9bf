import RollcallTools

/// A condition on one label of an alert. Source: A7.
struct StoryMatcher: Equatable {
    var label: String
    var value: String
    /// False for `!=`.
    var isEqual = true

    /// True if an alert with `labels` is meant.
    func fits(_ labels: [String: String]) -> Bool { (labels[label] == value) == isEqual }

    /// Draws what operators and silences ask for.
    static func drawn(_ dice: inout Dice) -> StoryMatcher {
        let (label, values) = dice.pick([
            ("region", ["north", "south", "default", "east"]),
            ("region", ["north", "south"]),
            ("severity", ["critical", "warning"]),
            (
                "alertname",
                ["HighOfflineRate", "NoOnlineResponders", "TelemetryFeedDown", "ResponderFlapping"]
            ),
            ("source", ["a", "b", "default"]),
        ])
        return StoryMatcher(label: label, value: dice.pick(values), isEqual: dice.chance(800))
    }
}

/// Who is told of alerts, as far as the simulation varies it. Source: A8.
struct StoryReceiver: Equatable {
    var name: String
    /// True if every alert is a message of its own.
    var isPager: Bool
    /// What must hold of an alert; nothing for every alert.
    var matchers: [StoryMatcher]
    var sendsResolved: Bool
    /// Milliseconds of running time.
    var repeatInterval: Int64
    /// Whom it is given to if this one does not take it, and after how long; nobody of a story takes
    /// anything. Source: D3.
    var fallback: String?
    var fallbackAfter: Int64 = 60_000
    /// Told only of what nobody has taken so long after it fired; 0 for at once. Source: R2.
    var escalateAfter: Int64 = 0

    /// Draws up to four receivers.
    static func drawn(_ dice: inout Dice) -> [StoryReceiver] {
        let names = ["chat", "desk", "hook", "pager"].filter { _ in dice.chance(650) }
        var receivers = names.map { name in
            StoryReceiver(
                name: name, isPager: name == "pager" && dice.chance(800),
                matchers: dice.chance(500) ? [] : [.drawn(&dice)],
                sendsResolved: dice.chance(800),
                repeatInterval: dice.pick([1000, 5000, 60_000, 60_000, 600_000, 14_400_000]))
        }
        // None leads back.
        for place in receivers.indices.dropLast() where dice.chance(400) {
            receivers[place].fallback = dice.pick(names.suffix(from: place + 1).map { $0 })
            receivers[place].fallbackAfter = dice.pick([5000, 20_000, 60_000, 600_000])
        }
        return receivers
    }
}

/// A silence that begins when its line is folded. Source: A7.
struct StorySilence: Equatable {
    var matchers: [StoryMatcher]
    /// By the wall.
    var endsAt: Int64
}

extension World {
    /// In most worlds somebody is told, and silences begin and end.
    mutating func beginTelling() {
        guard noticeDice.chance(800) else { return }
        plan(.telling, in: noticeDice.number(0...max(1, faultsEnd / 6)))
    }

    /// One thing changes about who is told, and the next is planned.
    mutating func changeTelling() {
        guard healing == nil else { return }
        plan(.telling, in: noticeDice.number(1...max(1, faultsEnd / 8)))
        guard isUp else { return }
        switch noticeDice.number(0...5) {
        case 0:
            var new = policy
            new.receivers = drawnReceivers()
            emit(.policy(new))
            mark("receivers changed")
        case 1:
            emit(.silenceEnd(number: noticeDice.number(1...6)))
            mark("a silence is ended")
        default:
            let count = noticeDice.number(1...2)
            let length = noticeDice.number(1...max(1, faultsEnd / 4))
            emit(
                .silence(
                    StorySilence(
                        matchers: (0..<count).map { _ in .drawn(&noticeDice) },
                        endsAt: wall + length)))
            mark("a silence begins")
        }
    }
}
