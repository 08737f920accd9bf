import Testing

@testable import RollcallCore

/// Free numbers against a set of them.
@Suite struct FreeNumbersTests {
    @Test(arguments: UInt64(1)...8)
    func `the lowest free number comes first, whatever came and went`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var numbers = FreeNumbers()
        var naive = Set<UInt32>()
        let bound = UInt32([10, 64, 65, 4097, 300_000][Int(seed) % 5])
        #expect(numbers.first == nil)
        for _ in 0..<3000 {
            let number = UInt32.random(in: 0..<bound, using: &random)
            #expect(numbers.contains(number) == naive.contains(number))
            if Bool.random(using: &random) {
                numbers.insert(number)
                naive.insert(number)
            } else {
                numbers.remove(number)
                naive.remove(number)
            }
            #expect(numbers.count == naive.count)
            #expect(numbers.first == naive.min())
        }
        while let number = numbers.first {
            #expect(number == naive.min())
            numbers.remove(number)
            naive.remove(number)
        }
        #expect(naive.isEmpty && numbers.count == 0)
    }
}
