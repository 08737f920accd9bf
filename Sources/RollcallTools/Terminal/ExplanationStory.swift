import RollcallCore
import RollcallSupport

/// Events, oldest first, as sentences.
struct ExplanationStory {
    /// A sentence and when it happened; nil where the server did not say.
    struct Part: Equatable {
        let at: Timestamp?
        let text: String
    }

    private let events: [JSONTree]
    private let style: ConsoleStyle

    init(_ events: [JSONTree], _ style: ConsoleStyle) {
        self.events = events
        self.style = style
    }

    /// All of them; contacts that say the same stand in one.
    var parts: [Part] {
        var parts: [Part] = []
        var run = ContactRun(style)
        var gap = GapProgress()
        for (place, event) in events.enumerated() {
            if event["kind"]?.text == "contact", run.takes(event) { continue }
            if let part = run.end() { parts.append(part) }
            if event["kind"]?.text == "contact" {
                _ = run.takes(event)
            } else if let text = sentence(event, place, &gap) {
                parts.append(Part(at: event["at"]?.instant, text: text))
            }
        }
        if let part = run.end() { parts.append(part) }
        return parts
    }

    private func sentence(
        _ event: JSONTree, _ place: Int, _ gap: inout GapProgress
    ) -> String? {
        switch event["kind"]?.text {
        case "status":
            gap.note(status: event["to"]?.text)
            return status(event)
        case "gap": return self.gap(event, place, &gap)
        case "blind": return blind(event, place)
        case "told": return reported(event)
        case "server": return server(event)
        case "nudge":
            return NudgeStory(event: event, style: style, sentAt: sent(before: place)).nudge
        case "wake": return NudgeStory(event: event, style: style).wake
        case let kind:
            let word = kind.map { ConsoleText.safe($0) } ?? GapListing.missing
            return "\(word): this rollcall does not know what that is."
        }
    }

    /// Returns when somebody was last nudged before an event; nil if that is not known.
    private func sent(before place: Int) -> Timestamp? {
        events[..<place].last { $0["kind"]?.text == "nudge" && $0["decision"]?.text == "send" }?[
            "at"]?.instant
    }

    // MARK: - Statuses

    private func status(_ event: JSONTree) -> String {
        let from = event["from"]?.shown ?? GapListing.missing
        let to = event["to"]?.shown ?? GapListing.missing
        let why: String =
            switch (event["origin"]?.text, from, to) {
            case ("contact"?, _, _): "they were heard"
            case ("server"?, _, _): "your server said so"
            case ("deadline"?, _, "NOT_EXPECTED"): "silent for so long that nobody waits any more"
            case ("deadline"?, "UNKNOWN", _): "not heard since they were expected"
            case ("deadline"?, _, "OFFLINE"): "still no contact"
            case ("deadline"?, _, _): "no contact for longer than allowed"
            case ("duty"?, _, "NOT_EXPECTED"): "no longer expected to report"
            case ("duty"?, _, _): "expected to report from now on"
            case ("policy"?, _, _): "by new settings"
            case (let origin, _, _): origin.map { ConsoleText.safe($0) } ?? "no reason told"
            }
        return "\(from) → \(to): \(why)."
    }

    // MARK: - Gaps

    private func gap(
        _ event: JSONTree, _ place: Int, _ progress: inout GapProgress
    ) -> String {
        let evidence = event["evidence"] ?? .null
        let wording = GapWording(
            evidence: evidence, style: style, at: event["at"]?.instant ?? .distantPast)
        let suspected = event["suspected"]?.shown ?? GapListing.missing
        let cause = event["suspected"]?.text ?? GapListing.missing
        switch event["state"]?.text {
        case "open":
            progress.begin(suspected)
            return "A gap opens. " + wording.suspicion(cause)
        case "judged":
            let before = progress.suspected
            progress.suspected = suspected
            if before == suspected { return "The gap counts. Still suspected: \(suspected)." }
            return "The gap counts. " + wording.suspicion(cause, before: before)
        case "closed":
            let isEvaluated = events[place...].contains {
                $0["kind"]?.text == "gap" && $0["state"]?.text == "verdict"
            }
            return closed(
                evidence, at: event["at"]?.instant, isEvaluated: isEvaluated, &progress)
        case "verdict":
            return wording.outcome(
                event["verdict"]?.text ?? GapListing.missing, suspected: suspected)
        case let state:
            let word = state.map { ConsoleText.safe($0) } ?? GapListing.missing
            return "Gap, \(word): this rollcall does not know what that is."
        }
    }

    private func closed(
        _ evidence: JSONTree, at closed: Timestamp?, isEvaluated: Bool,
        _ progress: inout GapProgress
    ) -> String {
        let length = evidence["length_ms"]?.whole.map { observed in
            " after \(Self.lasted(Milliseconds(observed), evidence["opened_at"]?.instant, closed))"
        }
        var text = "The gap ends\(length ?? "")."
        if progress.isMereLateness {
            text += " It never reached OFFLINE: mere lateness, which does not count."
        } else if !isEvaluated {
            text += " What it was is told two minutes after the return."
        }
        let blind = Milliseconds(evidence["blind_ms"]?.whole ?? 0)
        let whole = Milliseconds(blind.count + (evidence["length_ms"]?.whole ?? 0))
        let isLeftOut = GapReport.isLeftOut(blind: blind, of: whole)
        if let blind = GapWording.blind(blind, isLeftOut: isLeftOut) { text += " " + blind }
        progress = GapProgress()
        return text
    }

    /// Returns how long something lasted that we watched; by the clock too, if that is not the same
    /// (D7).
    private static func lasted(
        _ observed: Milliseconds, _ opened: Timestamp?, _ closed: Timestamp?
    ) -> String {
        guard let opened, let closed, abs((closed - opened).count - observed.count) > 1000 else {
            return ConsoleStyle.span(observed)
        }
        return "\(ConsoleStyle.span(observed)) that we watched "
            + "(\(ConsoleStyle.span(max(Milliseconds(0), closed - opened))) by the clock)"
    }

    // MARK: - Ourselves

    /// A window stands where it began, its end with it; an end whose beginning is not here, alone.
    private func blind(_ event: JSONTree, _ place: Int) -> String? {
        let since = event["since"]?.instant
        let reason = GapWording.blindness(event["reason"]?.text)
        func isPartner(_ other: JSONTree, _ state: String) -> Bool {
            other["kind"]?.text == "blind" && other["state"]?.text == state
                && other["since"] == event["since"] && other["reason"] == event["reason"]
        }
        var end: Timestamp?
        if event["state"]?.text == "end" {
            if events[..<place].contains(where: { isPartner($0, "begin") }) { return nil }
            end = event["at"]?.instant
        } else {
            // One that began again within seconds is told anew under its first begin.
            if events[..<place].contains(where: { isPartner($0, "begin") }) { return nil }
            let last = events[place...].last { isPartner($0, "begin") || isPartner($0, "end") }
            if last?["state"]?.text == "end" { end = last?["at"]?.instant }
        }
        let begin = since.map { style.time($0, beside: end ?? $0) } ?? GapListing.missing
        guard let end else {
            return "We are not watching since \(begin): \(reason). This counts against nobody."
        }
        let span = since.map { " (\(ConsoleStyle.span(end - $0)))" } ?? ""
        return "We were not watching \(begin)–\(style.time(end))\(span): \(reason). This counts "
            + "against nobody."
    }

    // MARK: - What your server said

    private func reported(_ event: JSONTree) -> String {
        var parts: [String] = []
        if let word = event["duty_state"]?.shown { parts.append("duty \(word)") }
        if let word = event["region"]?.shown { parts.append("region \(word)") }
        let circles = event["circles"]?.elements.compactMap(\.shown) ?? []
        if !circles.isEmpty { parts.append("circles \(circles.joined(separator: " "))") }
        if let word = event["sharing"]?.shown { parts.append("sharing \(word)") }
        if let until = event["paused_until"]?.instant {
            parts.append("paused until \(style.moment(until))")
        }
        if let word = event["platform"]?.shown { parts.append("platform \(word)") }
        return parts.isEmpty
            ? "Your server told something about them."
            : "Your server told: \(parts.joined(separator: ", "))\(asOf(event))."
    }

    private func server(_ event: JSONTree) -> String {
        let from = event["from"]?.shown ?? GapListing.missing
        let to = event["to"]?.shown ?? GapListing.missing
        return "Your server said: \(from) → \(to)\(asOf(event))."
    }

    /// `, as of 04:00:05`, if it was told of another time than it came.
    private func asOf(_ event: JSONTree) -> String {
        guard let reported = event["told_at"]?.instant, reported != event["at"]?.instant else {
            return ""
        }
        return ", as of \(style.time(reported, beside: event["at"]?.instant ?? reported))"
    }
}

/// The progress of the gap that is being told.
private struct GapProgress {
    var suspected: String?
    private var isOpen = false
    private var hasCounted = false
    private var status: String?

    mutating func note(status: String?) {
        self.status = status
        if status == "OFFLINE" { hasCounted = true }
    }

    mutating func begin(_ suspected: String) {
        self.suspected = suspected
        isOpen = true
        // A gap opened at OFFLINE follows the line of its status (F25).
        hasCounted = status == "OFFLINE"
    }

    /// True if it was seen from its opening on, and OFFLINE was not reached (C1).
    var isMereLateness: Bool { isOpen && !hasCounted }
}
