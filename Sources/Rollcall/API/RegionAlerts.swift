import RollcallCore
import RollcallStore
import RollcallSupport

/// The alerts that fired in a stretch of the past: since when, until when, who heard of them first, and
/// who took them.
struct RegionAlerts {
    /// Alerts of one answer at most.
    static let countMax = 1000
    /// Messages of which is looked up what became of them.
    private static let noticesMax = 2000

    /// An alert that fires now, as the state writer knows it.
    struct Firing: Sendable {
        let key: AlertKey
        let incident: Int64
        let startsAt: Timestamp
        let severity: Severity

        /// Returns those of `engine`.
        static func all(of engine: Engine) -> [Firing] {
            var found: [Firing] = []
            engine.alerting.board.forEach { key, alert in
                guard alert.state == .firing, found.count < countMax else { return }
                found.append(
                    Firing(
                        key: key, incident: alert.incident, startsAt: alert.startsAt,
                        severity: alert.severity))
            }
            return found
        }
    }

    private struct Entry {
        let key: AlertKey
        let incident: Int64
        let severity: Severity
        var startsAt: Timestamp
        /// Nil while it fires.
        let endedAt: Timestamp?
        var notices: [Int64] = []
        /// The storms that told of it, each with the instant from which on.
        var storms: [(at: Timestamp, storm: Int64)] = []
    }

    private struct Deed {
        let at: Timestamp
        let report: ActionReport
    }

    private let since: Timestamp
    private let until: Timestamp
    private let regions: Set<[UInt8]>
    private var entries: [Int64: Entry] = [:]
    /// Incidents of which the firing is still to be met.
    private var sought: Set<Int64> = []
    /// The takes of incidents, storms among them, the newest first.
    private var deeds: [Int64: [Deed]] = [:]
    private var stormNotices: [Int64: [(at: Timestamp, number: Int64)]] = [:]
    private var pagedAt: [Int64: Timestamp] = [:]
    /// True if there was more to look at.
    private(set) var isTruncated = false

    /// The alerts about `regions` and about the whole fleet between two instants, of which none is read
    /// yet.
    init(since: Timestamp, until: Timestamp, regions: Set<[UInt8]>, firing: [Firing]) {
        self.since = since
        self.until = until
        self.regions = regions
        for alert in firing where alert.startsAt < until && isAsked(alert.key) {
            add(
                Entry(
                    key: alert.key, incident: alert.incident, severity: alert.severity,
                    startsAt: alert.startsAt, endedAt: nil))
        }
    }

    private func isAsked(_ key: AlertKey) -> Bool {
        if key.name == .watchdog || key.name == .rollcallDrill { return false }
        if case .region(let name) = key.subject { return regions.contains(name) }
        return true
    }

    private mutating func add(_ entry: Entry) {
        guard entries.count < Self.countMax else { return isTruncated = true }
        entries[entry.incident] = entry
        sought.insert(entry.incident)
    }

    // MARK: - Reading

    /// Walks back from now until all that was going on in the stretch was met.
    /// - Throws: `StoreError` if the store cannot be read.
    mutating func read(_ work: HistoryWork) throws(StoreError) {
        let first = try work.reader.decisionsOfOrigin()
        var id = Int64.max
        var looked = 0
        var isEnd = false
        var isDone = false
        while !isEnd, !isDone {
            guard !work.isOver, looked < work.limits.decisionsAboutNobody else {
                isTruncated = true
                break
            }
            isEnd = try work.reader.decisionsAboutNobody(before: &id) { row in
                looked += 1
                isDone =
                    row.id <= first || row.atMilliseconds < since.milliseconds && sought.isEmpty
                if !isDone, let decision = DecisionCode.decision(row) { take(decision) }
                return !isDone && looked < work.limits.decisionsAboutNobody
            }
        }
        try readNotices(work)
    }

    private mutating func take(_ decision: Decision) {
        switch decision {
        case .alert(let at, let report) where report.state == .resolved:
            guard at > since, report.startsAt < until, isAsked(report.key) else { return }
            add(
                Entry(
                    key: report.key, incident: report.incident, severity: report.severity,
                    startsAt: report.startsAt, endedAt: at))
        case .alert(_, let report) where report.state == .firing:
            sought.remove(report.incident)
        case .notice(let at, let notice) where notice.kind != .resolved:
            if notice.storm != nil, let storm = notice.members.first?.incident {
                return stormNotices[storm, default: []].append((at, notice.number))
            }
            for incident in Set(notice.members.map(\.incident)) {
                entries[incident]?.notices.append(notice.number)
            }
        case .mute(let at, let mute):
            if case .storm(let storm) = mute.reason {
                entries[mute.incident]?.storms.append((at, storm))
            }
        case .action(let at, let report) where report.kind == .take || report.kind == .release:
            deeds[report.number, default: []].append(Deed(at: at, report: report))
        case .status, .gap, .nudge, .wake, .blind, .skew, .update, .person, .action, .delivery,
            .push, .alert, .notice:
            break
        }
    }

    /// Looks up when the first receiver had taken a message about each.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func readNotices(_ work: HistoryWork) throws(StoreError) {
        var looked = 0
        for entry in entries.values {
            var numbers = entry.notices
            for (joinedAt, storm) in entry.storms {
                numbers += (stormNotices[storm] ?? []).filter { $0.at >= joinedAt }.map(\.number)
            }
            for number in Set(numbers) {
                guard looked < Self.noticesMax, !work.isOver else { return isTruncated = true }
                looked += 1
                let targets = try work.reader.notices.deliveryStatus(of: number)?.targets ?? []
                for target in targets where target.state == .taken {
                    guard let at = target.finishedAt else { continue }
                    pagedAt[entry.incident] = min(pagedAt[entry.incident] ?? at, at)
                }
            }
        }
    }

    // MARK: - The answer

    /// Returns those about a region, or with nil about no region alone, the oldest first.
    func tree(about region: [UInt8]?) -> JSONTree {
        let found = entries.values.filter { entry in
            if case .region(let name) = entry.key.subject { return name == region }
            return region == nil
        }
        return .list(
            found.sorted { ($0.startsAt, $0.incident) < ($1.startsAt, $1.incident) }.map {
                tree($0)
            })
    }

    private func tree(_ entry: Entry) -> JSONTree {
        let all = ([entry.incident] + entry.storms.map(\.storm)).flatMap { deeds[$0] ?? [] }
        var takes: [(take: ActionReport, at: Timestamp, until: Timestamp)] = []
        for deed in all.sorted(by: { $0.at < $1.at }) {
            // Whoever takes it anew, or gives it back, ends what was before.
            if let last = takes.indices.last { takes[last].until = min(takes[last].until, deed.at) }
            // Nobody sees to what is over.
            let until = min(deed.report.until, entry.endedAt ?? .distantFuture)
            if deed.report.kind == .take { takes.append((deed.report, deed.at, until)) }
        }
        return [
            "incident": .integer(entry.incident),
            "alertname": AlertJSON.word(entry.key.name.word),
            "severity": AlertJSON.word(entry.severity.word),
            "starts_at": AlertJSON.time(entry.startsAt),
            "ended_at": AlertJSON.time(entry.endedAt ?? .distantPast),
            "paged_at": AlertJSON.time(pagedAt[entry.incident] ?? .distantPast),
            "takes": .list(
                takes.map { take, at, end in
                    [
                        "by": AlertJSON.text(take.author), "at": AlertJSON.time(at),
                        "until": AlertJSON.time(end),
                    ]
                }),
        ]
    }
}
