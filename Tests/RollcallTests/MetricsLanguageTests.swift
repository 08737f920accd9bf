import RollcallBasis
import RollcallCore
import RollcallSupport
import Testing

@testable import Rollcall

/// Who gets the page in protobuf, and that it is the page. Source: V22.
@Suite struct MetricsLanguageTests {
    private static let name =
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

    private func language(_ accept: String?, isOffered: Bool = true)
        -> MetricsNegotiation.Language
    {
        var settings = MetricsSettings()
        settings.offersNativeHistograms = isOffered
        return MetricsNegotiation(settings).language(accept: accept)
    }

    /// What Prometheus 2.42 with native histograms sends, and Prometheus 3.
    private static let of242 = """
        \(name),application/openmetrics-text;version=1.0.0;q=0.8,\
        application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1
        """
    private static let of3 = """
        \(name);q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
        application/openmetrics-text;version=0.0.1;q=0.4,\
        text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1
        """
    private static let type = "application/vnd.google.protobuf"
    private static let family = "proto=io.prometheus.client.MetricFamily"

    @Test(
        arguments: [
            (name, .protobuf), (of242, .protobuf), (of3, .protobuf),
            ("\(type.uppercased()) ; Encoding = \"delimited\";q=0.5 ; \(family)", .protobuf),
            ("text/plain;q=0.5,\(name);q=0.501", .protobuf),
            ("text/plain;q=0.5,\(name);q=0.5", .written(.text)),
            ("\(name);q=0.5,application/openmetrics-text", .written(.openMetrics)),
            ("\(name);q=0", .written(.text)),
            (type, .written(.text)), ("\(type);encoding=delimited", .written(.text)),
            ("\(type);\(family)", .written(.text)),
            (
                "\(type);\(family);encoding=text,application/openmetrics-text;q=0.1",
                .written(.openMetrics)
            ),
            ("\(type);proto=io.prometheus.client.Metric;encoding=delimited", .written(.text)),
            ("application/x-protobuf", .written(.text)), ("application/*", .written(.text)),
            ("*/*", .written(.text)), (nil, .written(.text)),
        ] as [(String?, MetricsNegotiation.Language)])
    func `V22: who names protobuf first gets it, where the settings offer it`(
        accept: String?, expected: MetricsNegotiation.Language
    ) {
        #expect(language(accept) == expected)
        // Without it the next best.
        #expect(language(accept, isOffered: false) != .protobuf)
        if expected != .protobuf { #expect(language(accept, isOffered: false) == expected) }
    }

    @Test func `V22: a reload offers it and takes it away`() {
        let negotiation = MetricsNegotiation()
        let accept = Self.name + ",application/openmetrics-text;q=0.5"
        #expect(negotiation.language(accept: accept) == .written(.openMetrics))
        var settings = MetricsSettings()
        settings.offersNativeHistograms = true
        negotiation.follow(settings)
        #expect(negotiation.language(accept: accept) == .protobuf)
        negotiation.follow(MetricsSettings())
        #expect(negotiation.language(accept: accept) == .written(.openMetrics))
    }

    // MARK: - The page

    /// A page of an engine and of edges that counted something, in one format.
    private func page(_ format: Exposition.Format, turn: Int64 = 7) throws -> MetricsText {
        var engine = Engine(policy: Policy())
        let start = RunningTime(milliseconds: 1_795_230_000_000)
        engine.turn = turn
        let body = #"""
            {"responder_id":"anna","region":"n\"\\\n","platform":"ios","telemetry":{"queue_depth":7},
             "updates":[{"sequence":1,"captured_at":1795229996000},
                        {"sequence":2,"captured_at":1795229999250}]}
            """#
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        _ = engine.fold(.items(scan.items, source: []), at: start)
        engine.advance(to: start + .seconds(61))
        let edge = EdgeStats()
        edge.answered(.batches, code: 200, after: .microseconds(123))
        edge.committed(after: .milliseconds(1))
        for turn: Int64 in [7, 8] {
            edge.detected(
                late: Milliseconds(30), times: 2, turn: turn, at: Timestamp(milliseconds: turn))
        }
        return StateMetrics(engine: engine, store: StoreStats(version: "0.1.0"), format: format)
            .page(edge: edge, listener: .init(), member: nil, process: nil)
    }

    /// The samples of messages as lines of text; beside them the histograms that are native.
    private func samples(_ page: [UInt8]) throws -> (lines: [String: Double], natives: [String]) {
        var found: (lines: [String: Double], natives: [String]) = ([:], [])
        var at = 0
        while at < page.count {
            let length = Int(try #require(Varint.read(page.span, &at, page.count)))
            let family = try read(Array(page[at..<(at + length)]))
            at += length
            let name = text(family[1]?.first)
            for metric in try (family[4] ?? []).map({ try read(bytes($0)) }) {
                let labels = try (metric[1] ?? []).map { label in
                    let pair = try read(bytes(label))
                    let value = Exposition.escaped(bytes(pair[2]?.first))
                    return "\(text(pair[1]?.first))=\"\(String(decoding: value, as: UTF8.self))\""
                }
                func add(_ suffix: String, _ value: Double, _ more: [String] = []) {
                    let all = (labels + more).joined(separator: ",")
                    let key = "\(name)\(suffix)" + (all.isEmpty ? "" : "{\(all)}")
                    let twice = found.lines.updateValue(value, forKey: key)
                    #expect(twice == nil, "\(key)")
                }
                if let single = metric[2]?.first ?? metric[3]?.first {
                    add("", number(try read(bytes(single))[1]?.first))
                } else {
                    let histogram = try read(bytes(metric[7]?.first))
                    add("_count", number(histogram[1]?.first))
                    add("_sum", number(histogram[2]?.first))
                    for bucket in try (histogram[3] ?? []).map({ try read(bytes($0)) }) {
                        let bound = number(bucket[2]?.first)
                        let le = bound.isInfinite ? "+Inf" : "\(bound)"
                        add("_bucket", number(bucket[1]?.first), ["le=\"\(le)\""])
                    }
                    if histogram[5] != nil { found.natives.append(name) }
                }
            }
        }
        return found
    }

    private func read(_ message: [UInt8]) throws -> [Int: [ProtobufReader.Value]] {
        let fields = try #require(ProtobufReader.fields(of: message))
        return Dictionary(grouping: fields, by: \.number).mapValues { $0.map(\.value) }
    }

    private func bytes(_ value: ProtobufReader.Value?) -> [UInt8] {
        if case .bytes(let bytes) = value { bytes } else { [] }
    }

    private func text(_ value: ProtobufReader.Value?) -> String {
        String(decoding: bytes(value), as: UTF8.self)
    }

    private func number(_ value: ProtobufReader.Value?) -> Double {
        switch value {
        case .varint(let number): Double(number)
        case .fixed64(let bits): Double(bitPattern: bits)
        default: .nan
        }
    }

    private func lines(_ page: MetricsText) -> [String: Double] {
        var found: [String: Double] = [:]
        for line in String(decoding: page.bytes, as: UTF8.self).split(separator: "\n") {
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " ") else { continue }
            found[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        return found
    }

    @Test func `V22: messages hold every sample of the page in text, and no other`() throws {
        let messages = try #require(try page(.openMetrics).messages)
        let told = try samples(messages)
        let written = lines(try page(.text))
        #expect(written.count > 800)
        #expect(Set(written.keys).subtracting(told.lines.keys) == [])
        #expect(Set(told.lines.keys).subtracting(written.keys) == [])
        let different = written.filter { told.lines[$0.key] != $0.value }
        #expect(different == [:])
        #expect(
            told.natives == [
                "location_update_delay_seconds", "rollcall_detection_lateness_seconds",
            ])
        #expect(told.lines["location_update_delay_seconds_count"] == 2)
        #expect(told.lines["rollcall_detection_lateness_seconds_count"] == 4)
        #expect(String(decoding: messages, as: UTF8.self).contains("anna") == false)
    }

    @Test func `V22: what was counted before the process is in the text alone`() throws {
        let told = try samples(try #require(try page(.openMetrics, turn: 0).messages)).lines
        let written = lines(try page(.text, turn: 0))
        let different = written.filter { told[$0.key] != $0.value }
        #expect(written["location_update_delay_seconds_sum"] == 4.75)
        #expect(told["location_update_delay_seconds_sum"] == 0)
        #expect(different.keys.allSatisfy { $0.hasPrefix("location_update_delay_seconds_") })
        #expect(told.keys.count == written.count)
    }

    @Test func `V22: an old page tells its age in messages too, and what is no page becomes none`()
        throws
    {
        var page = try page(.openMetrics)
        page.bytes = MetricsExposition.aged(page.bytes, by: .seconds(9))
        let told = try samples(try #require(page.messages)).lines
        #expect(told["rollcall_snapshot_age_seconds"] == 9 && told["rollcall_watching"] == 0)
        page.bytes += Array("x\n".utf8)
        #expect(page.messages == nil)
    }
}
