import RollcallCore
import RollcallSupport

/// Gaps counted by cause, verdict, region, platform or what the phone is, for people.
struct GapCounts {
    private let answer: JSONTree
    private let status: JSONTree
    private let words: String

    /// A page of the server's counts, beside `status`, the answer of `/v1/status`.
    init(_ answer: JSONTree, status: JSONTree, words: String) {
        self.answer = answer
        self.status = status
        self.words = words
    }

    /// The whole page.
    func text(_ style: ConsoleStyle) -> String {
        let by = answer["by"]?.elements.compactMap(\.shown) ?? []
        let rows = answer["rows"]?.elements ?? []
        let all = answer["gaps"]?.whole ?? rows.reduce(0) { $0 + ($1["gaps"]?.whole ?? 0) }
        let blind = rows.reduce(0) { $0 + ($1["blind"]?.whole ?? 0) }
        var lines = ConsoleText.wrapped(now, style.columns)
        lines.append("")
        guard !rows.isEmpty else {
            return (lines + ["No gaps\(words)."]).joined(separator: "\n") + "\n"
        }
        let leftOut = blind > 0 ? " (\(blind.grouped) more are left out: see blind)" : ""
        lines += ConsoleText.wrapped(
            "\(GapListing.count(Int(clamping: all), "gap"))\(words), most first\(leftOut).",
            style.columns)
        lines.append("")
        lines += table(by, rows, all, style)
        if blind > 0 {
            lines.append("")
            lines += ConsoleText.wrapped(
                "blind: gaps of which we did not watch 5 % or more. They count against nobody: "
                    + "not in gaps, share, median, longest, total and verdicts.", style.columns)
        }
        if answer["truncated"]?.isTrue == true {
            lines.append("")
            lines.append("There are more rows than the server counts: choose by --since or others.")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A sentence on the fleet at this moment: the rate that the counts explain.
    private var now: String {
        guard let responders = status["responders"], let active = responders["active"]?.whole
        else { return "How many are OFFLINE now, this server does not tell." }
        let counts = ["ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE"].map { word in
            (word, responders[word]?.whole ?? 0)
        }
        let offline = counts[3].1
        let list = counts.map { "\($0.1.grouped) \($0.0)" }.joined(separator: ", ")
        let watching =
            status["watching"] == .boolean(false)
            ? " We are not watching at the moment: this is the last that was known." : ""
        return
            "Now: \(Self.percent(offline, active)) OFFLINE; of \(active.grouped) expected \(list)."
            + watching
    }

    private func table(
        _ by: [String], _ rows: [JSONTree], _ all: Int64, _ style: ConsoleStyle
    ) -> [String] {
        // Only where phones are told apart does it matter of how many people they are.
        let people = rows.contains { $0["people"] != nil } ? ["people"] : []
        let stats = ["gaps", "share"] + people + ["open", "median", "longest", "total", "blind"]
        let columns =
            by.map { ConsoleTable.Column($0, least: 8) }
            + stats.map { ConsoleTable.Column($0, isRight: true) }
        let cells = rows.map { row in
            let seconds = row["seconds"]
            return by.map { row[$0]?.shown ?? GapListing.missing } + [
                Self.number(row["gaps"]), Self.percent(row["gaps"]?.whole ?? 0, all),
            ] + people.map { Self.number(row[$0]) } + [
                Self.number(row["open"]), Self.span(seconds?["median"]),
                Self.span(seconds?["longest"]), Self.span(seconds?["total"]),
                Self.number(row["blind"]),
            ]
        }
        let table = ConsoleTable(columns, cells, style)
        var lines = [style.bold(table.head)]
        for (row, cells) in zip(rows, cells) {
            lines.append(table.line(cells))
            guard let verdicts = verdicts(row, by) else { continue }
            lines += ConsoleText.wrapped(verdicts, style.columns - 4).map {
                "    " + style.dim($0)
            }
        }
        return lines
    }

    /// Returns what the gaps of a row turned out to be, most first.
    private func verdicts(_ row: JSONTree, _ by: [String]) -> String? {
        guard !by.contains("verdict"), let reported = row["verdicts"] else { return nil }
        let counts = reported.members.compactMap { member in
            member.value.whole.map { (ConsoleText.safe(member.name), $0) }
        }.sorted { $0.1 == $1.1 ? $0.0 < $1.0 : $0.1 > $1.1 }
        var parts = counts.map { "\($0.0) \($0.1.grouped)" }
        let rest = (row["gaps"]?.whole ?? 0) - counts.reduce(0) { $0 + $1.1 }
        if rest > 0 { parts.append("no verdict yet \(rest.grouped)") }
        return parts.isEmpty ? nil : "turned out: \(parts.joined(separator: ", "))"
    }

    /// A count; a dash where there is none.
    static func number(_ value: JSONTree?) -> String {
        value?.whole.map { $0.grouped } ?? GapListing.missing
    }

    /// A span of seconds; a dash where there is none.
    static func span(_ value: JSONTree?) -> String {
        value?.seconds.map { ConsoleStyle.span($0, between: "") } ?? GapListing.missing
    }

    /// Whole percents; what is some and rounds to none is `<1 %`.
    static func percent(_ part: Int64, _ all: Int64) -> String {
        guard all > 0 else { return "0 %" }
        let share = Int64(exactly: (Double(part) / Double(all) * 100).rounded()) ?? 0
        return share == 0 && part > 0 ? "<1 %" : "\(share) %"
    }
}
