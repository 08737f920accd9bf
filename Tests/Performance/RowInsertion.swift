import CSQLite
import Glibc
import RollcallCore

/// The bare part of the journal: SQLite inserting the rows that the product stores for the same
/// batches, in the same table, with WAL and synchronous=FULL, and nothing else.
struct RowInsertion {
    /// Rows in each transaction.
    let rowsPerTransaction: Int
    /// Batches as NDJSON, whose rows are inserted over and over; nil takes `BatchSource`'s.
    var batches: [UInt8]?

    /// Its name in reports.
    var title: String {
        "SQLite, \(rowsPerTransaction) row\(rowsPerTransaction == 1 ? "" : "s") a commit"
    }

    /// Inserts into a new database in `folder`. The figures are per row; its latencies are those
    /// of transactions.
    func run(
        in folder: String, warmUp: Nanoseconds, measured: Nanoseconds
    ) throws(BenchmarkError) -> LoadStats {
        let rows = try JournaledRows(batches ?? Self.standardBatches())
        let database = try RowDatabase(path: "\(folder)/rows.db")
        var id: Int64 = 0
        let begin = Nanoseconds.now() + warmUp
        while Nanoseconds.now() < begin { try insert(rows, into: database, after: &id) }

        let first = id
        var histogram = LatencyHistogram()
        let processorBegin = Nanoseconds.now(of: CLOCK_PROCESS_CPUTIME_ID)
        let start = Nanoseconds.now()
        var last = start
        while last < start + measured {
            try insert(rows, into: database, after: &id)
            let now = Nanoseconds.now()
            histogram.record(now - last)
            last = now
        }
        let processor = Nanoseconds.now(of: CLOCK_PROCESS_CPUTIME_ID) - processorBegin
        guard let latency50 = histogram.quantile(0.5), let latency99 = histogram.quantile(0.99)
        else { throw .sqlite("no transaction within \(measured.seconds) s") }
        return LoadStats(
            batchesPerSecond: Double(id - first) / (last - start).seconds,
            serverTimePerBatch: Nanoseconds(count: processor.count / (id - first)),
            generatorShare: 0, latency50: latency50, latency99: latency99)
    }

    private static func standardBatches() -> [UInt8] {
        var source = BatchSource()
        return source.body(batches: 1000)
    }

    private func insert(
        _ rows: JournaledRows, into database: RowDatabase, after id: inout Int64
    ) throws(BenchmarkError) {
        try database.begin()
        for _ in 0..<rowsPerTransaction {
            id += 1
            try database.insert(id: id, body: rows.body(Int(id % Int64(rows.count))))
        }
        try database.commit()
    }
}

/// What the product stores of some batches, by its own scanner.
private struct JournaledRows {
    private let items: ItemList

    init(_ body: [UInt8]) throws(BenchmarkError) {
        let result: ScanResult
        do throws(ScanError) {
            result = try ItemScanner.scan(body.span, kind: .batch, format: .lines)
        } catch {
            throw .answer("the scanner refuses the benchmark's batches: \(error)")
        }
        guard result.items.count > 0, result.rejected.isEmpty, result.problems.isEmpty else {
            throw .answer("the scanner finds fault with the benchmark's batches")
        }
        items = result.items
    }

    var count: Int { items.count }

    func body(_ index: Int) -> ArraySlice<UInt8> { items.bytes[items.range(of: index)] }
}

/// A database with the journal's table, as fast as it may be: it is the reference.
private final class RowDatabase {
    private let connection: OpaquePointer
    private var beginning, insertion, commitment: OpaquePointer?
    private var commits = 0

    init(path: String) throws(BenchmarkError) {
        unlink(path)
        unlink(path + "-wal")
        unlink(path + "-shm")
        var opened: OpaquePointer?
        let code = sqlite3_open(path, &opened)
        guard code == SQLITE_OK, let opened else { throw .sqlite("open \(path): \(code)") }
        connection = opened
        for sql in Self.settings { try run(sql) }
        beginning = try prepare("BEGIN IMMEDIATE")
        insertion = try prepare(
            "INSERT INTO journal(id, kind, responder, previous, body) VALUES(?, ?, ?, ?, ?)")
        commitment = try prepare("COMMIT")
    }

    deinit {
        for statement in [beginning, insertion, commitment] { sqlite3_finalize(statement) }
        sqlite3_close(connection)
    }

    // The log moves into the file each 64 MiB only: a reference takes its ease.
    private static let settings = [
        "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA cache_size = -8192",
        "PRAGMA wal_autocheckpoint = 16384",
        """
        CREATE TABLE journal(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL,
            responder INTEGER NOT NULL, previous INTEGER NOT NULL, body BLOB NOT NULL)
        """,
    ]

    func begin() throws(BenchmarkError) { try step(beginning) }

    func insert(id: Int64, body: ArraySlice<UInt8>) throws(BenchmarkError) {
        sqlite3_bind_int64(insertion, 1, id)
        sqlite3_bind_int64(insertion, 2, 0x81)
        sqlite3_bind_int64(insertion, 3, id % Int64(BatchSource.responders))
        sqlite3_bind_int64(insertion, 4, max(0, id - Int64(BatchSource.responders)))
        let code = body.withUnsafeBytes { bytes in
            // The bytes stay where they are until the step is over.
            sqlite3_bind_blob(
                insertion, 5, bytes.baseAddress, Int32(bytes.count), rollcall_sqlite_static())
            return sqlite3_step(insertion)
        }
        sqlite3_reset(insertion)
        guard code == SQLITE_DONE else { throw failure("insert") }
    }

    func commit() throws(BenchmarkError) { try step(commitment) }

    private func run(_ sql: String) throws(BenchmarkError) {
        guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    private func prepare(_ sql: String) throws(BenchmarkError) -> OpaquePointer? {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
            throw failure(sql)
        }
        return statement
    }

    private func step(_ statement: OpaquePointer?) throws(BenchmarkError) {
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        guard code == SQLITE_DONE else { throw failure("step") }
    }

    private func failure(_ call: String) -> BenchmarkError {
        .sqlite("\(call): \(String(cString: sqlite3_errmsg(connection)))")
    }
}
