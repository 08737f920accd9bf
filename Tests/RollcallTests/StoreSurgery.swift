import CSQLite
import Testing

@testable import Rollcall

/// Damage that is done to a store's file behind its back.
enum StoreSurgery {
    /// Runs SQL that is put together, through a connection of its own; the first column of each row.
    @discardableResult
    static func run(_ path: String, _ sql: String) throws -> [String] {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        var rows: [String] = []
        let code = withUnsafeMutablePointer(to: &rows) { rows in
            sqlite3_exec(
                handle, sql,
                { rows, count, values, _ in
                    let first = count > 0 ? values?[0] : nil
                    rows?.assumingMemoryBound(to: [String].self).pointee.append(
                        first.map { String(cString: $0) } ?? "NULL")
                    return 0
                }, rows, nil)
        }
        try #require(code == SQLITE_OK, "\(sql): \(String(cString: sqlite3_errmsg(handle)))")
        return rows
    }

    /// The columns of a table: those that tell its rows apart, or the others.
    static func columns(_ path: String, of table: String, isKey: Bool) throws -> [String] {
        let kind = isKey ? "pk > 0" : "pk = 0"
        return try run(path, "SELECT name FROM pragma_table_info('\(table)') WHERE \(kind)")
    }

    /// An UPDATE that changes one bit of a column of numbers, and one byte of others.
    static func flip(_ column: String, of table: String, where rows: String, bit: Int) -> String {
        """
        UPDATE \(table) SET \(column) = CASE typeof(\(column))
            WHEN 'integer' THEN (\(column) | \(bit)) - (\(column) & \(bit))
            WHEN 'text' THEN char(unicode(\(column) || 'a') + 1) || substr(\(column), 2)
            WHEN 'blob' THEN CAST(
                ifnull(substr(\(column), 1, length(\(column)) - 1), '')
                || CASE substr(\(column), -1) WHEN x'41' THEN 'B' ELSE 'A' END AS BLOB)
            ELSE 1 END
        WHERE \(rows)
        """
    }

    /// Runs SQL that an index learns nothing of.
    static func run(_ path: String, hiding index: String, _ sql: String) throws {
        let kept = path + ".kept"
        try run(
            path,
            """
            PRAGMA writable_schema = ON; ATTACH '\(kept)' AS kept;
            CREATE TABLE kept.parts AS SELECT * FROM main.sqlite_schema WHERE name = '\(index)';
            DELETE FROM main.sqlite_schema WHERE name = '\(index)'
            """)
        try run(path, sql)
        try run(
            path,
            """
            PRAGMA writable_schema = ON; ATTACH '\(kept)' AS kept;
            INSERT INTO main.sqlite_schema SELECT * FROM kept.parts; DROP TABLE kept.parts
            """)
    }

    /// Makes a store larger than what each start looks at whole.
    static func enlarge(_ path: String) throws {
        try run(
            path,
            """
            PRAGMA synchronous = OFF; CREATE TABLE padding(x);
            INSERT INTO padding VALUES(zeroblob(72000000))
            """)
        try run(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    }
}
