import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The standing of those who are sent events, by their names in the settings. Any thread asks. Source:
/// E2.
package final class SubscriptionBook: Sendable {
    /// The state of a subscription.
    enum State: Sendable {
        /// It has not begun: what is decided until then may not be for it.
        case starting
        /// All that was decided is sent, or is for others.
        case idle
        /// Something is on its way.
        case sending
        /// The subscriber is away, and is tried again.
        case trying
        /// The subscriber refuses, and is not tried again before a reload.
        case stopped
        /// Another member sends.
        case following

        /// The word in answers.
        var word: StaticString {
            switch self {
            case .starting: "starting"
            case .idle: "idle"
            case .sending: "sending"
            case .trying: "trying"
            case .stopped: "stopped"
            case .following: "following"
            }
        }
    }

    /// One of them.
    struct Standing: Sendable {
        let name: String
        var state = State.starting
        /// The instant at which the oldest event was decided that waits for it; nil if none does.
        var waitingSince: Timestamp?
        /// The events that it took, and those that were skipped because they were too old.
        var sent = 0
        var skipped = 0
        /// Attempts that it did not take.
        var failed = 0
        /// The reason of the last one; nil once it takes again.
        var error: String?

        fileprivate var label: [UInt8] { Array(name.utf8) }
    }

    private let standings = Mutex<[Standing]>([])

    init() {}

    /// In the order of the settings.
    var all: [Standing] { standings.withLock { $0 } }

    /// Has those of these names: what is known of others is forgotten.
    func follow(_ names: [String]) {
        standings.withLock { old in
            old = names.map { name in old.first { $0.name == name } ?? Standing(name: name) }
        }
    }

    /// Changes how one stands, if it is there.
    func change(_ name: String, _ body: (inout Standing) -> Void) {
        standings.withLock { standings in
            guard let place = standings.firstIndex(where: { $0.name == name }) else { return }
            body(&standings[place])
        }
    }

    /// The answer of `GET /v1/status`; nil without any.
    func answer(now: Timestamp) -> JSONTree? {
        let all = all
        if all.isEmpty { return nil }
        return .list(
            all.map { standing in
                [
                    "name": .text(standing.name), "state": .text("\(standing.state.word)"),
                    "lag_seconds": .number(Self.lag(standing, now)),
                    "sent": .integer(Int64(standing.sent)),
                    "skipped": .integer(Int64(standing.skipped)),
                    "error": standing.error.map { .text($0) } ?? .null,
                ]
            })
    }

    private static func lag(_ standing: Standing, _ now: Timestamp) -> Double {
        Double(standing.waitingSince.map { max(0, (now - $0).count) } ?? 0) / 1000
    }

    /// Appends the families; nothing without subscriptions.
    func append(to page: inout Exposition, now: Timestamp) {
        let all = all
        page.family(
            "rollcall_subscription_lag_seconds", .gauge,
            "Age of the oldest event that waits for a subscriber; 0 if none does.")
        for standing in all {
            let lag = standing.waitingSince.map { max(Milliseconds(0), now - $0) }
            page.sample(["subscription": .bytes(standing.label)], Quantity(lag ?? Milliseconds(0)))
        }
        page.family(
            "rollcall_subscription_events", .counter,
            "Events that subscribers took, and those that were too old to be sent.")
        for standing in all {
            for (outcome, count) in [("sent", standing.sent), ("skipped", standing.skipped)]
                as [(StaticString, Int)]
            {
                page.sample(
                    ["subscription": .bytes(standing.label), "outcome": .word(outcome)],
                    Quantity(count))
            }
        }
        page.family(
            "rollcall_subscription_attempts_failed", .counter,
            "Attempts to send events that the subscriber did not take.")
        for standing in all {
            page.sample(["subscription": .bytes(standing.label)], Quantity(standing.failed))
        }
        page.family(
            "rollcall_subscription_stopped", .gauge,
            "1 if the subscriber refused for good: nothing is sent before a reload.")
        for standing in all {
            let isStopped = if case .stopped = standing.state { 1 } else { 0 }
            page.sample(["subscription": .bytes(standing.label)], Quantity(isStopped))
        }
    }
}
