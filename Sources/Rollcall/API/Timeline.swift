import RollcallCore
import RollcallStore
import RollcallSupport

/// The part of a person's timeline that is asked for.
struct TimelineQuery: Sendable {
    /// Events without a `limit`.
    static let limitStandard = 200

    var since: Timestamp?
    var until: Timestamp?
    var limit = limitStandard
    /// False leaves the batches out.
    var hasContacts = true
    /// The place at which the walks go on: a decision, a row, a decision about blindness.
    var after: TimelinePlace?

    static let parameters = Parameters(
        TimelineQuery(),
        [
            .time(
                "since", "From then on: RFC 3339, or milliseconds since 1970.", into: \.since),
            .time("until", "Before then, likewise.", into: \.until),
            .flag(
                "contacts", "False leaves the batches out.", standard: true, into: \.hasContacts),
            .cursor(count: 3) {
                $0.after = TimelinePlace(decision: $1[0], row: $1[1], blind: $1[2])
            },
            .limit("Events in the answer at most.", standard: limitStandard, into: \.limit),
        ])
}

/// The places of the walks back through a timeline; 0 at their ends.
struct TimelinePlace: Sendable {
    var decision: Int64
    var row: Int64
    /// Decisions about blindness before this one are still to come.
    var blind: Int64
}

/// `GET /v1/responders/{id}/timeline`: a person's decisions and rows, walked back and put together
/// by their turns, with the blind windows between them (J7, §9).
struct Timeline {
    /// The next event of one walk.
    private struct Head {
        let turn: Int64
        let event: [UInt8]
        /// The place at which the walk goes on behind it.
        let next: Int64
        /// The decision's number; 0 for a row.
        var id: Int64 = 0
    }

    private let query: TimelineQuery
    private let person: HistoryPerson
    private let work: HistoryWork
    private var place: TimelinePlace
    private var turns: TurnFinder
    private var span: TurnSpan
    private var decision: Head?
    private var row: Head?
    private var blind: Head?
    /// Windows whose ends were left out.
    private var untold: [(reason: BlindReason, since: Timestamp)] = []
    private var events: [[UInt8]] = []
    private var looked = 0

    /// Answers a query about `person`, who has this id, from the store.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: TimelineQuery, _ id: [UInt8], _ person: HistoryPerson,
        _ present: HistoryPresent, _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var timeline = try Timeline(query, person, work)
        let isEnd = try timeline.read()
        return .json(timeline.body(id, isEnd: isEnd, present))
    }

    private init(
        _ query: TimelineQuery, _ person: HistoryPerson, _ work: HistoryWork
    ) throws(StoreError) {
        self.query = query
        self.person = person
        self.work = work
        place =
            query.after
            ?? TimelinePlace(decision: person.lastDecision, row: person.lastRow, blind: .max)
        turns = TurnFinder(work.reader)
        span = try turns.span(since: query.since, until: query.until)
    }

    // MARK: - Reading

    /// Fills the page; true once nothing is left behind it.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func read() throws(StoreError) -> Bool {
        while events.count < query.limit {
            guard try fill() else { return false }
            // Blindness before the first that is known of a person tells nothing about them.
            guard let newest = newer(decision, row) else { return true }
            if let blind, precedes(newest, blind) {
                emit(blind)
                place.blind = blind.next
                self.blind = nil
            } else if newest.id > 0 {
                emit(newest)
                place.decision = newest.next
                decision = nil
            } else {
                emit(newest)
                place.row = newest.next
                row = nil
            }
        }
        _ = try fill()
        return decision == nil && row == nil && place.decision == 0 && place.row == 0
    }

    private mutating func emit(_ head: Head) { events.append(head.event) }

    private func newer(_ a: Head?, _ b: Head?) -> Head? {
        guard let a, let b else { return a ?? b }
        return precedes(a, b) ? b : a
    }

    /// True if `a` is older: what a turn decided comes behind what it took in.
    private func precedes(_ a: Head, _ b: Head) -> Bool {
        (a.turn, a.id > 0 ? 1 : 0, a.id) < (b.turn, b.id > 0 ? 1 : 0, b.id)
    }

    /// Looks for the next event of each walk that has none; false if the question has had its work
    /// before.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func fill() throws(StoreError) -> Bool {
        while decision == nil, place.decision > 0 {
            guard goesOn else { return false }
            try readDecision()
        }
        while row == nil, place.row > 0 {
            guard goesOn else { return false }
            try readRow()
        }
        while blind == nil, place.blind > 0 {
            guard goesOn else { return false }
            try readBlind()
        }
        return true
    }

    private var goesOn: Bool { looked < work.limits.eventsLookedAt && !work.isOver }

    private mutating func readDecision() throws(StoreError) {
        looked += 1
        var found: Head?
        var isOver = true
        let span = span
        let person = person
        let next = try work.reader.journal.decisions(
            from: place.decision, atMilliseconds: .min ... .max, limit: 1
        ) { stored in
            guard stored.responder == person.responder, stored.turn >= span.first else { return }
            isOver = false
            guard stored.turn <= span.last, let decision = DecisionCode.decision(stored) else {
                return
            }
            found = Head(
                turn: stored.turn, event: TimelineJSON.event(decision), next: stored.previous,
                id: stored.id)
        }
        if isOver { place.decision = 0 } else if found == nil { place.decision = next }
        decision = found
    }

    private mutating func readBlind() throws(StoreError) {
        looked += 1
        var found: Head?
        var next: Int64 = 0
        let span = span
        _ = try work.reader.blindDecision(before: place.blind) { stored in
            guard stored.turn >= span.first else { return }
            next = stored.id
            guard stored.turn <= span.last, let decision = DecisionCode.decision(stored) else {
                return
            }
            guard isReported(decision) else { return }
            found = Head(
                turn: stored.turn, event: TimelineJSON.event(decision), next: stored.id,
                id: stored.id)
        }
        if found == nil { place.blind = next }
        blind = found
    }

    /// False for what is too short to be told, which older versions stored (D5): its end comes first.
    private mutating func isReported(_ decision: Decision) -> Bool {
        guard case .blind(let at, let begins, let since, let reason) = decision else { return true }
        if begins { return !untold.contains { $0.reason == reason && $0.since == since } }
        // A wall that was set back makes an end lie before its begin.
        guard at >= since, at - since < BlindReason.reportedFrom else { return true }
        untold.append((reason, since))
        return false
    }

    private mutating func readRow() throws(StoreError) {
        looked += 1
        var list = ItemList()
        var isTheirs = false
        let id = place.row
        let person = person
        let next = try work.reader.journal.walk(from: id, of: person.responder, limit: 1) {
            stored in
            isTheirs = stored.responder == person.responder
            list.bytes = Array(stored.body)
            list.ends = [list.bytes.count]
        }
        guard isTheirs, id >= span.firstRow else { return place.row = 0 }
        guard id <= span.lastRow, let item = list.item(0),
            query.hasContacts || item.kind != .batch, let turn = try turns.turn(ofRow: id)
        else { return place.row = next }
        let at = Timestamp(milliseconds: turn.wallMilliseconds)
        guard let event = TimelineJSON.event(item, list.bytes, at: at) else {
            return place.row = next
        }
        row = Head(turn: turn.number, event: event, next: next)
    }

    // MARK: - The answer

    private func body(_ id: [UInt8], isEnd: Bool, _ present: HistoryPresent) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"responder_id\":", to: &body)
        JSONWriter.string(id, to: &body)
        JSONWriter.raw(",\"events\":", to: &body)
        JSONWriter.list(events, to: &body) { $1.append(contentsOf: $0) }
        JSONWriter.raw(",\"next\":", to: &body)
        if isEnd {
            JSONWriter.raw("null", to: &body)
        } else {
            JSONWriter.string("\(place.decision).\(place.row).\(place.blind)".utf8, to: &body)
        }
        ResponderJSON.time("as_of", present.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return body
    }
}
