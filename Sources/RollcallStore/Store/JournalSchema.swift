import CSQLite
import RollcallCore

/// The store's tables, and the settings without which its promises do not hold.
package enum JournalSchema {
    /// "RLCL", which tells `file` and us whose database it is.
    static let applicationID: Int64 = 0x524c_434c
    /// The version of the tables below.
    package static let version: Int64 = 11
    /// Marks a file as of that version.
    private static let markVersion: SQL = "PRAGMA user_version = 11"

    /// The kind of a file, seen without changing it.
    package enum Found: Equatable {
        /// No table, no mark: a file that was just made, or whose making was cut off.
        case empty
        /// Ours, of this version.
        case current
        /// Ours, of an older version.
        case older(Int64)
    }

    /// Tells an empty file and ours from everybody else's. Writes nothing, so that a file that is
    /// refused stays as it was. Throws `StoreError` if it is another's, of a newer version, or
    /// cannot be read.
    package static func inspect(_ connection: SQLiteConnection) throws(StoreError) -> Found {
        let application = try connection.integer("PRAGMA application_id")
        let version = try connection.integer("PRAGMA user_version")
        let objects = try connection.integer("SELECT count(*) FROM sqlite_schema")
        if application == 0 && version == 0 && objects == 0 { return .empty }
        guard application == applicationID, version >= 1 else {
            let path = connection.path
            throw .foreignFile(path: path, applicationID: application, version: version)
        }
        guard version <= Self.version else {
            throw .newerVersion(path: connection.path, found: version, known: Self.version)
        }
        return version == Self.version ? .current : .older(version)
    }

    /// Brings an older version's tables up to date in one transaction: a crash leaves the old ones,
    /// which are brought up to date at the next start. Throws `StoreError` if SQLite refuses.
    static func migrate(_ connection: SQLiteConnection, from version: Int64) throws(StoreError) {
        try connection.run("BEGIN IMMEDIATE")
        for step in steps(from: version) { try connection.run(step) }
        try connection.run("COMMIT")
    }

    /// Returns the statements that make what an older version's tables lack.
    static func steps(from version: Int64) -> [SQL] {
        let later = [
            2: [erasures], 3: sinceVersion3, 4: sinceVersion4, 5: sinceVersion5, 6: sinceVersion6,
            7: sinceVersion7, 8: sinceVersion8, 9: sinceVersion9, 10: sinceVersion10,
            11: sinceVersion11,
        ]
        let missing = later.keys.filter { $0 > version }.sorted()
        return missing.flatMap { later[$0] ?? [] } + [StoreUpgrade.markTurn, markVersion]
    }

    /// Makes the tables and the marks in one transaction: a crash leaves all or nothing. Throws
    /// `StoreError` if SQLite refuses.
    static func create(_ connection: SQLiteConnection) throws(StoreError) {
        try connection.run("BEGIN IMMEDIATE")
        let later = [
            sinceVersion3, sinceVersion4, sinceVersion5, sinceVersion6, sinceVersion7,
            sinceVersion8, sinceVersion9, sinceVersion10, sinceVersion11,
        ]
        for statement in tables + later.joined() { try connection.run(statement) }
        try connection.run("PRAGMA application_id = 0x524c434c")
        try connection.run(markVersion)
        try connection.run("COMMIT")
    }

    /// Append-only, so that a row costs no more than its bytes. Decisions point back like rows: an
    /// index by responder was measured at ten times the append (10 µs at a million responders), and
    /// transitions are few only until a tenth of the fleet falls silent at one instant.
    private static let tables: [SQL] = [
        """
        CREATE TABLE journal(
            id INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            responder INTEGER NOT NULL,
            previous INTEGER NOT NULL,
            body BLOB NOT NULL)
        """,
        """
        CREATE TABLE turns(
            number INTEGER PRIMARY KEY,
            now_ms INTEGER NOT NULL,
            wall_ms INTEGER NOT NULL,
            first_row INTEGER NOT NULL,
            last_row INTEGER NOT NULL,
            engine_version INTEGER NOT NULL)
        """,
        """
        CREATE TABLE decisions(
            id INTEGER PRIMARY KEY,
            turn INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            responder INTEGER NOT NULL,
            previous INTEGER NOT NULL,
            at_ms INTEGER NOT NULL,
            body BLOB NOT NULL)
        """,
        "CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value ANY NOT NULL) STRICT, WITHOUT ROWID",
        // state: 0 writing → 1 complete → 2 obsolete → gone.
        // 0: slices are being added. One found at opening was cut off by a crash: it becomes 2.
        // 1: all slices are there. 2: nobody may read it, its slices go a few at a time.
        """
        CREATE TABLE checkpoints(
            turn INTEGER PRIMARY KEY,
            engine_version INTEGER NOT NULL,
            state INTEGER NOT NULL,
            slices INTEGER NOT NULL,
            created_ms INTEGER NOT NULL)
        """,
        """
        CREATE TABLE checkpoint_slices(
            turn INTEGER NOT NULL,
            slice INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY(turn, slice))
        """,
        erasures,
    ]

    /// Since version 2. `next_row` and `next_decision` are where the removal stands, 0 at the end;
    /// `finished_ms` is 0 until nothing is left. A person's id is nowhere in it.
    private static let erasures: SQL = """
        CREATE TABLE erasures(
            number INTEGER PRIMARY KEY,
            turn INTEGER NOT NULL,
            responder INTEGER NOT NULL,
            requested_ms INTEGER NOT NULL,
            finished_ms INTEGER NOT NULL,
            next_row INTEGER NOT NULL,
            next_decision INTEGER NOT NULL,
            rows INTEGER NOT NULL,
            decisions INTEGER NOT NULL)
        """

    private static let sinceVersion3: [SQL] = [
        // One row a gap that counts; 0 for a time that is not yet. `tally` is a `GapAggregates`:
        // what is counted by, in one number, since each column more makes counting millions slower.
        // `first_turn` is the turn in which it began to count, `turn` that of its newest decision:
        // as long as the row is there, so is that decision, and an erasure finds it by walking.
        """
        CREATE TABLE gaps(
            number INTEGER PRIMARY KEY,
            responder INTEGER NOT NULL,
            tally INTEGER NOT NULL,
            region BLOB NOT NULL,
            opened_ms INTEGER NOT NULL,
            closed_ms INTEGER NOT NULL,
            first_turn INTEGER NOT NULL,
            turn INTEGER NOT NULL,
            body BLOB NOT NULL)
        """,
        // By a time that never changes and nearly rises, so that it is appended to: what is
        // counted over is read from the table. Columns that change are in no index.
        "CREATE INDEX gaps_opened ON gaps(opened_ms)",
        "CREATE INDEX gaps_open ON gaps(opened_ms) WHERE closed_ms = 0",
        // One row a day and responder (C4); `day` counts from 1970, UTC.
        """
        CREATE TABLE dark(
            day INTEGER NOT NULL,
            responder INTEGER NOT NULL,
            platform INTEGER NOT NULL,
            contact_ms INTEGER NOT NULL,
            location_ms INTEGER NOT NULL,
            region BLOB NOT NULL,
            PRIMARY KEY(day, responder)) WITHOUT ROWID
        """,
        // Blind windows have no responder to walk back from; of all others nothing is in it.
        "CREATE INDEX blind_decisions ON decisions(id) WHERE responder = 0",
        // The gap that was open when somebody was erased: its decisions may be cut already.
        "ALTER TABLE erasures ADD COLUMN gap INTEGER NOT NULL DEFAULT 0",
    ]

    private static let sinceVersion4: [SQL] = [
        // One row a notice and address of its receiver (A9): neither URLs nor secrets nor ids of
        // people. `state` and `left_members` are those of `OutboxMessage`, `outcome` is -1 before
        // the end. What it waits by, `since_ms` and `next_ms`, is running time.
        """
        CREATE TABLE outbox(
            notice INTEGER NOT NULL,
            target INTEGER NOT NULL,
            state INTEGER NOT NULL,
            left_members INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            since_ms INTEGER NOT NULL,
            next_ms INTEGER NOT NULL,
            decided_ms INTEGER NOT NULL,
            finished_ms INTEGER NOT NULL,
            outcome INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY(notice, target))
        """,
        // What a start reads: all but those that are over.
        "CREATE INDEX outbox_alive ON outbox(notice) WHERE state < \(OutboxMessage.State.over)",
        // `took_ms` is -1 as long as nobody knows what became of it, `status` 0 without an answer.
        """
        CREATE TABLE attempts(
            notice INTEGER NOT NULL,
            target INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            began_ms INTEGER NOT NULL,
            took_ms INTEGER NOT NULL,
            status INTEGER NOT NULL,
            error TEXT NOT NULL,
            PRIMARY KEY(notice, target, attempt)) WITHOUT ROWID
        """,
    ]
}

extension JournalSchema {
    /// The time that opening waits for an outsider (D-11), and a transaction later on. The second
    /// is short because the state writer's lateness is (L8).
    static let openingWaitMilliseconds: Int32 = 5000
    /// The time that a transaction waits for another's lock; see ``openingWaitMilliseconds``.
    static let busyWaitMilliseconds: Int32 = 100

    /// One setting: how it is made, how it is read, and what must then be read.
    private struct Setting {
        let name: String
        let set: SQL
        let read: SQL
        let wanted: String

        init(_ name: String, _ set: SQL, read: SQL, wanted: String) {
            self.name = name
            self.set = set
            self.read = read
            self.wanted = wanted
        }
    }

    /// `journal_mode` comes first: `synchronous` is per connection, and some wrappers and builds
    /// change it with the mode, so it is set and read after.
    private static let writerSettings = [
        Setting(
            "journal_mode", "PRAGMA journal_mode = WAL",
            read: "PRAGMA journal_mode", wanted: "wal"),
        // "With synchronous=FULL in WAL mode, an additional sync operation of the WAL file
        // happens after each transaction commit": that is what a 2xx stands on (G1).
        Setting(
            "synchronous", "PRAGMA synchronous = FULL",
            read: "PRAGMA synchronous", wanted: "2"),
        // Readers need the file too, so not exclusive.
        Setting(
            "locking_mode", "PRAGMA locking_mode = NORMAL",
            read: "PRAGMA locking_mode", wanted: "normal"),
        // SQLite would checkpoint inside somebody's COMMIT and keep the result to itself.
        Setting(
            "wal_autocheckpoint", "PRAGMA wal_autocheckpoint = 0",
            read: "PRAGMA wal_autocheckpoint", wanted: "0"),
        Setting(
            "journal_size_limit", "PRAGMA journal_size_limit = 67108864",
            read: "PRAGMA journal_size_limit", wanted: "67108864"),
        Setting(
            "foreign_keys", "PRAGMA foreign_keys = ON",
            read: "PRAGMA foreign_keys", wanted: "1"),
        // What is erased (DELETE /v1/responders) must not stay readable in free pages.
        Setting(
            "secure_delete", "PRAGMA secure_delete = ON",
            read: "PRAGMA secure_delete", wanted: "1"),
    ]

    private static let commonSettings = [
        Setting(
            "trusted_schema", "PRAGMA trusted_schema = OFF",
            read: "PRAGMA trusted_schema", wanted: "0"),
        Setting(
            "cell_size_check", "PRAGMA cell_size_check = ON",
            read: "PRAGMA cell_size_check", wanted: "1"),
        Setting("temp_store", "PRAGMA temp_store = MEMORY", read: "PRAGMA temp_store", wanted: "2"),
        // An I/O error on a mapped page is a signal, not a result code.
        Setting("mmap_size", "PRAGMA mmap_size = 0", read: "PRAGMA mmap_size", wanted: "0"),
        // 8 MiB: the ends of three tables and the hot part of one index, far below 30 MB idle.
        Setting(
            "cache_size", "PRAGMA cache_size = -8192",
            read: "PRAGMA cache_size", wanted: "-8192"),
    ]

    /// Sets what must hold before the first page is read, whoever's file it is. Throws `StoreError`
    /// if SQLite refuses an option.
    package static func guardConnection(_ connection: SQLiteConnection) throws(StoreError) {
        connection.setBusyTimeout(milliseconds: openingWaitMilliseconds)
        connection.setLimit(SQLITE_LIMIT_LENGTH, to: Int32(Journal.bodyBytesMax) + 1024)
        connection.setLimit(SQLITE_LIMIT_ATTACHED, to: 0)
        try connection.configure(SQLITE_DBCONFIG_DEFENSIVE, on: true, name: "defensive")
        // A checkpoint at closing swallows I/O errors; ours does not.
        // It also leaves a file that is refused as it was.
        let closing = "no_ckpt_on_close"
        try connection.configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on: true, name: closing)
        let extensions = SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
        try connection.configure(extensions, on: false, name: "load_extension")
    }

    /// Makes the settings and reads each one back. Throws `StoreError` if one is not as it should
    /// be.
    static func applySettings(
        _ connection: SQLiteConnection,
        access: SQLiteConnection.Access
    ) throws(StoreError) {
        let settings = commonSettings + (access == .readWrite ? writerSettings : [])
        for setting in settings { try connection.run(setting.set) }
        try checkSettings(connection, settings)
        connection.setBusyTimeout(milliseconds: busyWaitMilliseconds)
    }

    /// Reads a writer's settings back, for tests and for the end of opening. Throws `StoreError` if
    /// one is not as it should be.
    static func checkWriterSettings(_ connection: SQLiteConnection) throws(StoreError) {
        try checkSettings(connection, commonSettings + writerSettings)
    }

    /// The greatest store of which each start looks at all pages and indexes: a tenth of a second if
    /// the system has them in memory, and no more than a slow disk reads in a second or two. In a
    /// greater one what a start reads is checked, and the rest by each backup.
    private static let bytesChecked: Int64 = 64 << 20

    /// Throws `StoreError.damaged` if the pages do not hang together, or an index is not its
    /// table's. If there are too many to look at, only of tables in which a row that is missing
    /// would say nothing; but if damage was met while the store was served, or its file does not
    /// begin as ours do, all of it is looked at, however long it takes.
    static func checkPages(
        _ connection: SQLiteConnection, isSuspect: Bool
    ) throws(StoreError) {
        let pages = try connection.integer("PRAGMA page_count")
        let pageSize = try connection.integer("PRAGMA page_size")
        let isWhole = isSuspect || pages * pageSize <= bytesChecked
        let checks: [SQL] =
            isWhole
            ? ["PRAGMA integrity_check(1)"]
            : [
                "PRAGMA integrity_check(meta)", "PRAGMA integrity_check(checkpoints)",
                "PRAGMA integrity_check(erasures)",
            ]
        for check in checks {
            let found = try connection.text(check) ?? ""
            guard found == "ok" else { throw .damaged("integrity_check: \(found)") }
        }
    }

    /// Moves the log into the file and writes the file's head anew. For a store that is whole as
    /// its log tells it, while its file begins with something else: another copy beside the log, or
    /// damage that the log covers. Moving alone may leave the head, if the log does not hold it.
    /// Throws `StoreError` if SQLite refuses.
    static func renewHead(_ connection: SQLiteConnection) throws(StoreError) {
        connection.setBusyTimeout(milliseconds: openingWaitMilliseconds)
        defer { connection.setBusyTimeout(milliseconds: busyWaitMilliseconds) }
        // To leave WAL mode moves the log and deletes it; both ways write the file's head.
        try connection.run("PRAGMA journal_mode = DELETE")
        try connection.run("PRAGMA journal_mode = WAL")
    }

    /// Returns what an error says that came with our own statements: if SQLite does not know what
    /// they name, the tables are not those of the version that the file claims.
    static func explained(_ error: StoreError) -> StoreError {
        guard case .sqlite(let failure) = error, failure.code == SQLITE_ERROR else { return error }
        return .damaged("its tables are not those of its version: \(failure.message)")
    }

    private static func checkSettings(
        _ connection: SQLiteConnection,
        _ settings: [Setting]
    ) throws(StoreError) {
        for setting in settings {
            let found = try connection.text(setting.read) ?? ""
            guard found == setting.wanted else {
                throw .setting(name: setting.name, wanted: setting.wanted, found: found)
            }
        }
    }
}
