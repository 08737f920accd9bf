import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// The page of `rollcall watch`, at every size of a terminal. Source: V10.
@Suite struct WatchPageTests {
    private static let status = """
        {"version":"0.2.0","as_of":"2026-11-21T06:00:00.000Z","watching":true,"sources":[],
         "responders":{"active":45,"ONLINE":31,"DEGRADED":1,"UNKNOWN":1,"OFFLINE":12},
         "sentence":{"level":"bad","headline":"12 of 45 cannot be reached, 11 of them in north.",
          "rest":"Elsewhere 20 of 21 can.","detail":"Since 05:35, most likely no network."}}
        """

    private static func tree(_ text: String) throws -> JSONTree {
        try JSONTree(reading: Array(text.utf8))
    }

    private static func facts(
        status: String = status, people: Int = 12, name: String = "r"
    ) throws -> WatchFacts {
        var facts = WatchFacts(server: "http://127.0.0.1:10112")
        facts.status = try tree(status)
        facts.statusAt = RunningTime(milliseconds: 10_000)
        facts.heardAt = facts.statusAt
        facts.alerts = try tree(
            """
            [{"alertname":"HighOfflineRate","state":"firing","severity":"critical","key":"k-7",
              "labels":{"region":"north"},"starts_at":"2026-11-21T05:50:00.000Z",
              "annotations":{"summary":"north: 11 of 24 offline"},
              "receivers":[{"receiver":"oncall","state":"trying","attempts":3}]},
             {"alertname":"HighUnknownRate","state":"pending","severity":"warning",
              "active_at":"2026-11-21T05:59:30.000Z","annotations":{"summary":"1 unknown"}}]
            """
        ).elements
        facts.regions = try tree(
            """
            [{"region":"east","active":21,"responders":{"ONLINE":20,"OFFLINE":1,"DEGRADED":0,"UNKNOWN":0}},
             {"region":"north","active":24,"must_be_staffed":true,
              "responders":{"ONLINE":0,"OFFLINE":11,"DEGRADED":1,"UNKNOWN":1}}]
            """
        ).elements
        facts.silent = try (0..<people).map { number in
            try tree(
                """
                {"responder_id":"\(name)-\(number)","region":"north","last_contact_at":
                 "2026-11-21T05:\(10 + number):00.000Z","gap":{"suspected":"no_network"}}
                """)
        }
        return facts
    }

    private static func lines(
        _ facts: WatchFacts, _ columns: Int, _ rows: Int, after seconds: Int64 = 0
    ) -> [String] {
        WatchPage(
            facts: facts, now: facts.statusAt + .seconds(seconds), columns: columns, rows: rows
        ).lines.map(\.text)
    }

    @Test func `the worst stands first, at 80 columns`() throws {
        #expect(
            Self.lines(try Self.facts(), 80, 24) == [
                "As of 06:00:00 UTC, 0s old. http://127.0.0.1:10112",
                "12 of 45 cannot be reached, 11 of them in north. Elsewhere 20 of 21 can.",
                "Since 05:35, most likely no network.",
                "",
                "1 firing, 1 pending",
                "FIRING HighOfflineRate (critical) since 10m ago (05:50:00)",
                "  north: 11 of 24 offline. Nobody was told; NOT REACHED: oncall (trying, 3",
                "  attempts).",
                "  rollcall take k-7",
                "pending HighUnknownRate (warning) since 30s ago (05:59:30)",
                "  1 unknown.",
                "",
                "region  OFFLINE  of",
                "north        11  24  1 DEGRADED, 1 UNKNOWN, must be staffed",
                "east          1  21",
                "",
                "12 silent, the longest first",
                "responder  region  silent for  suspected",
                "r-0        north          50m  no network",
                "r-1        north          49m  no network",
                "r-2        north          48m  no network",
                "r-3        north          47m  no network",
                "and 8 more: rollcall gaps --state open",
                "q quits",
            ])
    }

    @Test func `at 40 columns cells are cut, and no word is broken`() throws {
        let lines = Self.lines(try Self.facts(name: "somebody-with-a-long-name"), 40, 40)
        #expect(lines.count == 40)
        #expect(lines.contains("12 of 45 cannot be reached, 11 of them"))
        #expect(lines.contains { $0.hasPrefix("somebod") && $0.contains("… north") })
        #expect(lines.allSatisfy { ConsoleText.columns($0) <= 40 })
    }

    @Test func `what has no room is counted, with what to type`() throws {
        let lines = Self.lines(try Self.facts(), 80, 18)
        #expect(
            lines.filter { $0.hasPrefix("and ") } == [
                "and 1 more: rollcall status", "and 11 more: rollcall gaps --state open",
            ])
    }

    @Test func `at 200 columns and 60 lines nothing is left out`() throws {
        let lines = Self.lines(try Self.facts(), 200, 60)
        #expect(lines.count == 60 && lines.last == "q quits")
        #expect(!lines.contains { $0.hasPrefix("and ") })
        #expect(lines.contains("pending HighUnknownRate (warning) since 30s ago (05:59:30)"))
    }

    @Test(arguments: [(1, 1), (2, 3), (3, 2), (20, 6), (40, 10), (80, 5), (200, 8), (31, 17)])
    func `no size has too much on it`(columns: Int, rows: Int) throws {
        for name in ["r", "日本語の名前", "e\u{301}", "❤\u{FE0F}", "\\u001b[2J"] {
            let lines = Self.lines(try Self.facts(name: name), columns, rows)
            #expect(lines.count <= rows)
            #expect(lines.allSatisfy { ConsoleText.columns($0) <= columns })
            #expect(!lines.contains { $0.contains("\u{1B}") })
        }
    }

    @Test func `a server that is not heard is told, loudly and first`() throws {
        var facts = try Self.facts()
        func first(_ seconds: Int64) -> WatchPage.Line? {
            WatchPage(
                facts: facts, now: facts.statusAt + .seconds(seconds), columns: 80, rows: 24
            ).lines.first
        }
        #expect(first(6)?.text.hasPrefix("As of 06:00:00 UTC, 6s old.") == true)
        #expect(
            first(7)
                == .init(
                    text: "THE SERVER DOES NOT ANSWER since 7s. Below is what it last said.",
                    mark: .loud))
        facts.fault = .unknownToken(server: "http://a", scope: .read)
        #expect(first(2)?.text.hasPrefix("NO ANSWER since 2s: http://a does not know") == true)
        #expect(first(2)?.mark == .loud)
    }

    @Test func `a server without a sentence says whether it watches`() throws {
        let blind = """
            {"as_of":"2026-11-21T06:00:00.000Z","watching":false,"sources":[],
             "not_watching_since":"2026-11-21T03:12:00.000Z","responders":{"OFFLINE":0}}
            """
        let lines = WatchPage(
            facts: try Self.facts(status: blind, people: 0),
            now: RunningTime(milliseconds: 10_000), columns: 80, rows: 24
        ).lines
        #expect(lines[1].text.hasPrefix("NOT WATCHING since 2h 48m ago (03:12:00)."))
        #expect(lines[1].mark == .loud)
        #expect(
            lines.contains {
                $0.text == "Nobody was silent when we last saw; who is now cannot be seen."
            })
    }

    @Test func `free lines go to those who wish for more, the worst first`() {
        #expect(WatchPage.shares([4, 4, 4], 20) == [4, 4, 4])
        #expect(WatchPage.shares([9, 9, 9], 10) == [4, 3, 3])
        #expect(WatchPage.shares([2, 9, 9], 12) == [2, 5, 5])
        #expect(WatchPage.shares([], 3) == [] && WatchPage.shares([3], 0) == [0])
    }

    @Test func `only lines that differ are sent`() {
        var frame = WatchFrame(style: ConsoleStyle())
        frame.forget((columns: 20, rows: 3))
        func sent(_ texts: String...) -> String {
            String(
                decoding: frame.change(to: texts.map { WatchPage.Line(text: $0) }), as: UTF8.self)
        }
        #expect(
            sent("a", "", "q")
                == "\u{1B}[0m\u{1B}[2J\u{1B}[1;1Ha\u{1B}[K\u{1B}[2;1H\u{1B}[K\u{1B}[3;1Hq\u{1B}[K"
                + "\u{1B}[3;3H")
        #expect(sent("a", "", "q") == "")
        #expect(sent("a", "b", "q") == "\u{1B}[2;1Hb\u{1B}[K\u{1B}[3;3H")
        #expect(sent("a") == "\u{1B}[2;1H\u{1B}[J\u{1B}[1;3H")
    }

    @Test func `an arrow is no key of its own`() {
        func pressed(_ text: String) -> String {
            String(decoding: WatchRun.pressed(Array(text.utf8)[...]), as: UTF8.self)
        }
        #expect(pressed("aq") == "aq")
        #expect(pressed("\u{1B}[A\u{1B}Oq\u{1B}[1;5Qx") == "x")
    }
}
