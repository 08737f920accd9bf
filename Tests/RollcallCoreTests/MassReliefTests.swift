import Testing

@testable import RollcallCore

/// What is decided of many at one instant may be taken before all of it is. Source: J0, F1, J14.
@Suite struct MassReliefTests {
    private static let began: Int64 = 1_795_230_000_000
    private static let people = 40

    private func at(_ seconds: Int64) -> RunningTime {
        RunningTime(milliseconds: Self.began + seconds * 1000)
    }

    /// An engine with people of two regions who all reported at its beginning.
    private func engine() throws -> Engine {
        var engine = Engine()
        _ = engine.fold(.start(), at: at(0))
        let items = (0..<Self.people).map { number in
            #"{"responder_id":"r-\#(number)","region":"g-\#(number % 2)"}"#
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        let list = try ItemScanner.scan(body.span, kind: .batch).items
        _ = engine.fold(.items(list, source: EventSource.standard), at: at(0))
        engine.advance(to: at(0))
        return engine
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    @Test func `J0: decisions taken in the midst of an instant are the same, of the same numbers`()
        throws
    {
        var whole = try engine()
        var parts = whole
        whole.advance(to: at(300))
        let decided = whole.takeDecisions()
        parts.massFrom = 7
        var taken: [NumberedDecision] = []
        var left: [Int] = []
        parts.advance(to: at(300)) { engine, still in
            taken += engine.takeDecisions()
            left.append(still)
        }
        #expect(left.count > 4 && left.allSatisfy { 0..<Self.people ~= $0 })
        taken += parts.takeDecisions()
        #expect(taken == decided)
        let isSame = state(parts) == state(whole)
        #expect(isSame)
        #expect(parts.openInstant == whole.openInstant)
    }

    @Test func `F1: an instant of which all was taken in its midst is closed to what comes at it`()
        throws
    {
        var engine = try engine()
        engine.massFrom = 1
        let due = engine.nextInstant()
        engine.advance(to: due) { engine, _ in _ = engine.takeDecisions() }
        #expect(engine.openInstant == due + Milliseconds(1))
    }

    @Test func `J0: passing what is earlier decides what the next event would have passed`() throws
    {
        var whole = try engine()
        var parts = whole
        parts.pass(before: at(300))
        for step in [0, 1] {
            _ = whole.fold(.refused(count: step), at: at(300))
            _ = parts.fold(.refused(count: step), at: at(300))
        }
        whole.advance(to: at(300))
        parts.advance(to: at(300))
        #expect(parts.takeDecisions() == whole.takeDecisions())
        let isSame = state(parts) == state(whole)
        #expect(isSame)
    }
}
