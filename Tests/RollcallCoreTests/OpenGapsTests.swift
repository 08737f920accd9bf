import RollcallCore
import Testing

/// How many are silent and why, in one number from one place. Source: C1, §13 D7.
@Suite struct OpenGapsTests {
    private static let wall: Int64 = 1_795_219_200_000

    private func copy(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    private func fold(_ engine: inout Engine, _ kind: ItemKind, _ body: String, at: Int64) throws {
        let bytes = Array(body.utf8)
        let scan = try ItemScanner.scan(bytes.span, kind: kind)
        let event = Event.items(scan.items, source: Array("default".utf8))
        _ = engine.fold(event, at: RunningTime(milliseconds: at))
    }

    /// Three people who are OFFLINE after a stretch in which we did not run.
    private func silentFleet() throws -> Engine {
        var engine = Engine()
        _ = engine.fold(.clock(step: Milliseconds(Self.wall)), at: RunningTime(milliseconds: 0))
        for (id, network) in [("a", "none"), ("b", "none"), ("c", "wifi")] {
            try fold(
                &engine, .batch,
                "{\"responder_id\":\"\(id)\",\"telemetry\":{\"network_type\":\"\(network)\"}}",
                at: 0)
        }
        _ = engine.fold(.stop, at: RunningTime(milliseconds: 50_000))
        _ = engine.fold(.start(isRestored: false), at: RunningTime(milliseconds: 60_000))
        engine.advance(to: RunningTime(milliseconds: 300_000))
        return engine
    }

    private func told(_ engine: Engine) -> [Int] {
        let gaps = engine.aggregates.openGaps
        return [
            gaps.all, gaps.count(.noNetwork),
            engine.aggregates.byStatus[Int(Status.offline.rawValue)],
        ]
    }

    @Test func `D7: who fell silent beside a blind window is silent like everybody else`() throws {
        var engine = try silentFleet()
        #expect(engine.counters.gaps.gapsBlind == 3, "the test has blind gaps")
        #expect(told(engine) == [3, 2, 3])
        #expect(engine.brokenInvariants() == [])
        #expect(try told(copy(engine)) == [3, 2, 3])
        try fold(&engine, .batch, "{\"responder_id\":\"a\"}", at: 301_000)
        #expect(told(engine) == [2, 1, 2])
        try fold(
            &engine, .responder, "{\"responder_id\":\"b\",\"duty_state\":\"OFF_DUTY\"}", at: 302_000
        )
        #expect(told(engine) == [1, 0, 1])
        let receipt = engine.fold(
            .erase(.id(Array("c".utf8)), source: []), at: RunningTime(milliseconds: 303_000))
        #expect(receipt.accepted == 1)
        #expect(told(engine) == [0, 0, 0])
        #expect(engine.brokenInvariants() == [])
    }
}
