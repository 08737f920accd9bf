import Testing

@testable import RollcallCore

/// When people fall due, against a dictionary. Source: L8.
@Suite struct DueTimesTests {
    @Test(arguments: UInt64(1)...8)
    func `whoever falls due is taken once, with all others who do`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var dues = DueTimes()
        var naive: [Int: WatchedTime] = [:]
        var now = WatchedTime(milliseconds: 0)
        for _ in 0..<300 {
            for _ in 0..<Int.random(in: 0..<20, using: &random) {
                let number = Int.random(in: 0..<1500, using: &random)
                let due = WatchedTime(
                    milliseconds: now.milliseconds + Int64.random(in: 1..<200, using: &random))
                _ = dues.set(number, due)
                naive[number] = due
            }
            #expect(dues.first()?.at == naive.values.min())
            now = WatchedTime(
                milliseconds: now.milliseconds + Int64.random(in: 0..<30, using: &random))
            let taken = dues.take(until: now)
            #expect(taken.sorted() == naive.filter { $0.value <= now }.keys.sorted())
            #expect(taken.allSatisfy { dues[$0] == .distantFuture })
            naive = naive.filter { $0.value > now }
            #expect(naive.keys.allSatisfy { dues.isWatched($0) && dues[$0] == naive[$0] })
        }
    }
}
