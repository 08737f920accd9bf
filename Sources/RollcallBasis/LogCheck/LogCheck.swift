import RollcallCore
import RollcallSupport

/// A `LogCheck` holds what `rollcall check` finds of the engine that holds the log of a watch, by
/// asking it. Source: S8, S17.
package struct LogCheck: Equatable, Sendable {
    /// The facts that were read back.
    package var found: [String] = []
    /// The findings that make an acknowledged turn unsafe.
    package var refused: [String] = []
    /// The findings that had better be otherwise.
    package var weak: [String] = []
    /// The facts that could not be asked for, and what each should be.
    package var unasked: [String] = []

    /// Nothing was found.
    init() {}

    /// Asks the engine that `cluster` names; nil if it names none. It takes some seconds at most.
    package init?(_ cluster: ClusterSettings) {
        guard cluster.isOn else { return nil }
        do throws(SecretFault) {
            self =
                cluster.postgresURL.isEmpty
                ? EtcdInspection(try EtcdSettings(cluster)).check(silence: cluster.silence)
                : PostgresInspection(try PostgresSettings(cluster)).check()
        } catch {
            self.init()
            unasked = ["the log's engine: a secret cannot be read: \(error.reason)"]
        }
    }

    /// The lines for people.
    package var text: String {
        let lines =
            found.map { "log: \($0)" } + unasked.map { "not known: \($0)" }
            + weak.map { "weak: \($0)" } + refused.map { "UNSAFE: \($0)" }
        return lines.map { ConsoleText.safe($0) + "\n" }.joined()
    }

    /// Returns the findings as JSON.
    package var tree: JSONTree {
        func list(_ lines: [String]) -> JSONTree { .list(lines.map { .text($0) }) }
        return [
            "found": list(found), "not_known": list(unasked), "weak": list(weak),
            "unsafe": list(refused),
        ]
    }
}
