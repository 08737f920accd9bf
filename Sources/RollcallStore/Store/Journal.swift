import RollcallCore

/// The state writer's store: an append-only journal, its turns, what they decided, and checkpoints.
///
/// The state writer is its only writer, from one thread. It knows nothing of the engine: bodies are
/// bytes. Every write stands between `begin()` and `commit()`:
///
///     idle ── begin ──► open ── append, appendDecision, set … ──► open ── write(turn:), commit ──► idle
///                        │ error                                                      │ error
///                        └──────────────► failed ◄────────────────────────────────────┘
///                                           │ rollback: idle if the error was recoverable,
///                                           └ and failed for good if it was fatal
///
/// * idle: nothing waits, and the log may be checkpointed.
/// * open: rows wait for their turn and their commit.
/// * failed: every call throws the first error again, so that after an automatic rollback no row
///   is committed by itself, and no fsync is tried twice (J6).
///
/// Source: J1–J7.
package final class Journal {
    /// The most bytes of one body. The settings must refuse a greater `limits.body`.
    package static let bodyBytesMax = 32 * 1024 * 1024

    /// True if opening it made the tables: no history, and nothing to be older than.
    package let isNew: Bool
    /// The damage among the rows of segments that opening it has mended; nil if there was none.
    package let segmentDamage: SegmentDamage?
    /// The last id given to a row, 0 for none; the next is greater.
    package private(set) var lastRow: Int64
    /// The last id given to a decision, 0 for none; the next is greater.
    package private(set) var lastDecision: Int64
    /// For those who write their own tables in the state writer's transaction; see `writing(_:)`.
    package let connection: SQLiteConnection

    let lock: StoreLock
    /// Against somebody who knows the file by another name.
    private let fileLock: StoreFileLock
    var witness: StoreWitness
    /// Prepared once; the reading half of this class stands in JournalReader.swift.
    let statements: JournalStatements
    /// The reader of what became of notices, as it stands.
    package let notices: NoticeReader
    /// The reader of what is packed.
    let segments: SegmentReader
    private var isOpen = false
    private var failure: StoreError?
    private var turnWritten: Int64?
    /// Rows of the open transaction that are not written yet; all are before its turn is.
    private var waiting = RowGroupBuilder()
    /// Decisions of it that are not written yet.
    private var decided = DecisionRows()
    /// The rules of the checkpoint that is being written.
    private var checkpointVersion: Int64 = 0
    private var before = (row: Int64(0), decision: Int64(0), alive: AliveCounts())
    /// The numbers of messages and pushes that are not over; see `keepAlive(_:)`.
    var alive = AliveCounts()

    /// Opens the store at `path`, made with mode 0600 if it is not there, under its lock. Throws
    /// `StoreError` if it is locked, damaged or not ours, or cannot be opened.
    package convenience init(path: String) throws(StoreError) {
        try self.init(path: path, vfs: nil)
    }

    /// Opens it through SQLite's system layer named `vfs`: tests give one that fails on demand.
    /// `held` is its lock, if that is held already; `upgrade` hears what becomes of a store of an older
    /// version. Throws `StoreError` likewise.
    package init(
        path given: String, vfs: String?, lock held: StoreLock? = nil,
        upgrade: StoreUpgrade.Watch = StoreUpgrade.Watch()
    ) throws(StoreError) {
        let path = try StoreFile.resolve(given)
        if let held { lock = held } else { lock = try StoreLock(storePath: path) }
        let directory = try StoreDirectory(storePath: path)
        try StoreFile.create(path)
        fileLock = try StoreFileLock(path)
        connection = try SQLiteConnection(path: path, access: .readWrite, vfs: vfs)
        try JournalSchema.guardConnection(connection)
        let found = try JournalSchema.inspect(connection)
        let plan = try StoreUpgrade.begin(connection, found, lock, fileLock, upgrade)
        try JournalSchema.applySettings(connection, access: .readWrite)
        switch found {
        case .empty: try JournalSchema.create(connection)
        case .older(let version):
            do {
                try JournalSchema.migrate(connection, from: version)
            } catch {
                throw JournalSchema.explained(error)
            }
        case .current: break
        }
        isNew = found == .empty
        let isHeadOurs = isNew || StoreWitness.isHeadOurs(connection)
        segmentDamage = try SegmentMending.check(
            connection, isSuspect: !isHeadOurs || StoreQuarantine.isSuspect(path))
        if !isHeadOurs { try JournalSchema.renewHead(connection) }
        try JournalSchema.checkWriterSettings(connection)
        do {
            for table in RowChecksum.Table.small { try RowChecksum.check(table, connection) }
            statements = try JournalStatements(connection)
        } catch {
            throw JournalSchema.explained(error)
        }
        notices = try NoticeReader(connection)
        segments = try SegmentReader(connection)
        // The settings and the first read have made the log by now.
        witness = StoreWitness(connection)
        try directory.sync()
        lastRow = try max(statements.lastRow.one(), statements.lastTurnRow.one())
        lastDecision = try statements.lastDecision.one()
        alive = try storedAlive()
        if let plan { upgrade.say(.done(plan)) }
        // A checkpoint that a crash cut off: nobody may read it, its slices go as all old ones do.
        try dropCheckpoints(statements.unfinishedCheckpoints)
    }

    deinit {
        // The lock outlives the handle; without an explicit `close()` the log stays for recovery.
        statements.finalize()
        notices.finalize()
        segments.finalize()
        try? connection.close()
    }

    /// Moves the log into the file, checked, and gives up the file and its lock. Throws
    /// `StoreError` if that fails, or the journal is barred.
    ///
    /// With a reader open the log stays, which loses nothing. Statements that others have prepared
    /// on `connection` must be finalized before. Call it once.
    package func close() throws(StoreError) {
        precondition(!isOpen, "commit or roll back before closing")
        var trouble = failure
        if trouble == nil {
            do { _ = try checkpointWAL(.truncate) } catch { trouble = error }
        }
        statements.finalize()
        notices.finalize()
        segments.finalize()
        try connection.close()
        fileLock.release()
        lock.release()
        if let trouble { throw trouble }
    }

    // MARK: The transaction

    /// Begins a transaction and takes SQLite's write lock. Throws `StoreError` if the journal is
    /// barred, or SQLite refuses.
    package func begin() throws(StoreError) {
        precondition(!isOpen, "one transaction at a time")
        if let failure { throw failure }
        try checkLog()
        do { try statements.begin.run() } catch { throw noting(error) }
        isOpen = true
        turnWritten = nil
        waiting.removeAll()
        decided.removeAll()
        before = (lastRow, lastDecision, alive)
    }

    /// Appends one event. Ids rise; the body is at most `bodyBytesMax` long and is not kept. Rows that
    /// follow each other are written together (J13), at the latest with their turn. Throws `StoreError`
    /// if they cannot be written.
    package func append(
        id: Int64, kind: UInt8, responder: Int64, previous: Int64, body: UnsafeRawBufferPointer
    ) throws(StoreError) {
        precondition(id > lastRow, "row ids rise")
        precondition(previous >= 0 && previous < id, "a row points back")
        precondition(body.count <= Self.bodyBytesMax, "the settings bound a body")
        precondition(turnWritten == nil, "a turn's rows come before it")
        precondition(kind != RowGroup.kind, "a group is no event")
        let row = JournalRow(
            id: id, kind: kind, responder: responder, previous: previous, body: body)
        try writing { () throws(StoreError) in
            if !waiting.takes(row) { try writeWaiting() }
            guard body.count <= RowGroup.bytesMax else {
                return try row.write(by: statements.insertRow)
            }
            waiting.append(row)
        }
        lastRow = id
    }

    private func writeWaiting() throws(StoreError) {
        guard !waiting.isEmpty else { return }
        try waiting.write(by: statements.insertRow)
        waiting.removeAll()
    }

    /// Appends one decision. Ids rise; `at` is the engine's stamp (F2). Decisions are written many at
    /// once, at the latest with their turn. Throws `StoreError` if they cannot be written.
    package func appendDecision(
        id: Int64, turn: Int64, kind: UInt8, responder: Int64, previous: Int64,
        atMilliseconds: Int64, body: UnsafeRawBufferPointer
    ) throws(StoreError) {
        precondition(id > lastDecision, "decision ids rise")
        precondition(previous >= 0 && previous < id, "a decision points back")
        precondition(body.count <= Self.bodyBytesMax, "a decision is small")
        let row = DecisionRow(
            id: id, turn: turn, kind: kind, responder: responder, previous: previous,
            atMilliseconds: atMilliseconds, body: body)
        try writing { () throws(StoreError) in
            if decided.isFull { try writeDecided() }
            decided.append(row)
        }
        lastDecision = id
    }

    private func writeDecided() throws(StoreError) {
        try decided.write(by: statements)
        decided.removeAll()
    }

    /// Writes the transaction's turn: once, after its rows, and with their ids. Throws `StoreError`
    /// if it cannot be written.
    package func write(turn: Turn) throws(StoreError) {
        precondition(turnWritten == nil, "one turn a transaction (J2)")
        if lastRow == before.row {
            precondition(turn.lastRow < turn.firstRow, "a turn without rows has an empty range")
        } else {
            let range = turn.firstRow...turn.lastRow
            precondition(range.upperBound == lastRow && range.lowerBound > before.row)
        }
        try writing { () throws(StoreError) in
            try writeWaiting()
            try writeDecided()
            try turn.write(by: statements.insertTurn)
        }
        turnWritten = turn.number
    }

    /// Commits. When it has returned, what was written survives a power cut (G1).
    ///
    /// If it throws a `StoreError`, nothing was committed as far as a 2xx is concerned:
    /// `rollback()`, then do as the error's disposition says.
    package func commit() throws(StoreError) {
        let isWhole = lastRow == before.row || turnWritten != nil
        precondition(isWhole || failure != nil, "rows without a turn (J2)")
        try writing { () throws(StoreError) in
            try writeDecided()
            try connection.checkPlace()
            // What is written now makes a log long again that was cut.
            try witness.checkLogLength()
            try statements.commit.run()
        }
        isOpen = false
        try checkLog()
    }

    /// Drops the open transaction, if there is one: `begin()` itself may have failed. After a
    /// recoverable error the journal is usable again. Throws `StoreError` if SQLite refuses.
    package func rollback() throws(StoreError) {
        guard isOpen else { return }
        (lastRow, lastDecision, alive) = before
        // "If certain kinds of errors occur on a statement within a multi-statement transaction
        // … then the transaction might be rolled back automatically. The only way to find out
        // … is to use this function", sqlite3_get_autocommit().
        if !connection.isAutocommit {
            do { try statements.rollback.run() } catch {
                failure = error
                throw error
            }
        }
        isOpen = false
        if case .recoverable = failure?.disposition { failure = nil }
    }

    /// Does one piece of the open transaction. Throws `StoreError` if the journal is barred, or
    /// what `body` throws, which bars all further pieces until `rollback()`.
    ///
    /// For other tables of the same transaction, such as the outbox (A9), too.
    @inline(__always)
    func writing(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        precondition(isOpen, "begin first")
        if let failure { throw failure }
        do { try body() } catch { throw noting(error) }
    }

    /// Runs a statement in the open transaction; see `writing(_:)`. Throws `StoreError` likewise.
    func run(_ statement: Statement, _ arguments: Arguments...) throws(StoreError) {
        try writing { () throws(StoreError) in try statement.run(arguments) }
    }

    /// Keeps an error that later calls must not forget.
    func noting(_ error: StoreError) -> StoreError {
        if isOpen { failure = error }
        if case .fatal = error.disposition { failure = error }
        return error
    }

    // MARK: Metadata

    /// Returns the integer kept under `key`, nil if there is none. Throws `StoreError` if it is
    /// damaged or cannot be read.
    package func integer(forKey key: String) throws(StoreError) -> Int64? {
        try meta(key, "integer") { row in row.isInteger(.value) ? row[.value] : nil }
    }

    /// Returns the bytes kept under `key`, nil if there are none. Throws `StoreError` if they are
    /// damaged or cannot be read.
    package func bytes(forKey key: String) throws(StoreError) -> [UInt8]? {
        try meta(key, "bytes") { row in row.isInteger(.value) ? nil : Array(row.bytes(.value)) }
    }

    private func meta<Value>(
        _ key: String, _ kind: String, _ read: (Statement) -> Value?
    ) throws(StoreError) -> Value? {
        try statements.getMeta.first([.key: key]) { row throws(StoreError) in
            guard row.fits(.meta) else { throw .damaged("meta \(key) is not as it was written") }
            guard let value = read(row) else { throw .damaged("meta \(key) is no \(kind)") }
            return value
        }
    }

    /// Keeps an integer under `key`, in the open transaction. Throws `StoreError` if that fails.
    package func set(_ value: Int64, forKey key: String) throws(StoreError) {
        try run(statements.setMeta, [.key: key, .value: value])
    }

    /// Keeps bytes under `key`, in the open transaction. Throws `StoreError` if that fails.
    package func set(_ value: UnsafeRawBufferPointer, forKey key: String) throws(StoreError) {
        try run(statements.setMeta, [.key: key, .value: value])
    }

    /// Sets bytes in `meta`, in the open transaction.
    /// - Throws: `StoreError` if they cannot be written.
    package func set(_ bytes: [UInt8], forKey key: String) throws(StoreError) {
        var failure: StoreError?
        bytes.withUnsafeBytes { bytes in
            do throws(StoreError) { try set(bytes, forKey: key) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    // MARK: Checkpoints

    /// Begins the engine's checkpoint of `turn`, in the open transaction; slices may come in later
    /// ones. One of the same turn is replaced; one that was not finished is dropped. Throws
    /// `StoreError` if it cannot be written.
    package func beginCheckpoint(
        turn: Int64, engineVersion: Int64, wallMilliseconds: Int64
    ) throws(StoreError) {
        try writing { () throws(StoreError) in
            try dropCheckpoints(statements.unfinishedCheckpoints)
            try statements.deleteAllSlices.run([.turn: turn])
            try statements.insertCheckpoint.run([
                .turn: turn, .engineVersion: engineVersion,
                .state: Code(EngineCheckpoint.State.writing), .slices: 0,
                .createdMs: wallMilliseconds,
            ])
        }
        checkpointVersion = engineVersion
    }

    /// Adds a slice; indexes count from 0 without a hole. Throws `StoreError` if it cannot be
    /// written.
    ///
    /// It first removes some slices of old checkpoints, unless told not to, so that their pages are used
    /// again and no turn has to remove a whole one: zeroing a million responders would take longer than
    /// the 20 ms of J5.
    package func appendSlice(
        turn: Int64, index: Int64, body: UnsafeRawBufferPointer, isPruning: Bool = true
    ) throws(StoreError) {
        precondition(body.count <= Self.bodyBytesMax, "a slice is small")
        if isPruning { _ = try pruneCheckpoints() }
        let slice = SliceRow(
            turn: turn, index: index, engineVersion: checkpointVersion, body: body)
        try writing { () throws(StoreError) in try slice.write(by: statements.insertSlice) }
    }

    /// Completes it: from this commit on it is the newest. The two newest are kept, and the newest
    /// of every earlier day; the others can no longer be read, and go by `pruneCheckpoints`. Throws
    /// `StoreError` if it cannot be written.
    package func completeCheckpoint(turn: Int64, slices: Int64) throws(StoreError) {
        try writing { () throws(StoreError) in
            try statements.markComplete.run([
                .turn: turn, .state: Code(EngineCheckpoint.State.complete), .slices: slices,
            ])
            try dropCheckpoints(statements.surplusCheckpoints)
        }
    }

    /// Moves frames of the write-ahead log into the file. Between transactions; waits for nobody.
    ///
    /// A full disk is recoverable and loses nothing: the log stays. Throws `StoreError` if the
    /// journal is barred, or SQLite refuses; anything fatal bars the journal.
    package func checkpointWAL(_ mode: WALCheckpoint.Mode) throws(StoreError) -> WALCheckpoint {
        precondition(!isOpen, "between transactions only")
        if let failure { throw failure }
        guard lock.beginMoving(logBytes: StoreFile.size(connection.path + "-wal")) else {
            return WALCheckpoint(isBusy: true, frames: -1, checkpointed: -1)
        }
        defer { lock.endMoving() }
        // TRUNCATE "blocks (calls the busy-handler callback) until all readers are reading from the
        // database file only", and no reader holds the state writer up.
        connection.setBusyTimeout(milliseconds: 0)
        defer { connection.setBusyTimeout(milliseconds: JournalSchema.busyWaitMilliseconds) }
        do { return try connection.checkpointWAL(mode) } catch { throw noting(error) }
    }
}
