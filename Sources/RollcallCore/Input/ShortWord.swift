/// A short string as numbers, so that the scanner compares numbers instead of bytes.
///
/// Exact for up to 24 bytes: each byte stands in at least one of the three numbers.
struct ShortWord: Equatable, ExpressibleByStringLiteral {
    /// Bytes of a word that is told from all others at most.
    static let bytesMax = 24

    /// Number of bytes; -1 for what is longer than every word.
    private var count = -1
    private var head: UInt64 = 0
    private var middle: UInt64 = 0
    private var tail: UInt64 = 0

    /// A word of ours, of at most 24 bytes. Inlined, so that a literal becomes constants.
    @inline(__always)
    init(_ word: StaticString) {
        self.init(
            RawSpan(
                _unsafeStart: UnsafeRawPointer(word.utf8Start), byteCount: word.utf8CodeUnitCount))
    }

    @inline(__always)
    init(stringLiteral word: StaticString) { self.init(word) }

    /// The word that `token` stands for.
    init(_ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) {
        if token.isEscaped {
            // What is longer than every word, however it is written, need not be decoded whole.
            let most = (Self.bytesMax + 2) * JSONText.escapeBytesMax
            var token = token
            if token.range.count > most {
                token.range = token.range.lowerBound..<(token.range.lowerBound + most)
            }
            let decoded = JSONText.decoded(token, bytes)
            self.init(decoded.span.bytes)
        } else {
            self.init(bytes.bytes.extracting(token.range))
        }
    }

    @inline(__always)
    init(_ bytes: RawSpan) {
        let count = bytes.byteCount
        guard count <= Self.bytesMax else { return }
        self.count = count
        if count >= 8 {
            head = bytes.unsafeLoadUnaligned(as: UInt64.self)
            tail = bytes.unsafeLoadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            if count > 16 {
                middle = bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
            }
        } else if count >= 4 {
            head = UInt64(bytes.unsafeLoadUnaligned(as: UInt32.self))
            tail = UInt64(bytes.unsafeLoadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
        } else if count > 0 {
            head = UInt64(bytes.unsafeLoadUnaligned(as: UInt8.self))
            middle = UInt64(bytes.unsafeLoadUnaligned(fromByteOffset: count / 2, as: UInt8.self))
            tail = UInt64(bytes.unsafeLoadUnaligned(fromByteOffset: count - 1, as: UInt8.self))
        }
    }
}
