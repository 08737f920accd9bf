import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall gaps` prints, of canned answers.
@Suite struct GapsCommandTests {
    /// 2026-11-21T06:00:00Z.
    static let now = Timestamp(milliseconds: 1_795_240_800_000)

    private static func print(
        _ answers: [String: String], _ style: ConsoleStyle = ConsoleStyle(),
        _ change: (inout GapQuestion.Options) -> Void = { _ in }
    ) throws -> String {
        let server = try CannedServer(answers)
        defer { server.stop() }
        var options = GapQuestion.Options()
        change(&options)
        return try GapQuestion(options, now: now).answer(from: try server.asked(), style: style)
            .text
    }

    private static let pages = [
        "/v1/gaps?limit=1000": GapSamples.firstPage,
        "/v1/gaps?limit=998&after=18": GapSamples.secondPage,
    ]

    @Test func `a table says who was silent, since when, and why`() throws {
        let text = try Self.print(Self.pages)
        #expect(
            text == """
                4 gaps, newest first; 1 still open. Times in UTC.

                since   length  responder  region  platform  suspected      verdict
                2026-11-21
                05:50   9m55s   r-23       north   android   no_network     still silent
                05:40  18m50s   r-4        south   ios       low_power      just back
                03:01   7m55s   r-17       north   ios       app_suspended  network
                2026-11-20
                22:15    2h2m*  r-8        north   ios       mass_gap       app_stopped

                * We were not watching for 5 % of it or more: it counts against nobody (1 of 4).

                """)
    }

    @Test func `P7: under a gap that is open stands what usually follows`() throws {
        let outlook =
            #""return":null,"usual_return":{"median_seconds":570.0,"gaps":34,"of":"phones"},"#
            + #""odds":{"verdicts":{"network":25,"app_stopped":12},"gaps":42,"of":"platform"}"#
        let page = GapSamples.firstPage.replacing(#""return":null"#, with: outlook).replacing(
            "\"18\"", with: "null")
        let text = try Self.print(["/v1/gaps": page])
        #expect(
            text == """
                2 gaps, newest first; 1 still open. Times in UTC.

                since   length  responder  region  platform  suspected   verdict
                2026-11-21
                05:50   9m55s   r-23       north   android   no_network  still silent
                    Half of like phones' 34 such gaps were over after 9m 30s. Of 42 such gaps on
                    this platform 25 were network, 12 app_stopped.
                05:40  18m50s   r-4        south   ios       low_power   just back

                """)
        #expect(try Self.print(["/v1/gaps": page]) { $0.form = .json }.contains("usual_return"))
    }

    @Test func `a narrow terminal cuts names, not words`() throws {
        var style = ConsoleStyle()
        style.isCut = true
        let long = String(repeating: "w", count: 40)
        let page = GapSamples.firstPage.replacing("r-23", with: long).replacing(
            "\"18\"", with: "null"
        ).replacing("no_network", with: "location_services_off")
        let text = try Self.print(["/v1/gaps": page], style)
        #expect(
            text == """
                2 gaps, newest first; 1 still open. Times in UTC.

                since  length responder       region platform suspected             verdict
                2026-11-21
                05:50  9m55s  wwwwwwwwwwwwww… north  android  location_services_off still silent
                05:40 18m50s  r-4             south  ios      low_power             just back

                """)
    }

    @Test func `counts answer how many are offline, and on what devices`() throws {
        let answers = ["/v1/gaps": GapSamples.counts, "/v1/status": GapSamples.status]
        let text = try Self.print(answers) {
            $0.by = "cause,platform"
            $0.since = "24h"
        }
        #expect(
            text == """
                Now: 15 % OFFLINE; of 41 expected 33 ONLINE, 1 DEGRADED, 1 UNKNOWN, 6 OFFLINE.

                40 gaps since 2026-11-20 06:00:00 UTC, most first (3 more are left out: see
                blind).

                cause                  platform  gaps  share  open  median  longest  total  blind
                app_suspended          ios         21   53 %     1   8m30s       2h  5h45m      2
                    turned out: app_stopped 15, network 4, reinstalled 1, no verdict yet 1
                no_network             android     18   45 %     0   1m35s      21m   1h6m      0
                    turned out: network 18
                location_services_off  other        1    3 %     1      1h       1h     1h      1
                    turned out: no verdict yet 1

                blind: gaps of which we did not watch 5 % or more. They count against nobody:
                not in gaps, share, median, longest, total and verdicts.

                """)
    }

    @Test func `colours are for terminals`() throws {
        var style = ConsoleStyle()
        style.isColoured = true
        let text = try Self.print(Self.pages, style)
        #expect(text.contains("\u{1B}[1m2026-11-21\u{1B}[0m\n"))
        #expect(!(try Self.print(Self.pages)).contains("\u{1B}"))
    }

    // MARK: - Questions

    @Test func `every filter reaches the server`() throws {
        let server = try CannedServer(["/v1/gaps": #"{"gaps":[],"next":null}"#])
        defer { server.stop() }
        var options = GapQuestion.Options()
        options.state = "closed"
        options.cause = "low_power"
        options.verdict = "network"
        options.region = "nörd & süd"
        options.platform = "ios"
        options.since = "90m"
        options.until = "2026-11-21T05:00:00+01:00"
        options.limit = 7
        options.since = "24h"
        let question = try GapQuestion(options, now: Self.now)
        let text = try question.answer(from: try server.asked(), style: ConsoleStyle()).text
        #expect(
            text
                == "No gaps since 2026-11-20 06:00:00 UTC until 2026-11-21 04:00:00 UTC.\n")
        #expect(
            server.questions == [
                "/v1/gaps?state=closed&cause=low_power&verdict=network&region=nörd & süd"
                    + "&platform=ios&since=2026-11-20T06:00:00.000Z"
                    + "&until=2026-11-21T04:00:00.000Z&limit=7",
                // The fleet cell would find nobody.
                "/v1/cells",
            ])
    }

    @Test func `who was silent at an instant is asked for, and told`() throws {
        let server = try CannedServer([
            "/v1/gaps": GapSamples.firstPage.replacing("\"18\"", with: "null")
        ])
        defer { server.stop() }
        var options = GapQuestion.Options()
        options.at = "2026-11-21T05:55:00Z"
        let text = try GapQuestion(options, now: Self.now)
            .answer(from: try server.asked(), style: ConsoleStyle()).text
        #expect(text.hasPrefix("2 gaps at 2026-11-21 05:55:00 UTC, newest first; 1 still open."))
        options.at = "5m"
        options.form = .ids
        _ = try GapQuestion(options, now: Self.now)
            .answer(from: try server.asked(), style: ConsoleStyle())
        #expect(
            server.questions == [
                "/v1/gaps?at=2026-11-21T05:55:00.000Z&limit=1000",
                "/v1/gaps?at=2026-11-21T05:55:00.000Z&limit=1000",
            ])
    }

    private static let groups =
        "cause, verdict, region, platform, manufacturer, model, app_version, os_version"

    @Test(arguments: [
        ("state", "shut", "--state: one of open, closed expected (shut)"),
        (
            "platform", "win\u{1B}",
            "--platform: one of unknown, ios, android, other expected (win\\u{1B})"
        ),
        ("by", "day", "--by: one of \(groups) expected (day)"),
        ("by", "", "--by: one or more of \(groups) expected"),
        ("by", "cause,cause", "--by: one or more of \(groups) expected"),
        (
            "since", "yesterday",
            "--since: a span like 24h or a time like 2026-11-21T03:00:00Z expected (yesterday)"
        ),
        (
            "until", "24",
            "--until: a span like 24h or a time like 2026-11-21T03:00:00Z expected (24)"
        ),
        (
            "at", "noon",
            "--at: a span like 24h or a time like 2026-11-21T03:00:00Z expected (noon)"
        ),
        ("limit", "0", "--limit: 1 to 100000 expected (0)"),
        ("limit", "100001", "--limit: 1 to 100000 expected (100001)"),
    ])
    func `a wrong option is told with what is expected`(
        name: String, value: String, words: String
    ) throws {
        var options = GapQuestion.Options()
        switch name {
        case "state": options.state = value
        case "platform": options.platform = value
        case "by": options.by = value
        case "since": options.since = value
        case "until": options.until = value
        case "at": options.at = value
        default: options.limit = Int(value)
        }
        #expect(throws: QuestionError.wrongOption(words)) {
            try GapQuestion(options, now: Self.now)
        }
    }

    @Test func `the highest limit is taken`() throws {
        var options = GapQuestion.Options()
        options.limit = GapQuestion.limitMax
        _ = try GapQuestion(options, now: Self.now)
    }

    @Test func `what cannot go together is an error`() throws {
        var options = GapQuestion.Options()
        options.since = "1h"
        options.until = "1h"
        #expect(throws: QuestionError.wrongOption("--until: must be later than --since")) {
            try GapQuestion(options, now: Self.now)
        }
        options = GapQuestion.Options()
        (options.by, options.limit) = ("cause", 5)
        #expect(throws: QuestionError.self) { try GapQuestion(options, now: Self.now) }
    }

    // MARK: - JSON

    @Test func `JSON holds all pages, and says if there was more`() throws {
        let answers = [
            "/v1/gaps?limit=2": #"{"gaps":[{"gap":2}],"next":"2","as_of":"a"}"#,
            "/v1/gaps?limit=1&after=2": #"{"gaps":[{"gap":1}],"next":null,"as_of":"b"}"#,
            "/v1/gaps?limit=1": #"{"gaps":[{"gap":2}],"next":"2","as_of":"a"}"#,
        ]
        let whole = try Self.print(answers) { ($0.form, $0.limit) = (.json, 2) }
        #expect(whole == #"{"gaps":[{"gap":2},{"gap":1}],"truncated":false,"as_of":"b"}"# + "\n")
        let part = try Self.print(answers) { ($0.form, $0.limit) = (.json, 1) }
        #expect(part == #"{"gaps":[{"gap":2}],"truncated":true,"as_of":"a"}"# + "\n")
        let text = #"{"by":["cause"],"rows":[],"gaps":0,"truncated":false}"#
        let counts = try Self.print(["/v1/gaps": text]) { ($0.form, $0.by) = (.json, "cause") }
        #expect(counts == text + "\n")
    }

    // MARK: - Other servers

    @Test func `a table holds without fields, and with hostile ones`() throws {
        let page = """
            {"gaps":[{},{"responder_id":"\\u001b[2Jx\\u202e","opened_at":"2026-11-21T03:01:35Z",
            "length_seconds":-1e300,"state":"lost","verdict":"abducted","suspected":7,
            "region":null,"platform":"日本"}]}
            """
        let text = try Self.print(["/v1/gaps": page])
        #expect(
            text == """
                2 gaps, newest first; 0 still open. Times in UTC.

                since  length  responder           region  platform  suspected  verdict
                –
                –          –   –                   –       –         –          –
                2026-11-21
                03:01      –   \\u{1B}[2Jx\\u{202E}  –       日本      –          abducted

                """)
    }

    @Test func `counts hold without fields`() throws {
        let answers = [
            "/v1/gaps": #"{"rows":[{"cause":"x\u0007","gaps":1e30,"verdicts":{"a":"b"}},{}]}"#,
            "/v1/status": #"{"watching":false}"#,
        ]
        let text = try Self.print(answers) { $0.by = "cause" }
        #expect(
            text == """
                How many are OFFLINE now, this server does not tell.

                0 gaps, most first.

                gaps  share  open  median  longest  total  blind
                   –    0 %     –       –        –      –      –
                   –    0 %     –       –        –      –      –

                """)
    }
}
