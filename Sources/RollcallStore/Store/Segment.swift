import RollcallCore

/// A part of the history that is packed: turns that follow each other, and their rows. Source: J12.
package struct Segment: Equatable, Sendable {
    /// The state of a segment, as the table says.
    enum State: Int64 {
        case writing = 0
        case complete = 1
        case obsolete = 2
    }

    package var firstTurn: Int64
    package var lastTurn: Int64
    package var firstRow: Int64
    /// Less than `firstRow` if it has no rows.
    package var lastRow: Int64
    /// The id of its first block; the others follow.
    var block: Int64
    var directory: SegmentDirectory

    /// A turn of it that stands in no block that can be read: with all of its rows, at about `wall`,
    /// in milliseconds since 1970.
    func unread(_ number: Int64, at wall: Int64) -> Turn {
        Turn(
            number: number, nowMilliseconds: wall, wallMilliseconds: wall, firstRow: firstRow,
            lastRow: lastRow, engineVersion: 0)
    }

    /// True if it has a row.
    func holds(row id: Int64) -> Bool { firstRow <= id && id <= lastRow }
}

/// The key and the id of the first row of each of a segment's blocks of rows, and the number of the first
/// turn of each of its blocks of turns with its first row: by them a block is found.
struct SegmentDirectory: Equatable, Sendable {
    /// A row's place among those of a segment.
    struct Place: Equatable, Comparable, Sendable {
        var key: Int64
        var id: Int64

        static func < (a: Self, b: Self) -> Bool { (a.key, a.id) < (b.key, b.id) }
    }

    /// A block's first turn.
    struct TurnPlace: Equatable, Sendable {
        var number: Int64
        var firstRow: Int64
    }

    var rows: [Place] = []
    var turns: [TurnPlace] = []

    init() {}

    /// The number of the block that holds a row if any does; nil if none can.
    func block(of place: Place) -> Int? { Self.last(rows) { $0 <= place } }

    /// The numbers of the blocks that may hold rows of a key.
    func blocks(of key: Int64) -> ClosedRange<Int>? {
        guard let last = block(of: Place(key: key, id: .max)) else { return nil }
        return (block(of: Place(key: key, id: .min)) ?? 0)...last
    }

    /// The number of the block of turns that holds one if any does; nil if none can.
    func block(ofTurn number: Int64) -> Int? { Self.last(turns) { $0.number <= number } }

    /// The number of the block with the turn that folded a row; nil if none can have it.
    func block(ofTurnWithRow id: Int64) -> Int? { Self.last(turns) { $0.firstRow <= id } }

    private static func last<Value>(_ values: [Value], where holds: (Value) -> Bool) -> Int? {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            if holds(values[middle]) { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }

    var storedBytes: [UInt8] {
        var bytes: [UInt8] = []
        Varint.append(UInt64(rows.count), to: &bytes)
        var last = Place(key: 0, id: 0)
        for place in rows {
            Varint.appendSigned(place.key &- last.key, to: &bytes)
            Varint.appendSigned(place.id &- last.id, to: &bytes)
            last = place
        }
        var turn = TurnPlace(number: 0, firstRow: 0)
        for place in turns {
            Varint.appendSigned(place.number &- turn.number, to: &bytes)
            Varint.appendSigned(place.firstRow &- turn.firstRow, to: &bytes)
            turn = place
        }
        return bytes
    }

    init?(storedBytes: [UInt8]) {
        let isWhole = storedBytes.withUnsafeBufferPointer { buffer in
            let bytes = buffer.span
            var at = 0
            guard let count = Varint.read(bytes, &at, bytes.count), count <= bytes.count else {
                return false
            }
            var last = Place(key: 0, id: 0)
            for _ in 0..<count {
                guard let key = Varint.readSigned(bytes, &at, bytes.count),
                    let id = Varint.readSigned(bytes, &at, bytes.count)
                else { return false }
                last = Place(key: last.key &+ key, id: last.id &+ id)
                rows.append(last)
            }
            var turn = TurnPlace(number: 0, firstRow: 0)
            while at < bytes.count {
                guard let step = Varint.readSigned(bytes, &at, bytes.count),
                    let rows = Varint.readSigned(bytes, &at, bytes.count)
                else { return false }
                turn.number &+= step
                turn.firstRow &+= rows
                turns.append(turn)
            }
            return true
        }
        if !isWhole { return nil }
    }
}

/// The part of a segment that was read again: its blocks, and what they hold.
package struct SegmentSeen {
    var blocks = 0
    var rows = 0
    var turns = 0

    /// Nothing was read yet.
    package init() {}
}

/// A block as the table holds it.
struct BlockRow {
    var id: Int64
    /// In SQLite's memory or the writer's: valid as long as the row is at hand.
    var body: UnsafeRawBufferPointer

    init(id: Int64, body: UnsafeRawBufferPointer) {
        self.id = id
        self.body = body
    }

    /// The current row of a statement that selects the whole table.
    init(_ row: Statement) {
        self.init(id: row[.id], body: row.bytes(.body))
    }

    /// Writes it by a statement. Throws `StoreError` if SQLite refuses.
    func write(by statement: Statement) throws(StoreError) {
        try statement.run([.id: id, .body: body, .checksum: checksum])
    }
}

extension Segment {
    /// The current row of a statement that selects the whole table; nil if it makes no sense.
    init?(_ row: Statement) {
        guard let directory = SegmentDirectory(storedBytes: Array(row.bytes(.body))) else {
            return nil
        }
        self.init(
            firstTurn: row[.firstTurn], lastTurn: row[.lastTurn], firstRow: row[.firstRow],
            lastRow: row[.lastRow], block: row[.block], directory: directory)
    }

    func arguments(_ state: State) -> Arguments {
        [
            .firstTurn: firstTurn, .lastTurn: lastTurn, .firstRow: firstRow, .lastRow: lastRow,
            .block: block, .state: Code(state), .body: directory.storedBytes,
        ]
    }
}

extension SQL {
    /// The first row that stands in the table.
    static let firstTableRow: SQL = """
        SELECT iif(kind = 127 AND previous BETWEEN 1 AND id, previous, id) AS id FROM journal
        ORDER BY id LIMIT 1
        """

    /// The first row that a store keeps, packed or not.
    package static let firstRow: SQL = """
        SELECT min(id) FROM (
            SELECT iif(kind = 127 AND previous BETWEEN 1 AND id, previous, id) AS id FROM (
                SELECT kind, previous, id FROM journal ORDER BY id LIMIT 1) UNION ALL
            SELECT min(first_row) FROM segments
            WHERE state = \(Segment.State.complete) AND last_row >= first_row)
        """
}
