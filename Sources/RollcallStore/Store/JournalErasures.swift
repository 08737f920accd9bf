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
    /// The place of the walk back over rows, 0 at its end; the negative of an id if the next row is sought
    /// before it.
    package var nextRow: Int64 = 0
    /// The place of the walk back over decisions, 0 at its end.
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
            while left > 0, moved.nextRow != 0 { left -= try removeRow(&moved) }
            for _ in 0..<limit where moved.nextDecision > 0 { try removeDecision(&moved) }
        }
        erasure = moved
        try put(erasure)
    }

    /// Removes a row, and all others of its block; returns about how many rows that took as long as.
    private func removeRow(_ erasure: inout Erasure) throws(StoreError) -> Int {
        let id = erasure.nextRow
        if id < 0 { return try seekRow(before: -id, &erasure) }
        let segment = try segments.segment(ofRow: id)
        let packed = try removePackedRows(in: segment, isSought: false, &erasure)
        let rows = erasure.rows
        // What is packed may stand in the table still, and is found there one by one.
        let next = try removeTableRow(id, &erasure)
        // It was counted with its segment.
        if segment != nil { erasure.rows = rows }
        // Nobody's by now, and not in the table any more: it went with its segment, so the next is before
        // it. Behind what retention has cut there is nothing left to remove.
        go(on: next ?? packed?.next ?? (segment == nil ? 0 : -id), &erasure)
        return packed == nil ? 1 : Self.rowsABlock
    }

    /// Takes what a segment says of the person out of it, or, if their newest one is sought, that one from
    /// there back.
    private func removePackedRows(
        in segment: Segment?, isSought: Bool, _ erasure: inout Erasure
    ) throws(StoreError) -> (rows: [PackedRows.Row], next: Int64)? {
        var regions = erasure.regions
        let packed = try removePackedRows(
            of: erasure.responder, in: segment, isSought: isSought
        ) { row in
            if let region = ItemList.region(ofItem: Array(row.body)) { regions.note(region) }
            return Self.rest(of: row)
        }
        erasure.regions = regions
        erasure.rows += Int64(packed?.rows.count ?? 0)
        return packed
    }

    /// Goes on with an older row, by its id, or by the negative of one before which it is sought.
    private func go(on next: Int64, _ erasure: inout Erasure) {
        erasure.nextRow = next < 0 || next < abs(erasure.nextRow) ? next : 0
    }

    /// Takes what a row of the table says out of it, with all that its group says of the person; returns
    /// where to go on, nil if the table does not have it or it is another's.
    ///
    /// What is damaged may hold what is to go, and cannot be trusted: it is emptied, and stays damaged.
    /// The walk has its end there, so the person's next row is sought among those before it.
    private func removeTableRow(
        _ id: Int64, _ erasure: inout Erasure
    ) throws(StoreError) -> Int64? {
        let select = statements.row
        select.bind(id, as: .id)
        defer { select.reset() }
        guard try select.next() else { return nil }
        let stored = JournalRow(select)
        guard !stored.isDamaged(select.checksum, at: id) else {
            try statements.blankRow.run([.id: stored.id])
            return -stored.id
        }
        guard stored.firstID <= id else { return nil }
        do throws(StoreError) {
            return try take(from: stored, &erasure)
        } catch .damaged {
            try statements.blankRow.run([.id: stored.id])
            return -stored.id
        }
    }

    /// Takes what a row of the table, which is whole, says of the person out of it; returns the row
    /// before it, nil if it says nothing of them.
    private func take(
        from stored: JournalRow, _ erasure: inout Erasure
    ) throws(StoreError) -> Int64? {
        var group = RowGroup(stored)
        var rest = RowGroupBuilder()
        var previous: Int64?
        while let row = try group.next() {
            guard row.responder == erasure.responder else {
                rest.append(row)
                continue
            }
            previous = previous ?? row.previous
            erasure.rows += 1
            take(row, &erasure, &rest)
        }
        if previous != nil { try rest.write(by: statements.replaceRow) }
        return previous
    }

    /// Seeks the person's next row before a damaged one: in the table, then in all segments. Empties
    /// what else is damaged on the way.
    private func seekRow(before id: Int64, _ erasure: inout Erasure) throws(StoreError) -> Int {
        let select = statements.rowBefore
        select.bind(id, as: .id)
        defer { select.reset() }
        guard try select.next() else {
            let packed = try removePackedRows(
                in: segments.lastSegment(), isSought: true, &erasure)
            erasure.nextRow = packed?.next ?? 0
            return Self.rowsABlock
        }
        let stored = JournalRow(select)
        do throws(StoreError) {
            guard stored.fits(select.checksum) else { throw .damaged("") }
            erasure.nextRow = try take(from: stored, &erasure) ?? -stored.id
        } catch .damaged {
            try statements.blankRow.run([.id: stored.id])
            erasure.nextRow = -stored.id
        }
        return 1
    }

    /// Puts what is left of a row behind others.
    private func take(
        _ row: JournalRow, _ erasure: inout Erasure, _ rest: inout RowGroupBuilder
    ) {
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
    /// Opens each erasure that is remembered again, also those that are over: where a segment's row was
    /// missed, a walk back took that for its end. It begins at the newest row, by seeking, as numbers of
    /// people are never given again, and the group of rows with the one that asked for it has a greater number. One whose own row is damaged is left to who reads it.
    /// - Throws: `StoreError` if they cannot be read or written.
    static func reopenAll(_ connection: SQLiteConnection) throws(StoreError) {
        let select = try Statement(connection, "\(select: .erasures) ORDER BY number")
        defer { select.finalize() }
        let found = try select.all { row in row.fits(.erasures) ? Erasure(row) : nil }
        let put = try Statement(connection, "INSERT OR REPLACE \(into: .erasures)")
        defer { put.finalize() }
        for case var erasure? in found where erasure.responder > 0 {
            erasure.finishedAt = nil
            erasure.nextRow = -.max
            try put.run(erasure.arguments)
        }
    }

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
