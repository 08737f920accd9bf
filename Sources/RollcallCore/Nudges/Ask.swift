/// Somebody's wish that a person reconnects. Source: R3.
package enum AskCall: Equatable, Sendable {
    /// The person, and the member of a circle who asks, as they came; nil for an operator.
    case ids([UInt8], by: [UInt8]?)
    /// Both as people's numbers, as the journal keeps them: no name is in it. Below 0 if nobody is called so.
    case numbers(Int, by: Int?)

    /// True if an operator asks, which is no sign of life of any source.
    package var isOperators: Bool {
        switch self {
        case .ids(_, let asker): asker == nil
        case .numbers(_, let asker): asker == nil
        }
    }

    /// The call in numbers as the journal keeps it, with the source that it came from.
    package func journalBytes(_ source: [UInt8]) -> [UInt8] {
        var (person, asker): (Int, Int?) = (-1, isOperators ? nil : -1)
        if case .numbers(let number, let by) = self { (person, asker) = (number, by) }
        var source = source
        return Archive.bytes { archive in
            archive.code(&person)
            archive.code(&asker, empty: -1) { $0.code(&$1) }
            archive.code(&source)
        }
    }

    /// Returns the call and the source that `journalBytes` were made of; nil if they are damaged.
    package static func reading(_ journalBytes: [UInt8]) -> (call: AskCall, source: [UInt8])? {
        var (person, asker, source): (Int, Int?, [UInt8]) = (-1, nil, [])
        let isWhole = Archive.reads(part: journalBytes) { archive in
            archive.code(&person)
            archive.code(&asker, empty: -1) { $0.code(&$1) }
            archive.code(&source)
        }
        return isWhole ? (.numbers(person, by: asker), source) : nil
    }
}

/// The limits of asking for one person, whoever asks. Source: R3.
enum AskLimits {
    /// Between two asks at least, by the wall; so long they are not nudged besides.
    static let interval = Milliseconds.seconds(3600)
    /// Asks within `within` at most.
    static let countMax = 6
    static let within = Milliseconds.seconds(24 * 3600)
    /// A location this young need not be asked for, however often one is expected.
    static let freshFor = Milliseconds.seconds(60)
}

/// The result of asking for somebody.
package enum AskResult: Equatable, Sendable {
    /// A push goes to them.
    case send
    /// A push would, but for a dry run.
    case dryRun
    /// Not now, for a reason.
    case hold(NudgeReason)
    /// Whoever asks is in no circle of theirs.
    case outsider
    /// Nudges are disabled: nothing is decided (N10).
    case disabled

    /// True if it is an ask that counts against further ones.
    package var isSent: Bool { self == .send || self == .dryRun }
}

/// The decision about somebody who was asked for.
package struct AskAnswer: Equatable, Sendable {
    /// The person's number.
    package var person: Int
    /// The number of the member who asks; nil for an operator.
    package var asker: Int?
    package var result = AskResult.hold(.blind)
    /// The push's number; 0 without one.
    package var push: Int64 = 0
    /// Of `throttled`: when it ends at the earliest, by the wall.
    package var until: Timestamp?

    init(person: Int, asker: Int?) {
        self.person = person
        self.asker = asker
    }
}
