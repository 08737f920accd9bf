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

    /// Somebody's gap is open under another suspicion now; nil is one that is not open, or none.
    mutating func change(from before: GapCause?, to after: GapCause?) {
        if let before { counts[Int(before.rawValue)] -= 1 }
        if let after { counts[Int(after.rawValue)] += 1 }
    }
}

extension Gap {
    /// The suspicion under which it is open, which it is from OFFLINE to the return; nil otherwise.
    var openCause: GapCause? { isCounted && due == nil ? kept.report.suspected : nil }
}
