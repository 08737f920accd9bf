/// As what a time was read: the label `form` of a metric. Source: P1.
package enum TimeForm: UInt8, CaseIterable, Sendable {
    /// A string.
    case rfc3339 = 0
    /// A number below 10¹¹, which is the year 5138 in seconds.
    case seconds = 1
    /// A number from 10¹¹ on, which is March 1973 in milliseconds, to below 10¹⁴.
    case milliseconds = 2

    /// Bytes of a time that is written with escapes at most.
    private static let timeBytesMax = 64
    /// Numbers below it are seconds.
    package static let millisecondsFrom: Int64 = 100_000_000_000
    /// Numbers from here on are no time.
    private static let millisecondsEnd: Int64 = 100_000_000_000_000

    /// The label's value.
    package var word: StaticString {
        switch self {
        case .rfc3339: "rfc3339"
        case .seconds: "seconds"
        case .milliseconds: "milliseconds"
        }
    }

    /// Reads the number at `bytes[range]` as seconds or milliseconds since 1970, by its magnitude; nil
    /// if it is neither. Digits below a millisecond are cut (F4).
    static func time(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) -> (time: Timestamp, form: TimeForm)? {
        guard let (whole, thousandths) = parts(bytes, range) else { return nil }
        if whole < millisecondsFrom {
            return (Timestamp(milliseconds: whole * 1000 + thousandths), .seconds)
        }
        guard whole < millisecondsEnd else { return nil }
        return (Timestamp(milliseconds: whole), .milliseconds)
    }

    /// Reads the number at `bytes[range]` as `unit` says; nil if it is no time.
    static func time(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ unit: InputDescription.Unit
    ) -> (time: Timestamp, form: TimeForm)? {
        switch unit {
        case .auto, .osmand: return time(bytes, range)
        case .seconds:
            let read = time(bytes, range)
            return read?.form == .seconds ? read : nil
        case .milliseconds:
            guard let (whole, _) = parts(bytes, range), whole < millisecondsEnd else { return nil }
            return (Timestamp(milliseconds: whole), .milliseconds)
        }
    }

    /// True if a number is read as so many milliseconds.
    static func isMilliseconds(_ number: Int64) -> Bool {
        number >= millisecondsFrom && number < millisecondsEnd
    }

    /// Reads a string as RFC 3339; nil for all else, which is skipped.
    /// - Throws: `JSONError` if the value is not JSON.
    static func text(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> Timestamp? {
        guard cursor.peek(bytes) == UInt8(ascii: "\"") else {
            try cursor.skipValue(bytes)
            return nil
        }
        let token = try cursor.string(bytes)
        guard token.isEscaped else { return RFC3339.parse(bytes, token.range) }
        guard token.range.count <= timeBytesMax * JSONText.escapeBytesMax else {
            return nil
        }
        let decoded = JSONText.decoded(token, bytes)
        return RFC3339.parse(decoded.span, 0..<decoded.count)
    }

    /// Reads the `at` of a replay line: RFC 3339 or, however small, milliseconds (P1).
    /// - Throws: `JSONError` if the value is not JSON.
    static func lineTime(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> Timestamp? {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(cursor.peek(bytes)) else {
            return try text(&cursor, bytes)
        }
        let range = try cursor.number(bytes)
        guard let (whole, _) = parts(bytes, range), whole <= RFC3339.millisecondsMax else {
            return nil
        }
        return Timestamp(milliseconds: whole)
    }

    /// Digits of a whole part that an Int64 may have; so many fit into 64 bits whatever they are.
    private static let digitsMax = 19

    /// A number's whole part and its first three decimals; nil if it is negative, or too large.
    private static func parts(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) -> (whole: Int64, thousandths: Int64)? {
        guard !range.isEmpty, bytes[range.lowerBound] != UInt8(ascii: "-") else { return nil }
        var end = range.lowerBound
        while end < range.upperBound, bytes[end] | 0x20 != UInt8(ascii: "e") { end += 1 }
        let mantissa = range.lowerBound..<end
        let point = mantissa.first { bytes[$0] == UInt8(ascii: ".") } ?? end
        // The digits that are left before the point, once the exponent has moved it.
        var left = point - mantissa.lowerBound + exponent(bytes, end..<range.upperBound)
        var whole: UInt64 = 0
        var thousandths: Int64 = 0
        var isZero = true
        for index in mantissa where index != point {
            let digit = bytes[index] &- UInt8(ascii: "0")
            left -= 1
            if digit == 0, isZero { continue }
            if isZero, left >= digitsMax { return nil }
            isZero = false
            switch left {
            case 0...: whole = whole * 10 + UInt64(digit)
            case -1: thousandths = Int64(digit) * 100
            case -2: thousandths += Int64(digit) * 10
            case -3: thousandths += Int64(digit)
            default: break
            }
        }
        if isZero { return (0, 0) }
        for _ in 0..<max(left, 0) { whole *= 10 }
        return Int64(exactly: whole).map { ($0, thousandths) }
    }

    /// The exponent at `bytes[range]`, which begins with its letter; 0 without one. What is far beyond any
    /// time is cut.
    private static func exponent(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        let most = 100_000
        var value = 0
        var isNegative = false
        for index in range.dropFirst() {
            let digit = bytes[index] &- UInt8(ascii: "0")
            if digit <= 9 { value = min(most, value * 10 + Int(digit)) }
            if bytes[index] == UInt8(ascii: "-") { isNegative = true }
        }
        return isNegative ? -value : value
    }
}
