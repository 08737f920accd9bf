import RollcallCore
import RollcallSupport

/// A result as a page for a terminal.
struct TuneTable {
    private static let headings = [
        "DEGRADED", "OFFLINE", "false", "share", "pages", "nudges", "delay", "missed", "cost",
    ]
    private static let widths = [8, 8, 8, 6, 6, 6, 7, 6, 8]
    private static let units = ["a day", "a day", "a day", "", "a day", "a day", "", "", "a day"]

    let result: TuneResult
    let style: ConsoleStyle

    /// The whole page.
    var text: String {
        let words = TuneWords(result: result)
        var lines = words.history.flatMap { ConsoleText.wrapped($0, style.columns) }
        lines += ["", style.bold(row("", Self.headings)), row("", Self.units)]
        lines.append(row("present", cells(0)))
        for axis in result.sweep.axes {
            let now = zip(axis.keys, axis.present).map { "\($0.0) (now \($0.1))" }
            lines += now.map { style.bold($0) }
            for place in axis.places {
                let values = result.sweep.candidates[place].changes.map(\.value)
                let label = "  " + values.joined(separator: " ")
                // What does not fit its column has a line of its own.
                let isLong = ConsoleText.columns(label) > labelWidth
                if isLong { lines.append(label) }
                lines.append(row(isLong ? "" : label, cells(place)))
            }
        }
        lines += [""] + people + [""] + phones(words) + [""] + delays + [""] + advice(words)
        lines += ["", style.bold("What the words mean")]
        for (name, meaning) in words.definitions { lines += paragraph("\(name): \(meaning)") }
        lines += ["", style.bold("What this cannot tell")]
        for limit in TuneWords.limits { lines += paragraph(limit) }
        return lines.joined(separator: "\n") + "\n"
    }

    private var labelWidth: Int { 8 }

    private func row(_ label: String, _ cells: [String]) -> String {
        let parts = zip(cells, Self.widths).map {
            ConsoleText.fitted($0.0, $0.1, isRight: true)
        }
        let text = ConsoleText.fitted(label, labelWidth) + parts.joined(separator: " ")
        return String(text.reversed().drop { $0 == " " }.reversed())
    }

    private func cells(_ place: Int) -> [String] {
        let outcome = result.outcomes[place]
        let all = outcome.counts.all
        return [
            TuneNumber.short(outcome.daily(all.degraded)),
            TuneNumber.short(outcome.daily(all.offline)),
            TuneNumber.short(outcome.daily(all.healed)),
            TuneNumber.share(all.healed, outcome.evaluated),
            TuneNumber.short(outcome.daily(outcome.counts.allNotifications.fired)),
            TuneNumber.short(outcome.daily(outcome.counts.nudges)),
            TuneNumber.seconds(outcome.meanDelay), "\(outcome.stats.missed)",
            TuneNumber.short(outcome.cost(result.weights)),
        ]
    }

    private func paragraph(_ text: String) -> [String] {
        ConsoleText.wrapped(text, style.columns - 4).enumerated().map { place, line in
            (place == 0 ? "  " : "    ") + line
        }
    }

    // MARK: - Parts

    /// The present settings by duty state and platform.
    private var people: [String] {
        var lines = [style.bold("Present settings, by duty state and platform, a day")]
        let outcome = result.outcomes[0]
        var rows: [[String]] = [["", "", "DEGRADED", "OFFLINE", "back", "false", "share"]]
        for duty in TuneCounts.duties {
            for platform in Platform.allCases {
                let cell = outcome.counts[duty, platform]
                guard cell != TuneCounts.Cell() else { continue }
                rows.append([
                    "\(duty.word)", "\(platform.word)",
                    TuneNumber.short(outcome.daily(cell.degraded)),
                    TuneNumber.short(outcome.daily(cell.offline)),
                    TuneNumber.short(outcome.daily(cell.back)),
                    TuneNumber.short(outcome.daily(cell.healed)),
                    TuneNumber.share(cell.healed, cell.healed + cell.real),
                ])
            }
        }
        if rows.count == 1 { return lines + ["  Nobody was late."] }
        for cells in rows {
            let parts = cells.enumerated().map { place, cell in
                ConsoleText.fitted(cell, place < 2 ? 10 : 9, isRight: place >= 2)
            }
            lines.append("  " + parts.joined(separator: " "))
        }
        return lines
    }

    /// The present settings by what the phone is.
    private func phones(_ words: TuneWords) -> [String] {
        var lines = [style.bold("Present settings, by \(words.phoneWord), a day")]
        let rows = words.phones(result.outcomes[0])
        if rows.isEmpty { return lines + ["  Nobody was OFFLINE."] }
        let heading = [""] + TuneWords.phoneHeadings
        for cells in [heading] + rows {
            let parts = cells.enumerated().map { place, cell in
                ConsoleText.fitted(cell, place == 0 ? 24 : 10, isRight: place > 0)
            }
            lines.append("  " + parts.joined(separator: " "))
        }
        return lines
    }

    private var delays: [String] {
        let outcome = result.outcomes[0]
        var lines = [style.bold("Present settings, from the last contact to OFFLINE")]
        for duty in TuneCounts.duties {
            guard let longest = outcome.counts.delay(1, duty) else { continue }
            let parts = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)].map { name, share in
                "\(name) \(TuneNumber.seconds(outcome.counts.delay(share, duty)))"
            }
            lines.append(
                "  " + ConsoleText.fitted("\(duty.word)", 11) + parts.joined(separator: ", ")
                    + ", longest \(TuneNumber.seconds(longest))")
        }
        if lines.count == 1 { lines.append("  No OFFLINE that lasted.") }
        lines.append(
            "  Believed reachable while silent, person-hours a day: "
                + TuneNumber.short(outcome.believedHours) + ". People who flapped: "
                + "\(outcome.counts.flapping).")
        return lines
    }

    private func advice(_ words: TuneWords) -> [String] {
        var lines = [style.bold("What to do")]
        for (axis, advice) in zip(result.sweep.axes, result.advice) {
            lines += paragraph(words.sentence(axis, advice))
        }
        if !result.changes.isEmpty {
            lines += ["", style.bold("For the file of settings")]
            let yaml = TuneText.yaml(result.changes.map { ($0.key, $0.value) })
            lines += yaml.split(separator: "\n").map(String.init)
        }
        if let note = words.togetherNote { lines += ["", note] }
        return lines + [""] + ConsoleText.wrapped(TuneWords.rule, style.columns)
    }
}
