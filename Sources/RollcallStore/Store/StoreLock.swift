import Glibc
import RollcallCore

/// The lock against a second Rollcall on one store: `flock` on `<store>.lock`, held for life.
///
/// SQLite's own locks would let two instances take turns, and both would page. The lock file stays
/// behind: unlinking it would let a third instance lock a new file beside a holder of the old one.
///
/// It also holds the mark that the store's failing was told to receivers (A5), because it is a file
/// whose bytes are there already: a full disk takes what is written in place.
package final class StoreLock {
    /// The holder's number, filled up with spaces, then the mark: `!` or `-` and a time.
    private enum Layout {
        static let processBytes = 12
        static let timeDigits = 15
        static let bytes = processBytes + 1 + timeDigits + 1
    }

    /// The instant at which the failing that is marked was told; nil without a mark.
    private(set) var mark: Timestamp?
    private let path: String
    private var descriptor: Int32
    /// Since when a copy keeps the store's file from being written.
    private var waitsSince: ContinuousClock.Instant?

    /// Takes the lock of the store at `path`, without waiting.
    /// - Throws: `StoreError.secondInstance` if another process holds it, `file` if the system
    ///   refuses a call.
    package init(storePath path: String) throws(StoreError) {
        let lockPath = path + ".lock"
        self.path = lockPath
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW
        descriptor = open(lockPath, flags | O_CREAT | O_EXCL, 0o600)
        if descriptor >= 0 {
            do throws(StoreError) {
                try StoreFile.giveToOwner(of: path, descriptor, lockPath)
            } catch {
                // Left there it would shut the owner out.
                unlink(lockPath)
                close(descriptor)
                throw error
            }
        } else if errno == EEXIST {
            descriptor = open(lockPath, flags)
        }
        guard descriptor >= 0 else {
            throw .file(call: "open", path: lockPath, errno: errno)
        }
        // flock(2): "Locks created by flock() are associated with an open file description", so
        // the kernel gives it up however the process ends, and a second one in this process fails.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            let holder = Self.process(in: contents())
            release()
            if reason == EWOULDBLOCK { throw .secondInstance(path: path, process: holder) }
            throw .file(call: "flock", path: lockPath, errno: reason)
        }
        let found = contents()
        mark = Self.mark(in: found)
        leaveProcessID(isNew: found.count != Layout.bytes)
    }

    deinit {
        release()
    }

    /// Gives the lock up.
    func release() {
        guard descriptor >= 0 else { return }
        // A process that is forked meanwhile has the same open file until it runs its program. flock(2): "the
        // lock is released either by an explicit LOCK_UN operation on any of these duplicate file descriptors,
        // or when all such file descriptors have been closed".
        flock(descriptor, LOCK_UN)
        close(descriptor)
        descriptor = -1
    }

    /// True if the store's file may be written now: then nobody copies it until `endMoving`. A copy
    /// that goes on for too long, or for which the log of so many bytes becomes too long, is not
    /// waited for: it notices that.
    func beginMoving(logBytes: Int) -> Bool {
        if StoreCopyLock.beginMoving(descriptor) {
            waitsSince = nil
            return true
        }
        let since = waitsSince ?? .now
        waitsSince = since
        return logBytes > StoreCopyLock.logBytesMax
            || ContinuousClock.now - since > StoreCopyLock.patience
    }

    /// Lets the store's file be copied.
    func endMoving() { StoreCopyLock.endMoving(descriptor) }

    /// Leaves the mark, or takes it away; returns when that is durable. Needs no space.
    /// - Throws: `StoreError.file` if it cannot be written.
    func setMark(_ time: Timestamp?) throws(StoreError) {
        // Beyond the end it would need some, and what is half there says nothing.
        guard contents().count == Layout.bytes else {
            throw .file(call: "write", path: path, errno: ENOSPC)
        }
        let bytes = Self.bytes(of: time)
        guard pwrite(descriptor, bytes, bytes.count, off_t(Layout.processBytes)) == bytes.count
        else { throw .file(call: "write", path: path, errno: errno) }
        guard fsync(descriptor) == 0 else { throw .file(call: "fsync", path: path, errno: errno) }
        mark = time
    }

    /// For the other instance's message only, so a full disk that refuses it is no reason to fail.
    private func leaveProcessID(isNew: Bool) {
        let number = "\(getpid())"
        let spaces = String(repeating: " ", count: max(0, Layout.processBytes - 1 - number.count))
        var bytes = Array("\(number)\(spaces)\n".utf8)
        if isNew { bytes += Self.bytes(of: mark) }
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, isNew else { return }
        // The space must be had now, not when there is none.
        _ = ftruncate(descriptor, off_t(Layout.bytes))
        fsync(descriptor)
    }

    private func contents() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Layout.bytes + 1) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }

    private static func bytes(of mark: Timestamp?) -> [UInt8] {
        let most = RFC3339.millisecondsMax
        let digits = "\(mark.map { min(max($0.milliseconds, 0), most) } ?? 0)"
        let zeros = String(repeating: "0", count: max(0, Layout.timeDigits - digits.count))
        return Array("\(mark == nil ? "-" : "!")\(zeros)\(digits)\n".utf8)
    }

    private static func mark(in contents: [UInt8]) -> Timestamp? {
        let text = contents.dropFirst(Layout.processBytes)
        guard text.count == Layout.bytes - Layout.processBytes, text.first == UInt8(ascii: "!"),
            let time = Int64(String(decoding: text.dropFirst().dropLast(), as: UTF8.self))
        else { return nil }
        return Timestamp(milliseconds: time)
    }

    private static func process(in contents: [UInt8]) -> Int32? {
        Int32(
            String(
                decoding: contents.prefix { $0 != UInt8(ascii: " ") && $0 != 0x0A },
                as: UTF8.self))
    }
}

/// The lock against a second Rollcall on the same file by another name: a hard link has a lock file of
/// its own, and a log of its own, and two logs on one file destroy it.
///
/// It is a byte of the store's file, far behind those that SQLite locks. Its descriptor is made before
/// SQLite's and lives longer: to close one drops the locks that a process has on the file.
final class StoreFileLock {
    /// Behind PENDING_BYTE, RESERVED_BYTE and the 510 bytes of SHARED_FIRST (sqlite.org/fileformat2).
    private static let place: off_t = 0x4001_0000
    /// F_OFD_SETLK of the kernel's interface, which Glibc shows to GNU sources only.
    private static let setLock: CInt = 37

    /// For reading alone: it may not be closed before SQLite's is.
    private(set) var descriptor: CInt

    /// Takes the lock of the file at `path`, without waiting. A file that cannot be opened is left
    /// to SQLite, which says why.
    /// - Throws: `StoreError.secondInstance` if another process holds it.
    init(_ path: String) throws(StoreError) {
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.place
        lock.l_len = 1
        guard fcntl(descriptor, Self.setLock, &lock) != 0 else { return }
        // "EACCES or EAGAIN: Operation is prohibited by locks held by other processes."
        guard errno == EAGAIN || errno == EACCES else { return }
        release()
        throw .secondInstance(path: path, process: nil)
    }

    deinit { release() }

    /// Gives the lock up.
    func release() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}

extension Journal {
    /// The instant at which the store's failing was told, if the last process could not say that it
    /// is over (A5).
    package var alarmMark: Timestamp? { lock.mark }

    /// Leaves that mark beside the store, or takes it away; durable when it returns, and also on a
    /// full disk.
    /// - Throws: `StoreError.file`, of the mark alone, if it cannot be written.
    package func setAlarmMark(_ time: Timestamp?) throws(StoreError) { try lock.setMark(time) }
}

/// The store's file, by the system's own calls.
package enum StoreFile {
    /// Returns the path without links, absolute: two names of one store must mean one lock, and
    /// SQLite reads a name that begins with `file:` as an address.
    /// - Throws: `StoreError.file` if it names no file, or its directory cannot be found.
    package static func resolve(_ path: String) throws(StoreError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
            throw .file(call: "open", path: path, errno: EINVAL)
        }
        if let real = real(path) { return real }
        guard errno == ENOENT else { throw .file(call: "realpath", path: path, errno: errno) }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard let directory = real(directory(of: path)) else {
            throw .file(call: "realpath", path: directory(of: path), errno: errno)
        }
        return directory == "/" ? "/" + name : directory + "/" + name
    }

    /// Makes an empty file that only its owner can read, unless there is one.
    ///
    /// SQLite gives the log and the shared memory file the same mode. The descriptor is closed
    /// before SQLite opens the file: closing one later would drop SQLite's POSIX locks.
    /// - Throws: `StoreError.file` if the system refuses.
    static func create(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            close(descriptor)
        } else if errno != EEXIST {
            throw .file(call: "create", path: path, errno: errno)
        }
    }

    /// Gives a file that root has just made beside the store at `path` to the store's owner, or, as long as
    /// there is no store, to its folder's: whoever put it there, it is for the server to open.
    /// - Throws: `StoreError.file` if the system refuses.
    static func giveToOwner(
        of path: String, _ descriptor: CInt, _ name: String
    ) throws(StoreError) {
        var (owner, made) = (stat(), stat())
        guard geteuid() == 0,
            lstat(path, &owner) == 0 || stat(directory(of: path), &owner) == 0,
            // A unit's filters end or refuse the call also where it would change nothing.
            fstat(descriptor, &made) != 0
                || (made.st_uid, made.st_gid) != (owner.st_uid, owner.st_gid)
        else { return }
        guard fchown(descriptor, owner.st_uid, owner.st_gid) == 0 else {
            throw .file(call: "fchown", path: name, errno: errno)
        }
    }

    /// Bytes of the file at `path`, 0 if it is none, or there is none.
    package static func size(_ path: String) -> Int {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0 }
        return Int(status.st_size)
    }

    /// False if the log of the store at `path` begins as none does: SQLite would take it for an empty one.
    package static func isLogReadable(_ path: String) -> Bool {
        guard size(path + "-wal") > 0 else { return true }
        // SQLite's locks are on the store's file, so this one may be closed.
        let descriptor = open(path + "-wal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var head: [UInt8] = [0, 0, 0, 0]
        // "Magic number. 0x377f0682 or 0x377f0683", sqlite.org/walformat.html
        return pread(descriptor, &head, 4, 0) == 4 && head.starts(with: [0x37, 0x7F, 0x06])
            && head[3] & 0xFE == 0x82
    }

    /// True if there is anything of this name.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    fileprivate static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func real(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// The directory of the store, open from before SQLite makes its files.
///
/// Linux reports a failed write-back to the descriptors that were open then. SQLite syncs the
/// directory itself and ignores the error; one opened afterwards might
/// not hear of it any more.
package final class StoreDirectory {
    private let path: String
    private let descriptor: Int32

    /// Opens the directory that the file at `storePath` is in.
    /// - Throws: `StoreError.file` if it cannot be opened.
    package init(storePath: String) throws(StoreError) {
        path = StoreFile.directory(of: storePath)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(call: "open", path: path, errno: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the directory's entries durable.
    /// - Throws: `StoreError.file` if the system refuses.
    package func sync() throws(StoreError) {
        guard fsync(descriptor) == 0 else {
            throw .file(call: "fsync", path: path, errno: errno)
        }
    }
}
