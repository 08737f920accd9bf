/// Numbers that may be given, of which the lowest comes first: which one that is depends on nothing
/// but which are free, so that a restart gives the same ones (J3).
///
/// A bit a number, and above each 64 of them one that says whether any is set: every step takes six
/// words at most.
struct FreeNumbers: Sendable {
    /// 64 to the power of six is more than a `UInt32` holds.
    private static let depth = 6

    private var levels = [[UInt64]](repeating: [], count: depth)
    /// Numbers in it.
    private(set) var count = 0

    init() {}

    /// The lowest number; nil without one.
    var first: UInt32? {
        var place = 0
        for level in levels.reversed() {
            guard place < level.count, level[place] != 0 else { return nil }
            place = place * 64 + level[place].trailingZeroBitCount
        }
        return UInt32(place)
    }

    func contains(_ number: UInt32) -> Bool {
        let word = Int(number) / 64
        return word < levels[0].count && levels[0][word] >> UInt64(number % 64) & 1 == 1
    }

    /// Puts a number in, if it is not there.
    mutating func insert(_ number: UInt32) {
        guard !contains(number) else { return }
        count += 1
        var place = Int(number)
        for level in levels.indices {
            let word = place / 64
            while levels[level].count <= word { levels[level].append(0) }
            let wasEmpty = levels[level][word] == 0
            levels[level][word] |= 1 << UInt64(place % 64)
            guard wasEmpty else { return }
            place = word
        }
    }

    /// Takes a number out, if it is there.
    mutating func remove(_ number: UInt32) {
        guard contains(number) else { return }
        count -= 1
        var place = Int(number)
        for level in levels.indices {
            let word = place / 64
            levels[level][word] &= ~(1 << UInt64(place % 64))
            guard levels[level][word] == 0 else { return }
            place = word
        }
    }
}
