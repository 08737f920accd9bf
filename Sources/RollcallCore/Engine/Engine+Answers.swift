/// A `Reachable` says whether somebody can be reached, so that help can be sent to them. Source:
/// L11.
package enum Reachable: CaseIterable, Sendable {
    case yes
    case no
    case unknown

    /// The word in answers and parameters.
    package var word: StaticString {
        switch self {
        case .yes: "yes"
        case .no: "no"
        case .unknown: "unknown"
        }
    }
}

/// The facts that are answered about a person.
extension Engine {
    /// False while blind and, after it, until contact or OFFLINE (L11).
    package func isConfirmed(_ person: Responder) -> Bool {
        if clock.isBlind { return false }
        return person.status == .offline || person.contactFolded > clock.lastBlindEnd
            || clock.lastBlindEnd == .distantPast
    }

    /// Yes only when ONLINE, confirmed, and heard within the offline threshold by the wall clock;
    /// no when OFFLINE and we can see; of all others nothing is known (L11).
    package func reachable(_ person: Responder) -> Reachable {
        guard person.isActive else { return .unknown }
        guard isConfirmed(person) else { return .unknown }
        switch person.status {
        case .online:
            let age = clock.wallNow - person.lastContactAt
            return age <= policy.thresholds(person).offline ? .yes : .unknown
        case .offline: return .no
        case .degraded, .unknown: return .unknown
        }
    }

    /// Returns the instant from which on somebody who is expected is silent: their last contact, or when
    /// they became expected if that was later; nil of all others (V12).
    package func silentSince(_ person: Responder) -> ObservedTime? {
        person.isActive ? max(person.lastContact, person.activeSince) : nil
    }

    /// Returns what is known of the phone of a person by number; nil if there is nobody, or they were
    /// erased (P6).
    package func phone(of number: Int) -> GapFacts? {
        guard (0..<roster.count).contains(number), roster[number].idCount > 0 else { return nil }
        var facts = GapFacts()
        people.describe(roster[number], in: &facts)
        return facts
    }

    /// Returns the instant at which the pause of a person ends by itself; nil if none does.
    package func pausedUntil(_ number: Int) -> Timestamp? { liveness.pauses[number] }

    /// True if a person's phone ever told something of itself.
    package func hasTelemetry(_ number: Int) -> Bool {
        factOverflows.time(.telemetry, roster[number].factTimes, number).at > .distantPast
    }
}
