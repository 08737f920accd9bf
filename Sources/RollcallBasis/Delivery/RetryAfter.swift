import RollcallCore

/// The header field `Retry-After`. Source: RFC 9110 §10.2.3.
package enum RetryAfter {
    /// As RFC 5322 has them too.
    static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the span that an answer asks for; nil if it asks for none.
    static func span(of answer: HTTPCallAnswer, now: Timestamp) -> Milliseconds? {
        answer.retryAfter.flatMap { span($0, now: now) }
    }

    /// Seconds or a date, as the span from `now` on, at most `AttemptResult.retryAfterMax`; nil if
    /// it is neither. A date that has passed is no wait.
    package static func span(_ text: String, now: Timestamp) -> Milliseconds? {
        let most = AttemptResult.retryAfterMax
        let bare = String(text.drop { $0 == " " }.prefix(64))
        let digits = bare.prefix { $0.isASCII && $0.isNumber }
        if !digits.isEmpty, bare.dropFirst(digits.count).allSatisfy({ $0 == " " }) {
            // Too many digits for a number are too many seconds as well.
            guard let seconds = Int64(digits), seconds < most.count / 1000 else { return most }
            return Milliseconds.seconds(seconds)
        }
        guard let date = date(bare) else { return nil }
        return min(max(date - now, Milliseconds(0)), most)
    }

    /// `Sat, 21 Nov 2026 03:00:30 GMT`, and the two obsolete ways, `Saturday, 21-Nov-26 03:00:30 GMT`
    /// and `Sat Nov 21 03:00:30 2026`: a recipient "MUST accept all three". Source: RFC 9110 §5.6.7.
    private static func date(_ text: String) -> Timestamp? {
        let parts = text.split { " ,-".contains($0) }.map(String.init)
        let year: String
        let (day, month, time): (String, String, String)
        switch (parts.count, parts.last) {
        case (6, "GMT"): (day, month, year, time) = (parts[1], parts[2], parts[3], parts[4])
        case (5, _): (month, day, time, year) = (parts[1], parts[2], parts[3], parts[4])
        default: return nil
        }
        guard let place = months.firstIndex(of: month), day.count <= 2,
            year.count == 2 || year.count == 4
        else { return nil }
        let number = "\(place + 1)"
        let bytes = Array(
            "\(year.count == 2 ? "20" : "")\(year)-\(padded(number))-\(padded(day))T\(time)Z".utf8)
        return RFC3339.parse(bytes.span, 0..<bytes.count)
    }

    private static func padded(_ digits: String) -> String {
        digits.count == 1 ? "0" + digits : digits
    }
}
