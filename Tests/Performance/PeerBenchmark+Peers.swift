import Glibc
import RollcallCore

/// Who is compared, each with its durable default settings.
extension PeerBenchmark {
    /// Thresholds that a benchmark can wait for, for those on a mission; the others never fall
    /// silent meanwhile.
    private static let settings = """
        liveness:
          on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}
          on_mission: {expected: 1s, degraded_after: 2s, offline_after: 60s}

        """
    private static let degradedAfter = Milliseconds.seconds(2)
    private static let taken = "rollcall_updates_total{outcome=\"accepted\"}"

    /// Rollcall.
    func rollcall(in folder: String) -> Peer {
        let path = "\(folder)/settings.yml"
        let start = { () throws(BenchmarkError) in
            try writeFile(Self.settings, to: path)
            return try benchmark.startProduct(
                store: BenchmarkOptions.peers, arguments: ["--config.file", path])
        }
        return Peer(
            title: "rollcall", form: .object, start: start,
            fill: { (source, server) throws(BenchmarkError) in
                var generator = try LoadGenerator(.enrolment, to: server)
                try generator.run(
                    &source, requests: source.people / Workload.enrolment.batchesPerRequest)
            },
            scrape: { (server) throws(BenchmarkError) in
                let page = try Page(port: server.port, path: "/metrics")
                guard page.status == 200 else { throw .answer("a scrape: \(page.status)") }
                return (page.span, page.body.count)
            },
            evaluate: { (server) throws(BenchmarkError) in
                try Caller(port: server.port).ask("GET", "/v1/gaps").span
            },
            taken: { (server, _) throws(BenchmarkError) in
                let reading = try MetricsReading(try Caller(port: server.port))
                return Int(reading.value(Self.taken) ?? 0)
            },
            detect: { (server) throws(BenchmarkError) in try detect(at: server) })
    }

    /// People who report once, one after the other within a second, and are seen to be late by
    /// `GET /v1/status`.
    private func detect(at server: ServerProcess) throws(BenchmarkError) -> Detection {
        let caller = try Caller(port: server.port)
        var detection = try fallSilent { (number, heard) throws(BenchmarkError) in
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
        }
        try detection.watch(pause: .milliseconds(1)) { () throws(BenchmarkError) in
            try caller.ask("GET", "/v1/status").number(after: "\"DEGRADED\":") ?? 0
        }
        return detection
    }

    /// People of whom each is heard once, one after the other within a second.
    private func fallSilent(
        _ hear: (Int, Timestamp) throws(BenchmarkError) -> Void
    ) throws(BenchmarkError) -> Detection {
        let begun = Nanoseconds.now()
        var deadlines: [Timestamp] = []
        for number in 0..<silentPeople {
            sleep(until: begun + .milliseconds(Int64(1000 * number / silentPeople)))
            let heard = wallNow()
            try hear(number, heard)
            deadlines.append(heard + Self.degradedAfter)
        }
        return Detection(deadlines: deadlines)
    }

    /// A table of PostgreSQL.
    func postgres(_ postgres: PostgresPeer) -> Peer {
        let ask = { (question: String) throws(BenchmarkError) -> Nanoseconds in
            let caller = try PostgresCaller(port: postgres.port)
            return try PostgresPeer.time(question, caller)
        }
        return Peer(
            title: PostgresPeer.title, form: .row,
            start: { () throws(BenchmarkError) in try postgres.start() },
            fill: { (source, server) throws(BenchmarkError) in
                try PostgresCaller(port: postgres.port).ask(RowUpsert.table)
                let workload = Workload(
                    name: "rows", connections: 16, batchesPerRequest: 1, form: .row)
                var generator = try LoadGenerator(workload, to: server)
                try generator.run(&source, requests: source.people / workload.connections)
                // As it is done of itself after a while; nobody waits for it here.
                try PostgresCaller(port: postgres.port).ask("VACUUM ANALYZE responders")
            },
            checkpoint: { (_) throws(BenchmarkError) in
                try PostgresCaller(port: postgres.port).ask("CHECKPOINT")
            },
            scrape: { (_) throws(BenchmarkError) in (try ask(PostgresPeer.scrape), nil) },
            evaluate: { (_) throws(BenchmarkError) in try ask(PostgresPeer.evaluation) },
            taken: { (_, instant) throws(BenchmarkError) in
                try postgres.heard(since: instant)
            },
            detect: { (_) throws(BenchmarkError) in try detect(in: postgres) })
    }

    /// The same people, for whom somebody asks once a second.
    private func detect(in postgres: PostgresPeer) throws(BenchmarkError) -> Detection {
        let caller = try PostgresCaller(port: postgres.port)
        var detection = try fallSilent { (number, heard) throws(BenchmarkError) in
            let time = PostgresPeer.text(heard)
            try caller.ask(
                "INSERT INTO responders VALUES ('silent-\(number)', 'region-0', 'ON_MISSION', "
                    + "\(time), \(time), 1, '{}')")
        }
        try detection.watch(pause: .milliseconds(1000)) { () throws(BenchmarkError) in
            let rows = try caller.ask(
                """
                SELECT count(*) FROM responders WHERE duty_state = 'ON_MISSION'
                AND received_at < now() - interval '\(Self.degradedAfter.count) ms'
                """)
            return rows.first?.first.flatMap { Int($0) } ?? 0
        }
        return detection
    }

    /// Pushgateway, without the check that looks at all groups at each push.
    func pushgateway(_ program: Program, store: String) -> Peer {
        Peer(
            title: Pushgateway.looseTitle, form: .push,
            start: { () throws(BenchmarkError) in
                try Pushgateway(program, store: store, isChecking: false).server
            },
            fill: { (source, server) throws(BenchmarkError) in
                try Pushgateway(server).fill(&source)
            },
            scrape: { (server) throws(BenchmarkError) in
                let page = try Page(port: server.port, path: "/metrics")
                guard page.status == 200 else { throw .answer("a scrape: \(page.status)") }
                return (page.span, page.body.count)
            },
            taken: { (server, instant) throws(BenchmarkError) in
                let text = try Page(port: server.port, path: "/metrics").text
                let seconds = Double(instant.milliseconds) / 1000
                return text.split(separator: "\n").count { line in
                    guard line.hasPrefix(GroupPush.lastSeen + "{"),
                        let value = line.split(separator: " ").last, let seen = Double(value)
                    else { return false }
                    return seen >= seconds
                }
            })
    }
}
