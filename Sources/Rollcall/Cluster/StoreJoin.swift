import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// The copy of another member's store, on its way to the place of ours.
///
///     pieces ──► FILE.joining ──► sync, name ──► FILE.joined ──► next start ──► FILE
///
/// Only a start puts it there, when nobody has the old one open.
enum StoreJoin {
    private static let incoming = ".joining"
    private static let complete = ".joined"

    /// A copy that comes in pieces.
    final class Incoming {
        private let path: String
        private let descriptor: CInt

        /// A copy beside the store at a path, instead of one that was begun before; nil if the system
        /// does not make the file.
        init?(storePath: String) {
            path = storePath
            descriptor = open(
                storePath + StoreJoin.incoming,
                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if descriptor < 0 { return nil }
        }

        deinit {
            if descriptor >= 0 { close(descriptor) }
        }

        /// Appends a piece; false if the disk does not take it.
        func append(_ bytes: [UInt8]) -> Bool {
            var done = 0
            while done < bytes.count {
                let wrote = bytes.withUnsafeBytes {
                    write(descriptor, $0.baseAddress?.advanced(by: done), bytes.count - done)
                }
                if wrote < 0, errno == EINTR { continue }
                guard wrote > 0 else { return false }
                done += wrote
            }
            return true
        }

        /// Makes it durable and names it; false if that fails.
        func finish() -> Bool {
            guard fsync(descriptor) == 0,
                rename(path + StoreJoin.incoming, path + StoreJoin.complete) == 0
            else { return false }
            do { try StoreDirectory(storePath: path).sync() } catch { return false }
            return true
        }
    }

    /// True if a copy waits to take the place of the store at a path.
    static func isThere(_ path: String) -> Bool { StoreFile.isThere(path + complete) }

    /// Puts the copy in the place of the store, under the store's lock. What stood there is deleted: a
    /// member asks for a copy of what it has the beginning of, and what it deleted since of people must
    /// not stay behind (S12).
    /// - Throws: `StoreError` if a file cannot be renamed.
    static func take(_ path: String) throws(StoreError) {
        for ending in ["-wal", "-shm", "-journal", ""] { unlink(path + ending) }
        guard rename(path + complete, path) == 0 else {
            throw .file(call: "rename", path: path + complete, errno: errno)
        }
        try StoreDirectory(storePath: path).sync()
    }
}
