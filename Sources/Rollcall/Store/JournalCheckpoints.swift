/// The writing of checkpoints' rows; their states stand at the table.
extension JournalSchema {
    static let insertCheckpoint: StaticString = """
        INSERT OR REPLACE INTO checkpoints VALUES(
            ?1, ?2, 0, 0, ?3, row_checksum(6, ?1, ?2, 0, 0, ?3))
        """
    static let markCheckpointComplete: StaticString = """
        UPDATE checkpoints SET
            state = 1, slices = ?1,
            checksum = checksum
                - row_checksum(6, turn, engine_version, state, slices, created_ms)
                + row_checksum(6, turn, engine_version, 1, ?1, created_ms)
        WHERE turn = ?2 AND state = 0
        """
    static let dropCheckpoint: StaticString = """
        UPDATE checkpoints SET
            state = 2,
            checksum = checksum
                - row_checksum(6, turn, engine_version, state, slices, created_ms)
                + row_checksum(6, turn, engine_version, 2, slices, created_ms)
        WHERE turn = ?
        """

    /// The two newest stay, and of every earlier day (UTC) the newest one (J5).
    static let surplusCheckpoints: StaticString = """
        SELECT turn FROM checkpoints
        WHERE state = 1
            AND turn NOT IN (SELECT turn FROM checkpoints WHERE state = 1 ORDER BY turn DESC LIMIT 2)
            AND turn NOT IN (
                SELECT max(turn) FROM checkpoints WHERE state = 1 GROUP BY created_ms / 86400000)
        """
}

extension Journal {
    /// Gives up the checkpoints of the turns that `select` tells, in the open transaction if there is
    /// one: their slices go by `pruneCheckpoints`.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func dropCheckpoints(_ select: Statement) throws(StoreError) {
        var turns: [Int64] = []
        defer { select.reset() }
        while try select.next() { turns.append(select.integer(at: 0)) }
        select.reset()
        for turn in turns {
            statements.dropCheckpoint.bind(turn, at: 1)
            try statements.dropCheckpoint.run()
        }
    }
}

extension Journal {
    /// Removes at most `slicesMax` slices of checkpoints that are kept no longer; true if some are
    /// left. `appendSlice` does it too; erasing somebody calls it until nothing is left.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func pruneCheckpoints(slicesMax: Int64) throws(StoreError) -> Bool {
        var isLeft = false
        try writing { () throws(StoreError) in
            let turn = try statements.obsoleteTurn.one()
            guard turn > 0 else { return }
            isLeft = true
            statements.deleteSlices.bind(turn, at: 1)
            statements.deleteSlices.bind(slicesMax, at: 2)
            try statements.deleteSlices.run()
            guard connection.changes < slicesMax else { return }
            statements.deleteCheckpoint.bind(turn, at: 1)
            try statements.deleteCheckpoint.run()
            isLeft = try statements.obsoleteTurn.one() > 0
        }
        return isLeft
    }
}
