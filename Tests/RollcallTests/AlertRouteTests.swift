import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// The routes of alerts, silences and drills, on a store with a history. Source: A7, A10,
/// A11.
@Suite struct AlertRouteTests {
    /// Two receivers: one for all, one for what is critical.
    private static var policy: Policy {
        var policy = Policy()
        var hook = Receiver(name: Array("hook".utf8), kind: .log)
        hook.match = [LabelMatcher(name: Array("severity".utf8), values: [Array("critical".utf8)])]
        policy.receivers = [Receiver(name: Array("oncall".utf8), kind: .log), hook]
        return policy
    }

    /// Ten people of a region fall silent and come back; from 100 s to 300 s one alert is muted.
    private static func tell(_ directory: TemporaryDirectory) throws {
        var story = try HistoryStory(directory)
        let people = (0..<10).map { "r-\($0)" }
        let silence = Silence(
            matchers: [
                LabelMatcher(name: Array("alertname".utf8), values: [Array("HighOfflineRate".utf8)])
            ], endsAt: Timestamp(milliseconds: HistoryStory.began + 300_000),
            author: Array("kim".utf8), comment: Array("exercise".utf8))
        try story.turn(at: 0, [.policy(policy)])
        try story.turn(at: 1, [try HistoryStory.batches(people, sequence: 1, captured: 1)])
        try story.turn(at: 100, [.silence(.begin(silence))])
        for second in [200, 301] as [Int64] { try story.turn(at: second) }
        try story.turn(at: 400, [try HistoryStory.batches(people, sequence: 2, captured: 400)])
        try story.turn(at: 480, [try HistoryStory.batches(people, sequence: 3, captured: 480)])
        try story.turn(at: 550, [try HistoryStory.batches(people, sequence: 4, captured: 550)])
        try story.store.journal.close()
    }

    /// An incident in a line.
    private static func line(_ incident: [String: Any]) throws -> String {
        func clock(_ key: String) -> String {
            (incident[key] as? String).map { String($0.dropFirst(11).prefix(8)) } ?? "–"
        }
        func list(_ key: String, _ text: ([String: Any]) -> String) -> String {
            let entries = incident[key] as? [[String: Any]] ?? []
            return entries.map(text).joined(separator: ", ")
        }
        let notices = list("notices") { "\($0["receiver"] ?? "") \($0["kind"] ?? "")" }
        let muted = list("muted") { "\($0["receiver"] ?? "") \($0["reason"] ?? "")" }
        let changes = list("changes") { "\($0["state"] ?? "")" }
        return "\(incident["incident"] ?? "") \(incident["alertname"] ?? "") "
            + "\(incident["state"] ?? "") \(clock("pending_at")) \(clock("starts_at")) "
            + "\(clock("ended_at")) \(incident["value"] ?? "") [\(changes)] [\(notices)] [\(muted)]"
    }

    private static let high =
        "2 HighOfflineRate resolved 00:03:01 00:04:01 00:06:40 1.0 [pending, firing, resolved] "
        + "[oncall fired, oncall resolved] [oncall silence]"
    private static let nobody =
        "1 NoOnlineResponders resolved 00:01:31 00:02:31 00:08:40 10 [pending, firing, resolved] "
        + "[oncall fired, hook fired, oncall resolved, hook resolved] []"

    @Test func `the history tells what fired, who was told, who was not and why`() throws {
        let directory = TemporaryDirectory()
        try Self.tell(directory)
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        let page = try server.get("/v1/alerts/history")
        let incidents = try #require(page["incidents"] as? [[String: Any]])
        #expect(try incidents.map(Self.line) == [Self.high, Self.nobody])
        #expect(page["next"] is NSNull && page["truncated"] as? Bool == false)
        let first = try #require(incidents.first)
        #expect(first["threshold"] as? Double == 0.1)
        #expect(first["for_ms"] as? Int == 60_000)
        #expect(first["count"] as? Int == 10 && first["total"] as? Int == 10)
        #expect((first["members"] as? [String])?.count == 10)
        let annotations = try #require(first["annotations"] as? [String: String])
        #expect(annotations["summary"]?.hasPrefix("10 of 10 cannot be reached") == true)
    }

    @Test func `the history goes on page by page, and its filters hold`() throws {
        let directory = TemporaryDirectory()
        try Self.tell(directory)
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        func lines(_ query: String) throws -> ([String], String?) {
            let page = try server.get("/v1/alerts/history?\(query)")
            let incidents = try #require(page["incidents"] as? [[String: Any]])
            return (try incidents.map(Self.line), page["next"] as? String)
        }
        let first = try lines("limit=1")
        #expect(first == ([Self.high], "2"))
        #expect(try lines("limit=1&before=2") == ([Self.nobody], nil))
        #expect(try lines("before=1") == ([], nil))
        #expect(try lines("alertname=NoOnlineResponders") == ([Self.nobody], nil))
        #expect(try lines("region=north") == ([Self.nobody], nil))
        #expect(try lines("region=south") == ([], nil))
        #expect(try lines("receiver=hook") == ([Self.nobody], nil))
        #expect(try lines("since=2026-11-21T00:03:00Z") == ([Self.high], nil))
        for wrong in ["colour=red", "limit=0", "limit=1001", "alertname=X", "before=x", "since=x"] {
            #expect(try server.answer("/v1/alerts/history?\(wrong)").status == 400)
        }
    }

    // MARK: - Silences and drills

    private func object(_ answer: RawClient.Answer) throws -> [String: Any] {
        let parsed = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
        return try #require(parsed as? [String: Any])
    }

    @Test func `a silence is made, shown, listed and ended`() throws {
        let directory = TemporaryDirectory()
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        let body = #"{"matchers":["region=a|b"],"duration":"2h","author":"kim","comment":"c"}"#
        let made = try server.answer("/v1/silences", "POST", body: body)
        #expect(made.status == 200)
        let silence = try #require(try object(made)["silence"] as? [String: Any])
        #expect(silence["id"] as? Int == 1 && silence["state"] as? String == "active")
        #expect(silence["matchers"] as? [String] == ["region=a|b"])
        // The same without a word about it.
        let shown = try server.answer("/v1/silences/1").body
        #expect(made.body.hasPrefix(shown.dropLast(2) + ",\"warnings\":["), "\(shown)")
        #expect(try server.answer("/v1/silences/2").status == 404)
        let ended = try server.answer("/v1/silences/1", "DELETE")
        #expect(ended.status == 200)
        #expect((try object(ended)["silence"] as? [String: Any])?["state"] as? String == "over")
        let again = try server.answer("/v1/silences/1", "DELETE")
        #expect(again.status == 404 && again.body.contains("silence 1 is over since 20"))
        let none = try server.answer("/v1/silences/7", "DELETE")
        #expect(none.status == 404 && none.body.contains("no silence has this id"))
        let all = try server.get("/v1/silences")["silences"] as? [[String: Any]]
        #expect(all?.compactMap { $0["state"] as? String } == ["over"])
        #expect(try server.answer("/v1/silences", "POST", body: "{}").status == 422)
        #expect(try server.answer("/v1/silences", "POST", body: "{").status == 400)
        #expect(try server.answer("/v1/silences?x=1").status == 400)
    }

    @Test func `a silence asked for again under its id is the same, and another a conflict`() throws
    {
        let directory = TemporaryDirectory()
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        let body =
            #"{"id":"k-1","matchers":["region=a"],"duration":"2h","author":"k","comment":"c"}"#
        func made(_ body: String) throws -> Any? {
            try
                (object(try server.answer("/v1/silences", "POST", body: body))["silence"]
                as? [String: Any])?["id"]
        }
        #expect(try made(body) as? Int == 1)
        #expect(try made(body) as? Int == 1)
        #expect(try made(body.replacing("k-1", with: "k-2")) as? Int == 2)
        let other = body.replacing("2h", with: "3h")
        let refused = try server.answer("/v1/silences", "POST", body: other)
        #expect(refused.status == 409 && refused.body.contains("under this id"))
        let all = try server.get("/v1/silences")["silences"] as? [[String: Any]]
        #expect(all?.compactMap { $0["request_id"] as? String } == ["k-1", "k-2"])
        _ = try server.answer("/v1/silences/1", "DELETE")
        let over = try server.answer("/v1/silences", "POST", body: body)
        #expect(over.body.contains("it is over and mutes nothing"))
    }

    @Test func `A7, D7: a silence that nothing fits is taken with a word about it`() throws {
        let directory = TemporaryDirectory()
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        func warnings(_ matchers: String) throws -> [String] {
            let body =
                "{\"matchers\":[\(matchers)],\"duration\":\"2h\",\"author\":\"k\",\"comment\":\"c\"}"
            let answer = try server.answer("/v1/silences", "POST", body: body)
            #expect(answer.status == 200)
            return try #require(try object(answer)["warnings"] as? [String])
        }
        let nothing = "nothing that fires now is muted by it"
        #expect(try warnings(#""alertname=HighOfflineRate""#) == [nothing])
        #expect(
            try warnings(#""alertname=HighOflineRate|Watchdog""#) == [
                "there is no alert \"HighOflineRate\", did you mean \"HighOfflineRate\"?", nothing,
            ])
        #expect(
            try warnings(#""region=nowhere""#) == [
                "nobody was ever in a region \"nowhere\"", nothing,
            ])
        #expect(
            try warnings(#""severity=loud","sevrity=critical""#) == [
                "there is no severity \"loud\"",
                "no alert has a label \"sevrity\", did you mean \"severity\"?", nothing,
            ])
        // An alert without the label has an empty one.
        #expect(try warnings(#""team=","alertname=Watchdog""#) == [nothing])
        let many = (0..<20).map { "\"r\($0)=x\"" }.joined(separator: ",")
        #expect(try warnings(many).count == SilenceWarnings.countMax)
    }

    @Test func `256 silences may be in force, and one more is a conflict`() throws {
        let directory = TemporaryDirectory()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let body = #"{"matchers":["a=b"],"duration":"2h","author":"kim","comment":"c"}"#
        for _ in 0..<256 {
            #expect(try server.answer("/v1/silences", "POST", body: body).status == 200)
        }
        let last = try server.answer("/v1/silences", "POST", body: body)
        #expect(last.status == 409 && last.body.contains("256 silences are in force"))
    }

    @Test func `a drill of nobody names those there are`() throws {
        let directory = TemporaryDirectory()
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        let nobody = try server.answer("/v1/drill", "POST", body: #"{"receiver":"x"}"#)
        #expect(nobody.status == 404 && nobody.body.contains("there are: oncall, hook"))
        #expect(try server.answer("/v1/drill", "POST", body: "{}").status == 422)
        #expect(try server.answer("/v1/drill/7").status == 404)
    }

    @Test func `500 alerts are in one answer, and one more is told to be missing`() throws {
        for (count, isTruncated) in [(500, false), (501, true)] {
            let directory = TemporaryDirectory()
            var policy = Policy()
            policy.coverageRegions = (0..<count).map { Array("region-\($0)".utf8) }
            policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
            policy.alerts.highOfflineRate.isEnabled = false
            let server = try HistoryServer(directory, policy: policy)
            defer { server.stop() }
            _ = try server.answer("/v1/batches", "POST", body: #"{"responder_id":"a"}"#)
            let answer = try server.get("/v1/alerts")
            #expect((answer["alerts"] as? [Any])?.count == 500)
            #expect(answer["truncated"] as? Bool == isTruncated)
        }
    }

    @Test func `D1: what fires is told with who took it, and how far it has come with the others`()
        throws
    {
        let directory = TemporaryDirectory()
        var policy = Self.policy
        policy.coverageRegions = [Array("empty".utf8)]
        policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
        let server = try HistoryServer(directory, policy: policy)
        defer { server.stop() }
        _ = try server.answer("/v1/batches", "POST", body: #"{"responder_id":"a"}"#)
        let alerts = try #require(try server.get("/v1/alerts")["alerts"] as? [[String: Any]])
        let alert = try #require(alerts.first)
        #expect(alerts.count == 1)
        #expect(alert["alertname"] as? String == "NoOnlineResponders")
        #expect(alert["state"] as? String == "firing" && alert["incident"] as? Int == 1)
        #expect(
            alert["labels"] as? [String: String] == [
                "alertname": "NoOnlineResponders", "region": "empty", "severity": "critical",
            ])
        #expect(
            (alert["annotations"] as? [String: String])?["summary"] == "Nobody is on duty in empty")
        // It was decided for both, and nobody says how they are reached.
        #expect((alert["told"] as? [Any])?.isEmpty == true)
        let receivers = try #require(alert["receivers"] as? [[String: Any]])
        #expect(receivers.compactMap { $0["receiver"] as? String } == ["oncall", "hook"])
        for receiver in receivers {
            #expect(["waiting", "trying"].contains(receiver["state"] as? String))
            #expect(receiver["decided_at"] is String && receiver["taken_at"] == nil)
        }
        #expect(try server.get("/v1/status")["nobody_reached"] is NSNull)
        #expect(try server.answer("/v1/alerts?x=1").status == 400)
    }
}
