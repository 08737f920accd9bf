import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// A verified copy of a store, of a server that runs or of none.
///
///     lock ──► copy the file ──► copy the log ──► unlock ──► log into the copy ──► verify
///                                                  │ the file was written meanwhile  │
///                                                  └─► once more                     ▼
///                                             sync ──► name ──► sync the directory ──► done
///
/// Nobody waits for it: the server goes on to commit, into its log. Until all of it is verified and
/// durable the copy is called `FILE.partial`, whatever happens.
package struct StoreBackup {
    /// A backup that was made.
    package struct Made {
        package var path: String
        package var bytes: Int64
        /// The last turn in it, and when that was.
        package var turn: Int64
        package var lastAt: Timestamp
        package var took: Milliseconds
    }

    /// The time that a checkpoint of the log is waited for, in seconds.
    private static let lockSeconds = 30
    /// Copies that a file written meanwhile spoils before we give up.
    private static let triesMax = 3
    private static let chunkBytes = 4 << 20

    private let source: String
    private let target: String
    private var partial: String { target + ".partial" }

    /// A backup of the store at `storePath` (nil for what the environment says, else
    /// `./rollcall.db`) to a file that is not there yet. Throws `BackupError` if there is no store,
    /// there is such a file, or a path cannot be followed.
    package init(storePath: String?, to target: String) throws(BackupError) {
        let given =
            storePath ?? SettingsSource.environment["ROLLCALL_STORAGE_PATH"]
            ?? Configuration().storagePath
        do throws(StoreError) {
            source = try StoreFile.resolve(given)
            self.target = try StoreFile.resolve(target)
        } catch {
            guard case .file(let call, let path, let code) = error else {
                throw .unusable(path: given, "\(error)")
            }
            throw .file(call: call, path: path, errno: code)
        }
        guard !StoreFile.isThere(self.target) else { throw .exists(path: target) }
        guard StoreFile.size(source) > 0 else {
            throw .unusable(path: source, "there is no store, or an empty one")
        }
    }

    /// Makes it, and returns what was made.
    /// - Throws: `BackupError` if the store cannot be copied, or the copy is damaged; nothing has
    ///   the file's name then.
    package func run() throws(BackupError) -> Made {
        let began = ContinuousClock.now
        let file = try BackupFile(partial)
        var tries = 0
        while try !copy(to: file) {
            tries += 1
            guard tries < Self.triesMax else { throw .moving(path: source) }
        }
        let found = try BackupCheck.run(partial, of: source)
        try file.finish(as: target)
        let took = (ContinuousClock.now - began) / .milliseconds(1)
        return Made(
            path: target, bytes: Int64(StoreFile.size(target)), turn: found.number,
            lastAt: Timestamp(milliseconds: found.wallMilliseconds),
            took: Milliseconds(Int64(took)))
    }

    /// Copies file and log; false if the file was written meanwhile.
    /// - Throws: `BackupError` if the log is being moved, or a file cannot be read or written.
    private func copy(to file: BackupFile) throws(BackupError) -> Bool {
        guard let lock = StoreCopyLock(copying: source, seconds: Self.lockSeconds) else {
            throw .moving(path: source)
        }
        let store = try BackupSource(source)
        let log = StoreFile.isThere(source + "-wal") ? try BackupSource(source + "-wal") : nil
        let before = try store.state()
        let size = before.size + (try log?.state().size ?? 0)
        var progress = ProgressLine(total: size, unit: "bytes")
        defer { progress.finish() }
        var done: Int64 = 0
        try file.begin()
        try store.copy(Self.chunkBytes) { (chunk) throws(BackupError) in
            try file.write(chunk)
            done += Int64(chunk.count)
            progress.update(done: done)
        }
        // Behind the file: what the log gets meanwhile belongs to it too.
        try log?.copy(Self.chunkBytes) { (chunk) throws(BackupError) in
            try file.writeLog(chunk)
            done += Int64(chunk.count)
            progress.update(done: done)
        }
        let isSame = try store.state() == before
        withExtendedLifetime(lock) {}
        return isSame
    }
}

extension StoreBackup.Made {
    /// For people.
    package var text: String {
        "\(path): \(bytes) bytes, verified, up to turn \(turn) at \(RFC3339.string(lastAt))\n"
    }

    /// For machines.
    package var json: String {
        let tree: JSONTree = [
            "file": .text(path), "bytes": .integer(bytes), "turn": .integer(turn),
            "last_at": .text(RFC3339.string(lastAt)), "took_ms": .integer(took.count),
        ]
        var output: [UInt8] = []
        tree.append(to: &output)
        return String(decoding: output, as: UTF8.self) + "\n"
    }
}

/// A file that is copied. Not for the process that serves it: closing drops its locks.
private final class BackupSource {
    /// The state of a file, which changes when it is written.
    struct State: Equatable {
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private let path: String
    private let descriptor: CInt

    init(_ path: String) throws(BackupError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(call: "open", path: path, errno: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func state() throws(BackupError) -> State {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .file(call: "fstat", path: path, errno: errno)
        }
        return State(
            size: Int64(status.st_size), seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
    }

    /// Hands over the bytes up to where the file ended when this was called.
    /// - Throws: `BackupError` if it cannot be read, or what `take` throws.
    func copy(
        _ chunkBytes: Int, take: (ArraySlice<UInt8>) throws(BackupError) -> Void
    ) throws(BackupError) {
        var offset: Int64 = 0
        let end = try state().size
        var chunk = [UInt8](repeating: 0, count: chunkBytes)
        while offset < end {
            let wanted = min(chunkBytes, Int(end - offset))
            let got = pread(descriptor, &chunk, wanted, off_t(offset))
            guard got >= 0 else { throw .file(call: "read", path: path, errno: errno) }
            // Cut meanwhile: what a checkpoint of the log does.
            if got == 0 { return }
            try take(chunk[..<got])
            offset += Int64(got)
        }
    }
}
