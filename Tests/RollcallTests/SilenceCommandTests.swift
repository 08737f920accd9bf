import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall silence` and `rollcall drill` ask and print, of canned answers.
@Suite struct SilenceCommandTests {
    private static let silence = """
        {"id":3,"state":"active","matchers":["alertname=HighOfflineRate"],
        "starts_at":"2026-11-21T06:00:00.000Z","ends_at":"2026-11-21T08:00:00.000Z",
        "author":"kim","comment":"exercise\\u001b[2J","muting":["HighOfflineRate{region=\\"a\\"}"]}
        """

    @Test func `a silence that begins is told with its end and what it mutes now`() throws {
        let server = try CannedServer(["/v1/silences": "{\"silence\":\(Self.silence)}"])
        defer { server.stop() }
        let question = try SilenceQuestion(
            matchers: ["alertname=HighOfflineRate"], span: "2h", author: "kim",
            comment: "exercise", isJSON: false)
        let text = try question.answer(from: try server.asked(), style: ConsoleStyle()).text
        #expect(
            text == """
                Silence 3 mutes alerts with alertname=HighOfflineRate until 2026-11-21 08:00:00 UTC.
                It mutes now: HighOfflineRate{region="a"}.

                """)
        #expect(
            server.questions == [
                #"POST /v1/silences {"matchers":["alertname=HighOfflineRate"],"duration":"2h","#
                    + #""author":"kim","comment":"exercise"}"#
            ])
    }

    @Test func `A7: what was probably not meant is told, and an id is passed on`() throws {
        let answer =
            "{\"silence\":\(Self.silence),\"warnings\":[\"there is no alert \\\"x\u{9B}\\\"\"]}"
        let server = try CannedServer(["/v1/silences": answer])
        defer { server.stop() }
        let question = try SilenceQuestion(
            matchers: ["alertname=x"], span: "2h", author: "kim", comment: "c", id: "k-1",
            isJSON: false)
        let text = try question.answer(from: try server.asked(), style: ConsoleStyle()).text
        #expect(text.hasSuffix("\nwarning: there is no alert \"x\\u{9B}\"\n"))
        #expect(server.questions.first?.hasSuffix(#","id":"k-1"}"#) == true)
    }

    @Test func `silences are a table that cannot steer a terminal`() throws {
        let server = try CannedServer(["/v1/silences": "{\"silences\":[\(Self.silence),{}]}"])
        defer { server.stop() }
        let text = try SilenceQuestion.list(.table)
            .answer(from: try server.asked(), style: ConsoleStyle()).text
        #expect(
            text == """
                id  state   until                    matchers                   author  comment
                3   active  2026-11-21 08:00:00 UTC  alertname=HighOfflineRate  kim     \
                exercise\\u{1B}[2J
                –   –       –                                                   –       –

                """)
    }

    @Test func `nothing muted, an end, and JSON`() throws {
        let server = try CannedServer([
            "/v1/silences": "{\"silences\":[]}", "/v1/silences/3": "{\"silence\":{\"id\":3}}",
        ])
        defer { server.stop() }
        let asked = try server.asked()
        func print(_ question: SilenceQuestion) throws -> String {
            try question.answer(from: asked, style: ConsoleStyle()).text
        }
        #expect(try print(.list(.table)) == "Nothing is muted.\n")
        #expect(try print(.list(.json)) == "{\"silences\":[]}\n")
        #expect(try print(.end("3", isJSON: false)) == "Silence 3 is over.\n")
        #expect(try print(.end("3", isJSON: true)) == "{\"silence\":{\"id\":3}}\n")
        #expect(server.questions.last == "DELETE /v1/silences/3")
    }

    @Test(arguments: [
        (["region"], "2h", "k", "region: must be like name=value, name!=value or name=a|b"),
        (["a=b"], "2", "k", "--for: a span like 90m or 2h expected (2)"),
        (["a=b"], "2h", "", "--author: a text expected"),
    ])
    func `a wrong option is told before anybody is asked`(
        matchers: [String], span: String, author: String, words: String
    ) {
        #expect(throws: QuestionError.wrongOption(words)) {
            try SilenceQuestion(
                matchers: matchers, span: span, author: author, comment: "c", isJSON: false)
        }
    }

    // MARK: - Drills

    private func drill(_ answer: String, status: Int = 200) throws -> (String, Bool) {
        let server = try CannedServer(
            ["/v1/drill": answer, "/v1/drill/12": answer], status: status)
        defer { server.stop() }
        let question = DrillQuestion("oncall", isJSON: false, patience: 0)
        let (text, isDelivered) = try question.answer(from: try server.asked())
        #expect(server.questions.first == #"POST /v1/drill {"receiver":"oncall"}"#)
        return (text, isDelivered)
    }

    @Test func `a drill that arrived is told with its time`() throws {
        let told = try drill(
            """
            {"drill":12,"outcome":"delivered","took_ms":134,"targets":[{"target":0,
            "attempts":[{"status":202,"error":null}]}]}
            """)
        #expect(told == ("Drill 12: oncall took it after 134 ms.\n", true))
    }

    @Test func `a drill that did not is told with the last attempt`() throws {
        let told = try drill(
            """
            {"drill":12,"outcome":null,"targets":[{"target":0,"attempts":[{"status":500},
            {"status":null,"error":"http://a: no such host"}]}]}
            """, status: 202)
        #expect(
            told == (
                """
                Drill 12: oncall has not taken it within 0 s; it is still tried.
                  address 0, attempt 2: http://a: no such host

                """, false
            ))
        #expect(
            try drill(#"{"drill":12,"outcome":"expired"}"#)
                == ("Drill 12: oncall did not take it (expired).\n", false))
    }

    @Test func `a receiver that is not there is told by the server's words`() throws {
        let server = try CannedServer(
            ["/v1/drill": #"{"detail":"no receiver has this name; there are: a"}"#], status: 404)
        defer { server.stop() }
        let asked = try server.asked()
        let error = QuestionError.refused(
            server: server.url, status: 404, detail: "no receiver has this name; there are: a",
            scope: .act)
        #expect(throws: error) {
            try DrillQuestion("x", isJSON: false).answer(from: asked)
        }
    }

    @Test func `K5: a silence of a cell is named with its cell, and ended there`() throws {
        let list = """
            {"silences":[{"id":1,"state":"active","cell":null},{"id":1,"state":"active","cell":"c 1"}],
            "unavailable":[]}
            """
        let server = try CannedServer([
            "/v1/silences": list, "/v1/silences/1?cell=c 1": "{}", "/v1/silences/1": "{}",
        ])
        defer { server.stop() }
        let asked = try server.asked()
        #expect(
            try SilenceQuestion.list(.ids).answer(from: asked, style: ConsoleStyle())
                == Printout("1\nc 1/1\n"))
        for (name, cell, target) in [
            ("1", nil, "/v1/silences/1"), ("c 1/1", nil, "/v1/silences/1?cell=c 1"),
            ("1", "c 1", "/v1/silences/1?cell=c 1"), ("c 1/1", "c 1", "/v1/silences/1?cell=c 1"),
        ] {
            _ = try SilenceQuestion.end(name, cell: cell, isJSON: false)
                .answer(from: asked, style: ConsoleStyle())
            #expect(server.questions.last == "DELETE \(target)")
        }
        for (name, cell) in [("x", nil), ("/1", nil), ("a/", nil), ("a/1", "b")] {
            #expect(throws: QuestionError.self) {
                try SilenceQuestion.end(name, cell: cell, isJSON: false)
            }
        }
    }
}
