import Glibc

/// What one run showed.
struct LoadStats {
    /// Batches answered in a second; of single batches that is requests.
    var batchesPerSecond: Double
    /// Processor time of the server for each batch.
    var serverTimePerBatch: Nanoseconds
    /// Processor time for each batch of that thread of the server which took most, in ticks of 10 ms;
    /// nil of what is no server.
    var busiestThreadTimePerBatch: Nanoseconds?
    /// Share of the run in which the generator itself computed: near 1 it was the limit.
    var generatorShare: Double
    /// Half of the answers took no longer, from the first byte sent.
    var latency50: Nanoseconds
    /// All but a hundredth of the answers took no longer.
    var latency99: Nanoseconds
}

/// A closed loop: every connection sends the next request as soon as it has its answer.
///
/// One thread on poll(2), without allocation per request.
struct LoadGenerator {
    private let workload: Workload
    private let server: ServerProcess
    private var connections: [LoadConnection] = []
    private var polled: [pollfd] = []
    private var histogram = LatencyHistogram()
    private var answers = 0

    /// Connects.
    init(_ workload: Workload, to server: ServerProcess) throws(BenchmarkError) {
        self.workload = workload
        self.server = server
        for _ in 0..<workload.connections {
            let connection = try LoadConnection(port: server.port, workload: workload)
            connections.append(connection)
            polled.append(
                pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0))
        }
    }

    /// Sends `requests` requests over each connection and waits for the answers.
    mutating func run(_ source: inout BatchSource, requests: Int) throws(BenchmarkError) {
        let goal = requests * connections.count
        var begun = connections.count
        try begin(&source)
        while answers < goal {
            try turn(&source) { _ in
                guard begun < goal else { return false }
                begun += 1
                return true
            }
        }
    }

    /// Loads the server for `warmUp`, then for `measured`, and waits for the last answers.
    mutating func run(
        _ source: inout BatchSource, warmUp: Nanoseconds, measured: Nanoseconds
    ) throws(BenchmarkError) -> LoadStats {
        var start = Snapshot(of: server)
        let begin = start.at + warmUp
        try self.begin(&source)
        while Nanoseconds.now() < begin { try turn(&source) { _ in true } }

        start = Snapshot(of: server)
        histogram = LatencyHistogram()
        answers = 0
        let end = start.at + measured
        while Nanoseconds.now() < end { try turn(&source) { _ in true } }
        let finish = Snapshot(of: server)
        let batches = Double(answers * workload.batchesPerRequest)
        let stats = histogram

        try drain(&source)
        guard let latency50 = stats.quantile(0.5), let latency99 = stats.quantile(0.99) else {
            throw .answer("\(workload.name): none within \(measured.seconds) s")
        }
        let span = (finish.at - start.at).seconds
        let busiest = finish.threads.map { name, time in
            time.count - (start.threads[name]?.count ?? 0)
        }
        return LoadStats(
            batchesPerSecond: batches / span,
            serverTimePerBatch: Nanoseconds(
                count: Int64(Double((finish.server - start.server).count) / batches)),
            busiestThreadTimePerBatch: Nanoseconds(
                count: Int64(Double(busiest.max() ?? 0) / batches)),
            generatorShare: (finish.generator - start.generator).seconds / span,
            latency50: latency50, latency99: latency99)
    }

    /// The clocks at one instant.
    private struct Snapshot {
        let at, server, generator: Nanoseconds
        let threads: [String: Nanoseconds]

        init(of process: ServerProcess) {
            threads = process.threadTimes
            server = process.processorTime
            generator = .now(of: CLOCK_PROCESS_CPUTIME_ID)
            at = .now()
        }
    }

    private mutating func begin(_ source: inout BatchSource) throws(BenchmarkError) {
        source.readClock()
        for index in connections.indices { try beginRequest(index, &source) }
    }

    private mutating func beginRequest(
        _ index: Int, _ source: inout BatchSource
    ) throws(BenchmarkError) {
        try connections[index].begin(&source, at: .now())
        watch(index)
    }

    private mutating func watch(_ index: Int) {
        polled[index].events =
            connections[index].isSending ? Int16(POLLIN) | Int16(POLLOUT) : Int16(POLLIN)
    }

    /// Waits for all answers that are still owed.
    private mutating func drain(_ source: inout BatchSource) throws(BenchmarkError) {
        var owed = connections.count
        while owed > 0 {
            try turn(&source) { index in
                owed -= 1
                return false
            }
        }
    }

    /// Waits once and handles every connection that is ready; `another` says whether the
    /// connection that has just been answered gets another request.
    private mutating func turn(
        _ source: inout BatchSource, another: (Int) -> Bool
    ) throws(BenchmarkError) {
        let ready = poll(&polled, nfds_t(polled.count), patienceMilliseconds)
        if ready < 0 && errno == EINTR { return }
        guard ready >= 0 else { throw .system(call: "poll", errno: errno) }
        guard ready > 0 else {
            throw .answer(
                "\(workload.name): none for \(patienceMilliseconds) ms; \(server.lastWords)")
        }
        source.readClock()
        for index in polled.indices where polled[index].revents != 0 {
            let events = Int32(polled[index].revents)
            if events & POLLOUT != 0 {
                try connections[index].send()
                watch(index)
            }
            guard events & ~POLLOUT != 0 else { continue }
            switch try connections[index].read() {
            case .partial: break
            case .refused:
                throw .answer("\(workload.name): refused: \(connections[index].text)")
            case .cut:
                throw .answer(
                    "\(workload.name): the server closed a connection: \(connections[index].text)")
            case .answered:
                histogram.record(.now() - connections[index].begun)
                answers += 1
                if another(index) { try beginRequest(index, &source) }
            }
        }
    }
}

/// A server that answers nobody for so long hangs: Rollcall's watchdog answers after 5 s.
private let patienceMilliseconds: Int32 = 10_000
