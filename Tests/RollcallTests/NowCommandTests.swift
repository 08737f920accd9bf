import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall` alone says that one types next. Source: V6.
@Suite struct NowCommandTests {
    private static func steps(
        _ status: String, alerts: String = "[]", newest: String? = nil,
        flags: [(name: String, value: String?)] = []
    ) throws -> [String] {
        func tree(_ text: String) throws -> JSONTree {
            try JSONTree(reading: Array(text.utf8))
        }
        return NowQuestion(flags: flags, isJSON: false).steps(
            try tree(status), try tree(alerts).elements, newest: newest
        ).map(\.command)
    }

    @Test func `of an untaken critical alert the first is to take it`() throws {
        let alerts = """
            [{"alertname":"NoOnlineResponders","severity":"critical","state":"firing","key":"k-1"},
             {"alertname":"HighOfflineRate","severity":"critical","state":"firing","key":"k-2",
              "taken":{"by":"kim"}},
             {"alertname":"HighOfflineRate","severity":"critical","state":"pending"},
             {"alertname":"TelemetryFeedDown","severity":"critical","state":"firing","incident":7},
             {"alertname":"Watchdog","severity":"none","state":"firing","key":"k-4"}]
            """
        let status = #"{"responders":{"OFFLINE":3},"last_batch_at":"2026-11-21T06:00:00Z"}"#
        #expect(
            try Self.steps(status, alerts: alerts, newest: "r-1") == [
                "rollcall take k-1", "rollcall take 7", "rollcall gaps --state open",
                "rollcall explain r-1", "rollcall status", "rollcall watch",
            ])
    }

    @Test func `where all is well there is nothing but to watch`() throws {
        let well = #"{"responders":{"OFFLINE":0},"last_batch_at":"2026-11-21T06:00:00Z"}"#
        let watchdog = #"[{"alertname":"Watchdog","state":"firing"}]"#
        #expect(try Self.steps(well, alerts: watchdog) == ["rollcall watch"])
        #expect(try Self.steps("{}") == ["rollcall demo", "rollcall watch"])
    }

    @Test func `blindness and unreached receivers have their commands`() throws {
        let blind = #"{"watching":false,"last_batch_at":"2026-11-21T06:00:00Z"}"#
        #expect(
            try Self.steps(blind) == ["rollcall events --kinds blind", "rollcall watch"])
        let unreached = """
            {"nobody_reached":{"reason":"none_taken"},"last_batch_at":"2026-11-21T06:00:00Z",
             "receivers":[{"name":"log","kind":"log"},{"name":"on call","kind":"webhook"}]}
            """
        #expect(
            try Self.steps(unreached) == ["rollcall drill 'on call'", "rollcall watch"])
        let none =
            #"{"nobody_reached":{"reason":"no_receiver"},"last_batch_at":"x","receivers":[]}"#
        #expect(try Self.steps(none) == ["rollcall check FILE", "rollcall watch"])
    }

    @Test func `the flags that say which server go along, to those who ask it`() throws {
        let flags = [(name: "server", value: "http://a b"), ("token-file", nil)]
        #expect(
            try Self.steps("{}", flags: flags)
                == ["rollcall demo", "rollcall watch --server 'http://a b'"])
    }

    @Test(arguments: [
        ("r-1", "rollcall explain r-1"), ("-x", "rollcall explain -- -x"),
        ("it's", "rollcall explain 'it'\\''s'"), ("a\u{1B}[2J", nil), ("", nil),
    ])
    func `a name is a word of a shell, or is left out`(name: String, command: String?) throws {
        let steps = try Self.steps(#"{"responders":{"OFFLINE":1}}"#, newest: name)
        #expect(steps.first { $0.contains("explain") } == command)
    }

    @Test func `no line is wider than the terminal`() {
        for columns in [40, 60, 80, 200] {
            var style = ConsoleStyle()
            style.columns = columns
            for line in NowQuestion.advice(style).split(separator: "\n") {
                #expect(ConsoleText.columns(String(line)) <= columns)
            }
        }
    }
}
