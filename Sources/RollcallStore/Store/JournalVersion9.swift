import RollcallCore

/// The additions of version 9 of the store, in which `Engine.version` 6 writes, to version 8.
extension JournalSchema {
    private typealias Table = RowChecksum.Table

    /// Since version 9. Each addition stands here as one statement of its own, with the sentence that
    /// says what it is for; a new column has a default, or is NULL in what was written before.
    static let sinceVersion9: [SQL] = sums + erasures

    /// Sums of rows that end with a number see its upper half. What the old sum says is not as it was
    /// written stays so by the same difference, and NULL stays NULL: nobody knows what stood there. Of
    /// the upper halves nobody knew either; where a turn tells about when its checkpoint was made, the
    /// one that decides what is cut is compared with it. Sums of turns stay: see `RowChecksum.fits`.
    private static let sums: [SQL] = [
        """
        UPDATE meta SET
            checksum = checksum
                - row_checksum_8(\(Table.meta), key, value) + row_checksum(\(Table.meta), key, value)
        """,
        """
        UPDATE checkpoints SET
            checksum = checksum
                - row_checksum_8(\(Table.checkpoints), turn, engine_version, state, slices, created_ms)
                + row_checksum(\(Table.checkpoints), turn, engine_version, state, slices, created_ms)
                + ifnull(
                    (SELECT abs(wall_ms - created_ms) >= 2147483648
                        FROM turns WHERE number = checkpoints.turn), 0)
        """,
        """
        UPDATE samples SET
            checksum = checksum
                - row_checksum_8(\(Table.samples), minute, at_ms, online, degraded, unknown, offline, not_expected)
                + row_checksum(\(Table.samples), minute, at_ms, online, degraded, unknown, offline, not_expected)
        """,
    ]

    /// An erasure says in which regions the person was, until nothing is left of them. Nothing stands
    /// there for any region: those that an older version began take every name that nobody has any
    /// more. The checksum is the last column of every table, so this one is made anew.
    private static let erasures: [SQL] = [
        "ALTER TABLE erasures RENAME TO erasures_8",
        """
        CREATE TABLE erasures(
            number INTEGER PRIMARY KEY,
            turn INTEGER NOT NULL,
            responder INTEGER NOT NULL,
            requested_ms INTEGER NOT NULL,
            finished_ms INTEGER NOT NULL,
            next_row INTEGER NOT NULL,
            next_decision INTEGER NOT NULL,
            rows INTEGER NOT NULL,
            decisions INTEGER NOT NULL,
            gap INTEGER NOT NULL,
            regions BLOB NOT NULL,
            checksum INTEGER)
        """,
        """
        INSERT INTO erasures SELECT
            number, turn, responder, requested_ms, finished_ms, next_row, next_decision, rows,
            decisions, gap, X'',
            checksum
                - row_checksum_8(
                    \(Table.erasures), number, turn, responder, requested_ms, finished_ms, next_row, next_decision, rows,
                    decisions, gap)
                + row_checksum(
                    \(Table.erasures), number, turn, responder, requested_ms, finished_ms, next_row, next_decision, rows,
                    decisions, gap, X'')
        FROM erasures_8
        """,
        "DROP TABLE erasures_8",
    ]
}

/// A backup says of itself that it is one (N2). An older Rollcall does not look for it.
extension Journal {
    /// Under which it does, with the time; 0 once a start has taken it into account.
    package static let copiedKey = "copied_ms"

    /// Returns when this store was copied by `rollcall backup`, if nobody has served the copy yet.
    /// - Throws: `StoreError` if it cannot be read.
    package func copiedAt() throws(StoreError) -> Timestamp? {
        let found = try integer(forKey: Self.copiedKey) ?? 0
        return found > 0 ? Timestamp(milliseconds: found) : nil
    }

    /// Notes in the open transaction that the copy is a store of its own by now.
    /// - Throws: `StoreError` if it cannot be written.
    package func forgetCopying() throws(StoreError) { try set(0, forKey: Self.copiedKey) }
}
