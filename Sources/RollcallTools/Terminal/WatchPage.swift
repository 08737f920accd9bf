import RollcallCore
import RollcallSupport

/// The page of `rollcall watch`: the sentence, alerts, regions and who is silent, the worst first, in so
/// many lines and columns. No line is longer, no word is broken, and what has no room is counted.
struct WatchPage {
    /// A line, and how loud it is.
    struct Line: Equatable, Sendable {
        enum Mark: Sendable { case plain, bold, loud, dim }

        let text: String
        var mark = Mark.plain

        /// The line as the style shows it.
        func shown(_ style: ConsoleStyle) -> String {
            switch mark {
            case .plain: text
            case .bold: style.bold(text)
            case .loud: style.loud(text)
            case .dim: style.dim(text)
            }
        }
    }

    /// A part of the page: what it is about, and items of one or several lines each.
    private struct Section {
        let head: [Line]
        var items: [[Line]] = []
        /// The words that follow the number of what is left out.
        var more = "more"
        /// More that there are, beside the items.
        var beyond = 0

        /// The line that counts what is left out.
        func count(_ rest: Int) -> Line { Line(text: "and \(rest.grouped) \(more)", mark: .dim) }

        /// Lines that it would like, with the empty one before it.
        var wish: Int { 1 + head.count + items.reduce(0) { $0 + $1.count } + (beyond > 0 ? 1 : 0) }
    }

    /// A server from which nothing was heard for so long does not answer.
    static let doubt = Milliseconds.seconds(6)
    /// A section has so many lines, or none: an empty one, its head and an item.
    private static let sectionMin = 3

    let facts: WatchFacts
    let now: RunningTime
    let columns: Int
    let rows: Int
    /// The zone of times.
    var isLocal = false

    /// The lines, `rows` at most.
    var lines: [Line] {
        let foot = Line(text: "q quits", mark: .dim)
        var top = away + [age] + opening
        // The sentence is worth more than its details, and all of it more than the foot.
        guard rows > top.count else { return Array(top.prefix(max(0, rows))).map(fitted) }
        var free = rows - top.count - 1
        var sections = [alerts, regions, silent].filter { !$0.items.isEmpty || !$0.head.isEmpty }
        while sections.count * Self.sectionMin > free, !sections.isEmpty { sections.removeLast() }
        for (section, room) in zip(sections, Self.shares(sections.map(\.wish), free)) {
            top.append(Line(text: ""))
            top += Self.fill(section, room - 1)
            free -= room
        }
        return (top + Array(repeating: Line(text: ""), count: max(0, free)) + [foot]).map(fitted)
    }

    /// Returns how many of `free` lines each gets: what it wishes, or as much as the others that wish
    /// for more.
    static func shares(_ wishes: [Int], _ free: Int) -> [Int] {
        var shares = wishes.map { _ in 0 }
        var left = free
        while left > 0 {
            let hungry = wishes.indices.filter { shares[$0] < wishes[$0] }
            if hungry.isEmpty { break }
            for place in hungry where left > 0 {
                // One each, in their order: the first is the worst.
                shares[place] += 1
                left -= 1
            }
        }
        return shares
    }

    private static func fill(_ section: Section, _ room: Int) -> [Line] {
        var lines = Array(section.head.prefix(room))
        var left = section.items[...]
        while let item = left.first {
            let isLast = left.count == 1 && section.beyond == 0
            // A line stays for the number of what is left out.
            guard lines.count + item.count + (isLast ? 0 : 1) <= room else { break }
            lines += item
            left.removeFirst()
        }
        let rest = left.count + section.beyond
        guard rest > 0, lines.count < room else { return lines }
        if lines.count == section.head.count, let item = left.first {
            // Nothing had room as a whole: the beginning of the first is worth more than a number.
            let free = room - lines.count
            guard rest > 1, free > 1 else { return lines + item.prefix(free) }
            return lines + item.prefix(free - 1) + [section.count(rest - 1)]
        }
        return lines + [section.count(rest)]
    }

    private func fitted(_ line: Line) -> Line {
        // What is safe stays as it is; nothing else may reach the terminal, wherever it came from.
        Line(text: ConsoleText.cut(ConsoleText.safe(line.text), columns), mark: line.mark)
    }

    private func wrapped(_ text: String, _ mark: Line.Mark = .plain, indent: Int = 0) -> [Line] {
        let margin = String(repeating: " ", count: indent)
        return ConsoleText.wrapped(text, max(1, columns - indent)).map {
            Line(text: margin + $0, mark: mark)
        }
    }

    // MARK: - The top

    private var status: JSONTree { facts.status ?? .null }

    private var style: ConsoleStyle {
        var style = ConsoleStyle()
        (style.columns, style.isCut, style.isLocal) = (columns, true, isLocal)
        return style
    }

    private var page: StatusPage {
        StatusPage(
            status: status, regions: [], silent: [], hasMoreOffline: false, alerts: facts.alerts,
            unsure: 0, hasMoreUnsure: false, limit: StatusQuestion.limitStandard, style: style)
    }

    /// The lines about a server that does not answer, or refuses to.
    private var away: [Line] {
        let silence = facts.heardAt.map { now - $0 } ?? Milliseconds(0)
        let span = ConsoleStyle.span(silence)
        switch facts.fault {
        case .noAnswer(let error)?:
            return wrapped(
                "THE SERVER DOES NOT ANSWER since \(span): \(error). Below is what it last said.",
                .loud)
        case let fault?: return wrapped("NO ANSWER since \(span): \(fault).", .loud)
        case nil where silence > Self.doubt:
            return wrapped(
                "THE SERVER DOES NOT ANSWER since \(span). Below is what it last said.", .loud)
        case nil: return []
        }
    }

    private var age: Line {
        let asOf = page.asOf
        let old = ConsoleStyle.span(Milliseconds((now - facts.statusAt).count / 1000 * 1000))
        return Line(
            text: "As of \(style.time(asOf)) \(style.zone(asOf)), \(old) old. \(facts.server)",
            mark: .dim)
    }

    private var opening: [Line] {
        let unreached = page.unreached.map { Line(text: $0, mark: .loud) }
        let unknown = page.unknown.map { Line(text: $0, mark: .loud) }
        guard let sentence = SentenceText(status) else {
            let isWatching = status["watching"] != .boolean(false)
            return unreached + unknown
                + page.watch.map { Line(text: $0, mark: isWatching ? .plain : .loud) }
        }
        return unreached + wrapped(sentence.claim, sentence.level.isLoud ? .loud : .bold)
            + (sentence.detail.isEmpty ? [] : wrapped(sentence.detail)) + unknown
    }

    // MARK: - Sections

    private var alerts: Section {
        let stories = page.stories
        let firing = stories.count { $0.isFiring }
        guard !stories.isEmpty else { return Section(head: [Line(text: "No alert fires.")]) }
        var section = Section(
            head: [
                Line(
                    text: "\(firing.grouped) firing, \((stories.count - firing).grouped) pending",
                    mark: .bold)
            ], more: "more: rollcall status")
        section.items = stories.map { story in
            wrapped(story.title, story.isFiring ? .loud : .plain)
                + wrapped(story.text, indent: 2) + take(story)
        }
        return section
    }

    /// The command by which one sees to an alert that nobody sees to.
    private func take(_ story: StatusPage.AlertStory) -> [Line] {
        guard let key = story.untakenKey else { return [] }
        return [Line(text: "  rollcall take \(key)", mark: .dim)]
    }

    private var regions: Section {
        guard !facts.regions.isEmpty else { return Section(head: []) }
        let all = StatusPage.worstFirst(facts.regions)
        let cells = all.map { region in
            [
                region["region"]?.shown ?? GapListing.missing,
                Self.count(region["responders"]?["OFFLINE"]), Self.count(region["active"]),
                Self.notes(region),
            ]
        }
        let table = ConsoleTable(
            [
                .init("region", least: 8), .init("OFFLINE", isRight: true),
                .init("of", isRight: true), .init("", least: 8),
            ], cells, style)
        var section = Section(
            head: [Line(text: table.head, mark: .bold)], more: "more: rollcall status --limit 1000")
        section.items = zip(all, cells).map { region, row in
            [Line(text: table.line(row), mark: Self.isEmpty(region) ? .loud : .plain)]
        }
        return section
    }

    private static func count(_ value: JSONTree?) -> String {
        value?.whole.map { $0.grouped } ?? GapListing.missing
    }

    /// True for a region that must be staffed and in which nobody is ONLINE.
    private static func isEmpty(_ region: JSONTree) -> Bool {
        region["must_be_staffed"]?.isTrue == true && region["responders"]?["ONLINE"]?.whole == 0
    }

    private static func notes(_ region: JSONTree) -> String {
        let counts = ["DEGRADED", "UNKNOWN"].compactMap { status in
            region["responders"]?[status]?.whole.flatMap {
                $0 > 0 ? "\($0.grouped) \(status)" : nil
            }
        }
        let isStaffed = region["must_be_staffed"]?.isTrue == true
        return (counts + (isStaffed ? ["must be staffed"] : [])).joined(separator: ", ")
    }

    private var silent: Section {
        let offline = status["responders"]?["OFFLINE"]?.whole.map { Int(clamping: $0) }
        let count = offline ?? facts.silent.count
        guard count > 0 else { return Section(head: [Line(text: page.nobody)]) }
        let asOf = page.asOf + (now - facts.statusAt)
        let people = Self.longestFirst(facts.silent)
        let cells = people.map { person in
            [
                person["responder_id"]?.shown ?? GapListing.missing,
                person["region"]?.shown ?? GapListing.missing,
                Self.contact(person).map { ConsoleStyle.span(max(Milliseconds(0), asOf - $0)) }
                    ?? "never seen",
                (person["suspected"] ?? person["gap"]?["suspected"])?.shown?.replacing(
                    "_", with: " ") ?? GapListing.missing,
            ]
        }
        let table = ConsoleTable(
            [
                .init("responder", least: 8), .init("region", least: 5),
                .init("silent for", isRight: true), .init("suspected", least: 8),
            ], cells, style)
        let of = facts.isSilentWhole ? "" : " of the newest \(people.count.grouped)"
        var section = Section(
            head: [
                Line(text: "\(count.grouped) silent, the longest\(of) first", mark: .bold),
                Line(text: table.head, mark: .bold),
            ], more: "more: rollcall gaps --state open")
        section.items = cells.map { [Line(text: table.line($0))] }
        section.beyond = max(0, count - people.count)
        return section
    }

    private static func contact(_ person: JSONTree) -> Timestamp? {
        (person["last_contact_at"] ?? person["evidence"]?["last_contact_at"])?.instant
    }

    /// Those who were never heard first, then by their last contact, the oldest first.
    static func longestFirst(_ people: [JSONTree]) -> [JSONTree] {
        let keyed = people.enumerated().map { place, person in
            (contact(person)?.milliseconds ?? .min, place, person)
        }
        return keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }
}
