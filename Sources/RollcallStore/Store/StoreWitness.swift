import CSQLite
import Glibc

/// Looks whether the store's files are still those that SQLite has open. SQLite itself does not: it
/// goes on in a log that was deleted, and writes behind the end of one that was cut.
///
/// It looks through SQLite's own descriptors, since to close one of ours would drop the locks that this
/// process has on the file. What it cannot see says nothing: that is no evidence.
struct StoreWitness {
    /// Bytes of a database's head, and of a log's.
    private static let headBytes = 100
    private static let logHeadBytes = 32
    /// The bytes that the log has for a page beside it.
    private static let frameHeadBytes = 24

    private let connection: SQLiteConnection
    private let logPath: String
    /// The number of the file that the log was at opening; nil if there was none to be seen.
    private let log: FileNumber?
    /// The greatest size that the store's file was seen to have.
    private var bytesMost: Int64 = 0
    /// The head's counter of changes, which never falls.
    private var changes: UInt32 = 0

    private struct FileNumber: Equatable {
        let device: dev_t
        let node: ino_t

        init(_ status: stat) { (device, node) = (status.st_dev, status.st_ino) }
    }

    /// For an open connection that has read something by now, of files as SQLite has just found them:
    /// what is done to them before the first look is seen by it.
    init(_ connection: SQLiteConnection) {
        self.connection = connection
        logPath = connection.path + "-wal"
        log = Self.status(logPath).map { FileNumber($0) }
        if case .bytes(let head) = read(.store, Self.headBytes) {
            changes = Self.number(24, 4, head)
        }
        bytesMost = size(.store) ?? 0
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    // MARK: - The log

    /// Bytes of the log that its index knows of; 0 if that cannot be seen. Well below a microsecond.
    var logBytes: Int {
        index().map { $0.frames * ($0.pageBytes + Self.frameHeadBytes) } ?? 0
    }

    /// Throws `StoreError.disturbed` if the log is not the one that SQLite writes, or holds less
    /// than its index says. Between transactions; some microseconds.
    func checkLog() throws(StoreError) {
        guard let log else { return }
        guard let status = Self.status(logPath), FileNumber(status) == log else {
            throw .disturbed(path: logPath, .logGone)
        }
        try checkLength(status)
    }

    /// Checks the log's length alone, also in a transaction.
    /// - Throws: `StoreError.disturbed` if it is shorter than its index says.
    func checkLogLength() throws(StoreError) {
        guard log != nil, let status = Self.status(logPath) else { return }
        try checkLength(status)
    }

    private func checkLength(_ status: stat) throws(StoreError) {
        guard let index = index(), index.frames > 0 else { return }
        let needed = Self.logHeadBytes + index.frames * (index.pageBytes + Self.frameHeadBytes)
        guard Int(status.st_size) >= needed else { throw .disturbed(path: logPath, .cut) }
    }

    /// The head of the log's index, which all who have the store open share (sqlite.org/walformat.html):
    /// "the number of valid and committed frames in the WAL file", the page's size, and "two salt values
    /// copied from the WAL file header … in the byte-order of the WAL file".
    private func index() -> (frames: Int, pageBytes: Int, salts: UInt64)? {
        guard let store = connection.file(.store), let methods = store.pointee.pMethods,
            methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap
        else { return nil }
        var region: UnsafeMutableRawPointer?
        // Mapped already, as we are in WAL mode: this hands out where.
        guard map(store, 0, 32768, 0, &region) == SQLITE_OK, let region else { return nil }
        let bytes = UnsafeRawBufferPointer(start: region, count: 48)
        let size = Int(bytes.load(fromByteOffset: 14, as: UInt16.self))
        return (
            Int(bytes.load(fromByteOffset: 16, as: UInt32.self)), size == 1 ? 65536 : size,
            bytes.load(fromByteOffset: 32, as: UInt64.self)
        )
    }

    // MARK: - All of it

    /// Throws `StoreError` if the store or its log was deleted, replaced, cut or overwritten since
    /// it was opened.
    mutating func check() throws(StoreError) {
        try connection.checkPlace()
        try checkLog()
        try checkLogHead()
        try checkHead()
    }

    /// Checks that the log begins as the index tells, or that the index tells of none.
    /// - Throws: `StoreError.disturbed` if it begins with something else.
    private func checkLogHead() throws(StoreError) {
        guard log != nil, let index = index(), index.frames > 0,
            case .bytes(let head) = read(.log, Self.logHeadBytes)
        else { return }
        // "Magic number. 0x377f0682 or 0x377f0683"
        let isLog = head.starts(with: [0x37, 0x7F, 0x06]) && head[3] & 0xFE == 0x82
        let salts = head.withUnsafeBytes {
            $0.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        }
        guard isLog, salts == index.salts else {
            throw .disturbed(path: logPath, .overwritten)
        }
    }

    private mutating func checkHead() throws(StoreError) {
        let head: [UInt8]
        switch read(.store, Self.headBytes) {
        case .bytes(let bytes): head = bytes
        case .tooShort: throw .disturbed(path: connection.path, .cut)
        case .unknown: return
        }
        func number(_ place: Int, _ count: Int) -> UInt32 { Self.number(place, count, head) }
        let changed = number(24, 4)
        guard Self.isOurs(head), changed >= changes else {
            throw .disturbed(path: connection.path, .overwritten)
        }
        changes = changed
        // A file may be shorter than its head says while only a part of the log is moved into it, and
        // it shrinks if somebody packs it; but not both.
        let pageBytes = Int64(number(16, 2) == 1 ? 65536 : number(16, 2))
        guard let bytes = size(.store) else { return }
        guard bytes >= bytesMost || bytes >= Int64(number(28, 4)) * pageBytes else {
            throw .disturbed(path: connection.path, .cut)
        }
        bytesMost = bytes
    }

    /// Returns true if the store's file begins as one that we serve, or cannot be read. SQLite
    /// itself does not look there as long as its log holds the first page.
    static func isHeadOurs(_ connection: SQLiteConnection) -> Bool {
        switch read(connection, .store, headBytes) {
        case .bytes(let head): isOurs(head)
        case .tooShort: false
        case .unknown: true
        }
    }

    private static func isOurs(_ head: [UInt8]) -> Bool {
        // "SQLite format 3\000", and the versions of who writes and reads it: 2 is WAL.
        let application = number(68, 4, head)
        return head.starts(with: Array("SQLite format 3\0".utf8)) && head[18] == 2 && head[19] == 2
            && (application == 0 || application == JournalSchema.applicationID)
    }

    /// A number of the head, which is big-endian.
    private static func number(_ place: Int, _ count: Int, _ head: [UInt8]) -> UInt32 {
        head[place..<(place + count)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    // MARK: - Files

    private enum Reading {
        case bytes([UInt8])
        case tooShort
        case unknown
    }

    private func read(_ which: SQLiteConnection.File, _ count: Int) -> Reading {
        Self.read(connection, which, count)
    }

    private static func read(
        _ connection: SQLiteConnection, _ which: SQLiteConnection.File, _ count: Int
    ) -> Reading {
        guard let file = connection.file(which), let read = file.pointee.pMethods.pointee.xRead
        else {
            return .unknown
        }
        var bytes = [UInt8](repeating: 0, count: count)
        switch read(file, &bytes, CInt(count), 0) {
        case SQLITE_OK: return .bytes(bytes)
        case rollcall_ioerr_short_read: return .tooShort
        default: return .unknown
        }
    }

    private func size(_ which: SQLiteConnection.File) -> Int64? {
        guard let file = connection.file(which),
            let size = file.pointee.pMethods.pointee.xFileSize
        else { return nil }
        var bytes: Int64 = 0
        return size(file, &bytes) == SQLITE_OK ? bytes : nil
    }
}

/// The disturbance that a file of the store suffered while it was open.
package enum StoreDisturbance: Equatable, Sendable {
    /// The log was deleted, or another file stands in its place.
    case logGone
    /// It is shorter than what was written.
    case cut
    /// It begins with something else.
    case overwritten

    var words: String {
        switch self {
        case .logGone: "was renamed or deleted"
        case .cut: "was cut"
        case .overwritten: "was overwritten"
        }
    }
}

extension Journal {
    /// Throws `StoreError` if somebody deleted, replaced, cut or overwrote the store's files.
    /// Between transactions, now and then; whatever it throws is fatal.
    package func checkFiles() throws(StoreError) {
        try seeing { () throws(StoreError) in try witness.check() }
    }

    /// Bytes of the log that hold something, moved into the file or not.
    package var logBytes: Int { witness.logBytes }

    /// Checks the log alone, before each commit, which would make one long again that was cut, and
    /// after it: nobody is told that it is done when it is not.
    /// - Throws: `StoreError.disturbed` if somebody changed it.
    func checkLog() throws(StoreError) {
        try seeing { () throws(StoreError) in try witness.checkLog() }
    }

    private func seeing(_ look: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try look()
        } catch {
            // SQLite still has a log that was deleted: what it holds goes into the store, and nothing
            // that was acknowledged is lost.
            if case .disturbed(_, .logGone) = error { _ = try? connection.checkpointWAL(.passive) }
            throw noting(error)
        }
    }
}
