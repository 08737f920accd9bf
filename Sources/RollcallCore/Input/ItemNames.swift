/// The names in items: what they may be, and what they must not look like.
extension ItemScanner {
    /// Reads the circles into the item, sorted, each once.
    /// - Throws: `JSONError` if the value that comes next is not JSON.
    mutating func circles(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        guard cursor.peek(body) == UInt8(ascii: "[") else {
            try skip(&cursor, body)
            return refuse(.circles, .malformed, "not an array")
        }
        var names: [[UInt8]] = []
        var place = 0
        try cursor.open(UInt8(ascii: "["), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
        while more, place < limits.circlesMax {
            if cursor.peek(body) == UInt8(ascii: "\"") {
                let token = try cursor.string(body)
                if !Self.isName(token, body, Self.nameBytesMax) {
                    note("/circles/\(place)", .outOfRange, "not a name")
                } else if isPlace(token, body) {
                    note("/circles/\(place)", .coordinate, Self.placeRefusal)
                } else {
                    names.append(JSONText.decoded(token, body))
                }
            } else {
                try skip(&cursor, body)
                note("/circles/\(place)", .malformed, "not a string")
            }
            place += 1
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
        if more {
            let most = limits.circlesMax
            note("/circles/\(place)", .outOfRange, "more than \(most): the rest is left out")
        }
        while more {
            try skip(&cursor, body)
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
        let packed = CircleNames.pack(names)
        write { ItemWriter.bytes(.circles, packed, to: &$0) }
    }

    // MARK: - What is a name

    /// True for 1 to `bytesMax` bytes without control characters.
    static func isName(
        _ token: JSONCursor.StringToken, _ body: Span<UInt8>, _ bytesMax: Int
    ) -> Bool {
        if token.isEscaped {
            // A byte takes six at most: what is longer need not be decoded.
            guard token.range.count <= bytesMax * JSONText.escapeBytesMax else { return false }
            let decoded = JSONText.decoded(token, body)
            return isName(decoded.span, 0..<decoded.count, bytesMax)
        }
        return isName(body, token.range, bytesMax)
    }

    private static func isName(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ bytesMax: Int
    ) -> Bool {
        guard range.count >= 1, range.count <= bytesMax else { return false }
        var previous: UInt8 = 0
        for index in range {
            let byte = bytes[index]
            // Control characters: those below the space, DEL, and U+0080 to U+009F, which in UTF-8 are a
            // byte 0xC2 and one below 0xA0.
            if byte < 0x20 || byte == 0x7F { return false }
            if previous == 0xC2 && byte < 0xA0 { return false }
            previous = byte
        }
        return true
    }

    /// The text that refuses a name which looks like a place on earth.
    static let placeRefusal = "looks like coordinates, which are never taken"

    /// True of a name that does, and was not taken before.
    func isPlace(_ token: JSONCursor.StringToken, _ body: Span<UInt8>) -> Bool {
        guard refusesPlaces else { return false }
        if token.isEscaped { return PlaceText.isIn(JSONText.decoded(token, body)) }
        return PlaceText.isIn(body, token.range)
    }
}
