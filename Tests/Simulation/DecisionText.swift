import RollcallCore

extension StoryDecision {
    /// The line that `rollcall replay` prints of it; of a gap without the evidence.
    var text: String {
        switch self {
        case .status(let at, let id, let from, let to, let origin):
            begin(at, "status") + ",\"responder_id\":\(quoted(id)),\"from\":\"\(from)\""
                + ",\"to\":\"\(to)\",\"origin\":\"\(origin)\"}"
        case .blind(let at, let begins, let since, let reason):
            begin(at, "blind") + ",\"state\":\"\(begins ? "begin" : "end")\""
                + ",\"since\":\"\(RFC3339.string(Timestamp(milliseconds: since)))\""
                + ",\"reason\":\"\(reason)\"}"
        case .gap(let at, let id, let state, let suspected, let verdict):
            begin(at, "gap") + ",\"responder_id\":\(quoted(id)),\"state\":\"\(state)\""
                + ",\"suspected\":\"\(suspected)\""
                + (verdict.map { ",\"verdict\":\"\($0)\"" } ?? "") + "}"
        case .alert(let at, let name, let state, let labels, let value):
            begin(at, "alert") + ",\"alertname\":\"\(name)\",\"state\":\"\(state)\""
                + ",\"labels\":\(labels),\"value\":\(value)}"
        case .notice(let at, let receiver, let kind, let alerts):
            begin(at, "notice") + ",\"receiver\":\(quoted(receiver)),\"what\":\"\(kind)\""
                + ",\"alerts\":\"\(alerts.map { "\($0.incident) \($0.alert)" })\"}"
        case .mute(let at, let receiver, let alert, let reason):
            begin(at, "mute") + ",\"receiver\":\(quoted(receiver)),\"alert\":\"\(alert)\""
                + ",\"reason\":\"\(reason)\"}"
        case .take(let at, let incident, let answer, let until):
            begin(at, "take") + ",\"incident\":\(incident),\"answer\":\"\(answer)\"" + end(until)
        case .ask(let at, let id, let answer, let until):
            begin(at, "ask") + ",\"responder_id\":\(quoted(id)),\"answer\":\"\(answer)\""
                + end(until)
        case .nudge(let at, let id, let decision, let reason):
            begin(at, "nudge")
                + ",\"responder_id\":\(quoted(id)),\"decision\":\"\(decision == "ask" ? "send" : decision)\""
                + (reason.map { ",\"reason\":\"\($0)\"" } ?? "") + "}"
        case .skew(let at, let source, let state, let skew, let correction):
            begin(at, "skew") + ",\"source\":\(quoted(source)),\"state\":\"\(state)\""
                + ",\"skew_ms\":\(skew),\"correction_ms\":\(correction)}"
        case .update(let at, let id, let sequence, let captured, let outcome):
            begin(at, "update") + ",\"responder_id\":\(quoted(id))"
                + (sequence.map { ",\"sequence\":\($0)" } ?? "")
                + (captured.map {
                    ",\"captured_at\":\"\(RFC3339.string(Timestamp(milliseconds: $0)))\""
                } ?? "") + ",\"outcome\":\"\(outcome)\"}"
        }
    }

    private func begin(_ at: Int64, _ kind: String) -> String {
        "{\"at\":\"\(RFC3339.string(Timestamp(milliseconds: at)))\",\"kind\":\"\(kind)\""
    }

    private func end(_ until: Int64?) -> String {
        guard let until else { return "}" }
        return ",\"until\":\"\(RFC3339.string(Timestamp(milliseconds: until)))\"}"
    }

    private func quoted(_ id: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.string(Array(id.utf8)[...], to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
