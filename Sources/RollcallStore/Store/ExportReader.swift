import CSQLite
import Glibc
import RollcallCore

/// Reads a store's history through a read-only connection: of a server that runs, or of none.
///
/// Everything is read in pieces, copied and let go: no piece's transaction lasts longer than a
/// second (J8), so the log can be cut behind it, and ingest never waits. The store's lock is
/// left to whoever serves.
package final class ExportReader {
    /// The longest time that a piece may last, with the time of one row more.
    private static let pieceMax = Duration.milliseconds(200)
    /// Bytes of a piece's bodies, with those of one row more.
    private static let pieceBytes = 4 << 20
    /// Rows between looks at the clock.
    private static let rowsALook = 64

    package let path: String
    private let statements: ExportStatements
    private let segments: SegmentReader
    /// Erasures that were known at the beginning: none of them waits.
    private var lastErasure: Int64 = 0
    private let mindsErasures: Bool

    /// Opens the store at `path`, as `Journal` made it. Throws `ExportError` if it cannot be read,
    /// is empty, older or damaged, or, if that is minded, somebody is being erased.
    package init(path given: String, mindsErasures: Bool) throws(ExportError) {
        self.mindsErasures = mindsErasures
        let opened: (path: String, connection: SQLiteConnection, found: JournalSchema.Found)
        do throws(StoreError) {
            let path = try StoreFile.resolve(given)
            let connection = try SQLiteConnection(path: path, access: .readOnly)
            try JournalSchema.guardConnection(connection)
            opened = (path, connection, try JournalSchema.inspect(connection))
        } catch {
            throw Self.explained(error, given)
        }
        path = opened.path
        switch opened.found {
        case .current: break
        case .empty: throw .nothing(path: path, "empty: nothing was ever stored")
        case .older(let version): throw .older(path: path, version: version)
        }
        do throws(StoreError) {
            try JournalSchema.applySettings(opened.connection, access: .readOnly)
            for table in RowChecksum.Table.small {
                try RowChecksum.check(table, opened.connection)
            }
            try SegmentTable.check(opened.connection)
            statements = try ExportStatements(opened.connection)
            segments = try SegmentReader(opened.connection)
            lastErasure = try statements.lastErasure.one()
        } catch {
            throw Self.explained(error, given)
        }
        try refuseErasing()
    }

    /// True if the file at `path` is a database: asked of SQLite itself, since to close another
    /// descriptor of it would drop the locks of a server in this very process.
    package static func isDatabase(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size >= 512
        else { return false }
        do throws(StoreError) {
            let connection = try SQLiteConnection(
                path: try StoreFile.resolve(path), access: .readOnly)
            try JournalSchema.guardConnection(connection)
            _ = try connection.integer("PRAGMA schema_version")
            return true
        } catch {
            guard case .sqlite(let failure) = error else { return false }
            return failure.code != SQLITE_NOTADB
        }
    }

    /// Of a file that only a writer could recover SQLite says no more than that it cannot open it.
    private static func explained(_ error: StoreError, _ path: String) -> ExportError {
        if access(path, R_OK) != 0 { return .unreadable(path: path, errno: errno) }
        guard case .sqlite(let failure) = error,
            failure.code == SQLITE_CANTOPEN || failure.code == SQLITE_READONLY
        else { return .store(error) }
        return .needsRecovery(path: path)
    }

    private func read<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(ExportError) -> Value {
        do throws(StoreError) { return try body() } catch { throw Self.explained(error, path) }
    }

    // MARK: - Erasures

    /// Refuses to export while somebody is being erased: what is to go is still in rows and
    /// checkpoints. Throws `ExportError` if that is so and minded, or the store cannot be read.
    private func refuseErasing() throws(ExportError) {
        guard mindsErasures else { return }
        let count = try read { () throws(StoreError) in try statements.erasing.one() }
        if count > 0 { throw .erasing(path: path, people: count) }
    }

    /// Checks that nobody was erased since it was opened: their items were read. Throws
    /// `ExportError` if somebody was, or is being erased and that is minded.
    package func checkErasures() throws(ExportError) {
        let last = try read { () throws(StoreError) in try statements.lastErasure.one() }
        if last > lastErasure, mindsErasures { throw .erased(path: path) }
        // A repeated one may have been opened again.
        try refuseErasing()
    }

    // MARK: - Turns

    /// Returns the number of the newest turn, 0 without any. Throws `ExportError` if the store
    /// cannot be read.
    package func lastTurnNumber() throws(ExportError) -> Int64 {
        try read { () throws(StoreError) in try statements.lastTurn.one() }
    }

    /// Returns the turn of a number, or the next one; nil behind the last. Throws `ExportError` if
    /// the store cannot be read.
    package func turn(notBefore number: Int64) throws(ExportError) -> Turn? {
        try read { () throws(StoreError) in
            try segments.turn(notBefore: number, or: statements.turnAt)
        }
    }

    /// Returns the last turn up to `last` whose wall is not behind `time`; nil if none is. Walls
    /// rise with the numbers but for one that was set back. Throws `ExportError` if the store
    /// cannot be read.
    package func lastTurn(notAfter time: Timestamp, upTo last: Int64) throws(ExportError) -> Turn? {
        guard let oldest = try turn(notBefore: .min) else { return nil }
        var (low, high) = (oldest.number, last)
        var best: Turn?
        while low <= high {
            let middle = low + (high - low) / 2
            guard let turn = try turn(notBefore: middle), turn.number <= high else {
                high = middle - 1
                continue
            }
            if turn.wallMilliseconds <= time.milliseconds {
                best = turn
                low = turn.number + 1
            } else {
                high = middle - 1
            }
        }
        return best
    }

    /// Returns the next turns behind `number`, up to `last`. Throws `ExportError` if one is damaged
    /// or cannot be read.
    package func turns(after number: Int64, through last: Int64) throws(ExportError) -> [Turn] {
        var found: [Turn] = []
        let select = statements.turns
        var damaged: Int64?
        try piece(select, [.number: number, .last: last]) {
            let turn = Turn(select)
            if !turn.fits(select.checksum) { damaged = damaged ?? turn.number }
            found.append(turn)
            return 48
        }
        if let damaged { throw .damaged(path: path, "turn \(damaged) is not as it was written") }
        if found.first?.number == number + 1 { return found }
        // They were packed, or are gone.
        let packed = try read { () throws(StoreError) in try segments.turns(after: number) }
        return packed.isEmpty ? found : packed.filter { $0.number <= last }
    }

    // MARK: - Rows and decisions

    /// Returns the next rows from `id` on, up to `last`. Throws `ExportError` if one is damaged or
    /// cannot be read.
    package func rows(from id: Int64, through last: Int64) throws(ExportError) -> ExportRows {
        var found = ExportRows()
        let select = statements.rows
        do throws(ExportError) {
            try piece(select, [.first: id, .last: last]) { () throws(StoreError) in
                guard JournalRow(select).begins(by: last) else { return 0 }
                let stored = try JournalRow.whole(select)
                var group = RowGroup(stored)
                while let row = try group.next() {
                    guard row.id >= id, row.id <= last else { continue }
                    found.append(id: row.id, kind: row.kind, responder: row.responder, row.body)
                }
                return stored.body.count + 32
            }
        } catch .store(.damaged(let what)) {
            throw .damaged(path: path, what)
        }
        if found.nextID == id { return found }
        var packed = ExportRows()
        let isPacked = try read { () throws(StoreError) in
            try segments.rows(from: id, through: last) { row in
                packed.append(
                    id: row.id, kind: row.kind, responder: row.responder, row.body)
            }
        }
        return isPacked ? packed : found
    }

    /// Returns the next decisions from `id` on that a replay prints, with the number behind the
    /// last that was looked at; none at the end of the table. Throws `ExportError` if one is
    /// damaged or cannot be read.
    package func decisions(
        from id: Int64
    ) throws(ExportError) -> (found: [StoredDecision], next: Int64) {
        var found: [StoredDecision] = []
        var next = id
        var damaged: Int64?
        let select = statements.decisions
        try piece(select, [.id: id]) {
            let row = DecisionRow(select)
            next = row.id + 1
            guard row.fits(select.checksum),
                let decision = DecisionCode.decision(row)
            else {
                damaged = damaged ?? row.id
                return 0
            }
            found.append(StoredDecision(turn: row.turn, decision: decision))
            return row.body.count + 64
        }
        if let damaged {
            throw .damaged(path: path, "decision \(damaged) makes no sense")
        }
        return (found, next)
    }

    /// Returns the id of the first decision of a turn behind `turn`, or one behind the last. The
    /// table has no index by turn, but turns rise with ids. Throws `ExportError` if the store
    /// cannot be read.
    package func firstDecision(afterTurn turn: Int64) throws(ExportError) -> Int64 {
        try read { () throws(StoreError) in
            var (low, high) = (Int64(0), try statements.lastDecision.one() + 1)
            while low < high {
                let middle = low + (high - low) / 2
                let found = try statements.decisionAt.first([.id: middle]) {
                    (row) throws(StoreError) in
                    let found = DecisionRow(row)
                    guard found.fits(row.checksum) else {
                        throw .damaged("decision \(found.id) is not as it was written")
                    }
                    return (id: found.id, turn: found.turn)
                }
                if let found, found.turn <= turn {
                    low = found.id + 1
                } else {
                    high = middle
                }
            }
            return low
        }
    }

    /// Throws `ExportError.cut` if retention may have taken away what was just read, or was to be:
    /// of `turn` and behind it, from row `row` on.
    ///
    /// It cuts up to a checkpoint: first it gives up all before that one, then it takes rows from
    /// the oldest on, then decisions.
    package func checkUncut(turn: Int64, row: Int64) throws(ExportError) {
        let (oldestRow, oldestCheckpoint) = try read { () throws(StoreError) in
            (try statements.oldestRow.one(), try statements.oldestCheckpoint.one())
        }
        if oldestRow > 0, oldestRow <= row { return }
        if oldestCheckpoint > 0, oldestCheckpoint < turn { return }
        throw .cut(path: path, turn: turn)
    }

    // MARK: - Checkpoints

    /// Returns all checkpoints that are complete, the oldest first. Throws `ExportError` if they
    /// cannot be read.
    package func checkpoints() throws(ExportError) -> [EngineCheckpoint] {
        var found: [EngineCheckpoint] = []
        let select = statements.checkpoints
        try piece(select) {
            found.append(EngineCheckpoint(select))
            return 0
        }
        return found
    }

    /// Returns the state of a checkpoint; nil if it is damaged, or was given up meanwhile. Throws
    /// `ExportError` if the store cannot be read.
    package func engine(of checkpoint: EngineCheckpoint) throws(ExportError) -> Engine? {
        guard checkpoint.engineVersion <= Engine.version else { return nil }
        var reader = CheckpointReader(version: checkpoint.engineVersion)
        for index in 0..<max(0, checkpoint.slices) {
            let slice = try read { () throws(StoreError) in
                try statements.slice.first([.turn: checkpoint.turn, .slice: index]) { row in
                    let slice = SliceRow(row, engineVersion: checkpoint.engineVersion)
                    return slice.fits(row.checksum) ? Array(slice.body) : nil
                }
            }
            guard let slice = slice.flatMap({ $0 }) else { return nil }
            reader.take(slice)
        }
        return reader.finish()
    }

    // MARK: - Parts

    /// Returns the bytes of the file. Throws `ExportError` if the store cannot be read.
    package func byteCount() throws(ExportError) -> Int64 {
        try read { () throws(StoreError) in
            try statements.pageCount.one() * statements.pageSize.one()
        }
    }

    /// Steps through a statement until its end or until the piece is large enough; `take` says how
    /// many bytes it copied. Throws `ExportError` if it cannot be read.
    private func piece(
        _ select: Statement, _ arguments: Arguments = [:], _ take: () throws(StoreError) -> Int
    ) throws(ExportError) {
        try read { () throws(StoreError) in
            try select.bind(arguments)
            defer { select.reset() }
            let end = ContinuousClock.now + Self.pieceMax
            var (rows, bytes) = (0, 0)
            while try select.next() {
                bytes += try take()
                rows += 1
                if bytes >= Self.pieceBytes { return }
                if rows % Self.rowsALook == 0, ContinuousClock.now >= end { return }
            }
        }
    }
}

/// A decision as it was stored.
package struct StoredDecision {
    package var turn: Int64
    package var decision: Decision
}

/// Rows of the journal, copied.
package struct ExportRows {
    private struct Row {
        var id: Int64
        var kind: UInt8
        var responder: Int64
        var body: Range<Int>
    }

    private var rows: [Row] = []
    private var bytes: [UInt8] = []
    private var next = 0

    package init() {}

    package var isEmpty: Bool { next == rows.count }

    /// The number of the next row; nil at the end.
    package var nextID: Int64? { next < rows.count ? rows[next].id : nil }

    mutating func append(id: Int64, kind: UInt8, responder: Int64, _ body: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(contentsOf: body)
        rows.append(Row(id: id, kind: kind, responder: responder, body: start..<bytes.count))
    }

    /// Lets `take` have the next row.
    package mutating func takeNext<Value>(_ take: (JournalRow) -> Value) -> Value {
        let row = rows[next]
        next += 1
        return bytes.withUnsafeBytes { bytes in
            take(
                JournalRow(
                    id: row.id, kind: row.kind, responder: row.responder, previous: 0,
                    body: UnsafeRawBufferPointer(rebasing: bytes[row.body])))
        }
    }
}
