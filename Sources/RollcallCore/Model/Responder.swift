/// What the watch knows of one person: numbers and places only, so that a page of them is copied
/// as plain memory (design §1 J5). What few people have lives in the engine's side tables.
package struct Responder: Sendable {
    /// Where the id stands in the roster's bytes; an erased person has none.
    package var idOffset: UInt32 = 0
    package var idCount: UInt8 = 0

    // MARK: Facts

    package var duty: DutyState = .none
    /// True if the backend told the duty state, not a batch (fine print F15).
    package var isDutyByBackend = false
    package var sharing: Sharing = .active
    package var platform: Platform = .unknown
    package var isRetired = false
    package var isForgotten = false
    package var isActive = false
    /// True once a contact counted since becoming active (L5, F19).
    package var isHeard = false
    package var nudgeSound: UInt8 = 0
    /// True only for those who said `silent` (N5).
    package var isNudgedSilently: Bool { nudgeSound == 1 }
    /// Ten-thousandths of a full battery; −1 not told.
    package var battery: Int16 = -1
    package var osVersion: UInt16 = 0
    package var appVersion: UInt16 = 0
    package var region: UInt32 = 0
    package var circles: UInt32 = 0
    package var telemetry = Telemetry()

    /// What the backend last told of the duty state, for its 60 s of precedence (F15).
    package var dutyByBackendAt = WatchedTime.distantPast
    /// When each fact was last told: what is older does not change it (F15).
    package var dutyAt = WatchedTime.distantPast
    package var regionAt = WatchedTime.distantPast
    package var circlesAt = WatchedTime.distantPast
    package var sharingAt = WatchedTime.distantPast
    package var platformAt = WatchedTime.distantPast
    package var versionsAt = WatchedTime.distantPast
    package var batteryAt = WatchedTime.distantPast
    package var telemetryAt = WatchedTime.distantPast
    /// Which batch told each fact, for ties.
    var factSequences = FactSequences()

    // MARK: Liveness

    package var status: Status = .unknown
    /// What multiplies the thresholds: as of the last contact, 1 before any (L4, F19).
    package var factor = 1.0
    /// Wall time since which the status holds, for display.
    package var since = Timestamp.distantPast
    package var lastContact = WatchedTime.distantPast
    /// Wall time of the last contact, for display and `reachable`.
    package var lastContactAt = Timestamp.distantPast
    /// When the last contact was folded: what is shown is confirmed only by one after the last
    /// blindness (L11).
    package var contactFolded = RunningTime.distantPast
    package var activeSince = WatchedTime.distantPast
    package var degradedDeadline = WatchedTime.distantFuture
    package var offlineDeadline = WatchedTime.distantFuture
    /// When the last grace was granted to this person: deadlines count from there at the earliest.
    /// Who is OFFLINE when one is granted gets none (B5).
    package var grace = WatchedTime.distantPast
    /// When the status last became OFFLINE, from which L10 counts.
    package var offlineSince = WatchedTime.distantPast
    /// ONLINE or OFFLINE, whichever they were last since they are expected (A3).
    var pole: Status?
    /// True while they flap.
    package var isFlapping = false
    /// True once the location was found too old, until it is young again (N1).
    var isStale = false
    /// True if something is remembered of their nudges.
    var hasNudges = false
    /// True while the engine follows a gap of theirs, open or waiting for its verdict.
    package var hasGap = false
    /// True once the last contact is older than the degraded threshold (C4).
    var isDark = false
    /// When the last batch that told an empty queue was received, and its sequence (F25).
    var emptyQueueAt = WatchedTime.distantPast
    var emptyQueueSequence: Int64 = -1
    /// Since when dark time is not booked, or from when on they will be dark.
    var darkFrom = WatchedTime.distantFuture

    // MARK: Location

    /// The newest location's instant, by the phone's clock.
    package var lastLocation = WatchedTime.distantPast
    /// The same by the wall, for display and intervals.
    package var lastLocationAt = Timestamp.distantPast

    // MARK: What was received, while it is one install and one range

    package var installID: UInt64 = 0
    /// The one range; empty while `lowest` is above `highest`.
    package var lowestSequence: Int64 = 0
    package var highestSequence: Int64 = -1
    package var newestCapturedAt = Timestamp.distantPast
    /// True if the side table of ledgers holds this person's instead.
    package var hasLedger = false

    /// The person's newest row in the journal (J7).
    package var lastRow: Int64 = 0
    /// The person's newest decision in the store.
    package var lastDecision: Int64 = 0

    package init() {}

    /// True if some contact ever was.
    package var wasHeard: Bool { lastContact > .distantPast }

    /// Why the person is not expected; nil if they are active. Source: design §4 L1.
    package var notExpected: NotExpected? {
        if isRetired { return .retired }
        if isForgotten { return .forgotten }
        switch duty {
        case .none: return .noDuty
        case .offDuty: return .offDuty
        case .onDuty, .onMission: return sharing == .paused ? .paused : nil
        }
    }

    /// The next instant at which time alone changes something, but for forgetting.
    var lateness: WatchedTime {
        switch status {
        case .online: min(degradedDeadline, offlineDeadline)
        case .degraded, .unknown: offlineDeadline
        case .offline: .distantFuture
        }
    }
}
