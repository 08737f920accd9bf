/// The alerts, by their names. The raw values are stored; what is evaluated goes in the order of the
/// names (F1). Source: Contract/Alerts.
package enum AlertName: UInt8, CaseIterable, Sendable {
    case highOfflineRate = 0
    case noOnlineResponders = 1
    case responderFlapping = 2
    /// Never a state of anything: a test of the way to a receiver (A11).
    case rollcallDrill = 3
    /// We refuse writes, and are blind for that (B1, B4).
    case rollcallOverloaded = 4
    /// Told from memory, by the edge: what it is about cannot be stored (A5).
    case rollcallStoreFailing = 5
    case telemetryFeedDown = 6
    /// Always true: proves the way to whoever asks for it (A5).
    case watchdog = 7
    /// Told from memory too: what was known went with a store that was damaged or gone.
    case rollcallStateLost = 8
    /// Leaders of a watch on several machines change too often (S9).
    case rollcallUnsteady = 9
    /// Somebody of a region is OFFLINE (R1).
    case responderOffline = 10
    /// Nothing is heard of a cell (K4).
    case cellDark = 11
    /// Nothing is heard of the fleet cell, and this cell tells of it (K4).
    case fleetDark = 12

    /// Those that there may be one of for each region.
    static let ofRegions: [AlertName] = [
        .highOfflineRate, .noOnlineResponders, .responderFlapping, .responderOffline,
    ]

    /// The name as everybody else writes it.
    package var word: StaticString {
        switch self {
        case .cellDark: "CellDark"
        case .fleetDark: "FleetDark"
        case .highOfflineRate: "HighOfflineRate"
        case .noOnlineResponders: "NoOnlineResponders"
        case .responderFlapping: "ResponderFlapping"
        case .responderOffline: "ResponderOffline"
        case .rollcallDrill: "RollcallDrill"
        case .rollcallOverloaded: "RollcallOverloaded"
        case .rollcallStateLost: "RollcallStateLost"
        case .rollcallStoreFailing: "RollcallStoreFailing"
        case .rollcallUnsteady: "RollcallUnsteady"
        case .telemetryFeedDown: "TelemetryFeedDown"
        case .watchdog: "Watchdog"
        }
    }

    /// True if it is about the feed or ourselves: evaluated in running time, and also while blind
    /// (B4, F9).
    var isAboutRollcall: Bool {
        switch self {
        case .highOfflineRate, .noOnlineResponders, .responderFlapping, .responderOffline: false
        case .cellDark, .fleetDark, .rollcallDrill, .rollcallOverloaded, .rollcallStateLost,
            .rollcallStoreFailing, .rollcallUnsteady, .telemetryFeedDown, .watchdog:
            true
        }
    }

    /// The place among the alerts that are evaluated (F1).
    var rank: Int {
        switch self {
        case .responderOffline: 5
        // No engine evaluates both.
        case .cellDark, .fleetDark: 7
        case .rollcallUnsteady: 11
        default: 2 * Int(rawValue)
        }
    }

    /// True if a replay prints it (F5).
    package var isReplayed: Bool { !isAboutRollcall || self == .telemetryFeedDown }
}

/// The state of an alert.
///
///     inactive ──true──► pending ──for──► firing ──false, keep_firing_for──► resolved
///                           └──false──► inactive
///
/// Source: A1, F27.
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

/// The severity of an alert that fires.
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

/// The subject of an alert, which with its name is its identity (A1).
package enum AlertSubject: Hashable, Sendable {
    /// The whole fleet, or the whole feed.
    case all
    case region([UInt8])
    case source([UInt8])
    /// A feed that nobody declared (B3).
    case suspected
    /// A cell of the fleet (K4).
    case cell([UInt8])
}
