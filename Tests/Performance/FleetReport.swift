/// Everything that was measured with a fleet of one size.
struct FleetResult {
    /// People.
    let size: Int
    /// People enrolled a second, in bulk, and what each cost.
    var enrolledPerSecond = 0.0
    var processorPerPerson = Nanoseconds(count: 0)
    /// The same rows inserted by SQLite alone.
    var insertedPerSecond = 0.0
    /// Resident memory before anybody, with the fleet, after all loads, and after a start.
    var idleBytes = 0
    var fleetBytes = 0
    var loadedBytes = 0
    var restartedBytes = 0
    /// Bytes of the store's files once the fleet was enrolled.
    var enrolledFileBytes = 0
    /// `GET /metrics`: the median and the longest, and the length of the page.
    var scrapeMilliseconds = 0.0
    var scrapeMillisecondsMax = 0.0
    var scrapeBytes = 0
    /// The same by gzip.
    var packedScrapeMilliseconds = 0.0
    var packedScrapeBytes = 0
    /// Batches a second of those who reported meanwhile.
    var backgroundPerSecond = 0.0
    /// Nothing but the others' batches; 1 % a minute falling silent; 10 % at one instant; these
    /// OFFLINE at one instant; again nothing; the checkpoint that an erasure wants; the rest of the erasure.
    var quiet, fading, instant, offline, calm, checkpoint, erasure: FleetPhase?
    /// Batches a second in bulk with the fleet there.
    var bulkPerSecond = 0.0
    /// Rows of the journal at the end.
    var journalRows = 0
    /// Rows that the start after the crash folded again.
    var tailRows: Int?
    /// From the start of the process to the line with its address; a stop until the end of it.
    var restartAfterCrash = Nanoseconds(count: 0)
    var stop = Nanoseconds(count: 0)
    var restartAfterStop = Nanoseconds(count: 0)
    /// The store at the end.
    var store: StoreSize?

    init(size: Int) { self.size = size }

    /// Memory of one person, bytes.
    var bytesPerPerson: Double { Double(fleetBytes - idleBytes) / Double(size) }
    /// The enrolment's rate as a share of SQLite's.
    var insertionRatio: Double {
        insertedPerSecond > 0 ? enrolledPerSecond / insertedPerSecond : 0
    }
    /// Bytes of the store for each batch: its row and its share of turns and decisions.
    var bytesPerBatch: Double? {
        guard let store, journalRows > 0 else { return nil }
        return Double(store.usedBytes - store.checkpointBytes) / Double(journalRows)
    }
    /// Bytes of a checkpoint for each person.
    var checkpointBytesPerPerson: Double? {
        guard let store, store.checkpoints > 0 else { return nil }
        return Double(store.checkpointBytes) / Double(store.checkpoints * size)
    }
}

/// The fleets beside each other, a column each.
struct FleetReport {
    let machine: Machine
    var results: [FleetResult] = []
    /// The share of the machine that others used meanwhile.
    var othersShare = 0.0
    /// Why a fleet is missing, and all larger ones.
    var failure: BenchmarkError?
    /// False for a run that only proves that everything runs.
    let isEvaluated: Bool

    /// A report without results.
    init(machine: Machine, isEvaluated: Bool) {
        self.machine = machine
        self.isEvaluated = isEvaluated
    }

    /// A line of the table, and a member of the document.
    private struct Row {
        let text: String
        let key: String
        let decimals: Int
        let value: (FleetResult) -> Double?
    }

    private static func row(
        _ text: String, _ key: String, _ decimals: Int = 0,
        _ value: @escaping (FleetResult) -> Double?
    ) -> Row { Row(text: text, key: key, decimals: decimals, value: value) }

    private static var rows: [Row] {
        [
            row("enrolled in bulk, people/s", "enrolled_per_second") { $0.enrolledPerSecond },
            row("  SQLite alone, rows/s", "inserted_per_second") { $0.insertedPerSecond },
            row("  share of it, %", "insertion_ratio_percent") { $0.insertionRatio * 100 },
            row("  CPU of the server, µs a person", "cpu_us_per_person", 2) {
                $0.processorPerPerson.microseconds
            },
            row("memory, bytes a person", "bytes_per_person") { $0.bytesPerPerson },
            row("  MB before anybody", "idle_mb", 1) { Double($0.idleBytes) / 1e6 },
            row("  MB with the fleet", "fleet_mb", 1) { Double($0.fleetBytes) / 1e6 },
            row("  MB after all loads", "loaded_mb", 1) { Double($0.loadedBytes) / 1e6 },
            row("  MB after a stop and a start", "restarted_mb", 1) {
                Double($0.restartedBytes) / 1e6
            },
            row("GET /metrics, median ms", "scrape_ms", 2) { $0.scrapeMilliseconds },
            row("  longest ms", "scrape_ms_max", 2) { $0.scrapeMillisecondsMax },
            row("  kB", "scrape_kb", 1) { Double($0.scrapeBytes) / 1e3 },
            row("  by gzip, median ms", "scrape_gzip_ms", 2) { $0.packedScrapeMilliseconds },
            row("  by gzip, kB", "scrape_gzip_kb", 1) { Double($0.packedScrapeBytes) / 1e3 },
            row("others reported, batches/s", "background_per_second") { $0.backgroundPerSecond },
        ] + phase("nothing else", "quiet") { $0.quiet }
            + phase("1 % a minute fall silent", "fading", isLate: true) { $0.fading }
            + phase("10 % fall silent at one instant", "instant", isLate: true) { $0.instant }
            + phase("10 % go OFFLINE at one instant", "offline", isLate: true) { $0.offline }
            + phase("nothing else, again", "calm") { $0.calm }
            + phase("a checkpoint, which an erasure wants", "checkpoint") { $0.checkpoint }
            + phase("the rest of the erasure", "erasure") { $0.erasure }
            + [
                row("bulk with the fleet there, batches/s", "bulk_per_second") { $0.bulkPerSecond },
                row("start after kill -9, s", "restart_after_crash_s", 2) {
                    $0.restartAfterCrash.seconds
                },
                row("  journal rows folded again", "tail_rows") { $0.tailRows.map { Double($0) } },
                row("orderly stop, s", "stop_s", 2) { $0.stop.seconds },
                row("start after it, s", "restart_after_stop_s", 2) { $0.restartAfterStop.seconds },
                row("store, bytes a person enrolled", "enrolled_bytes_per_person") {
                    Double($0.enrolledFileBytes) / Double($0.size)
                },
                row("  bytes a batch", "bytes_per_batch") { $0.bytesPerBatch },
                row("  a checkpoint, bytes a person", "checkpoint_bytes_per_person") {
                    $0.checkpointBytesPerPerson
                },
            ]
    }

    private static func phase(
        _ text: String, _ key: String, isLate: Bool = false,
        _ phase: @escaping (FleetResult) -> FleetPhase?
    ) -> [Row] {
        let lateness: [Row] = [
            row("  people", "\(key)_people") { phase($0).map { Double($0.lateness.total) } },
            row("  late p50 ≤ ms", "\(key)_late_p50_ms") { lateMilliseconds(phase($0), 0.5) },
            row("  late p99 ≤ ms", "\(key)_late_p99_ms") { lateMilliseconds(phase($0), 0.99) },
            row("  latest ≤ ms", "\(key)_late_max_ms") { lateMilliseconds(phase($0), 1) },
        ]
        return [row("\(text), s", "\(key)_s", 1) { phase($0)?.span.seconds }]
            + (isLate ? lateness : []) + [
                row("  status p50 ms", "\(key)_status_p50_ms", 2) {
                    phase($0)?.probe?.latency50.milliseconds
                },
                row("  status p99 ms", "\(key)_status_p99_ms", 2) {
                    phase($0)?.probe?.latency99.milliseconds
                },
                row("  status longest ms", "\(key)_status_max_ms", 2) {
                    phase($0)?.probe?.longest.milliseconds
                },
                row("  batch longest ms", "\(key)_batch_max_ms", 2) {
                    phase($0)?.longestBatch?.milliseconds
                },
                row("  turns", "\(key)_turns") { phase($0).map { Double($0.turns) } },
                row("  turns over 20 ms", "\(key)_long_turns") {
                    phase($0).map { Double($0.longTurns) }
                },
                row("  longest turn ≤ ms", "\(key)_turn_max_ms", 1) {
                    phase($0)?.longestTurn.map { $0 * 1000 }
                },
                row("  longest commit ≤ ms", "\(key)_commit_max_ms", 1) {
                    phase($0)?.longestCommit.map { $0 * 1000 }
                },
                row("  longest part of a turn for chores ≤ ms", "\(key)_chore_max_ms", 1) {
                    phase($0)?.longestChore.map { $0 * 1000 }
                },
                row("  CPU of the server, %", "\(key)_cpu_percent") {
                    phase($0).map { $0.serverShare * 100 }
                },
                row("  of its busiest thread, %", "\(key)_busiest_percent") {
                    phase($0).map { $0.busiestThreadShare * 100 }
                },
                row("  keeper in turns, %", "\(key)_turns_percent") {
                    phase($0).map { $0.turnShare * 100 }
                },
                row("  … in commits, %", "\(key)_commits_percent") {
                    phase($0).map { $0.commitShare * 100 }
                },
                row("  used by others, % of the machine", "\(key)_others_percent") {
                    phase($0).map { $0.othersShare * 100 }
                },
                row("  checkpoint completed (1: yes)", "\(key)_checkpoint") {
                    phase($0).map { $0.hasCheckpoint ? 1 : 0 }
                },
            ]
    }

    private static func lateMilliseconds(_ phase: FleetPhase?, _ share: Double) -> Double? {
        phase?.lateness.bound(of: share).map { $0 * 1000 }
    }

    // MARK: - Promises

    /// Those of Contract/Promises that a fleet is needed for, evaluated at a million people if
    /// those were measured: nothing is promised of more.
    private var promises: [Promise] {
        let upToMillion = results.filter { $0.size <= 1_000_000 }
        let evaluated = upToMillion.isEmpty ? results : upToMillion
        guard let result = evaluated.max(by: { $0.size < $1.size }) else { return [] }
        let fleet = ", \(grouped(Double(result.size))) people"
        let fading = Self.lateMilliseconds(result.fading, 0.99)
        let instant = Self.lateMilliseconds(result.instant, 0.99)
        let chore = result.checkpoint?.longestChore.map { $0 * 1000 }
        let plain = [result.quiet, result.calm].compactMap { $0?.longestCommit }.max()
        let start = max(result.restartAfterCrash, result.restartAfterStop).seconds
        return [held].compactMap(\.self) + [
            Promise(
                text: "memory ≤ 300 bytes a person" + fleet,
                found: decimal(result.bytesPerPerson, 0),
                isKept: result.bytesPerPerson <= 300),
            Promise(
                text: "GET /metrics < 2 ms" + fleet,
                found: decimal(result.scrapeMilliseconds, 2) + " ms",
                isKept: result.scrapeMilliseconds < 2),
            Promise(
                text: "GET /metrics < 200 KB" + fleet,
                found: decimal(Double(result.scrapeBytes) / 1e3, 1) + " kB",
                isKept: result.scrapeBytes < 200_000),
            Promise(
                text: "detected within 100 ms (p99) while 1 % a minute fall silent" + fleet,
                found: Self.bound(fading), isKept: fading.map { $0 <= 100 } ?? false),
            Promise(
                text: "detected within 1 s (p99) when 10 % fall silent at one instant" + fleet,
                found: Self.bound(instant), isKept: instant.map { $0 <= 1000 } ?? false),
            Promise(
                text: "no turn over 20 ms for a checkpoint" + fleet,
                found: Self.bound(chore) + ", a commit without one "
                    + Self.bound(plain.map { $0 * 1000 }),
                isKept: chore.map { $0 <= 20 } ?? false),
            Promise(
                text: "ready in < 3 s, killed or stopped" + fleet,
                found: decimal(start, 2) + " s", isKept: start < 3),
        ]
    }

    /// The promise of the largest fleet: whoever asks or reports is not held up by one instant.
    private var held: Promise? {
        guard let result = results.max(by: { $0.size < $1.size }) else { return nil }
        let phases = [result.instant, result.offline].compactMap(\.self)
        let waits = phases.flatMap { [$0.probe?.longest, $0.longestBatch].compactMap(\.self) }
        guard let longest = waits.max()?.milliseconds else { return nil }
        let text = "nobody waits over 1 s when 10 % fall silent, or go OFFLINE, at one instant"
        return Promise(
            text: "\(text), \(grouped(Double(result.size))) people",
            found: decimal(longest, 0) + " ms", isKept: longest <= 1000)
    }

    private static func bound(_ milliseconds: Double?) -> String {
        guard let milliseconds else { return "not counted" }
        return milliseconds.isFinite ? "≤ \(decimal(milliseconds, 0)) ms" : "beyond all buckets"
    }

    // MARK: - For people

    /// The report as text.
    var table: String {
        var lines = machine.lines(othersShare: othersShare)
        lines.append("")
        let head = ["people"] + results.map { grouped(Double($0.size)) }
        lines += aligned(
            [head]
                + Self.rows.map { row in
                    [row.text] + results.map { Self.cell(row.value($0), row.decimals) }
                }, leading: 1)
        lines.append("")
        lines += promises.map { $0.line(isEvaluated: isEvaluated) }
        lines.append(
            "status: what GET /v1/status takes for those who ask every 2 ms. ≤: the bound of the "
                + "bucket in which it fell.")
        return lines.joined(separator: "\n")
    }

    private static func cell(_ value: Double?, _ decimals: Int) -> String {
        guard let value else { return "–" }
        guard value.isFinite else { return "beyond" }
        return decimals == 0 ? grouped(value) : decimal(value, decimals)
    }

    // MARK: - For machines

    /// The report as one document.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            (
                "fleets",
                .list(
                    results.map { result in
                        .object(
                            [("people", .number(Double(result.size)))]
                                + Self.rows.map { row in
                                    (row.key, row.value(result).map { .number($0) } ?? .null)
                                })
                    })
            ),
            ("promises", .list(promises.map(\.json))),
        ])
    }
}
