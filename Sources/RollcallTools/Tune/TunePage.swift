import RollcallCore

/// A result as one page that needs nothing else: no script, no picture, nothing from anywhere.
struct TunePage {
    let result: TuneResult
    private let words: TuneWords
    private let plots: TunePlots

    /// A page about `result`.
    init(result: TuneResult) {
        self.result = result
        words = TuneWords(result: result)
        plots = TunePlots(result: result)
    }

    /// The page.
    var text: String {
        let parts = [summary, tradeOff, advice, axes, table, people, phones, definitions, limits]
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8"/>
            <meta name="viewport" content="width=device-width, initial-scale=1"/>
            <meta name="referrer" content="no-referrer"/>
            <title>Rollcall: settings tried on a history</title>
            <style>
            \(Self.style)
            </style>
            </head>
            <body>
            <main>
            \(parts.joined(separator: "\n"))
            </main>
            </body>
            </html>

            """
    }

    private func escaped(_ text: String) -> String { TunePlots.escaped(text) }

    // MARK: - Sections

    private var summary: String {
        let outcome = result.outcomes[0]
        let tiles = [
            (TuneNumber.short(outcome.daily(outcome.counts.all.healed)), "false alarms a day"),
            (TuneNumber.share(outcome.counts.all.healed, outcome.evaluated), "of OFFLINE healed"),
            (TuneNumber.seconds(outcome.meanDelay), "mean delay"),
            (TuneNumber.short(outcome.daily(outcome.counts.allNotifications.fired)), "pages a day"),
            ("\(outcome.stats.missed)", "of \(outcome.stats.long) long gaps missed"),
            (TuneNumber.short(outcome.believedHours), "hours a day believed reachable"),
        ]
        let list = tiles.map { "<li><b>\(escaped($0.0))</b> <span>\(escaped($0.1))</span></li>" }
        let history = words.history.map { "<p>\(escaped($0))</p>" }
        return "<h1>Settings tried on a history</h1>\n" + history.joined(separator: "\n")
            + "\n<h2>As it is now</h2>\n<ul class=\"tiles\">\(list.joined())</ul>"
    }

    private var tradeOff: String {
        """
        <h2>False alarms against delay</h2>
        <p>Down and to the left is better. <b class="key now">0</b> is as it is now\
        \(plots.advised.isEmpty ? "" : ", <b class=\"key take\">n</b> is advised"); the numbers are \
        those of the table. What changes neither is not drawn.</p>
        <figure>\(plots.tradeOff)</figure>
        """
    }

    private var advice: String {
        let items = zip(result.sweep.axes, result.advice).map { axis, advice in
            var kind = "keep"
            if case .take = advice { kind = "take" }
            return "<li class=\"\(kind)\">\(escaped(words.sentence(axis, advice)))</li>"
        }
        var text = "<h2>What to do</h2>\n<ul class=\"advice\">\(items.joined(separator: "\n"))</ul>"
        if !result.changes.isEmpty {
            let yaml = TuneText.yaml(result.changes.map { ($0.key, $0.value) })
            let lines = yaml.split(separator: "\n").map { escaped(String($0)) }
            text +=
                "\n<p>For the file of settings:</p>\n<pre>\(lines.joined(separator: "\n"))</pre>"
        }
        if let note = words.togetherNote { text += "\n<p>\(escaped(note))</p>" }
        return text + "\n<p class=\"small\">\(escaped(TuneWords.rule))</p>"
    }

    private var axes: String {
        let stats = result.sweep.axes.map { axis in
            "<figure><figcaption>\(escaped(axis.title))</figcaption>\(plots.bars(axis))</figure>"
        }
        return "<h2>Setting by setting</h2>\n<div class=\"axes\">"
            + stats.joined(separator: "\n") + "</div>"
    }

    private var table: String {
        let headings = [
            "", "setting", "DEGRADED", "OFFLINE", "false alarms", "share", "pages", "critical",
            "nudges", "delay", "p50", "p90", "p99", "longest", "missed", "believed h", "cost",
        ]
        let advised = Set(plots.advised)
        let rows = result.outcomes.indices.map { place in
            let kind = place == 0 ? "now" : advised.contains(place) ? "take" : ""
            let cells = cells(place).map { "<td>\(escaped($0))</td>" }.joined()
            let name = escaped(result.sweep.candidates[place].text)
            return
                "<tr class=\"\(kind)\"><td>\(place)</td><th scope=\"row\">\(name)</th>\(cells)</tr>"
        }
        return Self.table("Every setting", headings.map(escaped), rows)
    }

    private func cells(_ place: Int) -> [String] {
        let outcome = result.outcomes[place]
        let counts = outcome.counts
        return [counts.all.degraded, counts.all.offline, counts.all.healed].map {
            TuneNumber.short(outcome.daily($0))
        } + [TuneNumber.share(counts.all.healed, outcome.evaluated)]
            + [counts.allNotifications.fired, counts.allNotifications.critical, counts.nudges].map {
                TuneNumber.short(outcome.daily($0))
            } + [TuneNumber.seconds(outcome.meanDelay)]
            + [0.5, 0.9, 0.99, 1].map { TuneNumber.seconds(counts.delay($0)) }
            + [
                "\(outcome.stats.missed)", TuneNumber.short(outcome.believedHours),
                TuneNumber.short(outcome.cost(result.weights)),
            ]
    }

    private var people: String {
        let headings = [
            "setting", "duty state", "platform", "DEGRADED", "OFFLINE", "back", "false alarms",
            "share",
        ]
        var rows: [String] = []
        for place in [0] + plots.advised {
            let outcome = result.outcomes[place]
            for duty in TuneCounts.duties {
                for platform in Platform.allCases {
                    let cell = outcome.counts[duty, platform]
                    guard cell != TuneCounts.Cell() else { continue }
                    let cells =
                        ["\(duty.word)", "\(platform.word)"]
                        + [cell.degraded, cell.offline, cell.back, cell.healed].map {
                            TuneNumber.short(outcome.daily($0))
                        } + [TuneNumber.share(cell.healed, cell.healed + cell.real)]
                    let name = escaped(result.sweep.candidates[place].text)
                    rows.append(
                        "<tr><th scope=\"row\">\(name)</th>"
                            + cells.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>")
                }
            }
        }
        return Self.table("By duty state and platform, a day", headings, rows)
    }

    private var phones: String {
        let rows = words.phones(result.outcomes[0]).map { cells in
            "<tr><th scope=\"row\">\(escaped(cells[0]))</th>"
                + cells.dropFirst().map { "<td>\(escaped($0))</td>" }.joined() + "</tr>"
        }
        return Self.table(
            "Present settings, by \(words.phoneWord), a day",
            [words.phoneWord] + TuneWords.phoneHeadings, rows)
    }

    private static func table(_ title: String, _ headings: [String], _ rows: [String]) -> String {
        let head = headings.map { heading in
            "<th scope=\"col\"\(heading == "setting" ? " class=\"name\"" : "")>\(heading)</th>"
        }.joined()
        return
            "<h2>\(title)</h2>\n<div class=\"wide\" tabindex=\"0\"><table><thead><tr>\(head)</tr>"
            + "</thead><tbody>\n\(rows.joined(separator: "\n"))\n</tbody></table></div>"
    }

    private var definitions: String {
        let list = words.definitions.map {
            "<dt>\(escaped($0.name))</dt><dd>\(escaped($0.meaning))</dd>"
        }
        return "<h2>What the words mean</h2>\n<dl>\(list.joined(separator: "\n"))</dl>"
    }

    private var limits: String {
        let list = TuneWords.limits.map { "<li>\(escaped($0))</li>" }
        return "<h2>What this cannot tell</h2>\n<ul>\(list.joined(separator: "\n"))</ul>"
    }

    // MARK: - Style

    private static let style = """
        :root { color-scheme: light dark; --ground: #fff; --soft: #f2f4f7; --ink: #1a2029; \
        --faint: #5a6675; --rule: #d5dbe3; --one: #3a6fb0; --two: #c07a1c; --take: #1f7a4a; \
        --now: #1a2029 }
        @media (prefers-color-scheme: dark) { :root { --ground: #14181e; --soft: #1e242d; \
        --ink: #e6eaf0; --faint: #9aa7b8; --rule: #333d4a; --one: #6ea0e0; --two: #e0a04c; \
        --take: #4cc586; --now: #e6eaf0 } }
        * { box-sizing: border-box }
        body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, \
        sans-serif }
        main { max-width: 72rem; margin: 0 auto; padding: 1rem }
        h1 { font-size: 1.5rem; line-height: 1.2; margin: .5rem 0 }
        h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-top: 1px solid var(--rule); \
        padding-top: 1rem }
        p { margin: .4rem 0; max-width: 44rem }
        figure { margin: 0; max-width: 36rem }
        figcaption { font-weight: 600; overflow-wrap: anywhere }
        svg { width: 100%; height: auto; display: block; font: 11px system-ui, sans-serif }
        svg text { fill: var(--faint) }
        svg .name { fill: var(--ink) }
        svg .value { fill: var(--ink) }
        svg .value.now { font-weight: 700 }
        svg .value.take { font-weight: 700; fill: var(--take) }
        svg .grid { stroke: var(--rule); stroke-width: 1 }
        svg .one { fill: var(--one) }
        svg .two { fill: var(--two) }
        svg .dot circle { fill: var(--one) }
        svg .now circle { fill: var(--now) }
        svg .take circle { fill: var(--take) }
        svg circle { stroke: var(--ground); stroke-width: 1.5 }
        svg .mark { fill: var(--ground); font-size: 9.5px; font-weight: 700 }
        .key { display: inline-block; min-width: 1.5em; text-align: center; border-radius: 1em; \
        color: var(--ground); font-size: .85em }
        .key.now { background: var(--now) }
        .key.take { background: var(--take) }
        .tiles { list-style: none; padding: 0; display: grid; gap: .5rem; \
        grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)) }
        .tiles li { background: var(--soft); border-radius: .5rem; padding: .6rem .75rem }
        .tiles b { display: block; font-size: 1.4rem; line-height: 1.2 }
        .tiles span, .small { color: var(--faint); font-size: .875rem }
        .advice { padding-left: 1.2rem; max-width: 44rem }
        .advice li { margin: .3rem 0; overflow-wrap: anywhere }
        .advice .take { font-weight: 600 }
        .advice .take::marker { color: var(--take) }
        .axes { display: grid; gap: 1.5rem; \
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)) }
        .wide { overflow-x: auto }
        table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums }
        td, th { padding: .25rem .5rem; border-bottom: 1px solid var(--rule); text-align: right; \
        white-space: nowrap }
        thead th { vertical-align: bottom; white-space: normal; color: var(--faint); font-weight: 600 }
        th[scope=row] { text-align: left; font-weight: 400; white-space: normal; min-width: 9rem; \
        overflow-wrap: anywhere }
        thead th.name { text-align: left }
        tr.now th, tr.now td { font-weight: 700 }
        tr.take th, tr.take td { color: var(--take); font-weight: 600 }
        pre { background: var(--soft); border-radius: .5rem; padding: .75rem; overflow-x: auto }
        dt { font-weight: 600 }
        dd { margin: 0 0 .5rem; max-width: 44rem; overflow-wrap: anywhere }
        @media print { :root { --ground: #fff; --soft: #fff; --ink: #000; --faint: #444; \
        --rule: #bbb; --one: #3a6fb0; --two: #c07a1c; --take: #1f7a4a; --now: #000 } \
        body { font-size: 11px } .wide { overflow: visible } table { font-size: 8px } \
        td, th { padding: 2px 3px } figure, tr { break-inside: avoid } * { print-color-adjust: exact } }
        """
}
