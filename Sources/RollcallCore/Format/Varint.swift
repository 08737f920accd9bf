/// Variable-length integers, seven bits a byte, low bits first.
package enum Varint {
    /// Writes one at the end of `bytes`.
    package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Reads one from `at` on and moves `at` behind it; nil if `end` comes first.
    package static func read(_ bytes: Span<UInt8>, _ at: inout Int, _ end: Int) -> UInt64? {
        if end - at >= 8, at >= 0, end <= bytes.count {
            let eight = bytes.extracting(at..<(at + 8)).withUnsafeBytes {
                UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self))
            }
            // Where the first byte ends that has its high bit clear: seldom none of eight has.
            let length = (~eight & 0x8080_8080_8080_8080).trailingZeroBitCount + 1
            if length <= 64 {
                at += length / 8
                return joined(eight & (.max >> UInt64(64 - length)))
            }
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while at < end, shift < 64 {
            let byte = bytes[at]
            at += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    /// The low seven bits of eight bytes, one behind the other.
    private static func joined(_ eight: UInt64) -> UInt64 {
        let sevens = eight & 0x7F7F_7F7F_7F7F_7F7F
        let pairs = sevens & 0x007F_007F_007F_007F | (sevens & 0x7F00_7F00_7F00_7F00) >> 1
        let fours = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2
        return fours & 0x0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4
    }

    // MARK: - With a sign

    /// Writes a number that is small whichever sign it has at the end of `bytes`.
    package static func appendSigned(_ value: Int64, to bytes: inout [UInt8]) {
        append(folded(value), to: &bytes)
    }

    /// Reads one that `appendSigned` wrote; nil if `end` comes first.
    package static func readSigned(_ bytes: Span<UInt8>, _ at: inout Int, _ end: Int) -> Int64? {
        read(bytes, &at, end).map(unfolded)
    }

    /// Returns a number without a sign for one that may have it: 0, −1, 1, −2 …
    static func folded(_ value: Int64) -> UInt64 { UInt64(bitPattern: value << 1 ^ value >> 63) }

    /// Returns the number that `folded` was made of.
    static func unfolded(_ folded: UInt64) -> Int64 {
        Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }
}
