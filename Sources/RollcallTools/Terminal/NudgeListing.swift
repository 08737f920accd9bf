import RollcallCore
import RollcallSupport

/// The nudge ledger as a table for people, with the answer for one person before it.
struct NudgeListing {
    private static let columns = [
        ConsoleTable.Column("at"), .init("responder", least: 8),
        .init("location", isRight: true), .init("suspected", least: 8),
    ]
    /// Columns that the last cell gets at least, however long ids are.
    private static let textColumnsMin = 24

    private let entries: [JSONTree]
    private let isWhole: Bool
    private let standing: JSONTree
    private let now: JSONTree?

    /// A table of `entries` as the server told them; `standing` is what it told beside them, `now`
    /// the answer for one person.
    init(_ entries: [JSONTree], isWhole: Bool, standing: JSONTree, now: JSONTree?) {
        self.entries = entries
        self.isWhole = isWhole
        self.standing = standing
        self.now = now
    }

    /// The whole page.
    func text(_ style: ConsoleStyle) -> String {
        var lines: [String] = []
        if let now { lines += answer(now, style) + [""] }
        lines += ConsoleText.wrapped(standingWords(style), style.columns)
        lines.append("")
        guard !entries.isEmpty else {
            return (lines + ["The ledger has no entries for that."]).joined(separator: "\n") + "\n"
        }
        let zone = style.zone(entries.first?["at"]?.instant ?? Timestamp(milliseconds: 0))
        let noun = entries.count == 1 ? "1 entry" : "\(entries.count.grouped) entries"
        lines += ["\(noun), newest first. Times in \(zone).", ""]
        lines += table(style)
        if !isWhole {
            lines.append("")
            lines.append("There are more: these are the newest. --limit shows more of them.")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: - Now

    private func answer(_ now: JSONTree, _ style: ConsoleStyle) -> [String] {
        let id = now["responder_id"]?.shown ?? GapListing.missing
        var text = "\(now["text"]?.shown ?? GapListing.missing)."
        let asOf = now["as_of"]?.instant ?? .distantPast
        func moment(_ name: String) -> String? {
            now[name]?.instant.map { "\(style.time($0, beside: asOf)) \(style.zone($0))" }
        }
        if let at = moment("last_location_at") { text += " Last location \(at)." }
        if now["mode"]?.text != "dry_run", let at = moment("last_nudged_at") {
            text += " Last nudged \(at)."
        }
        if now["nudge"]?.isTrue != true, let at = moment("earliest_at") {
            text += " Not before \(at)."
        }
        return ConsoleText.wrapped("\(id): \(text)", style.columns).enumerated().map {
            $0 == 0 ? style.bold($1) : $1
        }
    }

    private func standingWords(_ style: ConsoleStyle) -> String {
        var text: String
        switch standing["mode"]?.text {
        case "live"?:
            let sink = standing["sink"]?.shown ?? GapListing.missing
            text = "Nudges are live, by \(sink)."
        case "dry_run"?: text = "Nudges are a dry run: decided, and never sent."
        case "disabled"?: text = "Nudges are disabled: nothing is decided."
        case let word: text = "Nudges: \(word.map { ConsoleText.safe($0) } ?? "not told")."
        }
        if let until = standing["frozen_until"]?.instant {
            text +=
                " They are frozen until \(style.moment(until)) \(style.zone(until)): the clock "
                + "stepped, or the store is an older one."
        }
        if standing["watching"] == .boolean(false) {
            text += " We are not watching: nobody is nudged meanwhile."
        }
        return text
    }

    // MARK: - The table

    private func table(_ style: ConsoleStyle) -> [String] {
        let rows = entries.map { cells($0, style) }
        let table = ConsoleTable(Self.columns, rows, style, free: Self.textColumnsMin + 2)
        let margin = table.width + 2
        let room = max(Self.textColumnsMin, style.columns - margin)
        var lines = [style.bold("\(table.filled(Self.columns.map(\.heading)))  what")]
        var day = ""
        for (entry, cells) in zip(entries, rows) {
            let today = entry["at"]?.instant.map { style.day($0) } ?? GapListing.missing
            if today != day { lines.append(style.bold(today)) }
            day = today
            let text = entry["text"]?.shown ?? entry["decision"]?.shown ?? GapListing.missing
            for (place, line) in ConsoleText.wrapped(text, room).enumerated() {
                let head = place == 0 ? table.filled(cells) + "  " : ""
                lines.append(ConsoleText.fitted(head, margin) + line)
            }
        }
        return lines
    }

    private func cells(_ entry: JSONTree, _ style: ConsoleStyle) -> [String] {
        [
            entry["at"]?.instant.map { style.minute($0) } ?? GapListing.missing,
            entry["responder_id"]?.shown ?? GapListing.missing,
            entry["stale_seconds"]?.seconds.map { ConsoleStyle.span($0, between: "") }
                ?? GapListing.missing,
            entry["cause"]?.shown ?? GapListing.missing,
        ]
    }
}
