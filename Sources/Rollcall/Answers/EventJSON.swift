import RollcallBasis
import RollcallCore
import RollcallSupport

/// Events as JSON. Never a coordinate: the store holds none. Source: E1.
enum EventJSON {
    /// The person whom an event is about, as they are called now.
    struct Person: Sendable {
        let id: [UInt8]
        let region: [UInt8]
    }

    /// Returns the object of an event behind its cursor; `actor` is the person who did it, and `erased` tells the id of somebody erased by
    /// its hash, for as long as it is known.
    static func event(
        _ decision: Decision, _ kind: EventKind, cursor: String, _ person: Person?,
        by actor: Person? = nil, erased: (UInt64) -> [UInt8]?
    ) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"cursor\":", to: &body)
        JSONWriter.string(cursor.utf8, to: &body)
        ResponderJSON.time("at", decision.at, to: &body)
        ResponderJSON.word("kind", kind.word, to: &body)
        if let person {
            text("responder_id", person.id, to: &body)
            text("region", person.region, to: &body)
        }
        append(decision, actor, erased, to: &body)
        body.append(UInt8(ascii: "}"))
        return body
    }

    private static func append(
        _ decision: Decision, _ actor: Person?, _ erased: (UInt64) -> [UInt8]?,
        to body: inout [UInt8]
    ) {
        switch decision {
        case .status(_, _, let from, let to, let origin):
            ResponderJSON.word("from", from?.word ?? "NOT_EXPECTED", to: &body)
            ResponderJSON.word("to", to?.word ?? "NOT_EXPECTED", to: &body)
            ResponderJSON.word("origin", origin.word, to: &body)
        case .gap(_, _, let gap):
            if gap.number > 0 { number("gap", gap.number, to: &body) }
            GapEvidence.appendMembers(gap.report, to: &body)
        case .alert(_, let report):
            AlertLine.append(report, to: &body)
            ResponderJSON.word("severity", report.severity.word, to: &body)
            if report.incident > 0 { number("incident", report.incident, to: &body) }
        case .nudge(_, _, let report): NudgeJSON.appendMembers(report, to: &body)
        case .wake(_, _, let push):
            ResponderJSON.word("decision", "wake", to: &body)
            number("push", push, to: &body)
        case .blind(_, let begins, let since, let reason):
            ResponderJSON.word("state", begins ? "begin" : "end", to: &body)
            ResponderJSON.time("since", since, to: &body)
            ResponderJSON.word("reason", reason.word, to: &body)
        case .delivery(_, let end):
            text("receiver", end.receiver, to: &body)
            number("target", Int64(end.target), to: &body)
            number("notice", end.notice, to: &body)
            ResponderJSON.word("outcome", end.outcome.word, to: &body)
            number("took_ms", end.took.count, to: &body)
        case .push(_, let end):
            ResponderJSON.word("push_kind", end.kind.word, to: &body)
            number("push", end.number, to: &body)
            ResponderJSON.word("outcome", end.outcome.word, to: &body)
        case .action(_, let report): append(report, actor, to: &body)
        case .person(_, let report):
            ResponderJSON.word("change", report.change.word, to: &body)
            guard let hash = report.hash else { return }
            if let id = erased(hash) { text("responder_id", id, to: &body) }
            text("hash", HexText.bytes(hash), to: &body)
        case .notice, .mute, .skew, .update: break
        }
    }

    private static func append(
        _ report: ActionReport, _ actor: Person?, to body: inout [UInt8]
    ) {
        ResponderJSON.word("action", report.kind.word, to: &body)
        let isOfIncident = report.kind == .take || report.kind == .release
        if report.number > 0 {
            let name: StaticString =
                isOfIncident ? "incident" : report.kind == .ask ? "push" : "number"
            number(name, report.number, to: &body)
        }
        if !report.subject.isEmpty { text("subject", report.subject, to: &body) }
        // Of a member who was erased nobody is told.
        let author = report.actor < 0 ? report.author : actor?.id ?? []
        if !author.isEmpty { text("by", author, to: &body) }
        if !report.token.isEmpty { text("token", report.token, to: &body) }
        if !report.comment.isEmpty { text("comment", report.comment, to: &body) }
        if report.until > .distantPast { ResponderJSON.time("until", report.until, to: &body) }
    }

    private static func text(_ name: StaticString, _ value: [UInt8], to body: inout [UInt8]) {
        JSONWriter.raw(",\"", to: &body)
        JSONWriter.raw(name, to: &body)
        JSONWriter.raw("\":", to: &body)
        JSONWriter.string(value, to: &body)
    }

    private static func number(_ name: StaticString, _ value: Int64, to body: inout [UInt8]) {
        JSONWriter.raw(",\"", to: &body)
        JSONWriter.raw(name, to: &body)
        JSONWriter.raw("\":", to: &body)
        JSONWriter.integer(value, to: &body)
    }
}

extension Decision {
    /// The instant from which it holds.
    var at: Timestamp {
        switch self {
        case .status(let at, _, _, _, _), .gap(let at, _, _), .alert(let at, _), .notice(let at, _),
            .mute(let at, _), .nudge(let at, _, _), .wake(let at, _, _), .blind(let at, _, _, _),
            .skew(let at, _), .update(let at, _, _, _), .person(let at, _), .action(let at, _),
            .delivery(let at, _), .push(let at, _):
            at
        }
    }

    /// The number of the person whom it is about, if it is about one.
    var person: Int? {
        switch self {
        case .status(_, let number, _, _, _), .gap(_, let number, _), .nudge(_, let number, _),
            .wake(_, let number, _), .update(_, let number, _, _):
            number
        case .push(_, let end): end.person
        case .person(_, let report): report.number
        case .action(_, let report): report.person < 0 ? nil : report.person
        case .alert, .notice, .mute, .blind, .skew, .delivery: nil
        }
    }

    /// The number of the person who did it; nil if nobody did, or somebody who is none.
    var actor: Int? {
        if case .action(_, let report) = self, report.actor >= 0 { report.actor } else { nil }
    }

    /// The region that it names itself; nil if it names none.
    var region: [UInt8]? {
        switch self {
        case .alert(_, let report):
            guard case .region(let name) = report.key.subject else { return nil }
            return name
        case .gap(_, _, let gap):
            let name = gap.report.facts.region
            return name.isEmpty ? nil : name
        default: return nil
        }
    }
}
