import RollcallCore

/// The events of a timeline as JSON. Never a coordinate: the store holds none.
enum TimelineJSON {
    /// A decision about the person, or about the watch.
    static func event(_ decision: Decision) -> [UInt8] {
        var body: [UInt8] = []
        switch decision {
        case .status(let at, _, let from, let to, let origin):
            begin(at, "status", to: &body)
            ResponderJSON.word("from", from?.word ?? "NOT_EXPECTED", to: &body)
            ResponderJSON.word("to", to?.word ?? "NOT_EXPECTED", to: &body)
            ResponderJSON.word("origin", origin.word, to: &body)
        case .gap(let at, _, let gap):
            begin(at, "gap", to: &body)
            GapEvidence.appendMembers(gap.report, to: &body)
        case .blind(let at, let begins, let since, let reason):
            begin(at, "blind", to: &body)
            ResponderJSON.word("state", begins ? "begin" : "end", to: &body)
            ResponderJSON.time("since", since, to: &body)
            ResponderJSON.word("reason", reason.word, to: &body)
        case .nudge(let at, _, let report):
            begin(at, "nudge", to: &body)
            NudgeJSON.appendMembers(report, to: &body)
        case .wake(let at, _, let push):
            begin(at, "wake", to: &body)
            JSONWriter.raw(",\"push\":", to: &body)
            JSONWriter.integer(push, to: &body)
        // None of them is a person's.
        case .alert(let at, _): begin(at, "alert", to: &body)
        case .notice(let at, _): begin(at, "notice", to: &body)
        case .mute(let at, _): begin(at, "mute", to: &body)
        case .skew(let at, _): begin(at, "skew", to: &body)
        case .update(let at, _, _, _): begin(at, "update", to: &body)
        case .person(let at, _): begin(at, "person", to: &body)
        case .action(let at, _): begin(at, "action", to: &body)
        case .delivery(let at, _): begin(at, "delivery", to: &body)
        case .push(let at, _): begin(at, "push", to: &body)
        }
        body.append(UInt8(ascii: "}"))
        return body
    }

    /// Returns what was told of the person, with its turn's wall time; nil for what tells nothing.
    static func event(_ item: Item, _ bytes: [UInt8], at: Timestamp) -> [UInt8]? {
        var body: [UInt8] = []
        switch item.kind {
        case .batch:
            begin(at, "contact", to: &body)
            ResponderJSON.time("received_at", item.reportedAt ?? at, to: &body)
            appendUpdates(item, bytes, to: &body)
            appendFacts(item, bytes, to: &body)
        case .transition:
            begin(at, "server", to: &body)
            ResponderJSON.word("from", item.from?.word ?? "UNKNOWN", to: &body)
            ResponderJSON.word("to", item.to?.word ?? "UNKNOWN", to: &body)
            ResponderJSON.time("told_at", item.reportedAt ?? at, to: &body)
        case .responder, .rosterEntry:
            begin(at, "told", to: &body)
            if let time = item.reportedAt { ResponderJSON.time("told_at", time, to: &body) }
            appendReported(item, bytes, to: &body)
            if let time = item.pausedUntil { ResponderJSON.time("paused_until", time, to: &body) }
        case .nobody: return nil
        }
        body.append(UInt8(ascii: "}"))
        return body
    }

    private static func begin(_ at: Timestamp, _ kind: StaticString, to body: inout [UInt8]) {
        JSONWriter.raw("{\"at\":\"", to: &body)
        RFC3339.append(at, to: &body)
        JSONWriter.raw("\"", to: &body)
        ResponderJSON.word("kind", kind, to: &body)
    }

    // MARK: - Updates

    private static func appendUpdates(_ item: Item, _ bytes: [UInt8], to body: inout [UInt8]) {
        var reader = UpdateReader(item)
        var sequences: ClosedRange<Int64>?
        var captured: ClosedRange<Int64>?
        var count: Int64 = 0
        var cached: Int64 = 0
        while let update = reader.next(bytes.span) {
            count += 1
            if !update.isUnsequenced { sequences = widened(sequences, to: update.sequence) }
            if let at = update.capturedAt { captured = widened(captured, to: at.milliseconds) }
            if update.isCached { cached += 1 }
        }
        number("updates", count, to: &body)
        if let sequences {
            JSONWriter.raw(",\"sequences\":[", to: &body)
            JSONWriter.integer(sequences.lowerBound, to: &body)
            body.append(UInt8(ascii: ","))
            JSONWriter.integer(sequences.upperBound, to: &body)
            body.append(UInt8(ascii: "]"))
        }
        if let captured {
            JSONWriter.raw(",\"captured\":{\"first\":\"", to: &body)
            RFC3339.append(Timestamp(milliseconds: captured.lowerBound), to: &body)
            JSONWriter.raw("\"", to: &body)
            ResponderJSON.time("last", Timestamp(milliseconds: captured.upperBound), to: &body)
            JSONWriter.raw("}", to: &body)
        }
        if cached > 0 { number("cached", cached, to: &body) }
    }

    private static func widened(
        _ range: ClosedRange<Int64>?, to value: Int64
    ) -> ClosedRange<Int64> {
        guard let range else { return value...value }
        return min(range.lowerBound, value)...max(range.upperBound, value)
    }

    private static func number(_ key: StaticString, _ value: Int64, to body: inout [UInt8]) {
        body.append(UInt8(ascii: ","))
        JSONWriter.word(key, to: &body)
        body.append(UInt8(ascii: ":"))
        JSONWriter.integer(value, to: &body)
    }

    // MARK: - Facts

    /// Appends what a batch said of the phone, as an object; none if it said nothing.
    private static func appendFacts(_ item: Item, _ bytes: [UInt8], to body: inout [UInt8]) {
        // Each member comes with a comma before it.
        var facts: [UInt8] = []
        appendReported(item, bytes, to: &facts)
        name("manufacturer", item.manufacturer, bytes, to: &facts)
        name("model", item.model, bytes, to: &facts)
        name("os_version", item.osVersion, bytes, to: &facts)
        name("app_version", item.appVersion, bytes, to: &facts)
        if let battery = item.battery {
            JSONWriter.raw(",\"battery_level\":", to: &facts)
            facts.append(contentsOf: "\(Double(battery) / 10_000)".utf8)
        }
        if let telemetry = item.telemetry {
            ResponderJSON.append(telemetry, to: &facts)
        }
        if item.promise > 0 {
            JSONWriter.raw(",\"next_expected_in\":", to: &facts)
            JSONWriter.integer(Int64(item.promise), to: &facts)
        }
        guard !facts.isEmpty else { return }
        JSONWriter.raw(",\"facts\":{", to: &body)
        body.append(contentsOf: facts.dropFirst())
        JSONWriter.raw("}", to: &body)
    }

    /// Appends what both phones and backends tell.
    private static func appendReported(_ item: Item, _ bytes: [UInt8], to body: inout [UInt8]) {
        if let duty = item.duty { ResponderJSON.word("duty_state", duty.word, to: &body) }
        name("region", item.region, bytes, to: &body)
        if let circles = item.circles {
            ResponderJSON.appendCircles(Array(bytes[circles.indices]), to: &body)
        }
        if let sharing = item.sharing { ResponderJSON.word("sharing", sharing.word, to: &body) }
        if let platform = item.platform {
            ResponderJSON.word("platform", platform.word, to: &body)
        }
    }

    private static func name(
        _ key: StaticString, _ range: ByteRange?, _ bytes: [UInt8], to body: inout [UInt8]
    ) {
        guard let range else { return }
        ResponderJSON.name(key, Array(bytes[range.indices]), to: &body)
    }
}
