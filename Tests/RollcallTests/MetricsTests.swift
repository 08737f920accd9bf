import Glibc
import Rollcall
import RollcallCore
import Testing

@Suite struct MetricsTests {
    private static let start = RunningTime(milliseconds: 1_795_230_000_000)

    private func post(
        _ kind: ItemKind, _ body: String, to engine: inout Engine, at seconds: Int64 = 0
    ) throws -> InputFigures {
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: kind)
        let receipt = engine.fold(
            .items(scan.items, source: []), at: Self.start + .seconds(seconds))
        var input = InputFigures()
        input.add(scan)
        input.add(receipt)
        return input
    }

    /// Three people in three regions, one off duty; then the store fails.
    private func example() throws -> (engine: Engine, edge: EdgeFigures) {
        var policy = Policy()
        policy.regionLabelsMax = 2
        policy.coverageRegions = [Array("Köln \"Süd\" \\ 1\nWest".utf8)]
        var engine = Engine(policy: policy)
        let edge = EdgeFigures()
        _ = engine.fold(.start, at: Self.start)
        let source = Array("pod \"a\"".utf8)
        _ = engine.fold(.heartbeat(source: source, every: .seconds(3600)), at: Self.start)
        let input = try post(
            .batch,
            #"""
            [{"responder_id":"1","region":"north","platform":"ios","lat":50.9,
              "telemetry":{"power_mode":"low_power","location_services":true,"queue_depth":7},
              "updates":[{"sequence":1,"captured_at":1795229996000},{"sequence":1},{},
                         {"sequence":2,"captured_at":1795229999250}]},
             {"responder_id":"2","region":"south","duty_state":"ON_MISSION","platform":"android",
              "updates":[{"sequence":5,"captured_at":1795230009000}]},
             {"responder_id":"3"},{}]
            """#, to: &engine)
        edge.answered(.batches, code: 200, after: .microseconds(123), input: input)
        edge.answered(.other, code: 418, after: .seconds(6))
        _ = try post(
            .responder, #"{"responder_id":"4","duty_state":"OFF_DUTY"}"#, to: &engine, at: 1)
        _ = try post(
            .transition, #"{"responder_id":"3","from":"ONLINE","to":"OFFLINE"}"#, to: &engine, at: 2)
        engine.advance(to: Self.start + .seconds(61))
        edge.detected(late: Milliseconds(30), times: 2)
        edge.committed(after: .milliseconds(1))
        _ = engine.fold(.store(isFailing: true), at: Self.start + .seconds(62))
        engine.settle()
        engine.advance(to: Self.start + Milliseconds(64_500))
        return (engine, edge)
    }

    private func page(
        _ format: Exposition.Format, process: ProcessFigures? = nil
    ) throws -> [String] {
        let (engine, edge) = try example()
        var store = StoreFigures(version: "0.1.0")
        store.journalOldestAt = Timestamp(milliseconds: 1_795_229_999_250)
        let bytes = MetricsPage.bytes(
            engine: engine, edge: edge, store: store, process: process, format: format)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
    }

    /// The page as people read it: samples that differ in the last label only stand in one line,
    /// and a histogram without observations is one line with `none`.
    private func condensed(_ page: [String]) -> String {
        var lines: [(series: Substring, samples: [String])] = []
        for line in page {
            guard !line.hasPrefix("#"), let start = line.ranges(of: "=\"").last,
                let end = line.ranges(of: "\"} ").last
            else {
                lines.append((line[...], []))
                continue
            }
            let series = line[..<start.lowerBound]
            let sample = line[start.upperBound..<end.lowerBound] + " " + line[end.upperBound...]
            if lines.last?.series == series {
                lines[lines.count - 1].samples.append(String(sample))
            } else {
                lines.append((series, [String(sample)]))
            }
        }
        var text: [String] = []
        for (series, samples) in lines {
            let isNil = samples.first?.hasSuffix(" 0") ?? series.hasSuffix(" 0")
            let isSummary = series.contains("_count") || series.contains("_sum")
            if isNil && isSummary && text.last?.hasSuffix("} none") == true { continue }
            let isUnused = series.hasSuffix("le") && samples.allSatisfy { $0.hasSuffix(" 0") }
            let list = isUnused ? "none" : samples.joined(separator: ", ")
            text.append(samples.isEmpty ? String(series) : "\(series)…} \(list)")
        }
        return text.joined(separator: "\n")
    }

    @Test func `the page holds every family with every series that is known in advance`() throws {
        print("<<PAGE\n" + condensed(try page(.openMetrics)) + "\nPAGE>>")
        #expect(
            condensed(try page(.openMetrics)) == #"""
                LITERAL
                """#)
    }

    @Test func `both formats hold the same series with the same values`() throws {
        let samples = try Exposition.Format.allCases.map { format in
            try page(format).filter { !$0.hasPrefix("#") }
        }
        #expect(samples[0] == samples[1])
        #expect(samples[0].count > 600)
    }

    @Test(arguments: [
        (nil, .text), ("", .text), ("*/*", .text), ("text/plain", .text), ("image/png", .text),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", .text),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
        ("Application/OpenMetrics-Text ; Version=\"1.0.0\"", .openMetrics),
        ("application/openmetrics-text", .openMetrics),
        ("application/openmetrics-text;version=0.0.1", .text),
        ("application/openmetrics-text;version=2.0.0,*/*;q=0.1", .text),
        ("application/openmetrics-text;q=0,text/plain;q=0.1", .text),
        ("text/plain;version=0.0.4;q=0.3,application/openmetrics-text;q=0.300", .text),
        ("text/plain;version=0.0.4;q=0.3,application/openmetrics-text;q=0.301", .openMetrics),
        ("text/plain;version=1.0.0,application/openmetrics-text;version=1.0.0;q=0.1", .openMetrics),
        ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily,*/*", .text),
        (";;;=,q=,\u{0},application/openmetrics-text;q=x", .openMetrics),
        // Prometheus 3.14, and 2.42 before it.
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                + "application/openmetrics-text;version=0.0.1;q=0.5,"
                + "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", .openMetrics
        ),
        (
            "application/openmetrics-text;version=1.0.0,"
                + "application/openmetrics-text;version=0.0.1;q=0.75,"
                + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
        ),
    ] as [(String?, Exposition.Format)])
    func `who asks for OpenMetrics gets it and everybody else gets text`(
        accept: String?, format: Exposition.Format
    ) {
        #expect(MetricsNegotiation.format(accept: accept) == format)
    }

    @Test func `a code out of range counts as the nearest one`() {
        let edge = EdgeFigures()
        for code in [Int.min, 600] { edge.answered(.other, code: code, after: .seconds(-1)) }
        var page = Exposition(format: .text)
        edge.append(to: &page)
        let lines = String(decoding: page.finish(), as: UTF8.self).split(separator: "\n")
        #expect(lines.contains("rollcall_http_requests_total{route=\"other\",code=\"100\"} 1"))
        #expect(lines.contains("rollcall_http_requests_total{route=\"other\",code=\"599\"} 1"))
    }

    @Test func `the process is read from a line of stat whatever its name holds`() {
        var figures = ProcessFigures()
        let line =
            "7 (roll) (call 1) S 1 7 7 0 -1 4 9 0 0 0 150 25 0 0 20 0 3 0 999 4096000 500 1 1 1\n"
        figures.take(stat: Array(line.utf8), ticksPerSecond: 100, pageBytes: 4096)
        figures.maxFileDescriptors = 1024
        figures.startedAt = Timestamp(milliseconds: 1_795_230_000_000)
        var page = Exposition(format: .openMetrics)
        figures.append(to: &page)
        #expect(
            String(decoding: page.finish(), as: UTF8.self) == """
                # TYPE process_cpu_seconds counter
                # UNIT process_cpu_seconds seconds
                # HELP process_cpu_seconds Total user and system CPU time spent in seconds.
                process_cpu_seconds_total 1.75
                # TYPE process_max_fds gauge
                # HELP process_max_fds Maximum number of open file descriptors.
                process_max_fds 1024
                # TYPE process_virtual_memory_bytes gauge
                # UNIT process_virtual_memory_bytes bytes
                # HELP process_virtual_memory_bytes Virtual memory size in bytes.
                process_virtual_memory_bytes 4096000
                # TYPE process_resident_memory_bytes gauge
                # UNIT process_resident_memory_bytes bytes
                # HELP process_resident_memory_bytes Resident memory size in bytes.
                process_resident_memory_bytes 2048000
                # TYPE process_start_time_seconds gauge
                # UNIT process_start_time_seconds seconds
                # HELP process_start_time_seconds Start time of the process since unix epoch in \
                seconds.
                process_start_time_seconds 1795230000
                # TYPE process_threads gauge
                # HELP process_threads Number of OS threads in the process.
                process_threads 3
                # EOF

                """)
    }

    @Test(arguments: ["", "7 (x", "7 (x)", "7 (x) S 1 x"])
    func `what is no line of stat says nothing`(line: String) {
        var figures = ProcessFigures()
        figures.take(stat: Array(line.utf8), ticksPerSecond: 100, pageBytes: 4096)
        #expect(figures == ProcessFigures())
    }

    @Test func `this process can be read`() throws {
        let figures = ProcessFigures.read()
        #expect(try #require(figures.openFileDescriptors) >= 3)
        #expect(try #require(figures.residentMemoryBytes) > 1_000_000)
        #expect(try #require(figures.threads) >= 1)
        let age = Int64(time(nil)) - (try #require(figures.startedAt)).milliseconds / 1000
        #expect((-2...3600).contains(age))
        #expect(ProcessFigures.read().startedAt == figures.startedAt)
    }
}
