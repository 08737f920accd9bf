import Testing

@testable import RollcallCore

/// What the scanner reads eight bytes at a time is what one byte at a time says.
@Suite struct ShortcutTests {
    private func token(_ bytes: [UInt8]) throws -> JSONCursor.StringToken {
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 4)
        return try cursor.string(bytes.span)
    }

    private func word(_ text: String) throws -> ShortWord {
        let bytes = Array("\"\(text)\"".utf8)
        return ShortWord(try token(bytes), bytes.span)
    }

    @Test(arguments: 0...40)
    func `a string ends at its quote wherever it stands`(length: Int) throws {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
        let bytes = [0x22] + text + [0x22] + Array(",\"more\"          ".utf8)
        #expect(try token(bytes).range == 1..<(length + 1))
    }

    @Test(arguments: 0...255)
    func `a byte is evaluated the same at every place of a string`(byte: Int) throws {
        let isPlain = byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5C
        for place in 0..<20 {
            var text = [UInt8](repeating: UInt8(ascii: "x"), count: 24)
            text[place] = UInt8(byte)
            let bytes = [0x22] + text + [0x22]
            let whole = 1..<25
            switch byte {
            case 0x22: #expect(try token(bytes).range == 1..<(place + 1))
            // A backslash before an x, and what is no UTF-8 alone.
            case _ where !isPlain: #expect(throws: JSONError.self) { try token(bytes) }
            default: #expect(try token(bytes).range == whole)
            }
        }
    }

    @Test func `words are told apart at every byte`() throws {
        for length in 1...24 {
            let text = String("abcdefghijklmnopqrstuvwxyz".prefix(length))
            let same = try word(text)
            #expect(try word(text) == same)
            for place in 0..<length {
                var other = Array(text.utf8)
                other[place] ^= 1
                #expect(try word(String(decoding: other, as: UTF8.self)) != same)
            }
            #expect(try word(text + "a") != same)
        }
        #expect(try word("") != "a")
        #expect(try word(String(repeating: "a", count: 25)) != "a")
        #expect(try word("lat") == "lat")
        #expect(try word(#"l\u0061t"#) == "lat")
        #expect(try word("permission_status") == "permission_status")
    }

    @Test func `a decimal is the nearest double`() {
        var state: UInt64 = 41
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let digits = String(state >> 20).prefix(Int(state >> 8 % 17) + 1)
            let point = Int(state >> 12 % 16)
            let text =
                point < digits.count - 1 && point > 0
                ? "\(digits.prefix(point)).\(digits.dropFirst(point))" : String(digits)
            let bytes = Array(text.utf8)
            #expect(JSONText.double(bytes.span, 0..<bytes.count) == Double(text))
        }
    }

    @Test func `a line feed ends a line and nothing else does`() throws {
        let bytes = Array("  1 \r\n\n\t\n[\n2]\n3".utf8)
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 4, isLine: true)
        var lines: [String] = []
        while cursor.nextLine(bytes.span) {
            if cursor.isAtEnd(bytes.span) {
                lines.append("")
            } else {
                do {
                    try cursor.skipValue(bytes.span)
                    try cursor.finish(bytes.span)
                    lines.append("value")
                } catch {
                    lines.append("error")
                }
            }
        }
        #expect(lines == ["value", "", "", "error", "error", "value"])
    }
}
