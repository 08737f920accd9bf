import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallSupport

/// What requests say about the clocks of their sources, at the edge. Source: D10.
@Suite struct SourceClocksTests {
    private static let wall = Timestamp(milliseconds: 1_795_230_000_000)
    private let clocks = SourceClocks()

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// A request that was sent, and heard of a phone, so many milliseconds before it arrives.
    private func request(_ source: String, sent: Int64? = nil, received: Int64? = nil) {
        clocks.note(
            bytes(source), sentAt: sent.map { Self.wall - Milliseconds($0) },
            receivedAt: received.map { Self.wall - Milliseconds($0) }, arrival: Self.wall)
    }

    private func skews(_ verdict: SourceClocks.Verdict?) -> [String: Int64] {
        var found: [String: Int64] = [:]
        for one in verdict?.skews ?? [] {
            found[String(decoding: one.source, as: UTF8.self)] = one.span.count
        }
        return found
    }

    @Test func `D10: a minute says what the request says that was least delayed`() {
        #expect(clocks.takeMinute(at: 1000) == nil)
        for delay: Int64 in [31_400, 31_020, 35_000] { request("b", sent: delay) }
        for delay: Int64 in [-40_000, -39_000, 9000] { request("a", sent: delay) }
        #expect(clocks.takeMinute(at: 60_999) == nil)
        let verdict = clocks.takeMinute(at: 61_000)
        #expect(verdict?.skews.map(\.source) == [bytes("a"), bytes("b")])
        #expect(skews(verdict) == ["a": -40_000, "b": 31_020])
        #expect(clocks.takeMinute(at: 121_000) == SourceClocks.Verdict())
    }

    @Test func `D10: two requests are not enough, three are`() {
        _ = clocks.takeMinute(at: 0)
        for _ in 0..<2 { request("few", sent: 31_000) }
        for _ in 0..<3 { request("enough", sent: 31_000) }
        #expect(skews(clocks.takeMinute(at: 60_000)) == ["enough": 31_000])
    }

    @Test func `D10: what was noted before our own wall stepped is no measure`() {
        _ = clocks.takeMinute(at: 0)
        for _ in 0..<3 { request("b", sent: 31_000) }
        clocks.discard()
        for _ in 0..<2 { request("b", sent: 1000) }
        #expect(skews(clocks.takeMinute(at: 60_000)).isEmpty)
    }

    @Test func `D10: 64 sources a minute are measured, and no more than a century`() {
        _ = clocks.takeMinute(at: 0)
        for number in 0..<70 {
            for _ in 0..<3 { request("s\(number)", sent: 10_000_000_000_000) }
        }
        let verdict = clocks.takeMinute(at: 60_000)
        #expect(verdict?.skews.count == 64)
        #expect(verdict?.skews.allSatisfy { $0.span.count == SourceSkews.skewMax } == true)
    }

    @Test func `D10: without sent_at the smallest lag is told, once when it begins and ends`() {
        _ = clocks.takeMinute(at: 0)
        func minute(_ lags: [Int64], _ at: Int64) -> [SourceClocks.Change] {
            for lag in lags { request("b", received: lag) }
            return clocks.takeMinute(at: at)?.changes ?? []
        }
        #expect(minute([5000, 8000], 60_000) == [])
        #expect(
            minute([12_000, 15_000], 120_000) == [
                .init(source: bytes("b"), lag: Milliseconds(12_000), isLate: true)
            ])
        #expect(minute([13_000], 180_000) == [])
        #expect(clocks.lags == [.init(source: bytes("b"), span: Milliseconds(13_000))])
        #expect(minute([4001], 240_000) == [])
        #expect(
            minute([-30_000], 300_000) == [
                .init(source: bytes("b"), lag: Milliseconds(-30_000), isLate: false)
            ])
        #expect(clocks.lags.map(\.span.count) == [-30_000])
        #expect(minute([], 1_199_999) == [] && clocks.lags.count == 1)
        #expect(minute([], 1_259_999) == [] && clocks.lags == [])
    }

    @Test func `D10: whoever says when it sends does not lag`() {
        _ = clocks.takeMinute(at: 0)
        request("b", received: 12_000)
        #expect(clocks.takeMinute(at: 60_000)?.changes.count == 1)
        request("b", sent: 12_000, received: 12_000)
        let verdict = clocks.takeMinute(at: 120_000)
        #expect(verdict == SourceClocks.Verdict() && clocks.lags == [])
    }

    // MARK: - What is told

    private func engine(_ skews: [(String, Int64)], minutes: Int64 = 2) -> Engine {
        var engine = Engine()
        for minute in 0..<minutes {
            for (name, skew) in skews {
                _ = engine.fold(
                    .skew(source: bytes(name), Milliseconds(skew)),
                    at: RunningTime(milliseconds: Self.wall.milliseconds + minute * 60_000))
            }
        }
        engine.settle()
        return engine
    }

    private func texts(_ engine: Engine, _ edge: EdgeStats = EdgeStats()) -> [String] {
        ClockJSON.list(engine, edge).elements.compactMap { $0["text"]?.text }
    }

    @Test func `D10: each source whose clock is off has a sentence`() {
        let off = engine([("pod-1", 31_020), ("pod-2", -2400), ("far", 720_000), ("good", 12)])
        #expect(
            texts(off) == [
                "source pod-1: its clock is 31 s behind ours; its times are corrected",
                "source pod-2: its clock is 2.4 s ahead of ours; its times are corrected",
                "source far: its clock is 12 min behind ours, too far to correct its times: set the "
                    + "clock",
            ])
        #expect(
            texts(engine([("pod-1", 31_020)], minutes: 1)) == [
                "source pod-1: its clock seems to be 31 s behind ours; its times are corrected once "
                    + "two minutes agree"
            ])
        let edge = EdgeStats()
        _ = edge.clocks.takeMinute(at: 0)
        edge.clocks.note(
            bytes("pod-3"), sentAt: nil, receivedAt: Self.wall - Milliseconds(12_100),
            arrival: Self.wall)
        _ = edge.clocks.takeMinute(at: 60_000)
        #expect(
            texts(Engine(), edge) == [
                "times from pod-3 arrive at least 12 s late: either its clock is behind or it "
                    + "forwards late; send `sent_at` to tell them apart"
            ])
        let row = ClockJSON.list(off, edge).elements.first
        #expect(row?["state"]?.text == "corrected" && row?["skew_seconds"] == .number(31.02))
        #expect(row?["correction_seconds"] == .number(31.02))
    }

    @Test func `D10: the log warns when something changes, not each minute`() {
        let capture = LogCapture()
        var log = DecisionLog(capture.logger)
        var engine = Engine()
        for (minute, skew) in [31_000, 31_100, 31_050, 31_000, 3, 5].enumerated() {
            let at = Self.wall.milliseconds + Int64(minute) * 60_000
            _ = engine.fold(
                .skew(source: bytes("pod-1"), Milliseconds(Int64(skew))),
                at: RunningTime(milliseconds: at))
            engine.settle()
            log.writeLog(engine.takeDecisions(), of: engine, at: at)
        }
        let late = SourceClocks.Change(
            source: bytes("pod-2"), lag: Milliseconds(12_000), isLate: true)
        DecisionLog.writeLog(late, capture.logger)
        #expect(
            capture.lines == [
                "warning the clock of a source may be off correction_ms=0 skew_ms=31000 "
                    + "source=pod-1",
                "warning the clock of a source is off: its times are corrected "
                    + "correction_ms=31000 skew_ms=31100 source=pod-1",
                "info the clock of a source is right again correction_ms=0 skew_ms=5 source=pod-1",
                "warning the times of a source lag: its clock is behind, or it forwards late; "
                    + "sent_at tells which lag_ms=12000 source=pod-2",
            ])
    }

    // MARK: - Requests

    private func ask(
        _ house: House, _ path: String, _ body: String, fields: String = ""
    ) throws -> RawClient.Answer {
        let client = try RawClient(port: house.port)
        client.send(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return client.readAnswer()
    }

    private static let field = "Rollcall-Sent-At: "
    private static let fault = "neither RFC 3339 nor seconds or milliseconds since 1970"
    private static let batch = #"{"responder_id":"r-1"}"#

    @Test func `D10: all that backends write may say by its head when it is sent`() throws {
        let house = try House()
        let bodies = [
            ("/v1/batches", Self.batch), ("/v1/responders", Self.batch),
            ("/v1/transitions", #"{"responder_id":"r-1","from":"ONLINE","to":"OFFLINE"}"#),
        ]
        for (path, body) in bodies {
            let good = try ask(
                house, path, body, fields: "\(Self.field)1795230000.5\r\n")
            #expect(good.status == 200 && good.body.contains(#""problems":[]"#), "\(path)")
            let bad = try ask(house, path, body, fields: "\(Self.field)soon\r\n")
            #expect(bad.status == 200 && bad.body.contains(#""accepted":1"#), "\(path)")
            #expect(
                bad.body.contains(
                    #""problems":[{"index":0,"pointer":"","detail":"header Rollcall-Sent-At: "#
                        + Self.fault), "\(path)")
        }
        let wake = #"{"circle":"c","viewer":"r-1"}"#
        #expect(
            try !ask(house, "/v1/wakes", wake, fields: "\(Self.field)1\r\n").body
                .contains("problems"))
        #expect(
            try ask(house, "/v1/wakes", wake, fields: "\(Self.field)x\r\n").body
                .contains(Self.fault))
        // A head that says it twice says nothing that can be trusted.
        let twice = "\(Self.field)1\r\n\(Self.field)2\r\n"
        #expect(try ask(house, "/v1/batches", Self.batch, fields: twice).status == 400)
    }

    @Test func `D10: a body's own sent_at wins over the head's, also if it cannot be read`() throws
    {
        let house = try House()
        let good = "\(Self.field)1795230000\r\n"
        let beat = try ask(
            house, "/v1/heartbeat", #"{"every_seconds":60,"sent_at":"soon"}"#, fields: good)
        #expect(
            beat.body == #"{"accepted":1,"problems":[{"index":0,"pointer":"/sent_at","detail":""#
                + Self.fault + "\"}]}\n")
        let fine = try ask(
            house, "/v1/heartbeat", #"{"every_seconds":60,"sent_at":1795230000}"#,
            fields: "\(Self.field)soon\r\n")
        #expect(fine.body == "{\"accepted\":1}\n")
        let bulk = try ask(
            house, "/v1/batches", #"[{"sent_at":true},\#(Self.batch)]"#, fields: good)
        #expect(bulk.body.contains(#""accepted":1"#))
        #expect(bulk.body.contains(#"{"index":0,"pointer":"/sent_at","detail":""#))
        let empty = try ask(house, "/v1/heartbeat", #"{"every_seconds":60}"#, fields: good)
        #expect(empty.body == "{\"accepted\":1}\n")
    }
}
