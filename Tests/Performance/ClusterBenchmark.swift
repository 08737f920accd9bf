import Glibc

/// Measures three members of a watch beside a single node, in the same run.
struct ClusterBenchmark {
    /// A figure of the watch, and the same of one machine.
    struct Figure {
        /// What was measured, with its unit.
        let text: String
        /// Its name in the JSON document.
        let key: String
        let cluster, alone: Double
        let decimals: Int
    }

    /// The loads, in the order in which they are measured.
    static let workloads = [Workload.single(1), .single(64), .bulk(1000)]
    /// How often who leads is killed, and told to end.
    private static let changes = (short: 1, full: 5)
    /// Turns that a member is away for.
    private static let awaySeconds: (short: Int64, full: Int64) = (1, 10)

    private let benchmark: Benchmark
    private let etcds: Int
    private let product: String

    /// What `benchmark` is asked for, with so many members of etcd.
    init(_ benchmark: Benchmark, etcds: Int, product: String) {
        self.benchmark = benchmark
        self.etcds = etcds
        self.product = product
    }

    /// Measures.
    func run() throws(BenchmarkError) -> [Figure] {
        let machines = try ClusterMachines(
            etcds: etcds, product: product, folder: try benchmark.makeStore("cluster"))
        let single = try SingleNode(product: product, folder: try benchmark.makeStore("alone"))
        defer { for store in ["cluster", "alone"] { benchmark.removeStore(store) } }
        try machines.settle()
        var source = BatchSource()
        try benchmark.enrol(&source, at: try machines.leader().process)
        try benchmark.enrol(&source, at: try single.process())
        var figures: [Figure] = []
        for workload in Self.workloads where benchmark.options.isWanted(workload.name) {
            figures += try measure(workload, &source, machines, single)
        }
        if benchmark.options.isWanted("changes") { figures += try change(machines, single) }
        if benchmark.options.isWanted("away") {
            figures += try beAway(&source, machines, single)
        }
        try single.stop()
        try machines.stop()
        return figures
    }

    private func measure(
        _ workload: Workload, _ source: inout BatchSource, _ machines: ClusterMachines,
        _ single: SingleNode
    ) throws(BenchmarkError) -> [Figure] {
        var batches = source
        defer { source = batches }
        let result = try benchmark.inTurns(
            workload,
            [
                Benchmark.Contestant("cluster") { () throws(BenchmarkError) in
                    try benchmark.load(workload, &batches, try machines.leader().process)
                },
                Benchmark.Contestant("alone") { () throws(BenchmarkError) in
                    try benchmark.load(workload, &batches, try single.process())
                },
            ])
        let (watch, alone) = (result.product, result.references[0])
        let name = workload.name
        var figures = [
            Figure(
                text: "\(name), \(workload.unit)", key: "\(name)_per_second",
                cluster: watch.batchesPerSecond, alone: alone.batchesPerSecond, decimals: 0)
        ]
        if workload.connections == 1 {
            figures.append(
                Figure(
                    text: "one POST, p50 ms", key: "post_p50_ms", cluster: watch.milliseconds50,
                    alone: alone.milliseconds50, decimals: 2))
            figures.append(
                Figure(
                    text: "one POST, p99 ms", key: "post_p99_ms", cluster: watch.milliseconds99,
                    alone: alone.milliseconds99, decimals: 2))
        }
        return figures
    }

    // MARK: - Another leads

    /// Kills who leads, and has it hand over; on one machine the same server starts again at once.
    private func change(
        _ machines: ClusterMachines, _ single: SingleNode
    ) throws(BenchmarkError) -> [Figure] {
        var gaps: [String: [Double]] = [:]
        let count = benchmark.options.isShort ? Self.changes.short : Self.changes.full
        for number in 1...count {
            for isKilled in [true, false] {
                let word = isKilled ? "killed" : "ended"
                let watch = try gap(machines.ports) { () throws(BenchmarkError) in
                    let (leader, _) = try machines.leader()
                    if isKilled { machines.crash(leader) } else { try machines.stop(leader) }
                    return leader
                } after: { (leader) throws(BenchmarkError) in
                    try machines.start(leader)
                    try machines.settle()
                }
                let alone = try gap([single.port]) { () throws(BenchmarkError) in
                    if isKilled { single.crash() } else { try single.stop() }
                    try single.start()
                    return 0
                } after: { _ in
                }
                gaps["\(word), cluster", default: []].append(watch.seconds)
                gaps["\(word), alone", default: []].append(alone.seconds)
                tell(
                    "\(word), \(number) of \(count), s without an acknowledgement: cluster "
                        + "\(decimal(watch.seconds, 2)), alone \(decimal(alone.seconds, 2))")
            }
        }
        return [
            Figure(
                text: "take-over after kill -9, s", key: "takeover_s",
                cluster: median(gaps["killed, cluster"] ?? []) ?? 0,
                alone: median(gaps["killed, alone"] ?? []) ?? 0, decimals: 2),
            Figure(
                text: "the longest of \(count)", key: "takeover_longest_s",
                cluster: gaps["killed, cluster"]?.max() ?? 0,
                alone: gaps["killed, alone"]?.max() ?? 0, decimals: 2),
            Figure(
                text: "hand-over by SIGTERM, s", key: "handover_s",
                cluster: median(gaps["ended, cluster"] ?? []) ?? 0,
                alone: median(gaps["ended, alone"] ?? []) ?? 0, decimals: 2),
        ]
    }

    /// The longest time without an acknowledgement while something happens.
    private func gap<Value>(
        _ ports: [UInt16], _ happen: () throws(BenchmarkError) -> Value,
        after: (Value) throws(BenchmarkError) -> Void
    ) throws(BenchmarkError) -> Nanoseconds {
        let poster = SteadyPoster(ports)
        let thread = try poster.start()
        defer { poster.end() }
        try waitUntil("batches are taken", seconds: 30) { poster.taken > 20 }
        _ = poster.longestGap()
        let value = try happen()
        let taken = poster.taken
        try waitUntil("batches are taken again", seconds: 30) { poster.taken > taken + 20 }
        let gap = poster.longestGap()
        poster.end()
        try thread.join()
        try after(value)
        return gap
    }

    // MARK: - A member was away

    /// Ends a follower, loads the others, and starts it again.
    private func beAway(
        _ source: inout BatchSource, _ machines: ClusterMachines, _ single: SingleNode
    ) throws(BenchmarkError) -> [Figure] {
        let (leader, process) = try machines.leader()
        let follower = (leader + 1) % machines.ports.count
        guard let before = machines.position(follower) else {
            throw .server("a follower does not hold all of the log")
        }
        try machines.stop(follower)
        let seconds =
            benchmark.options.isShort ? Self.awaySeconds.short : Self.awaySeconds.full
        let span = Nanoseconds.milliseconds(seconds * 1000)
        var generator = try LoadGenerator(.single(64), to: process)
        _ = try generator.run(&source, warmUp: .milliseconds(0), measured: span)
        guard let end = machines.position(leader) else {
            throw .server("the leader does not hold all of the log")
        }
        let begun = Nanoseconds.now()
        try machines.start(follower)
        try waitUntil("the member has caught up", seconds: 120) {
            machines.position(follower) ?? 0 >= end
        }
        let watch = Nanoseconds.now() - begun
        var other = try LoadGenerator(.single(64), to: try single.process())
        _ = try other.run(&source, warmUp: .milliseconds(0), measured: span)
        single.crash()
        let restarted = Nanoseconds.now()
        try single.start()
        let alone = Nanoseconds.now() - restarted
        return [
            Figure(
                text: "catch-up after \(grouped(Double(end - before))) turns away, s",
                key: "catchup_s", cluster: watch.seconds, alone: alone.seconds, decimals: 2)
        ]
    }
}

/// One server on one machine that is killed and started again, at one port.
final class SingleNode {
    /// Where it listens.
    let port: UInt16
    private let product: String
    private let folder: String
    private var running: ServerProcess?

    /// Starts it with a store in `folder`.
    init(product: String, folder: String) throws(BenchmarkError) {
        self.product = product
        self.folder = folder
        port = try freePorts(1)[0]
        try start()
    }

    /// Starts it, with what it has on its disk.
    func start() throws(BenchmarkError) {
        running = try ServerProcess(
            name: "rollcall", executable: product,
            arguments: [
                "serve", "--web.listen-address", "127.0.0.1:\(port)",
                "--storage.path", "\(folder)/rollcall.db",
            ],
            errorsPath: "\(folder)/errors")
    }

    /// The process. Errors: it does not run.
    func process() throws(BenchmarkError) -> ServerProcess {
        guard let running else { throw .server("the single node does not run") }
        return running
    }

    /// Ends it by SIGKILL.
    func crash() { running?.crash() }

    /// Ends it by SIGTERM.
    func stop() throws(BenchmarkError) { try running?.stop() }
}
