import Glibc
import RollcallCore

/// How long after their deadlines those were seen who had fallen silent.
///
/// People whose deadlines lie in a row are seen in the same order by whoever looks at the clock, so
/// the n-th seen is the n-th due: only their number is asked for.
struct Detection {
    /// When each of them was due, ascending.
    let deadlines: [Timestamp]
    /// Milliseconds from each deadline to when it was seen; ascending once all were.
    private(set) var delays: [Double] = []

    private static let patience = Milliseconds.seconds(60)

    /// People of whom it is known when each is due.
    init(deadlines: [Timestamp]) { self.deadlines = deadlines }

    /// People due in a row, the first at `first`, all within `span`.
    init(_ count: Int, from first: Timestamp, within span: Milliseconds) {
        deadlines = (0..<count).map { first + Milliseconds(span.count * Int64($0) / Int64(count)) }
    }

    /// Asks each `pause` for how many were seen until all were. Errors: one was seen too early, or
    /// not at all.
    mutating func watch(
        pause: Nanoseconds, _ seen: () throws(BenchmarkError) -> Int
    ) throws(BenchmarkError) {
        guard let last = deadlines.last else { return }
        while delays.count < deadlines.count {
            let count = try seen()
            let now = wallNow()
            while delays.count < min(count, deadlines.count) {
                let delay = (now - deadlines[delays.count]).count
                // Clocks are read in whole milliseconds.
                guard delay >= -1 else {
                    throw .answer("somebody was seen \(-delay) ms before they were due")
                }
                delays.append(Double(max(0, delay)))
            }
            guard count <= deadlines.count else {
                throw .answer("\(count) were seen, \(deadlines.count) are silent")
            }
            guard now < last + Self.patience else {
                throw .answer("\(count) of \(deadlines.count) were seen")
            }
            sleep(until: .now() + pause)
        }
        delays.sort()
    }

    /// Milliseconds that a share of them was not seen for at most.
    func milliseconds(_ share: Double) -> Double? {
        guard !delays.isEmpty else { return nil }
        return delays[min(delays.count - 1, Int((share * Double(delays.count)).rounded(.up)) - 1)]
    }
}

/// Prometheus, which scrapes a Pushgateway and evaluates a rule over what it holds.
struct PrometheusPeer {
    /// The name of its program, and of the package that has it.
    static let name = "prometheus"
    /// Its name in reports.
    static let title = "Prometheus"

    /// The process.
    let server: ServerProcess

    /// Seconds that the rule lets people be silent: Rollcall's OFFLINE of those on duty.
    private static let limit = Milliseconds.seconds(180)

    /// Starts it in `folder`, to scrape a port and to evaluate, both so often.
    init(
        _ program: Program, folder: String, scraping port: UInt16, each interval: Milliseconds
    ) throws(BenchmarkError) {
        let seconds = interval.count / 1000
        try writeFile(
            """
            global: {scrape_interval: \(seconds)s, evaluation_interval: \(seconds)s}
            rule_files: [rules.yml]
            scrape_configs:
              - job_name: pushgateway
                honor_labels: true
                static_configs: [{targets: ["127.0.0.1:\(port)"]}]

            """, to: "\(folder)/prometheus.yml")
        try writeFile(
            """
            groups:
              - name: liveness
                rules:
                  - alert: ResponderSilent
                    expr: time() - \(GroupPush.lastSeen) > \(Self.limit.count / 1000)

            """, to: "\(folder)/rules.yml")
        server = try ServerProcess(
            name: Self.title, executable: program.path,
            arguments: [
                "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
                "--web.listen-address=127.0.0.1:0",
            ],
            announcement: .log, errorsPath: "\(folder)/prometheus-errors")
    }

    /// Pushes people who were last seen so long ago that they are due in a row.
    static func push(
        _ detection: Detection, to gateway: Pushgateway
    ) throws(BenchmarkError) {
        let caller = try Caller(port: gateway.server.port)
        for (number, deadline) in detection.deadlines.enumerated() {
            var request = GroupPush.request
            request.withUnsafeMutableBytes {
                GroupPush.write(number, lastSeen: deadline - limit, to: $0)
            }
            let answer = try caller.ask(request)
            guard answer.status / 100 == 2 else {
                throw .answer("a push was answered \(answer.status): \(answer.text)")
            }
        }
    }

    /// True once it has scraped everybody.
    func hasScrapedAll() throws(BenchmarkError) -> Bool {
        let page = try Page(
            port: server.port, path: "/api/v1/query?query=count(\(GroupPush.lastSeen))")
        return page.status == 200 && page.text.contains("\"\(BatchSource.responders)\"")
    }

    /// How many it says are silent; none while it is not ready.
    func firing() throws(BenchmarkError) -> Int {
        let page = try Page(port: server.port, path: "/api/v1/alerts")
        return page.status == 200 ? page.count(of: "\"state\":\"firing\"") : 0
    }
}
