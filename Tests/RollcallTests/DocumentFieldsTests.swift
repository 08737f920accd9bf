import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallSupport

/// What small documents hold that their routes do not know. Source: P3.
@Suite struct DocumentFieldsTests {
    private let directory = TemporaryDirectory()

    private static func problem(_ pointer: String, _ meant: String?) -> String {
        let meant = meant.map { "; \($0) is meant?" } ?? ""
        return #"{"index":0,"pointer":"\#(pointer)","detail":"unknown field\#(meant)"}"#
    }

    @Test(
        arguments: [
            (
                "/v1/heartbeat", #"{"every_seconds":5,"intervalSeconds":5}"#, 200,
                "/intervalSeconds", nil
            ),
            ("/v1/heartbeat", #"{"everySeconds":5}"#, 422, "/everySeconds", "every_seconds"),
            (
                "/v1/wakes", #"{"circle":"c","viewer":"v","viewerr":1}"#, 200, "/viewerr", "viewer"
            ),
            (
                "/v1/silences",
                #"{"matchers":["region=a"],"duration":"1h","author":"k","comment":"c","end_at":1}"#,
                200, "/end_at", "ends_at"
            ),
        ] as [(String, String, Int, String, String?)])
    func `P3: an unknown field of a document is named, with what was probably meant, and counted`(
        target: String, body: String, status: Int, pointer: String, meant: String?
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let answer = try server.answer(target, "POST", body: body)
        #expect(answer.status == status)
        #expect(answer.body.hasSuffix(",\"problems\":[\(Self.problem(pointer, meant))]}\n"))
        #expect((try? JSONTree(reading: Array(answer.body.utf8))) != nil)
        let series = "rollcall_item_problems_total{reason=\"unknown_field\"} 1\n"
        #expect(try server.answer("/metrics").body.contains(series))
    }

    @Test(
        arguments: [
            ("/v1/heartbeat", #"{"every_seconds":5,"every_seconds":3600}"#, "/every_seconds"),
            ("/v1/wakes", #"{"circle":"c","viewer":"v","circle":"d"}"#, "/circle"),
            (
                "/v1/silences",
                #"{"matchers":["region=a"],"matchers":["region=b"],"duration":"1h","author":"k","#
                    + #""comment":"c"}"#, "/matchers"
            ),
            (
                "/v1/silences",
                #"{"matchers":{"region":"a","region":"b"},"duration":"1h","author":"k","#
                    + #""comment":"c"}"#, "/matchers/region"
            ),
        ])
    func `a field of a document that is given twice refuses it`(
        target: String, body: String, pointer: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let answer = try server.answer(target, "POST", body: body)
        #expect(answer.status == 422)
        #expect(answer.body.contains("\"detail\":\"\(pointer): named twice\""), "\(answer.body)")
    }

    /// D10: when it was sent is no reason to refuse a beat.
    @Test func `a sent_at that is given twice is named, and null is no value`() throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let answer = try server.answer(
            "/v1/heartbeat", "POST",
            body: #"{"every_seconds":null,"every_seconds":5,"sent_at":1795219200,"sent_at":5}"#)
        #expect(
            answer.body == #"{"accepted":1,"problems":[{"index":0,"pointer":"/sent_at","#
                + "\"detail\":\"named twice\"}]}\n")
    }

    @Test(arguments: ["[]", "7", "null", #""x""#])
    func `a heartbeat that is no object is JSON all the same`(body: String) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let answer = try server.answer("/v1/heartbeat", "POST", body: body)
        #expect(answer.status == 422 && answer.body.contains("an object expected"))
        #expect(try server.answer("/v1/heartbeat", "POST", body: "[").status == 400)
    }

    @Test(
        arguments: [
            ("/v1/responders?duty_state=", "duty_state: one of O"),
            ("/v1/gaps?since=1795219200", "since: 1795219200 milliseconds"),
            ("/v1/gaps?until=99999999999", "write 99999999999000"),
            ("/v1/alerts/history?since=5", "since: 5 milliseconds"),
        ])
    func `a parameter that says nothing, or seconds for milliseconds, is refused with a hint`(
        target: String, hint: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let answer = try server.answer(target)
        #expect(answer.status == 400 && answer.body.contains(hint), "\(answer.body)")
        #expect(try server.answer("/v1/gaps?since=0").status == 200)
        #expect(try server.answer("/v1/gaps?since=100000000000").status == 200)
    }

    @Test func `P3: strict refuses a document with an unknown field, and no other`() throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        func post(_ body: String) throws -> RawClient.Answer {
            try server.answer("/v1/heartbeat?strict=true", "POST", body: body)
        }
        #expect(try post(#"{"every_seconds":5}"#).body == "{\"accepted\":1}\n")
        let refused = try post(#"{"every_seconds":5,"colour":"red"}"#)
        #expect(refused.status == 422 && refused.body.contains("/colour: unknown field"))
        let series = "rollcall_rejected_items_total{reason=\"unknown_field\"} 1\n"
        #expect(try server.answer("/metrics").body.contains(series))
    }

    @Test func `P3: five are named, all are counted, and names of places are none of them`() throws
    {
        let names = (0..<9).map { "\"x\($0)\":\($0)" } + ["\"lat\":52.5", "\"y\":{\"lon\":13.4}"]
        let text = "{\(names.joined(separator: ",")),\"circle\":\"c\"}"
        let body = try JSONTree(reading: Array(text.utf8))
        let fields = DocumentFields(body, known: ["circle"])
        #expect(fields.named.map(\.pointer) == (0..<5).map { "/x\($0)" })
        var expected = InputStats()
        for _ in 0..<10 { expected.addProblem(.unknownField) }
        expected.addPrivateFields(2)
        #expect(fields.stats == expected)
        // Values are not shown.
        let answer = fields.answer(HTTPResponse(status: 200, body: Array("{\"a\":1}".utf8)))
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("52.5"))
    }

    @Test(
        arguments: [
            ("POST", "/v1/heartbeat?sorce=b", "sorce"),
            ("DELETE", "/v1/heartbeat?sorce=b", "sorce"),
            ("POST", "/v1/batches?strcit=true", "strcit"), ("PUT", "/v1/responders?x=1", "x"),
            ("POST", "/-/reload?now=1", "now"),
        ])
    func `P3: a write with an unknown parameter is refused, and the answer names it`(
        method: String, target: String, name: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let answer = try server.answer(target, method, body: method == "DELETE" ? nil : "{}")
        #expect(answer.status == 400)
        #expect(answer.body.contains("unknown parameter: \(name)\""))
    }

    @Test(arguments: [
        ("/v1/gaps?by=model&by=app_version", "by"), ("/v1/responders?limit=1&limit=2", "limit"),
        ("/v1/nudges?by=model&limit=1&by=model", "by"),
        ("/v1/heartbeat?source=a&source=b", "source"),
        ("/v1/batches?strict=true&strict=false", "strict"),
    ])
    func `P3: a parameter that stands twice is refused, and the answer names it`(
        target: String, name: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let isWrite = name == "source" || name == "strict"
        let answer = try server.answer(
            target, isWrite ? "POST" : "GET", body: isWrite ? "{}" : nil)
        #expect(answer.status == 400)
        #expect(answer.body.contains("\"detail\":\"\(name): given twice\""))
    }

    @Test(arguments: [
        ("/v1/responders?q=%ff", "q: UTF-8 expected"), ("/v1/gaps?region=%c3", "region: UTF-8"),
        ("/v1/heartbeat?source=%ff", "source: UTF-8"),
        ("/v1/gaps?=1", "a parameter without a name"),
        ("/v1/responders?&&&", ""), ("/v1/responders?&limit=1&&", ""),
    ])
    func `P3: a parameter is UTF-8 and has a name, and nothing between two ampersands is none`(
        target: String, detail: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let isWrite = target.contains("heartbeat")
        let answer = try server.answer(
            target, isWrite ? "POST" : "GET", body: isWrite ? "{}" : nil)
        #expect(answer.status == (detail.isEmpty ? 200 : 400))
        #expect(detail.isEmpty || answer.body.contains("\"detail\":\"\(detail)"))
    }

    @Test func `P3: strict is true or false, and of a read nobody looks at it`() throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        for value in ["1", "TRUE", "yes", ""] {
            let answer = try server.answer("/v1/batches?strict=\(value)", "POST", body: "[]")
            #expect(answer.status == 400 && answer.body.contains("strict: true or false expected"))
        }
        #expect(try server.answer("/v1/batches?strict=false", "POST", body: "[]").status == 200)
        #expect(try server.answer("/metrics?x=1").status == 200)
    }

    @Test(
        arguments: [
            (#"{"responder_id":7.5}"#, ""), (#"{"responder_id":"b","responder_id":"b"}"#, ""),
            (#"{"responder_id":"b","colour":"red"}"#, "?strict=true"),
        ])
    func `I11, I12, P3: a roster with an item that cannot be read is refused and retires nobody`(
        item: String, query: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        func put(_ body: String, _ query: String = "") throws -> RawClient.Answer {
            try server.answer("/v1/responders\(query)", "PUT", body: body)
        }
        #expect(try put(#"[{"responder_id":"a"},{"responder_id":"b"}]"#).status == 200)
        let refused = try put("[{\"responder_id\":\"a\"},\(item)]", query)
        #expect(refused.status == 422)
        #expect(refused.body.contains("a roster is taken whole or not at all"))
        #expect(refused.body.contains("\"accepted\":0") && refused.body.contains("\"index\":1"))
        let person = try server.answer("/v1/responders/b").body
        #expect(!person.contains("retired"), "\(person)")
        #expect(try put(#"[{"responder_id":"a"}]"#).body.contains("\"retired\":1"))
    }
}
