import Testing

@testable import RollcallCore

/// Names in pages against an array of them.
@Suite struct NamePagesTests {
    @Test(arguments: UInt64(1)...6)
    func `a name that is replaced leaves the others as they are, and nothing of itself`(
        seed: UInt64
    ) {
        var random = Seeded(seed: seed)
        var pages = NamePages()
        var naive: [[UInt8]] = []
        func name() -> [UInt8] {
            let count = Int.random(in: 0...60, using: &random)
            return (0..<count).map { _ in UInt8.random(in: 1...255, using: &random) }
        }
        for _ in 0..<700 {
            let name = name()
            pages.append(name)
            naive.append(name)
        }
        let image = pages
        let before = naive
        for _ in 0..<4000 {
            let number = Int.random(in: 0..<700, using: &random)
            let name = name()
            pages.replace(number, with: name)
            naive[number] = name
            #expect(pages[number] == name)
        }
        #expect(pages.elementsEqual(naive))
        // A checkpoint goes on seeing what it holds on to.
        #expect(image.elementsEqual(before))
        // Dead bytes never outweigh the living ones by much.
        let bytes = naive.reduce(0) { $0 + $1.count }
        #expect(pages.room < 4 * (bytes + 3 * 1024))
        for number in naive.indices { pages.replace(number, with: []) }
        #expect(pages.room < 3 * 4096)
    }
}
