import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The entries of the nudge ledger that a question is about.
struct NudgeQuery: Sendable {
    var responder: [UInt8]?
    var choice: NudgeChoice?
    /// The place at which a page begins: a decision's number.
    var after: Int64?
    var limit = Router.limitStandard
    /// The keys to count by; empty for a list.
    var by: [NudgeTable.Key] = []

    static let parameters = Parameters(
        NudgeQuery(),
        [
            .text("responder_id", "Of this person.", OpenAPI.schema("Name"), into: \.responder),
            .word(
                "decision", "Decided so.", NudgeChoice.allCases, \.word,
                schema: "NudgeChoice", into: \.choice),
            .words(
                "by", "What to count sent nudges by", NudgeTable.Key.all, \.word,
                max: NudgeTable.Key.all.count, into: \.by),
            .cursor { $0.after = $1[0] },
            .limit(
                "Entries in the answer at most; \(Router.limitStandard) without it.",
                into: \.limit),
        ]
    ) { (query, names) throws(ParameterError) in
        if !query.by.isEmpty, names.count > 1 {
            throw ParameterError(detail: "by: goes without any other")
        }
    }
}

/// `GET /v1/nudges`: who was nudged, who was not and why, and what followed; newest first.
///
/// The ledger is the store's decisions, so that it goes with a person who is erased. What followed
/// a nudge is a decision of its own, which comes later and so is met before it.
struct NudgeLedger {
    private struct Entry {
        let id: Int64
        let responder: Int64
        let at: Timestamp
        let report: NudgeReport

        /// True if a push of it was to go out.
        var isSent: Bool { report.kind == .send && !report.isDryRun }
    }

    private let query: NudgeQuery
    private let present: HistoryPresent
    private let work: HistoryWork
    private var found: [Entry] = []
    private var followed: [Int64: NudgeWords.Followed] = [:]
    /// The place at which the next page begins; nil at the end.
    private var next: Int64?

    /// Answers a query from the store; `person` is the one it names.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: NudgeQuery, _ person: HistoryPerson?, _ present: HistoryPresent,
        _ standing: NudgeStanding, _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var ledger = NudgeLedger(query: query, present: present, work: work)
        if let person { try ledger.walk(person) } else { try ledger.scan() }
        try ledger.lookAhead()
        guard let ids = work.ids(of: ledger.found.map(\.responder)) else {
            return Router.unavailable("the keeper does not answer")
        }
        return .json(AlertJSON.bytes(try ledger.tree(ids, standing)))
    }

    private init(query: NudgeQuery, present: HistoryPresent, work: HistoryWork) {
        self.query = query
        self.present = present
        self.work = work
    }

    // MARK: - Reading

    /// Goes back through everybody's entries, before the one where the page begins.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func scan() throws(StoreError) {
        var id = query.after ?? .max
        var looked = 0
        var isEnd = false
        while !isEnd, found.count < query.limit, looked < work.limits.nudgesListed, !work.isOver {
            isEnd = try work.reader.nudgeDecisions(before: &id) { row in
                looked += 1
                take(row)
                return found.count < query.limit && looked < work.limits.nudgesListed
            }
        }
        if !isEnd { next = id }
    }

    /// Walks back through one person's decisions, from the one where the page begins.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func walk(_ person: HistoryPerson) throws(StoreError) {
        var id = query.after ?? person.lastDecision
        var looked = 0
        while id > 0, found.count < query.limit, looked < work.limits.eventsLookedAt,
            !work.isOver
        {
            looked += 1
            var isTheirs = false
            id = try work.reader.journal.decisions(
                from: id, atMilliseconds: .min ... .max, limit: 1
            ) { row in
                isTheirs = row.responder == person.responder
                if isTheirs { take(row) }
            }
            if !isTheirs { id = 0 }
        }
        if id > 0 { next = id }
    }

    private mutating func take(_ row: DecisionRow) {
        guard case .nudge(let at, _, let report) = DecisionCode.decision(row) else { return }
        if report.kind == .followed {
            if let outcome = report.outcome {
                followed[report.number] = NudgeWords.Followed(outcome: outcome, at: at)
            }
            return
        }
        if let choice = query.choice, NudgeChoice(report) != choice { return }
        guard present.isShown(row.responder) else { return }
        found.append(Entry(id: row.id, responder: row.responder, at: at, report: report))
    }

    /// Looks for what followed the first nudges of a page, which is told on the page before.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func lookAhead() throws(StoreError) {
        guard var id = query.after else { return }
        var open = Set(found.filter(\.isSent).map(\.report.number))
        open.subtract(followed.keys)
        var looked = 0
        var isEnd = open.isEmpty
        while !isEnd, looked < work.limits.nudgesListed, !work.isOver {
            isEnd = try work.reader.nudgeDecisions(from: &id) { row in
                looked += 1
                if case .nudge(_, _, let report) = DecisionCode.decision(row),
                    report.kind == .followed, open.remove(report.number) != nil
                {
                    take(row)
                }
                return !open.isEmpty && looked < work.limits.nudgesListed
            }
            isEnd = isEnd || open.isEmpty
        }
    }

    // MARK: - The answer

    private func tree(
        _ ids: [[UInt8]], _ standing: NudgeStanding
    ) throws(StoreError) -> JSONTree {
        var entries: [JSONTree] = []
        for (entry, id) in zip(found, ids) where !id.isEmpty {
            entries.append(try tree(entry, id, standing))
        }
        let head: JSONTree = [
            "nudges": .list(entries), "next": next.map { .text("\($0)") } ?? nil,
        ]
        return head.with(standing.tree).with(["as_of": AlertJSON.time(present.clock.wallNow)])
    }

    private func tree(
        _ entry: Entry, _ id: [UInt8], _ standing: NudgeStanding
    ) throws(StoreError) -> JSONTree {
        let report = entry.report
        let push = entry.isSent ? try work.reader.pushes.deliveryStatus(of: report.number) : nil
        let followed = followed[report.number]
        return [
            "id": .integer(entry.id), "at": AlertJSON.time(entry.at),
            "responder_id": AlertJSON.text(id),
            "decision": NudgeChoice(report).map { AlertJSON.word($0.word) } ?? nil,
            "reason": report.reason.map { AlertJSON.word($0.word) } ?? nil,
            "until": report.until.map { AlertJSON.time($0) } ?? nil,
            "dry_run": .boolean(report.isDryRun), "asked": .boolean(report.facts.isAsked),
            "cause": AlertJSON.word(report.facts.cause.word),
            "stale_seconds": .integer(max(0, report.facts.stale.count / 1000)),
            "last_location_at": AlertJSON.time(report.facts.lastLocationAt),
            "platform": AlertJSON.word(report.facts.platform.word),
            "nudge_id": entry.isSent ? .text(standing.id(.nudge, report.number)) : nil,
            "push": NudgeJSON.push(push),
            "followed": followed.map { AlertJSON.word($0.outcome.word) } ?? nil,
            "text": .text(NudgeWords.entry(report, at: entry.at, push, followed)),
        ]
    }
}
