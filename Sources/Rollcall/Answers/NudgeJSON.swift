import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// Nudges as JSON. Source: N8.
package enum NudgeJSON {
    /// Appends the members of a report behind others.
    static func appendMembers(_ report: NudgeReport, to body: inout [UInt8]) {
        if let choice = NudgeChoice(report) {
            ResponderJSON.word("decision", choice.word, to: &body)
        }
        if let reason = report.reason { ResponderJSON.word("reason", reason.word, to: &body) }
        if let until = report.until { ResponderJSON.time("until", until, to: &body) }
        if let outcome = report.outcome { ResponderJSON.word("followed", outcome.word, to: &body) }
        guard report.kind != .followed else { return }
        if report.facts.isAsked { JSONWriter.raw(",\"asked\":true", to: &body) }
        ResponderJSON.word("cause", report.facts.cause.word, to: &body)
        JSONWriter.raw(",\"stale_seconds\":", to: &body)
        JSONWriter.integer(report.facts.stale.count / 1000, to: &body)
        if report.facts.lastLocationAt > .distantPast {
            ResponderJSON.time("last_location_at", report.facts.lastLocationAt, to: &body)
        }
    }

    /// Returns the JSON that says whether a person would be nudged now, and why.
    static func answer(_ number: Int, _ engine: Engine, _ standing: NudgeStanding) -> JSONTree {
        let found = engine.nudgeAnswer(number)
        let now = engine.clock.wallNow
        let isNudged = found.isStale && found.reasons.isEmpty
        let isHeld = !found.reasons.isEmpty && standing.mode != .disabled
        let head: JSONTree = [
            "responder_id": AlertJSON.text(engine.roster.id(number).map { $0 }),
            "nudge": .boolean(isNudged),
            "decision": isNudged ? "send" : isHeld ? "hold" : "none",
            "reasons": .list(found.reasons.map { AlertJSON.word($0.word) }),
            "text": .text(NudgeWords.answer(found, standing, now: now)),
            "stale_seconds": found.stale.map { .integer(max(0, $0.count / 1000)) } ?? nil,
            "stale_after_seconds": .integer(found.limit.count / 1000),
            "last_location_at": AlertJSON.time(found.facts.lastLocationAt),
            "last_nudged_at": found.lastAt.map { AlertJSON.time($0) } ?? nil,
            "earliest_at": found.earliest.map { AlertJSON.time($0) } ?? nil,
            "cause": found.stale == nil ? nil : AlertJSON.word(found.facts.cause.word),
        ]
        return head.with(standing.tree).with(["as_of": AlertJSON.time(now)])
    }

    /// Returns what became of a push; null without one.
    static func push(_ deliveryStatus: PushDeliveryStatus?) -> JSONTree {
        guard let deliveryStatus else { return nil }
        return [
            "state": AlertJSON.word(deliveryStatus.state.word),
            "attempts": .integer(Int64(deliveryStatus.attempts)),
            "outcome": deliveryStatus.outcome.map { AlertJSON.word($0.word) } ?? nil,
            "finished_at": deliveryStatus.finishedAt.map { AlertJSON.time($0) } ?? nil,
        ]
    }
}

extension NudgeStanding {
    /// As members of an answer.
    var tree: JSONTree {
        [
            "mode": AlertJSON.word(mode.word), "sink": AlertJSON.word(sink.word),
            "frozen_until": frozenUntil.map { AlertJSON.time($0) } ?? nil,
            "watching": .boolean(isWatching),
        ]
    }
}
