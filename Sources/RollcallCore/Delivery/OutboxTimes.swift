/// The waits of the outbox between attempts, and the times for which it tries. Source: A9.
package struct OutboxTimes: Equatable, Sendable {
    /// Before the next probe of an address after its first failure; after later ones `probes` times
    /// this, at most `retryMax`. Source: rule D2.
    package var retryMin = Milliseconds.seconds(1)
    package var retryMax = Milliseconds.seconds(5 * 60)
    /// The longest wait before a probe while something critical waits.
    package var urgentMax = Milliseconds.seconds(30)
    /// The longest `Retry-After` that is heeded.
    package var retryAfterMax = Milliseconds.seconds(5 * 60)
    /// Before the next attempt after a refusal: a wrong secret repairs itself by somebody's hand.
    package var refusedEvery = Milliseconds.seconds(5 * 60)
    /// After the last attempt at an address, before the next one that a reload calls for, if the way
    /// there is another one. Without a bound reloads in a loop would be a flood.
    package var changedAfter = Milliseconds.seconds(5)
    /// The wait after the last attempt at an address, before the next one that a reload calls for,
    /// if the way there is as it was; and after a start, which cannot tell.
    package var unchangedAfter = Milliseconds.seconds(60)
    /// The time for which it is tried to tell that something fires, from the decision on.
    package var triggerFor = Milliseconds.seconds(24 * 3600)
    /// The time for which it is tried to tell its end, which is never told again by anything else.
    package var resolveFor = Milliseconds.seconds(72 * 3600)
    /// The interval at which an Alertmanager is told all that fires (A8).
    package var refreshEvery = Milliseconds.seconds(60)
    /// The least time for which it is told what has ended; longer if it keeps what fires for longer
    /// (D9).
    package var refreshEndedFor = Milliseconds.seconds(15 * 60)

    /// The times of the product.
    package init() {}

    /// Waits after the first, second, ... failure in a row.
    private static let probes: [Int64] = [1, 2, 4, 8, 15, 30, 60, 120, 240, 300]

    /// Returns the wait after failure number `failures` of an outage, from 1 on, while something
    /// critical waits or not. `seed` spreads it by a fifth to either side, so that those who fail
    /// together do not come back together.
    func probe(after failures: Int, isUrgent: Bool, seed: UInt64) -> Milliseconds {
        let place = min(max(1, failures), Self.probes.count) - 1
        let (product, isOverflow) = retryMin.count.multipliedReportingOverflow(
            by: Self.probes[place])
        let most = isUrgent ? min(retryMax, urgentMax) : retryMax
        let middle = isOverflow ? most.count : min(most.count, product)
        let fifth = middle / 5
        let spread = Int64(Self.mixed(seed) % UInt64(2 * fifth + 1)) - fifth
        return Milliseconds(min(middle + spread, retryMax.count))
    }

    /// Returns the part of a `Retry-After` that is heeded: nothing without one.
    func heeded(_ retryAfter: Milliseconds?) -> Milliseconds {
        min(retryAfter ?? Milliseconds(0), retryAfterMax)
    }

    /// The first instant for what a reload calls for, if the last attempt was over at `triedAt`.
    func soonest(_ change: EndpointChange, now: RunningTime, triedAt: RunningTime) -> RunningTime {
        max(now, triedAt + (change == .same ? unchangedAfter : changedAfter))
    }

    /// SplitMix64's last step: every bit of the number decides about every bit of the result.
    static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
