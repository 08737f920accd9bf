import CSQLite
import RollcallCore
import RollcallStore
import RollcallSupport

/// Looks at everything in a copy of a store: pages, indexes, checksums, numbers without holes, and
/// whether a start would come to its last turn.
struct BackupCheck {
    private let path: String
    private let source: String
    private let connection: SQLiteConnection

    /// Moves the log of the copy at `path` into it, and checks it; returns the last turn. `source`
    /// is the store that it is a copy of.
    /// - Throws: `BackupError` if the copy cannot be read or written, is damaged, or holds no turn.
    static func run(_ path: String, of source: String) throws(BackupError) -> Turn {
        do throws(StoreError) {
            let check = try BackupCheck(path, source)
            try check.mark(at: ClockReading.now().wall)
            let turn = try check.all()
            try check.connection.close()
            guard let turn else {
                throw StoreError.damaged("it holds no turn")
            }
            try checkBase(path)
            return turn
        } catch {
            throw refusal(error, path, source)
        }
    }

    private static func refusal(
        _ error: StoreError, _ path: String, _ source: String
    ) -> BackupError {
        switch error {
        case .foreignFile, .newerVersion:
            return .unusable(path: source, error.finding)
        case .setting(let name, _, let found):
            return .unusable(path: source, "\(name) is \(found): start `rollcall serve` once on it")
        default: break
        }
        if StoreQuarantine.cause(error) != nil {
            return .damaged(path: source, error.finding)
        }
        return .unusable(path: path, "\(error)")
    }

    private init(_ path: String, _ source: String) throws(StoreError) {
        self.path = path
        self.source = source
        connection = try SQLiteConnection(path: path, access: .readWrite)
        try JournalSchema.guardConnection(connection)
        let version = try connection.integer("PRAGMA user_version")
        guard try JournalSchema.inspect(connection) == .current else {
            throw .setting(
                name: "the store's version", wanted: "\(JournalSchema.version)",
                found: "\(version)")
        }
        // Whoever made the file makes it durable, whole and once, when all of it is right.
        try connection.run("PRAGMA synchronous = OFF")
        // Nothing of it must be sought beside the file, whoever moves it.
        let mode = try connection.text("PRAGMA journal_mode = DELETE") ?? ""
        guard mode == "delete" else {
            throw .setting(name: "journal_mode", wanted: "delete", found: mode)
        }
    }

    /// Marks it as a copy: whoever starts from it cannot know what the store sent since (N2).
    /// - Throws: `StoreError` if it cannot be written.
    private func mark(at wall: Timestamp) throws(StoreError) {
        let put = try Statement(connection, "INSERT OR REPLACE \(into: .meta)")
        defer { put.finalize() }
        try put.run([.key: Journal.copiedKey, .value: wall])
    }

    private func all() throws(StoreError) -> Turn? {
        let pages = try connection.text("PRAGMA integrity_check(1)") ?? ""
        guard pages == "ok" else { throw .damaged("integrity_check: \(pages)") }
        try checkRows()
        try check("decision", "\(select: .decisions)", .id) {
            DecisionRow($0).fits($0.checksum)
        }
        for table in RowChecksum.Table.partly { try RowChecksum.check(table, connection) }
        try checkAlive()
        let last = try checkTurns()
        let lastRow = try connection.integer("SELECT max(id) FROM journal")
        guard lastRow == 0 || lastRow == last?.lastRow else {
            throw .damaged("row \(lastRow) is not the last turn's")
        }
        return last
    }

    /// Checks that what is not over is as many as the store counts: else a start would refuse it.
    /// - Throws: `StoreError` if it is not, or cannot be read.
    private func checkAlive() throws(StoreError) {
        let right = try connection.integer(
            """
            SELECT count(*) FROM meta
            WHERE key = 'messages_alive' AND value = (
                    SELECT count(*) FROM outbox WHERE state < \(OutboxMessage.State.over))
                OR key = 'pushes_alive' AND value = (
                    SELECT count(*) FROM pushes WHERE state < \(PushMessage.State.over))
            """)
        guard right == 2 else { throw .damaged("messages or pushes are missing") }
    }

    private func checkRows() throws(StoreError) {
        let (first, last) = (
            try connection.integer(.firstRow), try connection.integer("SELECT max(id) FROM journal")
        )
        var progress = ProgressLine(total: max(0, last &- first &+ 1), unit: "rows verified")
        defer { progress.finish() }
        var expected = first
        let isNext = { (id: Int64) in
            defer { expected = id + 1 }
            if id % 4096 == 0 { progress.update(done: id &- first) }
            return id == expected
        }
        try packed { (segments, segment) throws(StoreError) in
            guard segment.firstRow <= segment.lastRow else { return }
            let isWhole = try segments.rows(from: segment.firstRow, through: segment.lastRow) {
                (row) throws(StoreError) in
                guard isNext(row.id) else {
                    throw .damaged("packed journal row \(row.id) is not as it was written")
                }
            }
            guard isWhole, expected == segment.lastRow + 1 else {
                throw .damaged("the segment of turn \(segment.firstTurn) lacks rows")
            }
        }
        // Those that are packed already may not have been removed yet.
        let packed = expected
        try check("journal row", "\(select: .journal) ORDER BY id", .id) {
            (statement) throws(StoreError) in
            let stored = JournalRow(statement)
            guard stored.fits(statement.checksum) else { return false }
            var group = RowGroup(stored)
            while let row = try group.next() {
                guard row.id < packed || isNext(row.id) else { return false }
            }
            return true
        }
    }

    /// Returns the last turn.
    private func checkTurns() throws(StoreError) -> Turn? {
        var last: Turn?
        let isNext = { (turn: Turn) in
            defer { last = turn }
            return last.map { $0.number + 1 == turn.number } ?? true
        }
        try packed { (segments, segment) throws(StoreError) in
            var number = segment.firstTurn - 1
            while number < segment.lastTurn {
                for turn in try segments.turns(after: number) {
                    guard isNext(turn) else {
                        throw .damaged("packed turn \(turn.number) is not as it was written")
                    }
                }
                guard let found = last?.number, found > number else {
                    throw .damaged("the segment of turn \(segment.firstTurn) lacks turns")
                }
                number = found
            }
        }
        let packed = last?.number ?? 0
        try check("turn", "\(select: .turns) ORDER BY number", .number) { statement in
            let turn = Turn(statement)
            return (turn.number <= packed || isNext(turn)) && turn.fits(statement.checksum)
        }
        return last
    }

    /// Hands over each segment of the history.
    private func packed(
        _ take: (SegmentReader, Segment) throws(StoreError) -> Void
    ) throws(StoreError) {
        let segments = try SegmentReader(connection)
        defer { segments.finalize() }
        var number = Int64.min
        while let segment = try segments.segment(notBefore: number) {
            try take(segments, segment)
            number = segment.lastTurn + 1
        }
    }

    /// Walks through a table. Throws `StoreError.damaged` at the first row for which `isRight` says
    /// no.
    private func check(
        _ what: String, _ sql: SQL, _ number: StoreColumn,
        _ isRight: (Statement) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let select = try Statement(connection, sql)
        defer { select.finalize() }
        while try select.next() {
            guard try isRight(select) else {
                throw .damaged("\(what) \(select.integer(number)) is not as it was written")
            }
        }
    }

    /// Checks that there is a checkpoint, or all turns, as a start needs.
    /// - Throws: `StoreError` if there is neither, or a checkpoint is damaged.
    private static func checkBase(_ path: String) throws(StoreError) {
        do throws(ExportError) {
            let reader = try ExportReader(path: path, mindsErasures: false)
            var newest: EngineCheckpoint?
            for checkpoint in try reader.checkpoints() {
                newest = checkpoint
                guard try reader.engine(of: checkpoint) != nil else {
                    throw .damaged(path: path, "the checkpoint of turn \(checkpoint.turn)")
                }
            }
            let first = try reader.turn(notBefore: .min)?.number
            guard newest != nil || first == 1 else {
                throw .damaged(path: path, "no checkpoint, and its first turns are cut")
            }
        } catch {
            throw .damaged("\(error)")
        }
    }
}
