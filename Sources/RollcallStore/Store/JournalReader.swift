extension Journal {
    /// Returns the newest committed turn, nil in a new store.
    /// - Throws: `StoreError` if it cannot be read.
    package func lastTurn() throws(StoreError) -> Turn? {
        try statements.lastTurn.first { Turn($0) }
    }

    /// Returns the oldest turn that is left, nil in a new store.
    /// - Throws: `StoreError` if it cannot be read.
    package func firstTurn() throws(StoreError) -> Turn? {
        try statements.firstTurn.first { Turn($0) }
    }

    /// Reads what a restart has to fold again (J3): in order, all rows of each turn, then the turn.
    /// - Throws: `StoreError` if a turn or a row is damaged or cannot be read, or what `row` and
    ///   `turn` throw.
    package func replayTail(
        afterTurn number: Int64,
        row: (JournalRow) throws(StoreError) -> Void,
        turn: (Turn) throws(StoreError) -> Void
    ) throws(StoreError) {
        let turns = statements.tailTurns
        let rows = statements.tailRows
        defer {
            turns.reset()
            rows.reset()
        }
        turns.bind(number, as: .number)
        while try turns.next() {
            let found = Turn(turns)
            guard found.fits(turns.checksum) else {
                throw .damaged("turn \(found.number) is not as it was written")
            }
            rows.bind(found.firstRow, as: .first)
            rows.bind(found.lastRow, as: .last)
            while try rows.next() {
                let next = JournalRow(rows)
                guard next.fits(rows.checksum) else {
                    throw .damaged("journal row \(next.id) is not as it was written")
                }
                try row(next)
            }
            try turn(found)
        }
    }

    /// Reads what was decided after a turn, in order, and whether it is as it was written: J3
    /// compares it with what is decided again.
    /// - Throws: `StoreError` if they cannot be read, or what `decision` throws.
    package func replayDecisions(
        afterTurn number: Int64,
        decision: (_ row: DecisionRow, _ isWhole: Bool) throws(StoreError) -> Void
    ) throws(StoreError) {
        let select = statements.tailDecisions
        defer { select.reset() }
        select.bind(number, as: .turn)
        while try select.next() {
            let row = DecisionRow(select)
            try decision(row, row.fits(select.checksum))
        }
    }

    /// Returns the newest complete checkpoint; `turn` lets one go back to an older one.
    /// - Throws: `StoreError` if it cannot be read.
    package func newestCheckpoint(
        notAfterTurn turn: Int64 = .max
    ) throws(StoreError) -> EngineCheckpoint? {
        try statements.newestCheckpoint.first([.turn: turn]) { EngineCheckpoint($0) }
    }

    /// Reads a checkpoint's slices one after the other, each valid inside the closure only.
    ///
    /// Throws `StoreError.damaged` if a slice is missing, or is not as it was written, after those
    /// before it were handed over.
    package func readSlices(
        of checkpoint: EngineCheckpoint,
        slice: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let select = statements.slices
        defer { select.reset() }
        select.bind(checkpoint.turn, as: .turn)
        var count: Int64 = 0
        while try select.next() {
            let found = SliceRow(select, engineVersion: checkpoint.engineVersion)
            guard found.index == count, found.fits(select.checksum) else { break }
            try slice(found.body)
            count += 1
        }
        guard count == checkpoint.slices else {
            throw .damaged(
                "checkpoint of turn \(checkpoint.turn) has \(count) of \(checkpoint.slices) whole slices"
            )
        }
    }
}

/// Reads a live store's history through a read-only connection, from one thread.
///
/// Each row is a transaction of its own and lasts as long as the closure that is given it: a reader
/// in an old one would keep the log from being cut, so copy what you need and return. It never
/// checkpoints (J8: two connections that do can corrupt the log of Debian's SQLite 3.40.1).
package final class JournalReader {
    /// The most rows of one call.
    package static let rowsMax = 1000

    /// For what else reads history; see `HistoryReader`.
    let connection: SQLiteConnection
    private let rowByID: Statement
    private let decisionByID: Statement

    /// Opens the store at `path`, which a `Journal` has made.
    /// - Throws: `StoreError` if it cannot be opened, is empty, or is not of our version.
    package init(path given: String) throws(StoreError) {
        let path = try StoreFile.resolve(given)
        connection = try SQLiteConnection(path: path, access: .readOnly)
        try JournalSchema.guardConnection(connection)
        guard try JournalSchema.inspect(connection) == .current else {
            throw .damaged("\(path) is empty")
        }
        try JournalSchema.applySettings(connection, access: .readOnly)
        rowByID = try Statement(connection, "\(select: .journal) WHERE id = :id")
        decisionByID = try Statement(connection, "\(select: .decisions) WHERE id = :id")
    }

    /// Walks a responder's rows back from row `id`, newest first, at most `limit` (1…`rowsMax`).
    ///
    /// Ends where retention has cut. Returns the id to go on with, 0 at the end.
    /// - Throws: `StoreError` if a row cannot be read, or is not as it was written.
    package func walk(
        from id: Int64,
        limit: Int,
        row: (JournalRow) -> Void
    ) throws(StoreError) -> Int64 {
        try follow(rowByID, from: id, limit: limit) { statement in
            let found = JournalRow(statement)
            guard found.fits(statement.checksum) else { return false }
            row(found)
            return true
        }
    }

    /// Walks a responder's decisions back from decision `id` and hands over those with a stamp in
    /// `range`; looks at no more than `limit` (1…`rowsMax`).
    ///
    /// Returns the id to go on with, 0 at the end.
    /// - Throws: `StoreError` if a decision cannot be read, or is not as it was written.
    package func decisions(
        from id: Int64,
        atMilliseconds range: ClosedRange<Int64>,
        limit: Int,
        decision: (DecisionRow) -> Void
    ) throws(StoreError) -> Int64 {
        try follow(decisionByID, from: id, limit: limit) { statement in
            let found = DecisionRow(statement)
            guard found.fits(statement.checksum) else { return false }
            if range.contains(found.atMilliseconds) { decision(found) }
            return true
        }
    }

    private func follow(
        _ select: Statement,
        from id: Int64,
        limit: Int,
        take: (Statement) -> Bool
    ) throws(StoreError) -> Int64 {
        precondition((1...Self.rowsMax).contains(limit), "1 to \(Self.rowsMax) rows a call")
        var next = id
        var responder: Int64?
        for _ in 0..<limit where next > 0 {
            defer { select.reset() }
            select.bind(next, as: .id)
            guard try select.next() else { return 0 }
            let found = select.integer(.responder)
            let previous = select.integer(.previous)
            // Damage must neither show one person another's history nor make the walk a circle.
            guard (0..<next).contains(previous), found == responder ?? found else {
                throw .damaged("row \(next) of responder \(found) points back to \(previous)")
            }
            guard take(select) else {
                throw .damaged("row \(next) of responder \(found) is not as it was written")
            }
            responder = found
            next = previous
        }
        return next
    }
}
