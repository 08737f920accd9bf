import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// A store that goes back to the copy that an upgrade kept; nothing is deleted. Source: J15.
///
///     lock ──► copy whole? ──► log into the file ──► second name `.newer-…` ──► copy takes the store's name
///
/// Where the file system has second names, the store's name leads to a whole store at each moment, the newer
/// or the older one. A second name that was left by one that was killed goes here, or at the next start.
package struct StoreDowngrade {
    private let path: String
    private let copy: StoreUpgrade.Copy
    private let lock: StoreLock
    private let older: StoreStanding
    /// Nil if it cannot be read, which may be why somebody goes back.
    private let newer: StoreStanding?
    /// Erasures of the newer store; nil if they cannot be read.
    private let erasures: StoreStanding.Erasures?

    /// Looks at the store at `given`, and locks it: nobody serves it meanwhile.
    /// - Throws: `UpgradeError` if it is served, has no whole copy of an older version beside it, or somebody
    ///   was erased since.
    package init(_ given: String) throws(UpgradeError) {
        do throws(StoreError) {
            path = try StoreFile.resolve(given)
        } catch {
            throw .unusable(path: given, "\(error)")
        }
        let copies: [StoreUpgrade.Copy]
        do throws(StoreError) { copies = try StoreUpgrade.copies(of: path) } catch {
            throw .store(error)
        }
        guard !copies.isEmpty else { throw .noCopy(path: given) }
        do throws(StoreError) { lock = try StoreLock(storePath: path) } catch {
            throw .store(error)
        }
        let isRead = StoreFile.isLogReadable(path)
        newer = isRead ? try? StoreStanding(path) : nil
        // Of what damage has left of a store, it is the smaller part, and read by itself.
        erasures = isRead ? try? StoreStanding.erasures(path) : nil
        let version = newer?.version
        guard let copy = copies.first(where: { copy in version.map { copy.version < $0 } ?? true })
        else { throw .noCopy(path: given) }
        self.copy = copy
        let known: StoreStanding.Erasures
        do throws(StoreError) {
            defer { Self.tidy(copy.path) }
            older = try StoreStanding(copy.path, isChecked: true)
            known = try StoreStanding.erasures(copy.path)
        } catch {
            guard StoreQuarantine.cause(error) != nil else { throw .store(error) }
            throw .damagedCopy(path: copy.path, error.finding)
        }
        if let erasures {
            // One that is over in the copy may have been opened again in the newer store (J12).
            let since = erasures.all.subtracting(known.all)
                .union(erasures.pending.subtracting(known.pending))
            if !since.isEmpty { throw .erased(path: given, people: since.count) }
        }
    }

    /// Takes away what SQLite needed to read a copy.
    private static func tidy(_ path: String) {
        guard StoreFile.size(path + "-wal") == 0 else { return }
        for ending in ["-wal", "-shm"] { unlink(path + ending) }
    }

    /// A text that says what will be done, and what the older version will not know.
    package var text: String {
        var lines = [
            "\(path) goes back to version \(copy.version), as it was at \(RFC3339.string(older.at)): turn "
                + "\(older.turn)."
        ]
        if let newer {
            let isAnother = newer.turn < older.turn || newer.row < older.row
            lines.append(
                isAnother
                    ? "It is another store than the copy is of: turn \(newer.turn) of "
                        + "\(RFC3339.string(newer.at)). Nothing of it is in the copy."
                    : newer.turn == older.turn
                        ? "Nothing came since."
                        : "What came since is not in it: \(newer.turn - older.turn) turns with "
                            + "\(newer.row - older.row) batches and other events, up to "
                            + "\(RFC3339.string(newer.at)). What backends send again is taken.")
        } else {
            lines.append("How much came since cannot be read.")
        }
        if erasures == nil {
            lines.append(
                "Nor can be read whether somebody is being erased: who asked for that since "
                    + "\(RFC3339.string(older.at)) would be there again, and nobody would know. Ask for it "
                    + "again once the older program serves.")
        } else if let pending = erasures?.pending.count, pending > 0 {
            lines.append(
                "\(pending) people are being erased: the older program does it in its own store, and nobody "
                    + "does in the newer one.")
        }
        lines.append(
            "The newer store is kept beside it as \(path).newer-…, for the newer program: rollcall export "
                + "reads it. The older program erases nobody there: delete it yourself.")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Does it; returns what was done. `unread`: also if it cannot be read who is being erased.
    /// - Throws: `UpgradeError` if it cannot, or the disk refuses: the store's name leads to the newer one
    ///   then.
    package func run(unread: Bool = false) throws(UpgradeError) -> String {
        guard erasures != nil || unread else { throw .unread(path: path) }
        let kept: String?
        do throws(StoreError) {
            try StoreUpgrade.dropSecondNames(of: path)
            kept = try keepNewer()
            // Its name must be durable before the other one goes.
            try StoreDirectory(storePath: path).sync()
        } catch {
            if case .upgrade(.isRead) = error { throw .isRead(path: path) }
            throw .store(error)
        }
        guard rename(copy.path, path) == 0 else {
            let number = errno
            _ = try? StoreUpgrade.dropSecondNames(of: path)
            throw .file(call: "rename", path: copy.path, errno: number)
        }
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

    /// Gives the newer store a name of its own, beside the one it has, and leaves no log behind that would be
    /// read with the older one; nil if there is none.
    private func keepNewer() throws(StoreError) -> String? {
        let wall = ClockReading.now().wall
        var kept: String?
        // One that was killed in the midst of this left its log: that is kept, too.
        if StoreFile.size(path) > 0 || StoreQuarantine.isLogAlone(path) {
            if StoreFile.size(path) > 0, try moveLog() {
                let name = StoreQuarantine.freeName(path, .newer, at: wall)
                if link(path, name) == 0 {
                    kept = name
                } else if ![EPERM, EOPNOTSUPP, EMLINK].contains(errno) {
                    throw .file(call: "link", path: name, errno: errno)
                }
            }
            // It is damaged, or the file system has no second names.
            if kept == nil {
                kept = try StoreQuarantine.quarantine(path, at: wall, as: .newer).first
            }
        }
        for ending in ["-wal", "-shm"] where StoreFile.size(path + "-wal") == 0 {
            unlink(path + ending)
        }
        return kept
    }

    /// Moves the log into the file, so that one name is all of it; false if that cannot be.
    /// - Throws: `StoreError` if somebody reads the store.
    private func moveLog() throws(StoreError) -> Bool {
        guard StoreFile.size(path + "-wal") > 0 else { return true }
        guard StoreFile.isLogReadable(path) else { return false }
        do throws(StoreError) {
            let connection = try SQLiteConnection(path: path, access: .readWrite)
            try JournalSchema.guardConnection(connection)
            guard try JournalSchema.inspect(connection) != .empty else { return false }
            _ = try connection.text("PRAGMA wal_checkpoint(TRUNCATE)")
            try connection.close()
        } catch {
            return false
        }
        guard StoreFile.size(path + "-wal") == 0 else { throw .upgrade(.isRead(path: path)) }
        return true
    }
}
