/// The rest that a sink gets which does not take pushes: while it is away, one call probes it, and
/// waits follow the length of the outage. Source: N7, rule D2.
struct PushRest: Equatable, Sendable {
    /// The result of a call.
    struct Call {
        /// Something of it was taken.
        var isTaken: Bool
        /// Of something nobody knows.
        var isUnknown: Bool
        /// It left while the sink was away.
        var isProbe: Bool
    }

    private let times: OutboxTimes
    /// Probes in a row of which nothing was taken.
    private(set) var failures = 0
    /// Until then nothing is sent, because it takes nothing.
    private var pausedUntil = RunningTime.distantPast
    /// Until then nothing is sent, because the sink asked for it, or because it might be lost.
    private var closedUntil = RunningTime.distantPast
    /// The instant at which the last call came back.
    private var calledAt = RunningTime.distantPast
    /// Until then a push from before a start waits, maybe because the sink wanted that.
    private var restoredUntil = RunningTime.distantPast

    init(_ times: OutboxTimes) { self.times = times }

    /// A start found a push that was tried before and waits.
    mutating func restore(_ message: PushMessage) {
        if message.attempts > 0 { restoredUntil = max(restoredUntil, message.next) }
    }

    /// True while it takes nothing.
    var isAway: Bool { failures > 0 }

    /// Returns the instant from which a push may be sent.
    func ready(_ message: PushMessage) -> RunningTime {
        max(message.next, pausedUntil, closedUntil)
    }

    /// Forgets what another sink refused, or whether it answers: it says nothing about this one.
    mutating func forget() {
        failures = 0
        (pausedUntil, closedUntil) = (.distantPast, .distantPast)
    }

    /// A call came back. A sink of which nobody knows what it does with a push gets none for a
    /// while: each would be lost.
    mutating func note(
        _ call: Call, wish: Milliseconds?, now: RunningTime, seed: (_ failures: Int) -> UInt64
    ) {
        calledAt = now
        if call.isTaken {
            failures = 0
            (pausedUntil, closedUntil) = (.distantPast, .distantPast)
        } else {
            if call.isProbe || !isAway {
                failures += 1
                let rest = times.probe(after: failures, isUrgent: false, seed: seed(failures))
                pausedUntil = now + rest
            }
            if call.isUnknown { closedUntil = max(closedUntil, pausedUntil) }
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
