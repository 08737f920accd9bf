import Glibc
import RollcallCore

/// What a fleet costs that is kept in Pushgateway and Prometheus, beside Rollcall.
struct PeerResult {
    /// Whose it is.
    let title: String
    /// Milliseconds of a scrape of the whole fleet, the median.
    var scrapeMilliseconds: Double?
    /// Bytes of it.
    var scrapeBytes: Int?
    /// Resident memory with the fleet, bytes.
    var residentBytes: Int?
    /// How late those were seen who had fallen silent.
    var detection: Detection?
}

extension Benchmark {
    /// Everything that is compared with the peers that are installed.
    func measurePeers(_ report: inout BenchmarkReport) throws(BenchmarkError) {
        guard options.isWanted(BenchmarkOptions.peers), !options.isProductOnly else { return }
        guard let program = Program(named: Pushgateway.name) else {
            report.omissions.append("peers: apt-get install \(Pushgateway.name)")
            return
        }
        let folder = try makeStore(BenchmarkOptions.peers)
        defer { removeStore(BenchmarkOptions.peers) }
        var source = BatchSource()
        let (first, second) = try fillStores(program, in: folder, &source)
        let loose = try Pushgateway(program, store: first, isChecking: false)
        let checking = try Pushgateway(program, store: second, isChecking: true)
        let server = try startPeer(in: folder)
        try enrol(&source, at: server)

        report.results.append(try comparePushes(server, loose, checking, &source))
        var rollcall = try look(at: server, "rollcall")
        var gateway = try look(at: loose.server, "Pushgateway")
        try checking.server.stop()
        rollcall.detection = try detect(at: server)
        try server.stop()
        var results = [rollcall, gateway]
        if let program = Program(named: PrometheusPeer.name) {
            if let result = try detect(with: program, in: folder, from: loose) {
                results.append(result)
            } else {
                report.omissions.append("Prometheus: it did not scrape everybody in time")
            }
        } else {
            report.omissions.append("Prometheus: apt-get install \(PrometheusPeer.name)")
        }
        gateway.residentBytes = loose.server.residentBytes
        results[1] = gateway
        try loose.server.stop()
        report.parts.append(.peers(results, interval: interval.count / 1000))
    }

    /// Two stores with a group for everybody, filled without the check: with it, filling one would
    /// take a quarter of an hour and more.
    private func fillStores(
        _ program: Program, in folder: String, _ source: inout BatchSource
    ) throws(BenchmarkError) -> (String, String) {
        let stores = ("\(folder)/loose.data", "\(folder)/checking.data")
        let gateway = try Pushgateway(program, store: stores.0, isChecking: false)
        try gateway.fill(&source)
        try gateway.server.stop()
        // It writes a new file each time and gives it the name, so both keep their own.
        guard link(stores.0, stores.1) == 0 else {
            throw .system(call: "link \(stores.0)", errno: errno)
        }
        tell("peers: \(grouped(Double(BatchSource.responders))) groups are in Pushgateway")
        return stores
    }

    /// Thresholds that a benchmark can wait for, for those on a mission; the others never fall
    /// silent meanwhile.
    private static let settings = """
        liveness:
          on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}
          on_mission: {expected: 1s, degraded_after: 2s, offline_after: 60s}

        """
    private static let degradedAfter = Milliseconds.seconds(2)

    private func startPeer(in folder: String) throws(BenchmarkError) -> ServerProcess {
        let path = "\(folder)/settings.yml"
        try writeFile(Self.settings, to: path)
        return try startProduct(
            store: BenchmarkOptions.peers, arguments: ["--config.file", path])
    }

    /// One batch against one push, in turns.
    private func comparePushes(
        _ server: ServerProcess, _ loose: Pushgateway, _ checking: Pushgateway,
        _ source: inout BatchSource
    ) throws(BenchmarkError) -> WorkloadResult {
        let workload = Workload.single(64, name: "peers-64")
        let push = Workload(name: "push-64", connections: 64, batchesPerRequest: 1, form: .push)
        // Its check costs so much that more connections would only wait longer.
        let checked = Workload(name: "push-4", connections: 4, batchesPerRequest: 1, form: .push)
        // A copy, since the closures may not hold what is only lent to us.
        var copy = source
        var result = try inTurns(
            workload,
            [
                Contestant("rollcall") { () throws(BenchmarkError) in
                    try load(workload, &copy, server)
                },
                Contestant(loose.title) { () throws(BenchmarkError) in
                    try load(push, &copy, loose.server)
                },
                Contestant(checking.title) { () throws(BenchmarkError) in
                    var generator = try LoadGenerator(checked, to: checking.server)
                    return try generator.run(
                        &copy, warmUp: options.warmUp,
                        measured: max(options.measured, .milliseconds(2000)))
                },
            ])
        source = copy
        result.product.residentBytes = server.residentBytes
        result.references[0].residentBytes = loose.server.residentBytes
        result.references[1].residentBytes = checking.server.residentBytes
        return result
    }

    private func look(
        at server: ServerProcess, _ title: String
    ) throws(BenchmarkError) -> PeerResult {
        var result = PeerResult(title: title, residentBytes: server.residentBytes)
        var spans: [Double] = []
        for _ in 0..<(options.isShort ? 3 : 20) {
            let page = try Page(port: server.port, path: "/metrics")
            guard page.status == 200 else { throw .answer("\(title): a scrape: \(page.status)") }
            spans.append(page.span.milliseconds)
            result.scrapeBytes = page.body.count
            usleep(20_000)
        }
        result.scrapeMilliseconds = median(spans)
        return result
    }

    // MARK: - Detection

    /// How often Prometheus scrapes and evaluates. Its default is a minute; 15 s is what its own
    /// first example has, and most who use it.
    private var interval: Milliseconds { .seconds(options.isShort ? 5 : 15) }

    private var silentPeople: Int { options.isShort ? 10 : 100 }

    /// People who report once, one after the other within a second, and are seen to be late by
    /// `GET /v1/status`.
    private func detect(at server: ServerProcess) throws(BenchmarkError) -> Detection {
        let caller = try Caller(port: server.port)
        let begun = Nanoseconds.now()
        var deadlines: [Timestamp] = []
        for number in 0..<silentPeople {
            sleep(until: begun + .milliseconds(Int64(1000 * number / silentPeople)))
            let heard = wallNow()
            let body =
                #"{"responder_id":"silent-\#(number)","duty_state":"ON_MISSION","#
                + #""received_at":\#(heard.milliseconds)}"#
            let head =
                "POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            let posted = try caller.ask(Array((head + body).utf8))
            guard posted.status == 200, posted.number(after: "\"accepted\":") == 1 else {
                throw .answer("1 accepted expected, got \(posted.status): \(posted.text)")
            }
            deadlines.append(heard + Self.degradedAfter)
        }
        var detection = Detection(deadlines: deadlines)
        try detection.watch(pause: .milliseconds(1)) { () throws(BenchmarkError) in
            try caller.ask("GET", "/v1/status").number(after: "\"DEGRADED\":") ?? 0
        }
        return detection
    }

    /// People who were last seen nearly 180 s ago, by what Prometheus says.
    ///
    /// They are due within one interval, since when it evaluates does not depend on them, and not
    /// before it has scraped everybody once: it begins within an interval, 5 s after its start. Nil
    /// if it has not even then: a machine that is busy is no error.
    private func detect(
        with program: Program, in folder: String, from gateway: Pushgateway
    ) throws(BenchmarkError) -> PeerResult? {
        var source = BatchSource()
        // The others must not be silent for 180 s; a short run is over before.
        if !options.isShort { try gateway.fill(&source) }
        let first = wallNow() + interval + .seconds(9)
        var detection = Detection(silentPeople, from: first, within: interval)
        try PrometheusPeer.push(detection, to: gateway)
        let prometheus = try PrometheusPeer(
            program, folder: folder, scraping: gateway.server.port, each: interval)
        tell("peers: Prometheus looks for \(silentPeople) silent people")
        while wallNow() < first - .seconds(1) { usleep(50_000) }
        guard try prometheus.hasScrapedAll() else {
            try prometheus.server.stop()
            return nil
        }
        try detection.watch(pause: .milliseconds(20)) { () throws(BenchmarkError) in
            try prometheus.firing()
        }
        var result = PeerResult(title: PrometheusPeer.title)
        result.residentBytes = prometheus.server.residentBytes
        result.detection = detection
        try prometheus.server.stop()
        return result
    }
}

extension ReportPart {
    /// What the fleet costs, and when silence is seen, here and there.
    static func peers(_ results: [PeerResult], interval: Int64) -> ReportPart {
        let rows: [(text: String, key: String, value: (PeerResult) -> Double?)] = [
            ("GET /metrics, median ms", "scrape_ms", { $0.scrapeMilliseconds }),
            ("  kB", "scrape_kb", { $0.scrapeBytes.map { Double($0) / 1e3 } }),
            ("resident memory, MB", "resident_mb", { $0.residentBytes.map { Double($0) / 1e6 } }),
            ("silence seen late by, p50 ms", "late_p50_ms", { $0.detection?.milliseconds(0.5) }),
            ("  p99 ms", "late_p99_ms", { $0.detection?.milliseconds(0.99) }),
            ("  longest ms", "late_max_ms", { $0.detection?.milliseconds(1) }),
        ]
        return ReportPart(
            key: "peers",
            title: "the same \(grouped(Double(BatchSource.responders))) people with the peers",
            rows: [[""] + results.map(\.title)]
                + rows.map { row in
                    [row.text] + results.map { row.value($0).map { decimal($0, 1) } ?? "" }
                },
            notes: [
                "Pushgateway has a group of two samples for each. Prometheus scrapes it and "
                    + "evaluates time() - last seen > 180 every \(interval) s.",
                "With its check, Pushgateway looks at all groups at each push: over 4 connections, "
                    + "since more would only wait. Without, it answers before it has looked.",
            ],
            json: .list(
                results.map { result in
                    .object(
                        [("server", .text(result.title))]
                            + rows.map { row in
                                (row.key, row.value(result).map { .number($0) } ?? .null)
                            })
                }))
    }
}
