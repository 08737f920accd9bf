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
    /// Bytes of slices that a piece removes, with those of one more: zeros are written in their place.
    package static let bytesPruned = 512 << 10
    /// Slices of names, which are small, that a piece removes.
    package static let slicesPruned: Int64 = 64

    /// Removes at most `slicesMax` slices of checkpoints that are kept no longer, until it is about
    /// `bytesPruned` bytes; true if some are left. `appendSlice` does it too; erasing
    /// somebody calls it until nothing is left.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func pruneCheckpoints(slicesMax: Int64 = slicesPruned) throws(StoreError) -> Bool {
        var isLeft = false
        try writing { () throws(StoreError) in
            let turn = try statements.obsoleteTurn.one()
            guard turn > 0 else { return }
            isLeft = true
            statements.slicesLength.bind(turn, as: .turn)
            statements.slicesLength.bind(slicesMax, as: .limit)
            let longest = try statements.slicesLength.one()
            let limit = min(slicesMax, Int64(Self.bytesPruned) / max(1, longest) + 1)
            try statements.deleteSlices.run([.turn: turn, .limit: limit])
            guard connection.changes < limit else { return }
            try statements.deleteCheckpoint.run([.turn: turn])
            isLeft = try statements.obsoleteTurn.one() > 0
        }
        return isLeft
    }
}
