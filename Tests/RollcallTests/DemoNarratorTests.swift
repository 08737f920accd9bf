import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport
@testable import RollcallTools

/// What the demo tells of answers, and how it looks.
@Suite struct DemoNarratorTests {
    private func tree(_ text: String) throws -> JSONTree {
        try JSONTree(reading: Array(text.utf8))
    }

    private func answers(
        _ statuses: [(String, String)], gaps: String = "[]", alerts: String = "[]",
        nudges: String = "[]", status: String = #"{"watching":true}"#
    ) throws -> DemoAnswers {
        var answers = DemoAnswers()
        answers.responders = statuses.map { id, status in
            ["responder_id": .text(id), "status": .text(status), "region": "north"]
        }
        answers.gaps = try tree(gaps).elements
        answers.alerts = try tree(alerts).elements
        answers.nudges = try tree(nudges).elements
        answers.status = try tree(status)
        return answers
    }

    private func lines(_ news: DemoNarrator.News) -> [String] {
        news.lines.map { "\($0.voice.rawValue) \($0.text)" }
    }

    private let four = ["r-1", "r-2", "r-3", "r-4"]

    /// A narrator that has told that all four are ONLINE.
    private func narrator() throws -> DemoNarrator {
        var narrator = DemoNarrator(people: four)
        let news = narrator.follow(try answers(four.map { ($0, "ONLINE") }), silent: [])
        #expect(lines(news) == ["rollcall 4 of 4 are ONLINE"])
        #expect(news.signs.contains(.everybodyOnline))
        return narrator
    }

    @Test func `nothing is told twice`() throws {
        var narrator = try narrator()
        let news = narrator.follow(try answers(four.map { ($0, "ONLINE") }), silent: [])
        #expect(news == DemoNarrator.News())
    }

    @Test func `a crowd is told in one line, others in one each`() throws {
        var narrator = try narrator()
        let news = narrator.follow(
            try answers(four.map { ($0, $0 == "r-4" ? "ONLINE" : "DEGRADED") }), silent: Set(four))
        #expect(lines(news) == ["rollcall 3 of north (r-1, r-2, …) DEGRADED: no contact for 4 s"])
        let back = narrator.follow(
            try answers([("r-1", "ONLINE"), ("r-2", "ONLINE"), ("r-3", "NOT_EXPECTED")]),
            silent: [])
        #expect(
            lines(back) == [
                "rollcall r-1 ONLINE: was only late", "rollcall r-2 ONLINE: was only late",
                "rollcall r-3 NOT_EXPECTED (?)",
            ])
        #expect(back.signs.contains(.status("r-3", "NOT_EXPECTED")))
    }

    private static let open = """
        [{"gap":1,"responder_id":"r-2","region":"north","state":"open","suspected":"no_network",
          "verdict":null,"return":null}]
        """
    private static let closed = """
        [{"gap":1,"responder_id":"r-2","region":"north","state":"closed","suspected":"no_network",
          "verdict":"network","return":{"captured_inside":7}}]
        """

    @Test func `a gap is told with its suspicion, then with its verdict`() throws {
        var narrator = try narrator()
        let online = four.map { ($0, "ONLINE") }
        let opened = narrator.follow(try answers(online, gaps: Self.open), silent: ["r-2"])
        #expect(
            lines(opened) == [
                "rollcall r-2 OFFLINE, suspected: no_network (its queue was growing)"
            ])
        #expect(opened.signs == [.gap("r-2", suspected: "no_network")])
        let closed = narrator.follow(try answers(online, gaps: Self.closed), silent: [])
        #expect(
            lines(closed) == [
                "rollcall r-2 verdict: network (7 locations were captured meanwhile)"
            ])
        #expect(closed.signs == [.verdict("r-2", "network")])
        #expect(narrator.gapsReported == (1, 1))
    }

    @Test func `who is silent by accident is told as such`() throws {
        var narrator = try narrator()
        let news = narrator.follow(try answers([], gaps: Self.open), silent: [])
        #expect(
            lines(news) == [
                "rollcall r-2 OFFLINE, suspected: no_network (its queue was growing)"
                    + " (not in the script: this machine was too busy)"
            ])
        // Somebody whom the reader plays is nobody's accident.
        var unauthenticated = DemoNarrator(people: ["r-9"])
        let other = unauthenticated.follow(try answers([], gaps: Self.open), silent: [])
        #expect(lines(other).first?.hasSuffix("growing)") == true)
    }

    @Test func `an alert is told when it is pending, fires and is resolved`() throws {
        var narrator = try narrator()
        func alert(_ state: String) -> String {
            """
            [{"alertname":"NoOnlineResponders","state":"\(state)","severity":"critical",
              "labels":{"region":"north"},"annotations":{"summary":"Nobody can be reached in north"}},
             {"alertname":"Watchdog","state":"firing","severity":"none","labels":{}}]
            """
        }
        let states = ["pending", "firing", "firing"]
        let told = try states.map {
            lines(narrator.follow(try answers([], alerts: alert($0)), silent: []))
        }
        #expect(
            told == [
                ["rollcall NoOnlineResponders is pending for north"],
                ["rollcall NoOnlineResponders fires: Nobody can be reached in north"], [],
            ])
        let news = narrator.follow(try answers([]), silent: [])
        #expect(lines(news) == ["rollcall NoOnlineResponders of north is resolved"])
        #expect(news.signs == [.alert("NoOnlineResponders", of: "north", state: "resolved")])
    }

    @Test func `a nudge is told, and what followed it`() throws {
        var narrator = try narrator()
        func entry(_ followed: String) -> String {
            """
            [{"id":5,"responder_id":"r-2","decision":"send","stale_seconds":20,"followed":\(followed)},
             {"id":4,"responder_id":"r-3","decision":"hold","text":"not nudged: throttled"}]
            """
        }
        let news = narrator.follow(try answers([], nudges: entry("null")), silent: [])
        #expect(
            lines(news) == [
                "rollcall r-3: not nudged: throttled",
                "rollcall r-2 is nudged: the last location is 20 s old",
            ])
        #expect(news.signs == [.nudge("r-2")])
        let after = narrator.follow(try answers([], nudges: entry("\"located\"")), silent: [])
        #expect(lines(after) == ["rollcall nudge of r-2: located (a location came)"])
        #expect(after.signs == [.followed("r-2", "located")])
    }

    @Test func `that Rollcall cannot see is told while it lasts, and after it`() throws {
        var narrator = try narrator()
        let blind = #"{"watching":false,"blind":[{"reason":"heartbeat"}]}"#
        let news = narrator.follow(try answers([], status: blind), silent: [])
        #expect(lines(news) == ["rollcall cannot see (heartbeat): nobody gets worse now"])
        #expect(!narrator.isWatching)
        _ = narrator.follow(try answers([]), silent: [])
        #expect(narrator.isWatching)
        let timeline = try tree(
            """
            {"events":[{"kind":"contact"},
             {"at":"2026-11-22T06:00:10.000Z","kind":"blind","state":"end",
              "since":"2026-11-22T06:00:03.000Z","reason":"suspended"}]}
            """)
        let words = "rollcall could not see for 7s (suspended): nobody got worse meanwhile"
        #expect(lines(narrator.followBlindness(timeline)) == [words])
        #expect(lines(narrator.followBlindness(timeline)) == [])
    }

    @Test func `messages are told as they came`() throws {
        let page = DemoReceivers.Message(
            receiver: "oncall",
            body: try tree(
                """
                {"alerts":[{"status":"resolved","annotations":{"summary":"Over: north"},
                 "labels":{"alertname":"NoOnlineResponders","region":"north","severity":"critical"}}]}
                """))
        let news = DemoNarrator.follow(page)
        #expect(lines(news) == ["page to oncall (critical): Over: north"])
        #expect(news.signs == [.page("NoOnlineResponders", of: "north", state: "resolved")])
        let push = DemoReceivers.Message(
            receiver: "pushes",
            body: try tree(
                #"{"type":"responder.nudge","data":{"responder_id":"r-2","title":"T","body":"B."}}"#
            ))
        #expect(lines(DemoNarrator.follow(push)) == ["push to r-2: T. B."])
        #expect(DemoNarrator.follow(push).signs == [.push("r-2")])
        let strange = DemoReceivers.Message(receiver: "pushes", body: ["type": "x"])
        #expect(DemoNarrator.follow(strange) == DemoNarrator.News())
    }

    @Test func `that there is no gap is said by the answers only`() throws {
        let off: JSONTree = ["status": "NOT_EXPECTED"]
        #expect(DemoNarrator.noGap("r-2", person: off, gaps: ["gaps": []]).signs == [.noGap("r-2")])
        let none = DemoNarrator.News()
        #expect(DemoNarrator.noGap("r-2", person: off, gaps: ["gaps": [1]]) == none)
        #expect(DemoNarrator.noGap("r-2", person: off, gaps: [:]) == none)
        #expect(
            DemoNarrator.noGap("r-2", person: ["status": "OFFLINE"], gaps: ["gaps": []]) == none)
    }

    // MARK: - Looks

    @Test func `lines are one without a terminal, and wrapped on a narrow one`() {
        let line = DemoLine(.rollcall, "one two three four five six seven eight")
        var style = ConsoleStyle()
        #expect(
            line.printed(seconds: 65, style)
                == " 1:05  rollcall  one two three four five six seven eight\n")
        style.isCut = true
        style.columns = 50
        #expect(
            line.printed(seconds: 5, style) == """
                 0:05  rollcall  one two three four five six seven
                                 eight

                """)
        let command = DemoLine(.try, line.text)
        #expect(command.printed(seconds: 5, style).split(separator: "\n").count == 1)
        style.columns = 49
        #expect(line.printed(seconds: 5, style).split(separator: "\n").count == 1)
        style.isColoured = true
        #expect(line.printed(seconds: 5, style).hasPrefix("\u{1B}[1m 0:05"))
    }

    @Test func `commands name the server where it is not the usual one`() {
        let usual = DemoNames(server: ServerAddress.standard, program: "rollcall")
        #expect(usual.filled("{rollcall} gaps") == "rollcall gaps")
        let other = DemoNames(server: "http://127.0.0.1:1", program: "./rollcall")
        #expect(other.filled("{rollcall} gaps") == "./rollcall gaps --server http://127.0.0.1:1")
        #expect(other.filled("curl {server}/metrics") == "curl http://127.0.0.1:1/metrics")
        #expect(Demo.program("/a/b/.build/rollcall", here: "/a/b") == ".build/rollcall")
        #expect(Demo.program("/a/bc/rollcall", here: "/a/b") == "/a/bc/rollcall")
    }

    // MARK: - Settings

    @Test func `the settings are good, and what is weak in them is meant`() throws {
        let directory = TemporaryDirectory()
        let settings = DemoSettings(
            listenAddress: "[::1]:0", storagePath: "./a \"b\" \\c/#1.db",
            receivers: "http://127.0.0.1:1")
        directory.write("rollcall.yml", settings.text)
        let path = directory.path + "/rollcall.yml"
        let configuration = try SettingsSource(path: path, flags: [:], environment: [:]).read()
        #expect(configuration.listenAddress == "[::1]:0")
        #expect(configuration.storagePath == settings.storagePath)
        #expect(configuration.policy.onDuty.expected == DemoPhone.every)
        #expect(configuration.policy.nudges.mode == .live)
        #expect(configuration.configurationWarnings.map(\.key) == ["nudges.min_interval"])
    }

    @Test func `it listens on loopback only, and begins with a store of its own`() throws {
        var options = Demo.Options()
        options.listenAddress = "0.0.0.0:0"
        #expect(throws: Demo.Fault.self) { try Demo(options, serve: Self.nobody) }
        options.listenAddress = "[::1]:0"
        options.storagePath = "/dev/null"
        #expect(throws: Demo.Fault.self) { try Demo(options, serve: Self.nobody) }
        options.storagePath = nil
        let settings = try Demo(options, serve: Self.nobody).settings
        #expect(settings.contains("listen_address: \"[::1]:0\""))
    }

    /// No server comes up.
    private static let nobody: DemoServer.Start = { _, _, _ throws(DemoServer.Fault) in
        throw DemoServer.Fault(isAddressTaken: false, description: "nobody is asked")
    }
}
