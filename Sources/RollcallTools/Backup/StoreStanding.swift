import RollcallCore
import RollcallStore

/// The newest turn of a store of any version, and who was or is being erased there. Source: J15.
struct StoreStanding {
    var version: StoreUpgrade.Version
    var turn: Int64
    var row: Int64
    var at: Timestamp

    /// An erasure, by the row that asked for it.
    struct Asked: Hashable {
        var number: Int64
        var at: Timestamp
    }

    /// The erasures that a store remembers.
    struct Erasures {
        var all: Set<Asked> = []
        /// Those that are not over.
        var pending: Set<Asked> = []
    }

    /// Reads the store at `path`. If it is to be checked, all of its pages must hang together.
    /// - Throws: `StoreError` if it cannot be read, or is damaged.
    init(_ path: String, isChecked: Bool = false) throws(StoreError) {
        let connection = try Self.open(path)
        // These columns are in all versions.
        version = StoreUpgrade.Version(
            store: try connection.integer("PRAGMA user_version"),
            engine: try connection.integer(
                "SELECT engine_version FROM turns ORDER BY number DESC LIMIT 1"))
        turn = try connection.integer("SELECT max(number) FROM turns")
        row = try connection.integer("SELECT last_row FROM turns ORDER BY number DESC LIMIT 1")
        at = Timestamp(
            milliseconds: try connection.integer(
                "SELECT wall_ms FROM turns ORDER BY number DESC LIMIT 1"))
        guard isChecked else { return }
        let pages = try connection.text("PRAGMA integrity_check(1)") ?? ""
        guard pages == "ok" else { throw .damaged("integrity_check: \(pages)") }
    }

    /// Returns the erasures that the store at `path` remembers; version 1 knew none.
    /// - Throws: `StoreError` if they cannot be read.
    static func erasures(_ path: String) throws(StoreError) -> Erasures {
        let connection = try open(path)
        let isKnown = try connection.integer(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'erasures'")
        guard isKnown > 0 else { return Erasures() }
        // A page that damage has shortened hides rows without a word.
        let pages = try connection.text("PRAGMA integrity_check(erasures)") ?? ""
        guard pages == "ok" else { throw .damaged("integrity_check: \(pages)") }
        let select = try Statement(
            connection, "\(select: .erasures, .number, .requestedMs, .finishedMs)")
        defer { select.finalize() }
        var erasures = Erasures()
        while try select.next() {
            let at = Timestamp(milliseconds: select.integer(.requestedMs))
            let asked = Asked(number: select.integer(.number), at: at)
            erasures.all.insert(asked)
            if select.integer(.finishedMs) == 0 { erasures.pending.insert(asked) }
        }
        return erasures
    }

    private static func open(_ path: String) throws(StoreError) -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, access: .readOnly)
        try JournalSchema.guardConnection(connection)
        guard try JournalSchema.inspect(connection) != .empty else {
            throw .damaged("it holds nothing")
        }
        return connection
    }
}
