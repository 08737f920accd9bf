import RollcallCore

/// The rows of all segments, and the blocks that belong to none of them.
///
/// A row that is damaged says nothing that could be trusted, so it counts as gone; that there was one
/// is also seen where it is gone altogether, by its blocks (J12):
///
///     rows     │ segment 1–900 │      ?      │ segment 1801–2700 │
///     blocks   │ 1 … 40        │ 41 … 77     │ 78 … 120          │
struct SegmentTable {
    /// A row that is as it was written.
    struct Whole {
        var segment: Segment
        var state: Segment.State
    }

    /// Blocks without a segment, between two that are there.
    struct Hole {
        /// The ids of the first block and of the last one.
        var blocks: ClosedRange<Int64>
        /// The segments before it and behind it; nil at an end.
        var before, after: Segment?
    }

    /// More blocks than a hole has, of some hundred a segment.
    private static let holeMax: UInt64 = 1 << 20

    /// By their turns.
    private(set) var whole: [Whole] = []
    /// The first turns of damaged rows, as they say.
    private(set) var damaged: [Int64] = []
    private(set) var holes: [Hole] = []
    /// The reason why holes cannot be sought: a start does without them.
    private(set) var failure: StoreError?

    /// Reads it.
    /// - Throws: `StoreError` if it cannot be read.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        let select = try Statement(connection, "\(select: .segments)")
        defer { select.finalize() }
        while try select.next() {
            // None was ever written without a checksum.
            if select.checksum != nil, select.fits(.segments), let segment = Segment(select),
                let state: Segment.State = select[.state]
            {
                whole.append(Whole(segment: segment, state: state))
            } else {
                damaged.append(select.integer(.firstTurn))
            }
        }
        whole.sort { $0.segment.firstTurn < $1.segment.firstTurn }
        do throws(StoreError) { try findHoles(connection) } catch { failure = error }
    }

    private mutating func findHoles(_ connection: SQLiteConnection) throws(StoreError) {
        let ends = try Statement(
            connection,
            """
            SELECT min(id) AS first, max(id) AS last FROM blocks
            WHERE id >= :block AND id < :limit
            """)
        defer { ends.finalize() }
        for place in 0...whole.count {
            let before = place > 0 ? whole[place - 1].segment : nil
            let after = place < whole.count ? whole[place].segment : nil
            // One that was never complete does not say how many it has: all up to the next one.
            if let before, before.directory.turns.isEmpty { continue }
            let begin = before?.endOfBlocks ?? .min
            let end = after?.block ?? .max
            guard begin < end else { continue }
            let found = try ends.first([.block: begin, .limit: end]) { row in
                row.isNull(.first) ? nil : row.integer(.first)...row.integer(.last)
            }
            // A block whose number is damaged may stand anywhere, and belongs to nobody.
            guard let found, let blocks = found,
                UInt64(bitPattern: blocks.upperBound &- blocks.lowerBound) < Self.holeMax
            else { continue }
            holes.append(Hole(blocks: blocks, before: before, after: after))
        }
    }

    /// Looks at all of it at one instant, also while a server writes.
    /// - Throws: `StoreError.damaged` if a segment lacks its row, another if it cannot be read.
    static func check(_ connection: SQLiteConnection) throws(StoreError) {
        try connection.run("BEGIN")
        let table: SegmentTable
        do throws(StoreError) {
            table = try SegmentTable(connection)
        } catch {
            try? connection.run("ROLLBACK")
            throw error
        }
        try connection.run("COMMIT")
        if let failure = table.failure { throw failure }
        if table.damaged.isEmpty, table.holes.isEmpty { return }
        throw .damaged(
            "the row of the segment \(table.place) is not as it was written (a start makes it anew)"
        )
    }

    /// The place of the first damage, in words.
    private var place: String {
        guard let hole = holes.first else { return damaged.first.map { "of turn \($0)" } ?? "" }
        if let after = hole.after { return "before turn \(after.firstTurn)" }
        return hole.before.map { "behind turn \($0.lastTurn)" } ?? "of all turns"
    }
}

extension Segment {
    /// The id behind that of its last block.
    fileprivate var endOfBlocks: Int64 {
        block + Int64(directory.rows.count + directory.turns.count)
    }
}
