import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What lists print for machines, of canned answers.
@Suite struct OutputFormTests {
    // MARK: - Cells

    @Test(arguments: [
        ("r-17", "r-17"), ("", ""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""),
        ("a\nb", "\"a\nb\""), ("a\r\nb", "\"a\r\nb\""), ("a;=1", "\"a;=1\""), (" a", "\" a\""),
        ("\"\u{301}x", "\"\"\"\u{301}x\""),
    ])
    func `V6: a cell is quoted if what it holds could end it`(text: String, cell: String) {
        #expect(CSVText.cell(text) == cell)
    }

    @Test(arguments: [
        ("=1+1", "'=1+1"), ("+15551", "'+15551"), ("-x", "'-x"), ("@a", "'@a"),
        ("\t=1", "\"'\t=1\""), ("\r=1", "\"'\r=1\""), ("\n=1", "\"'\n=1\""), ("  =1", "'  =1"),
        ("\u{FF1D}1", "'\u{FF1D}1"), ("=\"a\"", "\"'=\"\"a\"\"\""),
        ("'s-Hertogenbosch", "''s-Hertogenbosch"), ("a=1", "a=1"), ("1-2", "1-2"),
    ])
    func `V6: a spreadsheet takes no text for a formula, and the text can be had again`(
        text: String, cell: String
    ) {
        #expect(CSVText.cell(text) == cell)
    }

    @Test func `V6: a number is no text, and what is not known is an empty cell`() {
        let columns = RecordColumns(["a", "b", .init("d", at: "c", "d"), "e", .details])
        let record: JSONTree = [
            "a": -1.5, "b": nil, "c": ["d": "x"], "e": ["l": ["=", 1]], "f": true, "g": "ü",
        ]
        #expect(columns.head == "a,b,d,e,details\r\n")
        #expect(
            columns.row(record, ConsoleStyle())
                == "-1.5,,x,\"{\"\"l\"\":[\"\"=\"\",1]}\",\"{\"\"f\"\":true,\"\"g\"\":\"\"ü\"\"}\"\r\n"
        )
    }

    @Test func `what goes to a terminal cannot steer it`() {
        var style = ConsoleStyle()
        let columns = RecordColumns(["a"], id: "a")
        let record: JSONTree = ["a": "x\u{1B}[2J"]
        #expect(columns.row(record, style) == "\"x\u{1B}[2J\"\r\n")
        style.isTerminal = true
        #expect(columns.row(record, style) == "x\\u{1B}[2J\r\n")
        let turned = columns.printout([["a": "x\u{202E}"]], .ids, style, lack: nil)
        #expect(turned == Printout("x\\u{202E}\n"))
    }

    // MARK: - Ids

    @Test func `V6: ids are a line each, each once, and one that is no line is said`() {
        let columns = RecordColumns(["id"], id: "id")
        let records: [JSONTree] = [
            ["id": "b"], ["id": 7], ["id": "b"], ["id": nil], [:], ["id": "ä b"],
        ]
        #expect(
            columns.printout(records, .ids, ConsoleStyle(), lack: nil) == Printout("b\n7\nä b\n"))
        for odd in ["b\nc", "b\rc", "b\0", "b\u{85}", "b\u{2028}c", "\u{1B}[2J"] {
            let list = columns.printout(
                records + [["id": .text(odd)]], .ids, ConsoleStyle(), lack: nil)
            #expect(list.text == "b\n7\nä b\n")
            #expect(
                list.lack
                    == "the list is not whole: 1 id with control characters cannot be a line. "
                    + "-o json has all")
        }
    }

    // MARK: - Lists

    private static let gaps = """
        {"gaps":[{"gap":2,"responder_id":"=r","state":"open","opened_at":"2026-11-21T05:50:05.000Z",
        "offline_at":"2026-11-21T05:51:35.000Z","closed_at":null,"length_seconds":595.5,
        "suspected":"no_network","first_suspected":"no_network","verdict":null,"region":"a,b",
        "platform":"ios","blind_seconds":0.0,"left_out":false,
        "evidence":{"last_contact_at":"2026-11-21T05:48:35.000Z"},"text":"Suspected."},
        {"gap":1,"responder_id":"=r"}],"next":NEXT}
        """

    private static func gaps(
        _ form: OutputForm, next: String = "null", limit: Int? = nil
    ) throws -> Printout {
        let server = try CannedServer(["/v1/gaps": gaps.replacing("NEXT", with: next)])
        defer { server.stop() }
        var options = GapQuestion.Options()
        (options.form, options.limit) = (form, limit)
        return try GapQuestion(options, now: GapsCommandTests.now)
            .answer(from: try server.asked(), style: ConsoleStyle())
    }

    @Test func `V6: gaps as CSV and as ids`() throws {
        let head =
            "gap,responder_id,state,opened_at,offline_at,closed_at,length_seconds,suspected,"
            + "first_suspected,verdict,region,platform,manufacturer,model,os_version,app_version,"
            + "blind_seconds,left_out,last_contact_at,text\r\n"
        let first =
            "2,'=r,open,2026-11-21T05:50:05.000Z,2026-11-21T05:51:35.000Z,,595.5,no_network,"
            + "no_network,,\"a,b\",ios,,,,,0.0,false,2026-11-21T05:48:35.000Z,Suspected.\r\n"
        let csv = try Self.gaps(.csv)
        #expect(csv == Printout(head + first + "1,'=r,,,,,,,,,,,,,,,,,,\r\n"))
        #expect(try Self.gaps(.ids) == Printout("=r\n"))
    }

    @Test(arguments: [OutputForm.json, .csv, .ids])
    func `V6: a list that is not whole says so, unless a limit wanted no more`(
        form: OutputForm
    ) throws {
        // The cursor stands still, so that nothing more can be had.
        #expect(
            try Self.gaps(form, next: "\"18\"").lack
                == "the list is not whole: there are more than 4 gaps. --since and --until choose")
        #expect(try Self.gaps(form, next: "\"18\"", limit: 2).lack == nil)
        #expect(try Self.gaps(.table, next: "\"18\"").lack == nil)
    }

    @Test func `K5: an alert of several cells is known by its key, and by its number else`() {
        let alone: JSONTree = ["incident": 5, "key": "rollcall-1-5"]
        let columns = RecordColumns.alerts
        #expect(columns.name(of: alone) == "5")
        for cell: JSONTree in [nil, "c1"] {
            #expect(columns.name(of: alone.with(["cell": cell])) == "rollcall-1-5")
        }
        #expect(columns.head.hasSuffix(",muted,key,cell\r\n"))
    }

    // MARK: - Cells that do not answer

    @Test(arguments: [
        ("[]", nil), ("[\"c\"]", "cell c does not answer: what it has is missing here"),
        ("[\"a\",\"b\",\"c\"]", "cells a, b and c do not answer: what they have is missing here"),
        (
            "[\"a\",\"fleet cell\"]",
            "the fleet cell and cell a do not answer: what they have is missing here"
        ),
        // As a write has it, which no list is.
        ("[{\"cell\":\"c\",\"items\":[1]}]", nil),
    ])
    func `K5: a list says which cells are missing`(names: String, sentence: String?) throws {
        for form in OutputForm.allCases {
            let server = try CannedServer([
                "/v1/gaps": "{\"gaps\":[],\"next\":null,\"unavailable\":\(names)}"
            ])
            defer { server.stop() }
            var options = GapQuestion.Options()
            options.form = form
            let asked = try server.asked()
            let list = try GapQuestion(options, now: GapsCommandTests.now)
                .answer(from: asked, style: ConsoleStyle())
            #expect(asked.missing.sentence == sentence)
            guard form == .table else { continue }
            let rest = sentence.map { "\n\(Printout.capital($0)).\n" } ?? ""
            #expect(list.text == "No gaps.\n\(rest)")
        }
    }

    @Test func `K5: a cell that is missing on one page is named of all`() throws {
        let server = try CannedServer([
            "/v1/gaps?limit=1000&after=7": "{\"gaps\":[],\"next\":null,\"unavailable\":[]}",
            "/v1/gaps":
                "{\"gaps\":[{\"gap\":1,\"responder_id\":\"r\"}],\"next\":\"7\",\"unavailable\":[\"c\"]}",
        ])
        defer { server.stop() }
        var options = GapQuestion.Options()
        options.form = .json
        let asked = try server.asked()
        let list = try GapQuestion(options, now: GapsCommandTests.now)
            .answer(from: asked, style: ConsoleStyle())
        #expect(asked.missing.names == ["c"])
        #expect(list.text.contains("\"unavailable\":[\"c\"]"))
    }

    @Test func `V6: what is counted and what happened have no ids`() throws {
        var gaps = GapQuestion.Options()
        (gaps.form, gaps.by) = (.ids, "cause")
        #expect(throws: QuestionError.self) { try GapQuestion(gaps, now: GapsCommandTests.now) }
        var nudges = NudgeQuestion.Options()
        (nudges.form, nudges.by) = (.ids, "cause")
        #expect(throws: QuestionError.self) { try NudgeQuestion(nudges) }
        #expect(throws: QuestionError.self) {
            try Explanation.Question(
                id: "r", since: "1h", form: .ids, now: GapsCommandTests.now)
        }
    }

    @Test func `V6: counts as CSV, and that the server counts no more`() throws {
        let table = """
            {"by":["cause"],"rows":[{"cause":"low_power","gaps":2,"open":1,"blind":0,
            "seconds":{"median":1.5,"longest":2,"total":3},"verdicts":{"network":1}}],"truncated":true}
            """
        let server = try CannedServer(["/v1/gaps": table])
        defer { server.stop() }
        var options = GapQuestion.Options()
        (options.form, options.by) = (.csv, "cause")
        let csv = try GapQuestion(options, now: GapsCommandTests.now)
            .answer(from: try server.asked(), style: ConsoleStyle())
        #expect(
            csv.text == "cause,gaps,share,people,open,median_seconds,longest_seconds,total_seconds,"
                + "blind,verdicts\r\nlow_power,2,,,1,1.5,2,3,0,\"{\"\"network\"\":1}\"\r\n")
        #expect(csv.lack?.hasPrefix("the list is not whole: there are more than 1 rows.") == true)
    }

    @Test func `V6: one part of the status, and a part only of what has one`() throws {
        let server = try CannedServer([
            "/v1/regions": """
            {"regions":[{"region":"east","active":2,"responders":{"ONLINE":1,"OFFLINE":1}}]}
            """,
            "/v1/alerts": """
            {"alerts":[{"alertname":"A","incident":null},{"alertname":"B","incident":48}],
            "truncated":true}
            """,
        ])
        defer { server.stop() }
        func list(_ part: StatusPart, _ form: OutputForm) throws -> Printout {
            try StatusQuestion(limit: nil, form: form, part: part)
                .answer(from: try server.asked(), style: ConsoleStyle())
        }
        #expect(
            try list(.regions, .csv)
                == Printout(
                    "region,active,ONLINE,DEGRADED,UNKNOWN,OFFLINE,not_expected,flapping,"
                        + "must_be_staffed\r\neast,2,1,,,1,,,\r\n"))
        #expect(try list(.regions, .ids) == Printout("east\n"))
        let alerts = try list(.alerts, .ids)
        #expect(alerts.text == "48\n")
        #expect(alerts.lack?.hasPrefix("the list is not whole: ") == true)
        for form in [OutputForm.table, .json] {
            #expect(throws: QuestionError.self) { try list(.regions, form) }
        }
        // A server that has no such route has no empty list of it.
        let old = try CannedServer([:])
        defer { old.stop() }
        #expect(throws: QuestionError.self) {
            try StatusQuestion(limit: nil, form: .csv, part: .regions)
                .answer(from: try old.asked(), style: ConsoleStyle())
        }
    }

    @Test func `V6: members as CSV and as ids`() throws {
        let answer = """
            {"member":"b","role":"leading","leader":"b","confirmed":true,"position":7,"members":[
            {"member":"b","listed":true,"position":7,"noted_at":"2026-11-21T06:00:09.000Z",
            "address":"http://10.0.0.1:10112"}]}
            """
        let server = try CannedServer(["/v1/cluster": answer])
        defer { server.stop() }
        func print(_ form: OutputForm) throws -> Printout {
            try ClusterQuestion(form).answer(
                from: try server.asked(), style: ConsoleStyle(), now: GapsCommandTests.now
            ).printout
        }
        #expect(
            try print(.csv)
                == Printout(
                    "member,listed,position,noted_at,address\r\n"
                        + "b,true,7,2026-11-21T06:00:09.000Z,http://10.0.0.1:10112\r\n"))
        #expect(try print(.ids) == Printout("b\n"))
    }

    // MARK: - Events

    private static func events(
        _ form: OutputForm, limit: Int? = nil
    ) throws -> (text: String, lack: String?) {
        func page(_ number: Int, next: Int) -> String {
            """
            {"events":[{"cursor":"a-\(number)","at":"2026-11-21T06:00:00.000Z","kind":"status",
            "responder_id":"r","from":"ONLINE"}],"next":"a-\(next)"}
            """
        }
        let server = try CannedServer([
            "/v1/events?after=a-0&limit=1000": page(1, next: 1),
            "/v1/events?after=a-1&limit=1000": page(2, next: 2),
            "/v1/events?after=a-2&limit=1000": #"{"events":[],"next":"a-2"}"#,
        ])
        defer { server.stop() }
        var options = EventQuestion.Options()
        (options.form, options.limit, options.after) = (form, limit, "a-0")
        var text = ""
        let lack = try EventQuestion(options).run(
            from: try server.asked(), style: ConsoleStyle(),
            print: { (line) throws(QuestionError) in text += line }, complain: { _ in })
        return (text, lack)
    }

    @Test func `V6: events behind a cursor go on to the end`() throws {
        let row = "2026-11-21T06:00:00.000Z,status,r,,\"{\"\"from\"\":\"\"ONLINE\"\"}\"\r\n"
        let csv = try Self.events(.csv)
        #expect(csv.text == "cursor,at,kind,responder_id,region,details\r\na-1,\(row)a-2,\(row)")
        #expect(csv.lack == nil)
        #expect(try Self.events(.ids).text == "a-1\na-2\n")
        #expect(try Self.events(.ids, limit: 1).text == "a-1\n")
        #expect(try Self.events(.json).text.split(separator: "\n").count == 2)
    }

    // MARK: - Standard output

    @Test func `what cannot be printed ends with 74, and with that of SIGPIPE where nobody reads`()
    {
        #expect(QuestionError.notPrinted(28).exitCode == 74)
        #expect("\(QuestionError.notPrinted(28))" == "standard output: No space left on device")
        #expect(QuestionError.notPrinted(32).exitCode == 141)
    }
}
