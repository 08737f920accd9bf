/// The updates without a sequence that were received from one person, by the milliseconds at which they
/// were captured, as ranges. Source: P4.
///
/// Nearly all ranges are single instants, so that one more than are remembered closes a hole every
/// time. The one that closes is the narrowest for its age: between two locations of a phone that
/// reports steadily nothing more will come, while the hole of an hour that a backlog may still fill
/// stays open for a day.
package struct CaptureLedger: Equatable, Sendable {
    /// Ranges kept at most.
    package static let rangesMax = 16

    /// The first range's begin, then each range's length and the hole behind it, as varints: a quarter
    /// of what the ranges themselves take.
    private var packed: [UInt8] = []

    /// A ledger of nothing.
    package init() {}

    /// A ledger of ranges; nil if they are too many, or neither ascend nor keep apart.
    package init?(_ ranges: [ClosedRange<Int64>]) {
        let pairs = zip(ranges, ranges.dropFirst())
        guard ranges.count <= Self.rangesMax, ranges.first.map({ $0.lowerBound >= 0 }) ?? true,
            pairs.allSatisfy({ $0.upperBound < $1.lowerBound - 1 })
        else { return nil }
        self.ranges = ranges
    }

    /// Received instants, ascending, neither touching nor overlapping.
    package private(set) var ranges: [ClosedRange<Int64>] {
        get {
            var ranges: [ClosedRange<Int64>] = []
            ranges.reserveCapacity(Self.rangesMax + 1)
            let bytes = packed.span
            var at = 0
            var begin: Int64 = 0
            while let step = Varint.read(bytes, &at, bytes.count),
                let length = Varint.read(bytes, &at, bytes.count)
            {
                begin += Int64(step)
                ranges.append(begin...(begin + Int64(length)))
                begin += Int64(length)
            }
            return ranges
        }
        set {
            packed.removeAll(keepingCapacity: true)
            var begin: Int64 = 0
            for range in newValue {
                Varint.append(UInt64(range.lowerBound - begin), to: &packed)
                Varint.append(UInt64(range.upperBound - range.lowerBound), to: &packed)
                begin = range.upperBound
            }
        }
    }

    /// The newest capture that was taken; nil without one.
    package var newest: Timestamp? {
        ranges.last.map { Timestamp(milliseconds: $0.upperBound) }
    }

    /// Takes what was captured at an instant once. What lies in a closed hole counts as received.
    package mutating func take(_ captured: Timestamp) -> UpdateOutcome {
        let instant = captured.milliseconds
        var ranges = ranges
        var index = ranges.count
        while index > 0, ranges[index - 1].lowerBound > instant { index -= 1 }
        if index > 0, ranges[index - 1].contains(instant) { return .duplicate }
        let touchesEarlier = index > 0 && ranges[index - 1].upperBound == instant - 1
        let touchesLater = index < ranges.count && ranges[index].lowerBound == instant + 1
        switch (touchesEarlier, touchesLater) {
        case (true, true): Self.join(index, in: &ranges)
        case (true, false): ranges[index - 1] = ranges[index - 1].lowerBound...instant
        case (false, true): ranges[index] = instant...ranges[index].upperBound
        case (false, false): ranges.insert(instant...instant, at: index)
        }
        if ranges.count > Self.rangesMax { Self.join(Self.narrowest(ranges), in: &ranges) }
        self.ranges = ranges
        return .accepted
    }

    /// Closes the hole before range `index`.
    private static func join(_ index: Int, in ranges: inout [ClosedRange<Int64>]) {
        ranges[index - 1] = ranges[index - 1].lowerBound...ranges[index].upperBound
        ranges.remove(at: index)
    }

    /// Returns the range before which the hole lies that is narrowest for its age, the oldest of
    /// several; its age is the time from its begin to the newest capture.
    private static func narrowest(_ ranges: [ClosedRange<Int64>]) -> Int {
        let newest = ranges[ranges.count - 1].upperBound
        func measure(_ index: Int) -> (width: UInt64, age: UInt64) {
            let begin = ranges[index - 1].upperBound
            return (UInt64(ranges[index].lowerBound - begin), UInt64(newest - begin))
        }
        var found = 1
        for index in 2..<ranges.count {
            let (one, other) = (measure(index), measure(found))
            let left = one.width.multipliedFullWidth(by: other.age)
            let right = other.width.multipliedFullWidth(by: one.age)
            if (left.high, left.low) < (right.high, right.low) { found = index }
        }
        return found
    }
}

extension CaptureLedger {
    mutating func code(_ archive: inout Archive) {
        var ranges = ranges
        archive.code(&ranges, empty: 0...0) { $1.code(&$0) }
        if archive.isReading {
            if let read = CaptureLedger(ranges) { self = read } else { archive.refuse() }
        }
    }
}

extension ClosedRange<Int64> {
    /// Both ends, the lower one first.
    mutating func code(_ archive: inout Archive) {
        var lower = lowerBound
        var upper = upperBound
        archive.code(&lower)
        archive.code(&upper)
        if lower <= upper { self = lower...upper } else { archive.refuse() }
    }
}
