/// The error of a body that is not the JSON which we read.
package struct JSONError: Error, Equatable, Sendable {
    /// The fault, for people.
    package var message: String
    /// Byte offset at which it was seen.
    package var offset: Int
}

/// A strict RFC 8259 reader over bytes that remembers nothing but its position.
///
/// It is safe on any input: every access is bounds-checked, depth is counted, nothing recurses
/// deeper than `depthMax`. Measured at the speed of unsafe pointers (Decisions).
package struct JSONCursor {
    /// The next byte to be read.
    package private(set) var position: Int
    private let end: Int
    private let depthMax: Int
    private let isLine: Bool
    private var depth = 0
    private var hasBegun = false

    /// A cursor over `bytes[range]` that follows at most `depthMax` nested containers; with
    /// `isLine` a line feed is an end like that of the range, until `nextLine` is called.
    package init(range: Range<Int>, depthMax: Int, isLine: Bool = false) {
        position = range.lowerBound
        end = range.upperBound
        self.depthMax = depthMax
        self.isLine = isLine
    }

    /// A string's place in the source, without its quotes.
    package struct StringToken {
        /// Bytes between the quotes.
        package var range: Range<Int>
        /// True if it holds a backslash and must be decoded before use.
        package var isEscaped: Bool
    }

    // MARK: - Structure

    /// The next byte that is not white space, unread; 0, which no JSON value begins with, at the
    /// end.
    @inline(__always)
    package mutating func peek(_ bytes: Span<UInt8>) -> UInt8 {
        while position < end {
            let byte = bytes[position]
            if byte > 0x20 { return byte }
            if byte != 0x20 && byte != 0x0A && byte != 0x0D && byte != 0x09 { return byte }
            if byte == 0x0A && isLine { return 0 }
            position += 1
        }
        return 0
    }

    /// True if only white space is left.
    package mutating func isAtEnd(_ bytes: Span<UInt8>) -> Bool {
        peek(bytes) == 0 && (position == end || bytes[position] == 0x0A)
    }

    /// Moves to the beginning of the next line, wherever it stands in this one; false if there is
    /// none. The first call moves nothing.
    package mutating func nextLine(_ bytes: Span<UInt8>) -> Bool {
        if hasBegun {
            while position < end, bytes[position] != 0x0A { position += 1 }
            position += 1
        }
        hasBegun = true
        depth = 0
        return position < end
    }

    /// Reads `byte`, which must come next.
    /// - Throws: `JSONError` if another byte, or the end, comes next; its message is `message`.
    package mutating func expect(
        _ byte: UInt8, _ bytes: Span<UInt8>, _ message: @autoclosure () -> String
    ) throws(JSONError) {
        guard peek(bytes) == byte else { throw error(message()) }
        position += 1
    }

    /// Reads an opening brace or bracket and counts its depth.
    /// - Throws: `JSONError` if another byte comes next, or it is nested deeper than `depthMax`.
    package mutating func open(_ byte: UInt8, _ bytes: Span<UInt8>) throws(JSONError) {
        try expect(byte, bytes, "unexpected value")
        depth += 1
        if depth > depthMax { throw error("nested too deep") }
    }

    /// Looks behind an opening byte: true if a first member follows; reads the closing byte if none
    /// does. It never throws.
    package mutating func hasFirst(
        closing: UInt8, _ bytes: Span<UInt8>
    ) throws(JSONError) -> Bool {
        guard peek(bytes) == closing else { return true }
        position += 1
        depth -= 1
        return false
    }

    /// Looks behind a member: true if a comma was read; reads the closing byte if that comes
    /// instead.
    /// - Throws: `JSONError` if neither comes next.
    package mutating func hasNext(closing: UInt8, _ bytes: Span<UInt8>) throws(JSONError) -> Bool {
        let byte = peek(bytes)
        if byte == UInt8(ascii: ",") {
            position += 1
            return true
        }
        if byte == closing {
            position += 1
            depth -= 1
            return false
        }
        throw error("comma or closing bracket expected")
    }

    /// Reads a member's name and its colon.
    /// - Throws: `JSONError` if no string comes next, or no colon behind it.
    package mutating func key(_ bytes: Span<UInt8>) throws(JSONError) -> StringToken {
        let token = try string(bytes)
        try expect(UInt8(ascii: ":"), bytes, "colon expected")
        return token
    }

    /// Checks that only white space is left. Throws `JSONError` if anything else is.
    package mutating func finish(_ bytes: Span<UInt8>) throws(JSONError) {
        if !isAtEnd(bytes) { throw error("more after the end of the value") }
    }

    // MARK: - Scalars

    /// Reads a string and checks its escapes and its UTF-8.
    /// - Throws: `JSONError` if no string comes next, or one without an end, with a control
    ///   character, a bad escape or bytes that are not UTF-8.
    package mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> StringToken {
        try expect(UInt8(ascii: "\""), bytes, "string expected")
        let start = position
        var isEscaped = false
        while position < end {
            if position + 8 <= end {
                let plain = Self.plainBytes(
                    bytes.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
                position += plain
                if plain == 8 { continue }
            }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return StringToken(range: start..<(position - 1), isEscaped: isEscaped)
            }
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                try escape(bytes)
            } else if byte < 0x20 {
                throw error("control character in a string")
            } else if byte < 0x80 {
                position += 1
            } else {
                try multibyte(bytes)
            }
        }
        throw error("string without an end")
    }

    /// Reads `true`, `false` or `null`.
    /// - Throws: `JSONError` if other bytes come next.
    package mutating func literal(
        _ word: StaticString, _ bytes: Span<UInt8>
    ) throws(JSONError) {
        let count = word.utf8CodeUnitCount
        guard position + count <= end else { throw error("unknown word") }
        for index in 0..<count where bytes[position + index] != word.utf8Start[index] {
            throw error("unknown word")
        }
        position += count
    }

    /// Reads a number and returns where it stands.
    /// - Throws: `JSONError` if none comes next, or one with a leading zero, or without digits
    ///   where they must be.
    package mutating func number(_ bytes: Span<UInt8>) throws(JSONError) -> Range<Int> {
        let start = position
        if position < end, bytes[position] == UInt8(ascii: "-") { position += 1 }
        let integerStart = position
        skipDigits(bytes)
        let integerDigits = position - integerStart
        if integerDigits == 0 { throw error("value expected") }
        if integerDigits > 1, bytes[integerStart] == UInt8(ascii: "0") {
            throw error("number with a leading zero")
        }
        if position < end, bytes[position] == UInt8(ascii: ".") {
            position += 1
            let fractionStart = position
            skipDigits(bytes)
            if position == fractionStart { throw error("digit expected") }
        }
        if position < end, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < end,
                bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
            {
                position += 1
            }
            let exponentStart = position
            skipDigits(bytes)
            if position == exponentStart { throw error("digit expected") }
        }
        return start..<position
    }

    /// Reads any value and throws it away; `onKey` sees every member's name within it and says
    /// whether its value is to be looked into.
    ///
    /// Iterative, so that no input can overflow the stack.
    /// - Throws: `JSONError` if the value is not JSON, or nested deeper than `depthMax`.
    package mutating func skipValue(
        _ bytes: Span<UInt8>, onKey: (StringToken, Span<UInt8>) -> Bool = { _, _ in true }
    ) throws(JSONError) {
        let floor = depth
        // One bit a level: whether it is an object. Levels beyond 64 cannot occur: see `depthMax`.
        var isObject: UInt64 = 0
        var silentFrom = Int.max
        repeat {
            let byte = peek(bytes)
            var isOpen = false
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                try open(byte, bytes)
                isObject = isObject << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
                isOpen = try hasFirst(closing: isObject & 1 == 1 ? 0x7D : 0x5D, bytes)
                if !isOpen { isObject >>= 1 }
            case UInt8(ascii: "\""): _ = try string(bytes)
            case UInt8(ascii: "t"): try literal("true", bytes)
            case UInt8(ascii: "f"): try literal("false", bytes)
            case UInt8(ascii: "n"): try literal("null", bytes)
            default: _ = try number(bytes)
            }
            if depth <= silentFrom, silentFrom != .max, !isOpen { silentFrom = .max }
            while !isOpen && depth > floor {
                isOpen = try hasNext(closing: isObject & 1 == 1 ? 0x7D : 0x5D, bytes)
                if !isOpen { isObject >>= 1 }
                if depth <= silentFrom { silentFrom = .max }
            }
            if isOpen && isObject & 1 == 1 {
                let name = try key(bytes)
                if silentFrom == .max, !onKey(name, bytes) { silentFrom = depth }
            }
        } while depth > floor
    }

    // MARK: - Parts

    /// An error at the present position.
    package func error(_ message: String) -> JSONError {
        JSONError(message: message, offset: position)
    }

    /// Returns how many of eight bytes, the first in the low bits, come before the first that is a
    /// quote, a backslash, a control character or not ASCII.
    @inline(__always)
    private static func plainBytes(_ eight: UInt64) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = eight ^ (ones &* 0x22)
        let backslash = eight ^ (ones &* 0x5C)
        // A borrow can only mark bytes behind the first one that is rightly marked.
        let marked =
            (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
            | (eight &- (ones &* 0x20)) & ~eight | eight
        return (marked & (ones &* 0x80)).trailingZeroBitCount / 8
    }

    private mutating func skipDigits(_ bytes: Span<UInt8>) {
        while position < end, bytes[position] &- UInt8(ascii: "0") <= 9 { position += 1 }
    }

    private mutating func escape(_ bytes: Span<UInt8>) throws(JSONError) {
        guard position + 1 < end else { throw error("string without an end") }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            guard let unit = JSONText.hex4(bytes, position + 2, end) else {
                throw error("bad escape")
            }
            position += 6
            if unit >= 0xDC00 && unit <= 0xDFFF { throw error("lone surrogate") }
            guard unit >= 0xD800 && unit <= 0xDBFF else { return }
            guard position + 1 < end, bytes[position] == UInt8(ascii: "\\"),
                bytes[position + 1] == UInt8(ascii: "u"),
                let low = JSONText.hex4(bytes, position + 2, end), low >= 0xDC00, low <= 0xDFFF
            else { throw error("lone surrogate") }
            position += 6
        default: throw error("bad escape")
        }
    }

    /// Reads one character of two to four bytes; RFC 3629 allows neither overlong forms nor
    /// surrogates nor anything beyond U+10FFFF.
    /// - Throws: `JSONError` if no such character comes next.
    private mutating func multibyte(_ bytes: Span<UInt8>) throws(JSONError) {
        let first = bytes[position]
        let count: Int
        var low: UInt8 = 0x80
        var high: UInt8 = 0xBF
        switch first {
        case 0xC2...0xDF: count = 2
        case 0xE0: (count, low) = (3, 0xA0)
        case 0xED: (count, high) = (3, 0x9F)
        case 0xE1...0xEF: count = 3
        case 0xF0: (count, low) = (4, 0x90)
        case 0xF4: (count, high) = (4, 0x8F)
        case 0xF1...0xF3: count = 4
        default: throw error("not UTF-8")
        }
        guard position + count <= end else { throw error("not UTF-8") }
        for index in 1..<count {
            let byte = bytes[position + index]
            guard byte >= low && byte <= high else { throw error("not UTF-8") }
            low = 0x80
            high = 0xBF
        }
        position += count
    }
}
