import RollcallCore

/// The decisions by which entries of the ledger are asked for.
package enum NudgeChoice: CaseIterable, Sendable {
    case send, hold, dryRun

    /// The word in queries and answers.
    package var word: StaticString {
        switch self {
        case .send: "send"
        case .hold: "hold"
        case .dryRun: "dry_run"
        }
    }

    /// Nil for what is no decision.
    package init?(_ report: NudgeReport) {
        switch report.kind {
        case .send: self = report.isDryRun ? .dryRun : .send
        case .hold: self = .hold
        case .followed: return nil
        }
    }
}
