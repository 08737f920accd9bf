/// The state of a source's clock against ours. The raw values are stored. Source: D10.
///
///     right ──► unsure ──► corrected        two minutes in a row agree
///       ▲          │            │
///       └──────────┴────────────┘           they agree that it is right again
///     any ──► too_far                       beyond 5 min
///     any ──► unmeasured                    nobody said for 15 min when a request was sent
package enum SkewState: UInt8, CaseIterable, Sendable {
    /// Within 2 s of ours.
    case right = 0
    /// Beyond 2 s, and no second minute has said the same.
    case unsure = 1
    /// The skew is added to the times that the source tells.
    case corrected = 2
    /// Beyond 5 min: nothing is added.
    case tooFar = 3
    /// Nothing is known any more.
    case unmeasured = 4

    /// The word in answers and lines.
    package var word: StaticString {
        switch self {
        case .right: "right"
        case .unsure: "unsure"
        case .corrected: "corrected"
        case .tooFar: "too_far"
        case .unmeasured: "unmeasured"
        }
    }
}

/// A change about the clock of a source. Source: D10.
package struct SkewReport: Equatable, Sendable {
    /// The source, as bytes.
    package var source: [UInt8] = []
    package var state = SkewState.right
    /// By how much its clock is behind ours, as measured last; below 0 it is ahead.
    package var skew = Milliseconds(0)
    /// The span that is added to its times from now on.
    package var correction = Milliseconds(0)

    /// The report as the store keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The report that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init()
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    /// A report of what is given.
    package init(
        source: [UInt8] = [], state: SkewState = .right, skew: Milliseconds = Milliseconds(0),
        correction: Milliseconds = Milliseconds(0)
    ) {
        self.source = source
        self.state = state
        self.skew = skew
        self.correction = correction
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&source)
        archive.code(&state)
        archive.code(&skew)
        archive.code(&correction)
    }
}
