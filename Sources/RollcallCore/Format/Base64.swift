/// Bytes as text and back: RFC 4648 §4, with padding.
package enum Base64 {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let none: UInt8 = 0xFF
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: none, count: 256)
        for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Appends the text of `bytes`. It reserves no room: that is made exactly, and with one call for
    /// each of a thousand slices all that stands there would be copied as often.
    package static func append(_ bytes: [UInt8], to output: inout [UInt8]) {
        var at = 0
        while at < bytes.count {
            let left = bytes.count - at
            let three =
                UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[at + 2]) : 0)
            output.append(letters[Int(three >> 18)])
            output.append(letters[Int(three >> 12 & 63)])
            output.append(left > 1 ? letters[Int(three >> 6 & 63)] : UInt8(ascii: "="))
            output.append(left > 2 ? letters[Int(three & 63)] : UInt8(ascii: "="))
            at += 3
        }
    }

    /// The bytes of the text at `bytes[range]`; nil if it is none.
    package static func decoded(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8]? {
        guard range.count % 4 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(range.count / 4 * 3)
        let values = Self.values
        var at = range.lowerBound
        while at < range.upperBound {
            let isLast = at + 4 == range.upperBound
            let hasThird = !isLast || bytes[at + 2] != UInt8(ascii: "=")
            let hasFourth = !isLast || bytes[at + 3] != UInt8(ascii: "=")
            let first = values[Int(bytes[at])]
            let second = values[Int(bytes[at + 1])]
            let third = hasThird ? values[Int(bytes[at + 2])] : 0
            let fourth = hasFourth ? values[Int(bytes[at + 3])] : 0
            guard max(first, second) != none, max(third, fourth) != none, hasThird || !hasFourth
            else { return nil }
            output.append(first << 2 | second >> 4)
            if hasThird { output.append(second << 4 | third >> 2) }
            if hasFourth { output.append(third << 6 | fourth) }
            at += 4
        }
        return output
    }
}

/// Numbers of 64 bits as sixteen hexadecimal digits: JSON's own are exact to 53 bits only.
package enum HexText {
    /// Appends the digits.
    static func append(_ value: UInt64, to output: inout [UInt8]) {
        output.append(contentsOf: bytes(value))
    }

    /// The digits.
    package static func bytes(_ value: UInt64) -> [UInt8] {
        stride(from: 60, through: 0, by: -4).map { shift in
            let digit = UInt8(value >> UInt64(shift) & 15)
            return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }

    /// The number that sixteen digits stand for; nil for anything else.
    package static func value(_ text: [UInt8]) -> UInt64? {
        guard text.count == 16 else { return nil }
        var value: UInt64 = 0
        for quarter in 0..<4 {
            guard let four = JSONText.hex4(text.span, quarter * 4, text.count) else { return nil }
            value = value << 16 | UInt64(four)
        }
        return value
    }
}
