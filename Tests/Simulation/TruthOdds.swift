import RollcallCore

/// What the odds of a suspicion were worth, by the Brier score: the squares of the differences between
/// what was said of each verdict and what came, summed up; 0 is a prophet's, 2 the worst. Beside it that
/// of the bare suspicion, which says one verdict and no other. Source: P7.
struct TruthOdds: Sendable {
    /// Verdicts that were compared.
    private(set) var count = 0
    private var odds = 0.0
    private var bare = 0.0

    /// Of the odds, a verdict on average.
    var ofOdds: Double { odds / Double(max(1, count)) }
    /// Of the bare suspicion.
    var ofSuspicion: Double { bare / Double(max(1, count)) }

    /// Compares what the gaps `past` say of a suspicion on a platform with the verdict, all by their
    /// words; nothing where they say nothing.
    mutating func take(suspected: String, verdict: String, platform: String, _ past: PastGaps) {
        var report = GapReport()
        report.suspected = GapCause.allCases.first { "\($0.word)" == suspected } ?? .unexplained
        report.facts.platform = Platform.allCases.first { "\($0.word)" == platform } ?? .unknown
        let now = RunningTime(milliseconds: 0)
        guard let odds = past.outlook(for: report, now: now, kept: .seconds(1)).odds else { return }
        count += 1
        let bare = Self.verdict(report.suspected)
        for word in GapVerdict.allCases {
            let came = "\(word.word)" == verdict ? 1.0 : 0.0
            let share = Double(odds.count(word)) / Double(odds.all)
            self.odds += (share - came) * (share - came)
            self.bare += (word == bare) == (came == 1) ? 0 : 1
        }
    }

    /// Adds what another part compared.
    mutating func add(_ other: TruthOdds) {
        count += other.count
        odds += other.odds
        bare += other.bare
    }

    /// The verdict that a suspicion amounts to.
    private static func verdict(_ cause: GapCause) -> GapVerdict {
        switch cause {
        case .permissionDenied: .permissionDenied
        case .locationServicesOff: .locationServicesOff
        case .noNetwork, .massGap: .network
        case .batteryEmpty, .lowPower, .appSuspended, .appTerminated: .appStopped
        case .neverHeard, .unexplained: .unexplained
        }
    }
}
