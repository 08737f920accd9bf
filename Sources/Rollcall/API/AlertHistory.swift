import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The firings that a question is about.
struct AlertHistoryQuery: Sendable {
    /// Firings without a `limit`.
    static let limitStandard = 50

    var name: AlertName?
    var region: [UInt8]?
    var receiver: [UInt8]?
    var since: Timestamp?
    /// Only firings of lower numbers.
    var before = Int64.max
    var limit = limitStandard

    static let parameters = Parameters(
        AlertHistoryQuery(),
        [
            .word(
                "alertname", "Of this name.", AlertName.allCases, \.word, schema: "AlertName",
                into: \.name),
            .text("region", "About this region.", into: \.region),
            .text(
                "receiver", "Of which this receiver was told, or was not and should.",
                into: \.receiver),
            .time(
                "since", "Fired from then on: RFC 3339, or milliseconds since 1970.",
                into: \.since),
            .cursor("before", ["type": "integer", "format": "int64", "minimum": 0]) {
                $0.before = $1[0]
            },
            .limit("Incidents in the answer at most.", standard: limitStandard, into: \.limit),
        ])
}

/// A firing while its decisions are put together, walking back.
struct AlertIncident {
    /// One change of its state.
    struct Change {
        let at: Timestamp
        let state: AlertState
        /// Nil where the numbers of then were not found.
        var stats: AlertStats?
    }

    var changes: [Change] = []
    var notices: [(at: Timestamp, notice: Notice)] = []
    var mutes: [(at: Timestamp, mute: Mute)] = []
    var endedAt: Timestamp?
    /// As it fired.
    var report: AlertReport?
    var firedAt = Timestamp.distantPast
}

/// `GET /v1/alerts/history`: what fired, newest first, with everything that was decided about it:
/// "why was I (not) paged?". Source: A10.
///
/// Decisions about alerts are about nobody, as those about blindness are; the store's index of
/// these holds them, so that millions of others are not looked at.
struct AlertHistory {
    /// Decisions looked at for one answer at most.
    static let decisionsMax = 200_000
    /// So many more are looked at for when the last firing became pending.
    private static let pendingMax = 1000

    /// A message of a storm, and what became of it.
    private typealias StormNotified = (
        at: Timestamp, notice: Notice, targets: [NoticeDeliveryStatus.Target]
    )

    private let query: AlertHistoryQuery
    private let work: HistoryWork
    private var partials: [Int64: AlertIncident] = [:]
    private var found: [AlertIncident] = []
    /// Places in `found` of firings that were pending before, by what they are about.
    private var unpended: [AlertKey: Int] = [:]
    /// The messages that storms were told with, newest first, and those of which the first message
    /// was not found.
    private var storms: [Int64: [(at: Timestamp, notice: Notice)]] = [:]
    private var stormsSought: Set<Int64> = []
    private var hasMore = false
    private var isTruncated = false

    /// Answers a query from the store.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: AlertHistoryQuery, _ present: HistoryPresent, _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var history = AlertHistory(query: query, work: work)
        try history.walk()
        return try history.response(present)
    }

    private init(query: AlertHistoryQuery, work: HistoryWork) {
        self.query = query
        self.work = work
    }

    // MARK: - Walking back

    private mutating func walk() throws(StoreError) {
        // What fired before is the cell's that this one was split from.
        let first = try work.reader.decisionsOfOrigin()
        var id = Int64.max
        var looked = 0
        var sinceFull = 0
        var isEnd = false
        var isDone = false
        while !isEnd, !isDone {
            isEnd = try work.reader.alertDecisions(before: &id) { row in
                looked += 1
                isDone = row.id <= first
                if !isDone, let decision = DecisionCode.decision(row) { isDone = take(decision) }
                if hasMore { sinceFull += 1 }
                let hasAll = unpended.isEmpty && stormsSought.isEmpty
                if hasMore, hasAll || sinceFull > Self.pendingMax { isDone = true }
                return !isDone && looked < Self.decisionsMax
            }
            if !isEnd, !isDone, looked >= Self.decisionsMax || work.isOver {
                isTruncated = !hasMore
                return
            }
        }
    }

    /// Takes the next older decision; true if nothing before it is asked for.
    private mutating func take(_ decision: Decision) -> Bool {
        switch decision {
        case .alert(let at, let report): return take(report, at)
        case .notice(let at, let notice) where notice.storm != nil:
            guard let storm = notice.members.first?.incident else { return false }
            storms[storm, default: []].append((at, notice))
            if notice.kind == .fired { stormsSought.remove(storm) }
        case .notice(let at, let notice):
            for incident in Set(notice.members.map(\.incident)) where wants(incident) {
                partials[incident, default: AlertIncident()].notices.append((at, notice))
            }
        case .mute(let at, let mute):
            if wants(mute.incident) {
                partials[mute.incident, default: AlertIncident()].mutes.append((at, mute))
                seek(mute)
            }
        case .status, .gap, .nudge, .wake, .blind, .skew, .update, .person, .action, .delivery,
            .push:
            break
        }
        return false
    }

    /// A storm that told of a firing began at this instant or before, and then was told.
    private mutating func seek(_ mute: Mute) {
        guard case .storm(let storm) = mute.reason else { return }
        if storms[storm]?.last?.notice.kind != .fired { stormsSought.insert(storm) }
    }

    /// True for a firing that may be on the page; drills are none.
    private func wants(_ incident: Int64) -> Bool {
        incident > 0 && incident < query.before && !hasMore
    }

    private mutating func take(_ report: AlertReport, _ at: Timestamp) -> Bool {
        switch report.state {
        case .pending:
            if let place = unpended.removeValue(forKey: report.key) {
                found[place].changes.append(
                    .init(at: at, state: .pending, stats: report.stats))
            }
        case .inactive: unpended[report.key] = nil
        case .resolved:
            unpended[report.key] = nil
            guard wants(report.incident) else { return false }
            var partial = partials[report.incident] ?? AlertIncident()
            partial.endedAt = at
            partial.changes.append(.init(at: at, state: .resolved, stats: report.stats))
            partials[report.incident] = partial
        case .firing:
            if let since = query.since, at < since { return true }
            guard wants(report.incident) else { return false }
            var partial = partials.removeValue(forKey: report.incident) ?? AlertIncident()
            partial.report = report
            partial.firedAt = at
            partial.changes.append(.init(at: at, state: .firing, stats: report.stats))
            guard matches(partial, report) else { return false }
            guard found.count < query.limit else {
                hasMore = true
                partials = [:]
                return false
            }
            found.append(partial)
            if report.activeAt < report.startsAt { unpended[report.key] = found.count - 1 }
        }
        return false
    }

    private func matches(_ partial: AlertIncident, _ report: AlertReport) -> Bool {
        if let name = query.name, report.key.name != name { return false }
        if let region = query.region, report.key.subject != .region(region) { return false }
        guard let receiver = query.receiver else { return true }
        return partial.notices.contains { $0.notice.receiver == receiver }
            || partial.mutes.contains { $0.mute.receiver == receiver }
    }

    // MARK: - The answer

    private func response(_ present: HistoryPresent) throws(StoreError) -> HTTPResponse {
        // An answer without them would say that an alert was about nobody.
        let firing = found.filter { $0.endedAt == nil }.compactMap(\.report?.incident)
        guard let names = names(present), let open = work.reaches(of: firing) else {
            return Router.unavailable("the keeper does not answer")
        }
        let notified = try stormsNotified()
        var incidents: [JSONTree] = []
        for incident in found {
            if let report = incident.report {
                let open = open[report.incident] ?? []
                incidents.append(try tree(incident, report, names, open, notified, present))
            }
        }
        let last = found.last?.report?.incident
        let body: JSONTree = [
            "as_of": AlertJSON.time(present.clock.wallNow), "incidents": .list(incidents),
            "next": hasMore ? last.map { .text("\($0)") } ?? nil : nil,
            "truncated": .boolean(isTruncated),
        ]
        return .json(AlertJSON.bytes(body))
    }

    /// Returns what became of the messages of the storms that told of what was found, oldest first
    /// (D11).
    /// - Throws: `StoreError` if the store cannot be read.
    private func stormsNotified() throws(StoreError) -> [Int64: [StormNotified]] {
        var notified: [Int64: [StormNotified]] = [:]
        for (_, mute) in found.flatMap(\.mutes) {
            guard case .storm(let storm) = mute.reason, notified[storm] == nil else { continue }
            notified[storm] = []
            for (at, notice) in (storms[storm] ?? []).reversed() where notice.kind != .resolved {
                let targets =
                    try work.reader.notices.deliveryStatus(of: notice.number)?.targets ?? []
                notified[storm]?.append((at, notice, targets))
            }
        }
        return notified
    }

    /// Ids by people's numbers, of those who are not erased; nil if the state writer does not
    /// answer.
    private func names(_ present: HistoryPresent) -> [Int: [UInt8]]? {
        let people = Set(found.flatMap { $0.report?.facts.people ?? [] })
            .filter { present.isShown(Int64($0 + 1)) }.sorted()
        guard let ids = work.ids(of: people.map { Int64($0 + 1) }) else { return nil }
        var names: [Int: [UInt8]] = [:]
        for (person, id) in zip(people, ids) where !id.isEmpty { names[person] = id }
        return names
    }

    private func tree(
        _ incident: AlertIncident, _ report: AlertReport, _ names: [Int: [UInt8]],
        _ open: [Reach], _ notified: [Int64: [StormNotified]], _ present: HistoryPresent
    ) throws(StoreError) -> JSONTree {
        let facts = report.facts
        var member = NoticeMember()
        member.name = report.key.name
        member.labels = report.labels
        member.annotations = report.annotations
        member.startsAt = report.startsAt
        member.facts = facts
        let words = AlertText(member) { names[$0] }
        var changes = incident.changes
        let isPendingKnown = changes.contains { $0.state == .pending }
        if report.activeAt < report.startsAt, !isPendingKnown {
            changes.append(.init(at: report.activeAt, state: .pending, stats: nil))
        }
        let head: JSONTree = [
            "incident": .integer(report.incident),
            "key": .text(IncidentKey.text(present.storeNumber, report.incident)),
            "alertname": AlertJSON.word(report.key.name.word),
            "severity": AlertJSON.word(report.severity.word),
            "labels": AlertJSON.object(report.labels),
            "annotations": AlertJSON.object(words.annotations),
            "state": incident.endedAt == nil ? "firing" : "resolved",
            "pending_at": AlertJSON.time(report.activeAt),
            "starts_at": AlertJSON.time(report.startsAt),
            "ended_at": AlertJSON.time(incident.endedAt ?? .distantPast),
            "value": AlertJSON.value(report.key.name, report.stats),
            "count": .integer(Int64(report.stats.count)),
            "total": .integer(Int64(report.stats.total)),
            "threshold": Self.threshold(report), "for_ms": .integer(facts.span.count),
            "causes": .list(
                facts.causes.map {
                    ["cause": AlertJSON.word($0.cause.word), "count": .integer(Int64($0.count))]
                }),
            "members": .list(facts.people.compactMap { names[$0].map(AlertJSON.text) }),
        ]
        var notices: [JSONTree] = []
        var reaches: [Reach] = []
        for (at, notice) in incident.notices.reversed() {
            let targets = try work.reader.notices.deliveryStatus(of: notice.number)?.targets ?? []
            notices.append(tree(notice, at, targets))
            guard notice.kind != .resolved else { continue }
            let member = notice.members.first { $0.incident == report.incident }
            Self.note(targets, of: notice, member?.fallback, at, in: &reaches)
        }
        for place in reaches.indices where !reaches[place].state.isOver {
            let now = open.first { $0.isSameAddress(as: reaches[place]) }
            reaches[place].nextAttemptAt = now?.nextAttemptAt
        }
        // By receiver: from then on it was left out for another reason, or told again.
        var ends: [[UInt8]: Timestamp] = [:]
        for (joinedAt, mute) in incident.mutes {
            let end = ends.updateValue(joinedAt, forKey: mute.receiver) ?? .distantFuture
            guard case .storm(let storm) = mute.reason else { continue }
            // What was written before told of no later member, nor what left it out (D11).
            for (at, notice, targets) in notified[storm] ?? []
            where at >= joinedAt && at < end && at <= incident.endedAt ?? .distantFuture {
                let fallback = notice.members.first?.fallback
                Self.note(targets, of: notice, fallback, at, in: &reaches, storm: storm)
            }
            guard !reaches.contains(where: { $0.receiver == mute.receiver }) else { continue }
            // The next message goes to nobody whom the settings do not name.
            let isNamed = present.receivers.contains(mute.receiver)
            let state: Reach.State = incident.endedAt == nil && isNamed ? .waiting : .dropped
            var reach = Reach(receiver: mute.receiver, state: state, decidedAt: joinedAt)
            reach.storm = storm
            reaches.append(reach)
        }
        return head.with([
            "changes": .list(
                changes.reversed().map { change in
                    [
                        "at": AlertJSON.time(change.at), "state": AlertJSON.word(change.state.word),
                        "value": change.stats.map { AlertJSON.value(report.key.name, $0) } ?? nil,
                    ]
                }),
            "muted": .list(
                incident.mutes.reversed().map { at, mute in
                    JSONTree.object([
                        .init(name: "at", value: AlertJSON.time(at)),
                        .init(name: "receiver", value: AlertJSON.text(mute.receiver)),
                    ]).with(AlertJSON.reason(mute.reason))
                }),
            "notices": .list(notices), "receivers": AlertJSON.receivers(reaches, present.clock),
        ])
    }

    /// Notes what became of a message that something fires: what was taken once is taken, else the
    /// latest one says how it stands (D1).
    private static func note(
        _ targets: [NoticeDeliveryStatus.Target], of notice: Notice, _ fallback: Fallback?,
        _ at: Timestamp, in reaches: inout [Reach], storm: Int64 = 0
    ) {
        for target in targets {
            var reach = Reach(
                receiver: notice.receiver, target: target.target, state: target.state,
                decidedAt: at)
            reach.fallbackOf = fallback?.receiver
            reach.attempts = target.attempts.count
            reach.storm = storm
            reach.lastError = target.attempts.last.flatMap { $0.error.isEmpty ? nil : $0.error }
            if target.state == .taken { reach.takenAt = target.finishedAt }
            guard let place = reaches.firstIndex(where: { $0.isSameAddress(as: reach) }) else {
                reaches.append(reach)
                continue
            }
            if reaches[place].state != .taken { reaches[place] = reach }
        }
    }

    private func tree(
        _ notice: Notice, _ at: Timestamp, _ targets: [NoticeDeliveryStatus.Target]
    ) -> JSONTree {
        [
            "notice": .integer(notice.number), "receiver": AlertJSON.text(notice.receiver),
            "kind": AlertJSON.word(notice.kind.word), "at": AlertJSON.time(at),
            "targets": .list(targets.map { AlertJSON.target($0) }),
        ]
    }

    private static func threshold(_ report: AlertReport) -> JSONTree {
        switch report.key.name {
        case .highOfflineRate: .number(Double(report.facts.limit) / 10_000)
        case .responderFlapping: .integer(report.facts.limit)
        case .cellDark, .fleetDark, .noOnlineResponders, .responderOffline, .rollcallDrill,
            .rollcallOverloaded, .rollcallStateLost, .rollcallStoreFailing, .rollcallUnsteady,
            .telemetryFeedDown, .watchdog:
            nil
        }
    }
}
