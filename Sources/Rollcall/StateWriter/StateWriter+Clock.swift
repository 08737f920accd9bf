import Glibc
import Logging
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer's clock: where the machine's time and running time meet.
extension StateWriter {
    /// A wall that is this far off has stepped.
    private static let wallStepFrom: Int64 = 500

    /// The running time of a reading.
    func running(_ clock: ClockReading) -> RunningTime {
        RunningTime(milliseconds: origin.running + clock.elapsed - origin.elapsed)
    }

    /// The engine's earliest instant at which events may arrive.
    var openInstant: RunningTime {
        Engine.openInstant(at: engine.clock.now, closedAt: engine.closedAt)
    }

    /// The clock once the engine's last instant takes events: rarely later than at once, and by a
    /// millisecond. Turns stamped ahead instead would push time ahead, turn by turn.
    func present() -> ClockReading {
        let clock = ClockReading.now()
        let early = openInstant - running(clock)
        let folds = seat?.member.mayPropose ?? true
        guard early.count > 0, folds else { return clock }
        usleep(UInt32(min(early.count, Self.sleepMax) * 1000))
        return ClockReading.now()
    }

    /// Hands over what a minute says of the clocks of sources, once it is over (D10).
    func measureClocks(_ clock: ClockReading, at now: RunningTime, _ pending: inout PendingTurn) {
        guard let verdict = edge.clocks.takeMinute(at: clock.elapsed) else { return }
        for skew in verdict.skews {
            _ = pending.fold(.skew(source: skew.source, skew.span), into: &engine, at: now)
        }
        for change in verdict.changes { DecisionLog.writeLog(change, log) }
    }

    /// Reads at the edge what must be evaluated: lateness, wall steps, refusals (J1).
    func observe(
        _ clock: ClockReading, _ now: RunningTime, lateBy: Int64, _ pending: inout PendingTurn
    ) {
        let passed = clock.elapsed - lastTurnElapsed
        let lateness = Milliseconds(min(max(lateBy, passed - Engine.turnEvery.count), passed))
        if lateness > Engine.turnLateAfter {
            log.warning("a turn came late", metadata: ["late_ms": "\(lateness.count)"])
            _ = pending.fold(.turn(lateness: lateness), into: &engine, at: now)
        }
        let step = clock.wall.milliseconds - now.milliseconds - engine.clock.wallOffset.count
        if abs(step) >= Self.wallStepFrom {
            log.warning("the wall clock stepped", metadata: ["step_ms": "\(step)"])
            hasWallStepped = true
            _ = pending.fold(.clock(step: Milliseconds(step)), into: &engine, at: now)
            edge.clocks.discard()
        }
        measureClocks(clock, at: now, &pending)
        let refused = refusals()
        if refused > refusalsSeen {
            _ = pending.fold(.refused(count: refused - refusalsSeen), into: &engine, at: now)
        }
        refusalsSeen = refused
    }
}
