/// The checksum that a row carries: SQLite notices when its pages do not hang together, but not a
/// bit that flipped inside of a value, and what is folded again must be what was written (J3).
///
/// Each word goes through a bijection, so that one that changed always shows in the 64 bits, of which
/// 32 are kept. Rows from before version 7 have none, which is NULL and not 0: SQLite reads what is
/// missing at a file's end as zeros, and then those would fit. It is no secret: who can write the
/// file can write the checksum.
struct RowChecksum {
    /// The table that a row stands in: one must not pass for another.
    private enum Table: UInt64 {
        case journal = 1
        case decisions = 2
        case turns = 3
        case slices = 4
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

    /// That of a turn.
    static func of(_ turn: Turn) -> Int64 {
        var sum = RowChecksum(.turns)
        sum.add(turn.number)
        sum.add(turn.nowMilliseconds)
        sum.add(turn.wallMilliseconds)
        sum.add(turn.firstRow)
        sum.add(turn.lastRow)
        sum.add(turn.engineVersion)
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

    /// The same of a decision.
    static func fits(_ decision: DecisionRow, _ stored: Int64?) -> Bool {
        stored == nil || stored == of(decision, decision.body)
    }

    /// The same of a turn.
    static func fits(_ turn: Turn, _ stored: Int64?) -> Bool { stored == nil || stored == of(turn) }

    /// The same of a slice.
    static func fits(
        slice index: Int64, turn: Int64, engineVersion: Int64, _ body: UnsafeRawBufferPointer,
        _ stored: Int64?
    ) -> Bool {
        stored == nil
            || stored == of(slice: index, turn: turn, engineVersion: engineVersion, body)
    }
}

extension Statement {
    /// The checksum of the current row; nil of one from before version 7.
    func checksum(at column: Int32) -> Int64? { isNull(at: column) ? nil : integer(at: column) }
}

extension JournalSchema {
    /// Since version 7; NULL in what was written before.
    static let sinceVersion7: [StaticString] = [
        "ALTER TABLE journal ADD COLUMN checksum INTEGER",
        "ALTER TABLE decisions ADD COLUMN checksum INTEGER",
        "ALTER TABLE turns ADD COLUMN checksum INTEGER",
        "ALTER TABLE checkpoint_slices ADD COLUMN checksum INTEGER",
    ]
}
