/// The effect of an address on attempts, whatever message they are of: while it does not answer,
/// one message probes it, and waits follow the length of the outage. Source: rule D2.
///
///     well ──── failed ────► away ──── failed: the next wait ────┐
///      ▲                      │ ▲                                │
///      └──── an answer ───────┘ └────────────────────────────────┘
struct Outage: Equatable, Sendable {
    /// Probes in a row that failed; 0 while it is well.
    private(set) var failures = 0
    /// The instant at which the last attempt was over.
    private(set) var triedAt = RunningTime.distantPast
    /// Until then it wants to be left alone, or is.
    private var closedUntil = RunningTime.distantPast
    /// The number that spreads the waits.
    private var seed: UInt64 = 0

    /// True while it does not answer.
    var isAway: Bool { failures > 0 }

    /// Until then nothing is sent; `isUrgent` if something critical waits.
    func pausedUntil(isUrgent: Bool, _ times: OutboxTimes) -> RunningTime {
        guard isAway else { return closedUntil }
        let wait = times.probe(after: failures, isUrgent: isUrgent, seed: seed)
        return max(closedUntil, triedAt + wait)
    }

    /// It answered, and wants to be left alone for `wish`.
    mutating func answered(now: RunningTime, wish: Milliseconds) {
        triedAt = now
        failures = 0
        closedUntil = now + wish
    }

    /// It did not; `seed` spreads the wait.
    mutating func failed(now: RunningTime, wish: Milliseconds, seed: UInt64) {
        triedAt = now
        failures += 1
        closedUntil = now + wish
        self.seed = seed
    }

    /// A start found that something was tried before, and asked to be left alone until `instant`.
    mutating func restore(now: RunningTime, until instant: RunningTime) {
        triedAt = now
        closedUntil = max(closedUntil, instant)
    }

    /// Ends the outage, for what is at another place may be well: it is tried at `soonest`, if not
    /// sooner.
    mutating func moved(soonest: RunningTime, isUrgent: Bool, _ times: OutboxTimes) {
        closedUntil = min(soonest, pausedUntil(isUrgent: isUrgent, times))
        failures = 0
    }
}
