import Glibc
import RollcallCore

/// The files beside a store that an upgrade, or the way back from one, leaves there. Source: J15.
extension StoreUpgrade {
    /// A copy that stands beside a store.
    package struct Copy: Equatable, Sendable {
        package var path: String
        package var version: Version
        package var bytes: Int64
        /// The instant at which it was made.
        package var at: Timestamp
    }

    /// Returns the copies beside the store at `path`, the newest version first.
    /// - Throws: `StoreError.file` if its folder cannot be read: then nobody knows whether there are any.
    package static func copies(of path: String) throws(StoreError) -> [Copy] {
        var copies: [Copy] = []
        for (ending, file) in try siblings(of: path) {
            guard ending.hasPrefix(".version-") else { continue }
            let numbers = ending.dropFirst(9).split(separator: ".").map { Int64($0) }
            var status = stat()
            guard numbers.count == 2, let store = numbers[0], let engine = numbers[1],
                lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG
            else { continue }
            copies.append(
                Copy(
                    path: file, version: Version(store: store, engine: engine),
                    bytes: Int64(status.st_size),
                    at: status.changed))
        }
        return copies.sorted { $1.version < $0.version }
    }

    /// Deletes the copies beside the store at `path` that were made before `time`, also what is left of
    /// one that was cut off, and stores that gave way to one (`downgrade`) and were written last before
    /// `newerTime`, and second names of the store; returns their names without their directory.
    /// - Throws: `StoreError.file` if the system refuses: then some may be left.
    package static func deleteCopies(
        of path: String, before time: Timestamp = .distantFuture,
        newerBefore newerTime: Timestamp = .distantFuture
    ) throws(StoreError) -> [String] {
        var deleted = try dropSecondNames(of: path)
        for (ending, file) in try siblings(of: path) {
            let isNewer = ending.hasPrefix(".newer-")
            guard ending.hasPrefix(".version-") || isNewer else { continue }
            let limit = isNewer ? newerTime : time
            var status = stat()
            guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                status.changed < limit
            else { continue }
            deleted.append(try delete(file))
        }
        if !deleted.isEmpty { try StoreDirectory(storePath: path).sync() }
        return deleted.sorted()
    }

    /// Deletes the second names that a `downgrade` gave the store at `path` before it was cut off: they
    /// are the store itself, which keeps its own name. Returns them without their directory.
    /// - Throws: `StoreError.file` if the system refuses.
    @discardableResult
    package static func dropSecondNames(of path: String) throws(StoreError) -> [String] {
        var store = stat()
        guard lstat(path, &store) == 0, store.st_nlink > 1 else { return [] }
        var deleted: [String] = []
        for (ending, file) in try siblings(of: path) where ending.hasPrefix(".newer-") {
            var status = stat()
            guard lstat(file, &status) == 0, status.st_dev == store.st_dev,
                status.st_ino == store.st_ino
            else { continue }
            deleted.append(try delete(file))
        }
        return deleted
    }

    private static func delete(_ file: String) throws(StoreError) -> String {
        guard unlink(file) == 0 || errno == ENOENT else {
            throw .file(call: "unlink", path: file, errno: errno)
        }
        return String(file.split(separator: "/").last ?? "")
    }

    /// The endings and the paths of files whose names begin as the store's.
    private static func siblings(
        of path: String
    ) throws(StoreError) -> [(ending: String, path: String)] {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { String(path[...$0]) } ?? "./"
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard let stream = opendir(directory) else {
            throw .file(call: "opendir", path: directory, errno: errno)
        }
        defer { closedir(stream) }
        var found: [(String, String)] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else {
                    throw .file(call: "readdir", path: directory, errno: errno)
                }
                break
            }
            let file = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if file.hasPrefix(name) {
                found.append((String(file.dropFirst(name.count)), directory + file))
            }
        }
        return found
    }

    /// Bytes that are free for who owns the store at `path`; nil if the system does not tell.
    package static func bytesFree(beside path: String) -> Int64? {
        var disk = statvfs()
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard statvfs(directory, &disk) == 0 else { return nil }
        return Int64(clamping: UInt64(disk.f_bavail) * UInt64(disk.f_frsize))
    }
}

extension stat {
    /// The instant at which the file was written last.
    fileprivate var changed: Timestamp {
        Timestamp(milliseconds: Int64(st_mtim.tv_sec) * 1000 + Int64(st_mtim.tv_nsec) / 1_000_000)
    }
}
