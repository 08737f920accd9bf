import RollcallCore

/// Every statement that the state writer uses more than once, prepared once.
final class JournalStatements {
    /// The transaction.
    let begin, commit, rollback: Statement
    /// The statements that append, and those of `meta`.
    let insertRow, insertDecision, insertDecisions, insertTurn, getMeta, setMeta: Statement
    /// The statements that read the last numbers and the first.
    let lastRow, lastTurnRow, lastDecision, lastTurn, firstTurn: Statement
    /// The statements that a restart reads by.
    let tailTurns, tableRows, tailDecisions: Statement
    /// The engine's checkpoints.
    let insertCheckpoint, insertSlice, markComplete, surplusCheckpoints, newestCheckpoint: Statement
    /// Further statements of checkpoints: slices, and what goes with old ones.
    let slices, obsoleteTurn, slicesLength, deleteSlices, deleteAllSlices: Statement
    /// Further statements of checkpoints: those to give up, and single slices.
    let unfinishedCheckpoints, checkpointsBefore, slice, replaceSlice, dropCheckpoint,
        deleteCheckpoint: Statement
    /// Erasure.
    let allErasures, putErasure, forgetErasures: Statement
    /// Further statements of erasures: rows and decisions.
    let row, rowBefore, replaceRow, blankRow, decision, deleteDecision: Statement
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
    /// Samples by region.
    let putRegionSample, deleteRegionSamplesBefore: Statement
    /// Further statements of samples by region: which region a number stands for.
    let sampledRegion, lastSampledRegion, addSampledRegion, useSampledRegion: Statement
    /// Further statements of these numbers: what an erasure and retention do to them.
    let sampledRegionsAfter, renameSampledRegion, deleteSampledRegionsBefore: Statement

    /// Segments.
    let insertSegment, completeSegment, unfinishedSegments, segmentsThrough: Statement
    /// Further statements of segments: what goes with old ones.
    let dropSegment, obsoleteSegment, deleteSegment: Statement
    /// The blocks of segments.
    let lastBlock, insertBlock, replaceBlock, blankBlock, deleteBlocks: Statement
    /// The statements that read what is not packed.
    let turnsFrom: Statement

    private typealias State = EngineCheckpoint.State
    private var all: [Statement] = []
    private let connection: SQLiteConnection
    private var manyGaps, newGaps: Statement?

    /// Prepares them on a connection whose tables are there.
    /// - Throws: `StoreError` if SQLite refuses one.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        var all: [Statement] = []
        func prepare(_ sql: SQL) throws(StoreError) -> Statement {
            let statement = try Statement(connection, sql)
            all.append(statement)
            return statement
        }
        // IMMEDIATE takes the write lock now: who is busy shows here and not in the middle.
        begin = try prepare("BEGIN IMMEDIATE")
        commit = try prepare("COMMIT")
        rollback = try prepare("ROLLBACK")
        insertRow = try prepare("INSERT \(into: .journal)")
        insertDecision = try prepare("INSERT \(into: .decisions)")
        // See `insertGaps()`. It is given no ids.
        insertDecisions = try prepare(
            "INSERT OR ROLLBACK \(into: .decisions, rows: DecisionRows.rowsMax)")
        insertTurn = try prepare("INSERT \(into: .turns)")
        getMeta = try prepare("\(select: .meta) WHERE key = :key")
        setMeta = try prepare("INSERT OR REPLACE \(into: .meta)")
        lastRow = try prepare("SELECT max(id) FROM journal")
        lastTurnRow = try prepare("SELECT last_row FROM turns ORDER BY number DESC LIMIT 1")
        lastDecision = try prepare("SELECT max(id) FROM decisions")
        lastTurn = try prepare("\(select: .turns) ORDER BY number DESC LIMIT 1")
        firstTurn = try prepare("\(select: .turns) ORDER BY number LIMIT 1")
        tailTurns = try prepare("\(select: .turns) WHERE number > :number ORDER BY number")
        tableRows = try prepare(.tableRows)
        // The table has no index by turn: SQLite walks back from its end to the tail's beginning.
        tailDecisions = try prepare(
            """
            \(select: .decisions)
            WHERE id > ifnull(
                (SELECT id FROM decisions WHERE turn <= :turn ORDER BY id DESC LIMIT 1), 0)
            ORDER BY id
            """)
        insertCheckpoint = try prepare("INSERT OR REPLACE \(into: .checkpoints)")
        insertSlice = try prepare("INSERT \(into: .slices)")
        markComplete = try prepare(
            """
            UPDATE checkpoints \(set: .checkpoints, .state, .slices)
            WHERE turn = :turn AND state = \(State.writing)
            """)
        // The two newest stay, and of every earlier day (UTC) the newest one (J5).
        surplusCheckpoints = try prepare(
            """
            \(select: .checkpoints, .turn) WHERE state = \(State.complete)
                AND turn NOT IN (
                    SELECT turn FROM checkpoints WHERE state = \(State.complete)
                    ORDER BY turn DESC LIMIT 2)
                AND turn NOT IN (
                    SELECT max(turn) FROM checkpoints WHERE state = \(State.complete)
                    GROUP BY created_ms / 86400000)
            """)
        newestCheckpoint = try prepare(
            """
            \(select: .checkpoints) WHERE state = \(State.complete) AND turn <= :turn
            ORDER BY turn DESC LIMIT 1
            """)
        slices = try prepare("\(select: .slices) WHERE turn = :turn ORDER BY slice")
        obsoleteTurn = try prepare(
            "SELECT turn FROM checkpoints WHERE state = \(State.obsolete) LIMIT 1")
        slicesLength = try prepare(
            """
            SELECT ifnull(max(bytes), 0) FROM
                (SELECT length(body) AS bytes FROM checkpoint_slices
                 WHERE turn = :turn ORDER BY slice LIMIT :limit)
            """)
        deleteSlices = try prepare(
            "DELETE FROM checkpoint_slices WHERE turn = :turn ORDER BY slice LIMIT :limit")
        deleteAllSlices = try prepare("DELETE FROM checkpoint_slices WHERE turn = :turn")
        deleteCheckpoint = try prepare("DELETE FROM checkpoints WHERE turn = :turn")
        unfinishedCheckpoints = try prepare(
            "\(select: .checkpoints, .turn) WHERE state = \(State.writing)")
        checkpointsBefore = try prepare(
            """
            \(select: .checkpoints) WHERE state = \(State.complete) AND turn < :turn ORDER BY turn
            """)
        slice = try prepare("\(select: .slices) WHERE turn = :turn AND slice = :slice")
        replaceSlice = try prepare(
            """
            UPDATE checkpoint_slices \(set: .slices, .body) WHERE turn = :turn AND slice = :slice
            """)
        dropCheckpoint = try prepare(
            "UPDATE checkpoints \(set: .checkpoints, .state) WHERE turn = :turn")
        allErasures = try prepare("\(select: .erasures) ORDER BY number")
        putErasure = try prepare("INSERT OR REPLACE \(into: .erasures)")
        forgetErasures = try prepare(
            "DELETE FROM erasures WHERE finished_ms > 0 AND finished_ms < :finished_ms")
        row = try prepare(.tableRow)
        rowBefore = try prepare(
            "\(select: .journal) WHERE id < :id ORDER BY id DESC LIMIT 1")
        replaceRow = try prepare(
            "UPDATE journal \(set: .journal, .kind, .responder, .previous, .body) WHERE id = :id")
        // A sum that nothing has: without one it would count as whole.
        blankRow = try prepare("UPDATE journal SET body = x'', checksum = -1 WHERE id = :id")
        decision = try prepare("\(select: .decisions) WHERE id = :id")
        deleteDecision = try prepare("DELETE FROM decisions WHERE id = :id")
        nobodysAfter = try prepare(
            """
            \(select: .decisions) INDEXED BY blind_decisions
            WHERE responder = 0 AND id > :id ORDER BY id LIMIT :limit
            """)
        replaceDecision = try prepare("UPDATE decisions \(set: .decisions, .body) WHERE id = :id")
        messageBodiesAfter = try prepare(
            """
            \(select: .outbox, .notice, .target, .body)
            WHERE (notice, target) > (:notice, :target) ORDER BY notice, target LIMIT :limit
            """)
        replaceMessage = try prepare(
            "UPDATE outbox \(set: .outbox, .body) WHERE notice = :notice AND target = :target")
        pageCount = try prepare("PRAGMA page_count")
        freePages = try prepare("PRAGMA freelist_count")
        pageSize = try prepare("PRAGMA page_size")
        turn = try prepare("\(select: .turns) WHERE number = :number")
        deleteRows = try prepare("DELETE FROM journal WHERE id <= :last ORDER BY id LIMIT :limit")
        // The oldest are looked at only: the table has no index by turn, and turns rise with ids.
        deleteDecisions = try prepare(
            """
            DELETE FROM decisions WHERE turn <= :last
                AND id IN (SELECT id FROM decisions ORDER BY id LIMIT :limit)
            """)
        deleteTurns = try prepare(
            "DELETE FROM turns WHERE number <= :last ORDER BY number LIMIT :limit")
        putGap = try prepare(Self.putGaps(rows: 1))
        lastGap = try prepare("\(select: .gaps) ORDER BY number DESC")
        gapsAfter = try prepare(
            """
            \(select: .gaps, .number, .firstTurn, .turn, .aggregates, .responder)
            WHERE number > :number ORDER BY number
            """)
        deleteGap = try prepare(
            "DELETE FROM gaps WHERE number = :number AND responder = :responder")
        // A day's row is added to; region and platform are the last ones of the day.
        addDark = try prepare(
            """
            INSERT \(into: .dark) ON CONFLICT(day, responder)
            DO UPDATE \(set: .dark, .platform, .region, adding: .contactMs, .locationMs)
            """)
        nextDarkDay = try prepare("SELECT min(day) AS day FROM dark WHERE day > :day")
        deleteDark = try prepare("DELETE FROM dark WHERE day = :day AND responder = :responder")
        deleteDarkBefore = try prepare(
            "DELETE FROM dark WHERE day < :day ORDER BY day, responder LIMIT :limit")
        insertMessage = try prepare("INSERT \(into: .outbox)")
        updateMessage = try prepare(
            """
            UPDATE outbox
            \(set: .outbox, .state, .leftMembers, .attempts, .nextMs, .finishedMs, .outcome)
            WHERE notice = :notice AND target = :target AND state < \(OutboxMessage.State.over)
            """)
        aliveMessages = try prepare(
            """
            \(select: .outbox) INDEXED BY outbox_alive
            WHERE state < \(OutboxMessage.State.over) ORDER BY notice, target
            """)
        messagesAfter = try prepare(
            """
            \(select: .outbox, .notice, .target, .state, .finishedMs, .decidedMs)
            WHERE notice > :notice ORDER BY notice, target
            """)
        deleteMessage = try prepare(
            "DELETE FROM outbox WHERE notice = :notice AND target = :target")
        putAttempt = try prepare("INSERT OR REPLACE \(into: .attempts)")
        deleteAttempts = try prepare(
            "DELETE FROM attempts WHERE notice = :notice AND target = :target")
        insertPush = try prepare("INSERT \(into: .pushes)")
        updatePush = try prepare(
            """
            UPDATE pushes \(
                set: .pushes, .state, .attempts, .nextMs, .untilMs, .finishedMs, .outcome, .token,
                .ticket)
            WHERE number = :number AND state < \(PushMessage.State.over)
            """)
        alivePushes = try prepare(
            """
            \(select: .pushes) INDEXED BY pushes_alive
            WHERE state < \(PushMessage.State.over) ORDER BY number
            """)
        pushesAfter = try prepare(
            """
            \(select: .pushes, .number, .state, .finishedMs, .decidedMs)
            WHERE number > :number ORDER BY number
            """)
        deletePush = try prepare("DELETE FROM pushes WHERE number = :number")
        deletePushesOf = try prepare(
            """
            DELETE FROM pushes WHERE responder = :responder
            RETURNING state AS state ORDER BY number LIMIT :limit
            """)
        lastPush = try prepare("\(select: .pushes) ORDER BY number DESC LIMIT 1")
        putSample = try prepare("INSERT OR REPLACE \(into: .samples)")
        deleteSamplesBefore = try prepare(
            "DELETE FROM samples WHERE minute < :minute ORDER BY minute LIMIT :limit")
        putRegionSample = try prepare("INSERT OR REPLACE \(into: .regionSamples)")
        deleteRegionSamplesBefore = try prepare(
            "DELETE FROM region_samples WHERE minute < :minute ORDER BY minute LIMIT :limit")
        sampledRegion = try prepare("\(select: .sampledRegions) WHERE region = :region")
        lastSampledRegion = try prepare("SELECT ifnull(max(number), 0) FROM sampled_regions")
        addSampledRegion = try prepare("INSERT \(into: .sampledRegions)")
        useSampledRegion = try prepare(
            "UPDATE sampled_regions \(set: .sampledRegions, .day) WHERE number = :number")
        sampledRegionsAfter = try prepare(
            "\(select: .sampledRegions) WHERE number > :number ORDER BY number LIMIT :limit")
        renameSampledRegion = try prepare(
            "UPDATE sampled_regions \(set: .sampledRegions, .region) WHERE number = :number")
        deleteSampledRegionsBefore = try prepare(
            "DELETE FROM sampled_regions WHERE day < :day ORDER BY number LIMIT :limit")
        insertSegment = try prepare("INSERT \(into: .segments)")
        completeSegment = try prepare(
            """
            UPDATE segments \(set: .segments, .lastTurn, .lastRow, .state, .body)
            WHERE first_turn = :first_turn AND state = \(Segment.State.writing)
            """)
        unfinishedSegments = try prepare(
            """
            \(select: .segments, .firstTurn) INDEXED BY segments_left
            WHERE state <> 1 AND state = \(Segment.State.writing)
            """)
        segmentsThrough = try prepare(
            """
            \(select: .segments, .firstTurn)
            WHERE first_turn <= :last_turn AND last_turn <= :last_turn
                AND state = \(Segment.State.complete)
            ORDER BY first_turn LIMIT :limit
            """)
        dropSegment = try prepare(
            "UPDATE segments \(set: .segments, .state) WHERE first_turn = :first_turn")
        obsoleteSegment = try prepare(
            """
            \(select: .segments, .firstTurn, .block) INDEXED BY segments_left
            WHERE state <> 1 AND state = \(Segment.State.obsolete) ORDER BY first_turn LIMIT 1
            """)
        deleteSegment = try prepare("DELETE FROM segments WHERE first_turn = :first_turn")
        // Of a segment whose blocks are gone, and itself not yet, the place stays taken.
        lastBlock = try prepare(
            """
            SELECT max(
                ifnull((SELECT max(id) FROM blocks), 0),
                ifnull((SELECT block FROM segments ORDER BY first_turn DESC LIMIT 1), 0))
            """)
        insertBlock = try prepare("INSERT \(into: .blocks)")
        replaceBlock = try prepare("UPDATE blocks \(set: .blocks, .body) WHERE id = :id")
        // Without a checksum no block is whole.
        blankBlock = try prepare("UPDATE blocks SET body = x'', checksum = NULL WHERE id = :id")
        // Its blocks stand behind each other, and end where the next segment's begin.
        deleteBlocks = try prepare(
            """
            DELETE FROM blocks WHERE id >= :block AND id < ifnull(
                (SELECT block FROM segments WHERE first_turn > :first_turn ORDER BY first_turn LIMIT 1),
                9223372036854775807)
            ORDER BY id LIMIT :limit
            """)
        turnsFrom = try prepare(
            "\(select: .turns) WHERE number >= :number ORDER BY number LIMIT :limit")
        self.all = all
        self.connection = connection
    }

    /// Returns the statement that puts many gaps at once. It takes a quarter of a megabyte: the first
    /// who has so many makes it.
    /// - Throws: `StoreError` if SQLite refuses it.
    func putGaps() throws(StoreError) -> Statement {
        try made(&manyGaps, Self.putGaps(rows: CountedGap.rowsMax))
    }

    /// Returns the statement that puts many at once of which none is there. It is given no numbers.
    ///
    /// OR ROLLBACK: a step that had to be undone alone would copy each page that it changes first. No
    /// constraint is ever in its way, and the transaction goes with it if one is.
    /// - Throws: `StoreError` if SQLite refuses it.
    func insertGaps() throws(StoreError) -> Statement {
        try made(&newGaps, "INSERT OR ROLLBACK \(into: .gaps, rows: CountedGap.newRowsMax)")
    }

    private func made(
        _ statement: inout Statement?, _ sql: @autoclosure () -> SQL
    ) throws(StoreError) -> Statement {
        if let statement { return statement }
        let new = try Statement(connection, sql())
        statement = new
        all.append(new)
        return new
    }

    /// A gap that began to count is inserted, and what is known of it later takes that row's place, but
    /// never another person's.
    private static func putGaps(rows: Int) -> SQL {
        """
        INSERT \(into: .gaps, rows: rows)
        ON CONFLICT(number) DO UPDATE
        \(set: .gaps, excluded: .aggregates, .closedMs, .turn, .body)
        WHERE responder = excluded.responder
        """
    }

    /// Frees all of them, so that the connection can be closed.
    func finalize() {
        for statement in all { statement.finalize() }
    }
}
