/// A mute of notifications: a pager user's silence, not a gap. Source: A7.
package struct Silence: Equatable, Sendable {
    /// Silences in force at most.
    package static let countMax = 256
    /// The time for which one that is over is still listed.
    static let listedFor = Milliseconds.seconds(24 * 3600)
    /// Those that are over and listed at most.
    static let overMax = 256

    /// Rising from 1 on in a store.
    package internal(set) var number: Int64 = 0
    package var matchers: [LabelMatcher]
    /// The instant at which it began.
    package internal(set) var startsAt = Timestamp.distantPast
    /// The instant at which it ends; once it is over, at which it did.
    package internal(set) var endsAt: Timestamp
    package var author: [UInt8]
    package var comment: [UInt8]
    /// The name that whoever asked for it gave it, so that asking again does not make another;
    /// empty for none.
    package var requestID: [UInt8] = []
    /// A hash of what was asked for under `requestID`.
    package var fingerprint: Int64 = 0
    /// The end in running time: a step of the wall does not move it (F9).
    var ends = RunningTime.distantFuture

    /// A silence that begins when it is folded.
    package init(
        matchers: [LabelMatcher], endsAt: Timestamp, author: [UInt8], comment: [UInt8]
    ) {
        self.matchers = matchers
        self.endsAt = endsAt
        self.author = author
        self.comment = comment
    }

    /// The silence as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes {
            copy.code(&$0)
            copy.codeRequest(&$0)
        }
    }

    /// The silence that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self = .empty
        let isWhole = Archive.reads(part: journalBytes) {
            code(&$0)
            // Rows from before version 6 end here.
            codeRequest(&$0)
        }
        if !isWhole { return nil }
    }

    static let empty = Silence(matchers: [], endsAt: .distantPast, author: [], comment: [])

    mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&matchers, empty: LabelMatcher(name: [], values: [])) { $1.code(&$0) }
        archive.code(&startsAt)
        archive.code(&endsAt)
        archive.code(&author)
        archive.code(&comment)
        archive.code(&ends)
    }

    /// Codes what version 6 added.
    mutating func codeRequest(_ archive: inout Archive) {
        archive.code(&requestID)
        archive.code(&fingerprint)
    }
}

/// A change of the silences that somebody asks for.
package enum SilenceChange: Equatable, Sendable {
    case begin(Silence)
    /// Ends the one of this number.
    case end(Int64)
}

/// The reason why a change of silences was not taken.
package enum SilenceFault: Equatable, Sendable {
    /// None in force has this number.
    case unknown
    /// `Silence.countMax` are in force.
    case tooMany
    /// Its end has passed already.
    case over
    /// Something else was asked for under its `requestID`.
    case otherRequest
}
