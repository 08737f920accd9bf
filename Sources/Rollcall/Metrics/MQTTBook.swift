import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The subscriptions of inputs at brokers, for those who show how they stand. Source: M6.
package final class MQTTBook: Sendable {
    /// A subscription that runs.
    package struct Entry: Sendable {
        /// The name of the input.
        package let name: String
        /// The settings that the subscription was made of.
        package let settings: MQTTSettings
        /// The client.
        package let client: MQTTClient
    }

    private let entries = Mutex<[Entry]>([])

    /// No subscriptions.
    package init() {}

    /// The subscriptions that run, in the order of the settings.
    package var all: [Entry] { entries.withLock { $0 } }

    /// Has others from now on.
    package func follow(_ new: [Entry]) { entries.withLock { $0 = new } }

    /// The subscription of an input, as `/v1/inputs` tells of it; null if it has none.
    func answer(_ name: String, at clock: ClockReading = .now()) -> JSONTree {
        guard let entry = all.first(where: { $0.name == name }) else { return .null }
        let standing = entry.client.standing
        let since = clock.wall - Milliseconds(max(0, clock.elapsed - standing.since))
        let messages = MQTTClient.Outcome.allCases.map { outcome in
            JSONTree.Member(
                name: "\(outcome.word)",
                value: .integer(Int64(standing.messages[outcome.rawValue])))
        }
        return [
            "url": .text(entry.settings.address.text), "topic": .text(entry.settings.topic),
            "client_id": .text(entry.settings.clientID),
            "connected": .boolean(standing.isConnected), "since": .text(RFC3339.string(since)),
            "held_back": .boolean(standing.isHeldBack),
            "trouble": standing.trouble.isEmpty ? .null : .text(standing.trouble),
            "connections": .integer(Int64(standing.connections)),
            "waiting": .integer(Int64(standing.waiting)), "messages": .object(messages),
        ]
    }

    /// Appends the families of subscriptions; nothing without any.
    func append(to page: inout Exposition) {
        let all = all.map { ($0.name, $0.client.standing) }
        if all.isEmpty { return }
        page.family(
            "rollcall_input_mqtt_connected", .gauge,
            "1 while the input is subscribed at its broker; of a cluster only the leader is.")
        for (name, standing) in all {
            page.sample(["input": Self.label(name)], standing.isConnected ? 1 : 0)
        }
        page.family(
            "rollcall_input_mqtt_connections", .counter,
            "Times that an input was subscribed at its broker.")
        for (name, standing) in all {
            page.sample(["input": Self.label(name)], Quantity(standing.connections))
        }
        page.family(
            "rollcall_input_mqtt_messages", .counter,
            "Messages of a broker, by what became of them.")
        for (name, standing) in all {
            for outcome in MQTTClient.Outcome.allCases {
                page.sample(
                    ["input": Self.label(name), "outcome": .word(outcome.word)],
                    Quantity(standing.messages[outcome.rawValue]))
            }
        }
        page.family(
            "rollcall_input_mqtt_waiting", .gauge,
            "Messages of a broker that wait for their commit.")
        for (name, standing) in all {
            page.sample(["input": Self.label(name)], Quantity(standing.waiting))
        }
    }

    private static func label(_ name: String) -> Exposition.LabelValue { .bytes(Array(name.utf8)) }
}
