import RollcallCore

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
package struct RowChecksum {
    /// The table that a row stands in: one must not pass for another.
    package enum Table: UInt64 {
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
        case regionSamples = 14
        case sampledRegions = 15
        case segments = 16
        case blocks = 17
    }

    private var state: UInt64

    fileprivate init(_ table: Table) { state = table.rawValue }

    fileprivate mutating func add(_ word: UInt64) {
        // Odd, so that it has an inverse; half of its bits are set. From rrmxmx (P. Evensen).
        state = (state ^ word) &* 0x9FB2_1C65_1E98_DF25
        state ^= state >> 32
    }

    fileprivate mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }

    fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer) {
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
    fileprivate mutating func end() { add(Self.lastWord) }

    /// Any does.
    private static let lastWord: UInt64 = 0xD1B5_4A32_D192_ED03

    fileprivate var value: Int64 { Int64(UInt32(truncatingIfNeeded: state ^ state >> 32)) }
}

// MARK: - Rows

/// A row of which we reckon the checksum, and not SQL.
package protocol SummedRow {
    var checksum: Int64 { get }
    /// True if a row that was read is the one that was written with a checksum, or nobody knows.
    func fits(_ stored: Int64?) -> Bool
}

extension SummedRow {
    /// True if nobody wrote a checksum, or the one that this row has.
    package func fits(_ stored: Int64?) -> Bool { stored == nil || stored == checksum }
}

extension JournalRow: SummedRow {
    /// True if nobody wrote a checksum, as was so before there were groups, or the one that it has.
    package func fits(_ stored: Int64?) -> Bool {
        stored == nil && kind != RowGroup.kind || stored == checksum
    }

    package var checksum: Int64 {
        var sum = RowChecksum(.journal)
        sum.add(id)
        sum.add(UInt64(kind))
        sum.add(responder)
        sum.add(previous)
        sum.add(body)
        return sum.value
    }
}

extension DecisionRow: SummedRow {
    package var checksum: Int64 {
        var sum = RowChecksum(.decisions)
        sum.add(id)
        sum.add(turn)
        sum.add(UInt64(kind))
        sum.add(responder)
        sum.add(previous)
        sum.add(atMilliseconds)
        sum.add(body)
        return sum.value
    }
}

extension SliceRow: SummedRow {
    var checksum: Int64 {
        var sum = RowChecksum(.slices)
        sum.add(index)
        sum.add(turn)
        sum.add(engineVersion)
        sum.add(body)
        return sum.value
    }
}

extension BlockRow: SummedRow {
    var checksum: Int64 {
        var sum = RowChecksum(.blocks)
        sum.add(id)
        sum.add(body)
        return sum.value
    }
}

extension Turn: SummedRow {
    /// The `Engine.version` that came with version 9 of the store.
    private static let endedSince: Int64 = 6

    package var checksum: Int64 { checksum(isEnded: true) }

    /// That of a turn; `isEnded` is false for one of a version before 9.
    func checksum(isEnded: Bool) -> Int64 {
        var sum = RowChecksum(.turns)
        sum.add(number)
        sum.add(nowMilliseconds)
        sum.add(wallMilliseconds)
        sum.add(firstRow)
        sum.add(lastRow)
        sum.add(engineVersion)
        if isEnded { sum.end() }
        return sum.value
    }

    /// There may be millions of them, so those of a version before 9 keep their sums, and what these
    /// do not see of the engine's version makes it one that was not written then.
    package func fits(_ stored: Int64?) -> Bool {
        if stored == nil || stored == checksum { return true }
        let isOld = (1..<Self.endedSince).contains(engineVersion)
        return isOld && stored == checksum(isEnded: false)
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
    package static func check(_ table: Table, _ connection: SQLiteConnection) throws(StoreError) {
        let select = try Statement(connection, "\(select: table)")
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

extension Statement {
    /// The checksum of the current row; nil of one that an older version wrote.
    package var checksum: Int64? { isNull(.checksum) ? nil : integer(.checksum) }

    /// True if the current row, of a statement that selects a whole table of which SQL reckons the
    /// checksums, is the one that was written, or nobody knows.
    func fits(_ table: RowChecksum.Table) -> Bool {
        guard let stored = checksum else { return true }
        return stored == RowChecksum.of(table, columns: columnCount - 1) { value(at: $0) }
    }
}

extension JournalSchema {
    /// Since version 7; NULL in what was written before.
    static let sinceVersion7 = checksums(of: [.journal, .decisions, .turns, .slices])

    /// Since version 8; NULL in what was written before. How many messages and pushes are not over is
    /// counted in the tables themselves, since the indexes may be what is damaged.
    static let sinceVersion8: [SQL] =
        checksums(of: [
            .meta, .checkpoints, .erasures, .outbox, .attempts, .pushes, .gaps, .dark, .samples,
        ]) + [
            """
            INSERT INTO meta
            SELECT 'messages_alive', count(*), row_checksum_8(\(RowChecksum.Table.meta), 'messages_alive', count(*))
            FROM outbox NOT INDEXED WHERE state < \(OutboxMessage.State.over)
            """,
            """
            INSERT INTO meta
            SELECT 'pushes_alive', count(*), row_checksum_8(\(RowChecksum.Table.meta), 'pushes_alive', count(*))
            FROM pushes NOT INDEXED WHERE state < \(PushMessage.State.over)
            """,
        ]

    private static func checksums(of tables: [RowChecksum.Table]) -> [SQL] {
        tables.map { "ALTER TABLE \(name: $0) ADD COLUMN checksum INTEGER" }
    }
}
