import Glibc
import Logging
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer's clock: where the machine's time and running time meet.
extension StateWriter {
    /// A wall that is this far off has stepped.
    private static let wallStepFrom: Int64 = 500
    /// Between two looks at what lies ahead of what the cells have said.
    private static let heardEvery: Int64 = 50

    /// The running time of a reading. The fleet cell's is that through which it has heard its cells (K2).
    func running(_ clock: ClockReading) -> RunningTime { heardThrough(unheard(clock)) }

    /// The running time of a reading, heard or not.
    func unheard(_ clock: ClockReading) -> RunningTime {
        RunningTime(milliseconds: origin.running + clock.elapsed - origin.elapsed)
    }

    /// The instant of the machine's clock at which it will be an instant of running time.
    func elapsed(of instant: RunningTime) -> Int64 {
        let elapsed = instant.milliseconds - origin.running + origin.elapsed
        guard engine.policy.role == .fleet else { return elapsed }
        let now = ClockReading.now()
        let heard = running(now)
        // What lies ahead of the cells comes with what they say next, which wakes us.
        let soonest = instant > heard ? now.elapsed + Self.heardEvery : .min
        return max(elapsed + (unheard(now) - heard).count, soonest)
    }

    /// The engine's earliest instant at which events may arrive.
    var openInstant: RunningTime {
        Engine.openInstant(at: engine.clock.now, closedAt: engine.closedAt)
    }

    /// Returns when to look again at the latest, by the machine's clock.
    func nextWake() -> Int64 {
        let now = ClockReading.now().elapsed
        let patience =
            (noticeWaits.map(\.until) + positionWaits.map(\.until) + said.waits.map(\.until)).min()
            ?? .max
        if !uncommitted.isEmpty { return min(now + Self.retryEvery, patience) }
        if let wake = memberWake(now) { return min(wake, patience) }
        if chores.isBusy || !reports.isEmpty || !pushReports.isEmpty { return now }
        let isStopping = stopping != nil
        if isStopping, !isSending { return now }
        let next = engine.nextInstant()
        let first = isStopping ? next : min(next, outbox.due(), pushes.due())
        // What was due before is due since then: only that is late.
        let due = elapsed(of: max(first, engine.clock.now))
        let sleep = chores.erasures.wantsLogCut ? Self.logCutEvery : Self.sleepMax
        let turn = lastTurnElapsed + Engine.turnEvery.count
        return min(due, turn, now + sleep, patience, stopping?.until ?? .max)
    }

    /// The clock once the engine's last instant takes events: rarely later than at once, and by a
    /// millisecond. Turns stamped ahead instead would push time ahead, turn by turn.
    func present() -> ClockReading {
        let clock = ClockReading.now()
        let early = openInstant - running(clock)
        // The fleet cell's time stands still between two summaries.
        let folds = engine.policy.role != .fleet && (seat?.member.mayPropose ?? true)
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
        let step =
            clock.wall.milliseconds - unheard(clock).milliseconds - engine.clock.wallOffset.count
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
