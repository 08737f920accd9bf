/// The purpose of a push. The raw values are stored.
package enum PushKind: UInt8, CaseIterable, Sendable {
    /// To be seen by the person (N6).
    case nudge = 0
    /// For the app alone: it takes a fix and goes back to sleep (N9).
    case wake = 1

    /// The word in labels and answers.
    package var word: StaticString { self == .nudge ? "nudge" : "wake" }
}

/// The end that a push came to. The raw values are stored. Source: N7.
package enum PushOutcome: UInt8, CaseIterable, Sendable {
    /// The sink took it; of Expo: the receipt says that the phone's system did.
    case delivered = 0
    /// Nobody knows whether it went out. It is not sent again.
    case unknown = 1
    /// Refused until its time was over.
    case expired = 2
    /// Refused for good after it was taken: the receipt says so.
    case failed = 3
    /// The phone has no such app any more: nothing is sent to this token again.
    case unregistered = 4
    /// No longer wanted before it went out: located, paused, off duty.
    case dropped = 5
    /// The settings know no sink any more.
    case removed = 6

    /// The word in labels and answers.
    package var word: StaticString {
        switch self {
        case .delivered: "delivered"
        case .unknown: "unknown"
        case .expired: "expired"
        case .failed: "failed"
        case .unregistered: "unregistered"
        case .dropped: "dropped"
        case .removed: "removed"
        }
    }
}

/// The end of a push, as the engine learns of it. Source: J1, `outcome`.
package struct PushEnd: Equatable, Sendable {
    /// The push's number.
    package var number: Int64
    /// The number of the person whom it was for.
    package var person: Int
    package var kind: PushKind
    package var outcome: PushOutcome
    /// `StableHash` of the token it was sent to; 0 if none was.
    package var token: UInt64

    /// The end of push `number`, which was for `person`.
    package init(
        number: Int64, person: Int, kind: PushKind, outcome: PushOutcome, token: UInt64 = 0
    ) {
        self.number = number
        self.person = person
        self.kind = kind
        self.outcome = outcome
        self.token = token
    }

    /// The end as the journal keeps it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The end that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init(number: 0, person: 0, kind: .nudge, outcome: .unknown)
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&person)
        archive.code(&kind)
        archive.code(&outcome)
        archive.code(&token)
    }
}
