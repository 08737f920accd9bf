import Foundation
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// One person's history, walked back (J7, §9), and who waits for it.
@Suite struct TimelineTests {
    private let directory = TemporaryDirectory()

    /// One silence of "a" and, in the same turns, of "b"; blindness in between.
    private func tell() throws {
        var story = try HistoryStory(directory)
        try story.silence(["a", "b"], from: 0)
        try story.turn(at: 700, [.store(isFailing: true)])
        try story.turn(at: 720, [.store(isFailing: false)])
        try story.turn(
            at: 800,
            [
                try HistoryStory.items(
                    .responder, "{\"responder_id\":\"a\",\"duty_state\":\"ON_DUTY\"}"),
                try HistoryStory.items(
                    .transition, "{\"responder_id\":\"a\",\"from\":\"UNKNOWN\",\"to\":\"ONLINE\"}"),
            ])
        try story.store.journal.close()
    }

    private func line(_ event: [String: Any]) -> String {
        let words = ["kind", "state", "from", "to", "verdict", "duty_state", "reason"]
        let at = (event["at"] as? String).map { $0.dropFirst(11).prefix(8) } ?? ""
        return ([String(at)] + words.compactMap { event[$0] as? String }).joined(separator: " ")
    }

    @Test func `a timeline puts decisions, rows and blindness together, newest first`() throws {
        try tell()
        let server = try HistoryServer(directory)
        let until = RFC3339.string(Timestamp(milliseconds: HistoryStory.began + 900_000))
        let target = "/v1/responders/a/timeline?until=\(until)"
        let page = try server.get(target)
        let events = try #require(page["events"] as? [[String: Any]])
        #expect(
            events.map(line) == [
                "00:13:20 status UNKNOWN ONLINE", "00:13:20 status NOT_EXPECTED UNKNOWN",
                "00:13:20 server UNKNOWN ONLINE", "00:13:20 told ON_DUTY",
                "00:12:00 blind end store", "00:11:41 blind begin store",
                "00:09:21 status ONLINE NOT_EXPECTED", "00:09:21 told OFF_DUTY",
                "00:08:40 gap verdict network", "00:09:20 contact", "00:08:00 contact",
                "00:06:40 gap closed", "00:06:40 status OFFLINE ONLINE", "00:06:40 contact",
                "00:03:00 gap judged", "00:03:00 status DEGRADED OFFLINE", "00:01:30 gap open",
                "00:01:30 status ONLINE DEGRADED", "00:00:00 status UNKNOWN ONLINE",
                "00:00:00 status NOT_EXPECTED UNKNOWN", "00:00:00 contact",
            ])
        #expect(page["next"] is NSNull)
        let contact = try #require(events.last)
        #expect((contact["facts"] as? [String: Any])?["app_state"] as? String == "background")
        #expect(contact["sequences"] as? [Int] == [0, 0])
        for limit in [1, 2, 5, 20] {
            let pages = try server.pages("\(target)&limit=\(limit)", "events")
            #expect(pages.flatMap { $0 }.map(line) == events.map(line), "\(limit)")
        }
        let told = try server.pages("\(target)&contacts=false&limit=3", "events").flatMap { $0 }
        #expect(told.map(line) == events.map(line).filter { !$0.contains("contact") })
        server.stop()
    }

    @Test func `since is included and until is not, by turns`() throws {
        try tell()
        let server = try HistoryServer(directory)
        let since = HistoryStory.began + 400_000
        let until = HistoryStory.began + 480_000
        let target = "/v1/responders/a/timeline?since=\(since)&until=\(until)"
        let events = try server.pages(target, "events").flatMap { $0 }
        #expect(
            events.map(line) == [
                "00:06:40 gap closed", "00:06:40 status OFFLINE ONLINE", "00:06:40 contact",
            ])
        let none = try server.get("/v1/responders/a/timeline?since=4000000000000")
        #expect((none["events"] as? [Any])?.isEmpty == true)
        for query in [
            "since=x", "until=x", "limit=0", "limit=1001", "after=1.2", "contacts=maybe",
            "colour=1",
        ] {
            #expect(
                try server.answer("/v1/responders/a/timeline?\(query)").status == 400, "\(query)")
        }
        #expect(try server.answer("/v1/responders/nobody/timeline").status == 404)
        server.stop()
    }

    @Test func `another's places show nothing of them`() throws {
        try tell()
        let server = try HistoryServer(directory)
        for cursor in ["2.2.0", "99999.99999.0", "0.2.0", "2.0.0"] {
            let page = try server.get("/v1/responders/b/timeline?after=\(cursor)")
            for event in try #require(page["events"] as? [[String: Any]]) {
                #expect(event["kind"] as? String != "server" && line(event) != "told ON_DUTY")
            }
        }
        // Row 1 is of "a", row 2 of "b".
        let others = try server.get("/v1/responders/b/timeline?after=0.1.0")
        #expect((others["events"] as? [Any])?.isEmpty == true)
        server.stop()
    }

    @Test func `what is walked over for a page is bounded`() throws {
        try tell()
        var limits = HistoryLimits()
        limits.eventsLookedAt = 6
        let server = try HistoryServer(directory, limits: limits)
        let pages = try server.pages("/v1/responders/a/timeline?limit=1000", "events")
        #expect(pages.count > 3)
        #expect(pages.flatMap { $0 }.count >= 21)
        server.stop()
    }

    @Test func `so many questions of history wait, and one more is refused`() throws {
        try tell()
        let server = try HistoryServer(directory)
        let notifications = server.router.history
        let gate = Mailbox<Int>()
        let answers = Mutex<[Int]>([])
        for _ in 0..<HistoryService.waitingMax {
            notifications.ask({ response in answers.withLock { $0.append(response.status) } }) {
                _ in
                _ = gate.takeAll(waiting: 30_000)
                gate.put(1)
                return .json([])
            }
        }
        #expect(answers.withLock { $0 } == [])
        let refused = try server.answer("/v1/gaps")
        #expect(refused.status == 503)
        #expect(refused.head.contains("Retry-After: 1"))
        gate.put(1)
        #expect(isTrueSoon { answers.withLock { $0.count } == HistoryService.waitingMax })
        #expect(answers.withLock { $0.allSatisfy { $0 == 200 } })
        #expect(try server.answer("/v1/gaps").status == 200)
        server.stop()
    }
}
