import Testing

@testable import RollcallCore

/// Updates without sequences against a model that remembers every one of them. Source: P4.
@Suite struct CaptureLedgerTests {
    private func take(_ instants: [Int64], _ ledger: inout CaptureLedger) -> [UpdateOutcome] {
        instants.map { ledger.take(Timestamp(milliseconds: $0)) }
    }

    private func minutes(_ range: Range<Int64>) -> [Int64] { range.map { $0 * 60_000 } }

    @Test func `P4: what was captured at one millisecond is taken once`() {
        var ledger = CaptureLedger()
        #expect(
            take([5, 5, 4, 6, 5, 0, 0], &ledger)
                == [.accepted, .duplicate, .accepted, .accepted, .duplicate, .accepted, .duplicate])
        #expect(ledger.ranges == [0...0, 4...6])
        #expect(ledger.newest == Timestamp(milliseconds: 6))
    }

    @Test func `P4: no more than sixteen ranges are kept, and all that was taken stays taken`() {
        var ledger = CaptureLedger()
        let instants = minutes(0..<500)
        #expect(take(instants, &ledger).allSatisfy { $0 == .accepted })
        #expect(ledger.ranges.count == CaptureLedger.rangesMax)
        #expect(take(instants, &ledger).allSatisfy { $0 == .duplicate })
    }

    @Test(arguments: [1, 7, 30]) func `P4: a backlog of hours is taken, the newest first`(
        part: Int
    ) {
        var ledger = CaptureLedger()
        _ = take(minutes(0..<600), &ledger)
        // Four hours without network; it is back, and what comes first is the newest.
        let now = minutes(840..<841)
        #expect(take(now, &ledger) == [.accepted])
        let backlog = minutes(600..<840)
        let parts = stride(from: 0, to: backlog.count, by: part).map {
            Array(backlog[$0..<min($0 + part, backlog.count)])
        }
        for part in parts.reversed() {
            #expect(take(part, &ledger).allSatisfy { $0 == .accepted })
        }
        #expect(take(backlog + now, &ledger).allSatisfy { $0 == .duplicate })
    }

    @Test func `P4: one that was lost on its way is taken a quarter of an hour later`() {
        var ledger = CaptureLedger()
        var instants = minutes(0..<200)
        let lost = instants.remove(at: 184)
        #expect(take(instants, &ledger).allSatisfy { $0 == .accepted })
        #expect(take([lost, lost], &ledger) == [.accepted, .duplicate])
    }

    /// Sets of instants instead of ranges; a closed hole counts as taken.
    private struct Model {
        var ranges: [ClosedRange<Int64>] = []

        mutating func take(_ instant: Int64) -> UpdateOutcome {
            if ranges.contains(where: { $0.contains(instant) }) { return .duplicate }
            unite(instant...instant)
            guard ranges.count > 16, let newest = ranges.last?.upperBound else { return .accepted }
            let holes = zip(ranges, ranges.dropFirst()).map { $0.upperBound...$1.lowerBound }
            let least = holes.min { one, other in
                Int128(one.upperBound - one.lowerBound) * Int128(newest - other.lowerBound)
                    < Int128(other.upperBound - other.lowerBound) * Int128(newest - one.lowerBound)
            }
            if let least { unite(least) }
            return .accepted
        }

        private mutating func unite(_ range: ClosedRange<Int64>) {
            let near = ranges.filter {
                $0.lowerBound <= range.upperBound + 1 && range.lowerBound <= $0.upperBound + 1
            }
            let lower = near.map(\.lowerBound).min().map { min($0, range.lowerBound) }
            let upper = near.map(\.upperBound).max().map { max($0, range.upperBound) }
            ranges.removeAll { near.contains($0) }
            ranges.append((lower ?? range.lowerBound)...(upper ?? range.upperBound))
            ranges.sort { $0.lowerBound < $1.lowerBound }
        }
    }

    @Test(arguments: Effort.seeds(UInt64(40)))
    func `P4: it comes to the same as the model, whatever comes`(seed: UInt64) throws {
        var dice = Seeded(seed: seed)
        var ledger = CaptureLedger()
        var model = Model()
        var clock: Int64 = 1_795_219_200_000
        for step in 0..<1500 {
            clock += Int64.random(in: 1...90_000, using: &dice)
            let span: Int64 = [10, 1000, 3_600_000, 400_000_000].randomElement(using: &dice) ?? 1
            var instant = clock - Int64.random(in: 0...span, using: &dice)
            if step % 300 == 299 {
                instant = [0, 99_999_999_999_999, 1].randomElement(using: &dice) ?? 0
            }
            #expect(ledger.take(Timestamp(milliseconds: instant)) == model.take(instant))
            if ledger.ranges != model.ranges { return #expect(ledger.ranges == model.ranges) }
        }
        var copy = CaptureLedger()
        let bytes = Archive.bytes { ledger.code(&$0) }
        #expect(Archive.reads(part: bytes) { copy.code(&$0) } && copy == ledger)
    }

    @Test func `P4: ranges that no ledger has are damage`() {
        for ranges in [[3...4, 5...6], [5...6, 1...2], [-1...0], [0...9, 4...12]] {
            #expect(
                CaptureLedger(ranges.map { Int64($0.lowerBound)...Int64($0.upperBound) }) == nil)
        }
        let many = (0..<17).map { Int64($0 * 2)...Int64($0 * 2) }
        #expect(CaptureLedger(many) == nil && CaptureLedger(Array(many.dropLast())) != nil)
    }
}
