/// The watch's knowledge of one person: numbers and places only, so that a page of them is copied
/// as plain memory (J5). What few people have lives in the engine's side tables.
package struct Responder: Sendable {
    // Fields stand so that there is no hole between two, which would be there a million times.

    // MARK: Eight bytes

    /// The factor that multiplies the thresholds: as of the last contact, 1 before any (L4, F19).
    package var factor = 1.0
    /// The install of which one range was received.
    package var installID: UInt64 = 0
    /// The range's end; −1 for none.
    package private(set) var highestSequence: Int64 = -1
    /// The sequence of the batch that told an empty queue last (F25).
    var emptyQueueSequence: Int64 = -1

    // MARK: Four bytes

    /// Sequences in the range; 0 for none.
    private var sequenceCount: UInt32 = 0
    /// The place of the id in the roster's bytes; an erased person has none.
    package var idOffset: UInt32 = 0
    package var region: UInt32 = 0
    package var circles: UInt32 = 0
    package var telemetry = Telemetry()
    /// Ten-thousandths of a full battery; −1 not told.
    package var battery: Int16 = -1
    /// The times at which each fact was last told, and by which batch (F15); see
    /// `Engine.factOverflows`.
    var factTimes = FactTimes()

    // MARK: Six bytes

    @CompactInstant package var lastContact = ObservedTime.distantPast
    /// The newest location's instant, by the phone's clock.
    @CompactInstant package var lastLocation = ObservedTime.distantPast
    /// Since when dark time is not booked, or from when on they will be dark.
    @CompactInstant var darkFrom = ObservedTime.distantFuture
    @CompactInstant package var degradedDeadline = ObservedTime.distantFuture
    @CompactInstant package var offlineDeadline = ObservedTime.distantFuture
    /// Wall time since which the status holds, for display.
    @CompactInstant package var since = Timestamp.distantPast
    /// Wall time of the last contact, for display and `reachable`.
    @CompactInstant package var lastContactAt = Timestamp.distantPast
    /// The newest location's instant by the wall, for display and intervals.
    @CompactInstant package var lastLocationAt = Timestamp.distantPast
    @CompactInstant package var newestCapturedAt = Timestamp.distantPast
    /// The instant at which the last contact was folded: what is shown is confirmed only by one
    /// after the last blindness (L11).
    @CompactInstant package var contactFolded = RunningTime.distantPast
    @CompactInstant package var activeSince = ObservedTime.distantPast
    /// The instant at which the last grace was granted to this person: deadlines count from there
    /// at the earliest. Who is OFFLINE when one is granted gets none (B5).
    @CompactInstant package var grace = ObservedTime.distantPast
    /// The instant at which the status last became OFFLINE, from which L10 counts.
    @CompactInstant package var offlineSince = ObservedTime.distantPast
    /// The instant at which the last batch that told an empty queue was received (F25).
    @CompactInstant var emptyQueueAt = ObservedTime.distantPast
    /// The person's newest row in the journal (J7).
    @CompactNumber package var lastRow: Int64 = 0
    /// The person's newest decision in the store.
    @CompactNumber package var lastDecision: Int64 = 0

    // MARK: Two bytes and less

    package var osVersion: UInt16 = 0
    package var appVersion: UInt16 = 0
    /// Names of the same table as the versions.
    package var manufacturer: UInt16 = 0
    package var model: UInt16 = 0
    /// Seconds that the phone promised until its next contact, as told; 0 for none (P5).
    package var promise: UInt16 = 0
    private var marks = Marks()
    package var idCount: UInt8 = 0
    private var words = PersonWords()

    package init() {}

    /// True only for those who said `silent` (N5).
    package var isNudgedSilently: Bool { marks[.nudgedSilently] }

    /// 0 default, 1 silent (N5).
    package var nudgeSound: UInt8 {
        get { isNudgedSilently ? 1 : 0 }
        set { marks[.nudgedSilently] = newValue == 1 }
    }

    package var duty: DutyState {
        get { words.duty }
        set { words.duty = newValue }
    }

    package var platform: Platform {
        get { words.platform }
        set { words.platform = newValue }
    }

    package var status: Status {
        get { words.status }
        set { words.status = newValue }
    }

    /// Says whether the person shares at the moment.
    package var sharing: Sharing {
        get { marks[.paused] ? .paused : .active }
        set { marks[.paused] = newValue == .paused }
    }

    /// ONLINE or OFFLINE, whichever they were last since they are expected (A3).
    var lastExtreme: Status? {
        get { marks[.wasOnline] ? .online : marks[.wasOffline] ? .offline : nil }
        set {
            marks[.wasOnline] = newValue == .online
            marks[.wasOffline] = newValue == .offline
        }
    }

    /// True if the app was not before the person at the last contact: the profile of the background
    /// is in force, where there is one (P5).
    package var isBehind: Bool {
        get { marks[.behind] }
        set { marks[.behind] = newValue }
    }

    /// The numbers of all names of the phone, each of which is in use once for it.
    package var phoneNames: InlineArray<4, UInt16> { [osVersion, appVersion, manufacturer, model] }

    /// True if some contact ever was.
    package var wasHeard: Bool { lastContact > .distantPast }

    /// The reason why the person is not expected; nil if they are active. Source: L1.
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
    var lateness: ObservedTime {
        switch status {
        case .online: min(degradedDeadline, offlineDeadline)
        case .degraded, .unknown: offlineDeadline
        case .offline: .distantFuture
        }
    }
}

extension Responder {
    /// The marks that are true of a person, a bit each.
    private struct Marks: OptionSet, Sendable {
        var rawValue: UInt16 = 0

        static let dutyByBackend = Marks(rawValue: 1)
        static let retired = Marks(rawValue: 1 << 1)
        static let forgotten = Marks(rawValue: 1 << 2)
        static let active = Marks(rawValue: 1 << 3)
        static let heard = Marks(rawValue: 1 << 4)
        static let flapping = Marks(rawValue: 1 << 5)
        static let stale = Marks(rawValue: 1 << 6)
        static let nudges = Marks(rawValue: 1 << 7)
        static let gap = Marks(rawValue: 1 << 8)
        static let dark = Marks(rawValue: 1 << 9)
        static let ledger = Marks(rawValue: 1 << 10)
        static let behind = Marks(rawValue: 1 << 11)
        static let nudgedSilently = Marks(rawValue: 1 << 12)
        static let paused = Marks(rawValue: 1 << 13)
        static let wasOnline = Marks(rawValue: 1 << 14)
        static let wasOffline = Marks(rawValue: 1 << 15)

        subscript(mark: Marks) -> Bool {
            get { contains(mark) }
            set { if newValue { insert(mark) } else { remove(mark) } }
        }
    }

    /// True if the backend told the duty state, not a batch (F15).
    package var isDutyByBackend: Bool {
        get { marks[.dutyByBackend] }
        set { marks[.dutyByBackend] = newValue }
    }

    package var isRetired: Bool {
        get { marks[.retired] }
        set { marks[.retired] = newValue }
    }

    package var isForgotten: Bool {
        get { marks[.forgotten] }
        set { marks[.forgotten] = newValue }
    }

    package var isActive: Bool {
        get { marks[.active] }
        set { marks[.active] = newValue }
    }

    /// True once a contact counted since becoming active (L5, F19).
    package var isHeard: Bool {
        get { marks[.heard] }
        set { marks[.heard] = newValue }
    }

    /// True while they flap.
    package var isFlapping: Bool {
        get { marks[.flapping] }
        set { marks[.flapping] = newValue }
    }

    /// True while ResponderOffline counts them (R1).
    var isMissed: Bool {
        get { words.isMissed }
        set { words.isMissed = newValue }
    }

    /// True once the location was found too old, until it is young again (N1).
    var isStale: Bool {
        get { marks[.stale] }
        set { marks[.stale] = newValue }
    }

    /// True if something is remembered of their nudges.
    var hasNudges: Bool {
        get { marks[.nudges] }
        set { marks[.nudges] = newValue }
    }

    /// True while the engine follows a gap of theirs, open or waiting for its verdict.
    package var hasGap: Bool {
        get { marks[.gap] }
        set { marks[.gap] = newValue }
    }

    /// True once the last contact is older than the degraded threshold (C4).
    var isDark: Bool {
        get { marks[.dark] }
        set { marks[.dark] = newValue }
    }

    /// True if the side table of ledgers holds what was received from this person.
    package var hasLedger: Bool {
        get { marks[.ledger] }
        set { marks[.ledger] = newValue }
    }
}

// MARK: - The range of sequences

extension Responder {
    /// The one range received from the install; nil for none.
    package var sequences: ClosedRange<Int64>? {
        sequenceCount == 0 ? nil : (highestSequence - Int64(sequenceCount) + 1)...highestSequence
    }

    /// Keeps a range, or that there is none; false, and nothing has changed, if it holds more sequences
    /// than four bytes count. That one is the ledger's.
    mutating func keep(_ range: ClosedRange<Int64>?) -> Bool {
        guard let range else {
            (highestSequence, sequenceCount) = (-1, 0)
            return true
        }
        let others = UInt64(bitPattern: range.upperBound &- range.lowerBound)
        guard others < UInt64(UInt32.max) else { return false }
        (highestSequence, sequenceCount) = (range.upperBound, UInt32(others) + 1)
        return true
    }

    /// Takes the sequence behind the range, or the first one; false, and nothing has changed, for any
    /// other, and for one more than four bytes count.
    @inline(__always)
    mutating func takeNext(_ sequence: Int64) -> Bool {
        if sequenceCount > 0 {
            guard sequence == highestSequence &+ 1, sequence > highestSequence,
                sequenceCount < .max
            else { return false }
        }
        highestSequence = sequence
        sequenceCount += 1
        return true
    }
}

/// Words about a person, some bits each, and one mark.
private struct PersonWords: Sendable {
    private var bits =
        DutyState.none.rawValue | Platform.unknown.rawValue << 2
        | Status.unknown.rawValue << 4

    var duty: DutyState {
        get { DutyState(rawValue: bits & 3) ?? .none }
        set { bits = bits & ~3 | newValue.rawValue }
    }

    var platform: Platform {
        get { Platform(rawValue: bits >> 2 & 3) ?? .unknown }
        set { bits = bits & ~(3 << 2) | newValue.rawValue << 2 }
    }

    var status: Status {
        get { Status(rawValue: bits >> 4 & 3) ?? .unknown }
        set { bits = bits & ~(3 << 4) | newValue.rawValue << 4 }
    }

    var isMissed: Bool {
        get { bits & 1 << 6 != 0 }
        set { bits = bits & ~(1 << 6) | (newValue ? 1 << 6 : 0) }
    }
}
