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
        let select = statements.rowsFrom
        try select.bind([.first: id, .last: last, .limit: limit])
        defer { select.reset() }
        while try select.next() {
            let found = JournalRow(select)
            guard found.fits(select.checksum) else {
                throw .damaged("journal row \(found.id) is not as it was written")
            }
            row(found)
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
    }

    /// Removes at most `limit` rows, and then turns, that stand in a segment too; true if some are
    /// left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func removePacked(through segment: Segment, limit: Int64) throws(StoreError) -> Bool {
        for (delete, bound) in [
            (statements.deleteRows, segment.lastRow), (statements.deleteTurns, segment.lastTurn),
        ] {
            try run(delete, [.last: bound, .limit: limit])
            if connection.changes == limit { return true }
        }
        return false
    }

    /// True if rows or turns stand in the tables that are packed.
    /// - Throws: `StoreError` if the store cannot be read.
    package func hasPackedTwice() throws(StoreError) -> Bool {
        guard let segment = try lastSegment() else { return false }
        let row = try statements.firstRow.one()
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
            try statements.deleteBlocks.run([.block: found.block, .limit: blocksMax])
            guard connection.changes < blocksMax else { return }
            try statements.deleteSegment.run([.firstTurn: found.turn])
        }
        return isLeft
    }

    /// Gives up the segments that end with a turn or before it.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func dropSegments(through turn: Int64) throws(StoreError) {
        try writing { () throws(StoreError) in
            try drop(statements.segmentsThrough, [.lastTurn: turn])
        }
    }

    // MARK: - Erasing

    /// Takes what a person's rows say out of the block that has row `id`, if one has it: each becomes
    /// what `rest` makes of it. Returns the rows that it took, the newest first.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func removePackedRows(
        withRow id: Int64, of responder: Int64, rest: (JournalRow) -> (kind: UInt8, body: [UInt8])
    ) throws(StoreError) -> [PackedRows.Row] {
        guard let (block, rows) = try segments.block(withRow: id, of: responder) else { return [] }
        let theirs = rows.rows.filter { $0.responder == responder && $0.id <= id }
        var without = rows
        without.replace(rowsOf: responder) { row in rows.with(row, rest) }
        guard let body = RowPacker.block(of: without) else {
            throw .damaged("block \(block) cannot be written anew")
        }
        try write(statements.replaceBlock, block, body)
        return theirs.reversed()
    }
}
