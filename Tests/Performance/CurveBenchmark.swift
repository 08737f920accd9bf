import Glibc
import RollcallCore

/// How far each thing grows, and how long is looked at each value of it.
struct CurveScale {
    var people = [10_000, 40_000, 160_000, 640_000, 1_000_000]
    var regions = [32, 128, 512, 2048, 8192, 20_000]
    /// People in all regions together.
    var peopleOfRegions = 40_000
    var connections = [16, 60, 240, 480]
    var gaps = [0, 1600, 6400, 25_000, 100_000]
    var rows = [80_000, 320_000, 1_250_000, 5_000_000, 20_000_000]
    /// People of the curves in which others stand still.
    var others = 20_000
    /// Loads at each value, of which the medians are shown, and how long each is.
    var runs = 5
    var span = Nanoseconds.milliseconds(1000)
    var questions = 15

    /// So long that the figures mean something.
    static let full = CurveScale()
    /// Only proves that everything runs.
    static let short = CurveScale(
        people: [500, 1000], regions: [8, 32], peopleOfRegions: 1000, connections: [16, 32],
        gaps: [0, 50], rows: [2000, 4000], others: 1000, runs: 1, span: .milliseconds(100),
        questions: 3)
}

/// What things cost while one of them grows and the rest stands still.
struct CurveBenchmark {
    /// Connections that post at once where connections are what grows.
    private static let busy = 16
    /// Batches of a body, each of which is a turn where one connection posts.
    private static let batchesPerBody = 100
    private static let patience = Nanoseconds.milliseconds(600_000)
    private static let settings = """
        liveness:
          on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}
          on_mission: {expected: 1s, degraded_after: 2s, offline_after: 3s}
        storage: {size: 64GiB}

        """
    private static let everywhere = [
        CurveLine("CPU of the server, µs a batch", "cpu_us_per_batch"),
        CurveLine("a turn of 100 batches, ms", "turn_ms", decimals: 3),
        CurveLine("GET /metrics, ms", "scrape_ms"),
    ]

    let scale: CurveScale
    /// Only curves whose name contains this.
    let only: String
    let folder: String
    let product: String

    /// Measures every curve.
    func run() throws(BenchmarkError) -> [Curve] {
        var curves: [Curve] = []
        for measure in [people, regions, connections, gaps, journal] {
            if let curve = try measure() { curves.append(curve) }
        }
        return curves
    }

    // MARK: - The curves

    private func people() throws(BenchmarkError) -> Curve? {
        let memory = CurveLine("memory, bytes a person", "bytes_per_person", decimals: 0)
        let sorted = [
            CurveLine("a sorted page of 100, ms", "sorted_page_ms", isByPiece: true),
            CurveLine("the longest wait of others meanwhile, ms", "sorted_page_beside_ms"),
        ]
        guard var curve = curve("people", "people", Self.everywhere + [memory] + sorted) else {
            return nil
        }
        let server = try start()
        defer { removeStore() }
        usleep(1_000_000)
        let idle = server.residentBytes ?? 0
        var (enrolled, round) = (0, 0)
        for value in scale.people {
            try enrol(enrolled..<value, round: round, at: server)
            (enrolled, round) = (value, round + 1)
            usleep(1_000_000)
            let memory = Double((server.residentBytes ?? 0) - idle) / Double(value)
            let costs = try measure(server, 0..<value, round: &round)
            // Those who come next begin with the round that the others sent last.
            round -= 1
            let pages = try SortedPages(server, questions: scale.questions)
            note(&curve, value, costs + [memory, pages.page, pages.beside])
        }
        server.crash()
        return curve
    }

    private func regions() throws(BenchmarkError) -> Curve? {
        let lines = [
            Self.everywhere[0], Self.everywhere[1],
            CurveLine("GET /metrics, ms", "scrape_ms", isByPiece: true),
            CurveLine("  by gzip, ms", "scrape_gzip_ms", isByPiece: true),
            CurveLine("  kB", "scrape_kb", decimals: 1, isByPiece: true),
            CurveLine("  kB by gzip", "scrape_gzip_kb", decimals: 1, isByPiece: true),
            CurveLine("GET /v1/regions, ms", "regions_ms", isByPiece: true),
            CurveLine("memory, MB", "resident_mb", decimals: 1),
        ]
        guard var curve = curve("regions", "regions", lines) else { return nil }
        for value in scale.regions {
            let server = try start()
            defer { removeStore() }
            let batch = FleetBatch.onDuty(regions: value)
            try enrol(0..<scale.peopleOfRegions, batch, at: server)
            var round = 1
            var costs = try measure(server, 0..<scale.peopleOfRegions, batch, round: &round)
            costs += try packedScrape(server)
            costs.append(try ask("/v1/regions", server))
            note(&curve, value, costs + [residentMegabytes(server)])
            server.crash()
        }
        return curve
    }

    private func connections() throws(BenchmarkError) -> Curve? {
        let lines = [
            CurveLine("CPU of the server, µs a batch", "cpu_us_per_batch"),
            CurveLine("a turn, ms", "turn_ms", decimals: 3),
            CurveLine("GET /metrics, ms", "scrape_ms"),
            CurveLine("memory, MB", "resident_mb", decimals: 1),
        ]
        let title = "connections, \(Self.busy) of them busy"
        guard var curve = curve(title, "connections", lines) else { return nil }
        let server = try start()
        defer { removeStore() }
        try enrol(0..<scale.others, at: server)
        let rounds = FleetRounds(threads: Self.busy)
        for value in scale.connections {
            var idle: [Caller] = []
            for _ in Self.busy..<max(Self.busy, value) {
                let caller = try Caller(port: server.port)
                _ = try caller.ask("GET", "/-/healthy")
                idle.append(caller)
            }
            var runs: [CurveStats] = []
            for _ in 0..<scale.runs { runs.append(try loadOverAll(server, rounds)) }
            let scrape = try ask("/metrics", server)
            note(
                &curve, value,
                [
                    middle(runs) { $0.processor }, middle(runs) { $0.turn }, scrape,
                    residentMegabytes(server),
                ])
            withExtendedLifetime(idle) {}
        }
        server.crash()
        return curve
    }

    private func gaps() throws(BenchmarkError) -> Curve? {
        let page = CurveLine("GET /v1/gaps, ms", "gaps_ms")
        guard var curve = curve("open gaps", "gaps", Self.everywhere + [page]) else { return nil }
        let server = try start()
        defer { removeStore() }
        try enrol(0..<scale.others, at: server)
        var gone = 0
        var round = 1
        for value in scale.gaps {
            let people = (scale.others + gone)..<(scale.others + value)
            try enrol(people, .onMission, at: server)
            try waitUntilOffline(value, at: server)
            gone = value
            // So that what a mass of them leaves to be done is done.
            usleep(1_000_000)
            var costs = try measure(server, 0..<scale.others, round: &round)
            costs.append(try ask("/v1/gaps", server))
            note(&curve, value, costs)
        }
        server.crash()
        return curve
    }

    private func journal() throws(BenchmarkError) -> Curve? {
        let lines = [
            CurveLine("memory, MB", "resident_mb", decimals: 1),
            CurveLine("stop and start, s", "restart_s"),
        ]
        guard var curve = curve("journal, rows", "journal_rows", Self.everywhere + lines) else {
            return nil
        }
        var server = try start()
        defer { removeStore() }
        try enrol(0..<scale.others, at: server)
        var round = 1
        for value in scale.rows {
            while try rows(server) < value {
                let heard = wallNow()
                _ = try FleetBulk.post(0..<scale.others, .onDuty, round: round, at: server) { _ in
                    heard
                }
                round += 1
            }
            var costs = try measure(server, 0..<scale.others, round: &round)
            costs.append(residentMegabytes(server))
            let begun = Nanoseconds.now()
            try server.stop(patience: Self.patience)
            server = try start()
            note(&curve, value, costs + [(Nanoseconds.now() - begun).seconds])
        }
        server.crash()
        return curve
    }

    // MARK: - One value

    /// Costs of a batch, of a turn, and of a scrape.
    private func measure(
        _ server: ServerProcess, _ people: Range<Int>, _ batch: FleetBatch = .onDuty,
        round: inout Int
    ) throws(BenchmarkError) -> [Double] {
        var load = try CurveLoad(people, batch, firstRound: round, to: server.port)
        var runs: [CurveStats] = []
        for _ in 0..<scale.runs {
            runs.append(
                try CurveStats(server) { () throws(BenchmarkError) in
                    let before = load.batches
                    try load.run(
                        until: .now() + scale.span, batchesPerBody: Self.batchesPerBody)
                    return load.batches - before
                })
        }
        let scrape = try ask("/metrics", server)
        round = try load.finishRound()
        return [middle(runs) { $0.processor }, middle(runs) { $0.turn }, scrape]
    }

    /// Single batches over all busy connections at once, each from people of its own.
    private func loadOverAll(
        _ server: ServerProcess, _ rounds: FleetRounds
    ) throws(BenchmarkError) -> CurveStats {
        let (span, port, each) = (scale.span, server.port, scale.others / Self.busy)
        return try CurveStats(server) { () throws(BenchmarkError) in
            let before = rounds.batches
            let end = Nanoseconds.now() + span
            var threads: [LoadThread] = []
            for index in 0..<Self.busy {
                threads.append(
                    try LoadThread { () throws(BenchmarkError) in
                        let people = (index * each)..<((index + 1) * each)
                        var load = try CurveLoad(
                            people, firstRound: rounds.next(of: index), to: port)
                        try load.run(until: end, batchesPerBody: 1)
                        let next = try load.finishRound(batchesPerBody: 1)
                        rounds.end(of: index, next, batches: load.batches)
                    })
            }
            for thread in threads { try thread.join() }
            return rounds.batches - before
        }
    }

    /// The median of what a question takes, milliseconds.
    private func ask(_ path: String, _ server: ServerProcess) throws(BenchmarkError) -> Double {
        let caller = try Caller(port: server.port)
        var spans: [Double] = []
        for _ in 0..<scale.questions {
            spans.append(try caller.ask("GET", path).span.milliseconds)
            usleep(10_000)
        }
        return median(spans) ?? 0
    }

    /// The median of what a scrape by gzip takes (Q9), milliseconds, and its kB plain and by gzip.
    private func packedScrape(_ server: ServerProcess) throws(BenchmarkError) -> [Double] {
        let caller = try Caller(port: server.port)
        let plain = try caller.ask("GET", "/metrics").body.count
        var (spans, packed) = ([Double](), 0)
        for _ in 0..<scale.questions {
            let answer = try caller.askPacked("/metrics")
            spans.append(answer.span.milliseconds)
            packed = answer.body.count
            usleep(10_000)
        }
        return [median(spans) ?? 0, Double(plain) / 1e3, Double(packed) / 1e3]
    }

    private func rows(_ server: ServerProcess) throws(BenchmarkError) -> Int {
        let reading = try MetricsReading(try Caller(port: server.port))
        return Int(reading.value("rollcall_journal_events_total") ?? 0)
    }

    private func waitUntilOffline(
        _ count: Int, at server: ServerProcess
    ) throws(BenchmarkError) {
        let caller = try Caller(port: server.port)
        let deadline = Nanoseconds.now() + Self.patience
        let name = "responders_by_status{status=\"OFFLINE\"}"
        while try MetricsReading(caller).value(name) != Double(count) {
            guard Nanoseconds.now() < deadline else {
                throw .answer("\(count) people are not OFFLINE in time")
            }
            usleep(100_000)
        }
    }

    private func middle(_ runs: [CurveStats], _ figure: (CurveStats) -> Double) -> Double {
        median(runs.map(figure)) ?? 0
    }

    // MARK: - Around

    private func enrol(
        _ people: Range<Int>, _ batch: FleetBatch = .onDuty, round: Int = 0,
        at server: ServerProcess
    ) throws(BenchmarkError) {
        let heard = wallNow()
        _ = try FleetBulk.post(people, batch, round: round, at: server) { _ in heard }
    }

    private func curve(_ name: String, _ key: String, _ lines: [CurveLine]) -> Curve? {
        only.isEmpty || name.contains(only) ? Curve(name, key, lines) : nil
    }

    private func note(_ curve: inout Curve, _ value: Int, _ costs: [Double]) {
        curve.add(value, costs)
        let told = zip(curve.lines, costs).map { "\($0.text) \(decimal($1, $0.decimals))" }
        tell("\(grouped(Double(value))) \(curve.name): " + told.joined(separator: ", "))
    }

    private func residentMegabytes(_ server: ServerProcess) -> Double {
        Double(server.residentBytes ?? 0) / 1e6
    }

    private func start() throws(BenchmarkError) -> ServerProcess {
        try writeFile(Self.settings, to: "\(folder)/settings.yml")
        return try ServerProcess(rollcall: product, in: folder, patience: Self.patience)
    }

    private var storePath: String { "\(folder)/rollcall.db" }

    private func removeStore() {
        for ending in ["", "-wal", "-shm", ".lock", ".epoch"] { unlink(storePath + ending) }
    }
}
