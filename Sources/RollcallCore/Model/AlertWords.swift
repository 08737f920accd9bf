/// The alerts that the engine judges. Source: design §6.
package enum AlertName: UInt8, CaseIterable, Sendable {
    case highOfflineRate = 0
    case noOnlineResponders = 1
    case responderFlapping = 2
    case telemetryFeedDown = 3

    /// The name as everybody else writes it; the raw values follow its alphabet (F1).
    package var word: StaticString {
        switch self {
        case .highOfflineRate: "HighOfflineRate"
        case .noOnlineResponders: "NoOnlineResponders"
        case .responderFlapping: "ResponderFlapping"
        case .telemetryFeedDown: "TelemetryFeedDown"
        }
    }
}

/// Where an alert stands.
///
///     inactive ──true──► pending ──for──► firing ──false, keep_firing_for──► resolved
///                           └──false──► inactive
///
/// Source: design §6 A1, fine print F27.
package enum AlertState: UInt8, CaseIterable, Sendable {
    /// Not true any more, and it never fired.
    case inactive = 0
    /// True, for less than `for`.
    case pending = 1
    /// True for as long as it takes, or not false for long enough.
    case firing = 2
    /// It fired and is over.
    case resolved = 3

    /// The word in JSON and labels.
    package var word: StaticString {
        switch self {
        case .inactive: "inactive"
        case .pending: "pending"
        case .firing: "firing"
        case .resolved: "resolved"
        }
    }
}

/// How bad it is if an alert fires.
package enum Severity: UInt8, CaseIterable, Sendable {
    case critical = 0
    case warning = 1
    case info = 2
    /// For what is to be seen and wakes nobody.
    case none = 3

    /// The word in labels and settings.
    package var word: StaticString {
        switch self {
        case .critical: "critical"
        case .warning: "warning"
        case .info: "info"
        case .none: "none"
        }
    }
}

/// What an alert is about, beside its name: together they are its identity (A1).
package enum AlertSubject: Hashable, Sendable {
    /// The whole fleet, or the whole feed.
    case all
    case region([UInt8])
    case source([UInt8])
    /// A feed that nobody declared (B3).
    case suspected
}
