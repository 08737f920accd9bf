import Glibc
import RollcallCore

/// A reading of the machine's clocks, of one instant.
///
/// Running time is the wall at the start and what elapsed since. Two readings that are not of one instant
/// put it off for as long as the process runs, and a thread may lose its processor between them: so the
/// wall is read between two readings of the other clock, again until those are near.
package struct ClockReading {
    /// Readings of the one clock that are so near, in nanoseconds, are of one instant.
    static let nearWithin: Int64 = 100_000
    /// After so many tries the nearest counts.
    static let triesMax = 8
    private static let nanosecondsPerMillisecond: Int64 = 1_000_000

    /// Milliseconds of the clock that also runs while the machine is suspended. Each begins when one of the
    /// wall did at the start of the process: who adds them to the wall of a reading does not fall behind it.
    package var elapsed: Int64
    /// Milliseconds since 1970.
    package var wall: Timestamp

    /// A test, or whoever counts from an instant of their own, sets both clocks; `elapsed` is
    /// milliseconds.
    package init(elapsed: Int64, wall: Timestamp) {
        self.elapsed = elapsed
        self.wall = wall
    }

    /// Reads both clocks by `read`, which answers in nanoseconds; `phase` is what a millisecond of the wall
    /// begins after one of the other clock.
    init(phase: Int64, _ read: (clockid_t) -> Int64) {
        let (elapsed, wall) = Self.pair(read)
        self.init(
            elapsed: (elapsed + phase) / Self.nanosecondsPerMillisecond,
            wall: Timestamp(milliseconds: wall / Self.nanosecondsPerMillisecond))
    }

    /// Reads both clocks.
    package static func now() -> ClockReading { ClockReading(phase: phase, nanoseconds) }

    /// Returns what has to be added to the clock of what elapsed, in nanoseconds, so that its milliseconds
    /// begin with those of the wall.
    static func phase(_ read: (clockid_t) -> Int64) -> Int64 {
        let (elapsed, wall) = pair(read)
        let rest = (wall - elapsed) % nanosecondsPerMillisecond
        return rest < 0 ? rest + nanosecondsPerMillisecond : rest
    }

    /// Returns both clocks at one instant, in nanoseconds.
    private static func pair(_ read: (clockid_t) -> Int64) -> (elapsed: Int64, wall: Int64) {
        var nearest = (elapsed: Int64(0), wall: Int64(0))
        var apart = Int64.max
        for _ in 0..<triesMax where apart > nearWithin {
            let before = read(CLOCK_BOOTTIME)
            let wall = read(CLOCK_REALTIME)
            let between = read(CLOCK_BOOTTIME) - before
            guard between < apart else { continue }
            nearest = (before, wall)
            apart = between
        }
        return nearest
    }

    private static let phase = phase(nanoseconds)

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
