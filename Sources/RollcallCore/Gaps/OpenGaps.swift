/// The gaps that are open and count, by what is suspected: kept as they change, so that a question
/// need not look at everybody who is silent. Source: C1, §13 D7.
///
/// Blindness does not matter here: somebody who cannot be reached is silent, whoever watched.
package struct OpenGaps: Equatable, Sendable {
    private var counts = [Int](repeating: 0, count: GapCause.allCases.count)

    init() {}

    /// Returns the number of open gaps under one suspicion.
    package func count(_ cause: GapCause) -> Int { counts[Int(cause.rawValue)] }

    /// The number of open gaps.
    package var all: Int { counts.reduce(0, +) }

    /// Somebody's gap is another one now; nil is none.
    mutating func change(from before: Gap?, to after: Gap?) {
        if let before, before.isOpen { counts[Int(before.report.suspected.rawValue)] -= 1 }
        if let after, after.isOpen { counts[Int(after.report.suspected.rawValue)] += 1 }
    }
}

extension Gap {
    /// True from OFFLINE to the return.
    fileprivate var isOpen: Bool { isCounted && due == nil }
}
