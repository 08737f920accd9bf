import RollcallCore

extension JSONTree {
    /// Nested containers of a document that is read at most.
    static let depthMax = 32

    /// Reads one document. Of a number, what a double cannot hold is lost.
    /// - Throws: `JSONError` if the text is not one document of JSON, or nested too deep.
    package init(reading text: [UInt8]) throws(JSONError) {
        var cursor = JSONCursor(range: 0..<text.count, depthMax: Self.depthMax)
        self = try Self.value(&cursor, text.span)
        guard cursor.isAtEnd(text.span) else { throw cursor.error("end expected") }
    }

    private static func value(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> JSONTree {
        switch cursor.peek(bytes) {
        case UInt8(ascii: "{"): return .object(try members(&cursor, bytes))
        case UInt8(ascii: "["):
            try cursor.open(UInt8(ascii: "["), bytes)
            var values: [JSONTree] = []
            var isOpen = try cursor.hasFirst(closing: UInt8(ascii: "]"), bytes)
            while isOpen {
                values.append(try value(&cursor, bytes))
                isOpen = try cursor.hasNext(closing: UInt8(ascii: "]"), bytes)
            }
            return .list(values)
        case UInt8(ascii: "\""): return .text(text(try cursor.string(bytes), bytes))
        case UInt8(ascii: "t"):
            try cursor.literal("true", bytes)
            return .boolean(true)
        case UInt8(ascii: "f"):
            try cursor.literal("false", bytes)
            return .boolean(false)
        case UInt8(ascii: "n"):
            try cursor.literal("null", bytes)
            return .null
        default: return try number(&cursor, bytes)
        }
    }

    private static func members(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> [Member] {
        try cursor.open(UInt8(ascii: "{"), bytes)
        var members: [Member] = []
        var isOpen = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while isOpen {
            let name = text(try cursor.key(bytes), bytes)
            members.append(Member(name: name, value: try value(&cursor, bytes)))
            isOpen = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
        return members
    }

    private static func text(_ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) -> String {
        String(decoding: JSONText.decoded(token, bytes), as: UTF8.self)
    }

    private static func number(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> JSONTree {
        let range = try cursor.number(bytes)
        if let natural = JSONText.natural(bytes, range) { return .integer(natural) }
        if bytes[range.lowerBound] == UInt8(ascii: "-"),
            let natural = JSONText.natural(bytes, range.dropFirst())
        {
            return .integer(-natural)
        }
        guard let double = JSONText.double(bytes, range) else {
            throw cursor.error("number too large")
        }
        return .number(double)
    }

    // MARK: - Looking at one

    /// A member of an object; nil of anything else, and where it is null.
    package subscript(_ name: String) -> JSONTree? {
        guard case .object(let members) = self,
            let value = members.first(where: { $0.name == name })?.value, value != .null
        else { return nil }
        return value
    }

    /// The text that this is.
    package var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    /// The id of a person that this is: a text, or a natural number, which is the same as its digits
    /// (P4).
    package var responderID: String? {
        switch self {
        case .text(let text): text
        case .integer(let value) where value >= 0: "\(value)"
        default: nil
        }
    }

    /// The number that this is.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The number that this is, if it is a whole one.
    package var whole: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The elements of this list; none of anything else.
    package var elements: [JSONTree] {
        guard case .list(let values) = self else { return [] }
        return values
    }

    /// The members of this object; none of anything else.
    package var members: [Member] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// True only for `true`.
    package var isTrue: Bool { self == .boolean(true) }

    /// The instant that this text names.
    package var instant: Timestamp? {
        guard let text else { return nil }
        let bytes = Array(text.utf8)
        return RFC3339.parse(bytes.span, 0..<bytes.count)
    }

    /// The span that these seconds are.
    package var seconds: Milliseconds? {
        number.flatMap { Int64(exactly: ($0 * 1000).rounded()) }.map { Milliseconds($0) }
    }
}
