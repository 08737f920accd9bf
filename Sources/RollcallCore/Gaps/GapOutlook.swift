/// The outlook of an open gap, by gaps like it: when people usually return, and what such gaps turn
/// out to be. Source: P7.
package struct GapOutlook: Equatable, Sendable {
    /// Gaps below which nothing is told: so few say nothing.
    package static let basisMin = 20

    /// Nil where there are too few.
    package var usualReturn: UsualReturn?
    /// Nil where there are too few.
    package var odds: GapOdds?

    /// An outlook that tells nothing.
    package init() {}
}

/// The usual time from the opening of a gap to the return.
package struct UsualReturn: Equatable, Sendable {
    /// The people whose gaps it rests on.
    package enum Basis: Sendable {
        /// The person's own of the same suspicion.
        case responder
        /// Those of phones of the same platform and manufacturer, of the same suspicion.
        case phones

        /// The word in JSON.
        package var word: StaticString { self == .responder ? "responder" : "phones" }
    }

    package var basis: Basis
    /// Observed time.
    package var median: Milliseconds
    /// The number of gaps that it is the median of.
    package var gaps: Int

    /// The median of lengths in any order; nil if there are too few.
    package init?(of basis: Basis, _ lengths: [Milliseconds]) {
        guard lengths.count >= GapOutlook.basisMin else { return nil }
        let sorted = lengths.map(\.count).sorted()
        let low = sorted[(sorted.count - 1) / 2]
        median = Milliseconds(low + (sorted[sorted.count / 2] - low) / 2)
        gaps = sorted.count
        self.basis = basis
    }
}

/// The verdicts that followed a suspicion.
package struct GapOdds: Equatable, Sendable {
    /// The gaps that it rests on: the narrowest of which there are enough.
    package enum Basis: Sendable {
        /// Those of the same suspicion, platform and manufacturer.
        case manufacturer
        /// Those of the same suspicion and platform.
        case platform
        /// Those of the same suspicion.
        case suspicion

        /// The word in JSON.
        package var word: StaticString {
            switch self {
            case .manufacturer: "manufacturer"
            case .platform: "platform"
            case .suspicion: "suspicion"
            }
        }
    }

    package var basis: Basis
    /// By verdict.
    private var counts = [Int](repeating: 0, count: GapVerdict.allCases.count)
    /// The number of verdicts.
    package private(set) var all = 0

    /// The odds by verdicts in any order; nil if there are too few.
    init?(of basis: Basis, _ verdicts: some Sequence<GapVerdict>) {
        self.basis = basis
        for verdict in verdicts {
            counts[Int(verdict.rawValue)] += 1
            all += 1
        }
        guard all >= GapOutlook.basisMin else { return nil }
    }

    /// Returns how often this verdict followed.
    package func count(_ verdict: GapVerdict) -> Int { counts[Int(verdict.rawValue)] }

    /// The verdicts that followed, most often first.
    package var verdicts: [(verdict: GapVerdict, count: Int)] {
        GapVerdict.allCases.map { (verdict: $0, count: count($0)) }.filter { $0.count > 0 }
            .sorted { ($1.count, $0.verdict.rawValue) < ($0.count, $1.verdict.rawValue) }
    }
}
