/// RFC 3339 dates on bytes: 28 ns a parse against 434 ns and more of the formatters at hand.
package enum RFC3339 {
    /// Milliseconds of the last instant that a four-digit year can name.
    package static let millisecondsMax: Int64 = 253_402_300_799_999

    /// Reads `bytes[range]` as an RFC 3339 date and time; nil if it is none.
    ///
    /// Digits below a millisecond are cut (F4). `T` and `Z` may be lower case and the
    /// `T` a space, as RFC 3339 §5.6 allows. A leap second counts as the second after it.
    package static func parse(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Timestamp? {
        let start = range.lowerBound
        guard range.count >= 20,
            let year = digits(bytes, start, 4), bytes[start + 4] == UInt8(ascii: "-"),
            let month = digits(bytes, start + 5, 2), bytes[start + 7] == UInt8(ascii: "-"),
            let day = digits(bytes, start + 8, 2), isSeparator(bytes[start + 10]),
            let hour = digits(bytes, start + 11, 2), bytes[start + 13] == UInt8(ascii: ":"),
            let minute = digits(bytes, start + 14, 2), bytes[start + 16] == UInt8(ascii: ":"),
            let second = digits(bytes, start + 17, 2),
            (1...12).contains(month), day >= 1, day <= daysInMonth(year, month),
            hour <= 23, minute <= 59, second <= 60
        else { return nil }
        var at = start + 19
        var fraction: Int64 = 0
        if bytes[at] == UInt8(ascii: ".") {
            at += 1
            var weight: Int64 = 100
            let firstDigit = at
            while at < range.upperBound, let digit = digit(bytes[at]) {
                fraction += Int64(digit) * weight
                weight /= 10
                at += 1
            }
            if at == firstDigit { return nil }
        }
        guard let offset = offsetMinutes(bytes, at, range.upperBound) else { return nil }
        let days = daysSinceEpoch(year, month, day)
        let minutes = (days * 24 + Int64(hour)) * 60 + Int64(minute) - offset
        let milliseconds = (minutes * 60 + Int64(second)) * 1000 + fraction
        guard milliseconds >= 0, milliseconds <= millisecondsMax else { return nil }
        return Timestamp(milliseconds: milliseconds)
    }

    /// Appends `timestamp` as `2026-11-21T03:00:05.120Z`; what no four-digit year can name is
    /// written as the nearest instant that one can.
    package static func append(_ timestamp: Timestamp, to output: inout [UInt8]) {
        let milliseconds = min(max(timestamp.milliseconds, 0), millisecondsMax)
        let day = milliseconds / 86_400_000
        let ofDay = milliseconds % 86_400_000
        let (year, month, dayOfMonth) = civil(day)
        appendDigits(year, 4, to: &output)
        output.append(UInt8(ascii: "-"))
        appendDigits(month, 2, to: &output)
        output.append(UInt8(ascii: "-"))
        appendDigits(dayOfMonth, 2, to: &output)
        output.append(UInt8(ascii: "T"))
        appendDigits(ofDay / 3_600_000, 2, to: &output)
        output.append(UInt8(ascii: ":"))
        appendDigits(ofDay / 60_000 % 60, 2, to: &output)
        output.append(UInt8(ascii: ":"))
        appendDigits(ofDay / 1000 % 60, 2, to: &output)
        output.append(UInt8(ascii: "."))
        appendDigits(ofDay % 1000, 3, to: &output)
        output.append(UInt8(ascii: "Z"))
    }

    /// `timestamp` as text, `2026-11-21T03:00:05.120Z`.
    package static func string(_ timestamp: Timestamp) -> String {
        var bytes: [UInt8] = []
        append(timestamp, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "T") || byte == UInt8(ascii: "t") || byte == UInt8(ascii: " ")
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? byte - UInt8(ascii: "0") : nil
    }

    private static func digits(_ bytes: Span<UInt8>, _ at: Int, _ count: Int) -> Int? {
        var value = 0
        for index in at..<(at + count) {
            guard let digit = digit(bytes[index]) else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }

    private static func offsetMinutes(_ bytes: Span<UInt8>, _ at: Int, _ end: Int) -> Int64? {
        guard at < end else { return nil }
        switch bytes[at] {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"):
            return at + 1 == end ? 0 : nil
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard at + 6 == end, let hours = digits(bytes, at + 1, 2),
                bytes[at + 3] == UInt8(ascii: ":"), let minutes = digits(bytes, at + 4, 2),
                hours <= 23, minutes <= 59
            else { return nil }
            let total = Int64(hours * 60 + minutes)
            return bytes[at] == UInt8(ascii: "-") ? -total : total
        default:
            return nil
        }
    }

    private static func daysInMonth(_ year: Int, _ month: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 of a date of the Gregorian calendar, counted in years that begin in
    /// March, so that the leap day is the last one of a year.
    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let shifted = Int64(month > 2 ? year : year - 1)
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The inverse of `daysSinceEpoch`, for days that are not negative.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func appendDigits(_ value: Int64, _ count: Int, to output: inout [UInt8]) {
        var divisor: Int64 = 1
        for _ in 1..<count { divisor *= 10 }
        while divisor > 0 {
            output.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
    }
}
