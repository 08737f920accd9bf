import RollcallCore
import RollcallSupport

/// Gaps as a table for people.
struct GapListing {
    /// The text where nothing was told.
    static let missing = "–"
    private static let columns = [
        ConsoleTable.Column("since"), .init("length", isRight: true), .init("responder", least: 8),
        .init("region", least: 5), .init("platform"), .init("suspected"), .init("verdict"),
    ]

    private struct Row {
        let day: String
        let cells: [String]
        /// The outlook of a gap that is open (P7).
        let outlook: String?
        let isOpen: Bool
        let isBlind: Bool
    }

    private let gaps: [JSONTree]
    private let isWhole: Bool
    private let words: String

    /// A table of `gaps` as the server told them; `words` say of which time.
    init(_ gaps: [JSONTree], isWhole: Bool, words: String) {
        self.gaps = gaps
        self.isWhole = isWhole
        self.words = words
    }

    /// The whole page.
    func text(_ style: ConsoleStyle) -> String {
        let rows = gaps.map { Self.row($0, style) }
        if rows.isEmpty { return "No gaps\(words).\n" }
        let zone = style.zone(gaps.first?["opened_at"]?.instant ?? Timestamp(milliseconds: 0))
        let open = rows.count { $0.isOpen }
        var lines = [
            "\(Self.count(rows.count, "gap"))\(words), newest first; \(open.grouped) still open. "
                + "Times in \(zone).", "",
        ]
        let table = ConsoleTable(Self.columns, rows.map(\.cells), style)
        lines.append(style.bold(table.head))
        var day = ""
        for row in rows {
            if row.day != day { lines.append(style.bold(row.day)) }
            day = row.day
            lines.append(table.line(row.cells))
            guard let outlook = row.outlook else { continue }
            lines += ConsoleText.wrapped(outlook, style.columns - 4).map { "    " + style.dim($0) }
        }
        let notes = Self.notes(rows, isWhole: isWhole, style)
        return (lines + notes).joined(separator: "\n") + "\n"
    }

    private static func row(_ gap: JSONTree, _ style: ConsoleStyle) -> Row {
        let opened = gap["opened_at"]?.instant
        let isBlind = gap["left_out"] == .boolean(true)
        let length = gap["length_seconds"]?.seconds.map { ConsoleStyle.span($0, between: "") }
        let state = gap["state"]?.text
        let verdict: String =
            switch state {
            case "open": "still silent"
            case "returned": "just back"
            default: gap["verdict"]?.shown ?? missing
            }
        return Row(
            day: opened.map { style.day($0) } ?? missing,
            cells: [
                opened.map { style.minute($0) } ?? missing,
                (length ?? missing) + (isBlind ? "*" : " "),
                gap["responder_id"]?.shown ?? missing, gap["region"]?.shown ?? missing,
                gap["platform"]?.shown ?? missing, gap["suspected"]?.shown ?? missing, verdict,
            ], outlook: OutlookWording.sentences(gap), isOpen: state == "open", isBlind: isBlind)
    }

    private static func notes(
        _ rows: [Row], isWhole: Bool, _ style: ConsoleStyle
    ) -> [String] {
        var notes: [String] = []
        let leftOut = rows.count { $0.isBlind }
        if leftOut > 0 {
            notes.append(
                "* We were not watching for 5 % of it or more: it counts against nobody "
                    + "(\(leftOut.grouped) of \(rows.count.grouped)).")
        }
        if !isWhole {
            notes.append(
                "There are more: these are the newest. --limit shows more of them, --since and "
                    + "--until choose.")
        }
        return notes.isEmpty
            ? [] : [""] + notes.flatMap { ConsoleText.wrapped($0, style.columns) }
    }

    /// `1 gap`, `2 gaps`.
    static func count(_ number: Int, _ word: String) -> String {
        "\(number.grouped) \(word)\(number == 1 ? "" : "s")"
    }
}
