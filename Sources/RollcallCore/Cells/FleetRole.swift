/// The part of a fleet's watch that an engine has. It belongs to the settings, so that a replay decides
/// what was decided. Source: K2, K7.
package enum FleetRole: UInt8, Equatable, Sendable {
    /// All of it: there are no cells.
    case whole = 0
    /// The people of some slots: what concerns one person is decided here.
    case cell = 1
    /// Nobody: what concerns many is decided here, by what the cells say of theirs.
    case fleet = 2
}

extension AlertName {
    /// True if an engine of `role` evaluates it.
    package func isEvaluated(by role: FleetRole) -> Bool {
        switch (role, self) {
        case (.whole, .fleetDark), (.fleet, .fleetDark): false
        case (.whole, _): true
        case (.cell, .highOfflineRate), (.cell, .noOnlineResponders), (.cell, .responderFlapping),
            (.cell, .telemetryFeedDown):
            false
        // It names people, and the fleet cell knows nobody.
        case (.fleet, .responderOffline): false
        case (.cell, _), (.fleet, _): true
        }
    }
}
