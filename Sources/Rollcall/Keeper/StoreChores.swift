import RollcallCore

/// What the keeper writes beside its turns: checkpoints, erasures, what becomes too old.
///
/// One of them a turn, and a piece of it: no turn takes longer than 20 ms for them (design §1 J5).
struct StoreChores {
    var checkpoints: CheckpointWriter
    var erasures: ErasureWriter
    var retention: RetentionWriter
    /// True once the journal's beginning was cut; whoever shows it takes it back.
    var hasCut = false

    /// The turn of the newest complete checkpoint.
    private var checkpointed: Int64 { checkpoints.last?.turn ?? 0 }

    /// True if a turn is wanted for them.
    var isBusy: Bool {
        checkpoints.isWriting || erasures.isBusy(checkpoint: checkpointed) || retention.isBusy
    }

    /// Writes the next piece into the open transaction; returns about how many bytes.
    mutating func write(to journal: Journal, _ engine: Engine) throws(StoreError) -> Int {
        if checkpoints.isWriting {
            try checkpoints.write(to: journal)
            return checkpoints.bytesWritten
        }
        if erasures.isBusy(checkpoint: checkpointed) {
            try erasures.write(to: journal, checkpoint: checkpointed, engine)
            return Self.pieceBytes
        }
        guard retention.isBusy else { return 0 }
        try retention.write(to: journal)
        if !retention.isBusy {
            let time = engine.watch.wallNow - engine.policy.retention
            try journal.forgetErasures(finishedBefore: time)
            erasures.forget(finishedBefore: time)
            hasCut = true
        }
        return Self.pieceBytes
    }

    /// Notes a committed turn, and begins what has become due.
    mutating func committed(
        _ pending: PendingTurn, _ journal: Journal, _ engine: Engine, _ clock: ClockReading
    ) throws(StoreError) {
        let before = checkpointed
        erasures.committed()
        erasures.add(pending.erasures)
        checkpoints.committed(
            rows: pending.rows.count, turn: pending.turn.number, engine, clock,
            isWanted: erasures.wantsCheckpoint(after: checkpointed))
        try retention.consider(
            journal, clock, age: engine.policy.retention, hasCheckpointed: checkpointed > before)
    }

    /// What was begun in a transaction that failed is begun again later.
    mutating func abandon() {
        checkpoints.abandon()
        erasures.abandon()
        retention.abandon()
    }

    /// Of a piece that is not a checkpoint's: some pages.
    private static let pieceBytes = 256 << 10
}
