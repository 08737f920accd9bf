extension Journal {
    /// Returns the newest committed turn, nil in a new store.
    /// - Throws: `StoreError` if it cannot be read.
    package func lastTurn() throws(StoreError) -> Turn? {
        try statements.lastTurn.first { Turn($0) }
    }

    /// Returns the oldest turn that is left, nil in a new store.
    /// - Throws: `StoreError` if it cannot be read.
    package func firstTurn() throws(StoreError) -> Turn? {
        guard let segment = try segments.segment(notBefore: .min) else {
            return try statements.firstTurn.first { Turn($0) }
        }
        do throws(StoreError) {
            return try segments.turn(notBefore: segment.firstTurn)
        } catch .damaged {
            // It was, and is to be cut like any other; when it was is about when its checkpoint was made.
            let kept = try checkpoints(beforeTurn: .max).first?.createdMilliseconds ?? 0
            return segment.unread(segment.firstTurn, at: kept)
        }
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
        let rows = statements.tableRows
        defer {
            turns.reset()
            rows.reset()
        }
        let last = try replayPacked(afterTurn: number, row: row, turn: turn)
        turns.bind(last, as: .number)
        while try turns.next() {
            let found = try Turn.whole(turns)
            rows.bind(found.firstRow, as: .first)
            rows.bind(found.lastRow, as: .last)
            while try rows.next() {
                guard JournalRow(rows).begins(by: found.lastRow) else { continue }
                var group = RowGroup(try JournalRow.whole(rows))
                while let next = try group.next() {
                    guard next.id >= found.firstRow, next.id <= found.lastRow else { continue }
                    try row(next)
                }
            }
            try turn(found)
        }
    }

    /// Reads what is packed of it: of an older checkpoint, when newer ones cannot be read. Returns the
    /// last turn that was read.
    private func replayPacked(
        afterTurn number: Int64,
        row: (JournalRow) throws(StoreError) -> Void,
        turn: (Turn) throws(StoreError) -> Void
    ) throws(StoreError) -> Int64 {
        var last = number
        while last < .max, let segment = try segments.segment(notBefore: last + 1) {
            var turns: [Turn] = []
            while last < segment.lastTurn {
                turns += try segments.turns(after: last)
                guard let found = turns.last?.number, found > last else {
                    throw .damaged("the segment of turn \(segment.firstTurn) lacks turns")
                }
                last = found
            }
            var next = turns.makeIterator()
            var open = next.next()
            if let first = turns.first, first.firstRow <= segment.lastRow {
                _ = try segments.rows(from: first.firstRow, through: segment.lastRow) {
                    (found) throws(StoreError) in
                    while let ended = open, ended.lastRow < found.id {
                        try turn(ended)
                        open = next.next()
                    }
                    try row(found)
                }
            }
            while let ended = open {
                try turn(ended)
                open = next.next()
            }
        }
        return last
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
    /// The reader of what is packed.
    let segments: SegmentReader

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
        rowByID = try Statement(connection, .tableRow)
        decisionByID = try Statement(connection, "\(select: .decisions) WHERE id = :id")
        segments = try SegmentReader(connection)
    }

    /// Walks the rows of `responder` back from row `id`, newest first, at most `limit`
    /// (1…`rowsMax`).
    ///
    /// Ends where retention has cut. Returns the id to go on with, 0 at the end.
    /// - Throws: `StoreError` if a row cannot be read, or is not as it was written.
    package func walk(
        from id: Int64,
        of responder: Int64,
        limit: Int,
        row: (JournalRow) -> Void
    ) throws(StoreError) -> Int64 {
        try follow(from: id, limit: limit) { (next, last) throws(StoreError) in
            let found = try rowByID.first([.id: next]) { statement throws(StoreError) in
                let stored = JournalRow(statement)
                guard stored.firstID <= next, stored.fits(statement.checksum),
                    let found = try stored.row(next)
                else { return Step?.none }
                let step = Step(id: next, responder: found.responder, previous: found.previous)
                try step.check(after: last)
                row(found)
                return step
            }
            if let found, let found { return found }
            guard let (_, rows) = try segments.block(withRow: next, of: responder),
                let packed = rows.row(next, of: responder)
            else {
                try checkCut(next, of: responder)
                return nil
            }
            let step = Step(id: next, responder: responder, previous: packed.previous)
            try step.check(after: last)
            rows.with(packed, row)
            return step
        }
    }

    /// A row that is nowhere was cut, unless what stands where it should be is damaged. Throws
    /// `StoreError.damaged` if it is.
    private func checkCut(_ id: Int64, of responder: Int64) throws(StoreError) {
        let isDamaged = try rowByID.first([.id: id]) { statement in
            JournalRow(statement).isDamaged(statement.checksum, at: id)
        }
        guard isDamaged == true else { return }
        throw Step(id: id, responder: responder, previous: 0).damage
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
        try follow(from: id, limit: limit) { (next, last) throws(StoreError) in
            try decisionByID.first([.id: next]) { statement throws(StoreError) in
                let found = DecisionRow(statement)
                let step = Step(id: next, responder: found.responder, previous: found.previous)
                try step.check(after: last)
                guard found.fits(statement.checksum) else { throw step.damage }
                if range.contains(found.atMilliseconds) { decision(found) }
                return step
            }
        }
    }

    /// The place of a row in somebody's walk.
    private struct Step {
        var id: Int64
        var responder: Int64
        var previous: Int64

        /// Damage must neither show one person another's history nor make the walk a circle. Throws
        /// `StoreError.damaged` if it would.
        func check(after last: Step?) throws(StoreError) {
            guard (0..<id).contains(previous), responder == last?.responder ?? responder else {
                throw .damaged("row \(id) of responder \(responder) points back to \(previous)")
            }
        }

        var damage: StoreError {
            .damaged("row \(id) of responder \(responder) is not as it was written")
        }
    }

    private func follow(
        from id: Int64, limit: Int, _ take: (Int64, Step?) throws(StoreError) -> Step?
    ) throws(StoreError) -> Int64 {
        precondition((1...Self.rowsMax).contains(limit), "1 to \(Self.rowsMax) rows a call")
        var next = id
        var last: Step?
        for _ in 0..<limit where next > 0 {
            guard let step = try take(next, last) else { return 0 }
            last = step
            next = step.previous
        }
        return next
    }
}
