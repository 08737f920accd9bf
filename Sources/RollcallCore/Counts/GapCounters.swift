/// Gaps and verdicts counted together, so that the guess is graded by the outcome. Source: design
/// §5 C3, §8.
///
/// A gap of which too much was blind is held against nobody: it is counted apart (D5).
package struct GapCounters: Equatable, Sendable {
    private static let platforms = Platform.allCases.count
    private static let verdicts = GapVerdict.allCases.count

    /// By cause × platform.
    private var gaps = [Int](repeating: 0, count: GapCause.allCases.count * platforms)
    /// By suspicion × verdict × platform.
    private var evaluated = [Int](
        repeating: 0, count: GapCause.allCases.count * verdicts * platforms)
    /// Observed time from opening to end, by verdict.
    private var lengths = [Histogram](
        repeating: Histogram(bounds: Histogram.gapBounds), count: verdicts)
    /// Gaps of which too much had been blind when they reached OFFLINE.
    package private(set) var gapsBlind = 0
    /// Verdicts of gaps of which too much was blind.
    package private(set) var verdictsBlind = 0

    /// The counts of the verdicts, by the maker of the phone (P6).
    package private(set) var makers = MakerCounters()

    package init() {}

    /// Gaps that reached OFFLINE, under the suspicion that they had then.
    package func gaps(_ cause: GapCause, _ platform: Platform) -> Int {
        gaps[Int(cause.rawValue) * Self.platforms + Int(platform.rawValue)]
    }

    /// Verdicts, by the last suspicion before them.
    package func verdicts(
        _ suspected: GapCause, _ verdict: GapVerdict, _ platform: Platform
    ) -> Int {
        evaluated[Self.index(suspected, verdict, platform)]
    }

    /// Lengths of the gaps with this verdict.
    package func lengths(_ verdict: GapVerdict) -> Histogram { lengths[Int(verdict.rawValue)] }

    private static func index(
        _ suspected: GapCause, _ verdict: GapVerdict, _ platform: Platform
    ) -> Int {
        (Int(suspected.rawValue) * verdicts + Int(verdict.rawValue)) * platforms
            + Int(platform.rawValue)
    }

    /// A gap reached OFFLINE.
    mutating func count(_ report: GapReport) {
        guard !report.isLeftOut else { return gapsBlind += 1 }
        let platform = Int(report.facts.platform.rawValue)
        gaps[Int(report.suspected.rawValue) * Self.platforms + platform] += 1
    }

    /// A gap has its verdict.
    mutating func evaluate(_ report: GapReport) {
        guard let verdict = report.verdict else { return }
        guard !report.isLeftOut else { return verdictsBlind += 1 }
        evaluated[Self.index(report.suspected, verdict, report.facts.platform)] += 1
        makers.count(verdict, of: report.facts.manufacturer, length: report.length)
        lengths[Int(verdict.rawValue)].observe(report.length.count)
    }

    /// Nobody has a phone of this maker any more, and somebody was erased: its name goes.
    mutating func forget(maker: [UInt8]) { makers.forget(maker) }

    mutating func code(_ archive: inout Archive) {
        archive.code(&gaps)
        archive.code(&evaluated)
        for index in lengths.indices { lengths[index].code(&archive) }
        archive.code(&gapsBlind)
        archive.code(&verdictsBlind)
        let empty = GapCounters()
        if gaps.count != empty.gaps.count || evaluated.count != empty.evaluated.count {
            archive.refuse()
            self = empty
        }
    }

    /// Behind what versions before 7 wrote.
    mutating func codeMakers(_ archive: inout Archive) { makers.code(&archive) }
}
