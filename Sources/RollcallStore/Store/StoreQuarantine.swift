import CSQLite
import Glibc
import RollcallCore

/// A loss with a store, as its successor keeps it.
package struct StateLoss: Equatable, Sendable {
    /// The cause of the loss.
    package var cause: StateLossCause
    /// The instant at which that was noticed, by the wall clock.
    package var at: Timestamp
    /// The words that say so: SQLite's, or ours. No bound values.
    package var evidence: String
    /// The files that were put aside, by their new names.
    package var kept: [String] = []
    /// True until the fleet has been watched again for a while (see `StateWriter.tendLoss`).
    package var isOpen = true

    /// The store's opening tells of a loss that it has just noticed, or reads one of a successor.
    package init(
        cause: StateLossCause, at: Timestamp, evidence: String, kept: [String] = [],
        isOpen: Bool = true
    ) {
        self.cause = cause
        self.at = at
        self.evidence = evidence
        self.kept = kept
        self.isOpen = isOpen
    }
}

/// Puts a store aside that cannot be read: its files get other names, and on one machine are never
/// deleted.
///
/// Source: G12, D-08.
package enum StoreQuarantine {
    /// The endings of a store's files. The first is moved first: what is left without it is put
    /// aside at the next start.
    private static let endings = ["", "-wal", "-shm", "-journal"]

    /// Returns what an error says of the store itself; nil for all that may be the disk's, another
    /// process' or our own fault: that is no reason to take a store away from its place.
    package static func cause(_ error: StoreError) -> StateLossCause? {
        switch error {
        case .foreignFile: .foreign
        case .damaged: .damaged
        case .sqlite(let failure) where failure.code == SQLITE_CORRUPT: .damaged
        case .sqlite(let failure) where failure.code == SQLITE_NOTADB: .damaged
        default: nil
        }
    }

    /// The reason why a store was put aside, as its new name says it.
    package enum Cause: String, CaseIterable, Sendable {
        case corrupt
        /// A copy of another member's took its place, because somebody said so (S11).
        case replaced
        /// The copy of an older version took its place again (J15).
        case newer
    }

    /// Leaves word that damage, or somebody's hand on its files, was met while the store at `path` was
    /// served: a start may not read what is damaged, and would come to the same end again and again. An
    /// error is no news: that end is said in any case.
    package static func suspect(_ path: String) {
        let descriptor = open(path + suspicion, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// True if such word was left.
    static func isSuspect(_ path: String) -> Bool { StoreFile.isThere(path + suspicion) }

    /// Takes it away: the store was looked at.
    package static func trust(_ path: String) { unlink(path + suspicion) }

    private static let suspicion = ".suspect"

    /// True if the store's file is missing or empty and its log is not: SQLite would delete that.
    package static func isLogAlone(_ path: String) -> Bool {
        StoreFile.size(path) == 0
            && (StoreFile.size(path + "-wal") > 0 || StoreFile.size(path + "-journal") > 0)
    }

    /// Gives the files at `path` names that say when, and returns those without their directory. An
    /// empty file holds nothing that could be kept, and stays.
    ///
    /// Throws `StoreError.file` if the system refuses a call; what was moved by then is in its new
    /// place.
    package static func quarantine(
        _ path: String, at wall: Timestamp, as cause: Cause = .corrupt
    ) throws(StoreError) -> [String] {
        let directory = try StoreDirectory(storePath: path)
        let name = freeName(path, cause, at: wall)
        var moved: [String] = []
        for ending in endings where StoreFile.size(path + ending) > 0 {
            guard rename(path + ending, name + ending) == 0 else {
                throw .file(call: "rename", path: path + ending, errno: errno)
            }
            moved.append(String((name + ending).split(separator: "/").last ?? ""))
        }
        try directory.sync()
        return moved
    }

    /// `rollcall.db.corrupt-20261122T162100Z`, or with a number behind if there is such a file.
    package static func freeName(_ path: String, _ cause: Cause, at wall: Timestamp) -> String {
        let digits = RFC3339.string(wall).prefix(19).filter { $0 != "-" && $0 != ":" }
        let base = "\(path).\(cause.rawValue)-\(digits)Z"
        var name = base
        var number = 1
        while endings.contains(where: { StoreFile.isThere(name + $0) }) {
            number += 1
            name = "\(base)-\(number)"
        }
        return name
    }

    /// Deletes what was put aside of the store at `path` and was changed last before `wall`; returns the
    /// names of the files without their directory.
    package static func deleteReplaced(_ path: String, changedBefore wall: Timestamp) -> [String] {
        let place = path.lastIndex(of: "/")
        let directory = place.map { String(path[...$0]) } ?? "./"
        let name = place.map { String(path[path.index(after: $0)...]) } ?? path
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var deleted: [String] = []
        while let entry = readdir(stream) {
            let file = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard Cause.allCases.contains(where: { file.hasPrefix("\(name).\($0.rawValue)-") })
            else { continue }
            var status = stat()
            guard lstat(directory + file, &status) == 0,
                Int64(status.st_mtim.tv_sec) * 1000 < wall.milliseconds,
                unlink(directory + file) == 0
            else { continue }
            deleted.append(file)
        }
        return deleted.sorted()
    }

    /// True if another process holds a lock of SQLite's on the file at `path`: whoever reads or
    /// writes it, or has it open with a log. Our own connections must be closed by now: to close a
    /// descriptor drops this process' locks.
    package static func isHeld(_ path: String) -> Bool {
        // PENDING_BYTE, RESERVED_BYTE and the 510 bytes of SHARED_FIRST (sqlite.org/fileformat2).
        let locks = isLocked(path, from: 0x4000_0000, count: 512)
        // "The 8 locks … at offset 120", and the one by which a connection says that it is there.
        return locks || isLocked(path + "-shm", from: 120, count: 9)
    }

    private static func isLocked(_ path: String, from: off_t, count: off_t) -> Bool {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = from
        lock.l_len = count
        return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }
}

extension Journal {
    /// Returns what was lost when this store was begun, or was found older than it should be; nil
    /// if nothing.
    /// - Throws: `StoreError` if it cannot be read, or makes no sense.
    package func stateLoss() throws(StoreError) -> StateLoss? {
        guard let bytes = try bytes(forKey: StateLoss.key) else { return nil }
        guard let loss = StateLoss(storedBytes: bytes) else {
            throw .damaged("meta \(StateLoss.key) makes no sense")
        }
        return loss
    }

    /// Keeps it, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    package func set(stateLoss loss: StateLoss) throws(StoreError) {
        try set(loss.storedBytes, forKey: StateLoss.key)
    }
}

extension StateLoss {
    fileprivate static let key = "state_loss"

    /// A line each: when, whether it is open, why, what says so, names.
    fileprivate var storedBytes: [UInt8] {
        let words = evidence.split(separator: "\n", omittingEmptySubsequences: false)
        let lines = ["\(at.milliseconds)", isOpen ? "open" : "over", "\(cause.word)"]
        return Array((lines + [words.joined(separator: " ")] + kept).joined(separator: "\n").utf8)
    }

    fileprivate init?(storedBytes: [UInt8]) {
        let text = String(decoding: storedBytes, as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count >= 4, let at = Int64(lines[0]),
            (0...RFC3339.millisecondsMax).contains(at), ["open", "over"].contains(lines[1]),
            let cause = StateLossCause.allCases.first(where: { "\($0.word)" == lines[2] })
        else { return nil }
        self.init(
            cause: cause, at: Timestamp(milliseconds: at), evidence: lines[3],
            kept: Array(lines.dropFirst(4)), isOpen: lines[1] == "open")
    }
}
