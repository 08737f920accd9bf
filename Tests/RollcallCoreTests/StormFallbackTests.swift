import Testing

@testable import RollcallCore

/// A storm that the first receiver does not take is a storm for its fallback, too. Source: D3, D11.
///
/// Regions are without anybody 90 s after they reported, and what is not taken is given away 60 s later.
@Suite struct StormFallbackTests {
    private static let pager: Receiver = {
        var pager = Receiver.named("pager", .pagerduty)
        pager.fallback = Array("duty".utf8)
        return pager
    }()
    private static let duty = Receiver.named(
        "duty", .pagerduty, [LabelMatcher(name: [], values: [])])

    private static func stage(
        restores: Bool = false, _ answer: StormStage.Answer, duty: Receiver = duty
    ) throws -> StormStage {
        var stage = try StormStage([pager, duty])
        stage.restores = restores
        stage.answers["pager"] = answer
        try stage.report(1...6, at: 0)
        return stage
    }

    @Test(arguments: [false, true])
    func `D3, D11: what nobody took is one message for the fallback, and both get the end`(
        restores: Bool
    ) throws {
        var stage = try Self.stage(restores: restores, .fails)
        stage.pass(to: 149)
        #expect(stage.notified == [])
        stage.pass(to: 155)
        #expect(stage.notified == ["150 duty fired storm of 6"])
        stage.answers["pager"] = .takes
        stage.pass(to: 300)
        #expect(stage.notified.count == 2)
        #expect(stage.notified.last?.hasSuffix("pager fired storm of 6") == true)
        try stage.report(1...6, at: 310)
        stage.pass(to: 330)
        #expect(
            stage.notified.dropFirst(2).sorted() == [
                "310 duty resolved storm of 6", "310 pager resolved storm of 6",
            ])
        #expect(stage.open["pager"] == [])
        #expect(stage.open["duty"] == [])
        #expect(stage.broken == [])
    }

    @Test(arguments: [false, true])
    func `D3, D11: what joins a storm that was taken is taken, and given to nobody`(
        restores: Bool
    ) throws {
        var stage = try Self.stage(restores: restores, .takes)
        try stage.report([7], at: 30)
        stage.pass(to: 500)
        #expect(stage.notified == ["90 pager fired storm of 6"])
        #expect(stage.broken == [])
    }

    @Test(arguments: [false, true])
    func `D3, D11: what joins a storm that nobody took is given in its own time`(
        restores: Bool
    ) throws {
        var stage = try Self.stage(restores: restores, .fails)
        try stage.report([7], at: 30)
        stage.pass(to: 179)
        #expect(stage.notified == ["150 duty fired storm of 6"])
        #expect(stage.firing(for: "duty").count == 6)
        stage.pass(to: 181)
        // It joins there, too, without a message of its own.
        #expect(stage.notified.count == 1)
        #expect(stage.firing(for: "duty").count == 7)
        try stage.report(1...7, at: 200)
        stage.pass(to: 220)
        #expect(stage.open["duty"] == [])
        #expect(stage.broken == [])
    }

    @Test(arguments: [false, true])
    func `D3, D11: blindness holds no storm up that is given away`(restores: Bool) throws {
        var stage = try Self.stage(restores: restores, .fails)
        // Its source is missed from 126 s on.
        stage.beat(every: 50, at: 1)
        stage.pass(to: 155)
        #expect(stage.engine.clock.isBlind)
        #expect(stage.notified == ["150 duty fired storm of 6"])
        #expect(stage.broken == [])
    }

    @Test func `D3, D11: a pager that is a fallback gets the end of a storm always`() throws {
        var duty = Self.duty
        duty.sendsResolved = false
        var stage = try Self.stage(.fails, duty: duty)
        try stage.report(1...6, at: 310)
        stage.pass(to: 330)
        #expect(stage.notified == ["150 duty fired storm of 6", "310 duty resolved storm of 6"])
        #expect(stage.open["duty"] == [])
        #expect(stage.broken == [])
    }

    @Test func `D3, D11: a storm that is told anew and taken is given to nobody`() throws {
        var stage = try Self.stage(.fails)
        stage.change(at: 100) { $0.receivers = [Self.duty] }
        stage.answers["pager"] = .takes
        stage.change(at: 110) { $0.receivers = [Self.pager, Self.duty] }
        stage.pass(to: 400)
        #expect(stage.notified == ["110 pager repeated storm of 6"])
        #expect(stage.broken == [])
    }

    @Test func `D3, D11: what was taken singly amid a storm is given to nobody`() throws {
        var stage = try NoticeStage(
            [Self.pager, Self.duty], "rate off flapping off noonline for=0s,keep=0s")
        var policy = stage.engine.policy
        (policy.alerts.storm, policy.feedMinActive) = (2, 1_000_000)
        _ = stage.fold(.policy(policy), at: 0)
        for number in 1...3 {
            try stage.report("\(number)", in: "r-\(number)", at: Int64(number - 1) * 10)
        }
        // Two pages, and from 110 s on a storm, whose message nobody takes.
        stage.pass(to: 112)
        stage.take(1, "pager", at: 115)
        stage.pass(to: 155)
        #expect(stage.notified.filter { $0.contains("duty fired") } == [])
        #expect(stage.engine.brokenInvariants() == [])
    }
}
