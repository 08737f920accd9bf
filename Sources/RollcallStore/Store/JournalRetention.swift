import RollcallCore

/// Cutting the journal's oldest part, a few rows at a time (J7).
extension Journal {
    /// About so many rows are removed while a block is.
    static let rowsABlock = 16

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

    /// Returns the last turn of the segment that has a turn, which is cut whole; that turn if none
    /// has it.
    /// - Throws: `StoreError` if it cannot be read.
    package func segmentEnd(of turn: Turn) throws(StoreError) -> Turn {
        let segment = try segments.segment(notBefore: turn.number)
        guard let segment, segment.firstTurn <= turn.number else { return turn }
        return try segments.turn(notBefore: segment.lastTurn) ?? turn
    }

    /// Removes at most `limit` rows, decisions and turns up to `turn`; true if some are left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func cut(through turn: Turn, limit: Int64) throws(StoreError) -> Bool {
        try dropSegments(through: turn.number)
        if try pruneSegments(blocksMax: max(1, limit / Int64(Self.rowsABlock))) { return true }
        for (delete, bound) in [
            (statements.deleteRows, turn.lastRow), (statements.deleteDecisions, turn.number),
            (statements.deleteTurns, turn.number),
        ] {
            try run(delete, [.last: bound, .limit: limit])
            if connection.changes == limit { return true }
        }
        return false
    }

    /// Gives up the checkpoints of turns before `turn`.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func dropCheckpoints(beforeTurn turn: Int64) throws(StoreError) {
        try writing { () throws(StoreError) in
            try dropCheckpoints(statements.checkpointsBefore, [.turn: turn])
        }
    }
}
