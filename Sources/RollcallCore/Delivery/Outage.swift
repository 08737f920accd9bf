/// The effect of an address, or of the sink of pushes, on attempts, whatever they are of: while it
/// does not answer, one probes it, and waits follow the length of the outage. Source: rule D2.
///
///     well ──── failed ────► away ──── failed: the next wait ────┐
///      ▲                      │ ▲                                │
///      └──── an answer ───────┘ └────────────────────────────────┘
///
/// What is an answer, whoever asks says: to a receiver a refusal is one, to a phone's push it is not.
struct Outage: Equatable, Sendable {
    /// Probes in a row that failed; 0 while it is well.
    private(set) var failures = 0
    /// The instant at which the last attempt was over.
    private(set) var triedAt = RunningTime.distantPast
    /// Until then it wants to be left alone, or is.
    private(set) var closedUntil = RunningTime.distantPast
    /// The instant from which the wait for the next probe runs.
    private var failedAt = RunningTime.distantPast
    /// The number that spreads the waits.
    private var seed: UInt64 = 0
    /// The instant at which that wait ends, if not sooner.
    private var soonestAt: RunningTime?

    /// True while it does not answer.
    var isAway: Bool { failures > 0 }

    /// Until then nothing is sent; `isUrgent` if something critical waits.
    func pausedUntil(isUrgent: Bool = false, _ times: OutboxTimes) -> RunningTime {
        max(closedUntil, restsUntil(isUrgent, times))
    }

    private func restsUntil(_ isUrgent: Bool, _ times: OutboxTimes) -> RunningTime {
        guard isAway else { return soonestAt ?? .distantPast }
        let wait = times.probe(after: failures, isUrgent: isUrgent, seed: seed)
        return min(failedAt + wait, soonestAt ?? .distantFuture)
    }

    /// It answered, and wants to be left alone for `wish`.
    mutating func answered(now: RunningTime, wish: Milliseconds? = nil) {
        forget()
        triedAt = now
        if let wish { closedUntil = now + wish }
    }

    /// It did not; `seed` spreads the wait, and is nil if it was no probe: one that left before the
    /// outage tells nothing of its length.
    mutating func failed(now: RunningTime, wish: Milliseconds?, seed: UInt64?) {
        triedAt = now
        if let wish { closedUntil = max(closedUntil, now + wish) }
        guard let seed else { return }
        (failures, failedAt, soonestAt) = (failures + 1, now, nil)
        self.seed = seed
    }

    /// Nothing may be sent before the next probe, not even for a reload's sake.
    mutating func close(_ times: OutboxTimes) { closedUntil = pausedUntil(times) }

    /// A start found that something was tried before, and asked to be left alone until `instant`.
    mutating func restore(now: RunningTime, until instant: RunningTime) {
        triedAt = now
        closedUntil = max(closedUntil, instant)
    }

    /// Forgets what another one did.
    mutating func forget() {
        (failures, soonestAt, closedUntil) = (0, nil, .distantPast)
    }

    /// The next probe comes at `soonest`, if not sooner; unless it `opens`, only after what was asked
    /// for.
    mutating func retrySoon(
        to soonest: RunningTime, opens: Bool, isUrgent: Bool = false, _ times: OutboxTimes
    ) {
        soonestAt = min(restsUntil(isUrgent, times), soonest)
        if opens { closedUntil = min(closedUntil, soonest) }
    }

    /// Ends the outage, for what is at another place may be well: it is tried at `soonest`, if not
    /// sooner.
    mutating func moved(soonest: RunningTime, isUrgent: Bool = false, _ times: OutboxTimes) {
        retrySoon(to: soonest, opens: true, isUrgent: isUrgent, times)
        failures = 0
    }
}
