import RollcallCore
import RollcallSupport

/// The standing of everything, for people: whether anybody watches, the fleet by region, who is
/// silent and why, alerts, and Rollcall itself. Each part shows so many rows and says how many
/// there are more.
struct StatusPage {
    private static let counts = ["ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE"]

    let status: JSONTree
    let regions: [JSONTree]
    let silent: [JSONTree]
    let hasMoreOffline: Bool
    let alerts: [JSONTree]
    /// People who are ONLINE and of whom nobody knows whether they can be reached.
    let unsure: Int
    let hasMoreUnsure: Bool
    let limit: Int
    let style: ConsoleStyle
    /// The cells of which nothing came.
    var missing = MissingCells()
    /// The reason why nobody who is silent is named, though some are.
    var unnamed: String?

    /// The whole page.
    var text: String {
        let opening = unreached + (sentence.map { $0.lines(style) } ?? []) + unknown
        let parts = [opening + watch, fleet, people, alertPart, itself]
        return parts.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    /// The server's clock: ages are told by it, whatever this machine's says.
    var asOf: Timestamp { status["as_of"]?.instant ?? Timestamp(milliseconds: 0) }

    private var isWatching: Bool { status["watching"] != .boolean(false) }

    /// The lines that name the cells of which nothing is known: those that the fleet cell does not hear, and
    /// those that did not answer now. Source: K4, K5.
    var unknown: [String] {
        let dark = alerts.filter {
            $0["alertname"]?.text == "CellDark" && $0["state"]?.text == "firing"
        }.compactMap { $0["labels"]?["cell"]?.shown }
        let heard =
            dark.isEmpty
            ? []
            : [
                "Nothing is known of \(dark.count == 1 ? "cell" : "cells") \(dark.joined(separator: ", ")): "
                    + "people there are counted as they were last."
            ]
        let missing = missing.sentence.map { [Printout.capital($0) + "."] } ?? []
        return (heard + missing).flatMap { ConsoleText.wrapped($0, style.columns) }
            .map { style.loud($0) }
    }

    // MARK: - The watch

    /// The lines that stand above all others.
    var opening: [String] { unreached + (sentence.map { $0.lines(style) } ?? watch) }

    private var sentence: SentenceText? { SentenceText(status) }

    /// The lines that say whether somebody watches, and as of when.
    var watch: [String] {
        var lines: [String] = []
        if !isWatching {
            let since = status["not_watching_since"]?.instant.map { " since \(ago($0))" } ?? ""
            let reasons = (status["blind"]?.elements ?? []).map {
                GapWording.blindness($0["reason"]?.text)
            }
            let why = reasons.isEmpty ? "" : ": \(reasons.joined(separator: "; "))"
            let text = "NOT WATCHING\(since)\(why). Everything below is what was last known."
            lines += ConsoleText.wrapped(text, style.columns).map { style.loud($0) }
        }
        let word = isWatching ? "Watching. As of" : "As of"
        let moment = "\(style.moment(asOf)) \(style.zone(asOf))"
        let batch = status["last_batch_at"]?.instant.map { "last batch \(ago($0))" }
        let text = "\(word) \(moment); \(batch ?? "no batch ever came"). \(sources)"
        return lines + ConsoleText.wrapped(text, style.columns) + clocks
    }

    /// Sources whose clocks are off, or whose times lag: a sentence each, as the server tells it.
    private var clocks: [String] {
        let notified = (status["clocks"]?.elements ?? []).compactMap { $0["text"]?.shown }
        var lines = notified.prefix(limit).flatMap { ConsoleText.wrapped("\($0).", style.columns) }
        if notified.count > limit { lines.append("and \((notified.count - limit).grouped) more") }
        return lines
    }

    /// The lines that come before everything else: nobody knows of what must be known (D1).
    var unreached: [String] {
        guard let notified = status["nobody_reached"], notified != .null else { return [] }
        let alerts = GapListing.count(
            Int(clamping: notified["alerts"]?.whole ?? 0), "critical alert")
        let since = notified["since"]?.instant.map { ", firing since \(ago($0))" } ?? ""
        let why =
            notified["reason"]?.text == "no_receiver"
            ? "no receiver is set for \(alerts)" : "no receiver has taken \(alerts)"
        return ConsoleText.wrapped("NOBODY HAS BEEN REACHED: \(why)\(since).", style.columns)
            .map { style.loud($0) }
    }

    private var sources: String {
        let sources = status["sources"]?.elements ?? []
        guard !sources.isEmpty else { return "No source promised a heartbeat." }
        let down = sources.filter { $0["up"] == .boolean(false) }
        let all = GapListing.count(sources.count, "source")
        let beating = "\(sources.count - down.count) of \(all) beating"
        guard !down.isEmpty else { return "\(beating)." }
        let names = down.prefix(limit).map { source in
            let beat = source["last_beat_at"]?.instant.map { ", last beat \(ago($0))" } ?? ""
            return "\(source["source"]?.shown ?? GapListing.missing) DOWN\(beat)"
        }
        let rest = more(down.count - names.count)
        return "\(beating); \(names.joined(separator: "; "))\(rest)."
    }

    /// `, and 37 more`; nothing for none.
    private func more(_ count: Int) -> String { count > 0 ? ", and \(count.grouped) more" : "" }

    // MARK: - The fleet

    private var fleet: [String] {
        let all = status["responders"]
        let absent = status["not_expected"]?["all"]
        let order = Self.worstFirst(regions)
        let shown = order.prefix(limit)
        var rows = shown.map { region in
            let mark = region["must_be_staffed"]?.isTrue == true ? " *" : ""
            return [(region["region"]?.shown ?? GapListing.missing) + mark]
                + cells(region["active"], region["responders"], region["not_expected"])
        }
        let rest = order.count - shown.count
        if rest > 0 { rows.append(["and \(rest.grouped) more"]) }
        rows.append(["all"] + cells(all?["active"], all, absent))
        let columns =
            [ConsoleTable.Column("region", least: 8)]
            + (["expected"] + Self.counts + ["not expected"]).map {
                ConsoleTable.Column($0, isRight: true)
            }
        let table = ConsoleTable(columns, rows, style)
        let isNarrow = style.isCut && table.width > style.columns
        var lines =
            isNarrow
            ? rows.flatMap { sentence($0) } : [style.bold(table.head)] + rows.map { table.line($0) }
        if shown.contains(where: { $0["must_be_staffed"]?.isTrue == true }) {
            lines.append("* must be staffed")
        }
        // While nobody watches this is said of everybody.
        if unsure > 0, isWatching {
            let text =
                (hasMoreUnsure ? "At least " : "")
                + "\(unsure.grouped) of the ONLINE cannot be vouched for: we were not watching, and have "
                + "not heard from them since or not lately enough."
            lines += ConsoleText.wrapped(text, style.columns)
        }
        return lines
    }

    /// A row of the fleet where no table fits: `north: 21 expected, 14 ONLINE, 6 OFFLINE`.
    private func sentence(_ row: [String]) -> [String] {
        let words = ["expected"] + Self.counts + ["not expected"]
        let stats = zip(row.dropFirst(), words).filter { $0 != "0" || $1 == "expected" }
            .map { "\($0) \($1)" }
        let text = stats.isEmpty ? "" : ": \(stats.joined(separator: ", "))"
        return ConsoleText.wrapped((row.first ?? "") + text, style.columns - 2).enumerated().map {
            ($0 == 0 ? "" : "  ") + $1
        }
    }

    /// Those with most people OFFLINE come first; all else keeps its order.
    static func worstFirst(_ regions: [JSONTree]) -> [JSONTree] {
        func rank(_ region: JSONTree) -> Int64 { region["responders"]?["OFFLINE"]?.whole ?? 0 }
        return regions.enumerated().sorted { a, b in
            (rank(b.element), a.offset) < (rank(a.element), b.offset)
        }.map(\.element)
    }

    private func cells(
        _ active: JSONTree?, _ responders: JSONTree?, _ absent: JSONTree?
    ) -> [String] {
        ([active] + Self.counts.map { responders?[$0] } + [absent]).map {
            $0?.whole.map { $0.grouped } ?? GapListing.missing
        }
    }

    // MARK: - Who is silent

    private var people: [String] {
        // The number is the engine's, as on the page: the list is read a moment later.
        let notified = status["responders"]?["OFFLINE"]?.whole
        let offline = notified.map { Int(clamping: $0) } ?? silent.count
        guard offline > 0 else { return [nobody] }
        guard !silent.isEmpty else {
            guard let unnamed else {
                return ["\(offline.grouped) OFFLINE, and no gap is open for them."]
            }
            return ConsoleText.wrapped("\(offline.grouped) OFFLINE; \(unnamed).", style.columns)
        }
        var lines = [style.bold("\(offline.grouped) silent, the newest first")]
        lines += suspected(offline)
        for gap in silent { lines += person(gap) }
        if hasMoreOffline {
            let rest = offline - silent.count
            let count = rest > 0 ? "\(rest.grouped) " : ""
            lines += ConsoleText.wrapped(
                "and \(count)more: --limit shows more here, rollcall gaps all", style.columns)
        }
        return lines
    }

    /// That nobody is silent, as far as that can be said.
    var nobody: String {
        if !isWatching { return "Nobody was silent when we last saw; who is now cannot be seen." }
        return unsure > 0 ? "Nobody is known to be silent." : "Nobody is silent."
    }

    /// Returns why people are silent, in numbers of the instant that counted them; nothing from a
    /// server that does not tell.
    private func suspected(_ offline: Int) -> [String] {
        guard let gaps = status["gaps"], let open = gaps["open"]?.whole, open > 0 else { return [] }
        let names = gaps["suspected"]?.names ?? []
        let counts = names.map { (name: $0, count: gaps["suspected"]?[$0]?.whole ?? 0) }
        let words = counts.sorted { ($1.count, $0.name) < ($0.count, $1.name) }.map {
            "\($0.count.grouped) \(ConsoleText.safe($0.name).replacing("_", with: " "))"
        }
        let of = open == offline ? "" : " of \(GapListing.count(Int(clamping: open), "open gap"))"
        return ConsoleText.wrapped(
            "Suspected\(of): \(words.joined(separator: ", ")).", style.columns)
    }

    private func person(_ gap: JSONTree) -> [String] {
        let id = gap["responder_id"]?.shown ?? GapListing.missing
        let region = gap["region"]?.shown.map { " in \($0)" } ?? ""
        let platform = gap["platform"]?.shown.map { $0 == "unknown" ? "" : ", \($0)" } ?? ""
        let contact = gap["evidence"]?["last_contact_at"]?.instant.map { "last seen \(ago($0))" }
        let head = "\(id)\(region)\(platform): \(contact ?? "never seen since they were expected")."
        let suspected = gap["suspected"]?.shown ?? GapListing.missing
        let words = gap["text"]?.shown ?? "Suspected: \(suspected)."
        return ConsoleText.wrapped(head, style.columns - 2).enumerated().map { place, line in
            (place == 0 ? "" : "  ") + line
        } + ConsoleText.wrapped(words, style.columns - 2).map { "  " + style.dim($0) }
    }

    // MARK: - Rollcall itself

    private var itself: [String] {
        var parts = ["Rollcall \(status["version"]?.shown ?? GapListing.missing)"]
        if let at = status["started_at"]?.instant { parts[0] += ", started \(ago(at))" }
        if let store = status["store"] {
            let isFailing = store["state"]?.text != "ok"
            let oldest = store["oldest_at"]?.instant.map { ", history since \(style.moment($0))" }
            var size = store["size_bytes"]?.whole.map { ", \(max(1, $0 >> 20)) MiB" } ?? ""
            if store["nearly_full"] == .boolean(true), let most = store["size_max_bytes"]?.whole {
                size += " of \(most >> 20): OLD HISTORY GOES"
            }
            parts.append((isFailing ? "STORE FAILING" : "store ok") + size + (oldest ?? ""))
            if let lost = store["lost"], let at = lost["at"]?.instant {
                let kept = (lost["kept"]?.elements ?? []).compactMap(\.shown)
                let names = kept.isEmpty ? "" : ", kept as \(kept.joined(separator: ", "))"
                parts.append(
                    "STATE LOST \(ago(at)): \(lost["cause"]?.shown ?? GapListing.missing)\(names)")
            }
        }
        if let cluster = status["cluster"] { parts.append(standing(cluster)) }
        if let nudges = status["nudges"], nudges != .null {
            let waiting = nudges["pending"]?.whole ?? 0
            let frozen = nudges["frozen_until"]?.instant.map {
                ", frozen until \(style.moment($0))"
            }
            let rest = waiting > 0 ? ", \(waiting.grouped) waiting" : ""
            let mode = nudges["mode"]?.shown?.replacing("_", with: " ") ?? GapListing.missing
            parts.append("nudges \(mode)\(rest)\(frozen ?? "")")
        }
        let receivers = (status["receivers"]?.elements ?? []).map { receiver in
            let waiting = receiver["pending"]?.whole ?? 0
            return (receiver["name"]?.shown ?? GapListing.missing)
                + (waiting > 0 ? " (\(waiting.grouped) waiting)" : "")
        }
        if !receivers.isEmpty {
            let names = receivers.prefix(limit)
            let rest = more(receivers.count - names.count)
            parts.append("receivers \(names.joined(separator: ", "))\(rest)")
        }
        for one in status["subscriptions"]?.elements ?? [] {
            let name = one["name"]?.shown ?? GapListing.missing
            let error = one["error"]?.shown.map { ": \($0)" } ?? ""
            switch one["state"]?.text {
            case "stopped": parts.append("subscription \(name) REFUSES, nothing is sent\(error)")
            case "trying": parts.append("subscription \(name) is away\(error)")
            default: parts.append("subscription \(name)")
            }
        }
        if status["settings"]?["last_reload_ok"] == .boolean(false) {
            parts.append("LAST RELOAD REFUSED: the settings from before are in force")
        }
        return ConsoleText.wrapped(parts.joined(separator: "; ") + ".", style.columns)
    }

    /// `follows a, one of 3 members`: how the member that was asked stands in its watch.
    private func standing(_ cluster: JSONTree) -> String {
        let count = cluster["members"]?.elements.count ?? 0
        let role = ClusterQuestion.words(cluster["role"]?.shown ?? "", cluster["leader"]?.shown)
        let isBehind = cluster["confirmed"] == .boolean(false)
        return "\(role), one of \(count) members" + (isBehind ? ": NOT ALL OF THE LOG IS HERE" : "")
    }

    /// `25m ago (05:35:00)`: how long before the server's now, and when.
    func ago(_ at: Timestamp) -> String {
        let span = ConsoleStyle.span(max(Milliseconds(0), asOf - at))
        return "\(span) ago (\(style.time(at, beside: asOf)))"
    }
}
