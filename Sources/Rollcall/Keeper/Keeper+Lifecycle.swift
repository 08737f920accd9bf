import Logging
import RollcallCore

/// How a keeper's life begins and ends.
extension Keeper {
    /// The first turn: `start`, the settings if they are new, a wall that went back meanwhile.
    func begin(policy: Policy, isNew: Bool) throws(StoreError) {
        let clock = ClockReading.now()
        let last = engine.watch.now
        let away = clock.wall.milliseconds - engine.watch.wall(last).milliseconds
        let now =
            isNew
            ? RunningTime(milliseconds: clock.wall.milliseconds) : last + Milliseconds(max(1, away))
        origin = (now.milliseconds, clock.elapsed)
        refusalsSeen = refusals()
        var pending = PendingTurn()
        _ = pending.fold(.start(), into: &engine, at: now)
        if isNew || engine.policy != policy {
            _ = pending.fold(.policy(policy), into: &engine, at: now)
        }
        if away < 0 && !isNew {
            let step = clock.wall.milliseconds - engine.watch.wall(now).milliseconds
            _ = pending.fold(.clock(step: Milliseconds(step)), into: &engine, at: now)
        }
        judge(&pending, at: now, sends: false)
        number(&pending)
        try store.commit([pending])
        lastTurnElapsed = clock.elapsed
        beginAlarm(now, clock)
        figures.journalOldestAt = try store.journal.firstTurn().map {
            Timestamp(milliseconds: $0.wallMilliseconds)
        }
    }

    /// An orderly stop leaves a checkpoint, so that the next start has no tail (J4).
    func close() {
        dismissCouriers()
        do throws(StoreError) {
            guard kept.isEmpty else {
                log.error(
                    "stopping with turns that could not be stored; nothing acknowledged is lost")
                return
            }
            chores.checkpoints.abandon()
            chores.checkpoints.begin(turn: turnNumber, engine, ClockReading.now())
            while chores.checkpoints.isWriting {
                try store.journal.begin()
                try chores.checkpoints.write(to: store.journal)
                try store.journal.commit()
                chores.checkpoints.wrote()
            }
            try store.journal.close()
        } catch {
            log.error("the last checkpoint failed", metadata: ["error": "\(error)"])
            try? store.journal.rollback()
        }
    }
}
