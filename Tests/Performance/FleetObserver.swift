import CSQLite
import Glibc

/// What a stretch of the run was like.
struct FleetPhase {
    /// What those waited who asked meanwhile; nil if it was over too soon for that.
    let probe: ProbeStats?
    /// The longest that a body of the others' batches waited for its commit.
    let longestBatch: Nanoseconds?
    /// How long it was.
    let span: Nanoseconds
    /// No turn of the state writer took longer, seconds: a bucket's bound; nil if that is not
    /// counted.
    let longestTurn: Double?
    /// The same of its commits, and of what chores of the store made a turn longer by (J5); nil if
    /// there were none.
    let longestCommit, longestChore: Double?
    /// Turns of the state writer, and those of them that took longer than a checkpoint may make
    /// them.
    let turns, longTurns: Int
    /// Processor time of the server, and of its busiest thread, as a share of one processor.
    let serverShare, busiestThreadShare: Double
    /// Share of the time that the state writer was in turns, and in commits, which are part of
    /// them.
    let turnShare, commitShare: Double
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    /// True if a checkpoint was completed meanwhile, whenever it was begun.
    let hasCheckpoint: Bool
    /// From deadlines to the commits of their changes, seconds.
    let lateness: BucketCounts
}

/// Looks at the server at both ends of a phase.
struct FleetObserver {
    private static let lateness = "rollcall_detection_lateness_seconds"
    private static let degraded = "responders_by_status{status=\"DEGRADED\"}"
    /// Seconds of a turn at most, whatever a checkpoint does (J5).
    private static let longTurn = 0.02
    /// How much later than promised a status may change before it counts as missing.
    private static let patience = Nanoseconds.milliseconds(60_000)

    let server: ServerProcess
    let probe: FleetProbe
    let background: FleetBackground

    /// What is read at one instant.
    struct Look {
        fileprivate let metrics: MetricsReading
        fileprivate let processor: Nanoseconds
        fileprivate let threads: [String: Nanoseconds]
        fileprivate let machine: MachineTime
        let at: Nanoseconds
    }

    /// Reads everything.
    func look() throws(BenchmarkError) -> Look {
        let metrics = try MetricsReading(try Caller(port: server.port))
        return Look(
            metrics: metrics, processor: server.processorTime, threads: server.threadTimes,
            machine: MachineTime(), at: .now())
    }

    /// The phase from `before` to now. Errors: the server did not see, other than `late` people
    /// passed a deadline, or other than `degraded` people are DEGRADED.
    func phase(
        since before: Look, late: Int = 0, degraded: Int? = nil
    ) throws(BenchmarkError) -> FleetPhase {
        let end = Nanoseconds.now()
        let processor = server.processorTime
        let threads = server.threadTimes
        let machine = MachineTime()
        // The last question is still on its way.
        usleep(100_000)
        var metrics = try look().metrics
        var lateness = try Self.lateness(metrics, since: before.metrics)
        while lateness.total < late, Nanoseconds.now() < end + Self.patience {
            usleep(200_000)
            metrics = try look().metrics
            lateness = try Self.lateness(metrics, since: before.metrics)
        }
        guard lateness.total == late else {
            throw .answer("\(lateness.total) people passed a deadline, \(late) expected")
        }
        let found = metrics.value(Self.degraded).map { Int($0) }
        guard degraded == nil || found == degraded else {
            throw .answer("\(found ?? -1) people are DEGRADED, \(degraded ?? 0) expected")
        }
        guard metrics.value("rollcall_watching") == 1 else { throw .answer("the watch is blind") }
        let span = end - before.at
        func durations(_ of: String) -> BucketCounts? {
            Self.histogram("rollcall_\(of)_duration_seconds", metrics, before.metrics)
        }
        let turns = durations("turn")
        let busiest = threads.map { ($1 - (before.threads[$0] ?? Nanoseconds(count: 0))).seconds }
        let looked = Nanoseconds.now() - before.at
        let serverShare = (processor - before.processor).seconds / span.seconds
        let processors = Double(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        return FleetPhase(
            probe: probe.latencies(from: before.at, to: end),
            longestBatch: background.longestWait(from: before.at, to: end), span: span,
            longestTurn: turns?.bound(of: 1), longestCommit: durations("commit")?.bound(of: 1),
            longestChore: durations("chore")?.bound(of: 1), turns: turns?.total ?? 0,
            longTurns: turns?.count(above: Self.longTurn) ?? 0,
            serverShare: serverShare,
            busiestThreadShare: (busiest.max() ?? 0) / span.seconds,
            turnShare: Self.sum("rollcall_turn_duration_seconds", metrics, before.metrics)
                / looked.seconds,
            commitShare: Self.sum("rollcall_commit_duration_seconds", metrics, before.metrics)
                / looked.seconds,
            // It is a child that has not ended, and counts among the others.
            othersShare: max(
                0, machine.shareOfOthers(since: before.machine) - serverShare / processors),
            hasCheckpoint: Self.isNewer(metrics, than: before.metrics, by: looked),
            lateness: lateness)
    }

    /// True once a checkpoint is complete that was begun after `before`.
    func hasCheckpoint(since before: Look) throws(BenchmarkError) -> Bool {
        let metrics = try MetricsReading(try Caller(port: server.port))
        return Self.hasCheckpoint(metrics, since: before.at)
    }

    private static func hasCheckpoint(_ metrics: MetricsReading, since at: Nanoseconds) -> Bool {
        let age = metrics.value("rollcall_checkpoint_age_seconds")
        return age.map { $0 < (Nanoseconds.now() - at).seconds } ?? false
    }

    /// True if the newest checkpoint is another one than `span` ago.
    private static func isNewer(
        _ metrics: MetricsReading, than before: MetricsReading, by span: Nanoseconds
    ) -> Bool {
        let age = "rollcall_checkpoint_age_seconds"
        guard let now = metrics.value(age) else { return false }
        return before.value(age).map { now < $0 + span.seconds / 2 } ?? true
    }

    private static func sum(
        _ name: String, _ metrics: MetricsReading, _ before: MetricsReading
    ) -> Double {
        let sum = "\(name)_sum"
        return (metrics.value(sum) ?? 0) - (before.value(sum) ?? 0)
    }

    private static func lateness(
        _ metrics: MetricsReading, since before: MetricsReading
    ) throws(BenchmarkError) -> BucketCounts {
        guard let counts = histogram(lateness, metrics, before) else {
            throw .answer("\(lateness) is not among the metrics")
        }
        return counts
    }

    private static func histogram(
        _ name: String, _ metrics: MetricsReading, _ before: MetricsReading
    ) -> BucketCounts? {
        guard let now = metrics.histogram(name), let then = before.histogram(name) else {
            return nil
        }
        return now.since(then)
    }
}

/// What a store that is not open takes.
struct StoreSize {
    /// Bytes in use, without what was freed.
    let usedBytes: Int
    /// Bytes of the checkpoints in it.
    let checkpointBytes: Int
    /// Checkpoints in it.
    let checkpoints: Int

    /// Looks into the store.
    init(path: String) throws(BenchmarkError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil)
        guard code == SQLITE_OK, let database = opened else {
            throw .sqlite("open \(path): \(code)")
        }
        defer { sqlite3_close(database) }
        let pages = try Self.integer("PRAGMA page_count", database)
        let free = try Self.integer("PRAGMA freelist_count", database)
        usedBytes = try (pages - free) * Self.integer("PRAGMA page_size", database)
        checkpointBytes = try Self.integer(
            "SELECT ifnull(sum(length(body)), 0) FROM checkpoint_slices", database)
        checkpoints = try Self.integer(
            "SELECT count(DISTINCT turn) FROM checkpoint_slices", database)
    }

    private static func integer(
        _ sql: String, _ database: OpaquePointer
    ) throws(BenchmarkError) -> Int {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { throw .sqlite("\(sql): \(String(cString: sqlite3_errmsg(database)))") }
        return Int(sqlite3_column_int64(statement, 0))
    }
}
