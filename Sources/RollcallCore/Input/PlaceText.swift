/// Texts that look like a place on earth, where a name is asked for: "52.5200, 13.4050",
/// "52.52;13.40", "geo:52.5,13.4", "52°31′N 13°24′E". Source: I7 (no coordinates, nowhere).
///
/// Shifts ("12.30-14.30"), versions ("1.20 2.30"), dates and addresses of machines are none: it takes
/// two decimal numbers, each within the earth's degrees, and between them nothing but what parts two
/// numbers. A comma or a semicolon says that with two decimals each, anything else with three; with
/// four each it is one whatever stands between them. One decimal is enough where it can hardly be
/// anything else: "52.5,13.4", or where both are called so: "lat52.5lon13.4".
package enum PlaceText {
    /// True if `bytes[range]` hold what looks like one, also in other letters: "５２.５２%2C１３.４０".
    package static func isIn(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        if isPlainlyIn(bytes, range) { return true }
        guard PlaceSpelling.isForeign(bytes, range) else { return false }
        let plain = PlaceSpelling.plain(bytes, range)
        return isPlainlyIn(plain.span, 0..<plain.count)
    }

    private static func isPlainlyIn(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        // Most names have nothing of it.
        var marks = 0
        for index in range where isMark(bytes[index]) { marks += 1 }
        guard marks > 0 else { return false }
        if isURI(bytes, range) || hasDegrees(bytes, range) { return true }
        guard marks > 1 else { return false }
        var previous: Number?
        var at = range.lowerBound
        while at < range.upperBound {
            guard let number = Number(bytes, at, range) else {
                at += 1
                continue
            }
            if let previous, isPair(previous, number, bytes, range) { return true }
            previous = number
            at = number.range.upperBound
        }
        return false
    }

    /// True if the text is one.
    package static func isIn(_ text: [UInt8]) -> Bool { isIn(text.span, 0..<text.count) }

    /// Returns true for the bytes without which there is no decimal number, `geo:` or degree sign.
    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":")
            || byte == 0xB0
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    /// True of N, S, E and W, which may stand at either end of a number.
    private static func isQuarter(_ byte: UInt8) -> Bool {
        switch byte | 0x20 {
        case UInt8(ascii: "n"), UInt8(ascii: "s"), UInt8(ascii: "e"), UInt8(ascii: "w"): true
        default: false
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte >= 0x80 && byte != 0xC2
    }

    // MARK: - Other spellings

    /// RFC 5870: `geo:` and a number.
    private static func isURI(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let word: StaticString = "geo:"
        var at = range.lowerBound
        while at + 4 < range.upperBound {
            let isWord = (0..<4).allSatisfy { bytes[at + $0] | 0x20 == word.utf8Start[$0] | 0x20 }
            let next = bytes[at + 4]
            if isWord, isDigit(next) || next == UInt8(ascii: "-") { return true }
            at += 1
        }
        return false
    }

    /// Two numbers of degrees: the sign U+00B0, in UTF-8 the bytes 0xC2 and 0xB0, behind a digit.
    private static func hasDegrees(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var signs = 0
        for index in range.dropFirst(2) where bytes[index] == 0xB0 && bytes[index - 1] == 0xC2 {
            if isDigit(bytes[index - 2]) { signs += 1 }
        }
        return signs > 1
    }

    // MARK: - Names of axes

    private static let axes: [StaticString] = [
        "lat", "lon", "lng", "long", "latitude", "longitude",
    ]

    /// True if letters, in any case, are the name of an axis.
    private static func isAxis(_ word: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
        axes.contains { axis in
            axis.utf8CodeUnitCount == word.count
                && (0..<word.count).allSatisfy {
                    bytes[word.lowerBound + $0] | 0x20 == axis.utf8Start[$0]
                }
        }
    }

    private static func wordAfter(
        _ start: Int, _ bytes: Span<UInt8>, _ all: Range<Int>
    ) -> Range<Int> {
        var end = start
        while end < all.upperBound, isLetter(bytes[end]) { end += 1 }
        return start..<end
    }

    /// True if the name of an axis stands before a number, with what may lie between the two.
    private static func isNamed(_ number: Int, _ bytes: Span<UInt8>, _ all: Range<Int>) -> Bool {
        var end = number
        while end > all.lowerBound, isBetween(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > all.lowerBound, isLetter(bytes[start - 1]) { start -= 1 }
        return isAxis(start..<end, bytes)
    }

    private static func isBetween(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "\""):
            true
        default: false
        }
    }

    // MARK: - Decimal numbers

    /// Up to three digits, a point or a comma, and decimals.
    private struct Number {
        /// The range of its digits, without a sign.
        var range: Range<Int>
        var whole = 0
        var decimals = 0

        /// The number that begins at `start`; nil if none does.
        init?(_ bytes: Span<UInt8>, _ start: Int, _ all: Range<Int>) {
            guard isDigit(bytes[start]) else { return nil }
            if start > all.lowerBound {
                let before = bytes[start - 1]
                // "v52.52", "10.52.52" and the rest of a longer number are none.
                if isDigit(before) || before == UInt8(ascii: ".") { return nil }
                if isLetter(before), !isQuarter(before), !isNamed(start, bytes, all) { return nil }
            }
            var at = start
            while at < all.upperBound, isDigit(bytes[at]), at - start < 4 {
                whole = whole * 10 + Int(bytes[at] - UInt8(ascii: "0"))
                at += 1
            }
            guard at - start <= 3, at + 1 < all.upperBound, isDigit(bytes[at + 1]) else {
                return nil
            }
            let mark = bytes[at]
            guard mark == UInt8(ascii: ".") || mark == UInt8(ascii: ",") else { return nil }
            at += 1
            let first = at
            while at < all.upperBound, isDigit(bytes[at]) { at += 1 }
            decimals = at - first
            range = start..<at
            // "100,200" is more likely a hundred thousand than a hundred and a fifth.
            if mark == UInt8(ascii: ","), decimals < 4 { return nil }
            guard at < all.upperBound else { return }
            let after = bytes[at]
            let isLonger = after == UInt8(ascii: ".") && at + 1 < all.upperBound
            if isLonger, isDigit(bytes[at + 1]) { return nil }
            if isLetter(after), !isQuarter(after), !isAxis(wordAfter(at, bytes, all), bytes) {
                return nil
            }
        }
    }

    /// True if two numbers that follow each other are a latitude and a longitude, in either order.
    private static func isPair(
        _ a: Number, _ b: Number, _ bytes: Span<UInt8>, _ all: Range<Int>
    ) -> Bool {
        guard min(a.whole, b.whole) <= 90, max(a.whole, b.whole) <= 180 else { return false }
        let gap = a.range.upperBound..<b.range.lowerBound
        let decimals = min(a.decimals, b.decimals)
        if decimals >= 4 { return true }
        if isNamed(a.range.lowerBound, bytes, all), isNamed(b.range.lowerBound, bytes, all) {
            return true
        }
        if decimals == 1 { return isCoarsePair(a, b, bytes, all) }
        var isParted = false
        for index in gap {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: ";"): isParted = true
            case UInt8(ascii: " "), UInt8(ascii: "/"), UInt8(ascii: "|"), UInt8(ascii: ":"),
                UInt8(ascii: "_"), UInt8(ascii: "+"), 0xC2, 0xB0:
                break
            // A sign stands before its number.
            case UInt8(ascii: "-") where index == gap.upperBound - 1: break
            case _ where isQuarter(byte): isParted = true
            default: return false
            }
        }
        // From one number to another, or a sign: nobody knows.
        if gap.count == 1, bytes[gap.lowerBound] == UInt8(ascii: "-") { return false }
        return decimals >= (isParted ? 2 : 3)
    }

    /// True if two numbers of which one has one decimal are a place within some kilometres: a comma or a
    /// semicolon parts them, without a space unless they are all there is. "1.5,2.5" is none: one of them
    /// has two digits before the point, or a minus.
    private static func isCoarsePair(
        _ a: Number, _ b: Number, _ bytes: Span<UInt8>, _ all: Range<Int>
    ) -> Bool {
        let isSigned = isSigned(a, bytes, all) || bytes[b.range.lowerBound - 1] == UInt8(ascii: "-")
        guard a.whole >= 10 || b.whole >= 10 || isSigned else { return false }
        let gap = a.range.upperBound..<b.range.lowerBound
        var parts = 0
        var spaces = 0
        for index in gap {
            switch bytes[index] {
            case UInt8(ascii: ","), UInt8(ascii: ";"): parts += 1
            case UInt8(ascii: " "): spaces += 1
            case UInt8(ascii: "-"), UInt8(ascii: "+"):
                guard index == gap.upperBound - 1 else { return false }
            default: return false
            }
        }
        let isAll =
            isEmpty(bytes, all.lowerBound..<a.range.lowerBound)
            && isEmpty(bytes, b.range.upperBound..<all.upperBound)
        return parts == 1 && (spaces == 0 || isAll)
    }

    /// True if a minus stands before a number, and before that nothing or what parts words.
    private static func isSigned(
        _ number: Number, _ bytes: Span<UInt8>, _ all: Range<Int>
    ) -> Bool {
        let sign = number.range.lowerBound - 1
        guard sign >= all.lowerBound, bytes[sign] == UInt8(ascii: "-") else { return false }
        return sign == all.lowerBound || isEmpty(bytes, sign - 1..<sign)
    }

    /// True if there is nothing but spaces, brackets and signs.
    private static func isEmpty(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        range.allSatisfy { index in
            switch bytes[index] {
            case UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["),
                UInt8(ascii: "]"), UInt8(ascii: "-"), UInt8(ascii: "+"):
                true
            default: false
            }
        }
    }
}
