/// Decisions as lines of JSON, byte for byte the same for the same decisions. Source: F5.
package enum DecisionLine {
    /// Appends one line and its line feed; nothing for what a replay does not print: who was told,
    /// what somebody did, who came and left, and the alerts about ourselves.
    package static func append(
        _ decision: Decision, _ engine: Engine, to output: inout [UInt8]
    ) {
        append(decision, id: { engine.roster.id($0) }, to: &output)
    }

    /// Appends one line and its line feed, about people whose ids `id` knows by their numbers;
    /// nothing for what a replay does not print.
    package static func append(
        _ decision: Decision, id: (Int) -> ArraySlice<UInt8>, to output: inout [UInt8]
    ) {
        switch decision {
        case .notice, .mute, .wake, .person, .action, .delivery, .push: return
        case .nudge(_, _, let report) where report.kind == .followed: return
        case .alert(_, let report) where !report.key.name.isReplayed: return
        case .status(let at, let number, let from, let to, let origin):
            begin(at, "status", &output)
            responder(id(number), &output)
            text(",\"from\":", &output)
            JSONWriter.word(from?.word ?? "NOT_EXPECTED", to: &output)
            text(",\"to\":", &output)
            JSONWriter.word(to?.word ?? "NOT_EXPECTED", to: &output)
            text(",\"origin\":", &output)
            JSONWriter.word(origin.word, to: &output)
        case .gap(let at, let number, let gap):
            begin(at, "gap", &output)
            responder(id(number), &output)
            GapEvidence.appendMembers(gap.report, to: &output)
        case .nudge(let at, let number, let report):
            begin(at, "nudge", &output)
            responder(id(number), &output)
            text(
                report.kind == .send ? ",\"decision\":\"send\"" : ",\"decision\":\"hold\"",
                &output)
            if let reason = report.reason {
                text(",\"reason\":", &output)
                JSONWriter.word(reason.word, to: &output)
            }
        case .alert(let at, let report):
            begin(at, "alert", &output)
            AlertLine.append(report, to: &output)
        case .blind(let at, let begins, let since, let reason):
            begin(at, "blind", &output)
            text(
                begins ? ",\"state\":\"begin\",\"since\":\"" : ",\"state\":\"end\",\"since\":\"",
                &output)
            RFC3339.append(since, to: &output)
            text("\",\"reason\":", &output)
            JSONWriter.word(reason.word, to: &output)
        case .skew(let at, let report):
            begin(at, "skew", &output)
            text(",\"source\":", &output)
            JSONWriter.string(report.source, to: &output)
            text(",\"state\":", &output)
            JSONWriter.word(report.state.word, to: &output)
            text(",\"skew_ms\":", &output)
            JSONWriter.integer(report.skew.count, to: &output)
            text(",\"correction_ms\":", &output)
            JSONWriter.integer(report.correction.count, to: &output)
        case .update(let at, let number, let update, let outcome):
            begin(at, "update", &output)
            responder(id(number), &output)
            if update.isUnsequenced, let captured = update.capturedAt {
                text(",\"captured_at\":\"", &output)
                RFC3339.append(captured, to: &output)
                text("\"", &output)
            } else {
                text(",\"sequence\":", &output)
                JSONWriter.integer(update.sequence, to: &output)
            }
            text(",\"outcome\":", &output)
            JSONWriter.word(outcome.word, to: &output)
        }
        text("}\n", &output)
    }

    private static func begin(_ at: Timestamp, _ kind: StaticString, _ output: inout [UInt8]) {
        text("{\"at\":\"", &output)
        RFC3339.append(at, to: &output)
        text("\",\"kind\":", &output)
        JSONWriter.word(kind, to: &output)
    }

    private static func responder(_ id: ArraySlice<UInt8>, _ output: inout [UInt8]) {
        text(",\"responder_id\":", &output)
        JSONWriter.string(id, to: &output)
    }

    private static func text(_ text: StaticString, _ output: inout [UInt8]) {
        JSONWriter.raw(text, to: &output)
    }
}
