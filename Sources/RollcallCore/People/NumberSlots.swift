/// Finds numbers by the bytes they stand for: open addressing, of which at least half is free.
///
/// It knows numbers only. Whoever keeps the bytes says whether a number is meant, and hashes them
/// again when the slots move.
struct NumberSlots: Sendable {
    /// Number + 1; 0 is free.
    private var slots = [UInt32](repeating: 0, count: 64)
    /// Numbers in them.
    private var count = 0

    init() {}

    /// The standard library's keyed hash: strangers choose the bytes, so it must not be foreseeable.
    static func hash(_ bytes: RawSpan) -> Int {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize() & Int.max
    }

    /// The number that `isMeant` says yes to, among those with this hash.
    @inline(__always)
    func first(_ hash: Int, where isMeant: (Int) -> Bool) -> Int? {
        var slot = hash & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if isMeant(number) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Puts in a number that is not there. `hash` tells that of every number.
    mutating func insert(_ number: Int, hash: (Int) -> Int) {
        reserve(count + 1, hash: hash)
        place(UInt32(number + 1), hash(number))
        count += 1
    }

    /// Puts in numbers from `first` on that are not there, all with a hash that is known, and leaves out
    /// those without one. `hash` tells that of every number before.
    mutating func insert(_ hashes: [Int?], from first: Int, hash: (Int) -> Int) {
        reserve(count + hashes.count, hash: hash)
        var number = UInt32(first)
        for known in hashes {
            number += 1
            guard let known else { continue }
            place(number, known)
            count += 1
        }
    }

    /// Makes room for so many numbers in all.
    mutating func reserve(_ numbers: Int, hash: (Int) -> Int) {
        guard numbers * 2 > slots.count else { return }
        var size = slots.count
        while numbers * 2 > size { size *= 2 }
        let old = slots
        slots = [UInt32](repeating: 0, count: size)
        for entry in old where entry != 0 { place(entry, hash(Int(entry) - 1)) }
    }

    /// Takes out a number that is there, and closes the hole: what stands behind it moves up, as long
    /// as that brings it nearer to where its hash says.
    mutating func remove(_ number: Int, hash: (Int) -> Int) {
        let mask = slots.count - 1
        var hole = hash(number) & mask
        while slots[hole] != UInt32(number + 1) { hole = (hole + 1) & mask }
        var next = (hole + 1) & mask
        while slots[next] != 0 {
            let home = hash(Int(slots[next]) - 1) & mask
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = 0
        count -= 1
    }

    private mutating func place(_ entry: UInt32, _ hash: Int) {
        var slot = hash & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = entry
    }
}
