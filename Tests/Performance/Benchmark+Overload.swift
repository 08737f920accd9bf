import Glibc

/// A server that is offered twice what it can do.
struct OverloadResult {
    /// The load that was offered.
    let workload: Workload
    /// Batches a second that the server did in a closed loop before.
    let capacity: Double
    /// Batches a second that were offered.
    let offered: Double
    /// What the server did with them.
    var stats = OverloadStats(seconds: [])
    /// Resident memory before, and the most of it since the server's start.
    var residentBytes: Int?, residentBytesMost: Int?
    /// What half of a lone client's batches took before, and when everything was over.
    var loneBefore = Nanoseconds(count: 0), loneAfter = Nanoseconds(count: 0)
    /// From the last request to when a lone client was served as quickly as before.
    var recovery: Nanoseconds?
    /// How long the watch called itself blind for it (B1), seconds.
    var blindSeconds = 0.0
    /// Batches taken, as the store says after kill -9 and a start, beside those acknowledged.
    var found = 0

    /// Batches that the server answered 2xx for.
    var acknowledged: Int { stats.served * workload.batchesPerRequest }
    /// Batches a second that were served.
    var servedPerSecond: Double {
        let served = stats.seconds.map(\.served).reduce(0, +) * workload.batchesPerRequest
        return Double(served) / Double(max(1, stats.seconds.count))
    }

    /// Milliseconds that a share of the served took, second by second.
    func milliseconds(_ share: Double) -> [Double] {
        stats.seconds.compactMap { $0.latencies.quantile(share)?.milliseconds }
    }
}

extension Benchmark {
    /// Who is offered twice its capacity: many clients with a batch each, and many with a thousand.
    private static let overloads: [(capacity: Workload, offered: Workload)] = [
        (.single(256), .single(480, name: "overload-single")),
        (
            .bulk(1000, connections: 16),
            .bulk(1000, connections: 400, name: "overload-bulk")
        ),
    ]
    private static let taken = "rollcall_updates_total{outcome=\"accepted\"}"

    /// Both kinds, if they are wanted.
    func measureOverloads(_ report: inout BenchmarkReport) throws(BenchmarkError) {
        var results: [OverloadResult] = []
        for (capacity, offered) in Self.overloads where options.isWanted(offered.name) {
            results.append(try measure(offered, beyond: capacity))
        }
        if !results.isEmpty { report.parts.append(.overload(results)) }
    }

    private func measure(
        _ workload: Workload, beyond closedLoop: Workload
    ) throws(BenchmarkError) -> OverloadResult {
        let server = try startProduct(store: workload.name)
        defer { removeStore(workload.name) }
        var source = BatchSource()
        try enrol(&source, at: server)
        let lone = LoneClient(at: server.port)
        let before = try lone.measure(options.isShort ? 50 : 500)
        let capacity = try load(closedLoop, &source, server).batchesPerSecond
        tell("\(workload.name): \(grouped(capacity)) batches/s in a closed loop; twice that now")

        var result = OverloadResult(
            workload: workload, capacity: capacity, offered: 2 * capacity)
        result.loneBefore = before
        result.residentBytes = server.residentBytes
        let counted = try Self.takenUpdates(server)
        let seconds = options.isShort ? 1 : 10
        var generator = try OverloadGenerator(workload, to: server)
        let end = Nanoseconds.now() + .milliseconds(Int64(seconds) * 1000)
        let watching = try lone.watch(
            after: end, for: .milliseconds(options.isShort ? 1000 : 5000))
        result.stats = try generator.run(
            &source, perSecond: result.offered / Double(workload.batchesPerRequest),
            seconds: seconds)
        try watching.join()
        (result.loneAfter, result.recovery) = lone.recovery(before: before)
        result.residentBytesMost = server.residentBytesMost
        let metrics = try MetricsReading(try Caller(port: server.port))
        result.blindSeconds =
            metrics.value("rollcall_blind_seconds_total{reason=\"overload\"}") ?? 0
        server.crash()

        let again = try startProduct(store: workload.name)
        result.found = try Self.takenUpdates(again) - counted
        try again.stop()
        tell(
            "\(workload.name): served \(grouped(result.servedPerSecond)) batches/s, refused "
                + "\(result.stats.refused) requests of \(result.stats.offered)")
        try Self.check(result)
        return result
    }

    private static func check(_ result: OverloadResult) throws(BenchmarkError) {
        guard result.found >= result.acknowledged else {
            throw .answer(
                "\(result.workload.name): \(result.acknowledged) batches were acknowledged, "
                    + "\(result.found) are in the store")
        }
        guard result.stats.refusedWithoutRetryAfter == 0 else {
            throw .answer(
                "\(result.workload.name): \(result.stats.refusedWithoutRetryAfter) of "
                    + "\(result.stats.refused) times 503 without Retry-After")
        }
    }

    private static func takenUpdates(_ server: ServerProcess) throws(BenchmarkError) -> Int {
        let metrics = try MetricsReading(try Caller(port: server.port))
        guard let value = metrics.value(taken) else {
            throw .answer("\(taken) is not among the metrics")
        }
        return Int(value)
    }
}

extension ReportPart {
    private struct Row {
        let text: String
        let key: String
        let decimals: Int
        let value: (OverloadResult) -> Double?

        init(
            _ text: String, _ key: String, _ decimals: Int = 0,
            _ value: @escaping (OverloadResult) -> Double?
        ) {
            self.text = text
            self.key = key
            self.decimals = decimals
            self.value = value
        }
    }

    private static var overloadRows: [Row] {
        [
            Row("connections", "connections") { Double($0.workload.connections) },
            Row("batches a request", "batches_per_request") {
                Double($0.workload.batchesPerRequest)
            },
            Row("in a closed loop, batches/s", "capacity_per_second") { $0.capacity },
            Row("offered, batches/s", "offered_per_second") { $0.offered },
            Row("served, batches/s", "served_per_second") { $0.servedPerSecond },
            Row("  share of the closed loop, %", "served_percent") {
                $0.servedPerSecond / $0.capacity * 100
            },
            Row("requests due", "requests_due") { Double($0.stats.offered) },
            Row("  answered 2xx, %", "answered_percent", 1) { share($0.stats.served, $0) },
            Row("  answered 503, %", "refused_percent", 1) { share($0.stats.refused, $0) },
            Row("    of them without Retry-After", "without_retry_after") {
                Double($0.stats.refusedWithoutRetryAfter)
            },
            Row("  not sent: no connection was free, %", "unsent_percent", 1) {
                share($0.stats.unsent, $0)
            },
            Row("  cut without an answer", "cut") { Double($0.stats.cut) },
            Row("served, p50 ms, best second", "p50_ms_min", 1) { $0.milliseconds(0.5).min() },
            Row("  worst second", "p50_ms_max", 1) { $0.milliseconds(0.5).max() },
            Row("served, p99 ms, best second", "p99_ms_min", 1) { $0.milliseconds(0.99).min() },
            Row("  worst second", "p99_ms_max", 1) { $0.milliseconds(0.99).max() },
            Row("memory before, MB", "resident_mb", 1) {
                $0.residentBytes.map { Double($0) / 1e6 }
            },
            Row("  at most", "resident_mb_max", 1) {
                $0.residentBytesMost.map { Double($0) / 1e6 }
            },
            Row("batches acknowledged", "acknowledged") { Double($0.acknowledged) },
            Row("  lost after kill -9", "lost") { Double(max(0, $0.acknowledged - $0.found)) },
            Row("  taken though unanswered", "unanswered") {
                Double(max(0, $0.found - $0.acknowledged))
            },
            Row("the watch called itself blind, s", "blind_s", 1) { $0.blindSeconds },
            Row("a lone client before, p50 ms", "lone_ms", 2) { $0.loneBefore.milliseconds },
            Row("  when all was over", "lone_after_ms", 2) { $0.loneAfter.milliseconds },
            Row("  as quick again after, ms", "recovery_ms", 1) { $0.recovery?.milliseconds },
        ]
    }

    private static func share(_ requests: Int, _ result: OverloadResult) -> Double {
        Double(requests) / Double(max(1, result.stats.offered)) * 100
    }

    /// What servers did that were offered twice what they can do.
    static func overload(_ results: [OverloadResult]) -> ReportPart {
        let rows = overloadRows.map { row in
            [row.text]
                + results.map { result in
                    row.value(result).map {
                        row.decimals == 0 ? grouped($0) : decimal($0, row.decimals)
                    } ?? "–"
                }
        }
        let notes = results.map { result in
            let spans = result.stats.seconds.map {
                $0.latencies.quantile(0.99).map { decimal($0.milliseconds, 0) } ?? "none served"
            }
            return "\(result.workload.name), p99 ms of what was served, second by second: "
                + spans.joined(separator: ", ")
        }
        return ReportPart(
            key: "overload", title: "offered twice what it can do, in an open loop",
            rows: [[""] + results.map(\.workload.name)] + rows, notes: notes,
            json: .list(
                results.map { result in
                    let members = overloadRows.map { row in
                        (row.key, row.value(result).map { JSONText.number($0) } ?? .null)
                    }
                    let seconds = result.stats.seconds.map { second in
                        JSONText.object([
                            ("served", .number(Double(second.served))),
                            ("refused", .number(Double(second.refused))),
                            ("p50_ms", milliseconds(second, 0.5)),
                            ("p99_ms", milliseconds(second, 0.99)),
                        ])
                    }
                    return .object(
                        [("name", .text(result.workload.name))] + members
                            + [("seconds", .list(seconds))])
                }))
    }

    private static func milliseconds(
        _ second: OverloadStats.Second, _ share: Double
    ) -> JSONText {
        second.latencies.quantile(share).map { .number($0.milliseconds) } ?? .null
    }
}
