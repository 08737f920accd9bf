import RollcallCore

/// How long each part of a fleet's run takes, and how much is done in it.
struct FleetPace {
    /// Scrapes of which the median is shown.
    var scrapes = 20
    /// SQLite's run beside the enrolment.
    var insertion = Nanoseconds.milliseconds(3000)
    /// Each stretch in which nothing happens but the others' batches.
    var quiet = Nanoseconds.milliseconds(15_000)
    /// On a mission people are late after this; on duty not before the benchmark's end.
    var lateAfter = Milliseconds.seconds(15)
    /// … and OFFLINE after this, which is when all others have long been late.
    var offlineAfter = Milliseconds.seconds(60)
    /// How long those who fall silent one by one take for it.
    var fadingSpan = Milliseconds.seconds(10)
    /// How long before the first of them all have been posted.
    var lead = Milliseconds.seconds(3)
    /// Batches between the last checkpoint and the crash.
    var tailBatches = 400_000

    /// So long that the figures mean something.
    static let full = FleetPace()
    /// Only proves that everything runs.
    static let short = FleetPace(
        scrapes: 3, insertion: .milliseconds(200), quiet: .milliseconds(300),
        lateAfter: .seconds(2), offlineAfter: .seconds(8), fadingSpan: Milliseconds(500),
        lead: Milliseconds(700),
        tailBatches: 4000)

    /// What the server is started with.
    var settings: String {
        """
        liveness:
          on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}
          on_mission: {expected: 1s, degraded_after: \(lateAfter.count)ms, \
          offline_after: \(offlineAfter.count)ms}
        storage: {size: 64GiB}

        """
    }
}
