import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The beginning and the end of a state writer's life.
extension StateWriter {
    /// Makes the first turn: `start`, the settings if they are new, a wall that stepped meanwhile.
    /// It cannot be told from time that passes how far it went forward, unless the epoch file does.
    ///
    /// Checkpoints that turned out to be damaged are given up with it.
    /// - Throws: `StoreError` if the store cannot be read, or the turn cannot be committed.
    func begin(
        policy: Policy, isNew: Bool, pushes messages: [PushMessage], checkpointsDamaged: [Int64]
    ) throws(StoreError) {
        let clock = ClockReading.now()
        let last = engine.clock.now
        let away = clock.wall.milliseconds - engine.clock.wall(last).milliseconds
        let epoch = try beginPushes(messages, clock)
        try beginLoss(epoch, clock)
        let passed = away - epoch.step.count
        let now =
            isNew
            ? RunningTime(milliseconds: clock.wall.milliseconds)
            : last + Milliseconds(max(1, passed))
        origin = (now.milliseconds, clock.elapsed)
        refusalsSeen = refusals()
        var pending = PendingTurn()
        _ = pending.fold(.start(isRestored: epoch.isRestored), into: &engine, at: now)
        // The turn that said so was kept, and the one that says its end was not.
        if engine.isStoreFailing {
            _ = pending.fold(.store(isFailing: false), into: &engine, at: now)
        }
        if isNew || engine.policy != policy {
            _ = pending.fold(.policy(policy), into: &engine, at: now)
        }
        let step = clock.wall.milliseconds - engine.clock.wall(now).milliseconds
        if !isNew, away < 0 || epoch.step.count > 0 {
            _ = pending.fold(.clock(step: Milliseconds(step)), into: &engine, at: now)
        }
        // A start reads the settings, too. It cannot tell whether they are others than before.
        logRetriedSoon(outbox.retrySoon(EndpointChanges(), now: now))
        evaluate(&pending, at: now, sends: false)
        if epoch.isRestored { pending.pushClaims = pushClaims }
        pending.stateLoss = loss
        number(&pending)
        try store.commit([pending]) { () throws(StoreError) in
            if epoch.isRestored { try store.journal.set(restoredAt: clock.wall) }
            for turn in checkpointsDamaged { try store.journal.dropCheckpoint(turn: turn) }
            if try store.journal.copiedAt() != nil { try store.journal.forgetCopying() }
        }
        noteTurn(turnNumber)
        restoredAt = try store.journal.restoredAt()
        if !isNew {
            log.info(
                "started again",
                metadata: [
                    "down_ms": "\(max(0, passed))",
                    "last_turn_at": "\(RFC3339.string(clock.wall - Milliseconds(away)))",
                ])
        }
        decisionLog.writeLog(pending.decisions, of: engine, at: clock.elapsed)
        logEpoch(epoch, clock)
        logLoss(checkpointsDamaged, now)
        lastTurnElapsed = clock.elapsed
        beginAlarm(now, clock)
        stats.startedAt = clock.wall
        stats.usedBytes = try store.journal.usedBytes()
        stats.journalOldestAt = try store.journal.firstTurn().map {
            Timestamp(milliseconds: $0.wallMilliseconds)
        }
    }

    /// An orderly stop leaves a checkpoint, so that the next start has no tail (J4).
    func close() {
        workers.dismissAll()
        pushWorkers.dismissAll()
        do throws(StoreError) {
            // What the engine holds may not be what has landed: the next start folds its tail.
            guard proposal.turn == nil, proposal.rebuildsFrom == nil else {
                return try store.journal.close()
            }
            guard uncommitted.isEmpty else {
                log.error(
                    "stopping with turns that could not be stored; nothing acknowledged is lost")
                return
            }
            try chores.checkpoints.writeWhole(
                turn: turnNumber, engine, ClockReading.now(), to: store.journal)
            // Under the lock: the next one's page must not give way to ours.
            _ = leaveEpoch(ClockReading.now())
            try store.journal.close()
        } catch {
            log.error("the last checkpoint failed", metadata: ["error": "\(error)"])
            try? store.journal.rollback()
        }
    }
}
