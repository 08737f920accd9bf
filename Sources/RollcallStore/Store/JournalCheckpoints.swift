extension Journal {
    /// Gives up the checkpoints of the turns that `select` tells, in the open transaction if there is
    /// one: their slices go by `pruneCheckpoints`.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func dropCheckpoints(
        _ select: Statement, _ arguments: Arguments = [:]
    ) throws(StoreError) {
        for turn in try select.all(arguments, { $0.integer(.turn) }) {
            try statements.dropCheckpoint.run([
                .turn: turn, .state: Code(EngineCheckpoint.State.obsolete),
            ])
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
            try statements.deleteSlices.run([.turn: turn, .limit: slicesMax])
            guard connection.changes < slicesMax else { return }
            try statements.deleteCheckpoint.run([.turn: turn])
            isLeft = try statements.obsoleteTurn.one() > 0
        }
        return isLeft
    }
}
