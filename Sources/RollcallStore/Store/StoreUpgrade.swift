import Glibc
import RollcallCore

/// Brings a store of an older program up to date: before anything of it changes, a copy is made beside
/// it, by which the older program can go on.
///
///     older ──► log into the file ──► room? ──► copy ──► compare ──► name ──► tables ──► current
///                    │ others read       │ no                 │ differs
///                    └───────────────────┴────────────────────┴──► refused: the store is as it was
///
/// A copy is the file, byte for byte. Until it is compared and durable it is called `.partial`. Source: J15.
package enum StoreUpgrade {
    /// The version of a store: that of its tables, and that of the rules that wrote it last.
    package struct Version: Equatable, Comparable, Sendable, CustomStringConvertible {
        package var store: Int64
        package var engine: Int64

        /// A version by both of its numbers.
        package init(store: Int64, engine: Int64) {
            self.store = store
            self.engine = engine
        }

        /// That of this program.
        package static var current: Self {
            Version(store: JournalSchema.version, engine: Engine.version)
        }

        package var description: String { "\(store) (engine \(engine))" }

        package static func < (one: Self, other: Self) -> Bool {
            (one.store, one.engine) < (other.store, other.engine)
        }
    }

    /// An upgrade that is to be done.
    package struct Plan: Equatable, Sendable {
        package var path: String
        package var from: Version
        /// Bytes of the store and its log.
        package var bytes: Int64
        package var copyPath: String { StoreUpgrade.copyPath(path, from) }
        /// Bytes that must be free for the copy and for what the upgrade itself writes.
        package var bytesWanted: Int64 { bytes + StoreUpgrade.bytesSpare }
    }

    /// A step of it that is done, or begins.
    package enum Step: Sendable {
        case begins(Plan, keepsCopy: Bool)
        /// So many bytes of it are copied, or compared.
        case copied(Int64, of: Int64)
        case kept(Plan)
        case done(Plan)
    }

    /// A `Watch` hears of an upgrade, and says if a copy is kept.
    package struct Watch: Sendable {
        package var keepsCopy: Bool
        package var say: @Sendable (Step) -> Void

        /// Nobody is told, and a copy is kept, if nothing else is said.
        package init(
            keepsCopy: Bool = true, say: @escaping @Sendable (Step) -> Void = { _ in }
        ) {
            self.keepsCopy = keepsCopy
            self.say = say
        }
    }

    /// Bytes that are to be left beside a copy: the log of the upgrade, and what comes next.
    package static let bytesSpare: Int64 = 64 << 20
    /// The time for which a copy is kept.
    package static let keptFor = Milliseconds(7 * 86_400_000)
    /// Bytes that are copied or compared between two words of it.
    package static let pieceBytes: Int64 = 4 << 20
    private static let chunkBytes = Int(pieceBytes)
    private static let movingSeconds = 30

    /// Notes the newest turn in the transaction of an upgrade: until there is another one the store holds
    /// nothing that the copy does not, and newer rules are no upgrade of their own.
    static let markTurn: SQL = """
        INSERT OR REPLACE INTO meta(key, value, checksum)
        SELECT 'upgraded_turn', number, row_checksum(\(RowChecksum.Table.meta), 'upgraded_turn', number)
        FROM (SELECT ifnull(max(number), 0) AS number FROM turns)
        """

    // MARK: - What there is

    /// Returns the upgrade that a store needs, which `found` and its newest turn tell; nil if none.
    /// - Throws: `StoreError` if it cannot be read.
    package static func plan(
        _ connection: SQLiteConnection, _ found: JournalSchema.Found
    ) throws(StoreError) -> Plan? {
        guard let from = try version(connection, found), from < .current else { return nil }
        let path = connection.path
        return Plan(
            path: path, from: from,
            bytes: Int64(StoreFile.size(path)) + Int64(StoreFile.size(path + "-wal")))
    }

    /// Returns the version of a store; nil of an empty one.
    /// - Throws: `StoreError` if it cannot be read.
    package static func version(
        _ connection: SQLiteConnection, _ found: JournalSchema.Found
    ) throws(StoreError) -> Version? {
        let store: Int64
        switch found {
        case .empty: return nil
        case .current: store = JournalSchema.version
        case .older(let version): store = version
        }
        do throws(StoreError) {
            let isWritten = try connection.integer(
                "SELECT count(*) FROM (SELECT 1 FROM turns LIMIT 1)")
            // A store without a turn was made by these rules or others, which makes no difference.
            guard isWritten > 0 else { return Version(store: store, engine: Engine.version) }
            if found == .current {
                // True of one that was brought up to date, and not written since.
                let isMarked = try connection.integer(
                    """
                    SELECT count(*) FROM meta WHERE key = 'upgraded_turn'
                        AND value = (SELECT max(number) FROM turns)
                    """)
                if isMarked > 0 { return .current }
            }
            return Version(
                store: store,
                engine: try connection.integer(
                    "SELECT engine_version FROM turns ORDER BY number DESC LIMIT 1"))
        } catch {
            throw JournalSchema.explained(error)
        }
    }

    /// `rollcall.db.version-10.6`: of tables 10 and rules 6.
    package static func copyPath(_ path: String, _ version: Version) -> String {
        "\(path).version-\(version.store).\(version.engine)"
    }

    // MARK: - The copy

    /// Returns the upgrade that a store needs, which is open by `connection` and locked, once its copy is
    /// made, if one is wanted; nil if it needs none.
    /// - Throws: `StoreError` if it cannot be read, or what `keep` throws.
    static func begin(
        _ connection: SQLiteConnection, _ found: JournalSchema.Found, _ lock: StoreLock,
        _ file: StoreFileLock, _ watch: Watch
    ) throws(StoreError) -> Plan? {
        guard let plan = try plan(connection, found) else { return nil }
        watch.say(.begins(plan, keepsCopy: watch.keepsCopy))
        if watch.keepsCopy { try keep(plan, connection, lock, store: file.descriptor, watch) }
        return plan
    }

    /// Makes the copy: the store is open by `connection`, and locked; `store` is a descriptor of its file,
    /// which SQLite did not open.
    /// - Throws: `StoreError` if there is no room, others read the store, or the disk refuses; the store
    ///   is as it was then.
    static func keep(
        _ plan: Plan, _ connection: SQLiteConnection, _ lock: StoreLock, store: CInt, _ watch: Watch
    ) throws(StoreError) {
        try moveLog(plan, connection, lock)
        let partial = plan.copyPath + ".partial"
        // Of an upgrade that was cut off: the store is the older one still, and is copied anew.
        for path in [partial, plan.copyPath] { unlink(path) }
        let bytes = Int64(StoreFile.size(plan.path))
        let free = bytesFree(beside: plan.path) ?? .max
        guard free >= bytes + bytesSpare else {
            throw .upgrade(.noRoom(plan, free: free))
        }
        do throws(StoreError) {
            try copy(store, of: plan.path, bytes, to: partial, watch)
            guard rename(partial, plan.copyPath) == 0 else {
                throw .file(call: "rename", path: partial, errno: errno)
            }
            try StoreDirectory(storePath: plan.path).sync()
        } catch {
            unlink(partial)
            if case .file(_, _, ENOSPC) = error {
                throw .upgrade(.noRoom(plan, free: bytesFree(beside: plan.path) ?? 0))
            }
            throw error
        }
        watch.say(.kept(plan))
    }

    /// Moves the log into the file, which an older program does all the time: then one file is the store.
    private static func moveLog(
        _ plan: Plan, _ connection: SQLiteConnection, _ lock: StoreLock
    ) throws(StoreError) {
        guard StoreFile.size(plan.path + "-wal") > 0 else { return }
        // A backup that copies the file now wants it to stand still.
        var isOurs = false
        for _ in 0..<(movingSeconds * 10) where !isOurs {
            isOurs = lock.beginMoving(logBytes: 0)
            if !isOurs { usleep(100_000) }
        }
        guard isOurs else { throw .upgrade(.isRead(path: plan.path)) }
        defer { lock.endMoving() }
        let moved = try connection.checkpointWAL(.truncate)
        guard !moved.isBusy, StoreFile.size(plan.path + "-wal") == 0 else {
            throw .upgrade(.isRead(path: plan.path))
        }
    }

    private static func copy(
        _ store: CInt, of source: String, _ bytes: Int64, to path: String, _ watch: Watch
    ) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .file(call: "open", path: path, errno: errno) }
        defer { close(descriptor) }
        try StoreFile.giveToOwner(of: source, descriptor, path)
        try each(of: bytes, watch, done: 0) { (offset, count, chunk) throws(StoreError) in
            try read(store, chunk, count, offset, path)
            var written = 0
            while written < count {
                let now = pwrite(
                    descriptor, chunk.baseAddress.map { $0 + written }, count - written,
                    off_t(offset) + off_t(written))
                guard now > 0 else { throw .file(call: "write", path: path, errno: errno) }
                written += now
            }
        }
        guard fsync(descriptor) == 0 else { throw .file(call: "fsync", path: path, errno: errno) }
        // Of the disk, not of the memory that we have just written.
        posix_fadvise(descriptor, 0, 0, CInt(POSIX_FADV_DONTNEED))
        let other = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 4096)
        defer { other.deallocate() }
        try each(of: bytes, watch, done: bytes) { (offset, count, chunk) throws(StoreError) in
            try read(store, chunk, count, offset, path)
            try read(descriptor, other, count, offset, path)
            guard let one = chunk.baseAddress, let two = other.baseAddress,
                memcmp(one, two, count) == 0
            else {
                throw .upgrade(.differs(path: path))
            }
        }
    }

    private static func each(
        of bytes: Int64, _ watch: Watch, done before: Int64,
        _ body: (Int64, Int, UnsafeMutableRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 4096)
        defer { chunk.deallocate() }
        var offset: Int64 = 0
        while offset < bytes {
            let count = Int(min(Int64(chunkBytes), bytes - offset))
            try body(offset, count, chunk)
            offset += Int64(count)
            watch.say(.copied(before + offset, of: bytes * 2))
        }
    }

    private static func read(
        _ descriptor: CInt, _ chunk: UnsafeMutableRawBufferPointer, _ count: Int, _ offset: Int64,
        _ path: String
    ) throws(StoreError) {
        var got = 0
        while got < count {
            let now = pread(
                descriptor, chunk.baseAddress.map { $0 + got }, count - got,
                off_t(offset) + off_t(got))
            guard now > 0 else {
                throw .file(call: "read", path: path, errno: now == 0 ? EIO : errno)
            }
            got += now
        }
    }
}

/// The reason why a store of an older version is not brought up to date. It is as it was.
package enum StoreUpgradeRefusal: Equatable {
    /// There is no room for the copy that is made first.
    case noRoom(StoreUpgrade.Plan, free: Int64)
    /// Somebody else reads the store, so that its log cannot be moved into it.
    case isRead(path: String)
    /// The copy is not what the store is.
    case differs(path: String)

    /// The sentence of it: what is wrong, and what to do.
    var words: String {
        switch self {
        case .noRoom(let plan, let free):
            "\(plan.path) is of version \(plan.from): before it is brought up to "
                + "\(StoreUpgrade.Version.current) a copy is kept as \(plan.copyPath), for which "
                + "\(plan.bytesWanted) bytes must be free, and \(free) are: free some space, or go on "
                + "without a way back by storage.upgrade_copy: false "
                + "(ROLLCALL_STORAGE_UPGRADE_COPY=false)"
        case .isRead(let path):
            "\(path) is read by somebody else: a copy of it is kept before it is brought up to date, "
                + "for which it must be alone: end what reads it, then start again"
        case .differs(let path):
            "\(path): the copy that was kept of the store is not what was written: the disk may fail; "
                + "check it, then start again"
        }
    }
}
