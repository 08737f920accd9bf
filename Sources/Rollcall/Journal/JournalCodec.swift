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
    static let heartbeat: UInt8 = 20
    static let clock: UInt8 = 21
    static let store: UInt8 = 22
    static let refused: UInt8 = 23
    static let policy: UInt8 = 24
    static let turn: UInt8 = 25
    static let start: UInt8 = 26
    static let stop: UInt8 = 27
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
    package var turn = Turn(
        number: 0, nowMilliseconds: 0, wallMilliseconds: 0, firstRow: 1, lastRow: 0,
        engineVersion: Engine.version)

    /// True if there is nothing to be kept but the sign of life.
    var isEmpty: Bool { rows.isEmpty && decisions.isEmpty }

    package init() {}

    /// Folds `event` and keeps what it was as rows.
    package mutating func fold(
        _ event: Event, into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        switch event {
        case .items(let list, let source):
            return fold(list, event, source, nil, into: &engine, at: instant)
        case .roster(let list, let source, let allowsShrink):
            return fold(list, event, source, allowsShrink, into: &engine, at: instant)
        case .erase(let id, let source):
            append(EventCode.erase, [UInt8(source.count)] + source + id, &engine)
        case .heartbeat(let source, let every):
            append(EventCode.heartbeat, Self.number(every.count) + source, &engine)
        case .clock(let step): append(EventCode.clock, Self.number(step.count), &engine)
        case .store(let isFailing): append(EventCode.store, [isFailing ? 1 : 0], &engine)
        case .refused(let count):
            append(EventCode.refused, Self.number(Int64(count)), &engine)
        case .policy(let policy): append(EventCode.policy, policy.journalBytes, &engine)
        case .turn(let lateness):
            append(EventCode.turn, lateness.map { Self.number($0.count) } ?? [], &engine)
        case .start: append(EventCode.start, [], &engine)
        case .stop: append(EventCode.stop, [], &engine)
        }
        return engine.fold(event, at: instant)
    }

    private mutating func fold(
        _ list: ItemList, _ event: Event, _ source: [UInt8], _ allowsShrink: Bool?,
        into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        var begins = EventCode.begins
        if let allowsShrink {
            append(EventCode.roster, [allowsShrink ? 1 : 0] + source, &engine)
            begins = 0
        } else if source != EventSource.standard || list.count == 0 {
            append(EventCode.header, source, &engine)
            begins = 0
        }
        let receipt = engine.fold(event, at: instant)
        // Even a write of which nothing is taken is a sign of life of its source.
        if receipt.rows.isEmpty, begins != 0 { append(EventCode.header, source, &engine) }
        rows.reserveCapacity(rows.count + receipt.rows.count)
        bytes.reserveCapacity(bytes.count + list.bytes.count)
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

/// The names of sources.
package enum EventSource {
    /// Who sends without saying so (fine print F10).
    package static let standard = Array("default".utf8)
}

/// Puts the events of a journal together again from its rows.
struct JournalReplay {
    /// Events of the turn being read, each with the number of its first row.
    private(set) var events: [(event: Event, row: Int64)] = []
    private var list = ItemList()
    private var listRow: Int64 = 0
    private var source = EventSource.standard
    private var allowsShrink: Bool?
    private var isOpen = false

    /// Takes a row; false if it makes no sense.
    mutating func take(_ row: JournalRow) -> Bool {
        let body = Array(row.body)
        let kind = row.kind & ~EventCode.begins
        if ItemKind(rawValue: kind) != nil {
            if row.kind & EventCode.begins != 0 {
                close()
                open(source: EventSource.standard, allowsShrink: nil)
            }
            guard isOpen else { return false }
            if list.count == 0 { listRow = row.id }
            list.bytes.append(contentsOf: body)
            list.ends.append(list.bytes.count)
            return true
        }
        close()
        switch row.kind {
        case EventCode.header: open(source: body, allowsShrink: nil)
        case EventCode.roster:
            guard let first = body.first else { return false }
            open(source: Array(body.dropFirst()), allowsShrink: first == 1)
        default:
            guard let event = Self.event(row.kind, body) else { return false }
            events.append((event, row.id))
        }
        listRow = row.id + 1
        return true
    }

    /// Ends the turn and hands over its events.
    mutating func finish() -> [(event: Event, row: Int64)] {
        close()
        defer { events = [] }
        return events
    }

    private mutating func open(source: [UInt8], allowsShrink: Bool?) {
        self.source = source
        self.allowsShrink = allowsShrink
        isOpen = true
    }

    private mutating func close() {
        guard isOpen else { return }
        let event: Event =
            allowsShrink.map { .roster(list, source: source, allowsShrink: $0) }
            ?? .items(list, source: source)
        events.append((event, listRow))
        list = ItemList()
        isOpen = false
    }

    private static func event(_ kind: UInt8, _ body: [UInt8]) -> Event? {
        switch kind {
        case EventCode.erase:
            guard let count = body.first, body.count > Int(count) else { return nil }
            return .erase(
                id: Array(body.dropFirst(1 + Int(count))),
                source: Array(body[1..<(1 + Int(count))]))
        case EventCode.heartbeat:
            guard let every = number(body) else { return nil }
            return .heartbeat(source: Array(body.dropFirst(8)), every: Milliseconds(every))
        case EventCode.clock: return number(body).map { .clock(step: Milliseconds($0)) }
        case EventCode.store: return body.first.map { .store(isFailing: $0 == 1) }
        case EventCode.refused:
            return number(body).map { .refused(count: Int(truncatingIfNeeded: $0)) }
        case EventCode.policy: return Policy(journalBytes: body).map { .policy($0) }
        case EventCode.turn: return .turn(lateness: number(body).map { Milliseconds($0) })
        case EventCode.start: return .start
        case EventCode.stop: return .stop
        default: return nil
        }
    }

    private static func number(_ body: [UInt8]) -> Int64? {
        guard body.count >= 8 else { return nil }
        return body.prefix(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
}
