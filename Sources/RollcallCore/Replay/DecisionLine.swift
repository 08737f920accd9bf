/// Decisions as lines of JSON, byte for byte the same for the same decisions. Source: F5.
package enum DecisionLine {
    /// Appends one line and its line feed; nothing for what a replay does not print: who was told,
    /// and the alerts about ourselves.
    package static func append(
        _ decision: Decision, _ engine: Engine, to output: inout [UInt8]
    ) {
        append(decision, id: { engine.roster.id($0) }, to: &output)
    }

    /// The same of people whose ids `id` knows by their numbers.
    package static func append(
        _ decision: Decision, id: (Int) -> ArraySlice<UInt8>, to output: inout [UInt8]
    ) {
        switch decision {
        case .notice, .mute, .wake: return
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
        case .gap(let at, let number, let report):
            begin(at, "gap", &output)
            responder(id(number), &output)
            GapEvidence.appendMembers(report, to: &output)
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
        case .update(let at, let number, let sequence, let outcome):
            begin(at, "update", &output)
            responder(id(number), &output)
            text(",\"sequence\":", &output)
            JSONWriter.integer(sequence, to: &output)
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

/// The pieces of JSON that hot or deterministic answers are appended from.
package enum JSONWriter {
    /// Appends `text` as it is.
    package static func raw(_ text: StaticString, to output: inout [UInt8]) {
        output.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a word that needs no escapes, in quotes.
    package static func word(_ word: StaticString, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        raw(word, to: &output)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends UTF-8 as a JSON string.
    package static func string(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""): raw("\\\"", to: &output)
            case UInt8(ascii: "\\"): raw("\\\\", to: &output)
            case 0x0A: raw("\\n", to: &output)
            case 0x0D: raw("\\r", to: &output)
            case 0x09: raw("\\t", to: &output)
            case 0..<0x20:
                raw("\\u00", to: &output)
                output.append(hexDigit(byte >> 4))
                output.append(hexDigit(byte & 0xF))
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Appends a decimal integer.
    package static func integer(_ value: Int64, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digits: (UInt64, Int) = (1, 1)
        while rest / digits.0 >= 10 {
            digits.0 *= 10
            digits.1 += 1
        }
        for _ in 0..<digits.1 {
            output.append(UInt8(ascii: "0") + UInt8(rest / digits.0))
            rest %= digits.0
            digits.0 /= 10
        }
    }

    /// Appends a number of ten-thousandths, without trailing zeros; not below zero.
    package static func fraction(_ tenThousandths: Int64, to output: inout [UInt8]) {
        integer(tenThousandths / 10_000, to: &output)
        var rest = tenThousandths % 10_000
        guard rest > 0 else { return }
        output.append(UInt8(ascii: "."))
        var digit: Int64 = 1000
        while rest > 0 {
            output.append(UInt8(ascii: "0") + UInt8(rest / digit))
            rest %= digit
            digit /= 10
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
