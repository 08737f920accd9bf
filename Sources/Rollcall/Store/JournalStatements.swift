/// Every statement that the keeper uses more than once, prepared once.
final class JournalStatements {
    /// The transaction.
    let begin, commit, rollback: Statement
    /// The statements that append, and those of `meta`.
    let insertRow, insertDecision, insertTurn, getMeta, setMeta: Statement
    /// The statements that read the last numbers and the first.
    let lastRow, lastTurnRow, lastDecision, lastTurn, firstTurn: Statement
    /// The statements that a restart reads by.
    let tailTurns, tailRows, tailDecisions: Statement
    /// The engine's checkpoints.
    let insertCheckpoint, insertSlice, markComplete, surplusCheckpoints, newestCheckpoint: Statement
    /// Further statements of checkpoints: slices, and what goes with old ones.
    let slices, obsoleteTurn, deleteSlices, deleteAllSlices, deleteCheckpoint: Statement
    /// Further statements of checkpoints: those to give up, and single slices.
    let unfinishedCheckpoints, checkpointsBefore, slice, replaceSlice, dropCheckpoint: Statement
    /// Erasure.
    let allErasures, putErasure, forgetErasures: Statement
    /// Further statements of erasures: rows and decisions.
    let row, replaceRow, decision, deleteDecision: Statement
    /// Further statements of erasures: regions' names in decisions and messages.
    let nobodysAfter, replaceDecision, messageBodiesAfter, replaceMessage: Statement
    /// Retention.
    let pageCount, freePages, pageSize, turn, deleteRows, deleteDecisions, deleteTurns: Statement
    /// Gaps and dark time.
    let putGap, lastGap, gapsAfter, deleteGap, addDark, nextDarkDay, deleteDark: Statement
    /// The statement that removes dark time of old days.
    let deleteDarkBefore: Statement
    /// The outbox.
    let insertMessage, updateMessage, aliveMessages, messagesAfter, deleteMessage: Statement
    /// The statements of attempts.
    let putAttempt, deleteAttempts: Statement
    /// Pushes.
    let insertPush, updatePush, alivePushes, pushesAfter, deletePush, deletePushesOf: Statement
    /// The statement that finds the newest push.
    let lastPush: Statement
    /// Samples.
    let putSample, deleteSamplesBefore: Statement

    private var all: [Statement] = []

    /// Prepares them on a connection whose tables are there.
    /// - Throws: `StoreError` if SQLite refuses one.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        var all: [Statement] = []
        func prepare(_ sql: StaticString) throws(StoreError) -> Statement {
            let statement = try Statement(connection, sql)
            all.append(statement)
            return statement
        }
        // IMMEDIATE takes the write lock now: who is busy shows here and not in the middle.
        begin = try prepare("BEGIN IMMEDIATE")
        commit = try prepare("COMMIT")
        rollback = try prepare("ROLLBACK")
        insertRow = try prepare(
            "INSERT INTO journal VALUES(?, ?, ?, ?, ?, ?)")
        insertDecision = try prepare(
            """
            INSERT INTO decisions(id, turn, kind, responder, previous, at_ms, body, checksum)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertTurn = try prepare("INSERT INTO turns VALUES(?, ?, ?, ?, ?, ?, ?)")
        getMeta = try prepare("SELECT * FROM meta WHERE key = ?")
        setMeta = try prepare(
            "INSERT OR REPLACE INTO meta VALUES(?1, ?2, row_checksum(5, ?1, ?2))")
        lastRow = try prepare("SELECT max(id) FROM journal")
        lastTurnRow = try prepare("SELECT last_row FROM turns ORDER BY number DESC LIMIT 1")
        lastDecision = try prepare("SELECT max(id) FROM decisions")
        lastTurn = try prepare("SELECT * FROM turns ORDER BY number DESC LIMIT 1")
        firstTurn = try prepare("SELECT * FROM turns ORDER BY number LIMIT 1")
        tailTurns = try prepare("SELECT * FROM turns WHERE number > ? ORDER BY number")
        tailRows = try prepare("SELECT * FROM journal WHERE id BETWEEN ? AND ? ORDER BY id")
        tailDecisions = try prepare(JournalSchema.decisionsAfterTurn)
        insertCheckpoint = try prepare(JournalSchema.insertCheckpoint)
        insertSlice = try prepare("INSERT INTO checkpoint_slices VALUES(?, ?, ?, ?)")
        markComplete = try prepare(JournalSchema.markCheckpointComplete)
        surplusCheckpoints = try prepare(JournalSchema.surplusCheckpoints)
        newestCheckpoint = try prepare(
            """
            SELECT * FROM checkpoints WHERE state = 1 AND turn <= ? ORDER BY turn DESC LIMIT 1
            """)
        slices = try prepare(
            "SELECT slice, body, checksum FROM checkpoint_slices WHERE turn = ? ORDER BY slice")
        obsoleteTurn = try prepare("SELECT turn FROM checkpoints WHERE state = 2 LIMIT 1")
        deleteSlices = try prepare(
            "DELETE FROM checkpoint_slices WHERE turn = ? ORDER BY slice LIMIT ?")
        deleteAllSlices = try prepare("DELETE FROM checkpoint_slices WHERE turn = ?")
        deleteCheckpoint = try prepare("DELETE FROM checkpoints WHERE turn = ?")
        unfinishedCheckpoints = try prepare("SELECT turn FROM checkpoints WHERE state = 0")
        checkpointsBefore = try prepare(
            "SELECT * FROM checkpoints WHERE state = 1 AND turn < ? ORDER BY turn")
        slice = try prepare(
            "SELECT body, checksum FROM checkpoint_slices WHERE turn = ? AND slice = ?")
        replaceSlice = try prepare(
            "UPDATE checkpoint_slices SET body = ?3, checksum = ?4 WHERE turn = ?1 AND slice = ?2")
        dropCheckpoint = try prepare(JournalSchema.dropCheckpoint)
        allErasures = try prepare("SELECT * FROM erasures ORDER BY number")
        putErasure = try prepare(JournalSchema.putErasure)
        forgetErasures = try prepare(
            "DELETE FROM erasures WHERE finished_ms > 0 AND finished_ms < ?")
        row = try prepare("SELECT * FROM journal WHERE id = ?")
        replaceRow = try prepare(
            """
            UPDATE journal
            SET kind = ?2, responder = 0, previous = 0, body = ?3, checksum = ?4 WHERE id = ?1
            """)
        decision = try prepare("SELECT * FROM decisions WHERE id = ?")
        deleteDecision = try prepare("DELETE FROM decisions WHERE id = ?")
        nobodysAfter = try prepare(JournalSchema.nobodysAfter)
        replaceDecision = try prepare(
            "UPDATE decisions SET body = ?2, checksum = ?3 WHERE id = ?1")
        messageBodiesAfter = try prepare(JournalSchema.messageBodiesAfter)
        replaceMessage = try prepare(JournalSchema.replaceMessage)
        pageCount = try prepare("PRAGMA page_count")
        freePages = try prepare("PRAGMA freelist_count")
        pageSize = try prepare("PRAGMA page_size")
        turn = try prepare("SELECT * FROM turns WHERE number = ?")
        deleteRows = try prepare("DELETE FROM journal WHERE id <= ? ORDER BY id LIMIT ?")
        // The oldest are looked at only: the table has no index by turn, and turns rise with ids.
        deleteDecisions = try prepare(
            """
            DELETE FROM decisions WHERE turn <= ?1
                AND id IN (SELECT id FROM decisions ORDER BY id LIMIT ?2)
            """)
        deleteTurns = try prepare("DELETE FROM turns WHERE number <= ? ORDER BY number LIMIT ?")
        putGap = try prepare(JournalSchema.putGap)
        lastGap = try prepare("SELECT * FROM gaps ORDER BY number DESC")
        gapsAfter = try prepare(
            """
            SELECT number, first_turn, turn, tally, responder FROM gaps
            WHERE number > ? ORDER BY number
            """)
        deleteGap = try prepare("DELETE FROM gaps WHERE number = ?1 AND responder = ?2")
        addDark = try prepare(JournalSchema.addDark)
        nextDarkDay = try prepare("SELECT min(day) FROM dark WHERE day > ?")
        deleteDark = try prepare("DELETE FROM dark WHERE day = ? AND responder = ?")
        deleteDarkBefore = try prepare(
            "DELETE FROM dark WHERE day < ? ORDER BY day, responder LIMIT ?")
        insertMessage = try prepare(JournalSchema.insertMessage)
        updateMessage = try prepare(JournalSchema.updateMessage)
        aliveMessages = try prepare(
            "SELECT * FROM outbox INDEXED BY outbox_alive WHERE state < 4 ORDER BY notice, target")
        messagesAfter = try prepare(JournalSchema.messagesAfter)
        deleteMessage = try prepare("DELETE FROM outbox WHERE notice = ? AND target = ?")
        putAttempt = try prepare(JournalSchema.putAttempt)
        deleteAttempts = try prepare("DELETE FROM attempts WHERE notice = ? AND target = ?")
        insertPush = try prepare(JournalSchema.insertPush)
        updatePush = try prepare(JournalSchema.updatePush)
        alivePushes = try prepare(
            "SELECT * FROM pushes INDEXED BY pushes_alive WHERE state < 3 ORDER BY number")
        pushesAfter = try prepare(JournalSchema.pushesAfter)
        deletePush = try prepare("DELETE FROM pushes WHERE number = ?")
        deletePushesOf = try prepare(
            "DELETE FROM pushes WHERE responder = ? RETURNING state ORDER BY number LIMIT ?")
        lastPush = try prepare("SELECT * FROM pushes ORDER BY number DESC LIMIT 1")
        putSample = try prepare(JournalSchema.putSample)
        deleteSamplesBefore = try prepare(
            "DELETE FROM samples WHERE minute < ? ORDER BY minute LIMIT ?")
        self.all = all
    }

    /// Frees all of them, so that the connection can be closed.
    func finalize() {
        for statement in all { statement.finalize() }
    }
}
