import Glibc

/// A span of time, or an instant of one of the system's clocks, in nanoseconds.
struct Nanoseconds: Comparable, Sendable {
    /// The number of nanoseconds.
    var count: Int64

    /// A span of so many milliseconds.
    static func milliseconds(_ count: Int64) -> Nanoseconds {
        Nanoseconds(count: count * 1_000_000)
    }

    /// The present instant of a clock.
    static func now(of clock: clockid_t = CLOCK_MONOTONIC) -> Nanoseconds {
        var time = timespec()
        clock_gettime(clock, &time)
        return Nanoseconds(count: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The span in seconds.
    var seconds: Double { Double(count) / 1e9 }
    /// The span in milliseconds.
    var milliseconds: Double { Double(count) / 1e6 }
    /// The span in microseconds.
    var microseconds: Double { Double(count) / 1e3 }

    static func < (a: Nanoseconds, b: Nanoseconds) -> Bool { a.count < b.count }
    static func + (a: Nanoseconds, b: Nanoseconds) -> Nanoseconds {
        Nanoseconds(count: a.count + b.count)
    }
    static func - (a: Nanoseconds, b: Nanoseconds) -> Nanoseconds {
        Nanoseconds(count: a.count - b.count)
    }
}

/// The middle one of some figures, or the mean of the two in the middle; nil without any.
func median(_ stats: [Double]) -> Double? {
    let sorted = stats.sorted()
    guard let upper = sorted.dropFirst(sorted.count / 2).first else { return nil }
    return sorted.count % 2 == 1 ? upper : (sorted[sorted.count / 2 - 1] + upper) / 2
}
