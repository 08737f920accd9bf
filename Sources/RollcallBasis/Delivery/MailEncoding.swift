import Foundation

/// Text in a head, where only ASCII may stand. Source: RFC 2047.
enum EncodedWords {
    /// Bytes of a word's text at most: "An 'encoded-word' may not be more than 75 characters long".
    static let chunkMax = 39

    /// `text` as it is if it is one short line of plain ASCII, else as encoded words on lines of their
    /// own; `after` bytes stand before it.
    static func text(_ text: String, after: Int) -> String {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !text.contains("=?")
        if isPlain, after + text.utf8.count <= MailMessage.lineMax, text.first != " ",
            text.last != " "
        {
            return text
        }
        var words: [String] = []
        var chunk: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            // A character must not be divided between two words.
            if chunk.count + bytes.count > chunkMax {
                words.append(word(chunk))
                chunk = []
            }
            chunk += bytes
        }
        if !chunk.isEmpty { words.append(word(chunk)) }
        return words.joined(separator: "\r\n ")
    }

    private static func word(_ bytes: [UInt8]) -> String {
        "=?utf-8?B?\(Data(bytes).base64EncodedString())?="
    }
}

/// Text in a mail's body, in lines of ASCII. Source: RFC 2045 §6.7.
enum QuotedPrintable {
    /// The bytes of `text`, with CR LF at each line's end.
    static func bytes(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            append(Array(line.utf8), to: &result)
            result += [0x0D, 0x0A]
        }
        return result
    }

    private static func append(_ line: [UInt8], to result: inout [UInt8]) {
        var column = 0
        for (place, byte) in line.enumerated() {
            let isLast = place == line.count - 1
            let isPlain =
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=")
                || byte == 0x20 && !isLast
            let piece = isPlain ? [byte] : escaped(byte)
            // A soft end of a line takes a column itself.
            if column + piece.count > MailMessage.lineMax - 1 {
                result += Array("=\r\n".utf8)
                column = 0
            }
            result += piece
            column += piece.count
        }
    }

    private static func escaped(_ byte: UInt8) -> [UInt8] {
        let digits = String(byte, radix: 16, uppercase: true)
        return Array("=\(digits.count == 1 ? "0" : "")\(digits)".utf8)
    }
}
