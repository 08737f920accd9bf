/// The pieces of JSON that hot or deterministic answers are appended from.
package enum JSONWriter {
    /// Appends `text` as it is.
    package static func raw(_ text: StaticString, to output: inout [UInt8]) {
        output.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a word that needs no escapes, in quotes.
    package static func word(_ word: StaticString, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        raw(word, to: &output)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends UTF-8 as a JSON string.
    package static func string(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""): raw("\\\"", to: &output)
            case UInt8(ascii: "\\"): raw("\\\\", to: &output)
            case 0x0A: raw("\\n", to: &output)
            case 0x0D: raw("\\r", to: &output)
            case 0x09: raw("\\t", to: &output)
            case 0..<0x20:
                raw("\\u00", to: &output)
                output.append(hexDigit(byte >> 4))
                output.append(hexDigit(byte & 0xF))
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Appends a decimal integer.
    package static func integer(_ value: Int64, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digits: (UInt64, Int) = (1, 1)
        while rest / digits.0 >= 10 {
            digits.0 *= 10
            digits.1 += 1
        }
        for _ in 0..<digits.1 {
            output.append(UInt8(ascii: "0") + UInt8(rest / digits.0))
            rest %= digits.0
            digits.0 /= 10
        }
    }

    /// Appends a list of what `append` writes of each element.
    @inlinable
    package static func list<Element>(
        _ elements: some Sequence<Element>, to output: inout [UInt8],
        _ append: (Element, inout [UInt8]) -> Void
    ) {
        output.append(UInt8(ascii: "["))
        var isFirst = true
        for element in elements {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            append(element, &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    /// Appends a number of ten-thousandths, without trailing zeros; not below zero.
    package static func fraction(_ tenThousandths: Int64, to output: inout [UInt8]) {
        integer(tenThousandths / 10_000, to: &output)
        var rest = tenThousandths % 10_000
        guard rest > 0 else { return }
        output.append(UInt8(ascii: "."))
        var digit: Int64 = 1000
        while rest > 0 {
            output.append(UInt8(ascii: "0") + UInt8(rest / digit))
            rest %= digit
            digit /= 10
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
