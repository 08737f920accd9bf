/// The instant at which a client says that it sent a request: by the smallest difference to its
/// arrival a clock that is off is told from a way that is long. Source: D10.
package enum SentAt: Equatable, Sendable {
    /// It says nothing.
    case untold
    /// It says something that is no time.
    case unreadable
    /// The time, and as what it was read.
    case at(Timestamp, TimeForm)

    /// The text about one that is no time.
    package static var fault: String { "neither RFC 3339 nor seconds or milliseconds since 1970" }

    /// Reads the value of a header field; nil is none. The forms are those of a body (P1).
    package init(field: String?) {
        guard let field else {
            self = .untold
            return
        }
        let bytes = Array(field.utf8)
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 3)
        if let number = try? cursor.number(bytes.span), number == 0..<bytes.count {
            self.init(number: bytes.span, number)
        } else {
            self.init(text: bytes)
        }
    }

    /// Reads a text.
    init(text: [UInt8]) {
        let time = RFC3339.parse(text.span, 0..<text.count)
        self = time.map { .at($0, .rfc3339) } ?? .unreadable
    }

    /// Reads the number at `bytes[range]`.
    init(number bytes: Span<UInt8>, _ range: Range<Int>) {
        self = TimeForm.time(bytes, range).map { .at($0.time, $0.form) } ?? .unreadable
    }

    /// The time, if there is one.
    package var time: Timestamp? {
        if case .at(let time, _) = self { time } else { nil }
    }
}
