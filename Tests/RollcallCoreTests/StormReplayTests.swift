import Testing

@testable import RollcallCore

/// Storms over checkpoints, over versions, and whatever happens. Source: D11, J4, J5.
@Suite struct StormReplayTests {
    private static let pager = Receiver.named("pager", .pagerduty)
    private static let chat = Receiver.named("chat", .slack)
    private static let hook = Receiver.named("hook")

    @Test func `J5, D11: an engine that goes on from checkpoints decides the same`() throws {
        func story(restores: Bool) throws -> StormStage {
            var stage = try StormStage([Self.pager, Self.chat, Self.hook])
            stage.restores = restores
            stage.answers["pager"] = .fails
            try stage.report(1...3, at: 0)
            try stage.report(4...6, at: 30)
            try stage.report(7...20, at: 50)
            stage.pass(to: 160)
            stage.answers["pager"] = .takes
            try stage.report(1...9, at: 300)
            stage.pass(to: 1500)
            try stage.report(10...20, at: 1600)
            stage.pass(to: 1800)
            return stage
        }
        let (once, again) = (try story(restores: false), try story(restores: true))
        #expect(once.notified == again.notified)
        #expect(once.decisionBytes == again.decisionBytes)
        #expect(again.broken == [])
    }

    @Test func `J4, D11: storms of another version go on from what the store has`() throws {
        var stage = try StormStage([Self.pager])
        let ledger = stage.engine.alertLedger
        try stage.report(1...6, at: 0)
        try stage.report([7], at: 10)
        stage.pass(to: 110)
        var engine = stage.engine
        engine.take(ledger, stored: stage.stored)
        #expect(engine.alerting.brokenStorms() == [])
        let (storm, before) = (
            try #require(engine.alerting.notifications.storms.storms.first),
            try #require(stage.engine.alerting.notifications.storms.storms.first)
        )
        #expect(storm.episode == before.episode)
        #expect(Set(storm.members.keys) == Set(before.members.keys))
        #expect(storm.notifiedCount == 6)
        // Nobody is told anything again.
        engine.advance(to: engine.clock.now + .seconds(1))
        #expect(
            engine.takeDecisions().allSatisfy {
                if case .notice = $0.decision { false } else { true }
            })
    }

    @Test(arguments: [false, true])
    func `J4, D3, D11: a storm of another version that nobody took is given to the fallback`(
        isTaken: Bool
    ) throws {
        var pager = Self.pager
        pager.fallback = Array("duty".utf8)
        let duty = Receiver.named("duty", .pagerduty, [LabelMatcher(name: [], values: [])])
        var stage = try StormStage([pager, duty])
        stage.answers["pager"] = .waits
        let ledger = stage.engine.alertLedger
        try stage.report(1...6, at: 0)
        stage.pass(to: 100)
        var engine = stage.engine
        let storm = try #require(engine.alerting.notifications.storms.storms.first)
        #expect(storm.trigger != 0)
        engine.take(ledger, stored: stage.stored, taken: isTaken ? [storm.trigger] : [])
        #expect(
            engine.alerting.notifications.storms.storms.first?.trigger
                == (isTaken ? 0 : storm.trigger))
        #expect(engine.brokenInvariants() == [])
        engine.advance(to: engine.clock.now + pager.fallbackAfter)
        let given = engine.takeDecisions().contains { entry in
            guard case .notice(_, let notice) = entry.decision else { return false }
            return notice.receiver == duty.name
        }
        #expect(given != isTaken)
    }

    @Test(arguments: Effort.seeds(12))
    func `D11: in the end everybody knows what holds, and nothing else`(
        seed: Int
    ) throws {
        var random = UInt64(seed)
        func next(_ count: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: random >> 33) % count
        }
        var pager = Self.pager
        pager.repeatInterval = .seconds(1200)
        var stage = try StormStage([pager, Self.chat])
        stage.restores = seed % 4 == 0
        var second: Int64 = 0
        let all = Array(1...(8 + next(20)))
        let answers: [StormStage.Answer] = [.takes, .takes, .fails, .isUnheard, .waits]
        for _ in 0..<30 {
            second += Int64(5 + next(next(4) == 0 ? 1000 : 60))
            let some = all.filter { _ in next(3) == 0 }
            try stage.report(some, at: second)
            stage.answers["pager"] = answers[next(answers.count)]
            stage.answers["chat"] = answers[next(answers.count)]
            if next(8) == 0 { stage.change(at: second) { $0.alerts.storm = next(7) } }
        }
        stage.answers = [:]
        stage.pass(to: second + 600)
        for receiver in ["pager", "chat"] {
            let known = stage.open[receiver] ?? []
            // Nothing that fires is unknown, by its own message or its storm's.
            let keys = Set(stage.firing(for: receiver).values)
            #expect(keys.isSubset(of: known), "\(receiver) was not told of all")
            #expect(stage.firing(for: receiver).count == stage.engine.alerting.board.all.count)
        }
        // Everybody is back: nothing is left open anywhere.
        stage.change(at: second + 600) {
            $0.onDuty.degradedAfter = .seconds(9000)
            $0.onDuty.offlineAfter = .seconds(18_000)
        }
        try stage.report(all, at: second + 610)
        stage.pass(to: second + 1200)
        #expect(stage.engine.alerting.board.all.isEmpty)
        #expect(stage.open["pager"] ?? [] == [])
        #expect(stage.open["chat"] ?? [] == [])
        #expect(stage.engine.alerting.notifications.storms.isEmpty)
        #expect(stage.broken == [])
    }
}
