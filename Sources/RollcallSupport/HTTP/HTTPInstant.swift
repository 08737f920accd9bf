import Glibc

/// An instant of the kernel's coarse monotonic clock: a few milliseconds' resolution for a quarter
/// of the price, on the path of every request.
struct HTTPInstant {
    private var milliseconds: Int64

    /// The present instant.
    static var now: HTTPInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        let seconds = Int64(time.tv_sec)
        return HTTPInstant(milliseconds: seconds * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// From this instant to another.
    func duration(to later: HTTPInstant) -> Duration {
        .milliseconds(later.milliseconds - milliseconds)
    }
}
