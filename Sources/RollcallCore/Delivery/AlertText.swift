/// An alert in words: for whoever is woken by it. Source: Contract/Alerts.
///
/// The title stands alone: at most 140 characters with where, how many and why.
package struct AlertText {
    /// Characters of a title at most.
    package static let titleMax = 140
    /// Bytes of a name in a text at most.
    static let nameMax = 40

    let member: NoticeMember
    let facts: AlertFacts
    /// The numbers that causes and people belong to, if those are not the numbers of now (D7).
    let first: AlertStats?
    /// Of one that stands for many (D11).
    private let storm: StormFacts?
    let name: (Int) -> [UInt8]?
    /// The reason why somebody is told whom no matcher names; nil if one does, and of an end.
    private let fallback: String?
    /// True if names stand in isolates of direction, which a browser needs beside them.
    package var isolatesNames = false
    /// Causes that the title names at most: as many as fit.
    private var causesShown = AlertFacts.causesMax

    /// The words for `member`; `name` gives people's ids, nil of somebody erased. `fired` are the
    /// numbers of the instant whose causes and people the member has, nil if they are its own. `storm` is
    /// what is said of those that the member stands for, nil if it is one alert; `error` is what the
    /// receiver that a fallback stands for answered last.
    package init(
        _ member: NoticeMember, fired: AlertStats? = nil, storm: StormFacts? = nil,
        error: String? = nil,
        name: @escaping (Int) -> [UInt8]?
    ) {
        self.member = member
        self.storm = storm
        facts = member.facts
        first = fired == member.facts.stats ? nil : fired
        self.name = name
        fallback = member.endsAt > .distantPast ? nil : member.fallback?.words(error)
    }

    /// `summary`, `description` and those of the settings, which win.
    package var annotations: [Label] {
        let own = [
            Label("summary", Array(summary.utf8)), Label("description", Array(description.utf8)),
        ]
        return (member.annotations + own).ordered()
    }

    // MARK: - The title

    /// One line: what, where, how many, the most frequent causes.
    package var summary: String {
        // Of a call nothing else may be heard.
        let instead = fallback == nil ? nil : member.fallback.map { Self.short($0.receiver) }
        let end = instead.map { " (fallback for \($0))" } ?? ""
        return title(Self.titleMax - end.count) + end
    }

    /// Returns the headline in at most so many characters: cut between causes, else between words.
    private func title(_ most: Int) -> String {
        var shorter = self
        var text = ""
        for shown in (0...AlertFacts.causesMax).reversed() {
            shorter.causesShown = shown
            text = isOver ? "Over: \(shorter.headline)" : shorter.headline
            if text.count <= most { return text }
        }
        let cut = text.prefix(most - 1)
        return (cut.lastIndex(of: " ").map { cut[..<$0] } ?? cut) + "…"
    }

    var isOver: Bool { member.endsAt > .distantPast }

    private var headline: String {
        if let storm { return headline(storm) }
        let (count, total) = (facts.stats.count, facts.stats.total)
        switch member.name {
        case .highOfflineRate: return claim + causes
        case .noOnlineResponders:
            if isOver {
                return total == 0
                    ? "\(place): nobody is expected"
                    : "\(place): \(share) out of contact"
            }
            return isUnstaffed ? claim : "\(claim), \(share) out of contact\(causes)"
        case .responderFlapping:
            if isOver, count == 0 { return "\(place): nobody keeps dropping out" }
            return claim + causes
        case .cellDark, .fleetDark: return isOver ? darkOver : claim
        default: return claim
        }
    }

    /// `6 of 41`, by the numbers of now.
    var share: String { "\(facts.stats.count.grouped) of \(facts.stats.total.grouped)" }

    /// The sentence that says what is wrong, and where, with as few numbers as can be: a title begins with
    /// it, and so do the page and the terminal. Of an alert that fires, or may soon.
    package var claim: String {
        let count = facts.stats.count
        switch member.name {
        case .highOfflineRate: return "\(share) cannot be reached\(inPlace)"
        case .noOnlineResponders:
            return isUnstaffed ? "Nobody is on duty\(inPlace)" : "Nobody can be reached\(inPlace)"
        case .responderFlapping:
            let people = count == 1 ? "1 responder keeps" : "\(count.grouped) responders keep"
            return "\(people) dropping out\(inPlace)"
        case .responderOffline: return "\(place): \(offlineHeadline(causesShown))"
        case .cellDark: return darkHeadline
        case .fleetDark: return "Nothing is heard of the fleet cell"
        case .rollcallDrill: return "DRILL: a test of the way to you, nothing is wrong"
        case .rollcallOverloaded: return "Rollcall refuses writes: the watch is blind"
        case .rollcallStateLost: return "Rollcall lost what it knew: \(lost.words)"
        case .rollcallStoreFailing: return "Rollcall cannot store anything: the watch is blind"
        case .rollcallUnsteady: return "Rollcall changes leaders again and again"
        case .telemetryFeedDown: return feed
        case .watchdog: return "Rollcall's way to you works"
        }
    }

    /// By the numbers of now: what it fired for may have become the other thing (D7).
    private var isUnstaffed: Bool { facts.stats.total == 0 }

    private var feed: String {
        let suspected = member.labels.value(of: Array("suspected".utf8))
        if !suspected.isEmpty {
            return "No batches from anyone\(since): the feed seems to stand still"
        }
        let source = member.labels.value(of: Array("source".utf8))
        if !source.isEmpty { return "Backend \(shown(source)) stopped beating" }
        let all = facts.stats.total
        let backends = all == 1 ? "The only backend" : "All \(all) backends"
        return "\(backends) stopped beating: the watch is blind"
    }

    private var since: String {
        facts.lastBatchAt.map { " since \(Self.clock($0))" } ?? ""
    }

    /// `north`, or `Fleet`.
    var place: String {
        guard let region else { return cell.map { "Cell \($0)" } ?? "Fleet" }
        return (region.isEmpty ? "Erased region" : shown(region)) + inCell
    }

    /// ` (cell a)`, where the rest of the region is in others.
    private var inCell: String { cell.map { " (cell \($0))" } ?? "" }

    /// The cell that decided it; nil where there is none.
    private var cell: String? {
        guard member.name != .cellDark else { return nil }
        return member.labels.first { $0.name == Label.cell }.map { shown($0.value) }
    }

    /// ` in north`; nothing for the whole fleet.
    private var inPlace: String {
        guard let region else { return "" }
        return (region.isEmpty ? " in an erased region" : " in \(shown(region))") + inCell
    }

    /// Empty if its name went with somebody who was erased.
    private var region: [UInt8]? { member.labels.first { $0.name == Label.region }?.value }

    /// `: 4 low_power, 2 no_network`, and whose numbers they are; nothing without any.
    var causes: String {
        if facts.causes.isEmpty { return "" }
        let named = Self.list(facts.causes.prefix(causesShown))
        let isCut = facts.causes.count > causesShown
        let text = isCut ? named + (named.isEmpty ? "…" : ", …") : named + others
        return first.map { "; when it fired \($0.count.grouped): \(text)" } ?? ": \(text)"
    }

    /// ` and 118 others`, where more causes may be than are named: so the numbers add up.
    private var others: String {
        let count = (first ?? facts.stats).count - facts.causes.reduce(0) { $0 + $1.count }
        guard facts.causes.count == AlertFacts.causesMax, count > 0 else { return "" }
        return count == 1 ? " and 1 other" : " and \(count.grouped) others"
    }

    /// `4 low_power, 2 no_network`.
    package var causeList: String { Self.list(facts.causes[...]) { "\($0)" } }

    private static func list(
        _ causes: ArraySlice<AlertFacts.Cause>, _ number: (Int) -> String = { $0.grouped }
    ) -> String {
        causes.map { "\(number($0.count)) \($0.cause.word)" }.joined(separator: ", ")
    }

    // MARK: - More

    /// Some sentences: what is passed, who, since when, what we missed.
    package var description: String {
        if isOver { return ended }
        var sentences = [storm.map(passed) ?? passed]
        // ResponderOffline has named them, each with the cause.
        if !people.isEmpty, member.name != .responderOffline || first != nil {
            let rest = (first ?? facts.stats).count - people.count
            let more = rest > 0 ? " and \(rest.grouped) more" : ""
            let when = first == nil ? "" : " when it fired"
            sentences.append("Responders\(when): \(people.joined(separator: ", "))\(more).")
        }
        if let last = facts.lastBatchAt, member.name != .telemetryFeedDown {
            sentences.append("No batch came from anyone since \(Self.clock(last)).")
        }
        if let from = facts.absentFrom, let to = facts.absentTo {
            sentences.append(
                "Rollcall itself was not running from \(Self.clock(from)) to \(Self.clock(to)).")
        }
        if let fallback { sentences.append("Told as a fallback: \(fallback).") }
        return sentences.filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The text of an end: what holds then, and nothing of what held before it (D7).
    private var ended: String {
        let span =
            "It fired at \(Self.clock(member.startsAt)) and is over since "
            + "\(Self.clock(member.endsAt))."
        return [now, span].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private var now: String {
        if storm != nil { return "" }
        let (count, total) = (facts.stats.count, facts.stats.total)
        switch member.name {
        case .highOfflineRate:
            return "\(share) active responders are OFFLINE now (\(percent))."
        case .noOnlineResponders:
            return total == 0
                ? "Nobody is expected there now."
                : "\(share) active responders are out of contact now."
        case .responderFlapping:
            return count == 0
                ? "Nobody changes between ONLINE and OFFLINE \(facts.limit) times within "
                    + "\(Self.span(facts.span)) any more." : passed
        case .responderOffline: return offlineEnded
        case .cellDark, .fleetDark, .rollcallDrill, .rollcallOverloaded, .rollcallStateLost,
            .rollcallStoreFailing, .rollcallUnsteady, .telemetryFeedDown, .watchdog:
            return ""
        }
    }

    private var passed: String {
        let (count, total) = (facts.stats.count, facts.stats.total)
        switch member.name {
        case .highOfflineRate:
            return "\(share) active responders are OFFLINE (\(percent)), more than "
                + "\(Self.decimal(facts.limit, 100)) %\(lasting)\(causes)."
        case .noOnlineResponders:
            if isUnstaffed {
                let lasting = lasting.isEmpty ? "" : ",\(lasting)"
                return "Nobody is active in a region that must always be staffed\(lasting)."
            }
            return "None of \(total.grouped) active responders is ONLINE\(lasting); "
                + "\(count.grouped) \(count == 1 ? "is" : "are") out of contact\(causes)."
        case .responderFlapping:
            return
                "\(count.grouped) \(count == 1 ? "responder" : "responders") changed between ONLINE and "
                + "OFFLINE at least \(facts.limit) times within \(Self.span(facts.span))."
        case .responderOffline: return offlinePassed
        case .cellDark: return darkPassed
        case .fleetDark: return fleetDarkPassed
        case .rollcallDrill:
            return "Somebody asked Rollcall for a test of this receiver. It ends by itself."
        case .rollcallOverloaded:
            return "Half of the writes of the last 15 s were refused for Rollcall's own reasons: "
                + "statuses stand still until it takes them again."
        case .rollcallStateLost: return lost.description
        case .rollcallStoreFailing:
            return "The store takes no commits: backends are answered 503, statuses stand still, "
                + "and no other alert fires until it does."
        case .rollcallUnsteady:
            return "More than \(Reigns.waitsMax) times within \(Self.span(Reigns.span)) another "
                + "member began to lead, or its log stood still. Deadlines do not wait for it any "
                + "more: somebody may be called OFFLINE whom no leader could hear."
        case .telemetryFeedDown: return feedPassed
        case .watchdog:
            return "This alert always fires: when it stops coming, Rollcall has stopped."
        }
    }

    /// For how long it had to be true.
    var lasting: String {
        facts.span.count > 0 ? " for \(Self.span(facts.span))" : ""
    }

    private var feedPassed: String {
        if !facts.sources.isEmpty, facts.sources.count < facts.stats.total {
            let names = facts.sources.prefix(8).map { Self.short($0) }.joined(separator: ", ")
            let count = facts.stats.count
            let verb = count == 1 ? "does" : "do"
            return "\(share) backends \(verb) not beat: \(names)."
        }
        return "Nothing is known of anybody\(since): phones may be fine, and nobody would know."
    }

    /// Ids of those concerned who are not erased, as text.
    package var people: [String] {
        facts.people.compactMap { number in name(number).map(Self.short) }
    }

    private var percent: String {
        let (count, total) = (Int64(facts.stats.count), Int64(facts.stats.total))
        return total == 0 ? "0 %" : "\(Self.decimal(count * 1000 / total, 10)) %"
    }

    /// Names and values for a pager's fields: nothing in them must be parsed out of sentences.
    package var details: [Label] {
        var list: [Label] = []
        func add(_ name: StaticString, _ value: String) {
            if !value.isEmpty { list.append(Label(name, Array(value.utf8))) }
        }
        if let storm { add("alerts", "\(storm.count)") }
        let isOfPeople = !member.name.isAboutRollcall
        if isOfPeople || member.name == .telemetryFeedDown {
            add("count", "\(facts.stats.count)")
            add("total", "\(facts.stats.total)")
        }
        if storm != nil { return list }
        switch member.name {
        case .highOfflineRate: add("threshold", "\(Self.decimal(facts.limit, 10_000))")
        case .responderFlapping: add("threshold", "\(facts.limit)")
        default: break
        }
        if isOfPeople {
            add(member.name == .responderFlapping ? "window" : "for", Self.span(facts.span))
        }
        if member.name == .noOnlineResponders {
            add("reason", isUnstaffed ? "unstaffed" : "unreachable")
        }
        add("causes", causeList)
        add("responders", people.joined(separator: ", "))
        add("left", peopleLeft)
        add("back", peopleBack)
        add("sources", facts.sources.map { Self.short($0) }.joined(separator: ", "))
        add("last_batch_at", facts.lastBatchAt.map(Self.time) ?? "")
        add("not_running_from", facts.absentFrom.map(Self.time) ?? "")
        add("not_running_to", facts.absentTo.map(Self.time) ?? "")
        add("fallback", fallback ?? "")
        return list
    }

    // MARK: - Words

    private func shown(_ name: [UInt8]) -> String {
        isolatesNames ? Self.isolated(name) : Self.short(name)
    }

    private static func time(_ time: Timestamp) -> String {
        RFC3339.string(time)
    }

    /// `03:12:00 UTC`: the day is in the stamps.
    static func clock(_ instant: Timestamp) -> String {
        let text = time(instant)
        return "\(text.dropFirst(11).prefix(8)) UTC"
    }

    /// `90 s`, `15 min`, `2 h`.
    static func span(_ span: Milliseconds) -> String {
        let count = span.count
        if count % 3_600_000 == 0, count > 0 { return "\(count / 3_600_000) h" }
        if count % 60_000 == 0, count > 0 { return "\(count / 60_000) min" }
        return count % 1000 == 0 ? "\(count / 1000) s" : "\(count) ms"
    }

    /// `value` ÷ `unit` with as many digits as it has.
    private static func decimal(_ value: Int64, _ unit: Int64) -> String {
        var digits = "\(value % unit + unit)".dropFirst()
        while digits.hasSuffix("0") { digits = digits.dropLast() }
        return digits.isEmpty ? "\(value / unit)" : "\(value / unit).\(digits)"
    }
}

extension Fallback {
    /// `oncall has not taken it for 60 s: HTTP 500`; `error` is what it answered last, if it did.
    fileprivate func words(_ error: String?) -> String {
        let seconds = after.count / 1000
        let span =
            switch seconds {
            case ..<600: "\(seconds) s"
            case ..<7200: "\(seconds / 60) min"
            default: "\(seconds / 3600) h"
            }
        let reason = error.map { ": \($0)" } ?? ""
        return "\(AlertText.short(receiver)) has not taken it for \(span)\(reason)"
    }
}
