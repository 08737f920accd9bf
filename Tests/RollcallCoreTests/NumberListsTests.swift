import Testing

@testable import RollcallCore

/// Lists in one piece of memory against arrays of their own.
@Suite struct NumberListsTests {
    @Test(arguments: UInt64(1)...20)
    func `lists in one piece of memory are what arrays of their own would be`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var lists = NumberLists()
        var naive = [[UInt32]](repeating: [], count: 12)
        for _ in 0..<3000 {
            let list = Int.random(in: naive.indices, using: &random)
            let number = UInt32.random(in: 0..<40, using: &random)
            if Int.random(in: 0..<100, using: &random) < (seed % 2 == 0 ? 55 : 45) {
                lists.append(number, to: list)
                naive[list].append(number)
            } else {
                lists.remove(number, from: list)
                if let place = naive[list].lastIndex(of: number) {
                    naive[list].swapAt(place, naive[list].count - 1)
                    naive[list].removeLast()
                }
            }
            if lists[list] != naive[list] { break }
        }
        #expect(naive.indices.map { lists[$0] } == naive)
    }

    @Test func `blocks that are given back are taken again`() {
        var lists = NumberLists()
        // Somebody moves through a thousand circles, as four people each.
        for list in 0..<1000 {
            for number in UInt32(0)..<4 {
                lists.append(number, to: list)
                if list > 0 { lists.remove(number, from: list - 1) }
            }
        }
        #expect(lists[999] == [0, 1, 2, 3])
        #expect(lists.room <= 16)
    }

    @Test func `a list that was never spoken of is empty`() {
        var lists = NumberLists()
        lists.append(7, to: 3)
        lists.remove(7, from: 9)
        #expect(lists[9] == [])
        #expect(lists[2] == [])
        #expect(lists[3] == [7])
    }
}
