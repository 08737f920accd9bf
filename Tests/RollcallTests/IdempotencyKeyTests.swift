import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallStore
@testable import RollcallSupport

/// `Idempotency-Key`: what is sent again is not done again. Source: S19.
@Suite struct IdempotencyKeyTests {
    private let directory = TemporaryDirectory()

    private static func read(_ value: String) -> String? {
        (try? IdempotencyKey(value)).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test func `S19: a name is a quoted string, or the same without quotes`() {
        #expect(Self.read("\"8e03978e-40d5\"") == "8e03978e-40d5")
        #expect(Self.read("8e03978e-40d5") == "8e03978e-40d5")
        #expect(Self.read(#""a \"b\" \\ c, d""#) == #"a "b" \ c, d"#)
        #expect(Self.read(String(repeating: "k", count: 255)) != nil)
        for malformed in [
            "", "\"\"", "\"", "\"a", "a\"", "\"a\"b\"", #""a\b""#, #""a\""#, "a b", "a,b",
            "schlüssel", "\"\u{7F}\"", "\"a\";p=1", String(repeating: "k", count: 256),
        ] {
            #expect(Self.read(malformed) == nil, "\(malformed)")
        }
    }

    @Test func `S19: a name is one token's, and means a method, a target and a body`() throws {
        var request = HTTPRequest(method: "POST", path: "/v1/silences", body: [1, 2])
        func key(_ name: String, _ holder: String) throws -> RequestKey {
            try IdempotencyKey(name).key(
                .action, of: request, by: Array(holder.utf8), body: request.body)
        }
        let first = try key("k", "a")
        #expect(try key("\"k\"", "a") == first)
        #expect(try key("k", "b").name != first.name)
        #expect(try key("ka", "").name != first.name)
        request.body = [1, 3]
        #expect(try key("k", "a").name == first.name && key("k", "a").request != first.request)
        request.body = [1, 2]
        request.query = [("strict", "true")]
        #expect(try key("k", "a").request != first.request)
        request.query = []
        request.path = "/v1/drill"
        #expect(try key("k", "a").request != first.request)
    }

    // MARK: - Over HTTP

    private func send(
        _ server: HistoryServer, _ method: String, _ path: String, _ body: String, key: String?
    ) throws -> (answer: RawClient.Answer, isRepeat: Bool) {
        let fields = key.map { ["Idempotency-Key: \($0)"] } ?? []
        let answer = try server.answer(path, method, body: body, fields: fields)
        let isRepeat = answer.head.contains { $0.lowercased() == "idempotent-replayed: true" }
        return (answer, isRepeat)
    }

    private static func silence(_ comment: String) -> String {
        #"{"matchers":["alertname=HighOfflineRate"],"duration":"1h","author":"a","#
            + #""comment":"\#(comment)"}"#
    }

    private func number(_ answer: RawClient.Answer) throws -> Int64? {
        try JSONTree(reading: Array(answer.body.utf8))["silence"]?["id"]?.whole
    }

    @Test func `S19: a silence that is asked for again is the same one, over a restart too`() throws
    {
        var server = try HistoryServer(directory)
        let first = try send(server, "POST", "/v1/silences", Self.silence("x"), key: "one")
        #expect(try number(first.answer) == 1 && !first.isRepeat)
        let again = try send(server, "POST", "/v1/silences", Self.silence("x"), key: "\"one\"")
        #expect(again.answer.status == 200 && again.isRepeat)
        #expect(again.answer.body == first.answer.body)
        let other = try send(server, "POST", "/v1/silences", Self.silence("y"), key: "one")
        #expect(other.answer.status == 422 && !other.isRepeat)
        #expect(other.answer.body.contains("Idempotency-Key"))
        let bad = try send(server, "POST", "/v1/silences", Self.silence("y"), key: "a b")
        #expect(bad.answer.status == 400)
        server.stop()
        server = try HistoryServer(directory)
        defer { server.stop() }
        let after = try send(server, "POST", "/v1/silences", Self.silence("x"), key: "one")
        #expect(try number(after.answer) == 1 && after.isRepeat)
        let plain = try send(server, "POST", "/v1/silences", Self.silence("x"), key: nil)
        #expect(try number(plain.answer) == 2 && !plain.isRepeat)
        // Its end, twice: the second time it has one already.
        for isRepeat in [false, true] {
            let end = try send(server, "DELETE", "/v1/silences/1", "", key: "end")
            #expect(end.answer.status == 200 && end.isRepeat == isRepeat)
            #expect(end.answer.body.contains(#""state":"over""#))
        }
        #expect(try send(server, "DELETE", "/v1/silences/1", "", key: nil).answer.status == 404)
        let page = try server.answer("/metrics").body
        for series in [
            #"outcome="kept"} 1"#, #"outcome="repeated"} 2"#, #"outcome="other_request"} 0"#,
        ] {
            #expect(page.contains("rollcall_idempotency_keys_total{\(series)\n"), "\(series)")
        }
    }

    @Test func `S19: what was refused may be tried again under its name`() throws {
        let server = try HistoryServer(directory)
        defer { server.stop() }
        for _ in 0..<2 {
            let drill = try send(server, "POST", "/v1/drill", #"{"receiver":"x"}"#, key: "d")
            #expect(drill.answer.status == 404 && !drill.isRepeat)
            let end = try send(server, "DELETE", "/v1/silences/7", "", key: "e")
            #expect(end.answer.status == 404 && !end.isRepeat)
        }
    }

    @Test func `S19: transitions without an id count once, whenever they were sent`() throws {
        let server = try HistoryServer(directory)
        defer { server.stop() }
        func post(_ sentAt: Int64, key: String?) throws -> (JSONTree, isRepeat: Bool) {
            let body =
                #"{"sent_at":\#(sentAt),"responder_id":"41","from":"ONLINE","to":"OFFLINE"}"#
            let (answer, isRepeat) = try send(server, "POST", "/v1/transitions", body, key: key)
            #expect(answer.status == 200, "\(answer.body)")
            return (try JSONTree(reading: Array(answer.body.utf8)), isRepeat)
        }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let first = try post(now, key: "t")
        #expect(first.0["accepted"] == 1 && !first.isRepeat)
        let again = try post(now + 1, key: "t")
        #expect(again.0["accepted"] == 0 && again.0["duplicates"] == 1 && again.isRepeat)
        _ = try post(now, key: nil)
        let page = try server.answer("/metrics").body
        let series = #"rollcall_server_transitions_total{from="ONLINE",to="OFFLINE"} 2"#
        #expect(page.contains("\(series)\n"))
    }

    @Test func `S19: a wake that is asked for again tells the first one's numbers`() throws {
        var policy = Policy()
        policy.nudges.mode = .live
        policy.nudges.sink = .webhook
        let server = try HistoryServer(directory, policy: policy)
        defer { server.stop() }
        let people = ["v", "x", "y"].map { #"{"responder_id":"\#($0)","circles":["c"]}"# }
        let body = "[\(people.joined(separator: ","))]"
        #expect(try server.answer("/v1/batches", "POST", body: body).status == 200)
        let call = #"{"circle":"c","viewer":"v"}"#
        let first = try send(server, "POST", "/v1/wakes", call, key: "w")
        let again = try send(server, "POST", "/v1/wakes", call, key: "w")
        let tree = try JSONTree(reading: Array(again.answer.body.utf8))
        #expect(first.answer.body.contains(#""woken":2"#) && !first.isRepeat)
        #expect(tree["woken"] == 2 && tree["skipped"] == [:] && tree["decisions"] == nil)
        #expect(again.isRepeat)
        let plain = try send(server, "POST", "/v1/wakes", call, key: nil)
        #expect(plain.answer.body.contains(#""woken":0"#), "those were woken a moment ago")
    }

    /// The rows of a turn, folded by a follower and after a restart, come to the same state.
    @Test func `S7, S19: who follows keeps the same names, and so does a restart`() throws {
        var (leader, follower) = (Engine(), Engine())
        let now = RunningTime(milliseconds: HistoryStory.began)
        let key = RequestKey(
            name: RequestKey.Name(high: 1, low: 2), request: 3, kind: .action)
        let event = Event.silence(
            .begin(
                Silence(
                    matchers: [], endsAt: Timestamp(milliseconds: now.milliseconds + 60_000),
                    author: [], comment: [])))
        for turn in 1...2 {
            var pending = PendingTurn()
            let receipt = pending.fold(event, once: key, into: &leader, at: now)
            #expect(receipt.isKeyKept == (turn == 1))
            #expect(receipt.repeated == (turn == 1 ? nil : [1]))
            #expect(pending.rows.count == (turn == 1 ? 2 : 0), "a repeat leaves nothing")
            leader.advance(to: now)
            pending.take(from: &leader)
            pending.close(number: Int64(turn), leader)
            let copy = try #require(PendingTurn(logBytes: pending.logBytes))
            #expect(TurnFolder.fold(copy, into: &follower) == .same)
        }
        #expect(follower.answer(to: key, at: now) == .repeated([1]))
        #expect(Checkpoint(follower).slice(0) == Checkpoint(leader).slice(0))
    }
}
