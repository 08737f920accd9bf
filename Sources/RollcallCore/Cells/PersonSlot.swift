/// The slots over which a fleet is divided into cells. A slot follows from a person's id alone, so that
/// a backend in any language finds it by itself. Source: K1.
package enum PersonSlot {
    /// Slots of a fleet.
    package static let count = 4096
    /// Bits of a slot's number.
    private static let bits = 12

    /// The slot of the id at `bytes[range]`, 0 to 4095: `StableHash`, folded by all of its bits.
    package static func of(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        of(hash: StableHash.of(bytes, range))
    }

    /// The slot of an id with that `StableHash`.
    package static func of(hash: UInt64) -> Int {
        var rest = hash
        var folded: UInt64 = 0
        while rest != 0 {
            folded ^= rest
            rest >>= UInt64(bits)
        }
        return Int(truncatingIfNeeded: folded & UInt64(count - 1))
    }

    /// The slot of an id.
    package static func of(_ id: [UInt8]) -> Int { of(id.span, 0..<id.count) }
}
