/// The reason why somebody is not nudged. When several reasons hold, the first in this order is
/// told (F32). The raw values are stored.
package enum NudgeReason: UInt8, CaseIterable, Comparable, Sendable {
    /// Not expected to share: only answered, never written.
    case offDuty = 0
    /// They paused sharing: only answered, never written.
    case paused = 1
    /// Nobody else of their circles is active (N3).
    case solo = 2
    /// Nobody told where a push would reach them; only where the sink needs to know.
    case noToken = 3
    /// Nudged within the interval, or nudges are frozen (N2).
    case throttled = 4
    /// So many are nudged that they have to wait their turn (N10).
    case rate = 5
    /// We cannot see, or could not until lately (F31, F32).
    case blind = 6
    /// Located within the time in which they are expected: only answered to who asks for them (R3).
    case fresh = 7
    /// Nobody else of their circles is active in this cell, and it is not known yet of the others (K3).
    case pendingPeers = 8

    package static func < (a: NudgeReason, b: NudgeReason) -> Bool { a.rawValue < b.rawValue }

    /// Those that are written into the ledger.
    package static let written: [NudgeReason] = [
        .solo, .noToken, .throttled, .rate, .blind, .pendingPeers,
    ]

    /// True of what is held against somebody in a cell alone.
    package var isOfCells: Bool { self == .pendingPeers }

    /// The word in lines, answers and labels.
    package var word: StaticString {
        switch self {
        case .offDuty: "off_duty"
        case .paused: "paused"
        case .solo: "solo"
        case .noToken: "no_token"
        case .throttled: "throttled"
        case .rate: "rate"
        case .blind: "blind"
        case .fresh: "fresh"
        case .pendingPeers: "pending_company"
        }
    }
}

/// The outcome within half an hour of a nudge (N8). The raw values are stored.
package enum NudgeOutcome: UInt8, CaseIterable, Sendable {
    /// A location that was captured after it.
    case located = 0
    /// Contact, but no newer location.
    case contact = 1
    /// Nothing.
    case silent = 2
    /// Nothing that we saw; but part of the time we were blind.
    case unseen = 3

    /// The word in answers and labels.
    package var word: StaticString {
        switch self {
        case .located: "located"
        case .contact: "contact"
        case .silent: "silent"
        case .unseen: "unseen"
        }
    }
}

/// The facts known when a nudge is decided: its text is made of them.
package struct NudgeFacts: Equatable, Sendable {
    /// The cause of their silence, as far as it is suspected.
    package var cause = GapCause.unexplained
    package var platform = Platform.unknown
    package var lastLocationAt = Timestamp.distantPast
    /// Observed time that the location is old, from becoming active if that is later (F31).
    package var stale = Milliseconds(0)
    /// True if somebody asked for it (R3).
    package var isAsked = false

    package init() {}

    mutating func code(_ archive: inout Archive) {
        archive.code(&cause)
        archive.code(&platform)
        archive.code(&lastLocationAt)
        archive.code(&stale)
        archive.code(&isAsked)
    }
}

/// An entry of the nudge ledger. Source: N8.
package struct NudgeReport: Equatable, Sendable {
    /// The kind of a decision about a nudge, or of what became known. The raw values are stored.
    package enum Kind: UInt8, Sendable {
        /// To be nudged.
        case send = 0
        /// Not to be nudged, for `reason`.
        case hold = 1
        /// An outcome of a nudge; no decision.
        case followed = 2
    }

    package var kind: Kind
    /// The push's number; 0 of a hold.
    package var number: Int64 = 0
    /// True in a dry run: nothing is sent.
    package var isDryRun = false
    /// Of a hold.
    package var reason: NudgeReason?
    /// Of `throttled`: when it ends at the earliest, by the wall.
    package var until: Timestamp?
    /// Of what followed.
    package var outcome: NudgeOutcome?
    package var facts = NudgeFacts()

    /// A report with nothing but its kind.
    package init(_ kind: Kind) { self.kind = kind }

    /// The report as the store keeps it; nobody's id is in it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The report that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init(.hold)
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&kind)
        archive.code(&number)
        archive.code(&isDryRun)
        archive.code(&reason, empty: .solo) { $0.code(&$1) }
        archive.code(&until, empty: .distantPast) { $0.code(&$1) }
        archive.code(&outcome, empty: .silent) { $0.code(&$1) }
        facts.code(&archive)
    }
}
