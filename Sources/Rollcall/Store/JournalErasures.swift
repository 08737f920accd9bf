import RollcallCore

/// The progress of one erasure (I11, DELETE /v1/responders/{id}); the person's id is not in it.
package struct Erasure: Equatable, Sendable {
    /// Its number: that of the journal's row which asked for it.
    package var number: Int64
    /// The turn that took the person out of memory.
    package var turn: Int64 = 0
    /// The person's number + 1; 0 if nobody had the id.
    package var responder: Int64
    /// The instant at which it was asked for, by the wall clock.
    package var requestedAt = Timestamp(milliseconds: 0)
    /// The instant at which nothing was left in the store; nil before.
    package var finishedAt: Timestamp?
    /// The places of the walks back, 0 at their ends.
    package var nextRow: Int64 = 0
    package var nextDecision: Int64 = 0
    /// Rows and decisions removed so far.
    package var rows: Int64 = 0
    package var decisions: Int64 = 0
    /// The gap that was open when it was asked for, 0 without one: a long one outlives its
    /// decisions, by which the others are found.
    package var gap: Int64 = 0
    /// In which the person is known to have been; none once these are no longer needed.
    package var regions = ErasedRegions()
}

/// Removing a person from the store, a few rows at a time. Each row tells of the region that it named
/// before it goes.
extension Journal {
    /// Returns every erasure that is remembered, the oldest first.
    /// - Throws: `StoreError` if they cannot be read.
    func erasures() throws(StoreError) -> [Erasure] {
        let select = statements.allErasures
        defer { select.reset() }
        var found: [Erasure] = []
        while try select.next() {
            let finished = select.integer(at: 4)
            found.append(
                Erasure(
                    number: select.integer(at: 0), turn: select.integer(at: 1),
                    responder: select.integer(at: 2),
                    requestedAt: Timestamp(milliseconds: select.integer(at: 3)),
                    finishedAt: finished == 0 ? nil : Timestamp(milliseconds: finished),
                    nextRow: select.integer(at: 5), nextDecision: select.integer(at: 6),
                    rows: select.integer(at: 7), decisions: select.integer(at: 8),
                    gap: select.integer(at: 9),
                    regions: ErasedRegions(journalBytes: Array(select.bytes(at: 10)))))
        }
        return found
    }

    /// Keeps an erasure as it stands.
    /// - Throws: `StoreError` if it cannot be written.
    func put(_ erasure: Erasure) throws(StoreError) {
        try writing { () throws(StoreError) in
            let put = statements.putErasure
            put.bind(erasure.number, at: 1)
            put.bind(erasure.turn, at: 2)
            put.bind(erasure.responder, at: 3)
            put.bind(erasure.requestedAt.milliseconds, at: 4)
            put.bind(erasure.finishedAt?.milliseconds ?? 0, at: 5)
            put.bind(erasure.nextRow, at: 6)
            put.bind(erasure.nextDecision, at: 7)
            put.bind(erasure.rows, at: 8)
            put.bind(erasure.decisions, at: 9)
            put.bind(erasure.gap, at: 10)
            try put.bind(copying: erasure.regions.journalBytes, at: 11)
            try put.run()
        }
    }

    /// Forgets erasures that were finished before a time.
    /// - Throws: `StoreError` if the store cannot be written.
    func forgetErasures(finishedBefore time: Timestamp) throws(StoreError) {
        try writing { () throws(StoreError) in
            statements.forgetErasures.bind(time.milliseconds, at: 1)
            try statements.forgetErasures.run()
        }
    }

    /// Removes at most `limit` rows and decisions of a person, walking back from where the erasure
    /// stands, and moves it on. Rows are not deleted: an event of many items needs the places of all
    /// of them, and a row that enrolled somebody took a number.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func removeRows(
        of erasure: inout Erasure, limit: Int
    ) throws(StoreError) {
        var moved = erasure
        try writing { () throws(StoreError) in
            for _ in 0..<limit where moved.nextRow > 0 { try removeRow(&moved) }
            for _ in 0..<limit where moved.nextDecision > 0 { try removeDecision(&moved) }
        }
        erasure = moved
        try put(erasure)
    }

    private func removeRow(_ erasure: inout Erasure) throws(StoreError) {
        let select = statements.row
        select.bind(erasure.nextRow, at: 1)
        defer { select.reset() }
        // Behind what retention has cut there is nothing left to remove.
        guard try select.next(), select.integer(at: 2) == erasure.responder else {
            erasure.nextRow = 0
            return
        }
        let kind = UInt8(truncatingIfNeeded: select.integer(at: 1))
        let previous = select.integer(at: 3)
        if let region = ItemList.region(ofItem: Array(select.bytes(at: 4))) {
            erasure.regions.note(region)
        }
        let nobody = ItemList.nobody(isEnrolment: previous == 0)
        try replaceRow(erasure.nextRow, kind: kind, with: nobody)
        erasure.rows += 1
        erasure.nextRow = previous < erasure.nextRow ? previous : 0
    }

    private func replaceRow(
        _ id: Int64, kind: UInt8, with body: [UInt8]
    ) throws(StoreError) {
        let replace = statements.replaceRow
        replace.bind(id, at: 1)
        replace.bind(Int64(kind & EventCode.begins | ItemKind.nobody.rawValue), at: 2)
        try replace.bind(copying: body, at: 3)
        let code = kind & EventCode.begins | ItemKind.nobody.rawValue
        replace.bind(
            body.withUnsafeBytes {
                RowChecksum.of(row: id, kind: code, responder: 0, previous: 0, $0)
            }, at: 4)
        try replace.run()
    }

    private func removeDecision(_ erasure: inout Erasure) throws(StoreError) {
        let select = statements.decision
        select.bind(erasure.nextDecision, at: 1)
        let isThere = try select.next() && select.integer(at: 3) == erasure.responder
        let previous = isThere ? select.integer(at: 4) : 0
        let gap = isThere ? DecisionRow(select).gap : nil
        select.reset()
        guard isThere else {
            erasure.nextDecision = 0
            return
        }
        if let gap, gap.number > 0 { try removeGap(gap.number, of: erasure.responder) }
        statements.deleteDecision.bind(erasure.nextDecision, at: 1)
        try statements.deleteDecision.run()
        erasure.decisions += 1
        erasure.nextDecision = previous < erasure.nextDecision ? previous : 0
    }

    // MARK: - Older checkpoints

    /// Returns the complete checkpoints of turns before `turn`, the oldest first.
    /// - Throws: `StoreError` if they cannot be read.
    func checkpoints(beforeTurn turn: Int64) throws(StoreError) -> [EngineCheckpoint] {
        let select = statements.checkpointsBefore
        defer { select.reset() }
        select.bind(turn, at: 1)
        var found: [EngineCheckpoint] = []
        while try select.next() { found.append(EngineCheckpoint(select)) }
        return found
    }

    /// Returns a slice of a checkpoint; nil if it is gone.
    /// - Throws: `StoreError.damaged` if it is not as it was written, another `StoreError` if it
    ///   cannot be read.
    func slice(
        turn: Int64, index: Int64, engineVersion: Int64
    ) throws(StoreError) -> [UInt8]? {
        let select = statements.slice
        defer { select.reset() }
        select.bind(turn, at: 1)
        select.bind(index, at: 2)
        guard try select.next() else { return nil }
        let body = select.bytes(at: 0)
        guard
            RowChecksum.fits(
                slice: index, turn: turn, engineVersion: engineVersion, body,
                select.checksum(at: 1))
        else {
            throw .damaged("slice \(index) of turn \(turn) is not as it was written")
        }
        return Array(body)
    }

    /// Puts other bytes in a slice's place.
    /// - Throws: `StoreError` if it cannot be written.
    func replaceSlice(
        turn: Int64, index: Int64, engineVersion: Int64, with body: [UInt8]
    ) throws(StoreError) {
        try writing { () throws(StoreError) in
            let replace = statements.replaceSlice
            replace.bind(turn, at: 1)
            replace.bind(index, at: 2)
            try replace.bind(copying: body, at: 3)
            replace.bind(
                body.withUnsafeBytes {
                    RowChecksum.of(
                        slice: index, turn: turn, engineVersion: engineVersion, $0)
                }, at: 4)
            try replace.run()
        }
    }

    /// Gives a checkpoint up: its slices go by `pruneCheckpoints`.
    /// - Throws: `StoreError` if the store cannot be written.
    func dropCheckpoint(turn: Int64) throws(StoreError) {
        try writing { () throws(StoreError) in
            statements.dropCheckpoint.bind(turn, at: 1)
            try statements.dropCheckpoint.run()
        }
    }
}

extension JournalSchema {
    static let putErasure: StaticString = """
        INSERT OR REPLACE INTO erasures VALUES(
            ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
            row_checksum(7, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11))
        """
}
