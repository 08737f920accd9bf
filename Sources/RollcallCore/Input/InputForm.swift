/// The fields of a form, of a query or of both, decoded into one row of bytes. Source: M3; the URL
/// standard's `application/x-www-form-urlencoded`.
struct InputForm {
    /// Fields at most; the rest is not looked at.
    static let fieldsMax = 256
    /// Room made at the start.
    private static let bytesUsual = 4096

    /// The decoded names and values.
    private(set) var bytes: [UInt8] = []
    /// The ranges of `bytes` in which each name and its value stand.
    private(set) var fields: [(name: Range<Int>, value: Range<Int>)] = []

    /// The fields of a query, decoded already, and behind them those of a body.
    init(query: [(name: String, value: String)], body: Span<UInt8>) {
        bytes.reserveCapacity(min(body.count, Self.bytesUsual))
        for (name, value) in query.prefix(Self.fieldsMax) {
            fields.append((append(name.utf8), append(value.utf8)))
        }
        var at = 0
        while at < body.count, fields.count < Self.fieldsMax {
            var end = at
            while end < body.count, body[end] != UInt8(ascii: "&") { end += 1 }
            var equals = at
            while equals < end, body[equals] != UInt8(ascii: "=") { equals += 1 }
            if end > at {
                let name = decode(body, at..<equals)
                fields.append((name, decode(body, min(equals + 1, end)..<end)))
            }
            at = end + 1
        }
    }

    private mutating func append(_ text: String.UTF8View) -> Range<Int> {
        let start = bytes.count
        bytes += text
        return start..<bytes.count
    }

    /// Decodes a part of a body behind what there is, and returns where it stands. A plus is a space, a
    /// percent sign and two digits a byte; what is no UTF-8 then is repaired.
    private mutating func decode(_ body: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        let start = bytes.count
        var isASCII = true
        var at = range.lowerBound
        while at < range.upperBound {
            var byte = body[at]
            if byte == UInt8(ascii: "%"), at + 2 < range.upperBound,
                let high = Self.digit(body[at + 1]), let low = Self.digit(body[at + 2])
            {
                byte = high << 4 | low
                at += 3
            } else {
                if byte == UInt8(ascii: "+") { byte = 0x20 }
                at += 1
            }
            isASCII = isASCII && byte < 0x80
            bytes.append(byte)
        }
        if !isASCII {
            let repaired = Array(String(decoding: bytes[start...], as: UTF8.self).utf8)
            bytes.replaceSubrange(start..., with: repaired)
        }
        return start..<bytes.count
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
