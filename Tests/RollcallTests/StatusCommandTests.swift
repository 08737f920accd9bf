import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall status` prints, of canned answers.
@Suite struct StatusCommandTests {
    private static let status = """
        {"version":"0.1.0","as_of":"2026-11-21T06:00:00.000Z",
         "started_at":"2026-11-20T05:00:00.000Z","watching":true,"blind":[],
         "responders":{"active":41,"ONLINE":33,"DEGRADED":1,"UNKNOWN":1,"OFFLINE":6},
         "not_expected":{"all":3},"last_batch_at":"2026-11-21T05:59:58.000Z",
         "sources":[{"source":"pod-1","up":true,"last_beat_at":"2026-11-21T05:59:58.000Z"},
                    {"source":"pod-2","up":false,"last_beat_at":"2026-11-21T05:35:00.000Z"}],
         "store":{"state":"ok","size_bytes":13631488,"oldest_at":"2026-11-01T00:00:00.000Z"},
         "alerts":{"firing":1,"pending":1,"silences":1},
         "nudges":{"mode":"dry_run","sink":"none","frozen_until":null,"pending":2},
         "receivers":[{"name":"oncall","kind":"pagerduty","pending":0},
                      {"name":"hook","kind":"webhook","pending":3}],
         "settings":{"last_reload_ok":false}}
        """
    private static let blind = """
        {"version":"0.1.0","as_of":"2026-11-21T06:00:00.000Z","watching":false,
         "not_watching_since":"2026-11-21T03:12:00.000Z",
         "blind":[{"reason":"heartbeat","since":"2026-11-21T03:12:00.000Z"}],
         "responders":{"active":2,"ONLINE":2,"DEGRADED":0,"UNKNOWN":0,"OFFLINE":0},
         "not_expected":{"all":0},"last_batch_at":null,"sources":[]}
        """
    private static let regions = """
        {"regions":[
          {"region":"east","active":20,"responders":{"UNKNOWN":1,"ONLINE":19,"DEGRADED":0,"OFFLINE":0},
           "not_expected":3,"must_be_staffed":true},
          {"region":"north","active":21,"responders":{"UNKNOWN":0,"ONLINE":14,"DEGRADED":1,"OFFLINE":6},
           "not_expected":0,"must_be_staffed":false}],"next":null}
        """
    private static let gaps = """
        {"gaps":[{"responder_id":"r-23","region":"north","platform":"android",
          "evidence":{"last_contact_at":"2026-11-21T05:35:00.000Z"},"suspected":"no_network",
          "text":"Suspected: no_network, because the phone had said that it has no network."},
         {"responder_id":"r-4","region":"north","platform":"unknown","evidence":{},
          "suspected":"never_heard"}],"next":NEXT}
        """
    private static let alerts = """
        {"alerts":[
          {"alertname":"HighOfflineRate","state":"firing","severity":"warning",
           "starts_at":"2026-11-21T05:50:00.000Z","annotations":{"summary":"6 of 41 offline"},
           "receivers":[{"receiver":"hook","state":"trying","attempts":3,"last_error":"timed out",
            "next_attempt_at":"2026-11-21T06:00:05.000Z"}],"muted":[{"receiver":"oncall","reason":"silence",
           "silence":3}]},
          {"alertname":"NoOnlineResponders","state":"pending","severity":"critical",
           "active_at":"2026-11-21T05:59:30.000Z","annotations":{"summary":"Nobody can be reached in west"}},
          {"alertname":"Watchdog","state":"firing","severity":"none"}]}
        """
    private static let people = #"{"responders":[{},{}],"next":null}"#

    private static func answers(
        _ status: String = status, next: String = "null"
    ) -> [String: String] {
        [
            "/v1/status": status, "/v1/regions": regions, "/v1/alerts": alerts,
            "/v1/gaps": gaps.replacing("NEXT", with: next), "/v1/responders": people,
        ]
    }

    private static func print(
        _ answers: [String: String], limit: Int? = nil, form: OutputForm = .table,
        _ style: ConsoleStyle = ConsoleStyle()
    ) throws -> String {
        let server = try CannedServer(answers)
        defer { server.stop() }
        return try StatusQuestion(limit: limit, form: form)
            .answer(from: try server.asked(), style: style).text
    }

    @Test func `the server's sentence stands above everything but what nobody knows of`() throws {
        let sentence = """
            "sentence":{"level":"bad","headline":"6 of 41 cannot be reached.","rest":"","detail":
            "Since 05:35."},"nobody_reached":{"alerts":1,"reason":"no_receiver"},"version":
            """
        let text = try Self.print(
            Self.answers(Self.status.replacing("\"version\":", with: sentence)))
        #expect(
            text.hasPrefix(
                """
                NOBODY HAS BEEN REACHED: no receiver is set for 1 critical alert.
                6 of 41 cannot be reached.
                Since 05:35.
                Watching. As of 2026-11-21 06:00:00 UTC;
                """))
    }

    @Test func `a sentence that is not understood is none, or one that may be bad`() throws {
        func sentence(_ text: String) throws -> SentenceText? {
            SentenceText(try JSONTree(reading: Array("{\"sentence\":\(text)}".utf8)))
        }
        for text in ["null", "[]", "{}", #"{"headline":""}"#, #"{"headline":7}"#] {
            #expect(try sentence(text) == nil)
        }
        let bare = try #require(try sentence(#"{"headline":"a\u001b[2J"}"#))
        #expect((bare.claim, bare.detail) == ("a\\u{1B}[2J", ""))
        #expect(bare.level == .unknown && bare.level.isLoud)
        #expect(try sentence(#"{"headline":"a","rest":"b","level":"good"}"#)?.claim == "a b")
    }

    @Test func `a limit holds for each list of the JSON, the worst first`() throws {
        func tree(_ limit: Int?) throws -> JSONTree {
            let text = try Self.print(Self.answers(), limit: limit, form: .json)
            return try JSONTree(reading: Array(text.utf8))
        }
        let cut = try tree(1)
        #expect(cut["regions"]?.elements.compactMap { $0["region"]?.text } == ["north"])
        #expect(cut["alerts"]?.elements.count == 1)
        #expect(cut["truncated"] == .boolean(true))
        let whole = try tree(nil)
        #expect(whole["regions"]?.elements.compactMap { $0["region"]?.text } == ["east", "north"])
        #expect(whole["alerts"]?.elements.count == 3)
        #expect(whole["truncated"] == .boolean(false))
    }

    @Test func `what was lost with a store is said, and what was kept of it`() throws {
        let lost =
            #""oldest_at":null,"lost":{"at":"2026-11-21T05:00:00.000Z","cause":"damaged","#
            + #""kept":["r.db.corrupt-20261121T050000Z"]}}"#
        let status = Self.status.replacing(
            #""oldest_at":"2026-11-01T00:00:00.000Z"}"#, with: lost)
        let text = try Self.print(Self.answers(status)).split(separator: "\n").joined(
            separator: " ")
        #expect(
            text.contains(
                "STATE LOST 1h ago (05:00:00): damaged, kept as r.db.corrupt-20261121T050000Z;"))
        #expect(try !Self.print(Self.answers()).contains("LOST"))
    }

    @Test func `everything that matters is on one page`() throws {
        let text = try Self.print(Self.answers(next: "\"18\""), limit: 2)
        #expect(
            text == """
                Watching. As of 2026-11-21 06:00:00 UTC; last batch 2s ago (05:59:58). 1 of 2
                sources beating; pod-2 DOWN, last beat 25m ago (05:35:00).

                region  expected  ONLINE  DEGRADED  UNKNOWN  OFFLINE  not expected
                north         21      14         1        0        6             0
                east *        20      19         0        1        0             3
                all           41      33         1        1        6             3
                * must be staffed
                2 of the ONLINE cannot be vouched for: we were not watching, and have not heard
                from them since or not lately enough.

                6 silent, the newest first
                r-23 in north, android: last seen 25m ago (05:35:00).
                  Suspected: no_network, because the phone had said that it has no network.
                r-4 in north: never seen since they were expected.
                  Suspected: never_heard.
                and 4 more: --limit shows more here, rollcall gaps all

                Alerts: 1 firing, 1 pending. 1 silence in force.
                pending NoOnlineResponders (critical) since 30s ago (05:59:30)
                  Nobody can be reached in west.
                FIRING HighOfflineRate (warning) since 10m ago (05:50:00)
                  6 of 41 offline. Nobody was told; NOT REACHED: hook (trying, 3 attempts, last
                  error: timed out, next in 5s); not told: oncall (silenced by 3).

                Rollcall 0.1.0, started 1d 1h ago (2026-11-20 05:00:00); store ok, 13 MiB,
                history since 2026-11-01 00:00:00; nudges dry run, 2 waiting; receivers oncall,
                hook (3 waiting); LAST RELOAD REFUSED: the settings from before are in force.

                """)
    }

    /// Told is only who took it.
    @Test func `D1: who has not taken an alert is named with what they answered`() throws {
        var answers = Self.answers()
        func told(_ receivers: String) throws -> String {
            answers["/v1/alerts"] = """
                {"alerts":[{"alertname":"A","state":"firing","severity":"critical",
                 "annotations":{"summary":"s"},"told":[{"receiver":"pager"}],
                 "receivers":[\(receivers)]}]}
                """
            return try Self.print(answers).split(separator: "\n").map { $0.drop { $0 == " " } }
                .joined(separator: " ")
        }
        let taken =
            #"{"receiver":"pager","state":"taken","taken_at":"2026-11-21T05:59:35.000Z","attempts":1}"#
        #expect(try told(taken).contains("s. Told: pager 25s ago (05:59:35). Rollcall"))
        let refused =
            #"{"receiver":"pager","target":1,"state":"refused","attempts":1,"last_error":"\u001b403"}"#
        #expect(
            try told(taken + "," + refused).contains(
                "Told: pager 25s ago (05:59:35); NOT REACHED: pager (address 2) (refused, 1 attempt, "
                    + #"last error: \u{1B}403)."#))
        #expect(
            try told(#"{"receiver":"pager","state":"waiting","attempts":0}"#).contains(
                "s. Nobody was told; NOT REACHED: pager (waiting). Rollcall"))
        #expect(try told("").contains("s. Nobody was told; no receiver is set for it. Rollcall"))
        // Of nothing but a log it is said.
        let line = #"{"receiver":"log","state":"taken","attempts":1}"#
        answers["/v1/status"] = Self.status.replacing(
            #"{"name":"oncall","kind":"pagerduty","pending":0}"#,
            with: #"{"name":"log","kind":"log","pending":0}"#)
        #expect(try told(line).contains("s. Only the log was told: log. Rollcall"))
        #expect(try told(line + "," + taken).contains("s. Told: log, pager 25s ago"))
    }

    @Test func `D10: a clock that is off is told below the watch`() throws {
        let one = #"{"source":"pod-1","state":"corrected","text":"source pod-1: its clock is off"}"#
        let other = #"{"source":"pod-2","state":"late","text":"times from pod-2 arrive late"}"#
        let status = Self.blind.replacing(
            #""sources":[]}"#, with: #""sources":[],"clocks":[\#(one),\#(other)]}"#)
        let text = try Self.print(Self.answers(status), limit: 1)
        #expect(text.contains("\nsource pod-1: its clock is off.\nand 1 more\n\n"))
        #expect(!text.contains("pod-2"))
    }

    @Test func `D1: that nobody has been reached comes before everything else`() throws {
        func first(_ members: String) throws -> String {
            let status = Self.blind.replacing(
                #""sources":[]}"#, with: #""sources":[],"nobody_reached":\#(members)}"#)
            let text = try Self.print(Self.answers(status))
            return text.split(separator: "\n\n")[0].split(separator: "\n").joined(separator: " ")
        }
        let since = #""since":"2026-11-21T05:54:00.000Z","incidents":[3,4]"#
        #expect(
            try first(#"{"alerts":2,\#(since),"reason":"not_taken"}"#).hasPrefix(
                "NOBODY HAS BEEN REACHED: no receiver has taken 2 critical alerts, firing since 6m "
                    + "ago (05:54:00). NOT WATCHING since"))
        #expect(
            try first(#"{"alerts":1,\#(since),"reason":"no_receiver"}"#).hasPrefix(
                "NOBODY HAS BEEN REACHED: no receiver is set for 1 critical alert, firing since"))
        #expect(try first("null").hasPrefix("NOT WATCHING since"))
    }

    @Test func `the worst alerts come first, and are not hidden behind many others`() throws {
        func alert(
            _ name: String, _ severity: String, _ state: String, _ count: Int, _ minute: Int
        ) -> String {
            let begin = state == "firing" ? "starts_at" : "active_at"
            return """
                {"alertname":"\(name)","state":"\(state)","severity":"\(severity)","count":\(count),
                 "\(begin)":"2026-11-21T05:\(minute):00.000Z","annotations":{"summary":"s"}}
                """
        }
        var alerts = (10..<20).map { alert("Flaps\($0)", "warning", "firing", 1, $0) }
        alerts += [
            alert("Pends", "critical", "pending", 9, 10), alert("Old", "critical", "firing", 3, 20),
            alert("Many", "critical", "firing", 40, 50), alert("New", "critical", "firing", 3, 40),
            alert("Told", "info", "firing", 99, 10),
        ]
        var answers = Self.answers()
        answers["/v1/alerts"] = "{\"alerts\":[\(alerts.joined(separator: ","))]}"
        let text = try Self.print(answers, limit: 6)
        let names = text.split(separator: "\n").filter { $0.contains(") since ") }.map {
            String($0.split(separator: " ")[1])
        }
        #expect(names == ["Many", "Old", "New", "Pends", "Flaps10", "Flaps11"])
        #expect(text.contains("\nand 9 more\n"))
    }

    @Test func `D7: who is silent is the engine's number, and so are the causes`() throws {
        let status = Self.status.replacing(
            #""last_batch_at":"2026"#,
            with:
                #""gaps":{"open":6,"suspected":{"no_network":2,"mass_gap":4}},"last_batch_at":"2026"#
        )
        let text = try Self.print(Self.answers(status))
        #expect(
            text.contains("6 silent, the newest first\nSuspected: 4 mass gap, 2 no network.\nr-23"))
        let fewer = status.replacing(#""OFFLINE":6}"#, with: #""OFFLINE":5}"#)
        #expect(
            try Self.print(Self.answers(fewer)).contains(
                "5 silent, the newest first\nSuspected of 6 open gaps: 4 mass gap, 2 no network.\n")
        )
        let nobody = status.replacing(#""OFFLINE":6}"#, with: #""OFFLINE":0}"#)
        var answers = Self.answers(nobody)
        #expect(try Self.print(answers).contains("\n\nNobody is known to be silent.\n\n"))
        answers["/v1/responders"] = #"{"responders":[],"next":null}"#
        #expect(try Self.print(answers).contains("\n\nNobody is silent.\n\n"))
    }

    @Test func `while nobody watches that comes first, and nothing is said for sure`() throws {
        var answers = Self.answers(Self.blind)
        answers["/v1/gaps"] = #"{"gaps":[],"next":null}"#
        answers["/v1/alerts"] = #"{"alerts":[]}"#
        answers["/v1/regions"] = nil
        let text = try Self.print(answers)
        #expect(
            text == """
                NOT WATCHING since 2h 48m ago (03:12:00): your backend's heartbeats stayed away.
                Everything below is what was last known.
                As of 2026-11-21 06:00:00 UTC; no batch ever came. No source promised a
                heartbeat.

                region  expected  ONLINE  DEGRADED  UNKNOWN  OFFLINE  not expected
                all            2       2         0        0        0             0

                Nobody was silent when we last saw; who is now cannot be seen.

                No alert is firing or pending.

                Rollcall 0.1.0.

                """)
    }

    @Test func `each part shows so many rows, and says how many there are more`() throws {
        let text = try Self.print(Self.answers(), limit: 1)
        #expect(text.contains("\nand 1 more\nall"))
        #expect(text.contains("pending NoOnlineResponders"))
        #expect(text.contains("\nand 1 more\n\nRollcall"))
        #expect(text.contains("receivers oncall,\nand 1 more"))
        #expect(!text.contains("Watchdog"))
        _ = try StatusQuestion(limit: StatusQuestion.limitMax, form: .table)
        for limit in [0, StatusQuestion.limitMax + 1] {
            #expect(
                throws: QuestionError.wrongOption("--limit: 1 to 1000 expected (\(limit))")
            ) { try StatusQuestion(limit: limit, form: .table) }
        }
    }

    @Test func `colours are for terminals, and what is loud has words for it`() throws {
        var style = ConsoleStyle()
        style.isColoured = true
        let text = try Self.print(Self.answers(Self.blind), style)
        #expect(text.hasPrefix("\u{1B}[1;31mNOT WATCHING since "))
        #expect(text.contains("\u{1B}[1;31mFIRING HighOfflineRate"))
        #expect(!(try Self.print(Self.answers(Self.blind))).contains("\u{1B}"))
    }

    @Test func `a page of 40 columns breaks its lines and cuts names`() throws {
        var style = ConsoleStyle()
        (style.columns, style.isCut) = (40, true)
        let long = Self.answers().mapValues { $0.replacing("\"r-4\"", with: "\"日本 r-4\"") }
        let text = try Self.print(long, style)
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { ConsoleText.columns(String($0)) <= 40 })
        #expect(text.contains("日本 r-4 in north: never seen since\n  they were expected."))
        let fleet = """
            north: 21 expected, 14 ONLINE, 1
              DEGRADED, 6 OFFLINE
            east *: 20 expected, 19 ONLINE, 1
              UNKNOWN, 3 not expected
            all: 41 expected, 33 ONLINE, 1
              DEGRADED, 1 UNKNOWN, 6 OFFLINE, 3 not
              expected
            * must be staffed
            """
        #expect(text.contains(fleet), "\(text)")
    }

    @Test func `nothing that came from outside steers a terminal`() throws {
        let evil = #""\u001b[2J\u009b31m\u202ex""#
        let names = ["r-23", "north", "pod-2", "hook", "6 of 41 offline", "silence"]
        let hostile = Self.answers().mapValues { text in
            names.reduce(text) { $0.replacing("\"\($1)\"", with: evil) }
        }
        let text = try Self.print(hostile)
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
        #expect(!text.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
        #expect(!text.unicodeScalars.contains("\u{202E}"))
        #expect(text.contains("\\u{1B}[2J\\u{9B}31m\\u{202E}x in \\u{1B}[2J"))
        let json = try Self.print(hostile, form: .json)
        #expect(!json.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
        #expect(!json.contains("\u{1B}"))
    }

    @Test func `a page holds without fields`() throws {
        let bare = [
            "/v1/status": "{}", "/v1/alerts": #"{"alerts":[{}]}"#, "/v1/gaps": #"{"gaps":[{}]}"#,
            "/v1/responders": "{}",
        ]
        let text = try Self.print(bare)
        #expect(text.contains("–: never seen since they were expected.\n  Suspected: –.\n"))
        #expect(text.contains("pending –"))
    }

    @Test func `JSON holds the answers, and says if there was more`() throws {
        let json = try Self.print(Self.answers(next: "\"18\""), limit: 2, form: .json)
        let tree = try JSONTree(reading: Array(json.utf8))
        #expect(tree.names == ["status", "regions", "silent", "alerts", "truncated"])
        #expect(tree["truncated"]?.isTrue == true)
        #expect(tree["regions"]?.elements.count == 2 && tree["silent"]?.elements.count == 2)
        #expect(tree["status"]?["alerts"]?["firing"]?.whole == 1)
    }
}
