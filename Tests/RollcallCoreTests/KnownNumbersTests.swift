import Testing

@testable import RollcallCore

/// Items that are folded again say by which numbers their people were known: that is where they are looked
/// for first, and nothing is decided by it. Source: J3.
@Suite struct KnownNumbersTests {
    private func fold(_ ids: [String], numbers: [Int], into engine: inout Engine) throws -> Receipt
    {
        let items = ids.map { #"{"responder_id":"\#($0)","region":"g-\#($0)"}"# }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        var list = try ItemScanner.scan(body.span, kind: .batch).items
        list.numbers = numbers
        let now = RunningTime(milliseconds: 1_795_230_000_000)
        let receipt = engine.fold(.items(list, source: EventSource.standard), at: now)
        engine.advance(to: now)
        _ = engine.takeDecisions()
        return receipt
    }

    /// Some people, of whom one was erased and came back.
    private func begin() throws -> Engine {
        var engine = Engine()
        _ = try fold(["a", "bb", "c"], numbers: [], into: &engine)
        let now = RunningTime(milliseconds: 1_795_230_000_000)
        let erasure = Event.erase(.id(Array("bb".utf8)), source: EventSource.standard)
        _ = engine.fold(erasure, at: now)
        engine.advance(to: now)
        _ = engine.takeDecisions()
        return engine
    }

    @Test(
        arguments: [
            [0, 2, 3, 3], [2, 0, 1, 0], [1, 1, 1, 1], [-1, 3, 4, 64],
            [Int.min, Int.max, 1 << 40, -7],
            [0], [0, 2, 3, 3, 9, 9],
        ])
    func `J3: numbers that are right, another's, an erased one's or nobody's make no difference`(
        numbers: [Int]
    ) throws {
        var plain = try begin()
        var known = plain
        let ids = ["a", "c", "d", "d"]
        let wanted = try fold(ids, numbers: [], into: &plain)
        let found = try fold(ids, numbers: numbers, into: &known)
        #expect(wanted.rows.map(\.responder) == [0, 2, 3, 3])
        #expect(found.rows.map(\.responder) == wanted.rows.map(\.responder))
        #expect(known.brokenInvariants() == [])
        let (one, other) = (Checkpoint(plain), Checkpoint(known))
        #expect(one.sliceCount == other.sliceCount)
        for index in 0..<one.sliceCount { #expect(one.slice(index) == other.slice(index)) }
    }
}
