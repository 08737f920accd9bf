/// The facts known of a phone when its gap was evaluated: the evidence of a suspicion. Source: C1.
package struct GapFacts: Equatable, Sendable {
    /// At 5 % or below a battery is empty (C1).
    static let batteryEmpty: Int16 = 500

    /// Wall time of the last contact; `distantPast` if there was none.
    package var lastContactAt = Timestamp.distantPast
    /// True if contact counted since the person became active.
    package var isHeard = false
    /// The telemetry that the phone told last.
    package var telemetry = Telemetry()
    /// Ten-thousandths of a full battery; −1 not told.
    package var battery: Int16 = -1
    /// Depths of the queue in the last batches that told one, oldest first, three at most (F25).
    package var queueDepths: [UInt32] = []
    package var platform: Platform = .unknown
    // What the phone is, as bytes; empty where it was not told (P6).
    package var manufacturer: [UInt8] = []
    package var model: [UInt8] = []
    package var osVersion: [UInt8] = []
    package var appVersion: [UInt8] = []
    /// The region when the gap opened, as bytes.
    package var region: [UInt8] = []
    /// With whom they fell silent; nil if alone.
    package var group: GapGroup?

    package init() {}
}

/// Those who fell out of contact together. Source: C1, F25.
package struct GapGroup: Equatable, Sendable {
    /// The group's number, rising from 1 on.
    package var id: Int64 = 0
    /// True if the whole feed is suspected (B3): then it has no region.
    package var isFeed = false
    /// The number of people who had fallen silent within 60 s when this was evaluated.
    package var members = 0
    /// The region's active people then; the fleet's if the feed is suspected.
    package var active = 0

    package init() {}

    /// The group of a mass that the fleet cell decided.
    init(_ mass: FleetMass) { (id, members, active) = (mass.number, mass.members, mass.active) }
}

/// The facts that the return showed: the evidence of a verdict. Source: C2, F26.
package struct GapReturn: Equatable, Sendable {
    /// Wall time of the return as it was folded; `distantPast` while the gap is open.
    package var at = Timestamp.distantPast
    /// New updates since the return that continue the sequence.
    package var updates = 0
    /// Those of all new updates that were captured inside the gap (F26).
    package var capturedInside = 0
    /// The oldest of them by the phone's clock; `distantPast` without any.
    package var firstInsideAt = Timestamp.distantPast
    /// The newest of them.
    package var lastInsideAt = Timestamp.distantPast
    /// A new install began since the gap opened.
    package var isReinstalled = false
    /// A batch since the return said that the permission is denied.
    package var isPermissionDenied = false
    /// A batch since the return said that location services are off.
    package var areServicesOff = false

    package init() {}
}

/// A gap as it is told, stored and shown: one state of it. Source: Contract/Gaps, F5.
package struct GapReport: Equatable, Sendable {
    package var state = GapState.open
    /// The gap's number, rising from 1 on; 0 until it counts (C1: once it has reached OFFLINE).
    package var number: Int64 = 0
    /// The suspicion in force.
    package var suspected = GapCause.unexplained
    /// The suspicion at the opening.
    package var firstSuspected = GapCause.unexplained
    /// The suspicion by the rules, where the likelier cause is suspected instead (P7).
    package var ruled: GapCause?
    /// Only with state `verdict`.
    package var verdict: GapVerdict?
    /// Wall time of the opening.
    package var openedAt = Timestamp.distantPast
    /// Wall time of reaching OFFLINE; `distantPast` before.
    package var offlineAt = Timestamp.distantPast
    /// Wall time of the end; `distantPast` while open.
    package var closedAt = Timestamp.distantPast
    /// Observed time from the opening to the end.
    package var length = Milliseconds(0)
    /// The time that we were blind between the last contact and now, or the end. A gap with much of
    /// it is held against nobody: see `isLeftOut`.
    package var blind = Milliseconds(0)
    /// Running time from the last contact to now, or the end; 0 in what older versions stored.
    package var silent = Milliseconds(0)
    package var facts = GapFacts()
    /// The facts that the return showed.
    package var seen = GapReturn()

    package init() {}

    /// True if so much of it was not seen that it counts in no statistics (D5).
    package var isLeftOut: Bool {
        let seen = Milliseconds(length.count.addingReportingOverflow(blind.count).partialValue)
        return Self.isLeftOut(blind: blind, of: max(silent, seen))
    }

    /// True if at least 5 % of a stretch, and at least 1 s, was blind.
    package static func isLeftOut(blind: Milliseconds, of span: Milliseconds) -> Bool {
        blind >= BlindReason.reportedFrom
            && blind.count >= span.count / 20 + (span.count % 20 > 0 ? 1 : 0)
    }
}
