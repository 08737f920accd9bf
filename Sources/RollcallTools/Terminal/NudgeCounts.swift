import RollcallCore
import RollcallSupport

/// Nudges counted by what the phone is, with what followed them, for people.
struct NudgeCounts {
    private let answer: JSONTree

    /// A table of the server's counts.
    init(_ answer: JSONTree) { self.answer = answer }

    /// The whole page.
    func text(_ style: ConsoleStyle) -> String {
        let by = answer["by"]?.elements.compactMap(\.shown) ?? []
        let rows = answer["rows"]?.elements ?? []
        guard !rows.isEmpty else { return "No nudge was sent.\n" }
        let all = answer["nudges"]?.whole ?? 0
        var lines = ["\(GapListing.count(Int(clamping: all), "nudge")), most first.", ""]
        let outcomes = NudgeOutcome.allCases.map { "\($0.word)" }
        let stats = ["nudges", "share", "people"] + outcomes + ["after"]
        let columns =
            by.map { ConsoleTable.Column($0, least: 8) }
            + stats.map { ConsoleTable.Column($0, isRight: true) }
        let cells = rows.map { row in
            by.map { row[$0]?.shown ?? GapListing.missing } + [
                GapCounts.number(row["nudges"]),
                GapCounts.percent(row["nudges"]?.whole ?? 0, all), GapCounts.number(row["people"]),
            ] + outcomes.map { GapCounts.number(row["followed"]?[$0]) } + [
                GapCounts.span(row["seconds"]?["median"])
            ]
        }
        let table = ConsoleTable(columns, cells, style)
        lines.append(style.bold(table.head))
        lines += cells.map { table.line($0) }
        lines.append("")
        lines += ConsoleText.wrapped(
            "located, contact: what came within half an hour, and after how long as a rule. A nudge "
                + "counts for the phone that its person has now.", style.columns)
        if answer["truncated"]?.isTrue == true {
            lines += ["", "There are more than the server counts: these are the newest."]
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
