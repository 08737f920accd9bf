import RollcallCore

/// The summary of a fleet that reported to a server.
package struct FleetSummary: Sendable {
    /// Names of silent people that are told at most.
    private static let namesMax = 10

    package var tally: FleetTally
    /// Silences that began, by their true cause.
    package var causes: [FleetCause: Int]
    /// The people who are silent at the end, and why.
    package var silent: [(id: String, cause: FleetCause)]
    package var wasInterrupted: Bool

    /// Everything for machines, on one line.
    package var json: String {
        let numbers: [JSONTree.Member] = [
            JSONTree.Member(name: "sent", value: .integer(Int64(sent))),
            JSONTree.Member(name: "accepted", value: .integer(Int64(tally.accepted))),
            JSONTree.Member(name: "duplicates", value: .integer(Int64(tally.duplicates))),
            JSONTree.Member(name: "rejected", value: .integer(Int64(tally.rejected))),
            JSONTree.Member(name: "unsent", value: .integer(Int64(tally.unsent))),
            JSONTree.Member(name: "batches", value: .integer(Int64(tally.batches))),
            JSONTree.Member(name: "requests", value: .integer(Int64(tally.requests))),
            JSONTree.Member(name: "retried", value: .integer(Int64(tally.retried))),
            JSONTree.Member(name: "refused", value: .integer(Int64(tally.refused))),
            JSONTree.Member(
                name: "silences",
                value: .object(
                    sorted.map { JSONTree.Member(name: $0.rawValue, value: .integer(Int64($1))) })),
            JSONTree.Member(
                name: "silent_now",
                value: .list(
                    silent.map { person in
                        .object([
                            JSONTree.Member(name: "responder_id", value: .text(person.id)),
                            JSONTree.Member(name: "cause", value: .text(person.cause.rawValue)),
                        ])
                    })),
            JSONTree.Member(name: "interrupted", value: .boolean(wasInterrupted)),
        ]
        return JSONTree.object(numbers).printed
    }

    /// The summary as a text for people.
    package var text: String {
        var text = wasInterrupted ? "Interrupted.\n" : ""
        text += "\(sent) items sent in \(tally.requests) requests: \(tally.accepted) accepted, "
        text += "\(tally.duplicates) duplicates, \(tally.rejected) rejected"
        text += " (\(tally.batches) were batches).\n"
        if tally.retried > 0 {
            text += "\(tally.retried) requests were sent again, \(tally.refused) of them refused "
            text += "with 429 or 503.\n"
        }
        if tally.unsent > 0 { text += "\(tally.unsent) items were not sent, or nobody knows.\n" }
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

    private var sent: Int { tally.accepted + tally.duplicates + tally.rejected }

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
