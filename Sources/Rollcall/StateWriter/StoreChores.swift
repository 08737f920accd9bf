import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The piece that a commit wrote for the chores, and when.
struct ChorePiece {
    /// About how many bytes.
    var bytes = 0
    /// From when to when; what comes after it is the commit itself.
    var began = ContinuousClock.now
    var ended = ContinuousClock.now

    /// Returns how much longer the commit was for it, which ended at `end` and wrote `ownBytes` for
    /// its turn: what the writing took, and its share by bytes of what made both durable.
    func span(ofCommitUntil end: ContinuousClock.Instant, ownBytes: Int) -> Duration {
        guard bytes > 0 else { return .zero }
        return ended - began + (end - ended) * bytes / (bytes + ownBytes)
    }
}

/// The work of the state writer on its store beside its turns: checkpoints, erasures, what becomes
/// too old.
///
/// One of them a turn, and a piece of it: no turn takes longer than 20 ms for them (J5). But turns
/// may become long, and few, when there is too much to do: then what must keep pace with what comes
/// (a checkpoint with the rows, retention with the size) gets a share of the time instead: up to
/// half of it, and three quarters beyond the bound.
struct StoreChores {
    private enum Chore {
        case checkpoint, erasure, retention, packing
    }

    var checkpoints: CheckpointWriter
    var erasures: ErasureWriter
    var retention: RetentionWriter
    var packing: PackingWriter
    /// True once the journal's beginning was cut; whoever shows it takes it back.
    var hasCut = false
    /// The instant at which copies that an upgrade kept were looked for; nil before.
    var copiesLookedAt: Int64?
    /// True while they cannot be deleted, which was said.
    var haveCopiesFailed = false
    /// True while an erasure is not over in all of a watch: none is forgotten (S13).
    var keepsErasures = false
    /// The chores in order: the one that wrote a piece longest ago comes first.
    private var order = [Chore.checkpoint, .erasure, .retention, .packing]
    /// True if the last piece was the packing's.
    private var hasPacked = false
    /// The time that the last commit without a piece took.
    private var plainCommit = Duration.zero
    /// Until when writes that wait come first.
    private var restsUntil: ContinuousClock.Instant?
    /// The instant at which the last commit ended.
    private var committedAt = ContinuousClock.now

    /// Nothing was written yet.
    init(
        checkpoints: CheckpointWriter, erasures: ErasureWriter, retention: RetentionWriter,
        packing: PackingWriter
    ) {
        self.checkpoints = checkpoints
        self.erasures = erasures
        self.retention = retention
        self.packing = packing
        if checkpoints.last != nil { self.packing.consider() }
    }

    /// The turn of the newest complete checkpoint.
    private var checkpointed: Int64 { checkpoints.last?.turn ?? 0 }

    /// True if a turn is wanted for them.
    var isBusy: Bool { order.contains { isBusy($0) } }

    private func isBusy(_ chore: Chore) -> Bool {
        switch chore {
        case .checkpoint: checkpoints.isWriting
        case .erasure: erasures.isBusy(checkpoint: checkpointed)
        case .retention: retention.isBusy
        // What is being erased must not be packed.
        case .packing: packing.isBusy && !erasures.isBusy(checkpoint: checkpointed)
        }
    }

    /// True if a turn of so many rows that commits now has room for a piece: always if nobody waits for
    /// it, or if something has to keep pace. Else a piece is followed by as much time without one as it
    /// made its commit longer.
    func hasRoom(
        at now: ContinuousClock.Instant, isWaitedFor: Bool, turnRows: Int = 0
    ) -> Bool {
        !isWaitedFor || isHurried(turnRows) || restsUntil.map { now >= $0 } ?? true
    }

    /// True if something has to keep pace with what comes.
    private func isHurried(_ turnRows: Int) -> Bool {
        checkpoints.isBehind(turnRows) || retention.isBehind
    }

    /// Returns how long what has to keep pace may take in a commit that begins now: as long as the
    /// turn took until then, which is half of all time; three times that if the bound would not
    /// hold.
    func allowance(
        at now: ContinuousClock.Instant, isBeyond: Bool
    ) -> Duration {
        max(.zero, now - committedAt) * (isBeyond ? 3 : 1)
    }

    /// Notes that a commit, with a piece or without one, took so long and ended at `now`.
    mutating func committed(
        after duration: Duration, hasPiece: Bool, at now: ContinuousClock.Instant
    ) {
        committedAt = now
        if hasPiece {
            let span = max(.zero, duration - plainCommit)
            restsUntil = now + span * (hasPacked ? Self.packingRests : 1)
        } else {
            plainCommit = duration
        }
    }

    /// Writes the next piece into the open transaction, of a turn of so many rows; and a piece of
    /// whatever has to keep pace.
    /// - Throws: `StoreError` if the store cannot be read or written.
    mutating func writePiece(
        to journal: Journal, _ engine: @autoclosure () -> Engine, turnRows: Int = 0
    ) throws(StoreError) -> ChorePiece {
        var piece = ChorePiece()
        let hurried = [Chore.checkpoint, .retention].filter {
            $0 == .checkpoint ? checkpoints.isBehind(turnRows) : retention.isBehind
        }
        // Nobody waits until another one is done: where a checkpoint is due again before it is
        // written, that would be for ever.
        let next = order.first { isBusy($0) && !hurried.contains($0) }
        hasPacked = next == .packing && hurried.isEmpty
        for chore in hurried + (next.map { [$0] } ?? []) {
            order.removeAll { $0 == chore }
            order.append(chore)
            let beyond = chore == .checkpoint ? checkpoints.isBeyond(turnRows) : retention.isBeyond
            let allowance = allowance(at: piece.began, isBeyond: beyond) / max(1, hurried.count)
            piece.bytes += try write(
                chore, to: journal, engine(), turnRows,
                allowance: hurried.contains(chore) ? allowance : .zero)
        }
        piece.ended = .now
        return piece
    }

    /// Writes a piece of one chore; returns about how many bytes that were.
    /// - Throws: `StoreError` if the store cannot be read or written.
    private mutating func write(
        _ chore: Chore, to journal: Journal, _ engine: Engine, _ turnRows: Int, allowance: Duration
    ) throws(StoreError) -> Int {
        switch chore {
        case .checkpoint:
            try checkpoints.write(to: journal, turnRows: turnRows, allowance: allowance)
            return checkpoints.bytesWritten
        case .erasure:
            try erasures.write(to: journal, checkpoint: checkpointed, engine)
            return Self.pieceBytes
        case .retention:
            let pieces = try retention.write(to: journal, allowance: allowance)
            if !retention.isBusy { try forgetErasures(journal, engine) }
            return pieces * Self.pieceBytes
        case .packing:
            return try packing.write(to: journal, cutThrough: retention.lastTurnCut)
        }
    }

    /// Forgets the erasures of days that were cut.
    /// - Throws: `StoreError` if the store cannot be written.
    private mutating func forgetErasures(
        _ journal: Journal, _ engine: Engine
    ) throws(StoreError) {
        hasCut = true
        guard !keepsErasures else { return }
        let time = engine.clock.wallNow - engine.policy.retention
        try journal.forgetErasures(finishedBefore: time)
        erasures.forget(finishedBefore: time)
    }

    /// Notes a committed turn, and begins what has become due; returns how long it took if a
    /// checkpoint was cut. Of an engine that nothing begins with, none is copied; `age` is how long
    /// what is told is kept.
    /// - Throws: `StoreError` if the store cannot be read.
    mutating func committed(
        _ pending: PendingTurn, _ journal: Journal, _ engine: @autoclosure () -> Engine,
        age: Milliseconds, _ clock: ClockReading
    ) throws(StoreError) -> Duration {
        let began = ContinuousClock.now
        let wasWriting = checkpoints.isWriting
        let before = checkpointed
        erasures.committed()
        erasures.add(pending.erasures)
        checkpoints.committed(
            rows: pending.rows.count, turn: pending.turn.number, engine(), clock,
            isWanted: erasures.wantsCheckpoint(after: checkpointed))
        if packing.isHolding, erasures.isBusy(checkpoint: checkpointed) { packing.abandon() }
        try retention.consider(
            journal, clock, age: age, hasCheckpointed: checkpointed > before)
        if checkpointed > before { packing.consider() }
        if let turn = packing.firstTurn, turn <= retention.lastTurnCut { packing.abandon() }
        return checkpoints.isWriting && !wasWriting ? .now - began : .zero
    }

    /// Abandons what was begun in a transaction that failed; it is begun again later.
    mutating func abandon() {
        checkpoints.abandon()
        erasures.abandon()
        retention.abandon()
        packing.abandon()
    }

    /// While somebody waits, the packing rests so many times as long as its piece: it can wait.
    private static let packingRests = 7

    /// Of a piece that is not a checkpoint's: some pages.
    private static let pieceBytes = 256 << 10
}
