import RollcallCore

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
                  - record: region:responders_silent:share
                    expr: |
                      count by (region) (time() - \(GroupPush.lastSeen) > \(Self.limit.count / 1000))
                      / count by (region) (\(GroupPush.lastSeen))

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
                GroupPush.write(number, region: 0, lastSeen: deadline - limit, to: $0)
            }
            let answer = try caller.ask(request)
            guard answer.status / 100 == 2 else {
                throw .answer("a push was answered \(answer.status): \(answer.text)")
            }
        }
    }

    /// True once it has scraped so many people.
    func hasScraped(_ people: Int) throws(BenchmarkError) -> Bool {
        let page = try Page(
            port: server.port, path: "/api/v1/query?query=count(\(GroupPush.lastSeen))")
        return page.status == 200 && page.text.contains("\"\(people)\"")
    }

    /// How many it says are silent; none while it is not ready.
    func firing() throws(BenchmarkError) -> Int {
        let page = try Page(port: server.port, path: "/api/v1/alerts")
        return page.status == 200 ? page.count(of: "\"state\":\"firing\"") : 0
    }

    /// Milliseconds that its last scrape of everybody took; nil before.
    func scrapeMilliseconds() throws(BenchmarkError) -> Double? {
        let page = try Page(
            port: server.port,
            path: "/api/v1/query?query=scrape_duration_seconds%7Bjob=%22pushgateway%22%7D")
        // {"metric":{…},"value":[1795800000.123,"1.23"]}
        let text = page.text
        guard page.status == 200, let place = text.ranges(of: "\"value\":[").last?.upperBound,
            let value = text[place...].split(separator: "\"").dropFirst().first,
            let seconds = Double(value)
        else { return nil }
        return seconds * 1000
    }

    /// Milliseconds that its last evaluation of both rules took; nil before.
    func evaluationMilliseconds() throws(BenchmarkError) -> Double? {
        let text = try Page(port: server.port, path: "/metrics").text
        let name = "\nprometheus_rule_group_last_duration_seconds{"
        guard let place = text.ranges(of: name).first?.upperBound,
            let value = text[place...].prefix(while: { $0 != "\n" }).split(separator: " ").last,
            let seconds = Double(value)
        else { return nil }
        return seconds * 1000
    }
}
