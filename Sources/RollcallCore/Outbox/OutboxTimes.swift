/// How long the outbox waits between attempts, and for how long it tries. Source: design §6 A9.
package struct OutboxTimes: Equatable, Sendable {
    /// Before the next attempt after one that failed, at least and at most.
    package var retryMin = Milliseconds.seconds(1)
    package var retryMax = Milliseconds.seconds(5 * 60)
    /// The longest `Retry-After` that is heeded.
    package var retryAfterMax = Milliseconds.seconds(3600)
    /// Before the next attempt after a refusal: a wrong secret repairs itself by somebody's hand.
    package var refusedEvery = Milliseconds.seconds(5 * 60)
    /// After the last attempt at an address, before the next one that a reload calls for, if the way
    /// there is another one. Without a bound reloads in a loop would be a flood.
    package var changedAfter = Milliseconds.seconds(5)
    /// The same if it is as it was, and of a start, which cannot tell.
    package var unchangedAfter = Milliseconds.seconds(60)
    /// How long it is tried to tell that something fires, from the decision on.
    package var triggerFor = Milliseconds.seconds(24 * 3600)
    /// The same of its end, which is never told again by anything else.
    package var resolveFor = Milliseconds.seconds(72 * 3600)
    /// How often an Alertmanager is told all that fires (A8).
    package var refreshEvery = Milliseconds.seconds(60)
    /// How long it is told what has ended.
    package var refreshEndedFor = Milliseconds.seconds(15 * 60)

    /// The times of the product.
    package init() {}

    /// How long to wait after failure number `failures`, from 1 on: anything up to a bound that
    /// doubles each time, so that those who fail together do not come back together. `seed` decides.
    func retry(after failures: Int, seed: UInt64) -> Milliseconds {
        let doublings = Int64(1) << Int64(min(max(1, failures), 30))
        let (product, isOverflow) = retryMin.count.multipliedReportingOverflow(by: doublings)
        let bound = max(retryMin.count, isOverflow ? retryMax.count : min(retryMax.count, product))
        let span = UInt64(bound - retryMin.count) + 1
        return Milliseconds(retryMin.count + Int64(Self.mixed(seed) % span))
    }

    /// The first instant for what a reload calls for, if the last attempt was over at `triedAt`.
    func soonest(_ change: WayChange, now: RunningTime, triedAt: RunningTime) -> RunningTime {
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
