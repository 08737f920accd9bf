import RollcallCore
import RollcallStore

/// The state writer's side of the journal: what a turn looks like in it, and how to come back from
/// it.
package struct StateStore {
    /// The state that was found at opening.
    package struct Recovered {
        package var engine: Engine
        /// The last committed turn; nil in a new store.
        package var lastTurn: Turn?
        /// Decisions that came out otherwise than they are stored (J3).
        package var differences = 0
        /// Rows that were folded again.
        package var rows = 0
        /// The checkpoint it began with.
        package var checkpoint: EngineCheckpoint?
        /// Turns of newer checkpoints, which are damaged.
        package var checkpointsDamaged: [Int64] = []

        /// Hands the engine over and keeps none: with two owners every page of people would be
        /// copied at its first change.
        package mutating func takeEngine() -> Engine {
            defer { engine = Engine() }
            return engine
        }
    }

    package let journal: Journal
    /// Tells this store from all others; random, made once.
    package internal(set) var number: UInt64
    private let aroundCommit: AroundCommit?
    /// Decisions that are made rows at once.
    private static let decisionsABatch = 1024

    /// Sees a turn when all of it is written and not committed, and once it is: where tests kill.
    package typealias AroundCommit = @Sendable (PendingTurn, _ isCommitted: Bool) -> Void

    /// Opens or makes the store at `path`.
    /// - Throws: `StoreError` if `Journal` cannot open it, or its number cannot be written.
    package init(path: String, aroundCommit: AroundCommit? = nil) throws(StoreError) {
        try self.init(path: path, vfs: nil, lock: nil, aroundCommit: aroundCommit)
    }

    /// Opens or makes it under a lock that is held already, or through SQLite's system layer named
    /// `vfs`: tests give one of their own. `upgrade` hears what becomes of an older version.
    /// - Throws: `StoreError` if `Journal` cannot open it, or its number cannot be written.
    package init(
        path: String, vfs: String?, lock: StoreLock? = nil,
        upgrade: StoreUpgrade.Watch = StoreUpgrade.Watch(), aroundCommit: AroundCommit? = nil
    ) throws(StoreError) {
        self.aroundCommit = aroundCommit
        journal = try Journal(path: path, vfs: vfs, lock: lock, upgrade: upgrade)
        if let known = try journal.storeNumber() {
            number = known
            return
        }
        number = UInt64.random(in: .min ... .max)
        try journal.begin()
        try journal.set(storeNumber: number)
        try journal.commit()
    }

    // MARK: - Writing

    /// Writes `turns` in one transaction and commits; `also` adds to it.
    ///
    /// Throws `StoreError` if `Journal` cannot write it, or what `also` throws; that transaction is
    /// not committed then.
    package func commit(
        _ turns: [PendingTurn], also: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        // One turn row a transaction (J2): a turn that was kept goes in one of its own.
        for turn in turns.dropLast() { try commit(turn) {} }
        if let last = turns.last { try commit(last, also: also) }
    }

    /// Begins the transaction of the turn `number`, and writes what it decides while it does; see
    /// `commit(_:begunBy:also:)`, which must come next.
    package func decisionWriter(turn number: Int64) -> DecisionWriter {
        DecisionWriter(journal, turn: number)
    }

    /// Writes a turn and commits; `also` adds to it. `writer` has begun its transaction, if it is not
    /// nil, and has been given the first of its decisions.
    ///
    /// Throws `StoreError` if `Journal` cannot write it, or what `also` throws; the turn is not
    /// committed then, and nothing of it is stored.
    package func commit(
        _ pending: PendingTurn, begunBy writer: DecisionWriter? = nil,
        also: () throws(StoreError) -> Void
    ) throws(StoreError) {
        do throws(StoreError) {
            if let writer { try writer.finish() } else { try journal.begin() }
            try write(pending, decisionsFrom: writer?.count ?? 0)
            try also()
            aroundCommit?(pending, false)
            try journal.commit()
            aroundCommit?(pending, true)
        } catch {
            let failure = error
            try? journal.rollback()
            throw failure
        }
    }

    /// Commits what `body` writes, without a turn.
    /// - Throws: `StoreError` if it cannot be committed, or what `body` throws; nothing is then.
    package func write(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try journal.begin()
            try body()
            try journal.commit()
        } catch {
            let failure = error
            try? journal.rollback()
            throw failure
        }
    }

    private func write(
        _ pending: PendingTurn, decisionsFrom first: Int
    ) throws(StoreError) {
        var failure: StoreError?
        pending.bytes.withUnsafeBytes { bytes in
            do throws(StoreError) {
                for row in pending.rows {
                    try journal.append(
                        id: row.id, kind: row.kind, responder: row.responder,
                        previous: row.previous,
                        body: UnsafeRawBufferPointer(rebasing: bytes[row.body]))
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        var batch = DecisionBatch()
        for start in stride(from: first, to: pending.decisions.count, by: Self.decisionsABatch) {
            let end = min(start + Self.decisionsABatch, pending.decisions.count)
            batch.append(pending.decisions[start..<end])
            try journal.append(batch, turn: pending.turn.number)
            batch.removeAll()
        }
        try journal.add(pending.dark)
        for erasure in pending.erasures { try journal.put(erasure) }
        try journal.write(pending.outbox)
        for attempt in pending.attempts { try journal.put(attempt) }
        try journal.write(pending.pushes)
        if let claims = pending.pushClaims { try journal.set(pushClaims: claims) }
        if let sample = pending.sample { try journal.put(sample) }
        if let loss = pending.stateLoss { try journal.set(stateLoss: loss) }
        try journal.write(turn: pending.turn)
    }

    // MARK: - Coming back

    /// Returns the engine as of the last committed turn: the newest checkpoint that can be read,
    /// and the turns after it folded again. Nothing is emitted (J3).
    /// - Throws: `StoreError` if the store cannot be read, or is damaged.
    package func recover() throws(StoreError) -> Recovered {
        var recovered = Recovered(engine: Engine())
        var limit = Int64.max
        while let checkpoint = try journal.newestCheckpoint(notAfterTurn: limit) {
            if let engine = try read(checkpoint) {
                recovered.engine = engine
                recovered.checkpoint = checkpoint
                break
            }
            recovered.checkpointsDamaged.append(checkpoint.turn)
            limit = checkpoint.turn - 1
        }
        if recovered.checkpoint == nil, let first = try journal.firstTurn(), first.number > 1 {
            throw .damaged(
                "no checkpoint can be read, and what came before turn \(first.number) is cut")
        }
        try foldTail(&recovered)
        recovered.lastTurn = try journal.lastTurn()
        return recovered
    }

    private func read(_ checkpoint: EngineCheckpoint) throws(StoreError) -> Engine? {
        do throws(StoreError) {
            return try CheckpointRestorer.engine(version: checkpoint.engineVersion) {
                (take) throws(StoreError) in try journal.readSlices(of: checkpoint, slice: take)
            }
        } catch .damaged {
            return nil
        }
    }

    private func foldTail(_ recovered: inout Recovered) throws(StoreError) {
        let after = recovered.checkpoint?.turn ?? 0
        var replay = JournalReplay()
        var again: [NumberedDecision] = []
        var engine = recovered.takeEngine()
        var rows = 0
        var isSameVersion = true
        var taken: Set<Int64> = []
        let alerts = engine.alertLedger
        let nudges = engine.nudgeLedger
        var last = (turn: after, rows: Int64(0))
        try journal.replayTail(afterTurn: after) { (row) throws(StoreError) in
            last.rows += 1
            guard replay.take(row) else {
                throw .damaged("journal row \(row.id) of kind \(row.kind) makes no sense")
            }
            rows += 1
        } turn: { (turn) throws(StoreError) in
            guard turn.number == last.turn + 1 || after == 0 && last.turn == 0,
                last.rows == max(0, turn.lastRow - turn.firstRow + 1)
            else {
                throw .damaged("turn \(turn.number) lacks rows, or turns before it are missing")
            }
            last = (turn.number, 0)
            let now = RunningTime(milliseconds: turn.nowMilliseconds)
            isSameVersion = isSameVersion && turn.engineVersion == Engine.version
            for (event, row) in replay.finish() {
                engine.nextRow = row
                if case .outcome(let end) = event, end.outcome == .delivered {
                    taken.insert(end.notice)
                }
                _ = engine.fold(event, at: now)
            }
            engine.advance(to: now)
            again += engine.takeDecisions()
            // The store has them already.
            _ = engine.takeDarkBookings()
            engine.nextRow = max(engine.nextRow, turn.lastRow + 1)
        }
        var stored = again.startIndex
        var differences = 0
        var storedDecisions: [Decision] = []
        try journal.replayDecisions(afterTurn: after) { (row, isWhole) throws(StoreError) in
            if !isSameVersion, DecisionCode.isOfLedger(row.kind) {
                guard isWhole else {
                    throw .damaged("decision \(row.id) is not as it was written")
                }
                DecisionCode.decision(row).map { storedDecisions.append($0) }
            }
            let isSame =
                isWhole && stored < again.count && DecisionCode(again[stored].decision).equals(row)
                && again[stored].id == row.id
            if !isSame { differences += 1 }
            stored += 1
            let isChained = DecisionCode.isChained(row.kind)
            engine.note(storedDecision: row.id, of: isChained ? Int(row.responder) - 1 : -1)
        }
        engine.note(storedGap: try journal.lastGap())
        // Other rules may decide otherwise: the store is right, and there is nothing to tell (J4).
        if !isSameVersion {
            engine.take(alerts, stored: storedDecisions, taken: taken)
            engine.take(nudges, stored: storedDecisions)
        }
        engine.note(storedPush: try journal.lastPush())
        recovered.differences = isSameVersion ? differences + max(0, again.count - stored) : 0
        recovered.rows = rows
        recovered.engine = engine
    }
}
