import Foundation

/// The pauses between attempts.
enum BackOff {
    private static let first = 0.5
    private static let retryAfterMax = 300.0

    /// Seconds to wait after so many failures in a row, of which `chance`, from 0 to 1, decides the
    /// exact ones: many clients that failed together must not come back together.
    static func pause(
        failures: Int, longest: Duration, retryAfter: Double?, chance: Double
    ) -> Double {
        let most = min(longest.seconds, first * pow(2, Double(min(max(failures, 1) - 1, 16))))
        let pause = most * (0.5 + chance / 2)
        guard let retryAfter else { return pause }
        return max(pause, min(retryAfter, retryAfterMax) * (1 + chance / 5))
    }

    /// Reads `Retry-After`, seconds or a date, as seconds from `now`; nil if it is neither.
    /// Source: RFC 9110 §10.2.3.
    static func seconds(_ text: String?, now: Date) -> Double? {
        guard let text = text?.trimmingCharacters(in: .whitespaces), !text.isEmpty else {
            return nil
        }
        if text.utf8.allSatisfy({ (0x30...0x39) ~= $0 }) { return Double(text) }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.date(from: text).map { max(0, $0.timeIntervalSince(now)) }
    }
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
