import Foundation
import RollcallCore
import Testing

@testable import RollcallSupport

/// `POST /v1/wakes`. Source: N9.
@Suite struct WakeRouteTests {
    private let directory = TemporaryDirectory()

    private func server(_ mode: NudgeRules.Mode) throws -> HistoryServer {
        var policy = Policy()
        policy.nudges.mode = mode
        policy.nudges.sink = mode == .live ? .webhook : .none
        let server = try HistoryServer(directory, policy: policy)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let people = ["viewer", "silent", "fresh", "saving", "paused"].map { id in
            let update = id == "fresh" ? #"{"sequence":1,"captured_at":\#(now)}"# : ""
            let mode = id == "saving" ? "low_power" : "normal"
            let sharing = id == "paused" ? "paused" : "active"
            return """
                {"responder_id":"\(id)","circles":["c-9"],"sharing":"\(sharing)",
                 "telemetry":{"power_mode":"\(mode)"},"updates":[\(update)]}
                """
        }
        let body = "[\(people.joined(separator: ","))]"
        #expect(try server.answer("/v1/batches", "POST", body: body).status == 200)
        return server
    }

    private func wake(_ server: HistoryServer, _ circle: String = "c-9") throws -> JSONTree {
        let answer = try server.answer(
            "/v1/wakes", "POST", body: #"{"circle":"\#(circle)","viewer":"viewer"}"#)
        #expect(answer.status == 200)
        return try JSONTree(reading: Array(answer.body.utf8))
    }

    private func lines(_ answer: JSONTree) -> [String] {
        (answer["decisions"]?.elements ?? []).map { decision in
            [decision["responder_id"]?.text, decision["decision"]?.text, decision["reason"]?.text]
                .compactMap { $0 }.joined(separator: " ")
        }
    }

    @Test func `each other member is woken, or is told why not`() throws {
        let server = try self.server(.live)
        defer { server.stop() }
        let first = try wake(server)
        #expect(
            lines(first) == [
                "fresh skip fresh", "paused skip paused", "saving skip low_power", "silent wake",
            ])
        #expect(first["circle"] == "c-9" && first["beyond"] == 0)
        #expect(first["mode"] == "live" && first["sent"] == .boolean(true))
        #expect(lines(try wake(server)).last == "silent skip woken")
        let page = try server.answer("/metrics").body
        for series in [
            "decision=\"wake\",reason=\"asked\"} 1", "decision=\"skip\",reason=\"woken\"} 1",
            "decision=\"skip\",reason=\"paused\"} 2",
        ] {
            #expect(page.contains("rollcall_wakes_total{\(series)\n"), "\(series)")
        }
        let events = try server.get("/v1/responders/silent/timeline")["events"]
        let kinds = (events as? [[String: Any]] ?? []).compactMap { $0["kind"] as? String }
        #expect(kinds.contains("wake"))
    }

    @Test(arguments: [NudgeRules.Mode.dryRun, .disabled])
    func `without a live mode it is decided, and said that nothing is sent`(
        mode: NudgeRules.Mode
    ) throws {
        let server = try self.server(mode)
        defer { server.stop() }
        let answer = try wake(server)
        #expect(lines(answer).last == "silent wake")
        #expect(answer["sent"] == .boolean(false))
        #expect(answer["mode"]?.text == "\(mode.word)")
    }

    @Test func `who writes alone gets the numbers, and who may read the ids`() throws {
        func token(_ name: String, _ scopes: Set<Access.Scope>) throws -> Access.Token {
            try Access.Token(
                name: name, scopes: scopes, bytes: Array("\(name)-0123456789abcdef".utf8))
        }
        var rules = AccessPolicy.Rules()
        rules.access = try Access(tokens: [
            token("writer", [.ingest]), token("both", [.ingest, .read]), token("page", [.read]),
        ])
        let server = try HistoryServer(directory, rules: rules)
        defer { server.stop() }
        let people =
            #"[{"responder_id":"a1","circles":["c"]},{"responder_id":"b1","circles":["c"],"#
            + #""sharing":"paused"},{"responder_id":"v1","circles":["c"]}]"#
        func post(_ path: String, _ body: String, _ token: String) throws -> RawClient.Answer {
            try server.answer(path, "POST", body: body, token: "\(token)-0123456789abcdef")
        }
        #expect(try post("/v1/batches", people, "writer").status == 200)
        let call = #"{"circle":"c","viewer":"v1"}"#
        let counted = try post("/v1/wakes", call, "writer").body
        let numbers = try JSONTree(reading: Array(counted.utf8))
        #expect(numbers["woken"] == 1 && numbers["skipped"] == ["paused": 1])
        #expect(numbers["beyond"] == 0 && numbers["decisions"] == nil)
        #expect(!counted.contains("a1") && !counted.contains("b1"))
        let told = try JSONTree(reading: Array(try post("/v1/wakes", call, "both").body.utf8))
        #expect(lines(told) == ["a1 skip woken", "b1 skip paused"])
        #expect(told["woken"] == 0 && told["skipped"] == ["paused": 1, "woken": 1])
        #expect(try post("/v1/wakes", call, "page").status == 403)
    }

    @Test func `a circle or a viewer that looks like a place is refused and counted`() throws {
        let server = try self.server(.live)
        defer { server.stop() }
        for body in [
            #"{"circle":"52.5200, 13.4050","viewer":"v"}"#, #"{"circle":"c","viewer":"geo:1,2"}"#,
        ] {
            let answer = try server.answer("/v1/wakes", "POST", body: body)
            #expect(answer.status == 422 && answer.body.contains("coordinates"))
        }
        let silence =
            #"{"matchers":["alertname=Watchdog"],"duration":"1h","author":"a","#
            + #""comment":"at 52.52;13.40"}"#
        #expect(try server.answer("/v1/silences", "POST", body: silence).status == 422)
        let page = try server.answer("/metrics").body
        #expect(page.contains("rollcall_item_problems_total{reason=\"coordinate\"} 3\n"))
    }

    @Test func `a circle of nobody has nobody to wake`() throws {
        let server = try self.server(.live)
        defer { server.stop() }
        let answer = try wake(server, "c-10")
        #expect(lines(answer) == [] && answer["beyond"] == 0)
    }

    @Test func `both names must be there, with 1 to 128 bytes`() throws {
        let server = try self.server(.live)
        defer { server.stop() }
        func status(_ body: String, _ target: String = "/v1/wakes") throws -> Int {
            try #require(try server.answer(target, "POST", body: body).status)
        }
        func body(_ circle: String, _ viewer: String) -> String {
            #"{"circle":"\#(circle)","viewer":"\#(viewer)"}"#
        }
        let longest = String(repeating: "x", count: 128)
        #expect(try status(body(longest, longest)) == 200)
        #expect(try status(body(longest, "a"), "/v1/wakes?source=pod-1") == 200)
        for wrong in [
            "{}", "[]", "7", #"{"circle":"c"}"#, #"{"viewer":"v"}"#, #"{"circle":7,"viewer":"v"}"#,
            #"{"circle":null,"viewer":"v"}"#, body("", "v"), body("c", ""),
            body(longest + "x", "v"), body("c", longest + "x"), body("c\\n", "v"),
        ] {
            #expect(try status(wrong) == 422, "\(wrong)")
        }
        #expect(try status("{") == 400)
        #expect(try status(body("c", "v"), "/v1/wakes?source=") == 422)
        let read = try server.answer("/v1/wakes")
        #expect(read.status == 405)
    }
}
