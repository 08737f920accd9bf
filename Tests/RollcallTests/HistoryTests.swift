import Foundation
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// What is answered of the past, by a real server from a real store (V5).
@Suite struct HistoryTests {
    private let directory = TemporaryDirectory()

    /// Three people who fall silent together, thrice, and one who does so elsewhere and stays away.
    private func tell() throws {
        var story = try HistoryStory(directory)
        for hour in 0..<3 { try story.silence(["a", "b", "c"], from: Int64(hour) * 3600) }
        try story.turn(
            at: 20_000,
            [try HistoryStory.batches(["d"], sequence: 1, captured: 20_000, region: "south")])
        try story.turn(at: 20_200)
        try story.store.journal.close()
    }

    private func time(_ seconds: Int64) -> String {
        RFC3339.string(Timestamp(milliseconds: HistoryStory.began + seconds * 1000))
    }

    private func numbers(_ gaps: [[String: Any]]) -> [Int] { gaps.compactMap { $0["gap"] as? Int } }

    // MARK: - Gaps

    @Test func `gaps are listed newest first, whole, however the pages are cut`() throws {
        try tell()
        let server = try HistoryServer(directory)
        let all = try #require(try server.get("/v1/gaps")["gaps"] as? [[String: Any]])
        #expect(numbers(all) == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
        for limit in 1...4 {
            let pages = try server.pages("/v1/gaps?limit=\(limit)", "gaps")
            #expect(pages.dropLast().allSatisfy { $0.count == limit })
            #expect(numbers(pages.flatMap { $0 }) == numbers(all))
        }
        let newest = try #require(all.first)
        #expect(newest["responder_id"] as? String == "d")
        #expect(newest["state"] as? String == "open")
        #expect(newest["opened_at"] as? String == time(20_090))
        #expect(newest["offline_at"] as? String == time(20_180))
        #expect(newest["verdict"] is NSNull && newest["return"] is NSNull)
        let oldest = try #require(all.last)
        #expect(oldest["responder_id"] as? String == "a")
        #expect(oldest["state"] as? String == "closed")
        #expect(oldest["length_seconds"] as? Double == 310)
        #expect(oldest["verdict"] as? String == "network")
        let seen = try #require(oldest["return"] as? [String: Any])
        #expect(seen["captured_inside"] as? Int == 1)
        server.stop()
    }

    @Test func `P7: an open gap tells the usual return, one's own first, and the odds`() throws {
        var story = try HistoryStory(directory)
        for hour in 0..<20 { try story.silence(["a"], from: Int64(hour) * 3600) }
        let last = try HistoryStory.batches(["a", "b"], sequence: 80_000, captured: 80_000)
        try story.turn(at: 80_000, [last])
        try story.turn(at: 80_200)
        try story.store.journal.close()
        var policy = Policy()
        // Whenever this test runs.
        policy.retention = .seconds(200 * 365 * 86_400)
        let server = try HistoryServer(directory, policy: policy)
        func usual(_ gap: [String: Any]?) throws -> String {
            let usual = try #require(gap?["usual_return"] as? [String: Any])
            let median = try #require(usual["median_seconds"] as? Double)
            let gaps = try #require(usual["gaps"] as? Int)
            return "\(median) of \(gaps), \(try #require(usual["of"] as? String))"
        }
        func odds(_ gap: [String: Any]?) throws -> String {
            let odds = try #require(gap?["odds"] as? [String: Any])
            let verdicts = try #require(odds["verdicts"] as? [String: Int])
            let gaps = try #require(odds["gaps"] as? Int)
            return "\(verdicts) of \(gaps), \(try #require(odds["of"] as? String))"
        }
        func gaps(_ query: String) throws -> [[String: Any]] {
            try #require(try server.get("/v1/gaps?\(query)")["gaps"] as? [[String: Any]])
        }
        let open = try gaps("state=open")
        #expect(open.map { $0["responder_id"] as? String } == ["b", "a"])
        for gap in open {
            #expect(try usual(gap) == "310.0 of 20, phones")
            #expect(try odds(gap) == #"["network": 20] of 20, manufacturer"#)
        }
        let own = try gaps("responder=a")
        #expect(try usual(own.first) == "310.0 of 20, responder")
        #expect(try odds(own.first) == #"["network": 20] of 20, manufacturer"#)
        // Of what is over nothing is to be expected.
        #expect(own.count == 21)
        #expect(own.dropFirst().allSatisfy { $0["usual_return"] is NSNull && $0["odds"] is NSNull })
        #expect(try usual(try gaps("responder=b").first) == "310.0 of 20, phones")
        let person = try server.get("/v1/responders/b")["gap"] as? [String: Any]
        #expect(try usual(person) == "310.0 of 20, phones")
        #expect(try odds(person) == #"["network": 20] of 20, manufacturer"#)
        #expect(person?["gap"] as? Int == 22 && person?["suspected"] as? String == "app_suspended")
        let people = try server.get("/v1/responders")["responders"] as? [[String: Any]]
        #expect(people?.count == 2 && people?.allSatisfy { $0["gap"] == nil } == true)
        server.stop()
    }

    @Test func `filters hold together; since is included, until is not`() throws {
        try tell()
        let server = try HistoryServer(directory)
        func listed(_ query: String) throws -> [Int] {
            numbers(try server.pages("/v1/gaps?limit=2&\(query)", "gaps").flatMap { $0 })
        }
        #expect(try listed("state=open") == [10])
        #expect(try listed("state=closed") == [9, 8, 7, 6, 5, 4, 3, 2, 1])
        #expect(try listed("verdict=network&responder=b") == [8, 5, 2])
        #expect(try listed("region=south") == [10])
        #expect(try listed("platform=android") == [])
        #expect(try listed("cause=app_suspended&region=north&since=\(time(7290))") == [9, 8, 7])
        #expect(try listed("since=\(time(3690))&until=\(time(7290))") == [6, 5, 4])
        #expect(try listed("since=\(HistoryStory.began + 3_690_001)&until=\(time(7290))") == [])
        #expect(try listed("responder=c&until=\(time(7290))") == [6, 3])
        for query in [
            "state=ajar", "cause=x", "verdict=", "platform=x", "since=yesterday", "limit=0",
            "limit=1001", "after=x", "after=1", "after=1.-2", "by=cause,cause", "by=colour",
            "by=cause&limit=3", "colour=red",
        ] {
            #expect(try server.answer("/v1/gaps?\(query)").status == 400, "\(query)")
        }
        #expect(try server.answer("/v1/gaps?responder=nobody").status == 404)
        #expect(try server.answer("/v1/gaps?limit=1000").status == 200)
        server.stop()
    }

    @Test func `a table counts every gap once, the blind ones apart`() throws {
        try tell()
        // The server was down while "d" is away: that gap is held against nobody.
        let server = try HistoryServer(directory)
        let table = try server.get("/v1/gaps?by=region,cause")
        let rows = try #require(table["rows"] as? [[String: Any]])
        #expect(rows.map { $0["region"] as? String } == ["north", "south"])
        #expect(rows.map { $0["gaps"] as? Int } == [9, 0])
        #expect(rows.map { $0["blind"] as? Int } == [0, 1])
        #expect((rows[0]["verdicts"] as? [String: Int]) == ["network": 9])
        #expect(
            (rows[0]["seconds"] as? [String: Double])
                == ["median": 310, "longest": 310, "total": 2790], "P6: dark for so long in all")
        #expect(rows[1]["seconds"] is NSNull)
        #expect(table["gaps"] as? Int == 9)
        #expect(table["truncated"] as? Bool == false)
        // The same by the way over the times of opening, and by one person's decisions.
        for query in ["since=\(time(0))", "until=\(time(20_000))", "responder=a"] {
            let other = try server.get("/v1/gaps?by=verdict&\(query)")
            #expect(other["gaps"] as? Int == (query == "responder=a" ? 3 : 9), "\(query)")
        }
        server.stop()
    }

    @Test func `what is looked at for one answer is bounded, and what is left is told`() throws {
        try tell()
        var limits = HistoryLimits()
        limits.gapsListed = 4
        limits.gapsSummed = 9
        limits.eventsLookedAt = 5
        let server = try HistoryServer(directory, limits: limits)
        // Nine gaps are passed by before the one that fits.
        let pages = try server.pages("/v1/gaps?until=\(time(300))&responder=a", "gaps")
        #expect(pages.count > 3)
        #expect(numbers(pages.flatMap { $0 }) == [1])
        let scanned = try server.pages("/v1/gaps?verdict=reinstalled", "gaps")
        #expect(scanned.map(\.count) == [0, 0, 0])
        #expect(try server.get("/v1/gaps?by=cause")["truncated"] as? Bool == true)
        server.stop()
        limits.gapsSummed = 10
        let other = try HistoryServer(directory, limits: limits)
        #expect(try other.get("/v1/gaps?by=cause")["truncated"] as? Bool == false)
        other.stop()
    }

    @Test func `the middle one of two million lengths is counted, not sorted`() {
        var lengths = Lengths()
        #expect(lengths.median == nil)
        for length: Int64 in [70_000, 5, 66_000, 1_000_000_000] {
            lengths.add(Milliseconds(length))
        }
        #expect(lengths.median == Milliseconds(68_000))
        #expect(lengths.longest == Milliseconds(1_000_000_000))
        #expect(lengths.total == Milliseconds(1_000_136_005))
        lengths.add(Milliseconds(65_536))
        #expect(lengths.median == Milliseconds(66_000))
        lengths.add(Milliseconds(Int64.max / 2))
        #expect(lengths.median == Milliseconds(68_000))
        lengths.add(Milliseconds(Int64.max / 2))
        lengths.add(Milliseconds(Int64.max / 2))
        #expect(lengths.total == Milliseconds(Int64.max), "more does not fit")
    }

    @Test func `so many regions have a number each, and one more has none`() {
        var regions = RegionNames()
        let names = (0...RegionNames.countMax).map { Array("region-\($0)".utf8) }
        for round in 0..<2 {
            for (number, name) in names.enumerated() {
                let found = name.withUnsafeBytes { regions.number(of: $0) }
                #expect(
                    found == (number < RegionNames.countMax ? number : nil), "\(round) \(number)")
            }
        }
        #expect(regions.names == Array(names.dropLast()))
    }

    // MARK: - Dark time

    @Test func `dark time is summed up by what is asked for`() throws {
        try tell()
        let server = try HistoryServer(directory)
        let days = "since=2026-11-20&until=2026-11-21"
        let fleet = try server.get("/v1/dark?\(days)&by=platform&region=north")
        let rows = try #require(fleet["rows"] as? [[String: Any]])
        #expect(rows.count == 1)
        #expect(rows.first?["contact_seconds"] as? Double == 2790)
        #expect(rows.first?["location_seconds"] as? Double == 2700)
        #expect(rows.first?["responders"] as? Int == 3)
        for limit in 1...3 {
            let target = "/v1/dark?\(days)&by=responder,day&region=north&limit=\(limit)"
            let pages = try server.pages(target, "rows")
            #expect(
                pages.flatMap { $0 }.map { $0["responder_id"] as? String } == ["a", "b", "c"])
        }
        let one = try server.get("/v1/dark?\(days)&by=day&responder=b")
        let own = try #require(one["rows"] as? [[String: Any]])
        #expect(own.map { $0["day"] as? String } == ["2026-11-21"])
        #expect(own.first?["contact_seconds"] as? Double == 930)
        server.stop()
    }

    @Test func `366 days are answered for, one more is not`() throws {
        try tell()
        let server = try HistoryServer(directory)
        #expect(try server.answer("/v1/dark?since=2026-01-01&until=2027-01-01").status == 200)
        #expect(try server.answer("/v1/dark?since=2026-01-01&until=2027-01-02").status == 400)
        for query in [
            "since=2026-11-21&until=2026-11-20", "since=2026-13-01", "since=20261101",
            "by=region,day,platform", "by=", "limit=5", "after=3", "by=responder&after=x",
            "by=responder&limit=1001", "by=responder&responder=a&limit=5", "colour=red",
        ] {
            #expect(try server.answer("/v1/dark?\(query)").status == 400, "\(query)")
        }
        #expect(try server.answer("/v1/dark?responder=nobody").status == 404)
        server.stop()
    }

    @Test func `rows of dark time summed up are bounded, and so are rows answered`() throws {
        try tell()
        var limits = HistoryLimits()
        limits.darkSummed = 3
        limits.groups = 1
        let server = try HistoryServer(directory, limits: limits)
        let days = "since=2026-11-21&until=2026-11-21"
        #expect(try server.get("/v1/dark?\(days)&by=platform")["truncated"] as? Bool == false)
        #expect(try server.get("/v1/gaps?by=region")["truncated"] as? Bool == true)
        #expect(try server.get("/v1/gaps?by=platform")["truncated"] as? Bool == false)
        server.stop()
        limits.darkSummed = 2
        let other = try HistoryServer(directory, limits: limits)
        #expect(try other.get("/v1/dark?\(days)&by=platform")["truncated"] as? Bool == true)
        other.stop()
    }
}
