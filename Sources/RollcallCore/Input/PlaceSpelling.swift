/// A text as plain ASCII would write its numbers: digits and signs of other scripts, wide and invisible
/// characters, and what is written as `%2C`. Source: I8.
enum PlaceSpelling {
    /// A text that was encoded more often than this is no name that somebody reads.
    private static let passesMax = 4

    /// True if a text can be a place only as `plain` writes it.
    static func isForeign(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var hasDigit = false
        var isASCII = true
        for index in range {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") { return true }
            if byte >= 0x80 {
                if isDigitLead(byte) { return true }
                isASCII = false
            }
            if byte &- UInt8(ascii: "0") <= 9 { hasDigit = true }
        }
        return hasDigit && !isASCII
    }

    /// The bytes with which the digits of other scripts begin: most names have neither them nor others,
    /// and are not looked at twice.
    private static func isDigitLead(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xD9, 0xDB, 0xDF, 0xE0, 0xE1, 0xEA, 0xEF, 0xF0: true
        default: false
        }
    }

    /// The text in plain spelling.
    static func plain(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var text: [UInt8] = []
        for index in range { text.append(bytes[index]) }
        for _ in 0..<passesMax {
            let next = decoded(folded(text))
            if next == text { break }
            text = next
        }
        return text
    }

    /// The text with one byte for each `%` and two hexadecimal digits.
    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(UInt8(ascii: "%")) else { return text }
        var output: [UInt8] = []
        var at = 0
        while at < text.count {
            guard text[at] == UInt8(ascii: "%"), at + 2 < text.count,
                let high = digit(text[at + 1]), let low = digit(text[at + 2])
            else {
                output.append(text[at])
                at += 1
                continue
            }
            output.append(high << 4 | low)
            at += 3
        }
        return output
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 0x37
        default: nil
        }
    }

    /// The text with ASCII for what means the same in a number, or parts two.
    private static func folded(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(where: { $0 >= 0x80 }) else { return text }
        var output: [UInt8] = []
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                output.append(UInt8(truncatingIfNeeded: scalar.value))
            } else if let byte = ascii(scalar) {
                output.append(byte)
            } else if scalar.properties.generalCategory != .format {
                output.append(contentsOf: UTF8.encode(scalar) ?? .init())
            }
        }
        return output
    }

    /// The character of ASCII that means the same; nil if there is none.
    private static func ascii(_ scalar: Unicode.Scalar) -> UInt8? {
        switch scalar.value {
        // Wide forms of all of ASCII.
        case 0xFF01...0xFF5E: return UInt8(scalar.value - 0xFEE0)
        case 0x060C, 0x066C, 0x3001, 0xFE10, 0xFE50, 0xFE51, 0xFF64: return UInt8(ascii: ",")
        case 0x066B, 0x2024, 0xFE52: return UInt8(ascii: ".")
        case 0x037E, 0x061B, 0xFE54: return UInt8(ascii: ";")
        case 0x2212: return UInt8(ascii: "-")
        default: break
        }
        switch scalar.properties.generalCategory {
        case .decimalNumber:
            return scalar.properties.numericValue.map { UInt8(ascii: "0") + UInt8($0) }
        case .spaceSeparator: return UInt8(ascii: " ")
        case .dashPunctuation: return UInt8(ascii: "-")
        default: return nil
        }
    }
}
