import Testing

@testable import RollcallCore

/// One rate of nudges over all cells. Source: N10, K2.
@Suite struct NudgeShareTests {
    private static let start: Int64 = 1_795_219_200_000

    private func shares(_ names: [String]) throws -> [NudgeShare] {
        let cells = names.map {
            CellMap.Cell(name: Array($0.utf8), urls: [Array("http://\($0)".utf8)])
        }
        let map = try #require(CellMap(first: cells))
        return map.cells.indices.map { NudgeShare(map, own: $0) }
    }

    @Test(arguments: [1, 3, 5, 7, 600])
    func `K2: all cells together nudge exactly so many within any second`(rate: Int) throws {
        let shares = try shares(["a", "b", "c"])
        var turns: [Int] = []
        for wall in 0..<10_000 {
            let now = Timestamp(milliseconds: Self.start + Int64(wall))
            turns.append(shares.reduce(0) { $0 + $1.turns(at: now, rate: rate) })
        }
        var inSecond = turns[..<1000].reduce(0, +)
        #expect(inSecond == rate)
        for end in 1000..<turns.count {
            inSecond += turns[end] - turns[end - 1000]
            #expect(inSecond == rate)
        }
    }

    @Test func `K2: a cell has its turns as often as it has slots, spread evenly`() throws {
        let cells = try shares(["a", "b", "c", "d"])
        for share in cells {
            var (turns, longest) = (0, Int64(0))
            var last = Timestamp(milliseconds: Self.start)
            let end = last + .seconds(820)
            while let next = share.next(from: last + Milliseconds(1), rate: 5), next <= end {
                #expect(share.turns(at: next, rate: 5) == 1)
                longest = max(longest, (next - last).count)
                (turns, last) = (turns + 1, next)
            }
            // A fourth of 4100 turns, one every 0.8 s.
            #expect((1020...1030).contains(turns))
            #expect(longest <= 1400)
        }
    }

    @Test func `K2: without slots there is no turn`() throws {
        let map = try #require(
            CellMap(first: [.init(name: [0x61], urls: [Array("http://a".utf8)])]))
        let none = NudgeShare(map, own: 7)
        #expect(none.next(from: Timestamp(milliseconds: Self.start), rate: 5) == nil)
        let all = NudgeShare(map, own: 0)
        #expect(
            all.next(from: Timestamp(milliseconds: Self.start + 1), rate: 5)
                == Timestamp(milliseconds: Self.start + 200))
    }
}
