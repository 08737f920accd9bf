import Glibc
import RollcallCore

/// The header field `Retry-After`. Source: RFC 9110 §10.2.3.
enum RetryAfter {
    /// The three ways to write a date; the second and third are obsolete, and a recipient "MUST
    /// accept all three". Source: RFC 9110 §5.6.7.
    private static let formats = [
        "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y",
    ]

    /// Seconds or a date, as the span from `now` on, at most `AttemptResult.retryAfterMax`; nil if
    /// it is neither. A date that has passed is no wait.
    static func span(_ text: String, now: Timestamp) -> Milliseconds? {
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

    /// strptime(3) and timegm(3): this process never leaves the C locale, whose names of days and
    /// months these are.
    private static func date(_ text: String) -> Timestamp? {
        for format in formats {
            var parts = tm()
            let isRead = text.withCString { start in
                strptime(start, format, &parts).map { end in
                    String(cString: end).allSatisfy { $0 == " " }
                } ?? false
            }
            guard isRead else { continue }
            let (milliseconds, isOverflow) = Int64(timegm(&parts))
                .multipliedReportingOverflow(by: 1000)
            return isOverflow ? nil : Timestamp(milliseconds: milliseconds)
        }
        return nil
    }
}
