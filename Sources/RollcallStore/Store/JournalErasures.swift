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
    package func erasures() throws(StoreError) -> [Erasure] {
        try statements.allErasures.all { Erasure($0) }
    }

    /// Keeps an erasure as it stands.
    /// - Throws: `StoreError` if it cannot be written.
    package func put(_ erasure: Erasure) throws(StoreError) {
        try run(statements.putErasure, erasure.arguments)
    }

    /// Forgets erasures that were finished before a time.
    /// - Throws: `StoreError` if the store cannot be written.
    package func forgetErasures(finishedBefore time: Timestamp) throws(StoreError) {
        try run(statements.forgetErasures, [.finishedMs: time])
    }

    /// Removes at most `limit` rows and decisions of a person, walking back from where the erasure
    /// stands, and moves it on. Rows are not deleted: an event of many items needs the places of all
    /// of them, and a row that enrolled somebody took a number.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func removeRows(
        of erasure: inout Erasure, limit: Int
    ) throws(StoreError) {
        var moved = erasure
        try writing { () throws(StoreError) in
            var left = limit
            while left > 0, moved.nextRow > 0 { left -= try removeRow(&moved) }
            for _ in 0..<limit where moved.nextDecision > 0 { try removeDecision(&moved) }
        }
        erasure = moved
        try put(erasure)
    }

    /// Removes a row, and all others of its block; returns about how many rows that took as long as.
    private func removeRow(_ erasure: inout Erasure) throws(StoreError) -> Int {
        let (id, responder) = (erasure.nextRow, erasure.responder)
        var regions = erasure.regions
        let packed = try removePackedRows(withRow: id, of: responder) { row in
            if let region = ItemList.region(ofItem: Array(row.body)) { regions.note(region) }
            return Self.rest(of: row)
        }
        erasure.regions = regions
        // What is packed may stand in the table still, and is found there one by one.
        let previous = try removeTableRow(id, &erasure)
        erasure.rows += max(Int64(packed?.rows.count ?? 0), previous == nil ? 0 : 1)
        // Behind what retention has cut there is nothing left to remove.
        let next = previous ?? packed?.next ?? 0
        erasure.nextRow = next < erasure.nextRow ? next : 0
        return packed == nil ? 1 : Self.rowsABlock
    }

    /// Takes what a row of the table says out of it; returns the row before it, nil if the table does
    /// not have it or it is another's.
    ///
    /// A damaged group may hold what is to go, and cannot be trusted: it is emptied, and stays damaged.
    private func removeTableRow(
        _ id: Int64, _ erasure: inout Erasure
    ) throws(StoreError) -> Int64? {
        let select = statements.row
        select.bind(id, as: .id)
        defer { select.reset() }
        guard try select.next() else { return nil }
        let stored = JournalRow(select)
        guard stored.firstID <= id else { return nil }
        let isDamaged = stored.kind == RowGroup.kind && !stored.fits(select.checksum)
        var group = RowGroup(stored)
        var rest = RowGroupBuilder()
        var previous: Int64?
        do throws(StoreError) {
            while let row = try group.next() {
                guard row.id == id, row.responder == erasure.responder else {
                    rest.append(row)
                    continue
                }
                previous = row.previous
                try take(row, &erasure, &rest)
            }
        } catch .damaged {
            // As far as it goes; see below.
        }
        if isDamaged {
            try statements.blankRow.run([.id: stored.id])
        } else if previous != nil {
            try rest.write(by: statements.replaceRow)
        }
        return previous
    }

    /// Puts what is left of a row behind others.
    private func take(
        _ row: JournalRow, _ erasure: inout Erasure, _ rest: inout RowGroupBuilder
    ) throws(StoreError) {
        if let region = ItemList.region(ofItem: Array(row.body)) { erasure.regions.note(region) }
        let left = Self.rest(of: row)
        left.body.withUnsafeBytes { body in
            rest.append(
                JournalRow(id: row.id, kind: left.kind, responder: 0, previous: 0, body: body))
        }
    }

    /// Returns what is left of a row.
    private static func rest(of row: JournalRow) -> (kind: UInt8, body: [UInt8]) {
        (
            row.kind & EventCode.begins | ItemKind.nobody.rawValue,
            ItemList.nobody(isEnrolment: row.previous == 0)
        )
    }

    private func removeDecision(_ erasure: inout Erasure) throws(StoreError) {
        let found = try statements.decision.first([.id: erasure.nextDecision]) { select in
            let row = DecisionRow(select)
            return row.responder == erasure.responder ? (row.previous, row.gap) : nil
        }
        guard let (previous, gap) = found.flatMap({ $0 }) else {
            erasure.nextDecision = 0
            return
        }
        if let gap, gap.number > 0 { try removeGap(gap.number, of: erasure.responder) }
        try statements.deleteDecision.run([.id: erasure.nextDecision])
        erasure.decisions += 1
        erasure.nextDecision = previous < erasure.nextDecision ? previous : 0
    }

    // MARK: - Older checkpoints

    /// Returns the complete checkpoints of turns before `turn`, the oldest first.
    /// - Throws: `StoreError` if they cannot be read.
    package func checkpoints(beforeTurn turn: Int64) throws(StoreError) -> [EngineCheckpoint] {
        try statements.checkpointsBefore.all([.turn: turn]) { EngineCheckpoint($0) }
    }

    /// Returns a slice of a checkpoint; nil if it is gone.
    /// - Throws: `StoreError.damaged` if it is not as it was written, another `StoreError` if it
    ///   cannot be read.
    package func slice(
        turn: Int64, index: Int64, engineVersion: Int64
    ) throws(StoreError) -> [UInt8]? {
        try statements.slice.first([.turn: turn, .slice: index]) { select throws(StoreError) in
            let slice = SliceRow(select, engineVersion: engineVersion)
            guard slice.fits(select.checksum) else {
                throw .damaged("slice \(index) of turn \(turn) is not as it was written")
            }
            return Array(slice.body)
        }
    }

    /// Puts other bytes in a slice's place.
    /// - Throws: `StoreError` if it cannot be written.
    package func replaceSlice(
        turn: Int64, index: Int64, engineVersion: Int64, with body: [UInt8]
    ) throws(StoreError) {
        try writing { () throws(StoreError) in
            try body.withUnsafeBufferPointer { buffer throws(StoreError) in
                let slice = SliceRow(
                    turn: turn, index: index, engineVersion: engineVersion,
                    body: UnsafeRawBufferPointer(buffer))
                try slice.write(by: statements.replaceSlice)
            }
        }
    }

    /// Gives a checkpoint up: its slices go by `pruneCheckpoints`.
    /// - Throws: `StoreError` if the store cannot be written.
    package func dropCheckpoint(turn: Int64) throws(StoreError) {
        try run(
            statements.dropCheckpoint,
            [.turn: turn, .state: Code(EngineCheckpoint.State.obsolete)])
    }
}

extension Erasure {
    /// The current row of a statement that selects the whole table.
    fileprivate init(_ row: Statement) {
        let finished: Timestamp = row[.finishedMs]
        self.init(
            number: row[.number], turn: row[.turn], responder: row[.responder],
            requestedAt: row[.requestedMs],
            finishedAt: finished.milliseconds == 0 ? nil : finished,
            nextRow: row[.nextRow], nextDecision: row[.nextDecision], rows: row[.rows],
            decisions: row[.decisions], gap: row[.gap],
            regions: ErasedRegions(journalBytes: Array(row.bytes(.regions))))
    }

    fileprivate var arguments: Arguments {
        [
            .number: number, .turn: turn, .responder: responder, .requestedMs: requestedAt,
            .finishedMs: finishedAt?.milliseconds ?? 0, .nextRow: nextRow,
            .nextDecision: nextDecision, .rows: rows, .decisions: decisions, .gap: gap,
            .regions: regions.journalBytes,
        ]
    }
}
