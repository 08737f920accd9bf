/// The suspicion that the whole feed stands still, where no source promised to beat. It holds
/// nothing back. Source: B3, F11.
package struct Stall: Sendable {
    /// The instant of the last batch from anyone, moved on by what we did not run since; nil before
    /// any.
    private var lastBatch: RunningTime?
    /// The number of people who were ONLINE right after it.
    private var online = 0
    /// The pace at which those who were active right after it are expected to report.
    private var pace = Pace()
    /// True while the feed is suspected.
    package private(set) var isSuspected = false
    /// The number of gaps that had opened by the last batch: later ones are put down to the feed.
    private(set) var openings: Int64 = 0
    /// Number of those who fell silent with it, and how many they are.
    private(set) var group: Int64 = 0
    private(set) var members = 0

    /// A batch came, whatever became of it.
    mutating func batch(_ aggregates: Aggregates, _ clock: ObservationClock, openings: Int64) {
        isSuspected = false
        lastBatch = clock.now
        self.openings = openings
        online = aggregates.byStatus[Int(Status.online.rawValue)]
        pace = aggregates.pace
    }

    /// Its clock runs only while we run (F11).
    mutating func didNotRun(_ span: Milliseconds) { lastBatch = lastBatch.map { $0 + span } }

    /// Whoever sent meanwhile was refused by us: what is missed is missed from now on (D6).
    mutating func beginAnew(_ clock: ObservationClock) {
        if !isSuspected, lastBatch != nil { lastBatch = clock.now }
    }

    /// A source was declared: from now on it is known, not suspected.
    mutating func end() { isSuspected = false }

    /// The last batch, if enough were ONLINE then to miss the next one.
    @inline(__always)
    func awaited(from minActive: Int) -> RunningTime? {
        !isSuspected && online >= minActive ? lastBatch : nil
    }

    /// Twelve times the mean spacing of batches that was expected then.
    func spacing(_ policy: Policy) -> Milliseconds { pace.spacing(policy) }

    mutating func begin(group: Int64) {
        isSuspected = true
        self.group = group
        members = 0
    }

    /// Somebody's gap is put down to it.
    mutating func join() -> Int {
        members += 1
        return members
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&lastBatch, empty: .distantPast) { $0.code(&$1) }
        archive.code(&online)
        var (onDuty, onMission) = pace.byDuty
        archive.code(&onDuty)
        archive.code(&onMission)
        archive.code(&isSuspected)
        archive.code(&openings)
        archive.code(&group)
        archive.code(&members)
        if archive.isReading { pace = Pace(onDuty: onDuty, onMission: onMission) }
        if archive.version >= 7 { pace.code(&archive) }
    }
}
