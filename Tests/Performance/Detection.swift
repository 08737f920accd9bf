import Glibc
import RollcallCore

/// How long after their deadlines those were seen who had fallen silent.
///
/// People whose deadlines lie in a row are seen in the same order by whoever looks at the clock, so
/// the n-th seen is the n-th due: only their number is asked for.
struct Detection {
    /// When each of them was due, ascending.
    let deadlines: [Timestamp]
    /// Milliseconds from each deadline to when it was seen; ascending once all were.
    private(set) var delays: [Double] = []

    private static let patience = Milliseconds.seconds(60)

    /// People of whom it is known when each is due.
    init(deadlines: [Timestamp]) { self.deadlines = deadlines }

    /// People due in a row, the first at `first`, all within `span`.
    init(_ count: Int, from first: Timestamp, within span: Milliseconds) {
        deadlines = (0..<count).map { first + Milliseconds(span.count * Int64($0) / Int64(count)) }
    }

    /// Asks each `pause` for how many were seen until all were. Errors: one was seen too early, or
    /// not at all.
    mutating func watch(
        pause: Nanoseconds, _ seen: () throws(BenchmarkError) -> Int
    ) throws(BenchmarkError) {
        guard let last = deadlines.last else { return }
        while delays.count < deadlines.count {
            let count = try seen()
            let now = wallNow()
            while delays.count < min(count, deadlines.count) {
                let delay = (now - deadlines[delays.count]).count
                // Clocks are read in whole milliseconds.
                guard delay >= -1 else {
                    throw .answer("somebody was seen \(-delay) ms before they were due")
                }
                delays.append(Double(max(0, delay)))
            }
            guard count <= deadlines.count else {
                throw .answer("\(count) were seen, \(deadlines.count) are silent")
            }
            guard now < last + Self.patience else {
                throw .answer("\(count) of \(deadlines.count) were seen")
            }
            sleep(until: .now() + pause)
        }
        delays.sort()
    }

    /// Milliseconds that a share of them was not seen for at most.
    func milliseconds(_ share: Double) -> Double? {
        guard !delays.isEmpty else { return nil }
        return delays[min(delays.count - 1, Int((share * Double(delays.count)).rounded(.up)) - 1)]
    }
}
