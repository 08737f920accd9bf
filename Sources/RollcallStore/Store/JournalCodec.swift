import RollcallCore

/// The journal's codes for events. A code, once written, keeps its meaning for ever.
enum EventCode {
    /// Items are stored under their `ItemKind`, the first of an event with this bit added, unless a
    /// header comes before it.
    static let begins: UInt8 = 0x80
    /// The source of the items that follow.
    static let header: UInt8 = 16
    /// The code of a whole roster, with whether it may shrink.
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
    /// The code of what a minute says of a source's clock.
    static let skew: UInt8 = 34
    static let reign: UInt8 = 35
    /// A request that was done under a name.
    static let done: UInt8 = 40
    static let membership: UInt8 = 36
    /// The one who did what the event before it says.
    static let action: UInt8 = 37
    /// The place of a subscriber.
    static let subscription: UInt8 = 38
    /// The code of who sees to an incident, or does not any more.
    static let take: UInt8 = 39
    /// The code of who asks for whom.
    static let ask: UInt8 = 41
    /// The code of a map of the fleet's cells.
    static let cells: UInt8 = 42
    /// The code of what cells say of their people.
    static let summaries: UInt8 = 43
    /// The code of what other cells say of people's company.
    static let peersElsewhere: UInt8 = 44
    /// The code of whether a cell hears the fleet cell.
    static let fleetCell: UInt8 = 45
    /// The code of a cell that is split.
    static let split: UInt8 = 46
    /// The code of who fell out of contact together, in whichever cells.
    static let masses: UInt8 = 47
}

/// Puts the events of a journal together again from its rows.
package struct JournalReplay {
    /// Events of the turn being read, each with the number of its first row.
    private(set) var events: [(event: Event, row: Int64)] = []
    private var list = ItemList()
    private var listRow: Int64 = 0
    private var source = EventSource.standard
    private var terms: RosterTerms?
    private var isOpen = false

    package init() {}

    /// Takes a row; false if it makes no sense.
    package mutating func take(_ row: JournalRow) -> Bool {
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
            // Of a damaged row too, which may say anything.
            list.numbers.append(Int(truncatingIfNeeded: row.responder &- 1))
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
    package mutating func takeClosed() -> [(event: Event, row: Int64)] {
        if events.isEmpty { return [] }
        defer { events = [] }
        return events
    }

    /// Ends the turn and hands over its events.
    package mutating func finish() -> [(event: Event, row: Int64)] {
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
        case EventCode.reign:
            guard let count = Self.number(body),
                let unobserved = Self.number(Array(body.dropFirst(8)))
            else { return nil }
            return .reign(
                Reign(
                    number: count, member: Array(body.dropFirst(16)),
                    unobserved: Milliseconds(unobserved)))
        case EventCode.done: return DoneRequest(journalBytes: body).map { .done($0) }
        case EventCode.membership:
            return MembershipChange(journalBytes: body).map { .membership($0) }
        case EventCode.subscription:
            return SubscriptionMark(journalBytes: body).map { .subscription($0) }
        case EventCode.cells: return CellMap(journalBytes: body).map { .cells($0) }
        case EventCode.split: return CellSplit(journalBytes: body).map { .split($0) }
        case EventCode.summaries: return Summary.list(journalBytes: body).map { .summaries($0) }
        case EventCode.masses: return FleetMass.list(journalBytes: body).map { .masses($0) }
        case EventCode.fleetCell: return .fleetCell(isDark: body.first == 1)
        case EventCode.peersElsewhere:
            return PeersElsewhere(journalBytes: body).map { .peersElsewhere($0) }
        case EventCode.action: return ActionReport(journalBytes: body).map { .action($0) }
        case EventCode.ask:
            return AskCall.reading(body).map { .ask($0.call, source: $0.source) }
        case EventCode.take: return TakeChange(journalBytes: body).map { .take($0) }
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
    var code: UInt8 { id.isEmpty ? EventCode.roster : EventCode.rosterPart }

    /// The bytes before the source in a roster's row.
    var journalBytes: [UInt8] {
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
