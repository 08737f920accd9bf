/// A span of time in milliseconds.
package struct Milliseconds: Hashable, Comparable, Sendable {
    /// The span, in milliseconds; may be negative.
    package var count: Int64

    /// A span of so many milliseconds.
    package init(_ count: Int64) { self.count = count }

    /// A span of so many whole seconds.
    package static func seconds(_ seconds: Int64) -> Milliseconds { Milliseconds(seconds &* 1000) }

    package static func < (a: Milliseconds, b: Milliseconds) -> Bool { a.count < b.count }

    /// The span times `factor`, rounded to the nearest millisecond. Source: F4.
    package func scaled(by factor: Double) -> Milliseconds {
        let product = (Double(count) * factor).rounded()
        // Policies keep thresholds below a year and factors below 1000, so this cannot be reached
        // by a legal policy; a trap in arithmetic on outside numbers is not an option.
        return Milliseconds(Int64(exactly: product) ?? count)
    }
}

/// A point of one of the three clocks, in milliseconds.
///
/// The clocks never mix: each has a type of its own (T1).
package protocol Instant: Hashable, Comparable, Sendable {
    /// Milliseconds since the clock's zero.
    var milliseconds: Int64 { get }
    /// The point so many milliseconds after the clock's zero.
    init(milliseconds: Int64)
}

extension Instant {
    package static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
    /// Wraps at the ends of the 64-bit range, which `distantPast` and `distantFuture` keep clear of.
    package static func + (a: Self, span: Milliseconds) -> Self {
        Self(milliseconds: a.milliseconds &+ span.count)
    }
    /// The point `span` earlier.
    package static func - (a: Self, span: Milliseconds) -> Self {
        Self(milliseconds: a.milliseconds &- span.count)
    }
    /// The span from `b` to `a`.
    package static func - (a: Self, b: Self) -> Milliseconds {
        Milliseconds(a.milliseconds &- b.milliseconds)
    }
    /// Before everything that ever happened: the value of "never".
    package static var distantPast: Self { Self(milliseconds: Int64.min / 4) }
    /// After everything that will happen: the value of "no deadline".
    package static var distantFuture: Self { Self(milliseconds: Int64.max / 4) }
}

/// Wall time: milliseconds since 1970-01-01T00:00:00Z. It stamps, and decides nothing but pauses
/// and nudge throttles. Source: T1, F9.
package struct Timestamp: Instant {
    package var milliseconds: Int64
    /// Makes the instant `milliseconds` after its clock's zero.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
}

/// Running time: the monotonic clock, carried over restarts by the wall's distance; it also runs
/// while the watch is blind. "Wall time of a duration" in the fine print (F9) means this one.
package struct RunningTime: Instant {
    package var milliseconds: Int64
    /// Makes the instant `milliseconds` after its clock's zero.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
}

/// Observed time: runs with running time while we can see and stands still while blind. Every age
/// and every deadline of a responder is kept in it. Source: T1.
package struct ObservedTime: Instant {
    package var milliseconds: Int64
    /// Makes the instant `milliseconds` after its clock's zero.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
}
