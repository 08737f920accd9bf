import RollcallCore
import RollcallSupport

/// The alerts on the page of how everything stands: the worst first, who took them, who did not, and who
/// sees to them.
extension StatusPage {
    /// An alert in words.
    struct AlertStory {
        let title: String
        let text: String
        let isFiring: Bool
        /// The key by which one takes it; nil if somebody sees to it, or nobody can.
        let untakenKey: String?
    }

    /// The alerts but the watchdog, the worst first.
    var stories: [AlertStory] {
        notified.enumerated().sorted { Self.isWorse($0, $1) }.map { story($0.element) }
    }

    private var notified: [JSONTree] { alerts.filter { $0["alertname"]?.text != "Watchdog" } }

    var alertPart: [String] {
        let firing = notified.filter { $0["state"]?.text == "firing" }
        let pending = notified.filter { $0["state"]?.text != "firing" }
        let silences = status["alerts"]?["silences"]?.whole ?? 0
        let muted =
            silences > 0
            ? " \(GapListing.count(Int(clamping: silences), "silence")) in force." : ""
        guard !notified.isEmpty else { return ["No alert is firing or pending.\(muted)"] }
        let head =
            "Alerts: \(firing.count.grouped) firing, \(pending.count.grouped) pending.\(muted)"
        var lines = ConsoleText.wrapped(head, style.columns).map { style.bold($0) }
        let shown = stories.prefix(limit)
        for alert in shown { lines += self.lines(alert) }
        if notified.count > shown.count {
            lines.append("and \((notified.count - shown.count).grouped) more")
        }
        return lines
    }

    /// Worst first: by severity, what fires before what may, the most people, the oldest.
    private static func isWorse(
        _ a: (offset: Int, element: JSONTree), _ b: (offset: Int, element: JSONTree)
    ) -> Bool {
        func key(_ alert: JSONTree) -> (Int, Int, Int64, String) {
            let severities = ["critical", "warning", "info"]
            let severity = alert["severity"]?.text.flatMap { severities.firstIndex(of: $0) }
            let isFiring = alert["state"]?.text == "firing"
            let begin = alert[isFiring ? "starts_at" : "active_at"]?.text ?? ""
            return (
                severity ?? severities.count, isFiring ? 0 : 1, -(alert["count"]?.whole ?? 0), begin
            )
        }
        let (first, second) = (key(a.element), key(b.element))
        return first != second ? first < second : a.offset < b.offset
    }

    private func lines(_ alert: AlertStory) -> [String] {
        let head = ConsoleText.wrapped(alert.title, style.columns).map {
            alert.isFiring ? style.loud($0) : $0
        }
        return head + ConsoleText.wrapped(alert.text, style.columns - 2).map { "  " + $0 }
    }

    private func story(_ alert: JSONTree) -> AlertStory {
        let isFiring = alert["state"]?.text == "firing"
        let name = alert["alertname"]?.shown ?? GapListing.missing
        let severity = alert["severity"]?.shown.map { " (\($0))" } ?? ""
        let since = alert[isFiring ? "starts_at" : "active_at"]?.instant.map { " since \(ago($0))" }
        let cell = alert["cell"]?.shown.map { " in cell \($0)" } ?? ""
        let title = "\(isFiring ? "FIRING" : "pending") \(name)\(severity)\(cell)\(since ?? "")"
        var text = alert["annotations"]?["summary"]?.shown.map { "\($0). " } ?? ""
        if isFiring { text += notified(alert) }
        return AlertStory(
            title: title, text: text, isFiring: isFiring,
            untakenKey: isFiring && alert["taken"] == nil ? alert["key"]?.shown : nil)
    }

    /// Returns who was told, who has not taken it, and who is not to be told and why.
    private func notified(_ alert: JSONTree) -> String {
        // Alerts that are told from memory only say who took them.
        let receivers = (alert["receivers"] ?? alert["told"])?.elements ?? []
        func isTaken(_ one: JSONTree) -> Bool { one["state"].map { $0.text == "taken" } ?? true }
        let taken = receivers.filter(isTaken)
        let notified = taken.map { one in
            let at = (one["taken_at"] ?? one["at"])?.instant
            let storm = one["storm"]?.whole.map { ", by storm \($0)" } ?? ""
            return Self.name(one) + (at.map { " \(ago($0))" } ?? "") + storm
        }
        let untold = receivers.filter { !isTaken($0) }.map { one in
            "\(Self.name(one)) (\(progress(one)))"
        }
        // Numbers of silences are each cell's own.
        let owner = alert["cell"]?.shown.map { " of cell \($0)" } ?? ""
        let muted = (alert["muted"]?.elements ?? []).map { mute in
            let name = mute["receiver"]?.shown ?? GapListing.missing
            let reason: String =
                switch mute["reason"]?.text {
                case "silence"?:
                    "silenced by \(mute["silence"]?.whole.map { "\($0)" } ?? "one")\(owner)"
                case "inhibited"?: "another alert says more"
                case "blind"?: "we are not watching"
                case let word: word.map { ConsoleText.safe($0) } ?? "no reason told"
                }
            return "\(name) (\(reason))"
        }
        let isLogOnly = taken.allSatisfy { one in
            one["receiver"]?.text.map { logs.contains($0) } ?? false
        }
        // Behind who sees to it, it goes on in the same sentence.
        let isTakenUp = alert["taken"]?["by"]?.shown != nil
        let head = isLogOnly ? "only the log was told" : "told"
        let first =
            notified.isEmpty ? "nobody was told" : "\(head): \(notified.joined(separator: ", "))"
        var parts = [isTakenUp ? first : Printout.capital(first)]
        if !untold.isEmpty { parts.append("NOT REACHED: \(untold.joined(separator: ", "))") }
        let later = (alert["escalations"]?.elements ?? []).map { one in
            let at = one["at"]?.instant.map { " in \(ConsoleStyle.span($0 - asOf))" } ?? ""
            return (one["receiver"]?.shown ?? GapListing.missing) + at
        }
        if let take = alert["taken"], let by = take["by"]?.shown {
            let until = take["until"]?.instant.map { " until \(style.moment($0))" } ?? ""
            parts.insert("\(by) sees to it\(until)", at: 0)
        }
        if !later.isEmpty {
            parts.append("told if nobody takes it: \(later.joined(separator: ", "))")
        }
        if receivers.isEmpty, muted.isEmpty, later.isEmpty {
            parts.append("no receiver is set for it")
        }
        if !muted.isEmpty { parts.append("not told: \(muted.joined(separator: ", "))") }
        return parts.joined(separator: "; ") + "."
    }

    /// Receivers that are lines of the server's own log, which nobody may read.
    private var logs: Set<String> {
        let all = (status["receivers"]?.elements ?? []).filter { $0["kind"]?.text == "log" }
        return Set(all.compactMap { $0["name"]?.text })
    }

    /// The receiver, which of its addresses if it is not the first, and in whose place it is told.
    private static func name(_ one: JSONTree) -> String {
        let target = one["target"]?.whole.map { $0 > 0 ? " (address \($0 + 1))" : "" } ?? ""
        let instead = one["fallback_of"]?.shown.map { " (fallback for \($0))" } ?? ""
        return (one["receiver"]?.shown ?? GapListing.missing) + target + instead
    }

    /// Returns the state of a message that nobody took, and of its attempts.
    private func progress(_ one: JSONTree) -> String {
        let state = one["state"]?.shown ?? GapListing.missing
        var parts = [state]
        if let storm = one["storm"]?.whole { parts.append("by storm \(storm)") }
        if let attempts = one["attempts"]?.whole, attempts > 0 {
            parts.append(GapListing.count(Int(clamping: attempts), "attempt"))
        }
        if let error = one["last_error"]?.shown { parts.append("last error: \(error)") }
        if let next = one["next_attempt_at"]?.instant {
            let wait = next - asOf
            parts.append(wait.count > 0 ? "next in \(ConsoleStyle.span(wait))" : "next is due")
        }
        return parts.joined(separator: ", ")
    }
}
