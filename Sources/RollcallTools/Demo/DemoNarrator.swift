import RollcallCore
import RollcallSupport

/// Tells what is new in Rollcall's answers: pure. What it says was answered or sent by the server;
/// of the script it knows only who is meant to be silent.
struct DemoNarrator: Sendable {
    /// The news: lines to print, and signs for the script.
    struct News: Equatable, Sendable {
        var lines: [DemoLine] = []
        var signs: [DemoSign] = []
    }

    /// So many people of a region who change alike at once are told in one line.
    private static let groupMin = 3
    /// People named in a line at most.
    private static let namedMax = 2

    /// A gap as it was told last.
    private struct ReportedGap: Equatable, Sendable {
        var suspected: String
        var verdict: String?
    }

    /// An entry of the ledger as it was told last.
    private struct ReportedNudge: Equatable, Sendable {
        var decision: String
        var followed: String?
    }

    private let people: Set<String>
    private var statuses: [String: String] = [:]
    private var wasEverybodyOnline = false
    private var gaps: [Int64: ReportedGap] = [:]
    private var alerts: [String: String] = [:]
    private var nudges: [Int64: ReportedNudge] = [:]
    private(set) var isWatching = true
    /// The instant at which the end of blindness that was told last was noticed.
    private var blindReported: Timestamp?

    /// A narrator of these people, and of whoever else comes.
    init(people: some Sequence<String>) { self.people = Set(people) }

    /// The numbers of gaps, and of verdicts on them, that were told.
    var gapsReported: (all: Int, evaluated: Int) {
        (gaps.count, gaps.values.count { $0.verdict != nil })
    }

    /// Returns what is new in `answers`; `silent` are those who are meant to be.
    mutating func follow(_ answers: DemoAnswers, silent: Set<String>) -> News {
        var news = News()
        followObservation(answers.status, &news)
        followStatuses(answers.responders, silent, &news)
        followGaps(answers.gaps, silent, &news)
        followAlerts(answers.alerts, &news)
        followNudges(answers.nudges, &news)
        return news
    }

    // MARK: - The watch

    private mutating func followObservation(_ status: JSONTree, _ news: inout News) {
        let watches = status["watching"]?.isTrue ?? isWatching
        defer { isWatching = watches }
        guard watches != isWatching else { return }
        let reasons = (status["blind"]?.elements ?? []).compactMap { $0["reason"]?.shown }
        news.lines.append(
            DemoLine(
                .rollcall,
                watches
                    ? "sees again; nobody got worse meanwhile"
                    : "cannot see (\(reasons.joined(separator: ", "))): nobody gets worse now"))
    }

    /// Returns what a timeline, newest first, says of the last time that Rollcall could not see;
    /// nothing if it always could, or if that was told before.
    mutating func followBlindness(_ timeline: JSONTree) -> News {
        let events = (timeline["events"]?.elements ?? []).filter { $0["kind"]?.text == "blind" }
        guard let end = events.first, end["state"]?.text == "end", let at = end["at"]?.instant,
            let since = end["since"]?.instant, blindReported.map({ $0 < at }) ?? true
        else { return News() }
        blindReported = at
        let span = ConsoleStyle.span(at - since)
        let reason = end["reason"]?.shown ?? "?"
        return News(
            lines: [
                DemoLine(
                    .rollcall, "could not see for \(span) (\(reason)): nobody got worse meanwhile")
            ])
    }

    // MARK: - Statuses

    private mutating func followStatuses(
        _ responders: [JSONTree], _ silent: Set<String>, _ news: inout News
    ) {
        var changes: [(id: String, region: String, from: String, to: JSONTree)] = []
        for person in responders {
            guard let id = person["responder_id"]?.shown, let status = person["status"]?.shown,
                statuses[id] != status
            else { continue }
            if let before = statuses[id] {
                changes.append((id, person["region"]?.shown ?? "", before, person))
            }
            statuses[id] = status
            news.signs.append(.status(id, status))
        }
        if !wasEverybodyOnline, people.allSatisfy({ statuses[$0] == "ONLINE" }) {
            wasEverybodyOnline = true
            news.signs.append(.everybodyOnline)
            news.lines.append(
                DemoLine(.rollcall, "\(people.count) of \(people.count) are ONLINE"))
        }
        guard wasEverybodyOnline else { return }
        let reported = changes.filter { $0.to["status"]?.text != "OFFLINE" }
        var groups: [String: [String]] = [:]
        for change in reported {
            groups[change.region + DemoWords.status(change.to, from: change.from), default: []]
                .append(change.id)
        }
        for change in reported {
            let words = DemoWords.status(change.to, from: change.from)
            guard let ids = groups.removeValue(forKey: change.region + words) else { continue }
            let isStrange =
                change.to["status"]?.text == "DEGRADED"
                && ids.contains { isAccident($0, silent) }
            for line in Self.lines(ids, change.region, words) {
                news.lines.append(
                    DemoLine(.rollcall, line + (isStrange ? DemoWords.strange : "")))
            }
        }
    }

    /// True for one of ours who is not meant to be silent.
    private func isAccident(_ id: String, _ silent: Set<String>) -> Bool {
        people.contains(id) && !silent.contains(id)
    }

    /// One line for a crowd, else one for each.
    private static func lines(_ ids: [String], _ region: String, _ words: String) -> [String] {
        guard ids.count >= groupMin else { return ids.map { "\($0) \(words)" } }
        let names = ids.prefix(namedMax).joined(separator: ", ")
        return ["\(ids.count) of \(region) (\(names), …) \(words)"]
    }

    // MARK: - Gaps

    private mutating func followGaps(
        _ listed: [JSONTree], _ silent: Set<String>, _ news: inout News
    ) {
        // Those who are told alike, in the order in which they were met.
        var order: [String] = []
        var groups: [String: (ids: [String], region: String, words: String)] = [:]
        func say(_ id: String, _ gap: JSONTree, _ words: String) {
            let region = gap["region"]?.shown ?? ""
            if groups[region + words] == nil { order.append(region + words) }
            groups[region + words, default: ([], region, words)].ids.append(id)
        }
        for gap in listed.reversed() {
            guard let number = gap["gap"]?.whole, let id = gap["responder_id"]?.shown,
                let suspected = gap["suspected"]?.shown
            else { continue }
            let verdict = gap["verdict"]?.shown
            let before = gaps[number]
            gaps[number] = ReportedGap(suspected: suspected, verdict: verdict)
            if before?.suspected != suspected {
                news.signs.append(.gap(id, suspected: suspected))
                let isStrange = before == nil && isAccident(id, silent)
                say(
                    id, gap,
                    DemoWords.offline(suspected) + (isStrange ? DemoWords.strange : ""))
            }
            if let verdict, before?.verdict != verdict {
                news.signs.append(.verdict(id, verdict))
                say(id, gap, DemoWords.verdict(gap, verdict))
            }
        }
        for key in order {
            guard let group = groups[key] else { continue }
            for line in Self.lines(group.ids, group.region, group.words) {
                news.lines.append(DemoLine(.rollcall, line))
            }
        }
    }

    /// Returns what is said of somebody of whom there are no gaps, by the answers to both
    /// questions; nothing if there are some, or they are expected.
    static func noGap(_ id: String, person: JSONTree, gaps: JSONTree) -> News {
        guard person["status"]?.text == "NOT_EXPECTED", case .list(let listed)? = gaps["gaps"],
            listed.isEmpty
        else { return News() }
        return News(
            lines: [DemoLine(.rollcall, "\(id) has no gap: nobody is alarmed, nobody is nudged")],
            signs: [.noGap(id)])
    }

    // MARK: - Alerts

    private mutating func followAlerts(_ listed: [JSONTree], _ news: inout News) {
        var now: [String: String] = [:]
        for alert in listed {
            guard let name = alert["alertname"]?.shown, let state = alert["state"]?.shown,
                alert["severity"]?.text != "none"
            else { continue }
            let place = DemoWords.place(alert["labels"])
            let key = "\(name) \(place)"
            now[key] = state
            guard alerts[key] != state else { continue }
            news.signs.append(.alert(name, of: place, state: state))
            let summary = alert["annotations"]?["summary"]?.shown ?? ""
            news.lines.append(
                DemoLine(
                    .rollcall,
                    state == "firing"
                        ? "\(name) fires: \(summary)" : "\(name) is \(state) for \(place)"))
        }
        for (key, state) in alerts.sorted(by: { $0.key < $1.key }) where now[key] == nil {
            let words = key.split(separator: " ", maxSplits: 1).map(String.init)
            guard let name = words.first, let place = words.last, state == "firing" else {
                continue
            }
            news.signs.append(.alert(name, of: place, state: "resolved"))
            news.lines.append(DemoLine(.rollcall, "\(name) of \(place) is resolved"))
        }
        alerts = now
    }

    // MARK: - Nudges

    private mutating func followNudges(_ listed: [JSONTree], _ news: inout News) {
        for entry in listed.reversed() {
            guard let number = entry["id"]?.whole, let id = entry["responder_id"]?.shown,
                let decision = entry["decision"]?.shown
            else { continue }
            let followed = entry["followed"]?.shown
            let before = nudges[number]
            nudges[number] = ReportedNudge(decision: decision, followed: followed)
            if before == nil {
                let isSent = decision == "send"
                if isSent { news.signs.append(.nudge(id)) }
                news.lines.append(
                    DemoLine(
                        .rollcall,
                        isSent
                            ? "\(id) is nudged: \(DemoWords.staleness(entry))"
                            : "\(id): \(entry["text"]?.shown ?? decision)"))
            }
            if let followed, before?.followed != followed {
                news.signs.append(.followed(id, followed))
                news.lines.append(
                    DemoLine(.rollcall, "nudge of \(id): \(DemoWords.followed(followed))"))
            }
        }
    }

    // MARK: - Messages

    /// Returns the news of a message to the pager, the chat or the phones.
    static func follow(_ message: DemoReceivers.Message) -> News {
        message.receiver == "pushes" ? push(message.body) : page(message)
    }

    private static func page(_ message: DemoReceivers.Message) -> News {
        var news = News()
        for alert in message.body["alerts"]?.elements ?? [] {
            let labels = alert["labels"]
            guard let name = labels?["alertname"]?.shown, let state = alert["status"]?.shown
            else { continue }
            let isPage = message.receiver == "oncall"
            let place = DemoWords.place(labels)
            if isPage { news.signs.append(.page(name, of: place, state: state)) }
            let summary = alert["annotations"]?["summary"]?.shown ?? name
            news.lines.append(
                DemoLine(
                    isPage ? .page : .chat,
                    "to \(message.receiver) (\(labels?["severity"]?.shown ?? "?")): \(summary)"))
        }
        return news
    }

    private static func push(_ body: JSONTree) -> News {
        guard body["type"]?.text == "responder.nudge", let data = body["data"],
            let id = data["responder_id"]?.shown
        else { return News() }
        let title = data["title"]?.shown ?? ""
        return News(
            lines: [DemoLine(.push, "to \(id): \(title). \(data["body"]?.shown ?? "")")],
            signs: [.push(id)])
    }
}
