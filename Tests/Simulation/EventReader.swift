import RollcallCore
import RollcallTools

/// Somebody who reads what is decided by its numbers, and subscribers whose marks the watch keeps: over
/// crashes numbers grow, none comes twice, and no mark goes back. Source: E1, E2.
struct EventReader {
    private static let names = ["desk", "hub"]

    private var dice: Dice
    /// The number of the newest decision that was committed.
    private var last: Int64 = 0
    /// The mark of each subscriber, by name, as of the last commit.
    private var marks: [String: Int64] = [:]
    /// What the turn that is not committed yet says.
    private var pending: (name: String, number: Int64)?

    /// A reader of the story of a seed.
    init(seed: UInt64 = 0) { dice = Dice(seed: seed ^ 0xE_7E27) }

    /// Draws that a subscriber has come so far: to what was committed, or, because an answer was late, to
    /// less than before; now and then the settings know them no more.
    mutating func drawMark() -> SubscriptionMark? {
        pending = nil
        guard dice.chance(100) else { return nil }
        let name = dice.pick(Self.names)
        let number = dice.chance(50) ? -1 : dice.chance(500) ? last : dice.number(0...last)
        pending = (name, number)
        return SubscriptionMark(name: Array(name.utf8), number: number)
    }

    /// Reads what a turn has committed; what is wrong with it, in words.
    mutating func commit(_ decisions: [NumberedDecision], _ kept: Subscriptions) -> String? {
        for decision in decisions {
            if decision.id <= last { return "number \(decision.id) comes behind \(last)" }
            last = decision.id
        }
        if let (name, number) = pending {
            marks[name] = number < 0 ? nil : max(number, marks[name] ?? 0)
        }
        pending = nil
        return compare(kept)
    }

    /// Looks at what came back after a crash; what is wrong with it, in words.
    mutating func restart(_ kept: Subscriptions) -> String? {
        pending = nil
        return compare(kept)
    }

    private func compare(_ kept: Subscriptions) -> String? {
        for name in Self.names where kept.number(of: Array(name.utf8)) != marks[name] {
            let number = kept.number(of: Array(name.utf8)).map { "\($0)" } ?? "nothing"
            return "\(name) stands at \(number), not at \(marks[name].map { "\($0)" } ?? "nothing")"
        }
        return nil
    }
}
