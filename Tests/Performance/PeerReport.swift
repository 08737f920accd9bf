/// The same fleets in Rollcall and in its peers, as tables.
struct PeerReport {
    private struct Row {
        let text: String
        let key: String
        let decimals: Int
        let value: (PeerFigures) -> Double?

        init(
            _ text: String, _ key: String, _ decimals: Int = 0,
            _ value: @escaping (PeerFigures) -> Double?
        ) {
            self.text = text
            self.key = key
            self.decimals = decimals
            self.value = value
        }
    }

    let machine: Machine
    let options: BenchmarkOptions
    /// The share of the machine that others used meanwhile.
    var othersShare = 0.0
    /// The figures of each fleet, by how many people it has.
    var fleets: [(people: Int, figures: [PeerFigures])] = []
    /// Whatever was left out, and why.
    var omissions: [String] = []

    /// A report without figures yet.
    init(machine: Machine, options: BenchmarkOptions) {
        self.machine = machine
        self.options = options
    }

    private static func load(
        _ connections: Int, _ figures: PeerFigures
    ) -> Stats? {
        figures.loads.first { $0.connections == connections }?.stats
    }

    private static var rows: [Row] {
        [
            Row("once a minute each, acknowledged/s", "paced_per_second") {
                $0.paced?.perSecond
            },
            Row("  CPU µs a batch", "paced_cpu_us") { $0.pacedMicroseconds },
            Row("  p50 ms", "paced_p50_ms", 2) { $0.paced?.milliseconds50 },
            Row("  p99 ms", "paced_p99_ms", 2) { $0.paced?.milliseconds99 },
            Row("  written, bytes a batch", "paced_written_bytes") { $0.pacedBytes },
        ] + [16, 64, 4].flatMap(loadRows) + [
            Row("written at full speed, bytes a batch", "written_bytes") { $0.writtenBytes },
            Row("memory, MB", "memory_mb", 1) { $0.memoryBytes.map { Double($0) / 1e6 } },
            Row("a scrape, ms", "scrape_ms", 1) { $0.scrapeMilliseconds },
            Row("  kB", "scrape_kb", 1) { $0.scrapeBytes.map { Double($0) / 1e3 } },
            Row("who is silent, ms", "evaluation_ms", 1) { $0.evaluationMilliseconds },
            Row("silence seen late by, p50 ms", "late_p50_ms", 0) {
                $0.detection?.milliseconds(0.5)
            },
            Row("  p99 ms", "late_p99_ms", 0) { $0.detection?.milliseconds(0.99) },
            Row("acknowledged just before kill -9", "acknowledged") {
                $0.acknowledged.map { Double($0) }
            },
            Row("  lost", "lost") { $0.lost.map { Double($0) } },
            Row("  answers again after, s", "restart_s", 2) { $0.restartSeconds },
        ]
    }

    private static func loadRows(_ connections: Int) -> [Row] {
        [
            Row("\(connections) connections, acknowledged/s", "per_second_\(connections)") {
                load(connections, $0)?.batchesPerSecond
            },
            Row("  CPU µs a batch", "cpu_us_\(connections)", 0) {
                load(connections, $0)?.microsecondsPerBatch
            },
            Row("  p99 ms", "p99_ms_\(connections)", 2) { load(connections, $0)?.milliseconds99 },
        ]
    }

    private static let notes = [
        "PostgreSQL: a row for each, replaced by a prepared upsert over TCP; a scrape is a count by "
            + "region, duty state and lateness; somebody asks once a second who is silent. It keeps "
            + "the last state and nothing that was before, tells nobody, and knows no cause.",
        "Pushgateway: a group for each, without its check, so that it answers before it has looked; "
            + "what it has is on the disk every 5 minutes. It knows nobody who is silent, and forgets "
            + "nobody. With its check, its default, it looks at all groups at each push: over 4 "
            + "connections, since more would only wait.",
        "+ Prometheus: what it costs on top of that, Pushgateway's answers to it included, to scrape "
            + "and to evaluate who is silent and the share by region every ",
        "Rollcall: who is silent is GET /v1/gaps; it is known at the deadline without a question. "
            + "It answers what it has a route for, and no SQL; its fields are its own.",
        "CPU, memory and written bytes are of all processes of a server; memory that they share counts "
            + "once, and is read with 64 connections open. Written is what files got between checkpoints.",
    ]

    /// For people.
    var table: String {
        var lines = machine.lines(othersShare: othersShare)
        lines.append(
            "medians of \(options.runs) run\(options.runs == 1 ? "" : "s") of "
                + "\(decimal(options.measured.seconds, 1)) s, in turns")
        for (people, figures) in fleets {
            let rows = Self.rows.filter { row in figures.contains { row.value($0) != nil } }
            lines += ["", "\(grouped(Double(people))) people"]
            lines += aligned(
                [[""] + figures.map(\.title)]
                    + rows.map { row in
                        [row.text]
                            + figures.map { figures in
                                row.value(figures).map {
                                    row.decimals == 0 ? grouped($0) : decimal($0, row.decimals)
                                } ?? ""
                            }
                    }, leading: 1)
        }
        lines.append("")
        lines += Self.notes.map { note in
            note.hasSuffix("every ") ? note + "\(options.isShort ? 5 : 15) s." : note
        }
        lines += omissions.map { "left out: \($0)" }
        if options.isShort { lines.append("--short: proves that everything runs, no more") }
        return lines.joined(separator: "\n")
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            (
                "fleets",
                .list(
                    fleets.map { fleet in
                        .object([
                            ("people", .number(Double(fleet.people))),
                            (
                                "servers",
                                .list(
                                    fleet.figures.map { figures in
                                        .object(
                                            [("server", .text(figures.title))]
                                                + Self.rows.map { row in
                                                    (
                                                        row.key,
                                                        row.value(figures).map { .number($0) }
                                                            ?? .null
                                                    )
                                                })
                                    })
                            ),
                        ])
                    })
            ),
            ("left_out", .list(omissions.map { .text($0) })),
        ])
    }
}
