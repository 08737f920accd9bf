import CSQLite
import Glibc

/// What can go wrong with the store, with the facts an operator needs.
///
/// SQL stands in it as it was prepared, with its question marks; bound values never do.
package enum StoreError: Error, Equatable {
    /// SQLite refused a call.
    case sqlite(SQLiteFailure)
    /// The system refused a call on one of the store's files.
    case file(call: String, path: String, errno: Int32)
    /// Another process holds the lock of this store; `process` is its id, if it left one.
    case secondInstance(path: String, process: Int32?)
    /// The file is a database, but of another application.
    case foreignFile(path: String, applicationID: Int64, version: Int64)
    /// The file was written by a Rollcall that is newer than this one.
    case newerVersion(path: String, found: Int64, known: Int64)
    /// A setting did not hold when it was read back.
    case setting(name: String, wanted: String, found: String)
    /// The store's content contradicts itself.
    case damaged(String)

    /// What the caller has to do about it.
    package enum Disposition: Equatable {
        /// Roll back, keep the turn whole and try it again later (J6): nothing was harmed.
        case recoverable(Recoverable)
        /// Do not try again with this object. `.io` means exit 74.
        case fatal(Fatal)
    }

    /// Causes that can go away without an operator restarting anything.
    package enum Recoverable: Equatable {
        /// No space, quota or file size left.
        case full
        /// Somebody outside holds a lock.
        case busy
        /// The file or its file system takes no writes.
        case readOnly
        /// No memory.
        case memory
    }

    /// Causes that trying again cannot remove.
    package enum Fatal: Equatable {
        /// The disk failed: what it holds now is unknown.
        case io
        /// The file is damaged, or no database.
        case corrupt
        /// The file was renamed or unlinked while open.
        case moved
        /// The file or its directory cannot be opened.
        case cannotOpen
        /// See ``StoreError/secondInstance(path:process:)``.
        case secondInstance
        /// See ``StoreError/foreignFile(path:applicationID:version:)``.
        case foreignFile
        /// See ``StoreError/newerVersion(path:found:known:)``.
        case newerVersion
        /// See ``StoreError/setting(name:wanted:found:)``.
        case setting
        /// Rollcall's own mistake: a wrong statement, a number used twice.
        case defect
    }

    /// Recoverable or fatal, and why.
    package var disposition: Disposition {
        switch self {
        case .sqlite(let failure): failure.disposition
        case .file("fsync", _, _): .fatal(.io)
        case .file(_, _, let errno): Self.disposition(errno: errno, otherwise: .cannotOpen)
        case .secondInstance: .fatal(.secondInstance)
        case .foreignFile: .fatal(.foreignFile)
        case .newerVersion: .fatal(.newerVersion)
        case .setting: .fatal(.setting)
        case .damaged: .fatal(.corrupt)
        }
    }

    /// Tells a full or read-only file system from a failing one by the system's error number.
    fileprivate static func disposition(errno: Int32, otherwise: Fatal) -> Disposition {
        switch errno {
        case ENOSPC, EDQUOT, EFBIG: .recoverable(.full)
        case EROFS, EACCES, EPERM: .recoverable(.readOnly)
        default: .fatal(otherwise)
        }
    }
}

/// A result code of SQLite with its circumstances.
package struct SQLiteFailure: Equatable, Sendable {
    /// The extended result code; its low byte is the primary one.
    package var extendedCode: Int32
    /// The system's `errno` behind an I/O error, 0 for none.
    package var systemError: Int32
    /// SQLite's own English words.
    package var message: String
    /// The statement as prepared, or the name of the call.
    package var sql: String

    /// The primary result code, such as `SQLITE_FULL`.
    package var code: Int32 { extendedCode & 0xff }

    fileprivate var disposition: StoreError.Disposition {
        switch code {
        case SQLITE_FULL: .recoverable(.full)
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .recoverable(.busy)
        case SQLITE_READONLY:
            extendedCode == rollcall_readonly_dbmoved ? .fatal(.moved) : .recoverable(.readOnly)
        case SQLITE_NOMEM: .recoverable(.memory)
        case SQLITE_CORRUPT, SQLITE_NOTADB: .fatal(.corrupt)
        case SQLITE_CANTOPEN: StoreError.disposition(errno: systemError, otherwise: .cannotOpen)
        case SQLITE_IOERR: errorOfDisk
        default: .fatal(.defect)
        }
    }

    private var errorOfDisk: StoreError.Disposition {
        switch extendedCode {
        // After a failed fsync the kernel marks the lost pages clean, so a second fsync succeeds
        // without writing them ("Can Applications Recover from fsync Failures?", ATC'20):
        // whatever errno says, even ENOSPC, this is final (J6).
        case rollcall_ioerr_fsync, rollcall_ioerr_dir_fsync: .fatal(.io)
        case rollcall_ioerr_nomem: .recoverable(.memory)
        case rollcall_ioerr_corruptfs: .fatal(.corrupt)
        // SQLite reports ENOSPC of a write as SQLITE_FULL, but quota and file size limits, and
        // ENOSPC of the shared memory file, as I/O errors.
        case rollcall_ioerr_write, rollcall_ioerr_truncate, rollcall_ioerr_shmopen,
            rollcall_ioerr_shmsize:
            StoreError.disposition(errno: systemError, otherwise: .io)
        default: .fatal(.io)
        }
    }
}

extension StoreError: CustomStringConvertible {
    /// One sentence for the log: what failed, with which value, and what to do.
    package var description: String {
        switch self {
        case .sqlite(let failure):
            "\(failure.sql): \(failure.message) (SQLite \(failure.extendedCode), "
                + "errno \(failure.systemError)): \(advice)"
        case .file(let call, let path, let errno):
            "\(call) \(path): errno \(errno) (\(String(cString: strerror(errno)))): \(advice)"
        case .secondInstance(let path, let process):
            "\(path) is locked by \(process.map { "process \($0)" } ?? "another process"): "
                + "stop it, or give this one another storage.path"
        case .foreignFile(let path, let applicationID, let version):
            "\(path) is another application's database (application_id \(applicationID), "
                + "user_version \(version)): choose another storage.path"
        case .newerVersion(let path, let found, let known):
            "\(path) has store version \(found), this rollcall knows up to \(known): "
                + "run the newer rollcall, or restore a backup made before the upgrade"
        case .setting(let name, let wanted, let found):
            "PRAGMA \(name) reads \"\(found)\" after it was set, not \"\(wanted)\": "
                + "this SQLite library or file system cannot keep Rollcall's promises"
        case .damaged(let what): "\(what): \(advice)"
        }
    }

    private var advice: String {
        switch disposition {
        case .recoverable(.full): "free some space; it is tried again by itself"
        case .recoverable(.busy): "close what else has the file open; it is tried again by itself"
        case .recoverable(.readOnly): "make it writable; it is tried again by itself"
        case .recoverable(.memory): "it is tried again by itself"
        case .fatal(.io): "what the disk holds is unknown; check it, then start again"
        case .fatal(.corrupt): "put the file aside and restore a backup"
        case .fatal(.moved): "the file was renamed or deleted while open; put it back, start again"
        case .fatal(.cannotOpen): "check storage.path and its directory"
        default: "this is a mistake in rollcall, please report it"
        }
    }
}

/// The one owner of a SQLite handle. Not for two threads at once.
final class SQLiteConnection {
    /// Whether a connection may write.
    enum Access {
        case readWrite, readOnly
    }

    /// The file, as an absolute path.
    let path: String
    private var handle: OpaquePointer?

    /// Opens an existing file. `vfs` names SQLite's layer over the system; tests give one that fails.
    init(path: String, access: Access, vfs: String? = nil) throws(StoreError) {
        // SQLITE_OPEN_NOMUTEX: "The new database connection will use the "multi-thread" threading
        // mode." One thread at a time uses it, so locking every call would buy nothing.
        // No SQLITE_OPEN_CREATE: the file is made with mode 0600 before, and a reader makes none.
        let mode = access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        let flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, vfs)
        self.path = path
        handle = opened
        // "Whether or not an error occurs when it is opened, resources associated with the
        // database connection handle should be released by passing it to sqlite3_close()": deinit.
        guard code == SQLITE_OK else { throw failure(code, sql: "open \(path)") }
    }

    deinit {
        sqlite3_close(handle)
    }

    /// Closes the handle; fails as long as a statement of it lives.
    func close() throws(StoreError) {
        // "If the database connection is associated with unfinalized prepared statements …
        // then sqlite3_close() will leave the database connection open and return SQLITE_BUSY."
        try check(sqlite3_close(handle), sql: "close \(path)")
        handle = nil
    }

    /// False between BEGIN and its end. SQLite itself rolls back after some errors.
    var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    var changes: Int64 { sqlite3_changes64(handle) }

    /// How long a call waits for somebody else's lock; 0 does not wait.
    func setBusyTimeout(milliseconds: Int32) {
        sqlite3_busy_timeout(handle, milliseconds)
    }

    /// Sets one of the limits, such as `SQLITE_LIMIT_LENGTH`.
    func setLimit(_ limit: Int32, to value: Int32) {
        sqlite3_limit(handle, limit, value)
    }

    /// Turns an `SQLITE_DBCONFIG_…` option on or off and makes sure it is.
    func configure(_ option: Int32, on: Bool, name: String) throws(StoreError) {
        var after: Int32 = -1
        let code = rollcall_sqlite_configure(handle, option, on ? 1 : 0, &after)
        try check(code, sql: name)
        guard after == (on ? 1 : 0) else {
            throw .setting(name: name, wanted: on ? "1" : "0", found: "\(after)")
        }
    }

    /// Runs a statement once, whatever rows it returns.
    func run(_ sql: StaticString) throws(StoreError) {
        try Statement(self, sql).run()
    }

    /// The first column of the first row as text, nil without a row.
    func text(_ sql: StaticString) throws(StoreError) -> String? {
        let statement = try Statement(self, sql)
        return try statement.next() ? statement.text(at: 0) : nil
    }

    /// The first column of the first row as an integer, 0 without a row or for NULL.
    func integer(_ sql: StaticString) throws(StoreError) -> Int64 {
        try Statement(self, sql).one()
    }

    /// Moves WAL frames into the file; SQLite's result code is checked, busy is a result.
    func checkpointWAL(_ mode: WALCheckpoint.Mode) throws(StoreError) -> WALCheckpoint {
        let number = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        var frames: Int32 = 0
        var moved: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(handle, "main", number, &frames, &moved)
        if code & 0xff != SQLITE_BUSY { try check(code, sql: "wal_checkpoint(\(mode))") }
        let isBusy = code != SQLITE_OK
        return WALCheckpoint(isBusy: isBusy, frames: Int(frames), checkpointed: Int(moved))
    }

    fileprivate func prepare(_ sql: StaticString) throws(StoreError) -> OpaquePointer? {
        var statement: OpaquePointer?
        let text = UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
        // "The SQLITE_PREPARE_PERSISTENT flag is a hint to the query planner that the prepared
        // statement will be retained for a long time and probably reused many times."
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(sqlite3_prepare_v3(handle, text, -1, flags, &statement, nil), sql: "\(sql)")
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
/// SQL is a `StaticString`, so none can be put together at run time.
final class Statement {
    private let connection: SQLiteConnection
    private let sql: StaticString
    private var handle: OpaquePointer?

    /// Prepares `sql`, one statement.
    init(_ connection: SQLiteConnection, _ sql: StaticString) throws(StoreError) {
        handle = try connection.prepare(sql)
        self.connection = connection
        self.sql = sql
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Frees the statement before its owner goes, so that the connection can be closed.
    func finalize() {
        // "Invoking sqlite3_finalize() on a NULL pointer is a harmless no-op", so deinit may too.
        sqlite3_finalize(handle)
        handle = nil
    }

    /// Binds an integer. Parameters count from 1.
    func bind(_ value: Int64, at index: Int32) {
        let code = sqlite3_bind_int64(handle, index, value)
        precondition(code == SQLITE_OK, "parameter \(index) of a closed or running statement")
    }

    /// Binds text, copied.
    func bind(_ text: String, at index: Int32) throws(StoreError) {
        let bytes = Int32(clamping: text.utf8.count)
        try check(sqlite3_bind_text(handle, index, text, bytes, rollcall_sqlite_transient()))
    }

    /// Binds bytes *without* a copy: they must stay in place until `run()` has returned.
    func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(StoreError) {
        // An empty Swift buffer may have no address, and if it "is a NULL pointer then the fourth
        // parameter is ignored and the end result is the same as sqlite3_bind_null()".
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            try check(sqlite3_bind_zeroblob(handle, index, 0))
            return
        }
        let count = UInt64(bytes.count)
        try check(sqlite3_bind_blob64(handle, index, start, count, rollcall_sqlite_static()))
    }

    /// Runs to the end, passing over rows, and resets. After an error it is reset too.
    func run() throws(StoreError) {
        while try next() {}
    }

    /// The first column of the first row as an integer, 0 without a row or for NULL; then resets.
    func one() throws(StoreError) -> Int64 {
        defer { reset() }
        return try next() ? integer(at: 0) : 0
    }

    /// Goes to the next row; false after the last, and the statement is reset then.
    func next() throws(StoreError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            // Taken before the reset, which is a call of its own and may set another message.
            let failure = connection.failure(code, sql: "\(sql)")
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

    /// An integer of the current row. Columns count from 0.
    func integer(at column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// True for a column that holds an integer rather than bytes.
    func isInteger(at column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_INTEGER
    }

    /// Text of the current row, empty for NULL.
    func text(at column: Int32) -> String {
        sqlite3_column_text(handle, column).map { String(cString: $0) } ?? ""
    }

    /// Bytes of the current row, in SQLite's memory: gone with the next step or reset.
    func bytes(at column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    private func check(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_OK else { throw connection.failure(code, sql: "\(sql)") }
    }
}
