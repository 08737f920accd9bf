import Testing

@testable import RollcallCore

/// Observations by powers of 2^(1/8), beside those by the contract's bounds. Source: V22.
@Suite struct NativeHistogramTests {
    // MARK: - Buckets

    /// True if so many thousandths are at most 2^(bucket/8), by whole numbers alone: both sides to the power
    /// of eight.
    private func isAtMost(_ value: Int, _ bucket: Int) -> Bool {
        let value = (0..<8).reduce(UInt128(1)) { power, _ in power * UInt128(value) }
        let one = (0..<8).reduce(UInt128(1)) { power, _ in power * 1000 }
        return bucket < 0 ? value << UInt128(-bucket) <= one : value <= one << UInt128(bucket)
    }

    @Test func `V22: a value is in the bucket of the smallest power that it is not above`() {
        let wrong = (1...60_000).filter { value in
            let bucket = NativeHistogram.bucket(of: Int64(value))
            return !isAtMost(value, bucket) || isAtMost(value, bucket - 1)
        }
        #expect(wrong == [])
    }

    @Test func `V22: twice the value is eight buckets further, up to the greatest`() {
        for value in 1...1000 {
            let bucket = NativeHistogram.bucket(of: Int64(value))
            let wrong = (1...53).filter {
                NativeHistogram.bucket(of: Int64(value) << Int64($0)) != bucket + 8 * $0
            }
            #expect(wrong == [], "\(value)")
        }
    }

    @Test(
        arguments: [
            (1, -79), (499, -8), (500, -8), (501, -7), (999, 0), (1000, 0), (1001, 1), (1999, 8),
            (2000, 8), (2001, 9), (60_000, 48), (.max, 425),
        ] as [(Int64, Int)])
    func `V22: a bound belongs to the bucket below it`(value: Int64, bucket: Int) {
        #expect(NativeHistogram.bucket(of: value) == bucket)
    }

    // MARK: - Runs

    private func histogram(_ values: [Int64]) -> NativeHistogram {
        var histogram = NativeHistogram(beside: Histogram(bounds: Histogram.delayBounds))
        for value in values { histogram.observe(value) }
        return histogram
    }

    /// The runs as `offset+length`, and the deltas behind them.
    private func shown(_ values: [Int64]) -> String {
        let (spans, deltas) = histogram(values).runs
        return (spans.map { "\($0.offset)+\($0.length)" } + [":"] + deltas.map { "\($0)" })
            .joined(separator: " ")
    }

    @Test(
        arguments: [
            ([], ":"), ([0, -5], ":"), ([1000], "0+1 : 1"), ([1], "-79+1 : 1"),
            // Neighbours; one and two that are empty between them; three.
            ([1000, 1050, 1050], "0+2 : 1 1"), ([1000, 1150], "0+3 : 1 -1 1"),
            ([1000, 1250, 1250], "0+4 : 1 -1 0 2"), ([1000, 1300], "0+1 3+1 : 1 0"),
            ([500, 500, 1000, 2000, 2000, 2000], "-8+1 7+1 7+1 : 2 -1 2"),
        ] as [([Int64], String)])
    func `V22: runs leave out what is empty, and counts are told by their difference`(
        values: [Int64], expected: String
    ) {
        #expect(shown(values) == expected)
    }

    @Test(arguments: Effort.seeds(40))
    func `V22: runs tell each bucket, and all of them what the classic buckets do`(
        seed: Int
    ) {
        var numbers = Seeded(seed: UInt64(seed))
        var values: [Int64] = []
        for _ in 0..<(seed * 7) {
            // As many of each order of magnitude, those below zero among them.
            values.append(Int64(bitPattern: numbers.next()) >> Int64(numbers.next() % 64))
        }
        let histogram = histogram(values)
        var naive: [Int: Int64] = [:]
        for value in values where value > 0 {
            naive[NativeHistogram.bucket(of: value), default: 0] += 1
        }
        var told: [Int: Int64] = [:]
        let (spans, deltas) = histogram.runs
        var rest = deltas[...]
        var (bucket, count) = (0, Int64(0))
        for span in spans {
            bucket += span.offset
            for _ in 0..<span.length {
                count += rest.popFirst() ?? 0
                if count != 0 { told[bucket] = count }
                bucket += 1
            }
        }
        #expect(told == naive && rest.isEmpty)
        #expect(spans.dropFirst().allSatisfy { $0.offset > 2 })
        #expect(histogram.zeroCount == values.count { $0 <= 0 })
        #expect(histogram.classic.count == values.count)
        var classic = Histogram(bounds: Histogram.delayBounds)
        for value in values { classic.observe(value) }
        #expect(histogram.classic == classic)
    }

    @Test func `V22: several of one value at once are so many`() {
        var histogram = histogram([])
        histogram.observe(1000, times: 3)
        histogram.observe(0, times: 2)
        #expect(histogram == self.histogram([1000, 0, 1000, 0, 1000]))
    }

    // MARK: - The engine

    @Test func `V22: delays are counted since the process began, and an erasure takes none away`()
        throws
    {
        var engine = Engine()
        let start = RunningTime(milliseconds: 1_795_230_000_000)
        func report(_ sequence: Int, _ delay: Int64, turn: Int64) throws {
            engine.turn = turn
            let body = """
                {"responder_id":"anna",
                 "updates":[{"sequence":\(sequence),"captured_at":\(start.milliseconds - delay)}]}
                """
            let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
            _ = engine.fold(.items(scan.items, source: []), at: start)
        }
        // Without a number, as in a replay and while the journal is read, nothing is counted.
        try report(1, 70_000, turn: 0)
        #expect(engine.nativeDelay == histogram([]))
        try report(2, 400, turn: 3)
        try report(3, 1250, turn: 4)
        try report(4, 0, turn: 5)
        // Of a clock that is ahead no delay is known.
        try report(5, -5000, turn: 6)
        #expect(engine.nativeDelay == histogram([400, 1250, 0]))
        #expect(engine.counters.delay.count == 4)
        _ = engine.fold(.erase(.id(Array("anna".utf8)), source: []), at: start)
        engine.settle()
        #expect(engine.nativeDelay == histogram([400, 1250, 0]))
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        let restarted = try #require(reader.finish())
        #expect(restarted.nativeDelay == histogram([]) && restarted.counters.delay.count == 4)
    }
}
