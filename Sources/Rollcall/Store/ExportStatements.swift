/// The statements of an export, prepared once.
final class ExportStatements {
    let turns, turnAt, lastTurn, rows, decisions, decisionAt, lastDecision: Statement
    let oldestRow, oldestCheckpoint, checkpoints, slice: Statement
    let erasing, lastErasure, pageCount, pageSize: Statement

    /// Prepares them on a connection whose tables are there.
    /// - Throws: `StoreError` if SQLite refuses one.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        turns = try Statement(
            connection,
            "SELECT * FROM turns WHERE number > ?1 AND number <= ?2 ORDER BY number")
        turnAt = try Statement(
            connection, "SELECT * FROM turns WHERE number >= ? ORDER BY number LIMIT 1")
        lastTurn = try Statement(connection, "SELECT max(number) FROM turns")
        rows = try Statement(
            connection,
            """
            SELECT id, kind, responder, previous, body, checksum FROM journal
            WHERE id >= ?1 AND id <= ?2 ORDER BY id
            """)
        decisions = try Statement(
            connection, "SELECT * FROM decisions WHERE id >= ? ORDER BY id")
        decisionAt = try Statement(
            connection, "SELECT id, turn FROM decisions WHERE id >= ? ORDER BY id LIMIT 1")
        lastDecision = try Statement(connection, "SELECT max(id) FROM decisions")
        oldestRow = try Statement(connection, "SELECT min(id) FROM journal")
        oldestCheckpoint = try Statement(
            connection, "SELECT min(turn) FROM checkpoints WHERE state = 1")
        checkpoints = try Statement(
            connection,
            "SELECT * FROM checkpoints WHERE state = 1 ORDER BY turn")
        slice = try Statement(
            connection,
            "SELECT body, checksum FROM checkpoint_slices WHERE turn = ?1 AND slice = ?2")
        erasing = try Statement(
            connection, "SELECT count(*) FROM erasures WHERE finished_ms = 0")
        lastErasure = try Statement(connection, "SELECT max(number) FROM erasures")
        pageCount = try Statement(connection, "PRAGMA page_count")
        pageSize = try Statement(connection, "PRAGMA page_size")
    }
}
