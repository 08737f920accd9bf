import Testing

@testable import RollcallCore

/// The last depths of a queue against a list that is sorted. Source: F25.
@Suite struct QueueDepthsTests {
    @Test(arguments: UInt64(1)...10)
    func `the last three by time are kept, as a sorted list would keep them`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var depths = QueueDepths()
        var naive: [QueueDepths.Entry] = []
        for _ in 0..<500 {
            let entry = QueueDepths.Entry(
                at: ObservedTime(milliseconds: Int64.random(in: 0..<30, using: &random)),
                sequence: Int64.random(in: -1..<5, using: &random),
                depth: UInt32.random(in: 0..<9, using: &random))
            depths.add(entry)
            var place = naive.count
            while place > 0, QueueDepths.isAfter(naive[place - 1], entry) { place -= 1 }
            naive.insert(entry, at: place)
            naive = naive.suffix(3)
            #expect(depths.entries == naive)
            #expect(depths.depths == naive.map(\.depth))
            #expect(depths.last == naive.last)
            if Int.random(in: 0..<40, using: &random) == 0 { (depths, naive) = (.init(), []) }
        }
    }

    /// I2: at one instant by sequence, else what comes later is the newer.
    @Test func `batches of one instant go by sequence, where both have one`() {
        func isAfter(_ at: Int64, _ sequence: Int64) -> Bool {
            QueueDepths.isAfter(
                .init(at: ObservedTime(milliseconds: at), sequence: sequence, depth: 1),
                .init(at: ObservedTime(milliseconds: 10), sequence: 5, depth: 1))
        }
        #expect(isAfter(10, 6) && !isAfter(10, 5) && !isAfter(10, 4) && !isAfter(10, -1))
        #expect(isAfter(11, 4) && !isAfter(9, 6))
        let bare = QueueDepths.Entry(at: ObservedTime(milliseconds: 10), sequence: -1, depth: 1)
        let told = QueueDepths.Entry(at: ObservedTime(milliseconds: 10), sequence: 0, depth: 1)
        #expect(!QueueDepths.isAfter(told, bare))
    }

    /// B1.
    @Test func `a batch is not received after now when observed time is set back`() {
        var depths = QueueDepths()
        depths.add(.init(at: ObservedTime(milliseconds: 50), sequence: -1, depth: 1))
        depths.clampInstants(to: ObservedTime(milliseconds: 20))
        depths.add(.init(at: ObservedTime(milliseconds: 30), sequence: -1, depth: 2))
        #expect(depths.depths == [1, 2])
    }

    @Test func `what a checkpoint keeps of them comes back`() {
        var depths = QueueDepths()
        for at in Int64(1)...3 {
            depths.add(.init(at: ObservedTime(milliseconds: at), sequence: at, depth: UInt32(at)))
        }
        let bytes = Archive.bytes { depths.code(&$0) }
        var read = QueueDepths()
        #expect(Archive.reads(part: bytes) { read.code(&$0) })
        #expect(read.entries == depths.entries)
    }
}
