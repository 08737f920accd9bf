import RollcallCore
import Testing

@testable import Rollcall

/// What `rollcall explain` prints, of canned answers.
@Suite struct ExplainCommandTests {
    private static func answers(_ events: [String]) -> [String: String] {
        [
            "/v1/responders/r-17": GapSamples.person,
            "/v1/responders/r-17/timeline": GapSamples.timeline(events),
            "/v1/dark": GapSamples.dark, "/v1/status": GapSamples.status,
        ]
    }

    private static func print(
        _ answers: [String: String], id: String = "r-17", isJSON: Bool = false
    ) throws -> String {
        let server = try CannedServer(answers)
        defer { server.stop() }
        return try Explanation.Question(
            id: id, since: "24h", isJSON: isJSON, now: GapsCommandTests.now
        ).answer(from: try server.asked(), style: ConsoleStyle())
    }

    /// The lines between the title and what is said of now.
    private static func story(_ events: [String]) throws -> String {
        let text = try print(answers(events))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.dropFirst(2).prefix { !$0.hasPrefix("Dark") }.dropLast()
            .joined(separator: "\n")
    }

    @Test func `a day is told so that a dispatcher understands it`() throws {
        let text = try Self.print(Self.answers(GapSamples.day))
        #expect(text == "")
        #expect(text.split(separator: "\n").allSatisfy { ConsoleText.columns(String($0)) <= 80 })
    }

    @Test func `the server is asked for one person and one span`() throws {
        let server = try CannedServer(Self.answers([]))
        defer { server.stop() }
        _ = try Explanation.Question(
            id: "r-17", since: "24h", isJSON: false, now: GapsCommandTests.now
        ).answer(from: try server.asked(), style: ConsoleStyle())
        #expect(
            server.questions == [
                "/v1/responders/r-17",
                "/v1/responders/r-17/timeline?since=2026-11-20T06:00:00.000Z&limit=1000",
                "/v1/dark?responder=r-17&by=day&since=2026-11-20&until=2026-11-21", "/v1/status",
            ])
    }

    @Test func `every cause says what it rests on`() throws {
        let at = "2026-11-21T03:00:00Z"
        let lines = GapCause.allCases.map {
            GapSamples.gap(at, "open", suspected: "\($0.word)", #""evidence":{}"#)
        }
        let groups = [
            #""group":{"id":1,"of":"region","region":"north","members":9,"active":20}"#,
            #""group":{"id":1,"of":"feed","members":30,"active":41}"#,
        ].map { GapSamples.gap(at, "open", suspected: "mass_gap", #""evidence":{\#($0)}"#) }
        let network = GapSamples.gap(
            at, "open", suspected: "no_network", #""evidence":{"network_type":"none"}"#)
        #expect(try Self.story(lines + groups + [network]) == "")
    }

    @Test func `every verdict says what it proves and what not`() throws {
        let at = "2026-11-21T03:00:00Z"
        let lines = GapVerdict.allCases.map {
            GapSamples.gap(at, #"verdict","verdict":"\#($0.word)"#, #""evidence":{"updates":1}"#)
        }
        #expect(try Self.story(lines) == "")
    }

    @Test func `all that the phone had said is told`() throws {
        let facts = #"""
            "facts":{"permission_status":"denied","location_services":false,
            "app_state":"other","network_type":"none","power_mode":"low_power","queue_depth":7,
            "battery_level":0.05}
            """#
        #expect(try Self.story([GapSamples.contact("2026-11-21T03:00:00Z", "", facts)]) == "")
    }

    @Test func `blindness that goes on, or began before, is told`() throws {
        let early = "2026-11-20T05:00:00Z"
        let events =
            [GapSamples.blind("2026-11-20T07:00:00Z", "end", early, "store")]
            + ["heartbeat", "overload", "suspended", "locusts"].map {
                GapSamples.blind("2026-11-21T03:06:30Z", "begin", "2026-11-21T03:04:00Z", $0)
            }
        #expect(try Self.story(events) == "")
    }

    @Test func `who is not watched is told with all reservations`() throws {
        var answers = Self.answers([])
        answers["/v1/responders/r-17"] = """
            {"responder_id":"r-17","status":"NOT_EXPECTED","not_expected":"paused",
            "since":"2026-11-19T04:12:20.000Z","confirmed":false,"reachable":"unknown",
            "last_contact_at":null,"platform":"unknown"}
            """
        answers["/v1/status"] =
            #"{"watching":false,"not_watching_since":"2026-11-21T05:58:00.000Z"}"#
        answers["/v1/dark"] = #"{"rows":[]}"#
        #expect(try Self.print(answers) == "")
    }

    // MARK: - Other servers

    @Test func `lines hold without fields, and with hostile ones`() throws {
        let events = [
            "", #""kind":"comet\u001b[2J","at":"2026-11-21T03:00:00Z""#, #""kind":"status""#,
            #""kind":"status","from":"\u0007","to":"B","origin":"\u009b""#,
            #""kind":"gap""#, #""kind":"gap","state":"open","suspected":"aliens\u001b""#,
            #""kind":"gap","state":"judged""#, #""kind":"gap","state":"closed""#,
            #""kind":"gap","state":"verdict","verdict":"\u202eabducted""#,
            #""kind":"gap","state":"resting\u001b""#, #""kind":"blind""#, #""kind":"told""#,
            #""kind":"server","at":"x""#, #""kind":"contact""#,
            #""kind":"contact","facts":{"app_state":"\u001b[1m","battery_level":62}"#,
        ]
        let story = try Self.story(events)
        #expect(story == "")
        #expect(
            story.unicodeScalars.allSatisfy { $0 == "\n" || ConsoleText.safe("\($0)") == "\($0)" })
    }

    @Test func `a server that counts no dark time says the rest`() throws {
        var answers = Self.answers([])
        answers["/v1/dark"] = nil
        answers["/v1/responders/r-17"] = "{}"
        #expect(try Self.print(answers) == "")
    }

    @Test func `a server without timelines is too old`() throws {
        var answers = Self.answers([])
        answers["/v1/responders/r-17/timeline"] = nil
        #expect(throws: QuestionError.self) { try Self.print(answers) }
    }

    @Test func `nobody has this id`() throws {
        let server = try CannedServer(
            ["/v1/responders/r-1%1B": #"{"detail":"nobody has this id"}"#], status: 404)
        defer { server.stop() }
        do {
            _ = try Explanation.Question(
                id: "r-1\u{1B}", since: "24h", isJSON: false, now: GapsCommandTests.now
            ).answer(from: try server.asked(), style: ConsoleStyle())
            Issue.record("somebody has it")
        } catch let error as QuestionError {
            #expect("\(error)" == "\(server.url) knows nobody with the id r-1\\u{1B}")
            #expect(error.exitCode == 1)
        }
    }

    @Test func `an id of 128 bytes is asked for, a longer one and none are not`() throws {
        func question(_ count: Int) throws -> Explanation.Question {
            try Explanation.Question(
                id: String(repeating: "x", count: count), since: "24h", isJSON: false,
                now: GapsCommandTests.now)
        }
        _ = try question(128)
        #expect(throws: QuestionError.self) { try question(129) }
        #expect(throws: QuestionError.self) { try question(0) }
    }

    @Test func `JSON is one object with the events oldest first`() throws {
        var answers = Self.answers([#""kind":"told","n":1"#, #""kind":"told","n":2"#])
        answers["/v1/responders/r-17"] = #"{"status":"ONLINE"}"#
        answers["/v1/dark"] = #"{"rows":[]}"#
        #expect(
            try Self.print(answers, isJSON: true)
                == #"{"status":{"status":"ONLINE"},"events":[{"kind":"told","n":1},"#
                + #"{"kind":"told","n":2}],"truncated":false,"dark":{"rows":[]}}"# + "\n")
    }
}
