import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// A store that goes back to the copy that an upgrade kept; nothing is deleted. Source: J15.
///
///     lock ──► log into the file ──► second name `.newer-…` ──► copy takes the store's name ──► done
///
/// At each moment the store's name leads to a whole store, the newer or the older one.
package struct StoreDowngrade {
    /// The newest turn of a store, and its last erasure.
    private struct Standing {
        var turn: Int64
        var row: Int64
        var at: Timestamp
        var lastErasure: Int64
    }

    private let path: String
    private let copy: StoreUpgrade.Copy
    private let lock: StoreLock
    private let older: Standing
    /// Nil if it cannot be read, which may be why somebody goes back.
    private let newer: Standing?

    /// Looks at the store at `given`, and locks it: nobody serves it meanwhile.
    /// - Throws: `UpgradeError` if it is served, has no copy beside it, or somebody was erased since.
    package init(_ given: String) throws(UpgradeError) {
        do throws(StoreError) {
            path = try StoreFile.resolve(given)
        } catch {
            throw .unusable(path: given, "\(error)")
        }
        guard let copy = StoreUpgrade.copies(of: path).first else { throw .noCopy(path: given) }
        self.copy = copy
        do throws(StoreError) {
            lock = try StoreLock(storePath: path)
            older = try Self.standing(copy.path)
        } catch {
            throw .store(error)
        }
        for ending in ["-wal", "-shm"] where StoreFile.size(copy.path + "-wal") == 0 {
            unlink(copy.path + ending)
        }
        newer = try? Self.standing(path)
        if let newer, newer.lastErasure > older.lastErasure {
            throw .erased(path: given, people: newer.lastErasure - older.lastErasure)
        }
    }

    /// Whatever its version is: these columns are in all of them.
    private static func standing(_ path: String) throws(StoreError) -> Standing {
        let connection = try SQLiteConnection(path: path, access: .readOnly)
        try JournalSchema.guardConnection(connection)
        let last = try connection.integer("SELECT max(number) FROM turns")
        // Erased people have numbers, which rise; version 1 knew none.
        let hasErasures = try connection.integer(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'erasures'")
        return Standing(
            turn: last,
            row: try connection.integer("SELECT last_row FROM turns ORDER BY number DESC LIMIT 1"),
            at: Timestamp(
                milliseconds: try connection.integer(
                    "SELECT wall_ms FROM turns ORDER BY number DESC LIMIT 1")),
            lastErasure: hasErasures == 0
                ? 0 : try connection.integer("SELECT max(number) FROM erasures"))
    }

    /// A text that says what will be done, and what the older version will not know.
    package var text: String {
        var lines = [
            "\(path) goes back to version \(copy.version), as it was at \(RFC3339.string(older.at)): turn "
                + "\(older.turn)."
        ]
        if let newer {
            lines.append(
                newer.turn == older.turn
                    ? "Nothing came since."
                    : "What came since is not in it: \(newer.turn - older.turn) turns with "
                        + "\(newer.row - older.row) batches and other events, up to "
                        + "\(RFC3339.string(newer.at)). What backends send again is taken.")
        } else {
            lines.append("How much came since cannot be read.")
        }
        lines.append(
            "The newer store is kept beside it as \(path).newer-…, for the newer program: rollcall export "
                + "reads it. The older program erases nobody there: delete it yourself.")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Does it; returns what was done.
    /// - Throws: `UpgradeError` if the disk refuses: the store's name leads to the newer one then.
    package func run() throws(UpgradeError) -> String {
        let kept = try keepNewer()
        guard rename(copy.path, path) == 0 else {
            throw .file(call: "rename", path: copy.path, errno: errno)
        }
        for ending in ["-wal", "-shm"] { unlink(path + ending) }
        StoreQuarantine.trust(path)
        do throws(StoreError) {
            try StoreDirectory(storePath: path).sync()
        } catch {
            throw .store(error)
        }
        return "\(path) is of version \(copy.version) again"
            + (kept.map { ", the newer store is \($0)" } ?? "")
            + ". Leave \(path).epoch, and start the older program.\n"
    }

    /// Gives the newer store a name of its own, beside the one it has; nil if there is none.
    private func keepNewer() throws(UpgradeError) -> String? {
        let wall = ClockReading.now().wall
        // One that was killed in the midst of this left its log: that is kept, too.
        guard StoreFile.size(path) > 0 || StoreQuarantine.isLogAlone(path) else { return nil }
        if StoreFile.size(path) > 0, try moveLog() {
            let name = StoreQuarantine.freeName(path, .newer, at: wall)
            if link(path, name) == 0 { return name }
            guard [EPERM, EOPNOTSUPP, EMLINK].contains(errno) else {
                throw .file(call: "link", path: name, errno: errno)
            }
        }
        // It is damaged, or the file system has no second names.
        do throws(StoreError) {
            return try StoreQuarantine.quarantine(path, at: wall, as: .newer).first
        } catch {
            throw .store(error)
        }
    }

    /// Moves the log into the file, so that one name is all of it; false if that cannot be.
    /// - Throws: `UpgradeError` if somebody reads the store.
    private func moveLog() throws(UpgradeError) -> Bool {
        guard StoreFile.size(path + "-wal") > 0 else { return true }
        do throws(StoreError) {
            let connection = try SQLiteConnection(path: path, access: .readWrite)
            try JournalSchema.guardConnection(connection)
            guard case .current = try JournalSchema.inspect(connection) else { return false }
            _ = try connection.text("PRAGMA wal_checkpoint(TRUNCATE)")
            try connection.close()
        } catch {
            return false
        }
        guard StoreFile.size(path + "-wal") == 0 else {
            throw .store(.upgrade(.isRead(path: path)))
        }
        return true
    }
}
