import RollcallCore

/// Packing what is behind the newest checkpoint but one, a few rows at a time (J12).
///
///     rows and turns of the tables ── blocks ──► a segment that is being written ──► complete: from
///     now on it is read ──► the tables' rows and turns are removed
extension Journal {
    /// Returns the next turns that are not packed, from `number` on.
    /// - Throws: `StoreError.damaged` if one is not as it was written, another if they cannot be
    ///   read.
    package func unpackedTurns(from number: Int64, limit: Int64) throws(StoreError) -> [Turn] {
        try statements.turnsFrom.all([.number: number, .limit: limit], Turn.whole)
    }

    /// Hands over the next rows that are not packed, from `id` through `last`, at most `limit`.
    /// - Throws: `StoreError.damaged` if one is not as it was written, another if they cannot be
    ///   read.
    package func unpackedRows(
        from id: Int64, through last: Int64, limit: Int64, row: (JournalRow) -> Void
    ) throws(StoreError) {
        let select = statements.tableRows
        try select.bind([.first: id, .last: last])
        defer { select.reset() }
        var left = limit
        while left > 0, try select.next() {
            guard JournalRow(select).begins(by: last) else { break }
            var group = RowGroup(try JournalRow.whole(select))
            while left > 0, let found = try group.next() {
                guard found.id >= id, found.id <= last else { continue }
                row(found)
                left -= 1
            }
        }
    }

    /// Returns the id of the first row that stands in the table; nil without any.
    /// - Throws: `StoreError.damaged` if it is not as it was written, another if it cannot be read.
    package func firstUnpackedRow() throws(StoreError) -> Int64? {
        try statements.row.first([.id: Int64.min]) { row throws(StoreError) in
            try JournalRow.whole(row).firstID
        }
    }

    /// Returns the last complete segment; nil without any.
    /// - Throws: `StoreError` if it cannot be read.
    package func lastSegment() throws(StoreError) -> Segment? { try segments.lastSegment() }

    /// Begins a segment of turns from `turn` on, in the open transaction, and returns the id of its
    /// first block. None may be left that was given up: it might be of the same turn.
    /// - Throws: `StoreError` if it cannot be written.
    package func beginSegment(
        firstTurn turn: Int64, firstRow row: Int64
    ) throws(StoreError) -> Int64 {
        let segment = Segment(
            firstTurn: turn, lastTurn: turn - 1, firstRow: row, lastRow: row - 1,
            block: try statements.lastBlock.one() + 1, directory: SegmentDirectory())
        try run(statements.insertSegment, segment.arguments(.writing))
        return segment.block
    }

    /// Adds a block to a segment that is being written.
    /// - Throws: `StoreError` if it cannot be written.
    package func appendBlock(_ id: Int64, _ body: [UInt8]) throws(StoreError) {
        try write(statements.insertBlock, id, body)
    }

    private func write(
        _ statement: Statement, _ id: Int64, _ body: [UInt8]
    ) throws(StoreError) {
        try writing { () throws(StoreError) in
            try body.withUnsafeBufferPointer { bytes throws(StoreError) in
                try BlockRow(id: id, body: UnsafeRawBufferPointer(bytes)).write(by: statement)
            }
        }
    }

    /// Completes a segment: from this commit on its turns and rows are read from it.
    /// - Throws: `StoreError` if it cannot be written.
    package func completeSegment(_ built: SegmentBuilder) throws(StoreError) {
        guard let first = built.turns.first, let last = built.turns.last else { return }
        try run(
            statements.completeSegment,
            [
                .firstTurn: first.number, .lastTurn: last.number, .lastRow: last.lastRow,
                .state: Code(Segment.State.complete), .body: built.directory.storedBytes,
            ])
        guard connection.changes == 1 else {
            throw .damaged("the segment of turn \(first.number) is gone")
        }
    }

    /// Reads blocks of a complete segment again, at most `limit`, and counts them and what they hold in
    /// `seen`; true once it was all of it.
    /// - Throws: `StoreError.damaged` if one is not as it was written, or there is too little; another
    ///   if they cannot be read.
    package func check(
        _ segment: Segment, _ seen: inout SegmentSeen, limit: Int
    ) throws(StoreError) -> Bool {
        let rowBlocks = segment.directory.rows.count
        let end = rowBlocks + segment.directory.turns.count
        for place in seen.blocks..<min(end, seen.blocks + limit) {
            let id = segment.block + Int64(place)
            if place < rowBlocks {
                seen.rows += try segments.rows(ofBlock: id)?.rows.count ?? 0
            } else {
                seen.turns += try segments.turns(ofBlock: id)?.count ?? 0
            }
            seen.blocks += 1
        }
        guard seen.blocks == end else { return false }
        guard Int64(seen.rows) == segment.lastRow &- segment.firstRow &+ 1,
            Int64(seen.turns) == segment.lastTurn &- segment.firstTurn &+ 1
        else { throw .damaged("the segment of turn \(segment.firstTurn) lacks rows or turns") }
        return true
    }

    /// Removes about `limit` rows, and then turns, that stand in a segment too; true if some may be left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func removePacked(through segment: Segment, limit: Int64) throws(StoreError) -> Bool {
        if try removeRows(through: segment.lastRow, limit: limit) { return true }
        return try remove(statements.deleteTurns, through: segment.lastTurn, limit: limit)
    }

    /// True if rows or turns stand in the tables that are packed.
    /// - Throws: `StoreError` if the store cannot be read.
    package func hasPackedTwice() throws(StoreError) -> Bool {
        guard let segment = try lastSegment() else { return false }
        let row = try statements.row.first([.id: Int64.min]) { $0.integer(.id) } ?? 0
        let turn = try statements.firstTurn.first { $0.integer(.number) } ?? .max
        return row > 0 && row <= segment.lastRow || turn <= segment.lastTurn
    }

    /// Gives segments up that were not finished; their blocks go by `pruneSegments`.
    /// - Throws: `StoreError` if the store cannot be written.
    package func dropUnfinishedSegments() throws(StoreError) {
        try writing { () throws(StoreError) in try drop(statements.unfinishedSegments) }
    }

    private func drop(_ select: Statement, _ arguments: Arguments = [:]) throws(StoreError) {
        for turn in try select.all(arguments, { $0.integer(.firstTurn) }) {
            try statements.dropSegment.run([
                .firstTurn: turn, .state: Code(Segment.State.obsolete),
            ])
        }
    }

    /// Removes at most `blocksMax` blocks of segments that are kept no longer; true if some are left.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func pruneSegments(blocksMax: Int64) throws(StoreError) -> Bool {
        var isLeft = false
        try writing { () throws(StoreError) in
            let found = try statements.obsoleteSegment.first { row in
                (turn: row.integer(.firstTurn), block: row.integer(.block))
            }
            guard let found else { return }
            isLeft = true
            try statements.deleteBlocks.run([
                .block: found.block, .firstTurn: found.turn, .limit: blocksMax,
            ])
            guard connection.changes < blocksMax else { return }
            try statements.deleteSegment.run([.firstTurn: found.turn])
        }
        return isLeft
    }

    /// Gives up at most `limit` segments that end with a turn or before it.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func dropSegments(through turn: Int64, limit: Int64) throws(StoreError) {
        try writing { () throws(StoreError) in
            try drop(statements.segmentsThrough, [.lastTurn: turn, .limit: limit])
        }
    }

    // MARK: - Erasing

    /// Takes what a person's rows say out of the blocks of a segment, or, if `isSought`, of the newest
    /// from there back that has any: each becomes what `rest` makes of it. Returns the rows that it took,
    /// the newest first, and the row to go on with, which is theirs and older, 0 without one; nil if it
    /// took none.
    ///
    /// A damaged block may hold what is to go, and nobody can read it: it is emptied, and stays damaged.
    /// The walk has its end there, so the person's next block is sought in the segments before it.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func removePackedRows(
        of responder: Int64, in first: Segment?, isSought: Bool,
        rest: (JournalRow) -> (kind: UInt8, body: [UInt8])
    ) throws(StoreError) -> (rows: [PackedRows.Row], next: Int64)? {
        guard let first else { return nil }
        // It is sought as behind a damaged block.
        var (segment, isDamaged) = (first, isSought)
        while true {
            var taken: [PackedRows.Row] = []
            for place in segment.directory.blocks(of: responder)?.reversed() ?? [] {
                let block = segment.block + Int64(place)
                do throws(StoreError) {
                    taken += try remove(responder, fromBlock: block, rest)
                } catch .damaged {
                    try run(statements.blankBlock, [.id: block])
                    isDamaged = true
                }
            }
            if let last = taken.last, !isDamaged || last.previous < segment.firstRow {
                return (taken, last.previous)
            }
            guard isDamaged else { return nil }
            guard let before = try segments.segment(before: segment.firstTurn) else {
                return (taken, 0)
            }
            segment = before
        }
    }

    private func remove(
        _ responder: Int64, fromBlock block: Int64,
        _ rest: (JournalRow) -> (kind: UInt8, body: [UInt8])
    ) throws(StoreError) -> [PackedRows.Row] {
        guard let rows = try segments.rows(ofBlock: block) else { return [] }
        let theirs = rows.rows.filter { $0.responder == responder }
        guard !theirs.isEmpty else { return [] }
        var without = rows
        without.replace(rowsOf: responder) { row in rows.with(row, rest) }
        guard let body = RowPacker.block(of: without) else {
            throw .damaged("block \(block) cannot be written anew")
        }
        try write(statements.replaceBlock, block, body)
        return theirs.reversed()
    }
}
