/// A report that a gap and what is decided of it have together: of half a million gaps that open at
/// one instant each is written down once. Nobody changes it; who says something else writes another.
final class KeptReport: Equatable, Sendable {
    let report: GapReport

    init(_ report: GapReport) { self.report = report }

    /// The report of a gap that nothing is known of.
    static let empty = KeptReport(GapReport())

    static func == (a: KeptReport, b: KeptReport) -> Bool { a === b || a.report == b.report }
}

/// One state of a gap as it is decided. Source: Contract/Gaps, F5.
package struct GapDecision: Equatable, Sendable {
    let kept: KeptReport
    /// The state that is decided.
    package let state: GapState
    /// Only with state `verdict`.
    package let verdict: GapVerdict?

    /// A gap's report in a state of its own.
    init(_ kept: KeptReport, _ state: GapState, verdict: GapVerdict? = nil) {
        self.kept = kept
        self.state = state
        self.verdict = verdict
    }

    /// The decision that a report tells.
    package init(_ report: GapReport) {
        self.init(KeptReport(report), report.state, verdict: report.verdict)
    }

    /// The gap's number; 0 until it counts.
    package var number: Int64 { kept.report.number }

    /// The report, in the state that is decided.
    package var report: GapReport {
        var report = kept.report
        report.state = state
        report.verdict = verdict
        return report
    }

    package static func == (a: GapDecision, b: GapDecision) -> Bool {
        guard a.state == b.state, a.verdict == b.verdict else { return false }
        // The state of what is kept is not the one that is decided.
        return a.kept === b.kept || a.report == b.report
    }
}
