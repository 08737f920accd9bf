import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer and what must be said while nothing can be stored: the store's alarm (A5), and
/// the health by which the outward ping is withheld.
extension StateWriter {
    /// Milliseconds between two health at least.
    private static let healthEvery: Int64 = 200

    /// The first commit has worked.
    func beginAlarm(_ now: RunningTime, _ clock: ClockReading) {
        committedElapsed = clock.elapsed
        evaluatedElapsed = clock.elapsed
        let mark = store.journal.alarmMark
        alarm = StoreAlarm(
            markedAt: mark, receivers: engine.policy.receivers, now: now, wall: clock.wall,
            times: endpoints.times)
        guard let mark else { return }
        log.warning(
            "the store failed before the restart, and takes commits again: receivers are told",
            metadata: ["failing_since": "\(RFC3339.string(mark))"])
    }

    /// Sends what is due of the alarm, from memory. The mark comes first: whoever was told must be
    /// told the end, also by another process.
    func tendAlarm() {
        guard alarm.state != .fine || alarm.isMarked else { return }
        let clock = ClockReading.now()
        if alarm.advance(now: running(clock), wall: clock.wall) {
            log.critical(
                "the store has failed for too long: receivers are told from memory",
                metadata: ["failing_since": "\(RFC3339.string(alarm.activeAt))"])
        }
        if let mark = alarm.markDue { leave(mark) }
        send(&alarm, clock)
    }

    /// Hands over what is due of an alarm.
    func send(_ alarm: inout StoreAlarm, _ clock: ClockReading) {
        let now = running(clock)
        // What is kept is not decided yet: silences and receivers are those of the last commit.
        let committed = published ?? engine
        let sendings = alarm.begin(
            receivers: committed.policy.receivers,
            isMuted: alarm.silence(in: committed, now: now) != nil, now: now)
        for sending in sendings {
            let payload = NotificationPayload(sending, store: store.number)
            if !carry(payload, attempt: sending.attempt, to: sending.queue) {
                alarm.end(
                    sending.queue, .failed, mayHaveArrived: false, now: now, wall: clock.wall)
            }
        }
    }

    private func leave(_ mark: StoreAlarm.Mark) {
        var time: Timestamp?
        if case .set(let fired) = mark { time = fired }
        do throws(StoreError) {
            try store.journal.setAlarmMark(time)
        } catch {
            log.error(
                time == nil
                    ? "the alarm's mark cannot be taken away: a restart tells the end again"
                    : "the alarm's mark cannot be left: after a restart nobody is told the end",
                metadata: ["error": "\(error)"])
        }
        alarm.marked(mark)
    }

    /// Notes what came of a message of an alarm.
    func takeAlarm(_ report: DeliveryReport) {
        let clock = ClockReading.now()
        let result = report.result
        let end = { [now = running(clock)] (alarm: inout StoreAlarm) in
            alarm.end(
                report.queue, result.kind, mayHaveArrived: result.mayHaveArrived,
                retryAfter: result.retryAfter, now: now, wall: clock.wall)
        }
        if report.notice == NotificationPayload.number(of: .failing) {
            end(&alarm)
        } else if var lost = lossAlarm {
            end(&lost)
            lossAlarm = lost
        }
        edge.attempted(report.queue.receiver, result.kind)
        if result.kind == .delivered {
            writeLog(report, "receiver told of the store", .info)
        } else {
            writeLog(report, "receiver not told of the store", .error)
        }
    }

    /// Leaves what those must know who must not ask.
    func publishHealth() {
        let elapsed = ClockReading.now().elapsed
        // Under load there are a thousand turns a second.
        guard elapsed - publishedElapsed >= Self.healthEvery else { return }
        publishedElapsed = elapsed
        // Whatever was due by then is evaluated, and committed.
        if uncommitted.isEmpty { evaluatedElapsed = elapsed }
        health.publish(
            Health(
                committedAt: committedElapsed, evaluatedAt: evaluatedElapsed,
                messageWaitsSince: outbox.oldestCritical().map {
                    $0.milliseconds - origin.running + origin.elapsed
                },
                // Who does not lead does not know whether anybody watches (S6).
                isBlind: (published ?? engine).clock.isBlind || !endpoints.permit.holds,
                isStoreFailing: !uncommitted.isEmpty))
    }
}
