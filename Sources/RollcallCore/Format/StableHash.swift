/// FNV-1a, 64 bits: the same on every run, as a journal needs it. Not for tables that strangers
/// fill: they may choose colliding names.
package enum StableHash {
    /// The hash of `bytes[range]`, never 0.
    package static func of(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in range { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3 }
        return hash == 0 ? 1 : hash
    }
}
