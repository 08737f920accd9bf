import RollcallBasis
import RollcallCore
import RollcallSupport

/// The sentences of a timeline about nudges and wakes.
struct NudgeStory {
    let event: JSONTree
    let style: ConsoleStyle
    /// The instant at which the nudge before it was sent, if that is known.
    var sentAt: Timestamp?

    /// An entry of the nudge ledger, or what followed a nudge.
    var nudge: String {
        if let word = event["followed"]?.text { return followed(word) }
        switch event["decision"]?.text {
        case "send": return "Nudged: \(location)."
        case "dry_run": return "To be nudged, in a dry run: \(location). Nothing was sent."
        case "hold":
            let word = event["reason"]?.text
            let known = NudgeReason.allCases.first { "\($0.word)" == word }
            let reason =
                known.map { NudgeWords.reason($0) } ?? event["reason"]?.shown ?? "nobody knows why"
            let until = event["until"]?.instant.map { until in
                ", until \(style.time(until, beside: event["at"]?.instant ?? until))"
            }
            return "Not nudged: \(reason)\(until ?? ""). \(location.first?.uppercased() ?? "")"
                + "\(location.dropFirst())."
        case let word:
            let shown = word.map { ConsoleText.safe($0) } ?? GapListing.missing
            return "Nudge, \(shown): this rollcall does not know what that is."
        }
    }

    /// A phone that was to be woken.
    var wake: String { "Their phone was to be woken: somebody looked at their circle." }

    private func followed(_ word: String) -> String {
        let outcome = NudgeOutcome.allCases.first { "\($0.word)" == word }
        let later = sentAt.flatMap { sent in event["at"]?.instant.map { $0 - sent } }
        let text = outcome.map { NudgeWords.outcome($0, later: later) } ?? ConsoleText.safe(word)
        return "What followed the nudge: \(text)."
    }

    private var location: String {
        let span = event["stale_seconds"]?.seconds.map { ConsoleStyle.span($0) }
        let suspected = event["cause"]?.shown.flatMap { $0 == "unexplained" ? nil : $0 }
        let cause = suspected.map { " (suspected: \($0))" } ?? ""
        return "their location was \(span.map { "\($0) old" } ?? "too old")\(cause)"
    }
}
