import CSQLite
import Glibc
import RollcallCore

/// A load beside what the store has to do meanwhile: nothing, a checkpoint of a whole fleet, the
/// removal of days that are older than the retention.
struct ChoreBenchmark {
    /// What the load met.
    struct Result {
        let text: String
        let key: String
        let span: Nanoseconds
        let batchesPerSecond: Double
        /// Latencies of single batches, milliseconds.
        let latency50, latency99, longest: Double
        /// Mean of the state writer's turns, and the bound that none exceeded, milliseconds.
        let turn, longestTurn: Double
        /// Turns that took longer than the store's chores may make them (J5).
        let longTurns: Int
        /// Processor time of the server for each batch, whatever it was used for, microseconds.
        let processor: Double
    }

    /// Longer ago than any retention that is set.
    private static let daysBack: Int64 = 40
    private static let dayMilliseconds: Int64 = 86_400_000
    private static let patience = Nanoseconds.milliseconds(600_000)
    private static let settings = """
        liveness: {on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}}
        storage: {retention: 30d, size: 64GiB}

        """

    /// Rows of each person that are too old.
    private static let oldRounds = 3

    /// People who report.
    let people: Int
    /// How long the load is looked at while the store has nothing else to do.
    let measured: Nanoseconds
    let folder: String
    let product: String

    /// Measures.
    func run() throws(BenchmarkError) -> [Result] {
        try writeFile(Self.settings, to: "\(folder)/settings.yml")
        try makeOldDays()
        let server = try start()
        let load = ChoreLoad(people: people, firstRound: Self.oldRounds + 1, to: server.port)
        let threads = try load.start()
        let retention = try look("old days are cut", "retention", server, load) { reading in
            let oldest = reading.value("rollcall_journal_oldest_timestamp_seconds") ?? 0
            return oldest > Double(wallNow().milliseconds - Self.dayMilliseconds) / 1000
        }
        usleep(1_000_000)
        _ = load.take()
        let end = Nanoseconds.now() + measured
        let quiet = try look("nothing else", "quiet", server, load) { _ in .now() >= end }
        let checkpoint = try lookAtCheckpoint(server, load)
        load.stop()
        for thread in threads { try thread.join() }
        server.crash()
        return [quiet, checkpoint, retention]
    }

    /// Whoever is to be erased must be out of a checkpoint first (J5).
    private func lookAtCheckpoint(
        _ server: ServerProcess, _ load: ChoreLoad
    ) throws(BenchmarkError) -> Result {
        let caller = try Caller(port: server.port)
        _ = load.take()
        let begun = Nanoseconds.now()
        _ = try caller.ask("DELETE", "/v1/responders/\(FleetBatch.id(people))", expecting: 202)
        return try look("a checkpoint is written", "checkpoint", server, load) { reading in
            let age = reading.value("rollcall_checkpoint_age_seconds") ?? .infinity
            return age < (Nanoseconds.now() - begun).seconds
        }
    }

    /// What the load meets until something is over.
    private func look(
        _ text: String, _ key: String, _ server: ServerProcess, _ load: ChoreLoad,
        until isOver: (MetricsReading) -> Bool
    ) throws(BenchmarkError) -> Result {
        let caller = try Caller(port: server.port)
        let before = try MetricsReading(caller)
        let processor = server.processorTime
        let begun = Nanoseconds.now()
        var reading = before
        while !isOver(reading) {
            guard Nanoseconds.now() < begun + Self.patience else {
                throw .answer("\(text): not over within \(Self.patience.seconds) s")
            }
            usleep(20_000)
            reading = try MetricsReading(caller)
        }
        let span = Nanoseconds.now() - begun
        let used = server.processorTime - processor
        let (batches, latencies) = load.take()
        guard let result = Result(text, key, span, used, batches, latencies, before, reading) else {
            throw .answer("\(text): no batch was answered meanwhile")
        }
        tell(
            "\(text): \(grouped(result.batchesPerSecond)) batches/s, p99 "
                + "\(decimal(result.latency99, 2)) ms")
        return result
    }

    // MARK: - The store

    /// A store of which a kept checkpoint and everything before it is older than the retention.
    private func makeOldDays() throws(BenchmarkError) {
        var server = try start()
        for round in 0..<Self.oldRounds {
            let heard = wallNow()
            let everybody = 0..<(people + 1)
            _ = try FleetBulk.post(everybody, .onDuty, round: round, at: server) { _ in heard }
        }
        try server.stop(patience: Self.patience)
        try setBack()
        // A second checkpoint, since the newest is never cut.
        server = try start()
        let heard = wallNow()
        _ = try FleetBulk.post(0..<people, .onDuty, round: Self.oldRounds, at: server) { _ in
            heard
        }
        try server.stop(patience: Self.patience)
    }

    /// Makes everything stored so far some days older.
    private func setBack() throws(BenchmarkError) {
        let back = Self.daysBack * Self.dayMilliseconds
        try runSQL(
            """
            UPDATE turns SET wall_ms = wall_ms - \(back), checksum = NULL;
            UPDATE checkpoints SET created_ms = created_ms - \(back), checksum = NULL;
            PRAGMA wal_checkpoint(TRUNCATE)
            """, on: storePath)
    }

    private func start() throws(BenchmarkError) -> ServerProcess {
        try ServerProcess(rollcall: product, in: folder, patience: Self.patience)
    }

    private var storePath: String { "\(folder)/rollcall.db" }
}

extension ChoreBenchmark.Result {
    /// Nil if nothing was answered.
    fileprivate init?(
        _ text: String, _ key: String, _ span: Nanoseconds, _ processor: Nanoseconds,
        _ batches: Int, _ latencies: LatencyHistogram, _ before: MetricsReading,
        _ after: MetricsReading
    ) {
        guard let latency50 = latencies.quantile(0.5), let latency99 = latencies.quantile(0.99),
            let longest = latencies.quantile(1)
        else { return nil }
        let name = "rollcall_turn_duration_seconds"
        func grown(_ part: String) -> Double {
            (after.value("\(name)_\(part)") ?? 0) - (before.value("\(name)_\(part)") ?? 0)
        }
        let turns = before.histogram(name).flatMap { after.histogram(name)?.since($0) }
        self.text = text
        self.key = key
        self.span = span
        batchesPerSecond = Double(batches) / span.seconds
        self.latency50 = latency50.milliseconds
        self.latency99 = latency99.milliseconds
        self.longest = longest.milliseconds
        turn = grown("count") > 0 ? grown("sum") / grown("count") * 1000 : 0
        longestTurn = (turns?.bound(of: 1) ?? 0) * 1000
        longTurns = turns?.count(above: 0.02) ?? 0
        self.processor = processor.microseconds / Double(batches)
    }
}

/// Runs statements on a database that nobody else has open.
private func runSQL(_ sql: String, on path: String) throws(BenchmarkError) {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil)
    guard code == SQLITE_OK, let database = opened else {
        throw .sqlite("open \(path): \(code)")
    }
    defer { sqlite3_close(database) }
    guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
        throw .sqlite("\(sql): \(String(cString: sqlite3_errmsg(database)))")
    }
}
