import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// Samples of the fleet, and `GET /v1/status/history`. Source: J6, J7, §2, §9.
@Suite struct StatusHistoryTests {
    private let directory = TemporaryDirectory()

    private func time(_ seconds: Int64) -> String { HistoryStory.time(seconds) }

    /// A turn every 20 s for `minutes`: three people, of whom one goes on reporting.
    private func tell(_ story: inout HistoryStory, minutes: Int64) throws {
        var sampler = FleetSampler()
        for step in 0..<(minutes * 3) {
            let ids = step == 0 ? ["a", "b", "c"] : ["a"]
            let batch = try HistoryStory.batches(
                ids, sequence: Int(step), captured: step * 20)
            try story.sampledTurn(&sampler, at: step * 20, [batch])
        }
    }

    /// The samples of an answer, a line each: the time of day, then the counts.
    private func lines(_ answer: [String: Any]) throws -> [String] {
        let samples = try #require(answer["samples"] as? [[String: Any]])
        return try samples.map { sample in
            let at = try #require(sample["at"] as? String)
            let counts = ["UNKNOWN", "ONLINE", "DEGRADED", "OFFLINE", "not_expected"].map {
                "\(sample[$0] as? Int ?? -1)"
            }
            return "\(at.dropFirst(11).prefix(8)) \(counts.joined(separator: " "))"
        }
    }

    @Test func `of each step the last count is told, oldest first`() throws {
        var story = try HistoryStory(directory)
        try tell(&story, minutes: 12)
        #expect(try story.integers("SELECT count(*) FROM samples") == [12])
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let span = "since=\(time(0))&until=\(time(720))"
        let answer = try server.get("/v1/status/history?\(span)&step=5m")
        #expect(
            try lines(answer) == [
                "00:04:00 0 1 0 2 0", "00:09:00 0 1 0 2 0", "00:11:00 0 1 0 2 0",
            ])
        #expect(answer["step_seconds"] as? Int == 300)
        #expect(answer["since"] as? String == time(0))
        #expect(answer["until"] as? String == time(720))
        #expect(answer["truncated"] as? Bool == false)
        let minutes = try lines(try server.get("/v1/status/history?\(span)"))
        #expect(minutes.count == 12)
        #expect(
            minutes.prefix(4) == [
                "00:00:00 0 3 0 0 0", "00:01:00 0 3 0 0 0", "00:02:00 0 1 2 0 0",
                "00:03:00 0 1 0 2 0",
            ])
        // What is asked for begins and ends within a step.
        let part = "since=\(time(61))&until=\(time(300))&step=2m"
        #expect(
            try lines(try server.get("/v1/status/history?\(part)")) == [
                "00:03:00 0 1 0 2 0", "00:04:00 0 1 0 2 0",
            ])
    }

    @Test func `a question is bounded in steps, and says why it is refused`() throws {
        let now = Timestamp(milliseconds: HistoryStory.began + 100 * 86_400_000)
        func query(_ members: [String: String]) throws -> StatusHistoryQuery {
            try StatusHistoryQuery(
                StatusHistoryQuery.parameters.read(members.map { ($0.key, $0.value) }), now: now)
        }
        let standard = try query([:])
        #expect(standard.until == now && standard.since == now - .seconds(12 * 3600))
        #expect(standard.step == .seconds(300) && standard.count == 144)
        func since(_ minutes: Int64) -> String { "\(now.milliseconds - minutes * 60_000)" }
        #expect(try query(["since": since(288)]).step == .seconds(60))
        #expect(try query(["since": since(289)]).step == .seconds(300))
        #expect(try query(["since": since(1440)]).step == .seconds(300))
        #expect(try query(["since": since(1441)]).step == .seconds(600))
        #expect(try query(["since": since(288 * 1440)]).step == .seconds(86_400))
        #expect(try query(["since": since(1500), "step": "1m"]).count == 1500)
        let detail = try #require(throws: ParameterError.self) {
            try query(["since": since(1501), "step": "1m"])
        }
        #expect(
            detail.detail
                == "step: 1501 steps are too many, at most 1500; a longer step or a shorter "
                + "span expected")
        #expect(try query(["since": since(1), "step": "1d"]).count == 1)
        for (name, value) in [
            ("step", "59s"), ("step", "2d"), ("step", "5"), ("step", "-5m"), ("since", "x"),
            ("since", since(0)), ("until", "0"), ("colour", "red"), ("limit", "5"),
        ] {
            #expect(throws: ParameterError.self, "\(name)=\(value)") { try query([name: value]) }
        }
    }

    @Test func `what nobody saw is a window, not a count`() throws {
        var story = try HistoryStory(directory)
        try story.blindMinutes()
        // In the others it was known already that nobody was watching.
        #expect(try story.integers("SELECT minute % 1440 FROM samples") == [0, 1, 2, 6])
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let answer = try server.get(
            "/v1/status/history?since=\(time(0))&until=\(time(420))&step=1m")
        let seen = try lines(answer)
        // What was decided before it was noticed stands (B1).
        #expect(seen == ["00:00:00 0 1 0 0 0", "00:06:10 0 0 1 0 0"])
        let blind = try #require(answer["blind"] as? [[String: Any]])
        #expect(blind.map { $0["reason"] as? String } == ["heartbeat", "stopped"])
        #expect(blind.map { $0["since"] as? String } == [time(0), time(380)])
        #expect(blind[0]["until"] as? String == time(370))
        // The store was closed days ago by its own clock, and opened now.
        #expect((blind[1]["until"] as? String ?? "") > time(420))
        let now = try server.get("/v1/status/history")
        #expect((now["blind"] as? [[String: Any]])?.isEmpty == false)
        #expect(try lines(now).count == 1)
    }

    @Test func `a wall that steps back takes the rows of its minutes again`() throws {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        for minute: Int64 in 0...4 {
            let ids = (0...minute).map { "p\($0)" }
            let batch = try HistoryStory.batches(ids, sequence: Int(minute), captured: minute * 60)
            try story.sampledTurn(&sampler, at: minute * 60, [batch])
        }
        #expect(try story.integers("SELECT online FROM samples") == [1, 2, 3, 4, 5])
        try story.sampledTurn(&sampler, at: 245, [.clock(step: .seconds(-120))])
        try story.sampledTurn(&sampler, at: 250)
        #expect(try story.integers("SELECT online FROM samples") == [1, 2, 5, 4, 5])
        let at = try story.integers("SELECT at_ms FROM samples WHERE minute % 1440 = 2")
        #expect(at == [HistoryStory.began + 125_000])
        try story.store.journal.close()
    }

    @Test func `what is looked at is bounded, and what is left is said to be`() throws {
        var story = try HistoryStory(directory)
        try tell(&story, minutes: 6)
        for second: Int64 in [400, 420] {
            try story.turn(at: second, [.store(isFailing: true)])
            try story.turn(at: second + 5, [.store(isFailing: false)])
        }
        try story.store.journal.close()
        let span = "since=\(time(0))&until=\(time(360))&step=1m"
        for (most, count) in [(6, 6), (5, 5)] {
            var limits = HistoryLimits()
            limits.samplesLookedAt = most
            let server = try HistoryServer(directory, limits: limits)
            let answer = try server.get("/v1/status/history?\(span)")
            #expect(try lines(answer).count == count)
            #expect(try lines(answer).last == "00:05:00 0 1 0 2 0")
            #expect(answer["truncated"] as? Bool == (most < 6))
            server.stop()
        }
        // The starts of these servers are one window, so close are they (D5).
        for (most, isCut) in [(3, false), (2, true)] {
            var limits = HistoryLimits()
            limits.blindWindows = most
            let server = try HistoryServer(directory, limits: limits)
            let answer = try server.get("/v1/status/history?since=\(time(0))&step=1d")
            #expect((answer["blind"] as? [[String: Any]])?.count == min(most, isCut ? 2 : 3))
            #expect(answer["truncated"] as? Bool == isCut)
            server.stop()
        }
    }

    @Test func `a state writer takes one sample a minute and keeps it over a restart`() throws {
        for _ in 0..<2 {
            let server = try HistoryServer(directory)
            let body = #"[{"responder_id":"a"},{"responder_id":"b"}]"#
            #expect(try server.answer("/v1/batches", "POST", body: body).status == 200)
            let answer = try server.get("/v1/status/history")
            let count = try lines(answer).count
            // The turn of the minute may have come meanwhile.
            #expect((1...2).contains(count))
            #expect(try server.answer("/v1/status/history?step=7s").status == 400)
            server.stop()
        }
        let story = try HistoryStory(directory)
        let rows = try story.integers("SELECT count(*) FROM samples")
        #expect(rows == [1] || rows == [2])
        #expect(try story.integers("SELECT online + degraded FROM samples") != [])
        try story.store.journal.close()
    }

    @Test func `samples go with the journal's days`() throws {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        for minute: Int64 in 0..<5 { try story.sampledTurn(&sampler, at: minute * 60) }
        let journal = story.store.journal
        let until = Timestamp(milliseconds: HistoryStory.began + 180_500)
        var left: [Bool] = []
        for _ in 0..<3 {
            try journal.begin()
            left.append(try journal.cutSamples(before: until, limit: 2))
            try journal.commit()
        }
        // Two of these, the third and two of those by region, the third.
        #expect(left == [true, true, false])
        #expect(try story.integers("SELECT minute % 1440 FROM samples") == [3, 4])
        try journal.close()
    }
}
