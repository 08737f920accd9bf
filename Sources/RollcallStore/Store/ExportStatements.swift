/// The statements of an export, prepared once.
final class ExportStatements {
    let turns, turnAt, lastTurn, rows, decisions, decisionAt, lastDecision: Statement
    let oldestRow, oldestCheckpoint, checkpoints, slice: Statement
    let erasing, lastErasure, pageCount, pageSize: Statement

    /// Prepares them on a connection whose tables are there.
    /// - Throws: `StoreError` if SQLite refuses one.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        func prepare(_ sql: SQL) throws(StoreError) -> Statement { try Statement(connection, sql) }
        typealias State = EngineCheckpoint.State
        turns = try prepare(
            "\(select: .turns) WHERE number > :number AND number <= :last ORDER BY number")
        turnAt = try prepare("\(select: .turns) WHERE number >= :number ORDER BY number LIMIT 1")
        lastTurn = try prepare("SELECT max(number) FROM turns")
        rows = try prepare(.tableRows)
        decisions = try prepare("\(select: .decisions) WHERE id >= :id ORDER BY id")
        decisionAt = try prepare(
            "\(select: .decisions) WHERE id >= :id ORDER BY id LIMIT 1")
        lastDecision = try prepare("SELECT max(id) FROM decisions")
        oldestRow = try prepare(.firstRow)
        oldestCheckpoint = try prepare(
            "SELECT min(turn) FROM checkpoints WHERE state = \(State.complete)")
        checkpoints = try prepare(
            "\(select: .checkpoints) WHERE state = \(State.complete) ORDER BY turn")
        slice = try prepare("\(select: .slices) WHERE turn = :turn AND slice = :slice")
        erasing = try prepare("SELECT count(*) FROM erasures WHERE finished_ms = 0")
        lastErasure = try prepare("SELECT max(number) FROM erasures")
        pageCount = try prepare("PRAGMA page_count")
        pageSize = try prepare("PRAGMA page_size")
    }
}
