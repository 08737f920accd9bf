import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall nudges` prints, of canned answers.
@Suite struct NudgesCommandTests {
    private static func print(
        _ answers: [String: String], _ style: ConsoleStyle = ConsoleStyle(),
        _ change: (inout NudgeQuestion.Options) -> Void = { _ in }
    ) throws -> String {
        let server = try CannedServer(answers)
        defer { server.stop() }
        var options = NudgeQuestion.Options()
        change(&options)
        return try NudgeQuestion(options).answer(from: try server.asked(), style: style).text
    }

    private static let standing =
        #""mode":"live","sink":"webhook","frozen_until":null,"watching":true"#
    private static let entries = [
        #"{"at":"2026-11-21T15:14:18.000Z","responder_id":"r-17","decision":"send","#
            + #""cause":"app_suspended","stale_seconds":14400,"#
            + #""text":"nudged; a location came 4m later"}"#,
        #"{"at":"2026-11-20T22:02:00.000Z","responder_id":"r-4","decision":"hold","reason":"solo","#
            + #""cause":"location_services_off","stale_seconds":90000,"#
            + #""text":"not nudged: nobody else of their circles is active"}"#,
    ]

    private static func page(
        _ entries: [String], next: String = "null", _ standing: String = standing
    ) -> String {
        #"{"nudges":[\#(entries.joined(separator: ","))],"next":\#(next),\#(standing)}"#
    }

    @Test func `a table says who was nudged, who was not, and why`() throws {
        let text = try Self.print(["/v1/nudges?limit=100": Self.page(Self.entries)])
        #expect(
            text == """
                Nudges are live, by webhook.

                2 entries, newest first. Times in UTC.

                at     responder  location  suspected              what
                2026-11-21
                15:14  r-17             4h  app_suspended          nudged; a location came 4m
                                                                   later
                2026-11-20
                22:02  r-4            1d1h  location_services_off  not nudged: nobody else of
                                                                   their circles is active

                """)
    }

    @Test func `counts say which phones a nudge wakes`() throws {
        let counts = """
            {"by":["manufacturer"],"rows":[
            {"manufacturer":"HUAWEI","nudges":12,"share":0.8,"people":4,
             "followed":{"located":2,"contact":1,"silent":8,"unseen":0},
             "seconds":{"median":252.0,"longest":900.0}},
            {"manufacturer":null,"nudges":3,"share":0.2,"people":1,
             "followed":{"located":0,"contact":0,"silent":0,"unseen":3},"seconds":null}],
            "nudges":15,"truncated":true,"as_of":"2026-11-21T06:00:00.000Z"}
            """
        let text = try Self.print(["/v1/nudges?by=manufacturer": counts]) {
            $0.by = "manufacturer"
        }
        #expect(
            text == """
                15 nudges, most first.

                manufacturer  nudges  share  people  located  contact  silent  unseen  after
                HUAWEI            12   80 %       4        2        1       8       0  4m12s
                –                  3   20 %       1        0        0       0       3      –

                located, contact: what came within half an hour, and after how long as a rule. A
                nudge counts for the phone that its person has now.

                There are more than the server counts: these are the newest.

                """)
        for wrong in ["colour", "", "model,model"] {
            #expect(throws: QuestionError.self) {
                try Self.print([:]) { $0.by = wrong }
            }
        }
        #expect(throws: QuestionError.self) {
            try Self.print([:]) { ($0.by, $0.limit) = ("model", 3) }
        }
    }

    @Test func `one person's answer comes first`() throws {
        let now = """
            {"responder_id":"r-17","nudge":false,"text":"not nudged now: they were nudged 15m ago",
            "last_location_at":"2026-11-21T11:14:18.000Z",
            "last_nudged_at":"2026-11-21T15:14:18.000Z","earliest_at":"2026-11-21T21:14:18.000Z",
            "as_of":"2026-11-21T15:29:18.000Z"}
            """
        let answers = [
            "/v1/responders/r-17/nudge": now,
            "/v1/nudges?responder_id=r-17&decision=send&limit=1": Self.page(
                [Self.entries[0]], next: "\"7\""),
        ]
        let text = try Self.print(answers) { options in
            (options.id, options.decision, options.limit) = ("r-17", "send", 1)
        }
        #expect(
            text == """
                r-17: not nudged now: they were nudged 15m ago. Last location 11:14:18 UTC. Last
                nudged 15:14:18 UTC. Not before 21:14:18 UTC.

                Nudges are live, by webhook.

                1 entry, newest first. Times in UTC.

                at     responder  location  suspected      what
                2026-11-21
                15:14  r-17             4h  app_suspended  nudged; a location came 4m later

                There are more: these are the newest. --limit shows more of them.

                """)
    }

    @Test(arguments: [
        (#""mode":"dry_run""#, "Nudges are a dry run: decided, and never sent."),
        (#""mode":"disabled""#, "Nudges are disabled: nothing is decided."),
        (#""mode":"odd\u001b""#, "Nudges: odd\\u{1B}."), (#""x":1"#, "Nudges: not told."),
        (
            #""mode":"live","sink":"expo","frozen_until":"2026-11-21T20:00:00Z","watching":false"#,
            """
            Nudges are live, by expo. They are frozen until 2026-11-21 20:00:00 UTC: the
            clock stepped, or the store is an older one. We are not watching: nobody is
            nudged meanwhile.
            """
        ),
    ])
    func `how nudges stand is told, with or without entries`(standing: String, words: String) throws
    {
        let text = try Self.print(["/v1/nudges": Self.page([], standing)])
        #expect(text == "\(words)\n\nThe ledger has no entries for that.\n")
    }

    @Test func `JSON holds all pages, and says if there was more`() throws {
        let answers = [
            "/v1/nudges?limit=2": #"{"nudges":[{"id":2}],"next":"2","mode":"live"}"#,
            "/v1/nudges?limit=1&after=2": #"{"nudges":[{"id":1}],"next":null,"mode":"live"}"#,
            "/v1/nudges?limit=1": #"{"nudges":[{"id":2}],"next":"2","mode":"live"}"#,
            "/v1/nudges?responder_id=a&limit=1000": #"{"nudges":[],"next":null,"mode":"live"}"#,
            "/v1/responders/a/nudge": #"{"nudge":false}"#,
        ]
        let whole = try Self.print(answers) { ($0.form, $0.limit) = (.json, 2) }
        #expect(whole == #"{"nudges":[{"id":2},{"id":1}],"truncated":false,"mode":"live"}"# + "\n")
        let part = try Self.print(answers) { ($0.form, $0.limit) = (.json, 1) }
        #expect(part == #"{"nudges":[{"id":2}],"truncated":true,"mode":"live"}"# + "\n")
        let one = try Self.print(answers) { ($0.form, $0.id) = (.json, "a") }
        #expect(
            one
                == #"{"now":{"nudge":false},"nudges":[],"truncated":false,"mode":"live"}"# + "\n")
    }

    @Test func `a table holds without fields, and with hostile ones`() throws {
        let odd = #"{"responder_id":"\u001b[2Jx","stale_seconds":-1e300,"text":"a\u0007b"}"#
        let text = try Self.print(["/v1/nudges": Self.page(["{}", odd])])
        #expect(
            text == """
                Nudges are live, by webhook.

                2 entries, newest first. Times in UTC.

                at  responder   location  suspected  what
                –
                –   –                  –  –          –
                –   \\u{1B}[2Jx         –  –          a\\u{7}b

                """)
    }

    // MARK: - Errors

    @Test(arguments: [
        ("decision", "maybe", "--decision: one of send, hold, dry_run expected (maybe)"),
        ("limit", "0", "--limit: 1 to 100000 expected (0)"),
        ("limit", "100001", "--limit: 1 to 100000 expected (100001)"),
        ("id", "", "ID: 1 to 128 bytes expected"),
        ("id", String(repeating: "x", count: 129), "ID: 1 to 128 bytes expected"),
    ])
    func `a wrong option is told with what is expected`(
        name: String, value: String, words: String
    ) throws {
        var options = NudgeQuestion.Options()
        switch name {
        case "decision": options.decision = value
        case "id": options.id = value
        default: options.limit = Int(value)
        }
        #expect(throws: QuestionError.wrongOption(words)) { try NudgeQuestion(options) }
    }

    @Test func `the longest id and the highest limit are taken`() throws {
        var options = NudgeQuestion.Options()
        options.id = String(repeating: "x", count: 128)
        options.limit = NudgeQuestion.limitMax
        _ = try NudgeQuestion(options)
    }

    @Test func `an id that nobody has and a server that is too old are told apart`() throws {
        let server = try CannedServer(
            ["/v1/responders/x/nudge": #"{"detail":"nobody has this id"}"#], status: 404)
        defer { server.stop() }
        var options = NudgeQuestion.Options()
        options.id = "x"
        #expect(throws: QuestionError.nobody(server: server.url, id: "x")) {
            try NudgeQuestion(options).answer(from: try server.asked(), style: ConsoleStyle()).text
        }
        options.id = "y"
        let error = QuestionError.tooOld(server: server.url, path: "/v1/responders/y/nudge")
        #expect(error.exitCode == 1)
        #expect(throws: error) {
            try NudgeQuestion(options).answer(from: try server.asked(), style: ConsoleStyle()).text
        }
    }
}
