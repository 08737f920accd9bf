/// The fields of a form, of a query or of both, decoded into one row of bytes. Source: M3; the URL
/// standard's `application/x-www-form-urlencoded`.
struct InputForm {
    /// Fields at most; the rest is not looked at.
    static let fieldsMax = 256

    /// The decoded names and values.
    private(set) var bytes: [UInt8] = []
    /// The ranges of `bytes` in which each name and its value stand.
    private(set) var fields: [(name: Range<Int>, value: Range<Int>)] = []

    /// The fields of a query, decoded already, and behind them those of a body.
    init(query: [(name: String, value: String)], body: Span<UInt8>) {
        for (name, value) in query.prefix(Self.fieldsMax) {
            append(Array(name.utf8), Array(value.utf8))
        }
        var at = 0
        while at < body.count, fields.count < Self.fieldsMax {
            var end = at
            while end < body.count, body[end] != UInt8(ascii: "&") { end += 1 }
            var equals = at
            while equals < end, body[equals] != UInt8(ascii: "=") { equals += 1 }
            if end > at {
                append(
                    Self.decoded(body, at..<equals), Self.decoded(body, min(equals + 1, end)..<end))
            }
            at = end + 1
        }
    }

    private mutating func append(_ name: [UInt8], _ value: [UInt8]) {
        let start = bytes.count
        bytes += name
        let middle = bytes.count
        bytes += value
        fields.append((start..<middle, middle..<bytes.count))
    }

    /// A plus is a space, a percent sign and two digits a byte; what is no UTF-8 then is repaired.
    private static func decoded(_ body: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        var at = range.lowerBound
        while at < range.upperBound {
            let byte = body[at]
            if byte == UInt8(ascii: "%"), at + 2 < range.upperBound,
                let high = digit(body[at + 1]), let low = digit(body[at + 2])
            {
                bytes.append(high << 4 | low)
                at += 3
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                at += 1
            }
        }
        return Array(String(decoding: bytes, as: UTF8.self).utf8)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
