import Glibc

/// What it costs to tell of alerts by the thousand, how soon a pager that was away is told again, and
/// how long a start takes after either (Contract/Promises).
struct StormBenchmark {
    /// So many alerts fire, and a pager is told of each, or of all by one message.
    struct Telling {
        let alerts: Int
        let isStorm: Bool
        /// Processor time a page, or an alert: of those that fired together, and of a few more, milliseconds.
        let together, more: Double
        /// The bound that no turn exceeded while a few more were told, milliseconds.
        let longestTurn: Double
        /// From the start of the process after kill -9 to its address, seconds.
        let start: Double
    }

    /// So many alerts fire while the pager is away.
    struct Outage {
        let alerts: Int
        /// From its return to the first page that it takes, and to the last, seconds.
        let first, all: Double
    }

    /// As many batches as the server takes, and more.
    struct Overload {
        let seconds: Int
        let batches: Int
        /// Of the newest checkpoint at the end, seconds; nil if there is none.
        let checkpointAge: Double?
        /// Rows that the start after kill -9 folded again.
        let rows: Int?
        let start: Double
    }

    /// How much is measured.
    struct Scale {
        let alerts: [Int]
        let outages: [Int]
        let outage: Nanoseconds
        let more: Int
        let overloadSeconds: Int
        /// A thousand batches each, a second: more than any machine takes.
        let overloadRequests: Double

        static let full = Scale(
            alerts: [1000, 4000, 8000, 20_000], outages: [1, 10, 100],
            outage: .milliseconds(8000), more: 300, overloadSeconds: 30, overloadRequests: 2000)
        /// Proves that everything runs.
        static let short = Scale(
            alerts: [20], outages: [2], outage: .milliseconds(500), more: 10, overloadSeconds: 1,
            overloadRequests: 20)
    }

    /// Messages wait at most, of which none is to be given up.
    private static let wave = 8000
    private static let fromOutside = 100_000
    private static let patience = Nanoseconds.milliseconds(600_000)

    let scale: Scale
    /// Only parts whose name contains this: telling, outage, overload.
    let only: String
    /// Gives the folder of a store of some name, made anew.
    let makeFolder: (String) throws(BenchmarkError) -> String
    let product: String

    /// Measures.
    func run() throws(BenchmarkError) -> (
        tellings: [Telling], outages: [Outage], overload: Overload?
    ) {
        var (tellings, outages): ([Telling], [Outage]) = ([], [])
        if isWanted("telling") {
            for alerts in scale.alerts { tellings.append(try page(alerts, isStorm: false)) }
            if let most = scale.alerts.last { tellings.append(try page(most, isStorm: true)) }
        }
        if isWanted("outage") {
            for alerts in scale.outages { outages.append(try comeBack(alerts)) }
        }
        guard isWanted("overload") else { return (tellings, outages, nil) }
        return (tellings, outages, try overload())
    }

    private func isWanted(_ part: String) -> Bool { only.isEmpty || part.contains(only) }

    // MARK: - Telling

    private func page(_ alerts: Int, isStorm: Bool) throws(BenchmarkError) -> Telling {
        let pager = try StormPager()
        let name = isStorm ? "storm-\(alerts)-as-one" : "storm-\(alerts)"
        // A storm needs more than one.
        let folder = try prepare(name, pager, storm: isStorm ? min(50, alerts / 2) : 0)
        var server = try start(in: folder)
        var before = server.processorTime
        for first in stride(from: 0, to: alerts, by: Self.wave) {
            let last = min(alerts, first + Self.wave)
            try report(first..<last, to: server)
            if isStorm {
                try wait(for: last, firing: server)
            } else {
                try pager.wait(for: last)
            }
        }
        let together = (server.processorTime - before).milliseconds / Double(alerts)
        let caller = try Caller(port: server.port)
        let turns = try MetricsReading(caller).histogram(Self.turn)
        before = server.processorTime
        for first in stride(from: 0, to: scale.more, by: 10) {
            try report((Self.fromOutside + first)..<(Self.fromOutside + first + 10), to: server)
            usleep(50_000)
        }
        if isStorm {
            try wait(for: alerts + scale.more, firing: server)
        } else {
            try pager.wait(for: alerts + scale.more)
        }
        let more = (server.processorTime - before).milliseconds / Double(scale.more)
        let after = try MetricsReading(caller).histogram(Self.turn)
        let longest = turns.flatMap { after?.since($0).bound(of: 1) } ?? 0
        server.crash()
        let begun = Nanoseconds.now()
        server = try start(in: folder)
        let took = (Nanoseconds.now() - begun).seconds
        server.crash()
        try pager.stop()
        let result = Telling(
            alerts: alerts, isStorm: isStorm, together: together, more: more,
            longestTurn: longest * 1000,
            start: took)
        tell(
            "\(grouped(Double(alerts))) firing\(isStorm ? ", told as one" : ""): "
                + "\(decimal(more, 2)) ms a page, start after kill -9 \(decimal(took, 2)) s")
        return result
    }

    /// Waits until so many alerts fire.
    private func wait(for count: Int, firing server: ServerProcess) throws(BenchmarkError) {
        let caller = try Caller(port: server.port)
        let deadline = Nanoseconds.now() + Self.patience
        while true {
            let reading = try MetricsReading(caller)
            if Int(reading.value(Self.firing) ?? 0) >= count { return }
            guard Nanoseconds.now() < deadline else { throw .answer("not all alerts fire") }
            usleep(100_000)
        }
    }

    private static let firing =
        "rollcall_alerts{alertname=\"NoOnlineResponders\",severity=\"critical\",alertstate=\"firing\"}"

    private static let turn = "rollcall_turn_duration_seconds"

    // MARK: - An outage

    private func comeBack(_ alerts: Int) throws(BenchmarkError) -> Outage {
        let pager = try StormPager()
        let folder = try prepare("outage-\(alerts)", pager, storm: 0)
        let server = try start(in: folder)
        pager.set(away: true)
        try report(0..<alerts, to: server)
        let deadline = Nanoseconds.now() + Self.patience
        while pager.asked == 0 {
            guard Nanoseconds.now() < deadline else { throw .answer("the pager was not asked") }
            usleep(2000)
        }
        sleep(until: Nanoseconds.now() + scale.outage)
        pager.set(away: false)
        let begun = Nanoseconds.now()
        try pager.wait(for: 1)
        let first = (Nanoseconds.now() - begun).seconds
        try pager.wait(for: alerts)
        let all = (Nanoseconds.now() - begun).seconds
        server.crash()
        try pager.stop()
        return Outage(alerts: alerts, first: first, all: all)
    }

    // MARK: - Overload

    private func overload() throws(BenchmarkError) -> Overload {
        let folder = try makeFolder("storm-overload")
        try writeFile("storage: {retention: 30d}\n", to: "\(folder)/settings.yml")
        var server = try start(in: folder)
        var source = BatchSource()
        let workload = Workload.bulk(1000, connections: 400, name: "storm-overload")
        var generator = try OverloadGenerator(workload, to: server)
        let stats = try generator.run(
            &source, perSecond: scale.overloadRequests, seconds: scale.overloadSeconds)
        let reading = try MetricsReading(try Caller(port: server.port))
        server.crash()
        let begun = Nanoseconds.now()
        server = try start(in: folder)
        let took = (Nanoseconds.now() - begun).seconds
        let rows = Array(server.errors.utf8).withUnsafeBytes {
            $0.number(after: "refolded_rows=", in: 0..<$0.count)
        }
        server.crash()
        return Overload(
            seconds: scale.overloadSeconds,
            batches: stats.served * workload.batchesPerRequest,
            checkpointAge: reading.value("rollcall_checkpoint_age_seconds"), rows: rows,
            start: took)
    }

    // MARK: - The server

    /// A folder with settings by which a region is paged for as soon as its one person is late.
    private func prepare(
        _ name: String, _ pager: StormPager, storm: Int
    ) throws(BenchmarkError) -> String {
        let folder = try makeFolder(name)
        let profile = "{expected: 1s, degraded_after: 2s, offline_after: 4s}"
        try writeFile(
            """
            liveness: {on_duty: \(profile), on_mission: \(profile)}
            alerts:
              HighOfflineRate: {enabled: false}
              TelemetryFeedDown: {enabled: false}
              NoOnlineResponders: {for: 0s, keep_firing_for: 0s}
              storm: \(storm)
            receivers:
              - name: pager
                pagerduty:
                  routing_key: 0123456789abcdef0123456789abcdef
                  url: "http://127.0.0.1:\(pager.port)/v2/enqueue"

            """, to: "\(folder)/settings.yml")
        return folder
    }

    /// One batch of one person in each of some regions.
    private func report(_ regions: Range<Int>, to server: ServerProcess) throws(BenchmarkError) {
        let caller = try Caller(port: server.port)
        for first in stride(from: regions.lowerBound, to: regions.upperBound, by: 1000) {
            let items = (first..<min(first + 1000, regions.upperBound)).map {
                "{\"responder_id\":\"person-\($0)\",\"region\":\"region-\($0)\"}"
            }
            let body = "[" + items.joined(separator: ",") + "]"
            let head =
                "POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            let answer = try caller.ask(Array((head + body).utf8))
            guard answer.status == 200 else { throw .answer("\(answer.status): \(answer.text)") }
        }
    }

    private func start(in folder: String) throws(BenchmarkError) -> ServerProcess {
        try ServerProcess(rollcall: product, in: folder, patience: Self.patience)
    }
}
