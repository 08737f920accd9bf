import Glibc
import RollcallBasis
import RollcallStore

/// The file that becomes a backup, under the name it has until then, and a log beside it.
final class BackupFile {
    private let path: String
    private var logPath: String { path + "-wal" }
    private let descriptor: CInt
    private var logDescriptor: CInt = -1
    private var isDone = false

    /// Makes it, for its owner alone; what a backup that was cut off left is used again.
    /// - Throws: `BackupError.busy` if another backup uses it, `file` if the system refuses.
    init(_ path: String) throws(BackupError) {
        self.path = path
        // A kill left a finished backup with both names: its bytes are not ours.
        var found = stat()
        if lstat(path, &found) == 0, found.st_mode & S_IFMT == S_IFREG, found.st_nlink > 1 {
            unlink(path)
        }
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let reason = errno
            isDone = true
            throw .file(call: "open", path: path, errno: reason)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            isDone = true
            throw .busy(path: path)
        }
        // Whoever made it may have finished between the two calls.
        var (own, named) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, lstat(path, &named) == 0, own.st_ino == named.st_ino
        else {
            isDone = true
            throw .busy(path: path)
        }
        guard own.st_mode & S_IFMT == S_IFREG, fchmod(descriptor, 0o600) == 0 else {
            isDone = true
            throw .file(call: "fchmod", path: path, errno: errno)
        }
    }

    deinit {
        if logDescriptor >= 0 { close(logDescriptor) }
        if !isDone { for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) } }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Empties it.
    /// - Throws: `BackupError.file` if the system refuses.
    func begin() throws(BackupError) {
        if logDescriptor >= 0 { close(logDescriptor) }
        logDescriptor = -1
        for ending in ["-wal", "-shm", "-journal"] { unlink(path + ending) }
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw .file(call: "ftruncate", path: path, errno: errno)
        }
    }

    /// Appends to it.
    /// - Throws: `BackupError.file` if the system refuses.
    func write(_ bytes: ArraySlice<UInt8>) throws(BackupError) {
        let failure = StandardOutput.write(Array(bytes), to: descriptor)
        guard failure == 0 else { throw .file(call: "write", path: path, errno: failure) }
    }

    /// Appends to its log.
    /// - Throws: `BackupError.file` if the system refuses.
    func writeLog(_ bytes: ArraySlice<UInt8>) throws(BackupError) {
        if logDescriptor < 0 {
            logDescriptor = open(
                logPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard logDescriptor >= 0 else {
                throw .file(call: "open", path: logPath, errno: errno)
            }
        }
        let failure = StandardOutput.write(Array(bytes), to: logDescriptor)
        guard failure == 0 else { throw .file(call: "write", path: logPath, errno: failure) }
    }

    /// Makes it durable and gives it its name, which nothing may have. Its log is in it by now.
    /// - Throws: `BackupError.exists` if something has that name, `file` if the system refuses.
    func finish(as target: String) throws(BackupError) {
        guard fsync(descriptor) == 0 else { throw .file(call: "fsync", path: path, errno: errno) }
        // A second name, since rename(2) would put it in the place of whatever has that one.
        if link(path, target) == 0 {
            unlink(path)
        } else {
            if errno == EEXIST { throw .exists(path: target) }
            // Not every file system has second names; we looked before.
            guard [EPERM, EOPNOTSUPP, EMLINK].contains(errno), !StoreFile.isThere(target),
                rename(path, target) == 0
            else { throw .file(call: "rename", path: target, errno: errno) }
        }
        isDone = true
        do throws(StoreError) {
            try StoreDirectory(storePath: target).sync()
        } catch {
            throw .file(call: "fsync of its directory", path: target, errno: errno)
        }
    }
}
