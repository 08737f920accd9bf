/// The phone's own promise, as a batch tells it: `900`, `"15m"`. Source: P5.
enum PromiseText {
    /// The text about a value that is none.
    static let fault = "neither a positive number of seconds nor a duration such as \"15m\""
    /// Bytes of a duration at most.
    private static let bytesMax = 64
    /// Seconds that are kept at most, 18 hours; settings believe less.
    private static let secondsMax = Int64(UInt16.max)

    /// The number at `bytes[range]` in whole seconds, rounded up; nil if it is not positive.
    static func seconds(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        guard let number = JSONText.double(bytes, range), number > 0 else { return nil }
        return number < Double(secondsMax) ? Int64(number.rounded(.up)) : secondsMax
    }

    /// The duration that `token` says, likewise.
    static func seconds(_ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) -> Int64? {
        let most = bytesMax * (token.isEscaped ? JSONText.escapeBytesMax : 1)
        guard token.range.count <= most else { return nil }
        let text = JSONText.decoded(token, bytes)
        guard let span = DurationText.span(text.span), span.count > 0 else { return nil }
        return min((span.count - 1) / 1000 + 1, secondsMax)
    }
}

/// Durations as people write them: `90s`, `2m30s`, `2w`.
package enum DurationText {
    /// Prometheus' own units, the greatest first, in milliseconds.
    private static let units: [(name: StaticString, count: Int64)] = [
        ("y", 365 * 86_400_000), ("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000),
        ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// The span that `text` says. Each unit stands at most once, a greater one before a smaller; nil
    /// for anything else, or if it is too long for anything.
    package static func span(_ text: Span<UInt8>) -> Milliseconds? {
        var at = 0
        var total: Int64 = 0
        var rest = units[...]
        repeat {
            guard let number = number(text, &at), let unit = unit(text, &at),
                let place = rest.firstIndex(where: { $0.count == unit })
            else { return nil }
            rest = rest[(place + 1)...]
            let (product, isOverflow) = number.multipliedReportingOverflow(by: unit)
            let (sum, isTooLong) = total.addingReportingOverflow(product)
            if isOverflow || isTooLong { return nil }
            total = sum
        } while at < text.count
        return Milliseconds(total)
    }

    private static func number(_ text: Span<UInt8>, _ at: inout Int) -> Int64? {
        let first = at
        var number: Int64 = 0
        while at < text.count, case let digit = text[at] &- UInt8(ascii: "0"), digit <= 9 {
            let (product, isOverflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLong) = product.addingReportingOverflow(Int64(digit))
            if isOverflow || isTooLong { return nil }
            number = sum
            at += 1
        }
        return at > first ? number : nil
    }

    private static func unit(_ text: Span<UInt8>, _ at: inout Int) -> Int64? {
        let first = at
        while at < text.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(text[at]) {
            at += 1
        }
        let word = ShortWord(text.bytes.extracting(first..<at))
        return units.first { ShortWord($0.name) == word }?.count
    }
}

extension ItemScanner {
    /// Reads the time until the phone means to report again.
    /// - Throws: `JSONError` if the value is not JSON.
    mutating func promise(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        let seconds: Int64?
        switch cursor.peek(body) {
        case UInt8(ascii: "\""): seconds = PromiseText.seconds(try cursor.string(body), body)
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            seconds = PromiseText.seconds(body, try cursor.number(body))
        default:
            try skip(&cursor, body)
            seconds = nil
        }
        guard let seconds else {
            return refuse(.nextExpectedIn, .outOfRange, PromiseText.fault)
        }
        write { ItemWriter.number(.promise, UInt64(seconds), to: &$0) }
    }
}
