import CSQLite

/// The memory that SQLite takes from the system.
enum SQLiteMemory {
    /// True once SQLite does not count what it takes, which it does under a lock of all connections at
    /// each piece: an insert takes five. False if it was in use before; it is as right then, and slower.
    static let isUncounted = rollcall_sqlite_count_no_memory() == SQLITE_OK
}

/// The facts about the SQLite of this process.
package enum SQLiteLibrary {
    /// Its version.
    package static var version: String { String(cString: sqlite3_libversion()) }
}
