/// The checksum that a row carries: SQLite notices when its pages do not hang together, but not a
/// bit that flipped inside of a value, and what is folded again must be what was written (J3).
///
/// Each word goes through a bijection, so that one that changed always shows in the 64 bits, of which
/// 32 are kept: the lower ones of the last product, which know nothing of the upper half of the last
/// word. So the last word is none of the row's: bytes end with their count, which has no upper half,
/// and a row that ends with a number is ended by one word more since version 9. Rows that end with
/// bytes have the sums that they always had.
///
/// Rows of versions before 7 have none, which is NULL and not 0: SQLite reads what is missing at a
/// file's end as zeros, and then those would fit. It is no secret: who can write the file can write the
/// checksum.
struct RowChecksum {
    /// The table that a row stands in: one must not pass for another.
    enum Table: UInt64 {
        case journal = 1
        case decisions = 2
        case turns = 3
        case slices = 4
        case meta = 5
        case checkpoints = 6
        case erasures = 7
        case outbox = 8
        case attempts = 9
        case pushes = 10
        case gaps = 11
        case dark = 12
        case samples = 13
    }

    private var state: UInt64

    private init(_ table: Table) { state = table.rawValue }

    private mutating func add(_ word: UInt64) {
        // Odd, so that it has an inverse; half of its bits are set. From rrmxmx (P. Evensen).
        state = (state ^ word) &* 0x9FB2_1C65_1E98_DF25
        state ^= state >> 32
    }

    private mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let whole = bytes.count & ~7
        var offset = 0
        while offset < whole {
            add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset += 1
        }
        add(rest)
        add(UInt64(bytes.count))
    }

    /// Ends a row of which the last column is one word.
    private mutating func end() { add(Self.lastWord) }

    /// Any does.
    private static let lastWord: UInt64 = 0xD1B5_4A32_D192_ED03

    private var value: Int64 { Int64(UInt32(truncatingIfNeeded: state ^ state >> 32)) }

    // MARK: - Rows

    /// That of a journal's row.
    static func of(
        row id: Int64, kind: UInt8, responder: Int64, previous: Int64,
        _ body: UnsafeRawBufferPointer
    ) -> Int64 {
        var sum = RowChecksum(.journal)
        sum.add(id)
        sum.add(UInt64(kind))
        sum.add(responder)
        sum.add(previous)
        sum.add(body)
        return sum.value
    }

    /// That of a decision with a body.
    static func of(_ decision: DecisionRow, _ body: UnsafeRawBufferPointer) -> Int64 {
        var sum = RowChecksum(.decisions)
        sum.add(decision.id)
        sum.add(decision.turn)
        sum.add(UInt64(decision.kind))
        sum.add(decision.responder)
        sum.add(decision.previous)
        sum.add(decision.atMilliseconds)
        sum.add(body)
        return sum.value
    }

    /// That of a turn; `isEnded` is false for one of a version before 9.
    static func of(_ turn: Turn, isEnded: Bool = true) -> Int64 {
        var sum = RowChecksum(.turns)
        sum.add(turn.number)
        sum.add(turn.nowMilliseconds)
        sum.add(turn.wallMilliseconds)
        sum.add(turn.firstRow)
        sum.add(turn.lastRow)
        sum.add(turn.engineVersion)
        if isEnded { sum.end() }
        return sum.value
    }

    /// That of a slice of a checkpoint.
    static func of(
        slice index: Int64, turn: Int64, engineVersion: Int64, _ body: UnsafeRawBufferPointer
    ) -> Int64 {
        var sum = RowChecksum(.slices)
        sum.add(index)
        sum.add(turn)
        sum.add(engineVersion)
        sum.add(body)
        return sum.value
    }

    // MARK: - Reading

    /// True if a row that was read is the one that was written, or nobody knows.
    static func fits(_ row: JournalRow, _ stored: Int64?) -> Bool {
        stored == nil
            || stored
                == of(
                    row: row.id, kind: row.kind, responder: row.responder, previous: row.previous,
                    row.body)
    }

    /// Returns true if a decision is as it was written, or was written without a sum.
    static func fits(_ decision: DecisionRow, _ stored: Int64?) -> Bool {
        stored == nil || stored == of(decision, decision.body)
    }

    /// Returns true if a turn is as it was written: there may be millions of them, so those of a
    /// version before 9 keep their sums, and what these do not see of the engine's version makes it
    /// one that was not written then.
    static func fits(_ turn: Turn, _ stored: Int64?) -> Bool {
        if stored == nil || stored == of(turn) { return true }
        let isOld = (1..<Self.endedSince).contains(turn.engineVersion)
        return isOld && stored == of(turn, isEnded: false)
    }

    /// The `Engine.version` that came with version 9 of the store.
    private static let endedSince: Int64 = 6

    /// Returns true if a slice is as it was written, or was written without a sum.
    static func fits(
        slice index: Int64, turn: Int64, engineVersion: Int64, _ body: UnsafeRawBufferPointer,
        _ stored: Int64?
    ) -> Bool {
        stored == nil
            || stored == of(slice: index, turn: turn, engineVersion: engineVersion, body)
    }
}

// MARK: - Rows that change in part

/// The tables from `meta` on have rows that change in part, so SQL reckons their checksums: an UPDATE
/// knows the columns that it leaves as they are.
///
///     row_checksum(table, column, …)      of a row's columns in their order, but for its checksum
///     row_checksum_8(table, column, …)    the same as of version 8, for the migration
///
/// An UPDATE takes the old row's from the checksum and adds the new one's. So a row that was not as it
/// was written is not made whole by it, and NULL stays NULL: nobody knows what stood there.
extension RowChecksum {
    /// That of the columns that `value` tells, in their order; `mayEnd` is false for one of version 8.
    static func of(
        _ table: Table, columns: Int32, mayEnd: Bool = true, _ value: (Int32) -> SQLiteValue
    ) -> Int64 {
        var sum = RowChecksum(table)
        var isWord = true
        for column in 0..<columns {
            isWord = sum.add(value(column))
        }
        if isWord && mayEnd { sum.end() }
        return sum.value
    }

    /// True if what was added ends with a word of the value.
    private mutating func add(_ value: SQLiteValue) -> Bool {
        switch value {
        case .null: add(Self.nothing)
        // Most are: one word is enough.
        case .integer(let number): add(number)
        case .real(let number):
            add(UInt64(2))
            add(number.bitPattern)
        case .text(let bytes):
            add(UInt64(3))
            add(bytes)
            return false
        case .blob(let bytes):
            add(UInt64(4))
            add(bytes)
            return false
        }
        return true
    }

    /// The number that NULL adds: none that is stored.
    private static let nothing: UInt64 = 0x9FB2_1C65_1E98_DF25

    /// Walks through a table. Throws `StoreError.damaged` at the first row that is not as it was
    /// written.
    static func check(_ table: Table, _ connection: SQLiteConnection) throws(StoreError) {
        let select = try Statement(connection, table.selection)
        defer { select.finalize() }
        var place = 0
        while try select.next() {
            place += 1
            guard select.fits(table) else {
                throw .damaged("row \(place) of \(table) is not as it was written")
            }
        }
    }
}

extension RowChecksum.Table {
    /// The tables that a start decides by and that are small: looked at whole.
    static let small: [Self] = [.meta, .checkpoints, .erasures]
    /// All of which SQL reckons the checksums.
    static let partly: [Self] = small + [.outbox, .attempts, .pushes, .gaps, .dark, .samples]

    /// All of it.
    var selection: StaticString {
        switch self {
        case .journal: "SELECT * FROM journal"
        case .decisions: "SELECT * FROM decisions"
        case .turns: "SELECT * FROM turns"
        case .slices: "SELECT * FROM checkpoint_slices"
        case .meta: "SELECT * FROM meta"
        case .checkpoints: "SELECT * FROM checkpoints"
        case .erasures: "SELECT * FROM erasures"
        case .outbox: "SELECT * FROM outbox"
        case .attempts: "SELECT * FROM attempts"
        case .pushes: "SELECT * FROM pushes"
        case .gaps: "SELECT * FROM gaps"
        case .dark: "SELECT * FROM dark"
        case .samples: "SELECT * FROM samples"
        }
    }
}

extension Statement {
    /// The checksum of the current row; nil of one that an older version wrote.
    func checksum(at column: Int32) -> Int64? { isNull(at: column) ? nil : integer(at: column) }

    /// True if the current row, of a statement that selects a whole table of which SQL reckons the
    /// checksums, is the one that was written, or nobody knows.
    func fits(_ table: RowChecksum.Table) -> Bool {
        let last = columnCount - 1
        guard let stored = checksum(at: last) else { return true }
        return stored == RowChecksum.of(table, columns: last) { value(at: $0) }
    }
}

extension JournalSchema {
    /// Since version 7; NULL in what was written before.
    static let sinceVersion7: [StaticString] = [
        "ALTER TABLE journal ADD COLUMN checksum INTEGER",
        "ALTER TABLE decisions ADD COLUMN checksum INTEGER",
        "ALTER TABLE turns ADD COLUMN checksum INTEGER",
        "ALTER TABLE checkpoint_slices ADD COLUMN checksum INTEGER",
    ]

    /// Since version 8; NULL in what was written before. How many messages and pushes are not over is
    /// counted in the tables themselves, since the indexes may be what is damaged.
    static let sinceVersion8: [StaticString] = [
        "ALTER TABLE meta ADD COLUMN checksum INTEGER",
        "ALTER TABLE checkpoints ADD COLUMN checksum INTEGER",
        "ALTER TABLE erasures ADD COLUMN checksum INTEGER",
        "ALTER TABLE outbox ADD COLUMN checksum INTEGER",
        "ALTER TABLE attempts ADD COLUMN checksum INTEGER",
        "ALTER TABLE pushes ADD COLUMN checksum INTEGER",
        "ALTER TABLE gaps ADD COLUMN checksum INTEGER",
        "ALTER TABLE dark ADD COLUMN checksum INTEGER",
        "ALTER TABLE samples ADD COLUMN checksum INTEGER",
        """
        INSERT INTO meta
        SELECT 'messages_alive', count(*), row_checksum_8(5, 'messages_alive', count(*))
        FROM outbox NOT INDEXED WHERE state < 4
        """,
        """
        INSERT INTO meta
        SELECT 'pushes_alive', count(*), row_checksum_8(5, 'pushes_alive', count(*))
        FROM pushes NOT INDEXED WHERE state < 3
        """,
    ]
}
