/// Many short lists of numbers in one piece of memory: a list of four takes 24 bytes, where an array
/// of its own would take 72.
///
/// A list of n stands in a block of the least power of two that holds it. Blocks that are given back
/// are chained by their first number and taken again.
struct NumberLists: Sendable {
    private struct List {
        /// The place at which its block begins.
        var start: UInt32 = 0
        var count: UInt32 = 0
    }

    private var lists: [List] = []
    private var numbers: [UInt32] = []
    /// Of each size of blocks, by its exponent, where the first free one begins; `none` without one.
    private var free = [UInt32](repeating: none, count: 32)

    private static let none = UInt32.max

    init() {}

    /// The numbers of a list, in no order; of one that was never spoken of, none.
    subscript(list: Int) -> [UInt32] {
        list < lists.count ? Array(numbers[range(list)]) : []
    }

    /// Numbers for which there is room in all.
    var room: Int { numbers.count }

    /// Adds a number.
    mutating func append(_ number: UInt32, to list: Int) {
        while lists.count <= list { lists.append(List()) }
        let count = Int(lists[list].count)
        move(list, toHold: count + 1)
        numbers[Int(lists[list].start) + count] = number
        lists[list].count += 1
    }

    /// Takes a number out, if it is there: the one added last, of equal ones.
    mutating func remove(_ number: UInt32, from list: Int) {
        guard list < lists.count, let place = numbers[range(list)].lastIndex(of: number) else {
            return
        }
        let range = range(list)
        numbers[place] = numbers[range.upperBound - 1]
        lists[list].count -= 1
        move(list, toHold: range.count - 1, from: range.count)
    }

    // MARK: - Blocks

    @inline(__always)
    private func range(_ list: Int) -> Range<Int> {
        let start = Int(lists[list].start)
        return start..<(start + Int(lists[list].count))
    }

    /// The exponent of the block that so many need; nil for none.
    private static func exponent(_ count: Int) -> Int? {
        count == 0 ? nil : Int.bitWidth - (count - 1).leadingZeroBitCount
    }

    /// Gives a list, whose block is for `held`, one for `count`.
    private mutating func move(_ list: Int, toHold count: Int, from held: Int? = nil) {
        let old = Self.exponent(held ?? Int(lists[list].count))
        let new = Self.exponent(count)
        guard old != new else { return }
        let from = Int(lists[list].start)
        var start = 0
        if let new {
            start = take(new)
            for place in range(list) { numbers[start + place - from] = numbers[place] }
        }
        if let old { giveBack(from, old) }
        lists[list].start = UInt32(start)
    }

    private mutating func take(_ exponent: Int) -> Int {
        let first = free[exponent]
        if first != Self.none {
            free[exponent] = numbers[Int(first)]
            return Int(first)
        }
        let start = numbers.count
        numbers.append(contentsOf: repeatElement(0, count: 1 << exponent))
        return start
    }

    private mutating func giveBack(_ start: Int, _ exponent: Int) {
        numbers[start] = free[exponent]
        free[exponent] = UInt32(start)
    }
}
