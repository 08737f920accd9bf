import CSQLite
import Glibc

/// An error of the store, with the facts an operator needs.
///
/// SQL stands in it as it was prepared, with its question marks; bound values never do.
package enum StoreError: Error, Equatable {
    /// SQLite refused a call.
    case sqlite(SQLiteFailure)
    /// The system refused a call on one of the store's files.
    case file(call: String, path: String, errno: Int32)
    /// Another process holds the lock of this store; `process` is its id, if it left one.
    case secondInstance(path: String, process: Int32?)
    /// The file is a database, but of another application.
    case foreignFile(path: String, applicationID: Int64, version: Int64)
    /// The file was written by a Rollcall that is newer than this one.
    case newerVersion(path: String, found: Int64, known: Int64)
    /// A setting did not hold when it was read back.
    case setting(name: String, wanted: String, found: String)
    /// The store's content contradicts itself.
    case damaged(String)
    /// Somebody changed a file of the store while it was open.
    case disturbed(path: String, StoreDisturbance)
    /// It is of an older version, and is not brought up to date.
    case upgrade(StoreUpgradeRefusal)

    /// The action that the caller has to take.
    package enum Disposition: Equatable {
        /// Roll back, keep the turn whole and try it again later (J6): nothing was harmed.
        case recoverable(Recoverable)
        /// Do not try again with this object. `.io` means exit 74.
        case fatal(Fatal)
    }

    /// Causes that can go away without an operator restarting anything.
    package enum Recoverable: Equatable {
        /// No space, quota or file size left.
        case full
        /// Somebody outside holds a lock.
        case busy
        /// The file or its file system takes no writes.
        case readOnly
        /// No memory.
        case memory
    }

    /// Causes that trying again cannot remove.
    package enum Fatal: Equatable {
        /// The disk failed: what it holds now is unknown.
        case io
        /// The file is damaged, or no database.
        case corrupt
        /// The file was renamed, unlinked, cut or overwritten while open.
        case moved
        /// The file or its directory cannot be opened.
        case cannotOpen
        /// Another process holds the lock; see ``StoreError/secondInstance(path:process:)``.
        case secondInstance
        /// The file is another application's; see
        /// ``StoreError/foreignFile(path:applicationID:version:)``.
        case foreignFile
        /// A newer version wrote the store; see ``StoreError/newerVersion(path:found:known:)``.
        case newerVersion
        /// A setting is not as it should be; see ``StoreError/setting(name:wanted:found:)``.
        case setting
        /// It is of an older version, and was not brought up to date; see
        /// ``StoreError/upgrade(_:)``.
        case upgrade
        /// Rollcall's own mistake: a wrong statement, a number used twice.
        case defect
    }

    /// A text that says what is wrong with the store, without what to do about it.
    package var finding: String {
        switch self {
        case .sqlite(let failure): "\(failure.message) (SQLite \(failure.extendedCode))"
        case .foreignFile(_, let applicationID, let version):
            "application_id \(applicationID), user_version \(version)"
        case .damaged(let what): what
        default: description
        }
    }

    /// Recoverable or fatal, and why.
    package var disposition: Disposition {
        switch self {
        case .sqlite(let failure): failure.disposition
        case .file("fsync", _, _): .fatal(.io)
        case .file(_, _, let errno): Self.disposition(errno: errno, otherwise: .cannotOpen)
        case .secondInstance: .fatal(.secondInstance)
        case .foreignFile: .fatal(.foreignFile)
        case .newerVersion: .fatal(.newerVersion)
        case .setting: .fatal(.setting)
        case .damaged: .fatal(.corrupt)
        case .disturbed: .fatal(.moved)
        case .upgrade: .fatal(.upgrade)
        }
    }

    /// Tells a full or read-only file system from a failing one by the system's error number.
    fileprivate static func disposition(errno: Int32, otherwise: Fatal) -> Disposition {
        switch errno {
        case ENOSPC, EDQUOT, EFBIG: .recoverable(.full)
        case EROFS, EACCES, EPERM: .recoverable(.readOnly)
        default: .fatal(otherwise)
        }
    }
}

/// A result code of SQLite with its circumstances.
package struct SQLiteFailure: Equatable, Sendable {
    /// The extended result code; its low byte is the primary one.
    package var extendedCode: Int32
    /// The system's `errno` behind an I/O error, 0 for none.
    package var systemError: Int32
    /// SQLite's own English words.
    package var message: String
    /// The statement as prepared, or the name of the call.
    package var sql: String

    /// The primary result code, such as `SQLITE_FULL`.
    package var code: Int32 { extendedCode & 0xff }

    fileprivate var disposition: StoreError.Disposition {
        switch code {
        case SQLITE_FULL: .recoverable(.full)
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .recoverable(.busy)
        case SQLITE_READONLY:
            extendedCode == rollcall_readonly_dbmoved ? .fatal(.moved) : .recoverable(.readOnly)
        case SQLITE_NOMEM: .recoverable(.memory)
        case SQLITE_CORRUPT, SQLITE_NOTADB: .fatal(.corrupt)
        case SQLITE_CANTOPEN: StoreError.disposition(errno: systemError, otherwise: .cannotOpen)
        case SQLITE_IOERR: errorOfDisk
        default: .fatal(.defect)
        }
    }

    private var errorOfDisk: StoreError.Disposition {
        switch extendedCode {
        // After a failed fsync the kernel marks the lost pages clean, so a second fsync succeeds
        // without writing them ("Can Applications Recover from fsync Failures?", ATC'20):
        // whatever errno says, even ENOSPC, this is final (J6).
        case rollcall_ioerr_fsync, rollcall_ioerr_dir_fsync: .fatal(.io)
        case rollcall_ioerr_nomem: .recoverable(.memory)
        case rollcall_ioerr_corruptfs: .fatal(.corrupt)
        // SQLite reports ENOSPC of a write as SQLITE_FULL, but quota and file size limits, and
        // ENOSPC of the shared memory file, as I/O errors.
        case rollcall_ioerr_write, rollcall_ioerr_truncate, rollcall_ioerr_shmopen,
            rollcall_ioerr_shmsize:
            StoreError.disposition(errno: systemError, otherwise: .io)
        default: .fatal(.io)
        }
    }
}

extension StoreError: CustomStringConvertible {
    /// One sentence for the log: what failed, with which value, and what to do.
    package var description: String {
        switch self {
        case .sqlite(let failure):
            "\(failure.sql): \(failure.message) (SQLite \(failure.extendedCode), "
                + "errno \(failure.systemError)): \(advice)"
        case .file(let call, let path, let errno):
            "\(call) \(path): errno \(errno) (\(String(cString: strerror(errno)))): \(advice)"
        case .secondInstance(let path, let process):
            "\(path) is locked by \(process.map { "process \($0)" } ?? "another process"): "
                + "stop it, or give this one another storage.path"
        case .foreignFile(let path, let applicationID, let version):
            "\(path) is another application's database (application_id \(applicationID), "
                + "user_version \(version)): choose another storage.path"
        case .newerVersion(let path, let found, let known):
            "\(path) has store version \(found), this rollcall knows up to \(known): "
                + "run the newer rollcall, or restore a backup made before the upgrade"
        case .setting(let name, let wanted, let found):
            "PRAGMA \(name) reads \"\(found)\" after it was set, not \"\(wanted)\": "
                + "this SQLite library or file system cannot keep Rollcall's promises"
        case .damaged(let what): "\(what): \(advice)"
        case .disturbed(let path, let what):
            "\(path) \(what.words) while it was open: "
                + "keep others away from the store's files, then start again"
        case .upgrade(let refusal): refusal.words
        }
    }

    private var advice: String {
        switch disposition {
        case .recoverable(.full): "free some space"
        case .recoverable(.busy): "close what else has the file open"
        case .recoverable(.readOnly): "make it writable"
        case .recoverable(.memory): "free some memory"
        case .fatal(.io): "what the disk holds is unknown; check it, then start again"
        case .fatal(.corrupt): "put the file aside and restore a backup"
        case .fatal(.moved): "the file was renamed or deleted while open; put it back, start again"
        case .fatal(.cannotOpen): "check storage.path and its directory"
        default: "this is a mistake in rollcall, please report it"
        }
    }
}
