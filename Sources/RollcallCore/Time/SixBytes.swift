/// A number of 48 bits that leaves no hole between its neighbours: a million people have some
/// twenty of them each.
struct SixBytes: Equatable, Sendable {
    /// The largest number.
    static let max: UInt64 = 1 << 48 - 1

    // Parts of two bytes, so that it may stand at any even place.
    private var low: UInt16
    private var middle: UInt16
    private var high: UInt16

    /// The low 48 bits of a number.
    init(truncating number: UInt64) {
        low = UInt16(truncatingIfNeeded: number)
        middle = UInt16(truncatingIfNeeded: number >> 16)
        high = UInt16(truncatingIfNeeded: number >> 32)
    }

    var number: UInt64 { UInt64(low) | UInt64(middle) << 16 | UInt64(high) << 32 }
}

/// An instant in six bytes.
///
/// Exact are `distantPast`, `distantFuture` and everything from 557 years before a clock's zero to
/// 331 years after the last instant that anybody can tell (`RFC3339.millisecondsMax`): room enough
/// for a wall that steps and for observed time, which runs behind by all blind spells together. What
/// lies outside, as in a replay that is blind for centuries, counts as the nearest inside.
@propertyWrapper
package struct CompactInstant<Time: Instant>: Sendable {
    /// The span that is added to an instant to make it a natural number.
    private static var bias: Int64 { 1 << 44 }
    private static var past: UInt64 { 0 }
    private static var future: UInt64 { SixBytes.max }

    private var bytes: SixBytes

    /// An instant, or the nearest to it.
    package init(wrappedValue time: Time) { bytes = SixBytes(truncating: Self.code(time)) }

    /// The instant.
    package var wrappedValue: Time {
        get {
            let code = bytes.number
            if code == Self.past { return .distantPast }
            if code == Self.future { return .distantFuture }
            return Time(milliseconds: Int64(bitPattern: code) - Self.bias)
        }
        set { bytes = SixBytes(truncating: Self.code(newValue)) }
    }

    /// True if an instant is kept exactly, or as the distant past.
    static func holds(_ time: Time) -> Bool { time.milliseconds < Int64(future) - bias }

    private static func code(_ time: Time) -> UInt64 {
        let biased = time.milliseconds &+ bias
        if biased > Int64(past), biased < Int64(future) { return UInt64(biased) }
        if time <= .distantPast { return past }
        if time >= .distantFuture { return future }
        return biased < 0 || time.milliseconds < 0 ? past + 1 : future - 1
    }
}

/// A number that counts from 0 in six bytes: rows, of which a million a second are written for nine
/// years before one stands for all that follow.
@propertyWrapper
package struct CompactNumber: Sendable {
    private var bytes: SixBytes

    /// A number, or the nearest to it.
    package init(wrappedValue number: Int64) { bytes = SixBytes(truncating: Self.code(number)) }

    /// The number.
    package var wrappedValue: Int64 {
        get { Int64(bytes.number) }
        set { bytes = SixBytes(truncating: Self.code(newValue)) }
    }

    private static func code(_ number: Int64) -> UInt64 {
        UInt64(min(max(number, 0), Int64(SixBytes.max)))
    }
}
