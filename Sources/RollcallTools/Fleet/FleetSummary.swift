import RollcallBasis
import RollcallCore
import RollcallSupport

/// The summary of a fleet that reported to a server.
package struct FleetSummary: Sendable {
    /// Names of silent people that are told at most.
    private static let namesMax = 10

    package var aggregates: FleetAggregates
    /// Silences that began, by their true cause.
    package var causes: [FleetCause: Int]
    /// The people who are silent at the end, and why.
    package var silent: [(id: String, cause: FleetCause)]
    package var wasInterrupted: Bool

    /// Everything for machines, on one line.
    package var json: String {
        func number(_ count: Int) -> JSONTree { .integer(Int64(count)) }
        let tree: JSONTree = [
            "sent": number(sent), "accepted": number(aggregates.accepted),
            "duplicates": number(aggregates.duplicates), "rejected": number(aggregates.rejected),
            "unsent": number(aggregates.unsent), "batches": number(aggregates.batches),
            "requests": number(aggregates.requests), "retried": number(aggregates.retried),
            "refused": number(aggregates.refused),
            "silences": .object(
                sorted.map { JSONTree.Member(name: $0.rawValue, value: number($1)) }),
            "silent_now": .list(
                silent.map {
                    ["responder_id": .text($0.id), "cause": .text($0.cause.rawValue)]
                }),
            "interrupted": .boolean(wasInterrupted),
        ]
        return tree.printed
    }

    /// The summary as a text for people.
    package var text: String {
        var text = wasInterrupted ? "Interrupted.\n" : ""
        text +=
            "\(sent) items sent in \(aggregates.requests) requests: \(aggregates.accepted) accepted, "
        text += "\(aggregates.duplicates) duplicates, \(aggregates.rejected) rejected"
        text += " (\(aggregates.batches) were batches).\n"
        if aggregates.retried > 0 {
            text +=
                "\(aggregates.retried) requests were sent again, \(aggregates.refused) of them refused "
            text += "with 429 or 503.\n"
        }
        if aggregates.unsent > 0 {
            text += "\(aggregates.unsent) items were not sent, or nobody knows.\n"
        }
        let count = causes.values.reduce(0, +)
        text += "\(count) silences began"
        text +=
            count == 0
            ? ".\n" : ": " + sorted.map { "\($1) \($0.rawValue)" }.joined(separator: ", ")
        if count > 0 { text += ".\n" }
        guard !silent.isEmpty else { return text + "Nobody is silent now.\n" }
        let names = silent.prefix(Self.namesMax).map { "\($0.id) (\($0.cause.rawValue))" }
        text += "Silent now: \(names.joined(separator: ", "))"
        let more = silent.count - names.count
        return text + (more > 0 ? " and \(more) more.\n" : ".\n")
    }

    private var sent: Int { aggregates.accepted + aggregates.duplicates + aggregates.rejected }

    /// The most first.
    private var sorted: [(FleetCause, Int)] {
        causes.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            .map { ($0.key, $0.value) }
    }
}

/// A server's settings for a fleet that lives faster than its clock.
package enum FleetConfiguration {
    /// YAML in which every span of time is `speed` times shorter.
    package static func text(speed: Int64) -> String {
        let policy = Configuration().policy
        func span(_ span: Milliseconds) -> String {
            SettingText.of(Milliseconds(max(1, span.count / speed)))
        }
        func profile(_ name: String, _ profile: Policy.Profile) -> String {
            "  \(name): {expected: \(span(profile.expected)), "
                + "degraded_after: \(span(profile.degradedAfter)), "
                + "offline_after: \(span(profile.offlineAfter))}\n"
        }
        let alerts = policy.alerts
        return """
            # For a fleet of `rollcall simulate --speed \(speed)x`: every span is \(speed) times shorter.
            liveness:
            \(profile("on_duty", policy.onDuty))\(profile("on_mission", policy.onMission))\
              forget_after: \(span(policy.forgetAfter))
            feed: {stall_after: \(span(policy.feedStallAfter))}
            alerts:
              HighOfflineRate: {for: \(span(alerts.highOfflineRate.pendingFor))}
              ResponderFlapping: {window: \(span(alerts.flappingWindow))}
              NoOnlineResponders: {for: \(span(alerts.noOnlineResponders.pendingFor)), \
            keep_firing_for: \(span(alerts.noOnlineResponders.keepFiringFor))}
            nudges:
              stale_after: \(span(policy.nudges.staleAfter.standard))
              min_interval: \(span(policy.nudges.minInterval))

            """
    }
}
