/// Names of people, regions and cells as text that does no harm. Source: A5.
extension AlertText {
    /// A name as text that can neither fill the line nor turn it round: cut, without control characters
    /// and marks of direction.
    package static func short(_ name: [UInt8]) -> String {
        let text = String(decoding: name, as: UTF8.self)
        let plain = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { isUnseen($0.value) ? "\u{FFFD}" : $0 }))
        return plain.count <= nameMax ? plain : plain.prefix(nameMax - 1) + "…"
    }

    /// True for a control character, and for a mark that gives the text behind it another direction.
    /// Source: UAX #9, table 4.
    private static func isUnseen(_ scalar: UInt32) -> Bool {
        switch scalar {
        case ..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// A name between U+2068 and U+2069, whose letters order nothing around it.
    package static func isolated(_ name: [UInt8]) -> String { "\u{2068}\(short(name))\u{2069}" }
}
