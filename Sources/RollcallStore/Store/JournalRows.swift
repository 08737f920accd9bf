/// One journaled event, as the state writer wrote it (J1). Only the state writer can read its body.
package struct JournalRow {
    /// The state writer's own number, rising with every event, and the row's id in the table.
    package var id: Int64
    /// The state writer's code for the kind of event.
    package var kind: UInt8
    /// The state writer's number for the responder, 0 for none.
    package var responder: Int64
    /// The id of the same responder's row before this one, 0 for none (J7).
    package var previous: Int64
    /// The event, in SQLite's memory: valid inside the closure that is given it, no longer.
    package var body: UnsafeRawBufferPointer
}

/// A turn's decision about somebody or something, for timelines and for J3's comparison.
package struct DecisionRow {
    /// The state writer's own number, rising with every decision.
    package var id: Int64
    /// The turn that decided it.
    package var turn: Int64
    /// The state writer's code for the kind of decision.
    package var kind: UInt8
    /// The state writer's number for the responder, 0 for none.
    package var responder: Int64
    /// The id of the same responder's decision before this one, 0 for none.
    package var previous: Int64
    /// The instant from which it holds, by the engine's stamp (F2), in milliseconds.
    package var atMilliseconds: Int64
    /// The decision, in SQLite's memory: valid inside the closure that is given it, no longer.
    package var body: UnsafeRawBufferPointer
}

/// The one row that every transaction of the state writer holds (J2).
package struct Turn: Equatable, Sendable {
    /// The turn's number, rising.
    package var number: Int64
    /// The engine's now, in milliseconds.
    package var nowMilliseconds: Int64
    /// The wall clock, in milliseconds since 1970.
    package var wallMilliseconds: Int64
    /// The id of the first row folded in it.
    package var firstRow: Int64
    /// The id of the last row folded in it; less than `firstRow` if it folded none.
    package var lastRow: Int64
    /// The version of the rules it was folded by (J4).
    package var engineVersion: Int64

    /// A turn of the given numbers.
    package init(
        number: Int64,
        nowMilliseconds: Int64,
        wallMilliseconds: Int64,
        firstRow: Int64,
        lastRow: Int64,
        engineVersion: Int64
    ) {
        self.number = number
        self.nowMilliseconds = nowMilliseconds
        self.wallMilliseconds = wallMilliseconds
        self.firstRow = firstRow
        self.lastRow = lastRow
        self.engineVersion = engineVersion
    }
}

/// A complete engine checkpoint: the state at exactly one turn (J5).
package struct EngineCheckpoint: Equatable, Sendable {
    /// The state of a checkpoint, as the table says.
    enum State: Int64 {
        case writing = 0
        case complete = 1
        case obsolete = 2
    }

    /// The turn whose end it shows.
    package var turn: Int64
    /// The version of the rules that wrote it.
    package var engineVersion: Int64
    /// The number of slices that it has.
    package var slices: Int64
    /// The instant at which it was begun, by the wall clock, in milliseconds since 1970.
    package var createdMilliseconds: Int64

    /// Whoever writes a checkpoint counts its slices before the first; it began at
    /// `createdMilliseconds` since 1970.
    package init(turn: Int64, engineVersion: Int64, slices: Int64, createdMilliseconds: Int64) {
        self.turn = turn
        self.engineVersion = engineVersion
        self.slices = slices
        self.createdMilliseconds = createdMilliseconds
    }
}

/// A slice of a checkpoint; the version of the rules that wrote it stands with the checkpoint.
struct SliceRow {
    var turn: Int64
    /// Counts from 0.
    var index: Int64
    var engineVersion: Int64
    /// In SQLite's memory or the writer's: valid as long as the row is at hand.
    var body: UnsafeRawBufferPointer
}

/// The result of a checkpoint of the write-ahead log.
package struct WALCheckpoint: Equatable, Sendable {
    /// The effort of a checkpoint.
    package enum Mode: Equatable, Sendable {
        /// Move what no reader needs, and wait for nobody.
        case passive
        /// Move everything and cut the file to nothing; busy as long as a reader needs it.
        case truncate
    }

    /// Somebody's lock kept it from the end; trying again later is all there is to do.
    package var isBusy: Bool
    /// Frames in the log, -1 if it could not be looked at.
    package var frames: Int
    /// Frames of it that are in the file by now.
    package var checkpointed: Int
}

// MARK: - Reading and writing

extension JournalRow {
    /// The current row of a statement that selects the whole table.
    package init(_ row: Statement) {
        id = row[.id]
        // What fits no byte was not written: such a kind is none, and its checksum does not fit.
        kind = UInt8(exactly: row.integer(.kind)) ?? .max
        responder = row[.responder]
        previous = row[.previous]
        body = row.bytes(.body)
    }

    /// Returns the current row of a statement that selects the whole table. Throws
    /// `StoreError.damaged` if it is not as it was written.
    package static func whole(_ statement: Statement) throws(StoreError) -> JournalRow {
        let row = JournalRow(statement)
        guard row.fits(statement.checksum) else {
            throw .damaged("journal row \(row.firstID) is not as it was written")
        }
        return row
    }

    /// Writes it by a statement. Throws `StoreError` if SQLite refuses.
    func write(by statement: Statement) throws(StoreError) {
        statement.bind(id, as: .id)
        statement.bind(Int64(kind), as: .kind)
        statement.bind(responder, as: .responder)
        statement.bind(previous, as: .previous)
        try statement.bind(body, as: .body)
        statement.bind(checksum, as: .checksum)
        try statement.run()
    }
}

extension DecisionRow {
    /// The current row of a statement that selects the whole table.
    package init(_ row: Statement) {
        id = row[.id]
        turn = row[.turn]
        kind = UInt8(exactly: row.integer(.kind)) ?? .max
        responder = row[.responder]
        previous = row[.previous]
        atMilliseconds = row[.atMs]
        body = row.bytes(.body)
    }

    /// Gives a statement all of it, the body without a copy, but for the id if it `isNext`: without one
    /// SQLite gives the same. Throws `StoreError` if SQLite refuses.
    func bind(to statement: Statement, isNext: Bool = false) throws(StoreError) {
        if !isNext { statement.bind(id, as: .id) }
        statement.bind(turn, as: .turn)
        statement.bind(Int64(kind), as: .kind)
        statement.bind(responder, as: .responder)
        statement.bind(previous, as: .previous)
        statement.bind(atMilliseconds, as: .atMs)
        try statement.bind(body, as: .body)
        statement.bind(checksum, as: .checksum)
    }

    /// Writes it by a statement. Throws `StoreError` if SQLite refuses.
    func write(by statement: Statement) throws(StoreError) {
        try bind(to: statement)
        try statement.run()
    }
}

extension Turn {
    /// The current row of a statement that selects the whole table.
    package init(_ row: Statement) {
        self.init(
            number: row[.number], nowMilliseconds: row[.nowMs], wallMilliseconds: row[.wallMs],
            firstRow: row[.firstRow], lastRow: row[.lastRow], engineVersion: row[.engineVersion])
    }

    /// Returns the current row of a statement that selects the whole table. Throws
    /// `StoreError.damaged` if it is not as it was written.
    static func whole(_ row: Statement) throws(StoreError) -> Turn {
        let turn = Turn(row)
        guard turn.fits(row.checksum) else {
            throw .damaged("turn \(turn.number) is not as it was written")
        }
        return turn
    }

    /// Writes it by a statement. Throws `StoreError` if SQLite refuses.
    func write(by statement: Statement) throws(StoreError) {
        try statement.run([
            .number: number, .nowMs: nowMilliseconds, .wallMs: wallMilliseconds,
            .firstRow: firstRow, .lastRow: lastRow, .engineVersion: engineVersion,
            .checksum: checksum,
        ])
    }
}

extension EngineCheckpoint {
    /// The current row of a statement that selects the whole table.
    init(_ row: Statement) {
        self.init(
            turn: row[.turn], engineVersion: row[.engineVersion], slices: row[.slices],
            createdMilliseconds: row[.createdMs])
    }
}

extension SliceRow {
    /// The current row of a statement that selects the whole table.
    init(_ row: Statement, engineVersion: Int64) {
        turn = row[.turn]
        index = row[.slice]
        self.engineVersion = engineVersion
        body = row.bytes(.body)
    }

    /// Writes it by a statement. Throws `StoreError` if SQLite refuses.
    func write(by statement: Statement) throws(StoreError) {
        try statement.run([.turn: turn, .slice: index, .body: body, .checksum: checksum])
    }
}
