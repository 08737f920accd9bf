import Testing

@testable import RollcallCore

/// When people fall due, against a dictionary. Source: L8.
@Suite struct DueTimesTests {
    @Test(arguments: UInt64(1)...8)
    func `whoever falls due is taken once, with all others who do`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var deadlines = DueTimes()
        var naive: [Int: ObservedTime] = [:]
        var now = ObservedTime(milliseconds: 0)
        for _ in 0..<300 {
            for _ in 0..<Int.random(in: 0..<20, using: &random) {
                let number = Int.random(in: 0..<1500, using: &random)
                let due = ObservedTime(
                    milliseconds: now.milliseconds + Int64.random(in: 1..<200, using: &random))
                _ = deadlines.set(number, due)
                naive[number] = due
                // What is known of the earliest follows each change.
                let first = deadlines.first()
                #expect(first?.at == naive.values.min())
                #expect(first.map { naive[$0.number] == $0.at } ?? true)
            }
            #expect(deadlines.first()?.at == naive.values.min())
            now = ObservedTime(
                milliseconds: now.milliseconds + Int64.random(in: 0..<30, using: &random))
            let taken = deadlines.take(until: now)
            #expect(taken.sorted() == naive.filter { $0.value <= now }.keys.sorted())
            #expect(taken.allSatisfy { deadlines[$0] == .distantFuture })
            naive = naive.filter { $0.value > now }
            #expect(
                naive.keys.allSatisfy { deadlines.isObserved($0) && deadlines[$0] == naive[$0] })
        }
    }

    @Test func `an instant behind all that six bytes hold is never reached`() {
        var deadlines = DueTimes()
        let last: Int64 = (1 << 48) - 2 - (1 << 44)
        _ = deadlines.set(0, ObservedTime(milliseconds: last))
        _ = deadlines.set(300, ObservedTime(milliseconds: last + 1))
        #expect(deadlines[0] == ObservedTime(milliseconds: last))
        #expect(deadlines[300] == .distantFuture)
        #expect(deadlines.take(until: ObservedTime(milliseconds: last)) == [0])
        #expect(deadlines.first() == nil)
    }
}
