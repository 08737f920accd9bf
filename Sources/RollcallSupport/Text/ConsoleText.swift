/// Text that a terminal shows as it is meant.
package enum ConsoleText {
    /// `text` without anything that a terminal could obey, or that hides what is written: control
    /// and format characters (which turn the direction of text, too), separators of lines, what is
    /// private or unassigned. They are shown by their number: `\u{1B}`.
    package static func safe(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ (0x20...0x7E) ~= $0 }) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isPlain(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return shown
    }

    /// Returns several lines so that a terminal can show them: their ends stay.
    package static func safeLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { safe(String($0)) }
            .joined(separator: "\n")
    }

    /// True for what stands for itself and nothing else.
    static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }

    /// Columns that `text` takes on a terminal: wide characters take two.
    package static func columns(_ text: String) -> Int { text.reduce(0) { $0 + columns($1) } }

    private static func columns(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        // U+FE0F asks for the picture of what may be a text, as of a heart: two columns.
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        if first.value < 0x300 { return 1 }
        if first.properties.isEmojiPresentation { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        // The blocks that Unicode's East Asian Width calls wide or full width (UAX #11).
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
            0x1B000...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// `text` with blanks up to so many columns; cut, with an ellipsis, if it takes more.
    package static func fitted(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let count = columns(text)
        if count <= width {
            let blanks = String(repeating: " ", count: width - count)
            return isRight ? blanks + text : text + blanks
        }
        var cut = ""
        var room = width - 1
        for character in text {
            room -= columns(character)
            if room < 0 { break }
            cut.append(character)
        }
        return fitted(cut + "…", width)
    }

    /// `text` as it is, or cut with an ellipsis if it takes more than so many columns.
    package static func cut(_ text: String, _ width: Int) -> String {
        guard columns(text) > width else { return text }
        guard width > 1 else { return width == 1 ? "…" : "" }
        var cut = fitted(text, width)
        while cut.last == " " { cut.removeLast() }
        return cut
    }

    /// `text` in lines of so many columns at most, broken at blanks. A word that is longer than a
    /// line stands on one of its own.
    package static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var count = 0
        for word in text.split(separator: " ") {
            let more = columns(String(word))
            if count > 0, count + 1 + more > width {
                lines.append(line)
                (line, count) = ("", 0)
            }
            line += count > 0 ? " \(word)" : "\(word)"
            count += more + (count > 0 ? 1 : 0)
        }
        return lines + [line]
    }
}
