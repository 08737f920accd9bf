/// Counts by upper bound, with their sum.
package struct Histogram: Equatable, Sendable {
    /// Upper bounds in thousandths of the unit, ascending; +Inf is implied.
    package let bounds: [Int64]
    /// Observations in each bucket, not cumulated; one more than bounds.
    package internal(set) var counts: [Int]
    /// Sum of what was observed, in thousandths of the unit.
    package internal(set) var sum: Int64 = 0

    /// A histogram without observations.
    package init(bounds: [Int64]) {
        self.bounds = bounds
        counts = [Int](repeating: 0, count: bounds.count + 1)
    }

    /// Observes a value in thousandths of the unit; less than zero counts as zero, so that the sum
    /// never decreases.
    package mutating func observe(_ value: Int64, times: Int = 1) {
        let value = max(0, value)
        counts[bucket(of: value)] += times
        sum &+= value &* Int64(times)
    }

    /// Returns which of `counts` a value counts in.
    package func bucket(of value: Int64) -> Int {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        return index
    }

    /// Counts what another one of the same bounds observed.
    mutating func add(_ other: Histogram) {
        for place in counts.indices { counts[place] += other.counts[place] }
        sum &+= other.sum
    }

    /// All observations.
    package var count: Int { counts.reduce(0, +) }

    /// The memo's delay buckets, in milliseconds. Source: V1.
    package static let delayBounds: [Int64] = [
        500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 90_000, 180_000, 300_000, 600_000,
        1_800_000, 3_600_000, 14_400_000,
    ]
    /// Intervals between locations, in milliseconds: around what the profiles promise.
    package static let intervalBounds: [Int64] = [
        5000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 75_000, 90_000, 120_000, 180_000,
        300_000, 600_000, 1_800_000, 3_600_000,
    ]
    /// Lengths of gaps, in milliseconds: from what passes by itself to a lost phone.
    package static let gapBounds: [Int64] = [
        60_000, 180_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000,
        86_400_000,
    ]
    /// Waiting updates, in thousandths.
    package static let queueBounds: [Int64] = [
        0, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    ]
}

/// The ages of everybody's last location, kept so that a scrape need not look at everybody.
///
/// Locations are counted by the watched second that they belong to; what is older than the ring
/// is counted together. A scrape adds up at most 16 384 numbers, whatever the fleet.
package struct LocationAges: Sendable {
    /// Upper bounds in seconds; the last one stays below the ring's length.
    package static let boundsSeconds: [Int64] = [
        15, 30, 60, 90, 180, 300, 600, 1800, 3600, 7200, 14_400,
    ]
    private static let ringSeconds: Int64 = 16_384

    private var ring = [Int32](repeating: 0, count: Int(ringSeconds))
    /// Locations of seconds before this one are in `older`.
    private var floor: Int64 = .min
    private var older = 0
    private var count = 0
    private var sum: Int64 = 0

    /// Counts a location in.
    mutating func add(_ location: ObservedTime, now: ObservedTime) { change(location, by: 1, now) }

    /// Counts a location out.
    mutating func remove(_ location: ObservedTime, now: ObservedTime) {
        change(location, by: -1, now)
    }

    private mutating func change(_ location: ObservedTime, by step: Int, _ now: ObservedTime) {
        advance(now)
        count += step
        sum &+= location.milliseconds &* Int64(step)
        let second = Self.second(location)
        if second < floor {
            older += step
        } else {
            ring[Self.slot(second)] += Int32(step)
        }
    }

    /// Moves the ring on to `now`. It never moves back: observed time does, by little.
    private mutating func advance(_ now: ObservedTime) {
        let newFloor = Self.second(now) - Self.ringSeconds + 1
        guard newFloor > floor else { return }
        if floor != .min {
            var second = floor
            let last = min(newFloor, floor + Self.ringSeconds)
            while second < last {
                older += Int(ring[Self.slot(second)])
                ring[Self.slot(second)] = 0
                second += 1
            }
        }
        floor = newFloor
    }

    /// Locations by age at `now`, cumulated along `boundsSeconds`, their number and the sum of
    /// ages in milliseconds. Exact to the second.
    package func distribution(
        now: ObservedTime
    ) -> (cumulated: [Int], count: Int, sumMilliseconds: Int64) {
        var cumulated: [Int] = []
        var total = 0
        var second = Self.second(now)
        let top = min(second, max(floor, second - Self.ringSeconds + 1))
        for bound in Self.boundsSeconds {
            let last = max(top, Self.second(now) - bound)
            while second >= last, second >= floor {
                total += Int(ring[Self.slot(second)])
                second -= 1
            }
            cumulated.append(total)
        }
        let sum = Int64(count) &* now.milliseconds &- self.sum
        return (cumulated, count, max(0, sum))
    }

    private static func second(_ time: ObservedTime) -> Int64 {
        let value = time.milliseconds
        return value >= 0 ? value / 1000 : (value - 999) / 1000
    }

    private static func slot(_ second: Int64) -> Int {
        Int(((second % ringSeconds) + ringSeconds) % ringSeconds)
    }
}

extension Histogram {
    mutating func code(_ archive: inout Archive) {
        archive.code(&counts)
        archive.code(&sum)
        if counts.count != bounds.count + 1 {
            archive.refuse()
            counts = [Int](repeating: 0, count: bounds.count + 1)
        }
    }
}
