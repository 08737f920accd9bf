import Glibc
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallSupport

/// When metrics are pushed, again or anew, and what is told of it. Source: V21.
@Suite struct OTLPExporterTests {
    /// A collector that answers with statuses in their order, then 200; it keeps the bodies.
    private final class Collector: Sendable {
        private let server: HTTPServer
        private let all: Kept

        init(_ statuses: [Int]) throws {
            let kept = Kept(statuses)
            all = kept
            server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
                request, reply in
                let status = kept.take(request.body)
                // 0: no answer.
                if status > 0 { reply.answer(HTTPResponse(status: status, body: [])) }
            }
        }

        private final class Kept: Sendable {
            let state: Mutex<(bodies: [[UInt8]], statuses: [Int])>
            init(_ statuses: [Int]) { state = Mutex(([], statuses)) }

            func take(_ body: [UInt8]) -> Int {
                state.withLock { state in
                    state.bodies.append(body)
                    return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
                }
            }
        }

        var bodies: [[UInt8]] { all.state.withLock { $0.bodies } }
        var url: String { "http://127.0.0.1:\(server.port)" }
        func stop() { server.stop() }
    }

    /// A counter on a page, a clock, and what pushes.
    private struct Stage {
        let collector: Collector
        let edge = EdgeStats()
        let log = LogCapture()
        let exporter: OTLPExporter
        let settings: OTLPSettings
        let count = SharedNumber()
        let time = SharedNumber()

        init(_ statuses: [Int], _ change: (inout OTLPSettings) -> Void = { _ in }) throws {
            collector = try Collector(statuses)
            let (count, time) = (count, time)
            exporter = OTLPExporter(
                edge: edge, instance: "here:1", log: log.logger,
                clock: {
                    let now = time.value
                    return ClockReading(elapsed: now, wall: Timestamp(milliseconds: now))
                })
            time.value = 1_000_000
            var settings = OTLPSettings()
            settings.endpoint = collector.url
            settings.compresses = false
            change(&settings)
            self.settings = settings
            exporter.follow(settings)
            exporter.start { _, answer in
                var page = Exposition(format: .openMetrics)
                page.family("c", .counter, "Some.")
                page.sample(Quantity(count.value, decimals: 0))
                answer(page.finish())
            }
        }

        /// Lets time pass until a request more came of it.
        func pass(_ milliseconds: Int64) -> Bool {
            let before = attempts
            time.value += milliseconds
            // The same once more wakes it, and changes nothing.
            exporter.follow(settings)
            return isTrueSoon { attempts > before }
        }

        var attempts: Int {
            OTLPStats.Outcome.allCases.map { edge.otlp.count(of: $0) }.reduce(0, +)
        }

        /// The counts of outcomes in their order.
        var outcomes: [Int] { OTLPStats.Outcome.allCases.map { edge.otlp.count(of: $0) } }

        func end() {
            exporter.close()
            collector.stop()
        }
    }

    private final class SharedNumber: Sendable {
        private let number = Mutex<Int64>(0)
        var value: Int64 {
            get { number.withLock { $0 } }
            set { number.withLock { $0 = newValue } }
        }
    }

    /// The fields of the one point in a request: since when, until when, how much.
    private static func point(_ body: [UInt8]) -> [String] {
        var message = body
        for number in [1, 2, 2, 7, 1] {
            let field = ProtobufReader.fields(of: message)?.first { $0.number == number }
            guard case .bytes(let inner) = field?.value else { return [] }
            message = inner
        }
        return (ProtobufReader.fields(of: message) ?? []).map { field in
            guard case .fixed64(let bits) = field.value else { return "?" }
            return field.number == 4
                ? "\(Double(bitPattern: bits))" : "\(bits / 1_000_000_000)"
        }
    }

    @Test
    func `V21: each interval the page is pushed, and what failed is sent again before the next`()
        throws
    {
        let stage = try Stage([200, 503, 200, 503])
        defer { stage.end() }
        #expect(isTrueSoon { stage.outcomes == [1, 0, 0, 0] })
        stage.count.value = 3
        #expect(stage.pass(60_000) && stage.outcomes == [1, 0, 1, 0])
        stage.count.value = 4
        #expect(stage.pass(1000) && stage.outcomes == [2, 0, 1, 0])
        #expect(stage.pass(59_000) && stage.outcomes == [2, 0, 2, 0])
        // That was not sent again before the next page was due.
        stage.count.value = 9
        #expect(stage.pass(60_000) && stage.outcomes == [3, 0, 2, 0])
        let bodies = stage.collector.bodies
        #expect(bodies.count == 5 && bodies[1] == bodies[2])
        #expect(
            bodies.map(Self.point) == [
                ["1000", "1000", "0.0"], ["1000", "1060", "3.0"], ["1000", "1060", "3.0"],
                ["1000", "1120", "4.0"], ["1000", "1180", "9.0"],
            ])
        #expect(stage.edge.otlp.deliveredAt == Timestamp(milliseconds: 1_180_000))
        #expect(
            stage.log.lines.map { $0.prefix { $0 != "=" } } == [
                "warning metrics were not pushed error", "info metrics are pushed again",
                "warning metrics were not pushed error", "info metrics are pushed again",
            ])
    }

    @Test func `V21: of deltas nothing is lost by what is refused, and nothing told twice`() throws
    {
        let stage = try Stage([200, 200, 400, 500]) { $0.temporality = .delta }
        defer { stage.end() }
        // The first one has no point: what follows counts from it.
        #expect(isTrueSoon { stage.outcomes == [1, 0, 0, 0] })
        for (count, outcomes) in [
            (3, [2, 0, 0, 0]), (5, [2, 0, 0, 1]), (6, [2, 0, 0, 2]), (10, [3, 0, 0, 2]),
            (10, [4, 0, 0, 2]),
        ] as [(Int64, [Int])] {
            stage.count.value = count
            #expect(stage.pass(60_000) && stage.outcomes == outcomes)
        }
        #expect(
            stage.collector.bodies.map(Self.point) == [
                [], ["1000", "1060", "3.0"], ["1060", "1120", "2.0"], ["1060", "1180", "3.0"],
                ["1060", "1240", "7.0"], ["1240", "1300", "0.0"],
            ])
    }

    @Test(arguments: [MetricTemporality.delta, .cumulative])
    func `V21: what a collector may have taken without an answer is not added twice`(
        temporality: MetricTemporality
    ) throws {
        let stage = try Stage([200, 0]) {
            $0.temporality = temporality
            $0.timeout = Milliseconds(300)
        }
        defer { stage.end() }
        #expect(isTrueSoon { stage.attempts == 1 })
        stage.count.value = 3
        #expect(stage.pass(60_000) && stage.outcomes == [1, 0, 1, 0])
        stage.count.value = 5
        #expect(stage.pass(60_000) && stage.outcomes == [2, 0, 1, 0])
        let points = stage.collector.bodies.map(Self.point)
        #expect(
            points.last
                == (temporality == .delta
                    ? ["1060", "1120", "2.0"] : ["1000", "1120", "5.0"]))
    }

    @Test func `V21: another stream begins anew, and without an endpoint nothing is pushed`() throws
    {
        let stage = try Stage([])
        defer { stage.end() }
        #expect(isTrueSoon { stage.attempts == 1 })
        var settings = OTLPSettings()
        settings.endpoint = stage.collector.url + "/"
        settings.compresses = false
        stage.time.value += 5000
        stage.exporter.follow(settings)
        #expect(isTrueSoon { stage.attempts == 2 })
        settings.interval = .seconds(30)
        stage.time.value += 5000
        stage.exporter.follow(settings)
        #expect(isTrueSoon { stage.attempts == 3 })
        stage.exporter.follow(OTLPSettings())
        stage.time.value += 600_000
        stage.exporter.follow(settings)
        #expect(isTrueSoon { stage.attempts == 4 })
        #expect(
            stage.collector.bodies.map(Self.point) == [
                ["1000", "1000", "0.0"], ["1005", "1005", "0.0"], ["1005", "1010", "0.0"],
                ["1610", "1610", "0.0"],
            ])
    }

    // MARK: - Answers

    private func verdict(
        _ status: Int, _ body: [UInt8] = [], retryAfter: String? = nil, bearer: String? = nil
    ) throws -> OTLPVerdict {
        var settings = OTLPSettings()
        if let bearer { settings.bearer = try Secret(Array(bearer.utf8)) }
        var answer = HTTPCallAnswer(status: status, contentType: nil, retryAfter: retryAfter)
        answer.body = body
        return OTLPCaller.verdict(
            answer, from: "http://c", settings, now: Timestamp(milliseconds: 0))
    }

    @Test func `V21: what the specification lets be sent again is, and nothing else`() throws {
        for status in [429, 502, 503, 504] {
            #expect(
                try verdict(status, retryAfter: "7")
                    == .failed("http://c: answered \(status)", retryAfter: .seconds(7)))
            #expect(
                try verdict(status) == .failed("http://c: answered \(status)", retryAfter: nil))
        }
        for status in [400, 401, 403, 404, 408, 413, 425, 500, 501] {
            #expect(
                try verdict(status, retryAfter: "7") == .refused("http://c: answered \(status)"))
        }
        #expect(try verdict(202) == .delivered(rejected: 0, words: ""))
        #expect(
            try verdict(302) == .refused("http://c: answered 302: redirects are not followed"))
    }

    @Test func `V21: a collector's words are one short line without our secrets`() throws {
        var status = ProtobufWriter()
        status.text(2, Array("no\n t0ken-1234 \(String(repeating: "x", count: 300))".utf8))
        guard case .refused(let text) = try verdict(400, status.bytes, bearer: "t0ken-1234") else {
            Issue.record("not refused")
            return
        }
        #expect(text.hasPrefix("http://c: answered 400: no  <secret> xxx") && text.hasSuffix("…"))
        #expect(text.utf8.count < 260)
    }

    @Test func `V21: nor parts of a field, nor a path of the endpoint are in a collector's words`()
        throws
    {
        var settings = OTLPSettings()
        settings.endpoint = "http://c/s3cret-path/"
        settings.bearer = try Secret(Array("Api-Token t0ken-1234".utf8))
        var status = ProtobufWriter()
        status.text(2, Array("t0ken-1234 at /s3cret-path/v1/metrics".utf8))
        var answer = HTTPCallAnswer(status: 400)
        answer.body = status.bytes
        #expect(
            OTLPCaller.verdict(answer, from: "http://c", settings, now: Timestamp(milliseconds: 0))
                == .refused("http://c: answered 400: <secret> at /<secret>/v1/metrics"))
    }

    // MARK: - Where to

    @Test(arguments: [
        ("http://a:4318", "http://a:4318/v1/metrics"),
        ("http://a:4318/", "http://a:4318/v1/metrics"),
        ("https://a/otlp//", "https://a/otlp/v1/metrics"),
        ("https://a/otlp/v1/metrics", "https://a/otlp/v1/metrics"),
        ("https://a/v1/metrics/", "https://a/v1/metrics"),
        ("https://a/v1/traces", "https://a/v1/traces/v1/metrics"),
    ])
    func `V21: metrics go to their path behind the endpoint, once`(endpoint: String, url: String) {
        var settings = OTLPSettings()
        settings.endpoint = endpoint
        #expect(settings.url == url)
    }
}
