extension Benchmark {
    /// The name of what is loaded and asked at once.
    static let mixed = "mixed-64"

    /// Single batches over 64 connections while somebody scrapes and others ask, beside the same
    /// load without them at the same server.
    func measureMixed() throws(BenchmarkError) -> (WorkloadResult, ReportPart) {
        let workload = Workload.single(64, name: Self.mixed)
        let server = try startProduct(store: workload.name)
        defer { removeStore(workload.name) }
        var source = BatchSource()
        try enrol(&source, at: server)
        let questioners = Self.questioners(at: server.port)
        var result = try inTurns(
            workload,
            [
                Contestant("rollcall, asked meanwhile") { () throws(BenchmarkError) in
                    var threads: [LoadThread] = []
                    for questioner in questioners { threads.append(try questioner.start()) }
                    let stats = try load(workload, &source, server)
                    for questioner in questioners { questioner.stop() }
                    for thread in threads { try thread.join() }
                    return stats
                },
                Contestant("rollcall, not asked") { () throws(BenchmarkError) in
                    try load(workload, &source, server)
                },
            ])
        result.product.residentBytes = server.residentBytes
        try server.stop()
        return (result, Self.part(questioners))
    }

    /// One Prometheus in a hurry, a wall of screens, and people who look somebody up.
    private static func questioners(at port: UInt16) -> [Questioner] {
        let people = stride(from: 0, to: BatchSource.responders, by: 97).map {
            "/v1/responders/\(GroupPush.name($0))"
        }
        return [
            Questioner("GET /metrics", ["/metrics"], every: .milliseconds(100), at: port),
            Questioner("GET /v1/status", ["/v1/status"], every: .milliseconds(20), at: port),
            Questioner("GET /v1/gaps", ["/v1/gaps"], every: .milliseconds(50), at: port),
            Questioner("GET /v1/responders/{id}", people, every: .milliseconds(50), at: port),
        ]
    }

    private static func part(_ questioners: [Questioner]) -> ReportPart {
        let asked = questioners.compactMap { questioner in
            questioner.stats.map { (questioner.title, $0) }
        }
        return ReportPart(
            key: "questions", title: "questions during \(mixed)",
            rows: [["", "per second", "p50 ms", "p99 ms", "longest ms"]]
                + asked.map { title, stats in
                    [
                        title, decimal(stats.perSecond, 1),
                        decimal(stats.latency50.milliseconds, 2),
                        decimal(stats.latency99.milliseconds, 2),
                        decimal(stats.longest.milliseconds, 2),
                    ]
                },
            json: .list(
                asked.map { title, stats in
                    .object([
                        ("question", .text(title)),
                        ("per_second", .number(stats.perSecond)),
                        ("p50_ms", .number(stats.latency50.milliseconds)),
                        ("p99_ms", .number(stats.latency99.milliseconds)),
                        ("max_ms", .number(stats.longest.milliseconds)),
                    ])
                }))
    }
}
