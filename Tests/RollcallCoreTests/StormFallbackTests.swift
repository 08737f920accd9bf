import Testing

@testable import RollcallCore

/// A storm that the first receiver does not take is a storm for its fallback, too. Source: D3, D11.
///
/// Regions are without anybody 90 s after they reported, and what is not taken is given away 60 s later.
@Suite struct StormFallbackTests {
    private static func stage(restores: Bool, _ pager: StormStage.Answer) throws -> StormStage {
        var first = Receiver.named("pager", .pagerduty)
        first.fallback = Array("duty".utf8)
        let never = LabelMatcher(name: [], values: [])
        var stage = try StormStage([first, .named("duty", .pagerduty, [never])])
        stage.restores = restores
        stage.answers["pager"] = pager
        try stage.report(1...6, at: 0)
        return stage
    }

    @Test(arguments: [false, true])
    func `D3, D11: what nobody took is one message for the fallback, and both get the end`(
        restores: Bool
    ) throws {
        var stage = try Self.stage(restores: restores, .fails)
        stage.pass(to: 149)
        #expect(stage.told == [])
        stage.pass(to: 155)
        #expect(stage.told == ["150 duty fired storm of 6"])
        stage.answers["pager"] = .takes
        stage.pass(to: 300)
        #expect(stage.told.count == 2)
        #expect(stage.told.last?.hasSuffix("pager fired storm of 6") == true)
        try stage.report(1...6, at: 310)
        stage.pass(to: 330)
        #expect(
            stage.told.dropFirst(2).sorted() == [
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
        #expect(stage.told == ["90 pager fired storm of 6"])
        #expect(stage.broken == [])
    }

    @Test(arguments: [false, true])
    func `D3, D11: what joins a storm that nobody took is given in its own time`(
        restores: Bool
    ) throws {
        var stage = try Self.stage(restores: restores, .fails)
        try stage.report([7], at: 30)
        stage.pass(to: 179)
        #expect(stage.told == ["150 duty fired storm of 6"])
        #expect(stage.firing(for: "duty").count == 6)
        stage.pass(to: 181)
        // It joins there, too, without a message of its own.
        #expect(stage.told.count == 1)
        #expect(stage.firing(for: "duty").count == 7)
        try stage.report(1...7, at: 200)
        stage.pass(to: 220)
        #expect(stage.open["duty"] == [])
        #expect(stage.broken == [])
    }
}
