import RollcallCore

/// Cutting the journal's oldest part, a few rows at a time (J7).
extension Journal {
    /// About so many rows are removed while a block is.
    static let rowsABlock = 16
    /// Rows of the table, each maybe a page, between looks at how many pages became free.
    private static let rowsAStep: Int64 = 32
    /// Pages that become free in a piece: zeros are written in the place of each.
    private static let pagesAPiece: Int64 = 32
    /// Segments that are given up at once.
    private static let segmentsAPiece: Int64 = 64

    /// Returns the bytes of the file that hold something; what was removed is used again before it
    /// grows.
    /// - Throws: `StoreError` if the store cannot be read.
    package func usedBytes() throws(StoreError) -> Int64 {
        let pages = try statements.pageCount.one() - statements.freePages.one()
        return try pages * statements.pageSize.one()
    }

    /// Returns the turn of a number; nil if it is cut.
    /// - Throws: `StoreError` if it cannot be read.
    package func turn(_ number: Int64) throws(StoreError) -> Turn? {
        if let turn = try statements.turn.first([.number: number], { Turn($0) }) { return turn }
        let packed = try segments.turn(notBefore: number)
        return packed?.number == number ? packed : nil
    }

    /// Returns the turn through which is cut what ends with turn `number`: of what is packed, the end
    /// of its segment, which goes whole. Nil if it is cut. If the segment cannot say when that was, it
    /// was at `time`: damage must not keep what is too old.
    /// - Throws: `StoreError` if the store cannot be read.
    package func turn(
        cutThrough number: Int64, at time: Timestamp
    ) throws(StoreError) -> Turn? {
        guard let segment = try segments.segment(notBefore: number), segment.firstTurn <= number
        else { return try turn(number) }
        do throws(StoreError) {
            return try segments.turn(notBefore: segment.lastTurn)
        } catch .damaged {
            return segment.unread(segment.lastTurn, at: time.milliseconds)
        }
    }

    /// Removes at most `limit` rows, decisions and turns up to `turn`; true if some are left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func cut(through turn: Turn, limit: Int64) throws(StoreError) -> Bool {
        try dropSegments(through: turn.number, limit: Self.segmentsAPiece)
        if try pruneSegments(blocksMax: max(1, limit / Int64(Self.rowsABlock))) { return true }
        if try removeRows(through: turn.lastRow, limit: limit) { return true }
        for delete in [statements.deleteDecisions, statements.deleteTurns]
        where try remove(delete, through: turn.number, limit: limit) { return true }
        return false
    }

    /// Removes the first rows of the table, up to `last`: at most `limit`, or what stands on so many
    /// pages that it takes as long. True if some may be left.
    /// - Throws: `StoreError` if the store cannot be written.
    func removeRows(through last: Int64, limit: Int64) throws(StoreError) -> Bool {
        let free = try statements.freePages.one()
        var removed: Int64 = 0
        while removed < limit {
            let step = min(limit - removed, Self.rowsAStep)
            guard try remove(statements.deleteRows, through: last, limit: step) else {
                return false
            }
            removed += step
            if try statements.freePages.one() - free >= Self.pagesAPiece { break }
        }
        return true
    }

    /// Removes at most `limit` of what a statement removes up to `last`; true if some may be left.
    /// - Throws: `StoreError` if the store cannot be written.
    func remove(
        _ delete: Statement, through last: Int64, limit: Int64
    ) throws(StoreError) -> Bool {
        try run(delete, [.last: last, .limit: limit])
        return connection.changes == limit
    }

    /// Gives up the checkpoints of turns before `turn`.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func dropCheckpoints(beforeTurn turn: Int64) throws(StoreError) {
        try writing { () throws(StoreError) in
            try dropCheckpoints(statements.checkpointsBefore, [.turn: turn])
        }
    }
}
