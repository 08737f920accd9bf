/// The meaning of string and number tokens.
package enum JSONText {
    /// Bytes of an escape that stands for one byte, at most: `\u0041`.
    static let escapeBytesMax = 6

    /// Appends the bytes that `token` stands for. The token was checked when it was read.
    package static func append(
        _ token: JSONCursor.StringToken, _ bytes: Span<UInt8>, to output: inout [UInt8]
    ) {
        var at = token.range.lowerBound
        let end = token.range.upperBound
        while at < end {
            let byte = bytes[at]
            guard byte == UInt8(ascii: "\\"), at + 1 < end else {
                output.append(byte)
                at += 1
                continue
            }
            let escaped = bytes[at + 1]
            at += 2
            switch escaped {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = hex4(bytes, at, end) ?? 0xFFFD
                at += 4
                if scalar >= 0xD800, scalar <= 0xDBFF, let low = hex4(bytes, at + 2, end) {
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                    at += 6
                }
                if let scalar = Unicode.Scalar(scalar) {
                    output.append(contentsOf: UTF8.encode(scalar) ?? .init())
                }
            default: output.append(escaped)
            }
        }
    }

    /// The bytes that `token` stands for.
    package static func decoded(
        _ token: JSONCursor.StringToken, _ bytes: Span<UInt8>
    ) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(token.range.count)
        append(token, bytes, to: &output)
        return output
    }

    /// The value of `bytes[range]` as an integer literal from 0 to 2⁶³−1; nil for all else.
    package static func natural(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        guard !range.isEmpty, range.count <= 19 else { return nil }
        var value: UInt64 = 0
        for index in range {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ UInt64(digit)
        }
        return Int64(exactly: value)
    }

    /// The value of a number token as a double; nil if it is not finite.
    package static func double(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
        guard range.count <= 64 else { return nil }
        if let value = plainDecimal(bytes, range) { return value }
        var text = ""
        for index in range { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The value of a number of at most 15 digits without an exponent: then the digits and the power
    /// of ten are exact, and so is the rounding of their quotient. Nil for all else.
    private static func plainDecimal(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
        guard range.count <= 16 else { return nil }
        var digits: UInt64 = 0
        var scale: Double = 1
        var isFraction = false
        for index in range {
            let digit = bytes[index] &- UInt8(ascii: "0")
            if digit <= 9 {
                digits = digits * 10 + UInt64(digit)
                if isFraction { scale *= 10 }
            } else if bytes[index] == UInt8(ascii: "."), !isFraction {
                isFraction = true
            } else {
                return nil
            }
        }
        return Double(digits) / scale
    }

    /// The value of four hexadecimal digits from `at` on; nil if they are not there.
    static func hex4(_ bytes: Span<UInt8>, _ at: Int, _ end: Int) -> UInt32? {
        guard at >= 0, at + 4 <= end else { return nil }
        var value: UInt32 = 0
        for index in at..<(at + 4) {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - 0x57)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - 0x37)
            default: return nil
            }
        }
        return value
    }
}
