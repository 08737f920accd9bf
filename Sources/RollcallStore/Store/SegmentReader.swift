import RollcallCore

/// Reads packed history, by the statements of one connection and from one thread.
///
/// A row or turn is sought in the tables of what is not packed first, by whoever asks: it leaves those
/// only once its segment is complete, so that whoever does not find it there finds it here, unless it
/// was cut.
package final class SegmentReader {
    private let ofRow, ofTurn, afterTurn, block: Statement
    /// The block that was read last: a walk goes back through many rows of one.
    private var kept: (body: [UInt8], rows: PackedRows)?
    /// The segment that a row was found in last.
    private var keptSegment: Segment?

    private typealias State = Segment.State

    /// A reader of a store of which the tables are there.
    /// - Throws: `StoreError` if SQLite refuses one of its statements.
    package init(_ connection: SQLiteConnection) throws(StoreError) {
        ofRow = try Statement(
            connection,
            """
            \(select: .segments) INDEXED BY segment_rows
            WHERE first_row <= :id AND state = \(State.complete)
            ORDER BY first_row DESC, first_turn DESC LIMIT 1
            """)
        ofTurn = try Statement(
            connection,
            """
            \(select: .segments) WHERE first_turn <= :number AND state = \(State.complete)
            ORDER BY first_turn DESC LIMIT 1
            """)
        afterTurn = try Statement(
            connection,
            """
            \(select: .segments) WHERE first_turn > :number AND state = \(State.complete)
            ORDER BY first_turn LIMIT 1
            """)
        block = try Statement(connection, "\(select: .blocks) WHERE id = :id")
    }

    /// Frees its statements, so that the connection can be closed.
    package func finalize() {
        for statement in [ofRow, ofTurn, afterTurn, block] { statement.finalize() }
    }

    // MARK: - Segments

    /// Returns the segment with a row; nil if none has it.
    /// - Throws: `StoreError` if it cannot be read.
    func segment(ofRow id: Int64) throws(StoreError) -> Segment? {
        let found = try segment(ofRow, [.id: id])
        return found.flatMap { $0.holds(row: id) ? $0 : nil }
    }

    /// Returns the segment with a turn, or the first behind it; nil if none is.
    /// - Throws: `StoreError` if it cannot be read.
    package func segment(notBefore number: Int64) throws(StoreError) -> Segment? {
        if let found = try segment(ofTurn, [.number: number]), found.lastTurn >= number {
            return found
        }
        return try segment(afterTurn, [.number: number])
    }

    /// Returns the segment before the turn of a number; nil if none is.
    /// - Throws: `StoreError` if it cannot be read.
    func segment(before number: Int64) throws(StoreError) -> Segment? {
        try segment(ofTurn, [.number: number - 1])
    }

    /// Returns the newest segment; nil without any.
    /// - Throws: `StoreError` if it cannot be read.
    package func lastSegment() throws(StoreError) -> Segment? {
        try segment(ofTurn, [.number: Int64.max])
    }

    private func segment(
        _ select: Statement, _ arguments: Arguments
    ) throws(StoreError) -> Segment? {
        try select.first(arguments) { row throws(StoreError) in
            guard row.fits(.segments), let segment = Segment(row) else {
                let turn = row.integer(.firstTurn)
                throw .damaged("the segment of turn \(turn) is not as it was written")
            }
            return segment
        }
    }

    // MARK: - Blocks

    /// Returns the bytes of a block; nil if retention took it meanwhile.
    /// - Throws: `StoreError.damaged` if it is not as it was written, another if it cannot be read.
    func bytes(ofBlock id: Int64) throws(StoreError) -> [UInt8]? {
        try block.first([.id: id]) { row throws(StoreError) in
            let found = BlockRow(row)
            guard row.checksum == found.checksum else {
                throw .damaged("block \(id) is not as it was written")
            }
            return Array(found.body)
        }
    }

    /// Returns the rows of a block of rows; nil if retention took it meanwhile.
    /// - Throws: `StoreError.damaged` if it is not as it was written, another if it cannot be read.
    func rows(ofBlock id: Int64) throws(StoreError) -> PackedRows? {
        guard let body = try bytes(ofBlock: id) else { return nil }
        if let kept, kept.body == body { return kept.rows }
        guard let rows = PackedRows(block: body) else {
            throw .damaged("block \(id) makes no sense")
        }
        kept = (body, rows)
        return rows
    }

    /// Returns the turns of a block of turns; nil if retention took it meanwhile.
    /// - Throws: `StoreError.damaged` if it is not as it was written, another if it cannot be read.
    func turns(ofBlock id: Int64) throws(StoreError) -> [Turn]? {
        guard let body = try bytes(ofBlock: id) else { return nil }
        guard let turns = PackedTurns.turns(of: body) else {
            throw .damaged("block \(id) makes no sense")
        }
        return turns
    }

    // MARK: - Rows

    /// Returns the block with a person's row, and its id; nil if none has it.
    /// - Throws: `StoreError` if it is damaged or cannot be read.
    func block(
        withRow id: Int64, of responder: Int64
    ) throws(StoreError) -> (id: Int64, rows: PackedRows)? {
        // Of one that was cut meanwhile the blocks are gone.
        if keptSegment?.holds(row: id) != true { keptSegment = try segment(ofRow: id) }
        guard let segment = keptSegment,
            let place = segment.directory.block(of: SegmentDirectory.Place(key: responder, id: id)),
            let rows = try rows(ofBlock: segment.block + Int64(place)),
            rows.row(id, of: responder) != nil
        else { return nil }
        return (segment.block + Int64(place), rows)
    }

    /// Hands over the rows of the segment with row `id`, from that one on and in their order; false
    /// if no segment has it, or it was cut meanwhile.
    /// - Throws: `StoreError` if a block is damaged or cannot be read, or what `row` throws.
    package func rows(
        from id: Int64, through last: Int64, row: (JournalRow) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        guard let segment = try segment(ofRow: id) else { return false }
        var blocks: [PackedRows] = []
        var places: [(id: Int64, block: Int32, row: Int32)] = []
        places.reserveCapacity(Int(clamping: segment.lastRow - id + 1))
        for block in 0..<segment.directory.rows.count {
            guard let rows = try rows(ofBlock: segment.block + Int64(block)) else { return false }
            for (index, row) in rows.rows.enumerated() where row.id >= id && row.id <= last {
                places.append((row.id, Int32(block), Int32(index)))
            }
            blocks.append(rows)
        }
        places.sort { $0.id < $1.id }
        for place in places {
            let rows = blocks[Int(place.block)]
            try rows.with(rows.rows[Int(place.row)], row)
        }
        return true
    }

    // MARK: - Turns

    /// Returns the turn of a number, or the next one, packed or not; nil behind the last. `select` finds
    /// it among those that are not.
    /// - Throws: `StoreError` if it is damaged or cannot be read.
    func turn(notBefore number: Int64, or select: Statement) throws(StoreError) -> Turn? {
        let found = try select.first([.number: number], Turn.whole)
        if let found, found.number == number { return found }
        return try turn(notBefore: number) ?? found
    }

    /// Returns the turn of a number, or the first packed one behind it; nil if none is.
    /// - Throws: `StoreError` if it is damaged or cannot be read.
    func turn(notBefore number: Int64) throws(StoreError) -> Turn? {
        try turns(after: number == .min ? .min : number - 1).first
    }

    /// Returns the packed turns behind a number that stand in the next block with any; none at the
    /// end.
    /// - Throws: `StoreError` if they are damaged or cannot be read.
    package func turns(after number: Int64) throws(StoreError) -> [Turn] {
        guard number < .max, let segment = try segment(notBefore: number + 1) else { return [] }
        let wanted = max(segment.firstTurn, number + 1)
        guard let place = segment.directory.block(ofTurn: wanted) else { return [] }
        let id = segment.block + Int64(segment.directory.rows.count + place)
        let turns = try turns(ofBlock: id) ?? []
        return turns.filter { $0.number > number }
    }

    /// Returns the packed turn that folded a row; nil if it is not packed, or was cut.
    /// - Throws: `StoreError` if it is damaged or cannot be read.
    func turn(ofRow id: Int64) throws(StoreError) -> Turn? {
        if keptSegment?.holds(row: id) != true { keptSegment = try segment(ofRow: id) }
        guard let segment = keptSegment,
            let place = segment.directory.block(ofTurnWithRow: id)
        else { return nil }
        let block = segment.block + Int64(segment.directory.rows.count + place)
        return try turns(ofBlock: block)?.last { $0.firstRow <= id && id <= $0.lastRow }
    }
}
