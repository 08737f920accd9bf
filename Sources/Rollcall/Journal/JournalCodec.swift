import RollcallCore

/// The journal's codes for events. A code, once written, keeps its meaning for ever.
enum EventCode {
    /// Items are stored under their `ItemKind`, the first of an event with this bit added, unless a
    /// header comes before it.
    static let begins: UInt8 = 0x80
    /// The source of the items that follow.
    static let header: UInt8 = 16
    /// The same of a whole roster, with whether it may shrink.
    static let roster: UInt8 = 17
    static let erase: UInt8 = 18
    /// A part of a roster.
    static let rosterPart: UInt8 = 19
    static let heartbeat: UInt8 = 20
    static let clock: UInt8 = 21
    static let store: UInt8 = 22
    static let refused: UInt8 = 23
    static let policy: UInt8 = 24
    static let turn: UInt8 = 25
    static let start: UInt8 = 26
    static let stop: UInt8 = 27
    static let silence: UInt8 = 28
    static let drill: UInt8 = 29
    static let outcome: UInt8 = 30
    /// A silence that is ended.
    static let silenceEnd: UInt8 = 31
    /// The final outcome of a push.
    static let pushed: UInt8 = 32
    static let wake: UInt8 = 33
    /// What a minute says of a source's clock.
    static let skew: UInt8 = 34
}

/// A row of the journal as the keeper holds it until it is committed.
package struct PendingRow {
    package var id: Int64
    package var kind: UInt8
    /// The person's number + 1; 0 for none.
    var responder: Int64
    var previous: Int64
    /// Where the body stands in the bytes of its turn.
    var body: Range<Int>
}

/// Rows and decisions of one turn, ready to be written as often as it takes (J6).
package struct PendingTurn {
    package private(set) var rows: [PendingRow] = []
    private(set) var bytes: [UInt8] = []
    package var decisions: [NumberedDecision] = []
    /// Dark time that was booked.
    private(set) var dark: [DarkRow] = []
    /// What is to be removed from the store after this turn.
    private(set) var erasures: [Erasure] = []
    /// What changed in the outbox, and attempts that began or ended.
    package var outbox = OutboxChanges()
    package var attempts: [AttemptRow] = []
    /// What changed of pushes.
    package var pushes = PushChanges()
    /// Attempts to send a push that this store ever began; nil if none begins here.
    package var pushClaims: Int64?
    /// What was lost with a store, as it stands from this turn on; nil if that does not change.
    package var stateLoss: StateLoss?
    /// What may go out once all this is committed.
    package var sendings: [OutboxSending] = []
    package var pushSendings: [PushSending] = []
    /// Of the first turn in a minute: how the fleet stood at its end.
    package var sample: FleetSample?
    package private(set) var turn = Turn(
        number: 0, nowMilliseconds: 0, wallMilliseconds: 0, firstRow: 1, lastRow: 0,
        engineVersion: Engine.version)

    /// Notes which turn it is, and where each erasure begins. `engine` has advanced, and its
    /// decisions are taken.
    package mutating func close(number: Int64, _ engine: Engine) {
        turn = Turn(
            number: number, nowMilliseconds: engine.watch.now.milliseconds,
            wallMilliseconds: engine.watch.wallNow.milliseconds,
            firstRow: rows.first?.id ?? engine.nextRow,
            lastRow: rows.last?.id ?? engine.nextRow - 1, engineVersion: Engine.version)
        for index in erasures.indices {
            erasures[index].turn = turn.number
            erasures[index].requestedAt = Timestamp(milliseconds: turn.wallMilliseconds)
            let number = Int(erasures[index].responder) - 1
            if number >= 0 {
                erasures[index].nextRow = engine.roster[number].lastRow
                erasures[index].nextDecision = engine.roster[number].lastDecision
            }
        }
    }

    /// About how many bytes of the log it takes.
    var storedBytes: Int {
        bytes.count + 40 * rows.count + 200 * decisions.count + 60 * dark.count
            + 1000 * outbox.added.count + 200 * (outbox.changed.count + attempts.count)
            + 200 * (pushes.added.count + pushes.changed.count)
    }

    /// Takes over what `engine` decided and booked.
    package mutating func take(from engine: inout Engine) {
        decisions = engine.takeDecisions()
        dark = DarkRow.merged(engine.takeDarkBookings())
    }

    /// True if there is nothing to be kept but the sign of life.
    var isEmpty: Bool {
        rows.isEmpty && decisions.isEmpty && outbox.isEmpty && attempts.isEmpty && pushes.isEmpty
    }

    package init() {}

    /// Folds `event` and keeps what it was as rows.
    package mutating func fold(
        _ event: Event, into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        switch event {
        case .items(let list, let source):
            return fold(list, event, source, nil, into: &engine, at: instant)
        case .roster(let list, let source, let terms):
            return fold(list, event, source, terms, into: &engine, at: instant)
        case .erase(let person, let source): return erase(person, source, &engine, at: instant)
        case .heartbeat(let source, let every):
            append(EventCode.heartbeat, Self.number(every.count) + source, &engine)
        case .skew(let source, let skew):
            append(EventCode.skew, Self.number(skew.count) + source, &engine)
        case .clock(let step): append(EventCode.clock, Self.number(step.count), &engine)
        case .store(let isFailing): append(EventCode.store, [isFailing ? 1 : 0], &engine)
        case .refused(let count):
            append(EventCode.refused, Self.number(Int64(count)), &engine)
        case .policy(let policy): append(EventCode.policy, policy.journalBytes, &engine)
        case .turn(let lateness):
            append(EventCode.turn, lateness.map { Self.number($0.count) } ?? [], &engine)
        case .silence(.begin(let silence)):
            append(EventCode.silence, silence.journalBytes, &engine)
        case .silence(.end(let number)):
            append(EventCode.silenceEnd, Self.number(number), &engine)
        case .drill(let receiver): append(EventCode.drill, receiver, &engine)
        case .outcome(let end): append(EventCode.outcome, end.journalBytes, &engine)
        case .pushed(let end): append(EventCode.pushed, end.journalBytes, &engine)
        case .wake(let call, let source): return wake(call, source, &engine, at: instant)
        case .start(let isRestored):
            append(EventCode.start, isRestored ? [1] : [], &engine)
        case .stop: append(EventCode.stop, [], &engine)
        }
        return engine.fold(event, at: instant)
    }

    private mutating func fold(
        _ list: ItemList, _ event: Event, _ source: [UInt8], _ terms: RosterTerms?,
        into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        var begins = EventCode.begins
        let header = rows.count
        if let terms {
            append(terms.code, terms.journalBytes + source, &engine)
            begins = 0
        } else if source != EventSource.standard || list.count == 0 {
            append(EventCode.header, source, &engine)
            begins = 0
        }
        let receipt = engine.fold(event, at: instant)
        if terms != nil, receipt.rows.isEmpty, receipt.retired == nil,
            let row = rows[header...].first
        {
            // A refused one must not come back as one that names nobody.
            rows[header].kind = EventCode.header
            rows[header].body = (row.body.upperBound - source.count)..<row.body.upperBound
        }
        // Even a write of which nothing is taken is a sign of life of its source.
        if receipt.rows.isEmpty, begins != 0 { append(EventCode.header, source, &engine) }
        if rows.isEmpty {
            // For the first only: room made for each event is room made exactly, and all that
            // stands there is copied into it, event by event.
            rows.reserveCapacity(receipt.rows.count)
            bytes.reserveCapacity(list.bytes.count)
        }
        for row in receipt.rows {
            let start = bytes.count
            let range = list.range(of: row.item)
            bytes.append(contentsOf: list.bytes[range])
            rows.append(
                PendingRow(
                    id: row.row, kind: list.bytes[range.lowerBound] | begins,
                    responder: Int64(row.responder + 1), previous: row.previous,
                    body: start..<bytes.count))
            begins = 0
        }
        return receipt
    }

    /// The row holds no id: it stays when everything else about the person is gone.
    private mutating func erase(
        _ person: ErasedPerson, _ source: [UInt8], _ engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        let (number, hash) = person.found(in: engine.roster)
        let body =
            Self.number(Int64(bitPattern: hash)) + Self.number(Int64(number.map { $0 + 1 } ?? 0))
        append(EventCode.erase, body + source, &engine)
        let row = rows[rows.count - 1].id
        let gap = number.flatMap { engine.followedGap(of: $0)?.number } ?? 0
        let region = number.map { engine.regions[engine.roster[$0].region] } ?? []
        let receipt = engine.fold(
            .erase(.number(number, hash: hash), source: source), at: instant)
        // A repeated one is an erasure already.
        if receipt.erasure == row {
            var erasure = Erasure(number: row, responder: Int64(number.map { $0 + 1 } ?? 0))
            erasure.gap = gap
            erasure.regions.note(region)
            erasures.append(erasure)
        }
        return receipt
    }

    /// The row holds numbers: a circle's name, or the viewer's, may not outlive an erasure.
    private mutating func wake(
        _ call: WakeCall, _ source: [UInt8], _ engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        let (members, beyond) = engine.members(of: call)
        let code = WakeCall.journalBytes(members)
        append(EventCode.wake, Self.number(Int64(code.count)) + code + source, &engine)
        var receipt = engine.fold(.wake(.members(members), source: source), at: instant)
        receipt.wakesBeyond = beyond
        return receipt
    }

    private mutating func append(_ kind: UInt8, _ body: [UInt8], _ engine: inout Engine) {
        let start = bytes.count
        bytes.append(contentsOf: body)
        rows.append(
            PendingRow(
                id: engine.takeRow(), kind: kind, responder: 0, previous: 0,
                body: start..<bytes.count))
    }

    static func number(_ value: Int64) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}

/// Puts the events of a journal together again from its rows.
struct JournalReplay {
    /// Events of the turn being read, each with the number of its first row.
    private(set) var events: [(event: Event, row: Int64)] = []
    private var list = ItemList()
    private var listRow: Int64 = 0
    private var source = EventSource.standard
    private var terms: RosterTerms?
    private var isOpen = false

    /// Takes a row; false if it makes no sense.
    mutating func take(_ row: JournalRow) -> Bool {
        let kind = row.kind & ~EventCode.begins
        if ItemKind(rawValue: kind) != nil {
            if row.kind & EventCode.begins != 0 {
                close()
                open(source: EventSource.standard)
            }
            guard isOpen else { return false }
            if list.count == 0 { listRow = row.id }
            list.bytes.append(contentsOf: row.body)
            list.ends.append(list.bytes.count)
            return true
        }
        close()
        let body = Array(row.body)
        switch row.kind {
        case EventCode.header: open(source: body)
        case EventCode.roster, EventCode.rosterPart:
            var body = body[...]
            guard let terms = RosterTerms(code: row.kind, taking: &body) else { return false }
            open(source: Array(body), terms)
        default:
            guard let event = Self.event(row.kind, body), event.isCredible else { return false }
            // As it was when it was folded: its own row was given already.
            events.append((event, row.id + 1))
        }
        listRow = row.id + 1
        return true
    }

    /// Hands over the events that are whole by now.
    mutating func takeClosed() -> [(event: Event, row: Int64)] {
        if events.isEmpty { return [] }
        defer { events = [] }
        return events
    }

    /// Ends the turn and hands over its events.
    mutating func finish() -> [(event: Event, row: Int64)] {
        close()
        defer { events = [] }
        return events
    }

    private mutating func open(source: [UInt8], _ terms: RosterTerms? = nil) {
        self.source = source
        self.terms = terms
        isOpen = true
    }

    private mutating func close() {
        guard isOpen else { return }
        let event: Event =
            terms.map { .roster(list, source: source, $0) }
            ?? .items(list, source: source)
        events.append((event, listRow))
        list = ItemList()
        isOpen = false
    }

    private static func event(_ kind: UInt8, _ body: [UInt8]) -> Event? {
        switch kind {
        case EventCode.erase:
            guard let hash = number(body), let known = number(Array(body.dropFirst(8))) else {
                return nil
            }
            return .erase(
                .number(known > 0 ? Int(known - 1) : nil, hash: UInt64(bitPattern: hash)),
                source: Array(body.dropFirst(16)))
        case EventCode.heartbeat:
            guard let every = number(body) else { return nil }
            return .heartbeat(source: Array(body.dropFirst(8)), every: Milliseconds(every))
        case EventCode.skew:
            guard let skew = number(body) else { return nil }
            return .skew(source: Array(body.dropFirst(8)), Milliseconds(skew))
        case EventCode.clock: return number(body).map { .clock(step: Milliseconds($0)) }
        case EventCode.store: return body.first.map { .store(isFailing: $0 == 1) }
        case EventCode.refused:
            return number(body).map { .refused(count: Int(truncatingIfNeeded: $0)) }
        case EventCode.policy: return Policy(journalBytes: body).map { .policy($0) }
        case EventCode.turn: return .turn(lateness: number(body).map { Milliseconds($0) })
        case EventCode.silence: return Silence(journalBytes: body).map { .silence(.begin($0)) }
        case EventCode.silenceEnd: return number(body).map { .silence(.end($0)) }
        case EventCode.drill: return .drill(receiver: body)
        case EventCode.outcome: return NoticeEnd(journalBytes: body).map { .outcome($0) }
        case EventCode.pushed: return PushEnd(journalBytes: body).map { .pushed($0) }
        case EventCode.wake:
            guard let count = number(body).flatMap({ Int(exactly: $0) }),
                (0...(body.count - 8)).contains(count),
                let call = WakeCall(journalBytes: Array(body[8..<(8 + count)]))
            else { return nil }
            return .wake(call, source: Array(body.dropFirst(8 + count)))
        case EventCode.start: return .start(isRestored: body == [1])
        case EventCode.stop: return .stop
        default: return nil
        }
    }

    private static func number(_ body: [UInt8]) -> Int64? {
        guard body.count >= 8 else { return nil }
        return body.prefix(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension RosterTerms {
    fileprivate var code: UInt8 { id.isEmpty ? EventCode.roster : EventCode.rosterPart }

    /// What stands before the source in a roster's row.
    fileprivate var journalBytes: [UInt8] {
        let flags: UInt8 = (allowsShrink ? 1 : 0) | (hasMore ? 2 : 0)
        return id.isEmpty ? [flags] : [flags, UInt8(id.count)] + id
    }

    /// Takes the terms off the front of a row's body; nil if it makes no sense.
    fileprivate init?(code: UInt8, taking body: inout ArraySlice<UInt8>) {
        guard let flags = body.popFirst() else { return nil }
        self.init(allowsShrink: flags & 1 == 1, hasMore: flags & 2 == 2)
        guard code == EventCode.rosterPart else { return }
        guard let count = body.popFirst(), Int(count) <= body.count else { return nil }
        id = Array(body.prefix(Int(count)))
        body = body.dropFirst(Int(count))
    }
}
