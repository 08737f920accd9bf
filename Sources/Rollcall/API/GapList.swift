import RollcallCore
import RollcallStore
import RollcallSupport

/// `GET /v1/gaps` as a list, newest first.
struct GapList {
    private let query: GapQuery
    private let present: HistoryPresent
    private let work: HistoryWork
    private var found: [(responder: Int64, report: GapReport)] = []
    /// The usual time of the person asked for, if it is known and they are silent.
    private var ownReturn: UsualReturn?
    /// The place at which the next page begins; nil at the end.
    private var next: (place: Int64, number: Int64)?

    /// Answers a query from the store; `person` is the one it names.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: GapQuery, _ person: HistoryPerson?, _ present: HistoryPresent,
        _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var list = GapList(query: query, present: present, work: work)
        if let person {
            try list.walk(person)
            if let open = list.found.first(where: { $0.report.closedAt == .distantPast }) {
                list.ownReturn = try OwnReturns.usual(open.report.suspected, of: person, work)
            }
        } else {
            try list.scan()
        }
        guard let ids = work.ids(of: list.found.map(\.responder)) else {
            return Router.unavailable("the keeper does not answer")
        }
        return .json(list.body(ids))
    }

    private init(query: GapQuery, present: HistoryPresent, work: HistoryWork) {
        self.query = query
        self.present = present
        self.work = work
    }

    /// Goes through everybody's gaps in the order of their opening.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func scan() throws(StoreError) {
        var place = GapPlace(until: query.end)
        if let after = query.after {
            place = GapPlace(opened: min(after.place, place.opened), number: after.number)
        }
        var looked = 0
        var isEnd = false
        while !isEnd, found.count < query.limit, looked < work.limits.gapsListed, !work.isOver {
            isEnd = try work.reader.gaps(
                behind: &place, since: query.since?.milliseconds ?? .min,
                openOnly: query.state == .open
            ) { row in
                looked += 1
                take(row)
                return found.count < query.limit && looked < work.limits.gapsListed
            }
        }
        if !isEnd { next = (place.opened, max(0, place.number)) }
    }

    /// Walks back through one person's decisions: their gaps are told of there, one after the
    /// other.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func walk(_ person: HistoryPerson) throws(StoreError) {
        var decision = query.after?.place ?? person.lastDecision
        var below = query.after?.number ?? .max
        var looked = 0
        while decision > 0, found.count < query.limit, looked < work.limits.eventsLookedAt,
            !work.isOver
        {
            looked += 1
            var number: Int64 = 0
            var isTheirs = false
            decision = try work.reader.journal.decisions(
                from: decision, atMilliseconds: .min ... .max, limit: 1
            ) { row in
                isTheirs = row.responder == person.responder
                number = row.gap?.number ?? 0
            }
            guard isTheirs else {
                decision = 0
                break
            }
            guard number > 0, number < below else { continue }
            below = number
            try work.reader.gap(number) { row in
                if row.responder == person.responder { take(row) }
            }
        }
        if decision > 0 { next = (decision, below) }
    }

    private mutating func take(_ row: GapRow) {
        guard query.matches(row, row.aggregates), present.isShown(row.responder),
            let report = row.report
        else { return }
        found.append((row.responder, report))
    }

    // MARK: - The answer

    /// Returns what usually follows a gap that is open; nothing of one that is over (P7).
    private func outlook(of report: GapReport) -> GapOutlook {
        guard report.closedAt == .distantPast else { return GapOutlook() }
        var outlook = present.outlook(for: report)
        outlook.usualReturn = ownReturn ?? outlook.usualReturn
        return outlook
    }

    private func body(_ ids: [[UInt8]]) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"gaps\":[", to: &body)
        var isFirst = true
        for ((_, report), id) in zip(found, ids) where !id.isEmpty {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            GapJSON.append(report, id, present.clock, outlook(of: report), to: &body)
        }
        JSONWriter.raw("],\"next\":", to: &body)
        if let next {
            JSONWriter.string("\(next.place).\(next.number)".utf8, to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        ResponderJSON.time("as_of", present.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return body
    }
}
