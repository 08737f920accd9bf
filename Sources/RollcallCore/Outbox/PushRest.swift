/// The rest that a sink gets which does not take pushes. Source: design §7 N7.
struct PushRest: Equatable, Sendable {
    private let times: OutboxTimes
    /// Calls in a row of which nothing was taken.
    private(set) var failures = 0
    /// Until then only what was never tried is sent.
    private var pausedUntil = RunningTime.distantPast
    /// Until then nothing is.
    private var closedUntil = RunningTime.distantPast
    /// When the last call came back.
    private var calledAt = RunningTime.distantPast
    /// Until then a push from before a start waits, maybe because the sink wanted that.
    private var restoredUntil = RunningTime.distantPast

    init(_ times: OutboxTimes) { self.times = times }

    /// A start found a push that was tried before and waits.
    mutating func restore(_ message: PushMessage) {
        if message.attempts > 0 { restoredUntil = max(restoredUntil, message.next) }
    }

    /// When a push may be sent. What was never tried does not wait for a sink that fails to come
    /// back: it may be there again.
    func ready(_ message: PushMessage) -> RunningTime {
        message.attempts == 0
            ? max(message.next, closedUntil) : max(message.next, pausedUntil, closedUntil)
    }

    /// What another sink refused, or whether it answers, says nothing about this one.
    mutating func forget() {
        failures = 0
        (pausedUntil, closedUntil) = (.distantPast, .distantPast)
    }

    /// A call came back. A sink of which nobody knows what it does with a push gets none for a
    /// while: each would be lost.
    mutating func note(
        isTaken: Bool, isUnknown: Bool, wish: Milliseconds?, now: RunningTime,
        seed: (_ failures: Int) -> UInt64
    ) {
        calledAt = now
        failures = isTaken ? 0 : failures + 1
        if isTaken { (pausedUntil, closedUntil) = (.distantPast, .distantPast) }
        if !isTaken {
            let rest = times.retry(after: failures, seed: seed(failures))
            pausedUntil = now + rest
            if isUnknown { closedUntil = max(closedUntil, now + rest) }
        }
        if let wish { closedUntil = max(closedUntil, now + min(wish, times.retryAfterMax)) }
    }

    /// Settings were read again: the first instant for what waits for another attempt. At the place
    /// from before, what the sink asked for, or may have before a start, still holds.
    mutating func hasten(_ change: WayChange, now: RunningTime) -> RunningTime {
        let soonest = times.soonest(change, now: now, triedAt: calledAt)
        pausedUntil = min(pausedUntil, soonest)
        guard change == .place else { return max(soonest, closedUntil, restoredUntil) }
        failures = 0
        closedUntil = min(closedUntil, soonest)
        return soonest
    }
}
