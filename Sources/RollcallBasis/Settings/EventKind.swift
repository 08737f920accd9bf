import RollcallCore

/// The kinds of events. Source: E1.
package enum EventKind: UInt8, CaseIterable, Sendable {
    case status, gap, verdict, alert, nudge, blind, delivery, action, person

    /// The word in queries and answers.
    package var word: StaticString {
        switch self {
        case .status: "status"
        case .gap: "gap"
        case .verdict: "verdict"
        case .alert: "alert"
        case .nudge: "nudge"
        case .blind: "blind"
        case .delivery: "delivery"
        case .action: "action"
        case .person: "person"
        }
    }

    /// The kind of a decision; nil of one that is no event: what a message holds and why somebody is
    /// not told, which the alert and the delivery tell of, and clocks of sources.
    package init?(_ decision: Decision) {
        switch decision {
        case .status: self = .status
        case .gap(_, _, let gap): self = gap.state == .verdict ? .verdict : .gap
        case .alert: self = .alert
        case .nudge, .wake: self = .nudge
        case .blind: self = .blind
        case .delivery, .push: self = .delivery
        case .action: self = .action
        case .person: self = .person
        case .notice, .mute, .skew, .update: return nil
        }
    }
}
