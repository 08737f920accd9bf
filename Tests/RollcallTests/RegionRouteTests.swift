import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// `GET /v1/regions`, `GET /v1/status` and what gaps say in words. Source: V5.
@Suite struct RegionRouteTests {
    private static func region(_ name: String, _ text: String) -> [String: Any] {
        var counts: [String: Int] = [:]
        let parts = text.split(separator: " ").compactMap { Int($0) }
        for (word, count) in zip(["UNKNOWN", "ONLINE", "DEGRADED", "OFFLINE"], parts.dropFirst()) {
            counts[word] = count
        }
        return [
            "region": name, "active": parts[0], "responders": counts, "not_expected": parts[5],
            "flapping": 0, "must_be_staffed": false,
        ]
    }

    private static func equal(_ a: [[String: Any]]?, _ b: [[String: Any]]) -> Bool {
        NSArray(array: a ?? []) == NSArray(array: b)
    }

    /// Three in the north, one in the south, and one there who is off duty.
    private static func tell(_ directory: TemporaryDirectory) throws {
        var story = try HistoryStory(directory)
        try story.turn(
            at: 0, [try HistoryStory.batches(["a", "b", "c"], sequence: 1, captured: 0)])
        try story.turn(
            at: 1,
            [try HistoryStory.batches(["d", "e"], sequence: 1, captured: 1, region: "süd")])
        try story.turn(
            at: 2,
            [
                try HistoryStory.items(
                    .responder, #"{"responder_id":"e","duty_state":"OFF_DUTY"}"#)
            ])
        try story.turn(at: 200)
        try story.store.journal.close()
    }

    @Test func `regions are told in the order of their bytes, page by page`() throws {
        let directory = TemporaryDirectory()
        try Self.tell(directory)
        var policy = Policy()
        policy.coverageRegions = [Array("a & b".utf8), Array("north".utf8)]
        let server = try HistoryServer(directory, policy: policy)
        defer { server.stop() }
        var empty = Self.region("a & b", "0 0 0 0 0 0")
        var north = Self.region("north", "3 0 0 0 3 0")
        (empty["must_be_staffed"], north["must_be_staffed"]) = (true, true)
        let south = Self.region("süd", "1 0 0 0 1 1")
        let all = try server.get("/v1/regions")
        #expect(Self.equal(all["regions"] as? [[String: Any]], [empty, north, south]))
        #expect(all["next"] is NSNull && all["truncated"] as? Bool == false)
        #expect(all["as_of"] is String)
        let first = try server.get("/v1/regions?limit=2")
        #expect(Self.equal(first["regions"] as? [[String: Any]], [empty, north]))
        #expect(first["next"] as? String == "north")
        let second = try server.get("/v1/regions?limit=2&after=north")
        #expect(Self.equal(second["regions"] as? [[String: Any]], [south]))
        #expect(second["next"] is NSNull)
        for query in ["limit=1", "limit=1000", "after=", "after=nowhere"] {
            #expect(try server.answer("/v1/regions?\(query)").status == 200, "\(query)")
        }
        for query in ["limit=0", "limit=1001", "region=north", "limit=x"] {
            #expect(try server.answer("/v1/regions?\(query)").status == 400, "\(query)")
        }
    }

    @Test func `a region that everybody left is left out`() throws {
        let directory = TemporaryDirectory()
        try Self.tell(directory)
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let moved = #"[{"responder_id":"d","region":"north"},{"responder_id":"e","region":"west"}]"#
        #expect(try server.answer("/v1/responders", "POST", body: moved).status == 200)
        let regions = try server.get("/v1/regions")["regions"] as? [[String: Any]]
        #expect(regions?.compactMap { $0["region"] as? String } == ["north", "west"])
        #expect(regions?.compactMap { $0["not_expected"] as? Int } == [0, 1])
        #expect(regions?.compactMap { $0["active"] as? Int } == [4, 0])
    }

    @Test func `so many regions are looked at, and one more is told of`() throws {
        var engine = Engine()
        let items = (0..<5).map { "{\"responder_id\":\"r\($0)\",\"region\":\"g\(9 - $0)\"}" }
        let event = try HistoryStory.items(.batch, "[\(items.joined(separator: ","))]")
        _ = engine.fold(event, at: RunningTime(milliseconds: HistoryStory.began))
        // The standard region has a number of its own.
        func names(_ most: Int) -> (String, Bool) {
            var body: [UInt8] = []
            RegionList(RegionQuery(), engine, lookedAtMax: most).append(to: &body)
            let text = String(decoding: body, as: UTF8.self)
            let found = text.matches(of: /"region":"(g\d)"/).map { String($0.1) }
            return (found.joined(separator: " "), text.contains("\"truncated\":true"))
        }
        #expect(names(6) == ("g5 g6 g7 g8 g9", false))
        #expect(names(5) == ("g6 g7 g8 g9", true))
    }

    @Test func `pages hold every region once, however they were named`() throws {
        var policy = Policy()
        policy.coverageRegions = [Array("g150".utf8), Array("h".utf8)]
        var engine = Engine(policy: policy)
        let names = (0..<200).map { "g\($0 * 7919 % 200)" }
        let items = names.enumerated().map {
            "{\"responder_id\":\"r\($0.offset)\",\"region\":\"\($0.element)\"}"
        }
        let event = try HistoryStory.items(.batch, "[\(items.joined(separator: ","))]")
        _ = engine.fold(event, at: RunningTime(milliseconds: HistoryStory.began))
        for limit in [1, 7, 100, 201, 1000] {
            var found: [String] = []
            var after = ""
            for _ in 0..<300 {
                let query = try RegionQuery.parameters.read([
                    ("limit", "\(limit)"), ("after", after),
                ])
                var body: [UInt8] = []
                RegionList(query, engine).append(to: &body)
                let tree = try JSONTree(reading: body)
                found += (tree["regions"]?.elements ?? []).compactMap { $0["region"]?.text }
                guard let next = tree["next"]?.text else { break }
                after = next
            }
            #expect(found == (names + ["h"]).sorted(), "\(limit)")
        }
    }

    // MARK: - Status

    @Test func `status tells in numbers how everything else stands`() throws {
        let directory = TemporaryDirectory()
        try Self.tell(directory)
        var policy = Policy()
        var oncall = Receiver(name: Array("oncall".utf8), kind: .log)
        oncall.match = [
            LabelMatcher(name: Array("alertname".utf8), values: [Array("Watchdog".utf8)])
        ]
        policy.receivers = [oncall]
        let server = try HistoryServer(directory, policy: policy)
        defer { server.stop() }
        let silence = #"{"matchers":["a=b"],"duration":"2h","author":"kim","comment":"c"}"#
        #expect(try server.answer("/v1/silences", "POST", body: silence).status == 200)
        let status = try server.get("/v1/status")
        let started = try #require(status["started_at"] as? String)
        #expect(started <= (try #require(status["as_of"] as? String)))
        let store = try #require(status["store"] as? [String: Any])
        #expect(store["state"] as? String == "ok")
        #expect((store["size_bytes"] as? Int ?? 0) > 4096)
        #expect(store["oldest_at"] as? String == "2026-11-21T00:00:00.000Z")
        #expect(store["checkpoint_at"] is NSNull && store["lost"] is NSNull)
        let alerts = try #require(status["alerts"] as? [String: Int])
        // The watchdog fires, and is not counted.
        let names = (try server.get("/v1/alerts")["alerts"] as? [[String: Any]])?
            .compactMap { $0["alertname"] as? String }
        #expect(names?.contains("Watchdog") == true)
        #expect(alerts.values.reduce(0, +) == names?.count)
        #expect(alerts["silences"] == 1)
        let nudges = try #require(status["nudges"] as? [String: Any])
        #expect(nudges["mode"] as? String == "dry_run" && nudges["sink"] as? String == "none")
        #expect(nudges["frozen_until"] is NSNull && nudges["pending"] as? Int == 0)
        let receivers = try #require(status["receivers"] as? [[String: Any]])
        #expect(receivers.map { $0["name"] as? String } == ["oncall"])
        #expect(receivers.map { $0["kind"] as? String } == ["log"])
        // Nothing leaves this server: the watchdog's first page waits.
        #expect(receivers.map { $0["pending"] as? Int } == [1])
        let settings = try #require(status["settings"] as? [String: Any])
        #expect(settings["last_reload_ok"] as? Bool == true)
        #expect(settings["loaded_at"] is String)
    }

    // MARK: - Words

    @Test func `a gap says its cause and evidence in words`() throws {
        let directory = TemporaryDirectory()
        var story = try HistoryStory(directory)
        try story.silence(["a"], from: 90)
        try story.turn(
            at: 5000,
            [try HistoryStory.batches(["b"], sequence: 1, captured: 5000, region: "south")])
        try story.turn(at: 5200)
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let gaps = try server.get("/v1/gaps")["gaps"] as? [[String: Any]]
        let texts = gaps?.compactMap { $0["text"] as? String } ?? []
        #expect(texts.count == 2)
        let suspicion =
            "Suspected: app_suspended, because the app was in the background, where the phone's "
            + "system may suspend it. Last known: app in the background. For "
        let blind = "we were not watching: it counts against nobody."
        let open = try #require(texts.first)
        #expect(open.hasPrefix(suspicion), "\(open)")
        #expect(open.hasSuffix(blind), "\(open)")
        let closed = """
            It was: network (suspected: app_suspended). 1 location was captured at 00:04:00 UTC \
            while out of contact: the app ran, the network did not. This goes by the phone's own \
            clock; it does not say whose network failed, nor that the app ran all the time.
            """
        #expect(texts.last == closed)
    }
}
