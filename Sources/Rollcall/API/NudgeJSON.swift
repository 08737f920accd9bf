import RollcallCore

/// An entry of the nudge ledger as JSON. Source: design §7 N8.
enum NudgeJSON {
    /// Appends the members of a report behind others.
    static func appendMembers(_ report: NudgeReport, to body: inout [UInt8]) {
        switch report.kind {
        case .send: ResponderJSON.word("decision", report.isDryRun ? "dry_run" : "send", to: &body)
        case .hold: ResponderJSON.word("decision", "hold", to: &body)
        case .followed: break
        }
        if let reason = report.reason { ResponderJSON.word("reason", reason.word, to: &body) }
        if let until = report.until { ResponderJSON.time("until", until, to: &body) }
        if let outcome = report.outcome { ResponderJSON.word("followed", outcome.word, to: &body) }
        guard report.kind != .followed else { return }
        ResponderJSON.word("cause", report.facts.cause.word, to: &body)
        JSONWriter.raw(",\"stale_seconds\":", to: &body)
        JSONWriter.integer(report.facts.stale.count / 1000, to: &body)
        if report.facts.lastLocationAt > .distantPast {
            ResponderJSON.time("last_location_at", report.facts.lastLocationAt, to: &body)
        }
    }
}
