/// The runs of one server under one load.
struct Stats {
    /// Whose they are.
    let title: String
    /// In the order in which they were made.
    var runs: [LoadStats] = []
    /// Resident memory after the last run, bytes.
    var residentBytes: Int?

    init(title: String) { self.title = title }

    /// Batches a second, the median.
    var batchesPerSecond: Double { median(runs.map(\.batchesPerSecond)) ?? 0 }
    /// Half the distance between the fastest and the slowest run, as a share of the median.
    var spread: Double {
        let rates = runs.map(\.batchesPerSecond)
        guard let least = rates.min(), let most = rates.max(), least > 0 else { return 0 }
        return (most - least) / 2 / batchesPerSecond
    }
    /// Processor time of the server for each batch, microseconds, the median.
    var microsecondsPerBatch: Double {
        median(runs.map(\.serverTimePerBatch.microseconds)) ?? 0
    }
    /// See `LoadStats.busiestThreadTimePerBatch`; microseconds, the median.
    var busiestMicroseconds: Double? {
        median(runs.compactMap { $0.busiestThreadTimePerBatch?.microseconds })
    }
    /// See `LoadStats.latency50`; milliseconds, the median.
    var milliseconds50: Double { median(runs.map(\.latency50.milliseconds)) ?? 0 }
    /// See `LoadStats.latency99`; milliseconds, the median.
    var milliseconds99: Double { median(runs.map(\.latency99.milliseconds)) ?? 0 }
    /// See `LoadStats.generatorShare`; the median.
    var generatorShare: Double { median(runs.map(\.generatorShare)) ?? 0 }
}

/// One load: the product, and what its parts alone do with it.
struct WorkloadResult {
    let workload: Workload
    var product: Stats
    var references: [Stats]
    /// The product with four threads at its connections; nil where that is not measured.
    var manyThreads: Stats?

    /// All that ran.
    var all: [Stats] { [product] + [manyThreads].compactMap(\.self) + references }

    /// The product's rate as a share of a reference's, 1 being equal.
    func ratio(to reference: Stats) -> Double {
        reference.batchesPerSecond > 0
            ? product.batchesPerSecond / reference.batchesPerSecond : 0
    }
}

/// Everything that was measured.
struct BenchmarkReport {
    let options: BenchmarkOptions
    let machine: Machine
    var results: [WorkloadResult] = []
    /// What is no load's rate.
    var parts: [ReportPart] = []
    /// Kinds that were left out, and why.
    var omissions: [String] = []
    /// Resident memory of a server that nobody has spoken to, bytes.
    var idleResidentBytes: Int?
    /// The share of the machine that others used meanwhile.
    var othersShare = 0.0

    init(options: BenchmarkOptions, machine: Machine) {
        self.options = options
        self.machine = machine
    }

    private var promises: [Promise] {
        var promises = singlePromises
        if let result = results.first(where: { $0.workload.name == "bulk-1000" }) {
            let rate = result.product.batchesPerSecond
            // The parts that it is made of come in the order in which a request passes them.
            let ratio = result.references.last.map { result.ratio(to: $0) }
            promises.append(
                Promise(
                    text: "bulk NDJSON, 1000 batches a request, ≥ 600 000 batches/s and ≥ 50 % of "
                        + "SQLite",
                    found: grouped(rate) + (ratio.map { ", \(percent($0))" } ?? ""),
                    isKept: rate >= 600_000 && ratio ?? 1 >= 0.5))
        }
        if let bytes = idleResidentBytes {
            promises.append(
                Promise(
                    text: "idle resident memory < 20 MB", found: "\(megabytes(bytes)) MB",
                    isKept: bytes < 20_000_000))
        }
        return promises
    }

    /// The promises about single batches over 64 connections.
    private var singlePromises: [Promise] {
        guard let result = results.first(where: { $0.workload.name == "single-64" }),
            let bare = result.references.first
        else { return [] }
        let load = "single batches over 64 connections"
        let ratio = result.ratio(to: bare)
        var promises = [
            Promise(
                text: "\(load) ≥ 35 % of bare libmicrohttpd", found: percent(ratio),
                isKept: ratio >= 0.35)
        ]
        if let ceiling = result.references.dropFirst().first {
            let rate = result.ratio(to: ceiling)
            let time = result.product.microsecondsPerBatch / ceiling.microsecondsPerBatch
            promises += [
                Promise(
                    text: "\(load) ≥ 60 % of their ceiling, with suspend and resume",
                    found: percent(rate), isKept: rate >= 0.6),
                Promise(
                    text: "\(load): processor time a request ≤ 1.4 times the ceiling's",
                    found: decimal(time, 2), isKept: time <= 1.4),
            ]
        }
        if let many = result.manyThreads?.busiestMicroseconds, let bare = bare.busiestMicroseconds {
            promises.append(
                Promise(
                    text: "\(load), web.threads 4: busiest thread a request ≤ 0.7 times bare",
                    found: decimal(many / bare, 2), isKept: many / bare <= 0.7))
        }
        return promises
    }

    // MARK: - For people

    /// The report as text.
    var table: String {
        var lines = header
        lines.append("")
        lines += aligned(
            [
                [
                    "load", "server", "per second", "spread", "ratio", "CPU µs", "p50 ms",
                    "p99 ms", "busiest", "MB",
                ]
            ] + results.flatMap(rows), leading: 2)
        lines += parts.flatMap(\.lines)
        lines.append("")
        lines += promises.map { $0.line(isEvaluated: !options.isShort) }
        lines += notes
        return lines.joined(separator: "\n")
    }

    private var header: [String] {
        machine.lines(othersShare: othersShare) + [
            "medians of \(options.runs) run\(options.runs == 1 ? "" : "s") of \(decimal(options.measured.seconds, 1)) s, in turns;"
                + " batches of \(BatchSource.batchBytes) B from "
                + "\(grouped(Double(BatchSource.responders))) responders"
        ]
    }

    private var notes: [String] {
        var notes = [
            "per second, ratio, CPU: batches (single: a request has one; bulk-N: N). Ratio: "
                + "rollcall's rate to this one's. Busiest: CPU µs of the thread that took most. "
                + "Latency: requests, of SQLite transactions."
        ]
        for result in results {
            for stats in result.all where stats.generatorShare > 0.9 {
                notes.append(
                    "\(result.workload.name), \(stats.title): the load itself took "
                        + "\(percent(stats.generatorShare)) of a processor and was the limit")
            }
        }
        notes += omissions.map { "left out: \($0)" }
        if options.isShort { notes.append("--short: proves that everything runs, no more") }
        return notes
    }

    private func rows(_ result: WorkloadResult) -> [[String]] {
        result.all.enumerated().map { index, stats in
            [
                index == 0 ? result.workload.name : "", stats.title,
                grouped(stats.batchesPerSecond), "± \(percent(stats.spread))",
                index == 0 ? "" : share(result.ratio(to: stats)),
                decimal(stats.microsecondsPerBatch, 2), decimal(stats.milliseconds50, 3),
                decimal(stats.milliseconds99, 3),
                stats.busiestMicroseconds.map { decimal($0, 2) } ?? "",
                stats.residentBytes.map(megabytes) ?? "",
            ]
        }
    }

    // MARK: - For machines

    /// The report as one document.
    var json: JSONText {
        let members: [(String, JSONText)] = [
            ("machine", machine.json(othersShare: othersShare)),
            ("runs", .number(Double(options.runs))),
            ("run_seconds", .number(options.measured.seconds)),
            ("batch_bytes", .number(Double(BatchSource.batchBytes))),
            ("responders", .number(Double(BatchSource.responders))),
            ("loads", .list(results.map(json))),
            ("idle_resident_bytes", idleResidentBytes.map { .number(Double($0)) } ?? .null),
            ("promises", .list(promises.map(\.json))),
            ("left_out", .list(omissions.map { .text($0) })),
        ]
        return .object(members + parts.map { ($0.key, $0.json) })
    }

    private func json(_ result: WorkloadResult) -> JSONText {
        .object([
            ("name", .text(result.workload.name)),
            ("connections", .number(Double(result.workload.connections))),
            ("batches_per_request", .number(Double(result.workload.batchesPerRequest))),
            ("product", json(result.product, ratio: nil)),
            (
                "web_threads_4",
                result.manyThreads.map { json($0, ratio: result.ratio(to: $0)) } ?? .null
            ),
            (
                "references",
                .list(result.references.map { json($0, ratio: result.ratio(to: $0)) })
            ),
        ])
    }

    private func json(_ stats: Stats, ratio: Double?) -> JSONText {
        .object([
            ("server", .text(stats.title)),
            ("batches_per_second", .number(stats.batchesPerSecond)),
            ("batches_per_second_runs", .list(stats.runs.map { .number($0.batchesPerSecond) })),
            ("ratio", ratio.map { .number($0) } ?? .null),
            ("cpu_us_per_batch", .number(stats.microsecondsPerBatch)),
            (
                "busiest_thread_cpu_us_per_batch",
                stats.busiestMicroseconds.map { .number($0) } ?? .null
            ),
            ("p50_ms", .number(stats.milliseconds50)),
            ("p99_ms", .number(stats.milliseconds99)),
            ("load_generator_share", .number(stats.generatorShare)),
            ("resident_bytes", stats.residentBytes.map { .number(Double($0)) } ?? .null),
        ])
    }
}
