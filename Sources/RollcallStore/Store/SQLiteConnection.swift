import CSQLite
import Glibc

/// A value of a row or of an argument; bytes are in SQLite's memory.
enum SQLiteValue {
    case null
    case integer(Int64)
    case real(Double)
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
}

/// The one owner of a SQLite handle. Not for two threads at once.
package final class SQLiteConnection {
    /// An `Access` says whether a connection may write.
    package enum Access {
        case readWrite, readOnly
    }

    /// The file, as an absolute path.
    package let path: String
    private var handle: OpaquePointer?

    /// Opens an existing file. `vfs` names SQLite's layer over the system; tests give one that
    /// fails. Throws `StoreError` if SQLite refuses.
    package init(path: String, access: Access, vfs: String? = nil) throws(StoreError) {
        // SQLITE_OPEN_NOMUTEX: "The new database connection will use the "multi-thread" threading
        // mode." One thread at a time uses it, so locking every call would buy nothing.
        // No SQLITE_OPEN_CREATE: the file is made with mode 0600 before, and a reader makes none.
        let mode = access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        let flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // It can be said before the first call only.
        _ = SQLiteMemory.isUncounted
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, vfs)
        self.path = path
        handle = opened
        // "Whether or not an error occurs when it is opened, resources associated with the
        // database connection handle should be released by passing it to sqlite3_close()": deinit.
        guard code == SQLITE_OK else { throw failure(code, sql: "open \(path)") }
        // SQLITE_DIRECTONLY: "the function may only be invoked from top-level SQL", so that the
        // store stays a database that any SQLite can write.
        let kind = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        for (name, function) in [
            ("row_checksum", Self.rowChecksum), ("row_checksum_8", Self.rowChecksumOfVersion8),
        ] {
            try check(
                sqlite3_create_function_v2(opened, name, -1, kind, nil, function, nil, nil, nil),
                sql: name)
        }
    }

    private typealias Function =
        @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    /// The SQL function `row_checksum`; see `RowChecksum`.
    private static let rowChecksum: Function = {
        SQLiteConnection.sum($0, $1, $2, mayEnd: true)
    }
    private static let rowChecksumOfVersion8: Function = {
        SQLiteConnection.sum($0, $1, $2, mayEnd: false)
    }

    @inline(__always)
    private static func sum(
        _ context: OpaquePointer?, _ count: Int32,
        _ arguments: UnsafeMutablePointer<OpaquePointer?>?, mayEnd: Bool
    ) {
        guard count > 0, let arguments,
            let number = UInt64(exactly: sqlite3_value_int64(arguments[0])),
            let table = RowChecksum.Table(rawValue: number)
        else { return sqlite3_result_error_code(context, SQLITE_MISUSE) }
        let sum = RowChecksum.of(table, columns: count - 1, mayEnd: mayEnd) {
            SQLiteConnection.value(arguments[Int($0) + 1])
        }
        sqlite3_result_int64(context, sum)
    }

    fileprivate static func value(_ value: OpaquePointer?) -> SQLiteValue {
        let type = sqlite3_value_type(value)
        switch type {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
        default:
            // In this order: the length is that of the form which was asked for last.
            let start = sqlite3_value_blob(value)
            let count = Int(sqlite3_value_bytes(value))
            let bytes = UnsafeRawBufferPointer(start: start, count: count)
            return type == SQLITE_TEXT ? .text(bytes) : .blob(bytes)
        }
    }

    deinit {
        sqlite3_close(handle)
    }

    /// Closes the handle. Throws `StoreError` as long as a statement of it lives.
    package func close() throws(StoreError) {
        // "If the database connection is associated with unfinalized prepared statements …
        // then sqlite3_close() will leave the database connection open and return SQLITE_BUSY."
        try check(sqlite3_close(handle), sql: "close \(path)")
        handle = nil
    }

    /// False between BEGIN and its end. SQLite itself rolls back after some errors.
    var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    var changes: Int64 { sqlite3_changes64(handle) }

    /// Sets how long a call waits for somebody else's lock; 0 does not wait.
    func setBusyTimeout(milliseconds: Int32) {
        sqlite3_busy_timeout(handle, milliseconds)
    }

    /// Sets one of the limits, such as `SQLITE_LIMIT_LENGTH`.
    func setLimit(_ limit: Int32, to value: Int32) {
        sqlite3_limit(handle, limit, value)
    }

    /// Turns an `SQLITE_DBCONFIG_…` option on or off and makes sure it is. Throws `StoreError` if
    /// it is not.
    func configure(_ option: Int32, on: Bool, name: String) throws(StoreError) {
        var after: Int32 = -1
        let code = rollcall_sqlite_configure(handle, option, on ? 1 : 0, &after)
        try check(code, sql: name)
        guard after == (on ? 1 : 0) else {
            throw .setting(name: name, wanted: on ? "1" : "0", found: "\(after)")
        }
    }

    /// Runs a statement once, whatever rows it returns. Throws `StoreError` if SQLite refuses.
    package func run(_ sql: SQL) throws(StoreError) {
        try Statement(self, sql).run()
    }

    /// Copies the database as it stands into a file that is not there yet, compactly. Throws
    /// `StoreError` if SQLite refuses.
    package func copy(to path: String) throws(StoreError) {
        let statement = try Statement(self, "VACUUM INTO :body")
        try statement.bind(path, as: .body)
        try statement.run()
    }

    /// Returns the first column of the first row as text, nil without a row. Throws `StoreError` if
    /// SQLite refuses.
    package func text(_ sql: SQL) throws(StoreError) -> String? {
        let statement = try Statement(self, sql)
        return try statement.next() ? statement.text(at: 0) : nil
    }

    /// Returns the first column of the first row as an integer, 0 without a row or for NULL. Throws
    /// `StoreError` if SQLite refuses.
    package func integer(_ sql: SQL) throws(StoreError) -> Int64 {
        try Statement(self, sql).one()
    }

    /// Throws `StoreError.sqlite` if the file was renamed or deleted since it was opened: SQLite
    /// itself notices that in rollback mode only, and would go on to write where nobody will look.
    func checkPlace() throws(StoreError) {
        // "SQLITE_FCNTL_HAS_MOVED … interprets its argument as a pointer to an integer and it writes
        // a boolean into that integer depending on whether or not the file has been renamed, moved,
        // or deleted since it was first opened."
        var hasMoved: Int32 = 0
        try check(
            sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved),
            sql: "file control")
        guard hasMoved == 0 else {
            throw .sqlite(
                SQLiteFailure(
                    extendedCode: rollcall_readonly_dbmoved, systemError: 0,
                    message: "the file is not where it was opened", sql: "COMMIT"))
        }
    }

    /// A file that it has open.
    enum File {
        case store, log
    }

    /// Such a file as SQLite itself has it open, for looking at alone; nil if there is none now.
    func file(_ which: File) -> UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = which == .log ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER
        guard sqlite3_file_control(handle, "main", code, &file) == SQLITE_OK,
            file?.pointee.pMethods != nil
        else { return nil }
        return file
    }

    /// Moves WAL frames into the file; busy is a result. Throws `StoreError` if SQLite refuses
    /// otherwise.
    func checkpointWAL(_ mode: WALCheckpoint.Mode) throws(StoreError) -> WALCheckpoint {
        let number = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        var frames: Int32 = 0
        var moved: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(handle, "main", number, &frames, &moved)
        if code & 0xff != SQLITE_BUSY { try check(code, sql: "wal_checkpoint(\(mode))") }
        let isBusy = code != SQLITE_OK
        return WALCheckpoint(isBusy: isBusy, frames: Int(frames), checkpointed: Int(moved))
    }

    fileprivate func prepare(_ sql: SQL) throws(StoreError) -> OpaquePointer? {
        var statement: OpaquePointer?
        // "The SQLITE_PREPARE_PERSISTENT flag is a hint to the query planner that the prepared
        // statement will be retained for a long time and probably reused many times."
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(
            sqlite3_prepare_v3(handle, sql.description, -1, flags, &statement, nil),
            sql: sql.description)
        return statement
    }

    fileprivate func failure(_ code: Int32, sql: String) -> StoreError {
        // Of a COMMIT that failed sqlite3_system_errno() knows nothing (3.40.1); errno still does,
        // as no system call has failed since.
        var system = errno
        let known = sqlite3_system_errno(handle)
        if known != 0 || code & 0xff != SQLITE_IOERR { system = known }
        // Without a handle sqlite3_errmsg() has only "out of memory" to say.
        let text = handle == nil ? sqlite3_errstr(code) : sqlite3_errmsg(handle)
        let message = text.map { String(cString: $0) } ?? ""
        return .sqlite(
            SQLiteFailure(extendedCode: code, systemError: system, message: message, sql: sql))
    }

    private func check(_ code: Int32, sql: @autoclosure () -> String) throws(StoreError) {
        guard code == SQLITE_OK else { throw failure(code, sql: sql()) }
    }
}

/// The one owner of a prepared statement; it keeps its connection open.
///
/// Columns and parameters go by their names, whose places are found once: a row that is read or
/// written looks them up by number.
package final class Statement {
    private let connection: SQLiteConnection
    private let sql: SQL
    private var handle: OpaquePointer?
    /// The place of each name, -1 for none: columns count from 0, parameters from 1.
    private let columns, parameters: [Int32]
    /// Parameters that a run needs.
    let parameterCount: Int32
    /// Added to the places of parameters, for the next of many rows.
    var offset: Int32 = 0

    /// Prepares `sql`, one statement. Throws `StoreError` if SQLite refuses it.
    package init(_ connection: SQLiteConnection, _ sql: SQL) throws(StoreError) {
        let handle = try connection.prepare(sql)
        self.handle = handle
        self.connection = connection
        self.sql = sql
        parameterCount = sqlite3_bind_parameter_count(handle)
        columns = StoreColumn.places(0..<sqlite3_column_count(handle)) {
            sqlite3_column_name(handle, $0)
        }
        parameters = StoreColumn.places(1..<parameterCount + 1) {
            sqlite3_bind_parameter_name(handle, $0).map { $0 + 1 }
        }
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Frees the statement before its owner goes, so that the connection can be closed.
    package func finalize() {
        // "Invoking sqlite3_finalize() on a NULL pointer is a harmless no-op", so deinit may too.
        sqlite3_finalize(handle)
        handle = nil
    }

    /// Binds an integer.
    func bind(_ value: Int64, as name: StoreColumn) {
        let code = sqlite3_bind_int64(handle, parameter(name), value)
        precondition(code == SQLITE_OK, "\(name) of a closed or running statement")
    }

    /// Binds text, copied. Throws `StoreError` if SQLite refuses.
    func bind(_ text: String, as name: StoreColumn) throws(StoreError) {
        let bytes = Int32(clamping: text.utf8.count)
        try check(
            sqlite3_bind_text(handle, parameter(name), text, bytes, rollcall_sqlite_transient()))
    }

    /// Binds bytes *without* a copy: they must stay in place until `run()` has returned. Throws
    /// `StoreError` if SQLite refuses.
    func bind(_ bytes: UnsafeRawBufferPointer, as name: StoreColumn) throws(StoreError) {
        // An empty Swift buffer may have no address, and if it "is a NULL pointer then the fourth
        // parameter is ignored and the end result is the same as sqlite3_bind_null()".
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            try check(sqlite3_bind_zeroblob(handle, parameter(name), 0))
            return
        }
        let count = UInt64(bytes.count)
        try check(
            sqlite3_bind_blob64(handle, parameter(name), start, count, rollcall_sqlite_static()))
    }

    /// Binds bytes, copied. Throws `StoreError` if SQLite refuses.
    func bind(copying bytes: [UInt8], as name: StoreColumn) throws(StoreError) {
        let code = bytes.withUnsafeBytes {
            sqlite3_bind_blob64(
                handle, parameter(name), $0.baseAddress, UInt64($0.count),
                rollcall_sqlite_transient())
        }
        try check(code)
    }

    /// Runs to the end, passing over rows, and resets. After an error it is reset too. Throws
    /// `StoreError` if SQLite refuses a step.
    func run() throws(StoreError) {
        while try next() {}
    }

    /// Returns the first column of the first row as an integer, 0 without a row or for NULL; then
    /// resets. Throws `StoreError` if SQLite refuses a step.
    func one() throws(StoreError) -> Int64 {
        defer { reset() }
        return try next() ? sqlite3_column_int64(handle, 0) : 0
    }

    /// Goes to the next row; false after the last, and the statement is reset then. Throws
    /// `StoreError` if SQLite refuses the step.
    package func next() throws(StoreError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            // Taken before the reset, which is a call of its own and may set another message.
            let failure = connection.failure(code, sql: sql.description)
            sqlite3_reset(handle)
            throw failure
        }
        sqlite3_reset(handle)
        return false
    }

    /// Ends a walk that did not come to its end, and the read transaction with it.
    func reset() {
        sqlite3_reset(handle)
    }

    private func parameter(_ name: StoreColumn) -> Int32 {
        let place = parameters[Int(name.rawValue)]
        precondition(place > 0, "a parameter of the statement")
        return place + offset
    }

    private func place(_ column: StoreColumn) -> Int32 {
        let place = columns[Int(column.rawValue)]
        precondition(place >= 0, "a column of the statement")
        return place
    }

    /// An integer of the current row.
    package func integer(_ column: StoreColumn) -> Int64 {
        sqlite3_column_int64(handle, place(column))
    }

    /// True for a column that holds nothing.
    func isNull(_ column: StoreColumn) -> Bool {
        sqlite3_column_type(handle, place(column)) == SQLITE_NULL
    }

    /// True for a column that holds an integer rather than bytes.
    func isInteger(_ column: StoreColumn) -> Bool {
        sqlite3_column_type(handle, place(column)) == SQLITE_INTEGER
    }

    /// Columns of a row.
    var columnCount: Int32 { sqlite3_column_count(handle) }

    /// Whatever a column of the current row holds.
    func value(at column: Int32) -> SQLiteValue {
        // "Unprotected": fit for one thread at a time, as the connection is. Half the calls.
        SQLiteConnection.value(sqlite3_column_value(handle, column))
    }

    /// Text of the current row, empty for NULL.
    func text(_ column: StoreColumn) -> String { text(at: place(column)) }

    fileprivate func text(at place: Int32) -> String {
        sqlite3_column_text(handle, place).map { String(cString: $0) } ?? ""
    }

    /// Bytes of the current row, in SQLite's memory: gone with the next step or reset.
    func bytes(_ column: StoreColumn) -> UnsafeRawBufferPointer {
        let place = place(column)
        let start = sqlite3_column_blob(handle, place)
        let count = Int(sqlite3_column_bytes(handle, place))
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    private func check(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_OK else { throw connection.failure(code, sql: sql.description) }
    }
}
