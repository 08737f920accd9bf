import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer's clock: where the machine's time and running time meet.
extension StateWriter {
    /// The running time of a reading.
    func running(_ clock: ClockReading) -> RunningTime {
        RunningTime(milliseconds: origin.running + clock.elapsed - origin.elapsed)
    }

    /// The clock once the engine's last instant takes events: rarely later than at once, and by a
    /// millisecond. Turns stamped ahead instead would push time ahead, turn by turn.
    func present() -> ClockReading {
        let clock = ClockReading.now()
        let early = engine.openInstant - running(clock)
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
}
