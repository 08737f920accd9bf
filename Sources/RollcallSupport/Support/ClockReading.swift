import Glibc
import RollcallCore

/// A reading of the machine's clocks.
struct ClockReading {
    /// Milliseconds of the clock that also runs while the machine is suspended.
    var elapsed: Int64
    /// Milliseconds since 1970.
    var wall: Timestamp

    static func now() -> ClockReading {
        ClockReading(
            elapsed: milliseconds(CLOCK_BOOTTIME),
            wall: Timestamp(milliseconds: milliseconds(CLOCK_REALTIME)))
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
