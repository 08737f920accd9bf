import Glibc
import RollcallCore

/// A reading of the machine's clocks.
package struct ClockReading {
    /// Milliseconds of the clock that also runs while the machine is suspended.
    package var elapsed: Int64
    /// Milliseconds since 1970.
    package var wall: Timestamp

    /// A test, or whoever counts from an instant of their own, sets both clocks; `elapsed` is
    /// milliseconds.
    package init(elapsed: Int64, wall: Timestamp) {
        self.elapsed = elapsed
        self.wall = wall
    }

    /// Reads both clocks.
    package static func now() -> ClockReading {
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
