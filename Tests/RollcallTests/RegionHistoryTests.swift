import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// `GET /v1/regions/history` and `GET /v1/gaps?at=`. Source: J11, C5, B1.
@Suite struct RegionHistoryTests {
    private let directory = TemporaryDirectory()

    private func time(_ seconds: Int64) -> String { HistoryStory.time(seconds) }

    /// Twelve minutes: `south` falls silent for minutes 4 and 5, `north` goes on, and somebody must be
    /// in `light`, where nobody ever was.
    private func tell(_ story: inout HistoryStory) throws {
        var sampler = FleetSampler()
        var policy = Policy()
        policy.coverageRegions = [Array("light".utf8)]
        try story.sampledTurn(&sampler, at: 0, [.policy(policy)])
        for step: Int64 in 0..<36 {
            var events = [
                try HistoryStory.batches(
                    ["a", "b"], sequence: Int(step), captured: step * 20, region: "north")
            ]
            if step < 4 || step > 17 {
                events.append(
                    try HistoryStory.batches(
                        ["c"], sequence: Int(step), captured: step * 20, region: "south"))
            }
            try story.sampledTurn(&sampler, at: step * 20 + 1, events)
        }
    }

    private func regions(_ answer: [String: Any]) throws -> [String: [String: Any]] {
        let list = try #require(answer["regions"] as? [[String: Any]])
        return try Dictionary(
            uniqueKeysWithValues: list.map { (try #require($0["region"] as? String), $0) })
    }

    private func numbers(_ region: [String: Any]?, _ status: String) -> [Int?] {
        let lists = region?["responders"] as? [String: Any]
        return (lists?[status] as? [Any])?.map { $0 as? Int } ?? []
    }

    @Test func `J11: a cell is the worst minute of its step, and says which`() throws {
        var story = try HistoryStory(directory)
        try tell(&story)
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let span = "since=\(time(0))&until=\(time(720))"
        let minutes = try server.get("/v1/regions/history?\(span)&step=1m")
        #expect(minutes["samples"] as? [Int] == [Int](repeating: 1, count: 12))
        #expect(minutes["first_step_at"] as? String == time(0))
        var found = try regions(minutes)
        #expect(numbers(found["north"], "ONLINE") == [0] + [Int](repeating: 2, count: 11))
        #expect(numbers(found["south"], "ONLINE") == [0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1])
        #expect(numbers(found["south"], "DEGRADED") == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(numbers(found["south"], "OFFLINE") == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0])
        #expect(found["south"]?["minute"] == nil && found["south"]?["unstaffed"] == nil)
        #expect(found["light"]?["unstaffed"] as? [Int] == [Int](repeating: 1, count: 12))
        // A silence of two minutes is seen in a step of six, and of twelve.
        let six = try server.get("/v1/regions/history?\(span)&step=6m")
        #expect(six["samples"] as? [Int] == [6, 6])
        found = try regions(six)
        #expect(numbers(found["south"], "OFFLINE") == [1, 0])
        #expect(found["south"]?["minute"] as? [Int] == [5, 5])
        let twelve = try regions(server.get("/v1/regions/history?\(span)&step=12m"))
        #expect(numbers(twelve["south"], "OFFLINE") == [1])
        #expect(twelve["south"]?["minute"] as? [Int] == [5])
        // One minute says who was where at exactly that instant.
        let one = try server.get(
            "/v1/regions/history?since=\(time(300))&until=\(time(360))&step=1m")
        let at = try #require(one["sampled_at"] as? String)
        #expect(at == time(301))
        let silent = try #require(try server.get("/v1/gaps?at=\(at)")["gaps"] as? [[String: Any]])
        #expect(silent.map { $0["responder_id"] as? String } == ["c"])
        #expect(numbers(try regions(one)["south"], "OFFLINE") == [1])
    }

    @Test func `C5: who was silent at an instant, back by now or not`() throws {
        var story = try HistoryStory(directory)
        try tell(&story)
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        func silent(_ seconds: Int64, _ more: String = "") throws -> [String] {
            let gaps = try server.get("/v1/gaps?at=\(time(seconds))\(more)")["gaps"]
            return try #require(gaps as? [[String: Any]]).compactMap {
                $0["responder_id"] as? String
            }
        }
        // Heard at 61 s, late at 151 s, OFFLINE at 241 s, back at 361 s.
        for (at, found) in [
            (150, []), (200, []), (240, []), (241, ["c"]), (360, ["c"]), (361, []), (700, []),
        ] as [(Int64, [String])] {
            #expect(try silent(at) == found, "\(at) s")
        }
        #expect(try silent(300, "&region=north") == [])
        #expect(try silent(300, "&region=south&state=closed") == ["c"])
        #expect(try silent(300, "&state=open") == [])
        #expect(try silent(300, "&responder=c") == ["c"])
        #expect(try silent(200, "&responder=c") == [])
        #expect(try silent(300, "&since=\(time(200))") == [])
        let table = try server.get("/v1/gaps?at=\(time(300))&by=region")["rows"]
        let rows = try #require(table as? [[String: Any]])
        #expect(rows.map { $0["region"] as? String } == ["south"])
        let none = try server.get("/v1/gaps?at=\(time(200))&by=region")["rows"] as? [Any]
        #expect(none?.isEmpty == true)
        #expect(try server.answer("/v1/gaps?at=noon").status == 400)
    }

    @Test func `V5: nobody is told how an instant of the future was`() throws {
        var story = try HistoryStory(directory)
        try tell(&story)
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let future = RFC3339.string(ClockReading.now().wall + .seconds(3600))
        let newest = "lies in the future; the newest instant is 20"
        for (target, name) in [
            ("/v1/gaps?at=\(future)", "at"), ("/v1/gaps?at=\(future)&by=cause", "at"),
            ("/v1/regions/history?since=\(future)", "since"),
            ("/v1/regions/history?since=\(future)&until=2200-01-01T00:00:00Z", "since"),
            ("/v1/status/history?since=\(future)", "since"),
        ] {
            let answer = try server.answer(target)
            #expect(answer.status == 400, "\(target)")
            #expect(answer.body.contains("\"\(name): \(newest)"), "\(answer.body)")
        }
        // The clock of whoever asks may be ahead.
        let soon = RFC3339.string(ClockReading.now().wall + .seconds(2))
        for target in [
            "/v1/gaps?at=\(soon)", "/v1/gaps?at=\(soon)&by=cause",
            "/v1/regions/history?since=\(soon)", "/v1/status/history?since=\(soon)",
        ] {
            #expect(try server.answer(target).status == 200, "\(target)")
        }
        // What goes on until later ends now, and of what is longer ago than anything nothing is known.
        for target in [
            "/v1/regions/history?since=\(time(0))&until=\(future)&step=1d",
            "/v1/status/history?since=\(time(0))&until=\(future)&step=1d",
            "/v1/gaps?at=1980-01-01T00:00:00Z", "/v1/gaps?since=\(future)",
        ] {
            #expect(try server.answer(target).status == 200, "\(target)")
        }
    }

    @Test func `pages of regions come worst first, and each once`() throws {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        var events: [Event] = []
        for place in 0..<7 {
            events.append(
                try HistoryStory.batches(
                    ["p\(place)"], sequence: 1, captured: 0, region: "r\(place)"))
        }
        try story.sampledTurn(&sampler, at: 1, events)
        // One is left by everybody.
        let gone = #"[{"responder_id":"p6","region":"r0"}]"#
        try story.sampledTurn(&sampler, at: 61, [try HistoryStory.items(.responder, gone)])
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let span = "since=\(time(0))&until=\(time(120))"
        let pages = try server.pages("/v1/regions/history?\(span)&limit=3", "regions")
        #expect(pages.map(\.count) == [3, 3, 1])
        let names = pages.flatMap { $0 }.compactMap { $0["region"] as? String }
        #expect(names.last == "r6" && Set(names).count == 7)
        #expect(pages.last?.first?["now"] is NSNull)
        #expect(numbers(pages.last?.first, "ONLINE") == [1, 0])
        for query in ["limit=0", "after=x", "step=1s", "colour=red", "since=x"] {
            #expect(try server.answer("/v1/regions/history?\(query)").status == 400, "\(query)")
        }
        for after in [7, 100, Int64.max] {
            let beyond = try server.get("/v1/regions/history?\(span)&after=\(after)")
            #expect((beyond["regions"] as? [Any])?.isEmpty == true && beyond["next"] is NSNull)
        }
    }

    @Test func `what was counted while nobody was watching is no cell, and the window says so`()
        throws
    {
        var story = try HistoryStory(directory)
        try story.blindMinutes()
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let answer = try server.get(
            "/v1/regions/history?since=\(time(0))&until=\(time(420))&step=1m")
        #expect(answer["samples"] as? [Int] == [1, 0, 0, 0, 0, 0, 1])
        let north = try regions(answer)["north"]
        #expect(numbers(north, "ONLINE") == [1, nil, nil, nil, nil, nil, 0])
        let blind = try #require(answer["blind"] as? [[String: Any]])
        #expect(blind.first?["reason"] as? String == "heartbeat")
        #expect(blind.first?["until"] as? String == time(370))
    }

    @Test func `the share that can be reached says what is worse, then who is OFFLINE`() {
        func counts(_ byStatus: [Int], isUnstaffed: Bool = false) -> RegionCounts {
            var counts = RegionCounts()
            for (place, count) in byStatus.enumerated() { counts.byStatus[place] = count }
            counts.isUnstaffed = isUnstaffed
            return counts
        }
        // Worst first: nobody reached, nobody there who must be, a half, a tenth, all, nobody expected.
        let order = [
            counts([0, 0, 0, 3]), counts([0, 3, 0, 0]), counts([5, 0, 0, 5]), counts([5, 5, 0, 0]),
            counts([90, 0, 0, 10]), counts([50, 0, 0, 0]),
        ]
        for (first, second) in zip(order, order.dropFirst()) {
            #expect(RegionHistory.isWorse(first, second) && !RegionHistory.isWorse(second, first))
        }
        let unstaffed = counts([], isUnstaffed: true)
        #expect(RegionHistory.isWorse(unstaffed, order[2]))
        #expect(RegionHistory.isWorse(order[0], unstaffed))
        // Of equals the later one is told.
        #expect(!RegionHistory.isWorse(counts([]), counts([7])))
        #expect(!RegionHistory.isWorse(counts([7]), counts([])))
    }
}
