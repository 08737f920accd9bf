import Testing

@testable import RollcallCore

/// People in the order of their ids, by bytes (F1).
@Suite struct IDOrderTests {
    private func roster(_ ids: some Sequence<[UInt8]>) -> Roster {
        var roster = Roster()
        for id in ids { _ = roster.enrol(id.span, 0..<id.count) }
        return roster
    }

    @Test func `people are put in order whatever their ids have in common`() {
        let ids = ["r-10", "r-9", "r-1", "r-", "r-1000000000001", "r-1000000000000", "r-10\0", "s"]
        for count in 0...ids.count {
            let roster = roster(ids.prefix(count).map { Array($0.utf8) })
            let ordered = roster.inOrder(0..<count).map {
                String(decoding: roster.id($0), as: UTF8.self)
            }
            #expect(
                ordered == ids.prefix(count).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }

    @Test(arguments: Effort.seeds(50))
    func `any people are put in the order in which each comes before the next`(seed: UInt64) {
        var dice = Seeded(seed: seed)
        let start = (0..<Int.random(in: 0...12, using: &dice)).map { _ in
            UInt8.random(in: 0...255, using: &dice)
        }
        let ids = Set(
            (0..<200).map { _ in
                start
                    + (0..<Int.random(in: 1...10, using: &dice)).map { _ in
                        UInt8.random(in: 0...2, using: &dice)
                    }
            })
        let roster = roster(ids)
        let numbers = (0..<ids.count).shuffled(using: &dice)
        #expect(roster.inOrder(numbers) == numbers.sorted(by: roster.precedes))
    }
}
