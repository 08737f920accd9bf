import Glibc
import RollcallCore

/// Measures the same fleet in Rollcall and in what a team would keep it in otherwise, in one run.
struct PeerBenchmark {
    /// Connections of the loads as fast as they go.
    private static let connections = [16, 64]
    private static let scrapes = (short: 3, full: 20)
    /// Requests over each of 64 connections: to weigh what is written, and before kill -9.
    private static let weighed = (short: 5, full: 500)
    private static let beforeKill = (short: 5, full: 75)

    let benchmark: Benchmark
    /// How many people report once a minute.
    let people: Int
    /// What was not measured, and why.
    private(set) var omissions: [String] = []

    /// A fleet of so many people.
    init(_ benchmark: Benchmark, people: Int) {
        self.benchmark = benchmark
        self.people = people
    }

    var options: BenchmarkOptions { benchmark.options }

    /// Measures.
    mutating func run(in folder: String) throws(BenchmarkError) -> [PeerFigures] {
        let program = Program(named: Pushgateway.name)
        let gatewayStore = "\(folder)/gateway.data"
        var peers = [rollcall(in: folder)]
        let table = try benchmark.makeStore("\(BenchmarkOptions.peers)/postgres")
        if let postgres = try PostgresPeer(in: table) {
            peers.append(self.postgres(postgres))
        } else {
            omissions.append("PostgreSQL: apt-get install \(PostgresPeer.package)")
        }
        if let program {
            peers.append(pushgateway(program, store: gatewayStore))
        } else {
            omissions.append("Pushgateway: apt-get install \(Pushgateway.name)")
        }
        var figures = peers.map { PeerFigures(title: $0.title) }
        var servers: [ServerProcess] = []
        for peer in peers { servers.append(try peer.start()) }
        var sources = peers.map { _ in BatchSource(people: people) }
        for index in peers.indices {
            try peers[index].fill(&sources[index], servers[index])
            say("everybody was heard once by \(peers[index].title)")
        }
        for index in peers.indices {
            try pace(peers[index], servers[index], &sources[index], &figures[index])
        }
        try load(peers, servers, &sources, &figures)
        for index in peers.indices {
            let (peer, server) = (peers[index], servers[index])
            try weigh(peer, server, &sources[index], &figures[index])
            try look(peer, server, &figures[index])
            figures[index].detection = try peer.detect?(server)
        }
        if let program, let place = peers.firstIndex(where: { $0.form == .push }) {
            if options.isWanted("prometheus"),
                let result = try prometheus(
                    in: folder, from: Pushgateway(servers[place]), &sources[place])
            {
                figures.append(result)
            }
            try crash(peers[place], &servers[place], &sources[place], &figures[place])
            if options.isWanted("check") {
                try check(
                    program, store: gatewayStore, peers[place], servers[place], &sources[place],
                    &figures)
            }
            try servers[place].stop()
        }
        for index in peers.indices where peers[index].form != .push {
            try crash(peers[index], &servers[index], &sources[index], &figures[index])
            try servers[index].stop()
        }
        return figures
    }

    // MARK: - Loads

    /// Everybody reports once a minute, evenly, whether it keeps up or not.
    private func pace(
        _ peer: Peer, _ server: ServerProcess, _ source: inout BatchSource,
        _ figures: inout PeerFigures
    ) throws(BenchmarkError) {
        let seconds = options.isShort ? 1 : 10
        try rotate(peer, server, &source)
        let workload = Workload(
            name: "paced", connections: 64, batchesPerRequest: 1, form: peer.form)
        var generator = try OverloadGenerator(workload, to: server)
        let before = server.tree
        let (time, written) = (before.processorTime, before.writtenBytes)
        let stats = try generator.run(
            &source, perSecond: Double(people) / 60, seconds: seconds)
        let after = server.tree
        let served = Double(max(1, stats.served))
        figures.paced = PeerFigures.Paced(
            perSecond: Double(stats.served) / Double(seconds),
            milliseconds50: median(
                stats.seconds.compactMap { $0.latencies.quantile(0.5)?.milliseconds }),
            milliseconds99: median(
                stats.seconds.compactMap { $0.latencies.quantile(0.99)?.milliseconds }))
        figures.pacedMicroseconds = (after.processorTime - time).microseconds / served
        if peer.form != .push { figures.pacedBytes = Double(after.writtenBytes - written) / served }
        say("\(peer.title): once a minute")
    }

    /// As fast as connections do, in turns.
    private func load(
        _ peers: [Peer], _ servers: [ServerProcess], _ sources: inout [BatchSource],
        _ figures: inout [PeerFigures]
    ) throws(BenchmarkError) {
        for connections in Self.connections {
            // A copy, since the closures may not hold what is only lent to us.
            var copies = sources
            let contestants = peers.indices.map { index in
                Benchmark.Contestant(peers[index].title) { () throws(BenchmarkError) in
                    let workload = Workload(
                        name: "peers-\(connections)", connections: connections,
                        batchesPerRequest: 1, form: peers[index].form)
                    return try benchmark.load(workload, &copies[index], servers[index])
                }
            }
            let result = try benchmark.inTurns(
                .single(connections, name: "\(grouped(Double(people))) people, \(connections)"),
                contestants)
            sources = copies
            for (index, stats) in ([result.product] + result.references).enumerated() {
                figures[index].loads.append(.init(connections: connections, stats: stats))
            }
        }
    }

    /// Everybody is heard once after a checkpoint, so that what it makes dearer (pages that are logged
    /// whole, new files of the log) is over: it comes every few minutes, and would stand for all.
    private func rotate(
        _ peer: Peer, _ server: ServerProcess, _ source: inout BatchSource
    ) throws(BenchmarkError) {
        try peer.checkpoint(server)
        let workload = Workload(
            name: "rotation", connections: 64, batchesPerRequest: 1, form: peer.form)
        var generator = try LoadGenerator(workload, to: server)
        try generator.run(&source, requests: people / workload.connections + 1)
    }

    /// What is written for a known number of batches.
    private func weigh(
        _ peer: Peer, _ server: ServerProcess, _ source: inout BatchSource,
        _ figures: inout PeerFigures
    ) throws(BenchmarkError) {
        let requests = options.isShort ? Self.weighed.short : Self.weighed.full
        let workload = Workload(
            name: "weighed", connections: 64, batchesPerRequest: 1, form: peer.form)
        try rotate(peer, server, &source)
        var generator = try LoadGenerator(workload, to: server)
        let before = server.tree.writtenBytes
        try generator.run(&source, requests: requests)
        // Its connections are still there.
        withExtendedLifetime(generator) { figures.memoryBytes = server.tree.memoryBytes }
        let written = server.tree.writtenBytes - before
        if peer.form != .push {
            figures.writtenBytes = Double(written) / Double(requests * workload.connections)
        }
    }

    private func look(
        _ peer: Peer, _ server: ServerProcess, _ figures: inout PeerFigures
    ) throws(BenchmarkError) {
        var spans: [Double] = []
        var evaluations: [Double] = []
        for _ in 0..<(options.isShort ? Self.scrapes.short : Self.scrapes.full) {
            let (span, bytes) = try peer.scrape(server)
            spans.append(span.milliseconds)
            figures.scrapeBytes = bytes
            if let evaluate = peer.evaluate {
                evaluations.append(try evaluate(server).milliseconds)
            }
            usleep(20_000)
        }
        figures.scrapeMilliseconds = median(spans)
        figures.evaluationMilliseconds = median(evaluations)
    }

    /// Kills all its processes as soon as the last of some batches is acknowledged, and looks for
    /// them after a start.
    private func crash(
        _ peer: Peer, _ server: inout ServerProcess, _ source: inout BatchSource,
        _ figures: inout PeerFigures
    ) throws(BenchmarkError) {
        let requests = options.isShort ? Self.beforeKill.short : Self.beforeKill.full
        let workload = Workload(
            name: "kill", connections: 64, batchesPerRequest: 1, form: peer.form)
        usleep(5000)
        let instant = wallNow()
        let before = try peer.taken(server, instant)
        do {
            var generator = try LoadGenerator(workload, to: server)
            try generator.run(&source, requests: requests)
            server.crash()
        }
        let killed = Nanoseconds.now()
        server = try peer.start()
        let found = try peer.taken(server, instant) - before
        figures.restartSeconds = (Nanoseconds.now() - killed).seconds
        figures.acknowledged = requests * workload.connections
        figures.lost = requests * workload.connections - found
        say(
            "\(peer.title): \(found) of \(requests * workload.connections) were there after kill -9"
        )
    }

    // MARK: - Pushgateway and Prometheus

    /// Pushgateway as it is by default, with its check: it answers when it has looked at all groups.
    private mutating func check(
        _ program: Program, store: String, _ peer: Peer, _ server: ServerProcess,
        _ source: inout BatchSource, _ all: inout [PeerFigures]
    ) throws(BenchmarkError) {
        // What it had is gone; what it has when it is told to end is written.
        try peer.fill(&source, server)
        try server.stop()
        let gateway = try Pushgateway(program, store: store, isChecking: true)
        var figures = PeerFigures(title: "… with its check")
        let workload = Workload(
            name: "checked", connections: 4, batchesPerRequest: 1, form: .push)
        do throws(BenchmarkError) {
            var generator = try LoadGenerator(workload, to: gateway.server)
            var stats = Stats(title: figures.title)
            stats.runs = [
                try generator.run(
                    &source, warmUp: options.warmUp,
                    measured: .milliseconds(options.isShort ? 2000 : 10_000))
            ]
            figures.loads = [.init(connections: workload.connections, stats: stats)]
            figures.memoryBytes = gateway.server.tree.memoryBytes
            all.append(figures)
        } catch {
            omissions.append(
                "Pushgateway with its check, \(grouped(Double(people))) people: \(error)")
        }
        try gateway.server.stop()
    }

    /// What Prometheus makes of what a Pushgateway holds, and what it costs both.
    private mutating func prometheus(
        in folder: String, from gateway: Pushgateway, _ source: inout BatchSource
    ) throws(BenchmarkError) -> PeerFigures? {
        guard let program = Program(named: PrometheusPeer.name) else {
            omissions.append("Prometheus: apt-get install \(PrometheusPeer.name)")
            return nil
        }
        let interval = interval
        // The others must not be silent for 180 s; a short run is over before.
        if !options.isShort { try gateway.fill(&source) }
        // People are due within one interval, since when it evaluates does not depend on them, and
        // not before it has scraped everybody: it begins within an interval, 5 s after its start.
        // 100 000 people take up to 10 s, where it gives up.
        let patience: Milliseconds = .seconds(people > BatchSource.responders ? 29 : 9)
        let first = wallNow() + patience + interval + interval
        var detection = Detection(silentPeople, from: first, within: interval)
        try PrometheusPeer.push(detection, to: gateway)
        let prometheus = try PrometheusPeer(
            program, folder: folder, scraping: gateway.server.port, each: interval)
        say("Prometheus looks for \(silentPeople) silent people")
        let start = first - interval - .seconds(1)
        while wallNow() < start { usleep(50_000) }
        guard try prometheus.hasScraped(people) else {
            omissions.append("Prometheus, \(people) people: it did not scrape everybody in time")
            try prometheus.server.stop()
            return nil
        }
        let before = [prometheus.server.tree, gateway.server.tree].map(\.processorTime)
        while wallNow() < start + interval { usleep(10_000) }
        let after = [prometheus.server.tree, gateway.server.tree].map(\.processorTime)
        let reports = Double(people) * Double(interval.count) / 60_000
        let cost = (after[0] - before[0]).count + (after[1] - before[1]).count
        var figures = PeerFigures(title: "+ Prometheus")
        figures.pacedMicroseconds = Double(cost) / 1000 / reports
        try detection.watch(pause: .milliseconds(20)) { () throws(BenchmarkError) in
            try prometheus.firing()
        }
        figures.detection = detection
        figures.memoryBytes = prometheus.server.tree.memoryBytes
        figures.scrapeMilliseconds = try prometheus.scrapeMilliseconds()
        figures.evaluationMilliseconds = try prometheus.evaluationMilliseconds()
        try prometheus.server.stop()
        return figures
    }

    /// How often Prometheus scrapes and evaluates. Its default is a minute; 15 s is what its own
    /// first example has, and most who use it.
    var interval: Milliseconds { .seconds(options.isShort ? 5 : 15) }

    /// People who fall silent one after the other, to be seen by each.
    var silentPeople: Int { options.isShort ? 10 : 100 }

    private func say(_ text: String) { tell("\(grouped(Double(people))) people: \(text)") }
}
