import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// `GET /v1/nudges` and `GET /v1/responders/{id}/nudge`, on a store with a history. Source: design
/// §7 N8.
@Suite struct NudgeRouteTests {
    private let directory = TemporaryDirectory()

    private static var policy: Policy {
        var policy = Policy()
        policy.nudges.mode = .live
        policy.nudges.sink = .webhook
        return policy
    }

    /// "a" and "b" are each other's company, "c" has none. All are located once; four hours later
    /// two are nudged, "b" comes back after four minutes, "a" stays away.
    private static func story(_ directory: TemporaryDirectory) throws -> HistoryStory {
        var story = try HistoryStory(directory)
        try story.turn(
            at: 0,
            [
                .policy(policy), try HistoryStory.batches(["a", "b"], sequence: 1, captured: 0),
                try HistoryStory.batches(["c"], sequence: 1, captured: 0, region: "south"),
            ])
        try story.turn(at: 14_400)
        try story.turn(
            at: 14_640, [try HistoryStory.batches(["b"], sequence: 2, captured: 14_640)])
        try story.turn(at: 16_200)
        return story
    }

    private static func tell(_ directory: TemporaryDirectory) throws {
        try story(directory).store.journal.close()
    }

    /// Entries of the story's day, without those that the server's own start made, in lines.
    private static func lines(_ entries: [[String: Any]]) -> [String] {
        entries.compactMap { entry in
            guard let at = entry["at"] as? String, at.hasPrefix("2026-11-21T0") else { return nil }
            return "\(at.dropFirst(11).prefix(8)) \(entry["responder_id"] ?? "") "
                + "\(entry["decision"] ?? "") \(entry["followed"] ?? ""): \(entry["text"] ?? "")"
        }
    }

    private static let solo =
        "04:00:00 c hold <null>: not nudged: nobody else of their circles is active"
    private static let located = "04:00:00 b send located: nudged; a location came 4m later"
    private static let silent =
        "04:00:00 a send silent: nudged; nothing came within half an hour"

    // MARK: - The ledger

    @Test func `the ledger tells who was nudged, who was not and why, and what followed`() throws {
        try Self.tell(directory)
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        let page = try server.get("/v1/nudges")
        let entries = try #require(page["nudges"] as? [[String: Any]])
        #expect(Self.lines(entries) == [Self.solo, Self.located, Self.silent])
        #expect(page["mode"] as? String == "live" && page["sink"] as? String == "webhook")
        #expect(page["frozen_until"] is NSNull && page["next"] is NSNull)
        let sent = try #require(entries.last)
        #expect(sent["stale_seconds"] as? Int == 14_400)
        #expect(sent["last_location_at"] as? String == "2026-11-21T00:00:00.000Z")
        #expect(sent["cause"] as? String == "app_suspended" && sent["platform"] as? String == "ios")
        #expect(sent["dry_run"] as? Bool == false && sent["reason"] is NSNull)
        let id = try #require(sent["nudge_id"] as? String)
        #expect(id.wholeMatch(of: /nudge_[0-9a-f]{16}_1/) != nil)
        let held = try #require(entries.first { $0["reason"] as? String == "solo" })
        #expect(held["nudge_id"] is NSNull && held["push"] is NSNull)
    }

    @Test func `what followed is told however the pages are cut`() throws {
        try Self.tell(directory)
        var limits = HistoryLimits()
        for listed in [1, 100_000] {
            limits.nudgesListed = listed
            let server = try HistoryServer(directory, limits: limits, policy: Self.policy)
            defer { server.stop() }
            for limit in 1...4 where listed > 1 || limit == 1 {
                let pages = try server.pages("/v1/nudges?limit=\(limit)", "nudges")
                #expect(pages.allSatisfy { $0.count <= limit })
                let lines = Self.lines(pages.flatMap { $0 })
                if listed > 1 { #expect(lines == [Self.solo, Self.located, Self.silent]) }
                #expect(lines.count == 3)
            }
            for (id, line) in [("a", Self.silent), ("b", Self.located), ("c", Self.solo)] {
                let pages = try server.pages("/v1/nudges?limit=1&responder_id=\(id)", "nudges")
                let lines = Self.lines(pages.flatMap { $0 })
                if listed > 1 { #expect(lines == [line]) }
            }
        }
    }

    @Test func `filters hold together, and what makes no sense is refused`() throws {
        try Self.tell(directory)
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        func lines(_ query: String) throws -> [String] {
            Self.lines(try server.pages("/v1/nudges?\(query)", "nudges").flatMap { $0 })
        }
        #expect(try lines("decision=send") == [Self.located, Self.silent])
        #expect(try lines("decision=hold") == [Self.solo])
        #expect(try lines("decision=dry_run") == [])
        #expect(try lines("decision=send&responder_id=b") == [Self.located])
        #expect(try lines("decision=hold&responder_id=b") == [])
        #expect(try server.answer("/v1/nudges?limit=1000").status == 200)
        for wrong in [
            "limit=0", "limit=1001", "decision=maybe", "after=x", "after=1.2", "colour=red",
            "responder=a",
        ] {
            #expect(try server.answer("/v1/nudges?\(wrong)").status == 400, "\(wrong)")
        }
        let nobody = try server.answer("/v1/nudges?responder_id=x")
        #expect(nobody.status == 404 && nobody.body.contains("nobody has this id"))
    }

    @Test func `of who is erased the ledger tells nothing`() throws {
        try Self.tell(directory)
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        #expect(try server.answer("/v1/responders/a", "DELETE").status == 202)
        let page = try server.get("/v1/nudges")
        let entries = try #require(page["nudges"] as? [[String: Any]])
        #expect(Self.lines(entries) == [Self.solo, Self.located])
        #expect(try server.answer("/v1/nudges?responder_id=a").status == 404)
        #expect(try server.answer("/v1/responders/a/nudge").status == 404)
    }

    @Test func `a dry run says that nothing was sent`() throws {
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [try HistoryStory.batches(["a", "b"], sequence: 1, captured: 0)])
        try story.turn(at: 14_400)
        try story.store.journal.close()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        let page = try server.get("/v1/nudges?decision=dry_run")
        let entries = try #require(page["nudges"] as? [[String: Any]])
        let text = "04:00:00 b dry_run <null>: to be nudged; a dry run, so nothing was sent"
        #expect(Self.lines(entries).first == text)
        #expect(entries.allSatisfy { $0["nudge_id"] is NSNull && $0["dry_run"] as? Bool == true })
        #expect(page["mode"] as? String == "dry_run" && page["sink"] as? String == "none")
        let table = try server.get("/v1/nudges?by=manufacturer")
        #expect(
            table["nudges"] as? Int == 0 && (table["rows"] as? [Any])?.isEmpty == true,
            "P6: nothing was sent that could be counted")
    }

    @Test func `P6: nudges are counted by what the phone is and by what followed`() throws {
        var story = try HistoryStory(directory)
        let first = """
            [{"responder_id":"a","platform":"ios","manufacturer":"HUAWEI","model":"Mate9",
              "updates":[{"sequence":1,"captured_at":\(HistoryStory.began)}]},
             {"responder_id":"b","platform":"ios","manufacturer":"Apple",
              "updates":[{"sequence":1,"captured_at":\(HistoryStory.began)}]}]
            """
        try story.turn(at: 0, [.policy(Self.policy), HistoryStory.items(.batch, first)])
        try story.turn(at: 14_400)
        try story.turn(
            at: 14_640, [try HistoryStory.batches(["b"], sequence: 2, captured: 14_640)])
        try story.turn(at: 16_200)
        try story.store.journal.close()
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        func rows(_ by: String) throws -> [String] {
            let table = try server.get("/v1/nudges?by=\(by)")
            #expect(table["truncated"] as? Bool == false)
            let rows = try #require(table["rows"] as? [[String: Any]])
            #expect(
                rows.compactMap { $0["nudges"] as? Int }.reduce(0, +) == table["nudges"] as? Int)
            return rows.map { row in
                let names = by.split(separator: ",").map { row[String($0)] as? String ?? "null" }
                let followed = (row["followed"] as? [String: Int] ?? [:]).filter { $0.value > 0 }
                let median = (row["seconds"] as? [String: Double])?["median"] ?? -1
                return "\(names.joined(separator: " ")) \(row["nudges"] ?? 0) of "
                    + "\(row["people"] ?? 0), \(row["share"] as? Double ?? -1): "
                    + "\(followed.keys.sorted().joined(separator: " ")) \(Int(median))"
            }
        }
        let (apple, huawei) = ("Apple 1 of 1, 0.5: located 240", "HUAWEI 1 of 1, 0.5: silent -1")
        #expect(try rows("manufacturer") == [apple, huawei])
        #expect(try rows("platform") == ["ios 2 of 2, 1.0: located silent 240"])
        #expect(
            try rows("model,manufacturer")
                == ["null Apple 1 of 1, 0.5: located 240", "Mate9 HUAWEI 1 of 1, 0.5: silent -1"])
        for wrong in [
            "by=colour", "by=model,model", "by=model&limit=3", "by=model&responder_id=a", "by=",
        ] {
            #expect(try server.answer("/v1/nudges?\(wrong)").status == 400, "\(wrong)")
        }
        #expect(try server.answer("/v1/responders/a", "DELETE").status == 202)
        #expect(try rows("manufacturer") == ["Apple 1 of 1, 1.0: located 240"])
    }

    // MARK: - One person

    @Test func `one person's answer says what holds it, and what time alone cannot change`() throws
    {
        try Self.tell(directory)
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        // We have just begun to see again, so nobody is nudged yet (F31).
        let held = try server.get("/v1/responders/c/nudge")
        #expect(held["nudge"] as? Bool == false && held["decision"] as? String == "hold")
        #expect(held["reasons"] as? [String] == ["solo", "blind"])
        #expect(
            held["text"] as? String == "not nudged now: nobody else of their circles is active; "
                + "we cannot see, or could not until lately")
        #expect(held["earliest_at"] is NSNull && held["last_nudged_at"] is NSNull)
        #expect(held["stale_after_seconds"] as? Int == 14_400)
        let waiting = try server.get("/v1/responders/a/nudge")
        #expect(waiting["reasons"] as? [String] == ["blind"])
        #expect(waiting["earliest_at"] is String)
        #expect(waiting["last_nudged_at"] as? String == "2026-11-21T04:00:00.000Z")
        #expect(try server.answer("/v1/responders/x/nudge").status == 404)
        #expect(try server.answer("/v1/responders/a/nudge?x=1").status == 400)
    }

    @Test func `who is young, unknown, paused or off duty is told so`() throws {
        let server = try HistoryServer(directory, policy: Self.policy)
        defer { server.stop() }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let batches = """
            [{"responder_id":"young","updates":[{"sequence":1,"captured_at":\(now - 3000)}]},
             {"responder_id":"unknown"},{"responder_id":"paused","sharing":"paused"},
             {"responder_id":"off","duty_state":"OFF_DUTY"}]
            """
        #expect(try server.answer("/v1/batches", "POST", body: batches).status == 200)
        let young = try server.get("/v1/responders/young/nudge")
        #expect(young["decision"] as? String == "none" && young["reasons"] as? [String] == [])
        let text = try #require(young["text"] as? String)
        #expect(text.hasPrefix("not nudged: their location is "))
        #expect(text.hasSuffix(" old, and is too old from 4h on; in 3h 59m at the earliest"))
        for (id, decision, text) in [
            ("unknown", "none", "not nudged: no location of theirs is known yet"),
            ("paused", "hold", "not nudged: they paused sharing"),
            ("off", "hold", "not nudged: they are not expected to share"),
        ] {
            let answer = try server.get("/v1/responders/\(id)/nudge")
            #expect(answer["decision"] as? String == decision, "\(id)")
            #expect(answer["text"] as? String == text)
            #expect(answer["earliest_at"] is NSNull && answer["cause"] is NSNull)
        }
    }

    private func words(_ engine: Engine, _ number: Int) -> String {
        NudgeWords.answer(
            engine.nudgeAnswer(number), NudgeStanding(engine, store: 7),
            now: engine.clock.wallNow)
    }

    @Test func `throttled, frozen and disabled have words of their own`() throws {
        var story = try Self.story(directory)
        let last = "they were nudged 30m ago; in 5h 30m at the earliest"
        #expect(words(story.engine, 0) == "not nudged now: \(last)")
        try story.turn(at: 16_300, [.clock(step: .seconds(61))])
        let frozen = "nudges are frozen, because the clock stepped or the store is an older one"
        #expect(words(story.engine, 0) == "not nudged now: \(frozen); in 6h at the earliest")
        #expect(NudgeStanding(story.engine, store: 7).frozenUntil != nil)
        var policy = Self.policy
        policy.nudges.mode = .dryRun
        try story.turn(at: 40_000, [.policy(policy)])
        try story.turn(at: 40_060)
        let dry = "they would have been nudged 1m ago, in a dry run; in 5h 59m at the earliest"
        #expect(words(story.engine, 0) == "not nudged now: \(dry)")
        policy.nudges.mode = .disabled
        try story.turn(at: 40_100, [.policy(policy)])
        #expect(words(story.engine, 0) == "not nudged: nudges are disabled")
        #expect(words(story.engine, 2) == "not nudged: nudges are disabled")
    }

    // MARK: - What became of a push

    @Test(
        arguments: [
            (nil, nil, "nudged"), (.waiting, nil, "to be nudged; the push is on its way"),
            (.sending, nil, "to be nudged; the push is on its way"), (.ticketed, nil, "nudged"),
            (.over, .delivered, "nudged"),
            (.over, .unknown, "nudged, but nobody knows whether the push arrived"),
            (.over, .expired, "to be nudged, but the push was refused until it was too late"),
            (.over, .failed, "to be nudged, but the push could not be delivered"),
            (.over, .unregistered, "to be nudged, but the phone has no such app any more"),
            (
                .over, .dropped,
                "to be nudged, but it was not wanted any more before the push went out"
            ),
            (.over, .removed, "to be nudged, but the settings know no sink any more"),
        ] as [(PushMessage.State?, PushOutcome?, String)])
    func `each end of a push has words of its own`(
        state: PushMessage.State?, outcome: PushOutcome?, text: String
    ) {
        let deliveryStatus = state.map {
            PushDeliveryStatus(state: $0, attempts: 1, outcome: outcome)
        }
        let at = Timestamp(milliseconds: HistoryStory.began)
        let report = NudgeReport(.send)
        #expect(NudgeWords.entry(report, at: at, deliveryStatus, nil) == text)
        let followed = NudgeWords.Followed(outcome: .unseen, at: at + .seconds(1800))
        #expect(
            NudgeWords.entry(report, at: at, deliveryStatus, followed) == text
                + "; nothing was seen within half an hour, but we were blind for a part of it")
    }

    @Test func `what became of a push is read from its row, if there is one`() throws {
        let journal = try Journal(path: directory.path + "/pushes.db")
        let insert = try Statement(
            journal.connection,
            """
            INSERT INTO pushes VALUES
                (1, 0, 2, 0, 0, 0, -1, 0, x'', 1, 0, 0, 0, :facts, NULL),
                (2, 3, 1, 0, 0, 5000, 4, 0, x'', 1, 0, 0, 0, :facts, NULL)
            """)
        try insert.run([.facts: NudgeFacts().journalBytes])
        let reader = try PushReader(journal.connection)
        #expect(
            try reader.deliveryStatus(of: 1) == PushDeliveryStatus(state: .waiting, attempts: 2))
        #expect(
            try reader.deliveryStatus(of: 2)
                == PushDeliveryStatus(
                    state: .over, attempts: 1, outcome: .unregistered,
                    finishedAt: Timestamp(milliseconds: 5000)))
        #expect(try reader.deliveryStatus(of: 3) == nil)
    }
}
