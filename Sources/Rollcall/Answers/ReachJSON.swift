import RollcallCore
import RollcallSupport

extension Unreached {
    /// As `GET /v1/status` tells it; null if everybody critical has somebody.
    var tree: JSONTree {
        guard let criticalSince else { return nil }
        return [
            "alerts": .integer(Int64(counts[.critical] ?? 0)),
            "since": AlertJSON.time(criticalSince),
            "incidents": .list(incidents.map { .integer($0) }),
            "reason": AlertJSON.word(reason.word),
        ]
    }
}

extension Unreached {
    /// A sentence for people, on the page that has no JavaScript; nothing anybody sent is in it.
    var sentence: String? {
        guard let criticalSince else { return nil }
        let count = counts[.critical] ?? 0
        let alerts = count == 1 ? "1 critical alert" : "\(count) critical alerts"
        let why = reason == .noReceiver ? "no receiver is set for" : "no receiver has taken"
        return "NOBODY HAS BEEN REACHED: \(why) \(alerts), firing since "
            + "\(RFC3339.string(criticalSince))."
    }
}

extension StateView {
    /// Returns how far the news of an alert has come: an entry for each address that it was decided
    /// for.
    func reaches(_ alert: Alert) -> [Reach] {
        let reaches = outbox.reach(of: alert.incident)
        return alert.notified.flatMap { notified in
            var all = reaches
            if notified.storm != 0 {
                // What left it out told nobody of it (D1, D11).
                all =
                    alert.isAwaited(by: notified.receiver)
                    ? []
                    : outbox.reach(of: notified.storm, since: alert.startsAt, from: notified.at)
            }
            var own = all.filter { $0.receiver == notified.receiver }.map { shown($0) }
            if own.isEmpty {
                // Who joined a storm, or was left out, waits for the next message of it (D11), which
                // goes to nobody whom the settings do not name.
                let isNamed = outbox.receivers.contains { $0.name == notified.receiver }
                let state: Reach.State =
                    isNamed && !outbox.reach(of: notified.storm).isEmpty ? .waiting : .dropped
                let at = engine.clock.wall(notified.at)
                own = [Reach(receiver: notified.receiver, state: state, decidedAt: at)]
            }
            for index in own.indices {
                own[index].storm = notified.storm
                if let fallback = notified.fallback {
                    own[index] = own[index].fallback(of: fallback.receiver)
                }
            }
            return own
        }
    }

    /// While the store fails, what it does not hold is not told as taken (J6).
    private func shown(_ reach: Reach) -> Reach {
        guard let takenAt = reach.takenAt, takenAt > committedAt else { return reach }
        var reach = reach
        (reach.state, reach.takenAt) = (.trying, nil)
        return reach
    }
}

extension AlertJSON {
    /// Returns who took the news, and when the first of their addresses did.
    static func notified(_ reaches: [Reach]) -> JSONTree {
        var notified: [(reach: Reach, at: Timestamp)] = []
        for reach in reaches {
            guard let at = reach.takenAt else { continue }
            if let place = notified.firstIndex(where: { $0.reach.receiver == reach.receiver }) {
                notified[place].at = min(notified[place].at, at)
            } else {
                notified.append((reach, at))
            }
        }
        return .list(
            notified.map { reach, at in
                let entry: JSONTree = ["receiver": text(reach.receiver), "at": time(at)]
                return reach.fallbackOf.map { entry.with(["fallback_of": text($0)]) } ?? entry
            })
    }

    /// Every address with its state; `clock` tells when it is tried next.
    static func receivers(_ reaches: [Reach], _ clock: ObservationClock) -> JSONTree {
        let several = Set(reaches.filter { $0.target > 0 }.map(\.receiver))
        return .list(
            reaches.map { reach in
                var members: [JSONTree.Member] = [
                    .init(name: "receiver", value: text(reach.receiver))
                ]
                func add(_ name: String, _ value: JSONTree?) {
                    if let value { members.append(.init(name: name, value: value)) }
                }
                if several.contains(reach.receiver) {
                    add("target", .integer(Int64(reach.target)))
                }
                add("fallback_of", reach.fallbackOf.map { text($0) })
                add("state", word(reach.state.word))
                add("decided_at", time(reach.decidedAt))
                add("attempts", .integer(Int64(reach.attempts)))
                add("last_error", reach.lastError.map { .text($0) })
                add("next_attempt_at", reach.nextAttemptAt.map { time(clock.wall($0)) })
                add("taken_at", reach.takenAt.map { time($0) })
                add("storm", reach.storm == 0 ? nil : .integer(reach.storm))
                return .object(members)
            })
    }
}

extension Reach {
    /// Returns the reach of somebody who is told because `receiver` has not taken it (D3).
    func fallback(of receiver: [UInt8]) -> Reach {
        var reach = self
        reach.fallbackOf = receiver
        return reach
    }
}
