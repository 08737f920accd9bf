import RollcallCore
import RollcallSupport

/// Texts of somebody's own in a file that three languages read: YAML, in it PromQL and Go's templates.
enum RuleText {
    /// Columns of a line at most, where a text can be broken.
    static let columns = 100
    /// Words that YAML takes for something else than a text.
    private static let taken: Set<String> = [
        "true", "false", "yes", "no", "on", "off", "null", "y", "n",
    ]

    /// `text` for YAML: as it is where nobody can take it for anything else, else in quotes.
    static func yaml(_ text: String) -> String { isPlain(text) ? text : "\"\(escaped(text))\"" }

    /// A text for YAML in quotes, over several lines if it is long; each begins at `indent`.
    static func yaml(_ text: String, after key: String, indent: Int) -> String {
        let spaces = String(repeating: " ", count: indent)
        let line = "\(spaces)\(key): \(yaml(text))"
        guard line.count > columns else { return line + "\n" }
        var lines = ["\(spaces)\(key): \""]
        var isFirst = true
        for word in escaped(text).split(separator: " ", omittingEmptySubsequences: false) {
            let last = lines[lines.count - 1]
            // A line may end between two words only: YAML reads its end as one blank.
            let mayBreak =
                !isFirst && !word.isEmpty && !last.hasSuffix(" ") && !last.hasSuffix("\"")
            if mayBreak, last.count + word.count + 1 > columns {
                lines.append("\(spaces)  \(word)")
            } else {
                lines[lines.count - 1] += isFirst ? "\(word)" : " \(word)"
            }
            isFirst = false
        }
        return lines.joined(separator: "\n") + "\"\n"
    }

    /// `text` as PromQL quotes it. It holds nothing that ends a line of YAML.
    static func promQL(_ text: String) -> String { "\"\(escaped(text))\"" }

    /// `text` as a template of Go's leaves it alone.
    static func template(_ text: String) -> String { text.replacing("{", with: "{{\"{\"}}") }

    /// `text` for a comment: without anything that ends a line.
    static func comment(_ text: String) -> String { ConsoleText.safe(text) }

    /// Comments of `text`, broken into lines.
    static func comment(_ text: String, indent: Int) -> String {
        let start = String(repeating: " ", count: indent) + "#"
        var lines = [start]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count + 1 > columns, lines.last != start {
                lines.append(start)
            }
            lines[lines.count - 1] += " \(word)"
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Lines of a text that YAML folds into one.
    static func folded(_ text: String, indent: Int) -> String {
        let start = String(repeating: " ", count: indent)
        var lines = [start]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.count + word.count + 1 > columns, last != start { lines.append(start) }
            lines[lines.count - 1] += (lines.last == start ? "" : " ") + word
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Several comments, a paragraph each.
    static func comments(_ texts: [String], indent: Int) -> String {
        texts.map { comment($0, indent: indent) }.joined()
    }

    /// A text in a question of a URL, as Go's `urlquery` writes it.
    static func query(_ text: String) -> String {
        var quoted = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: "~"):
                quoted.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " "): quoted += "+"
            default: quoted += "%" + hex(UInt32(byte), digits: 2).uppercased()
            }
        }
        return quoted
    }

    // MARK: - Numbers

    /// A duration for Prometheus: `90s`, `2m`, `15m`.
    static func duration(_ span: Milliseconds) -> String {
        minutes(span, "m") ?? SettingText.of(span)
    }

    /// A duration for people: `90 s`, `2 min`.
    static func words(_ span: Milliseconds) -> String {
        minutes(span, " min") ?? SettingText.of(span, between: " ")
    }

    /// Whole minutes, two at least, that are no hours.
    private static func minutes(_ span: Milliseconds, _ unit: String) -> String? {
        let (count, rest) = span.count.quotientAndRemainder(dividingBy: 60_000)
        return rest == 0 && count > 1 && count % 60 != 0 ? "\(count)\(unit)" : nil
    }

    /// A duration as a number of seconds.
    static func seconds(_ span: Milliseconds) -> String {
        fraction(span.count, of: 1000, digits: 3)
    }

    /// A share of ten-thousandths as a number.
    static func share(_ share: Int64) -> String { fraction(share, of: 10_000, digits: 4) }

    /// A share of ten-thousandths as a percentage without its sign.
    static func percent(_ share: Int64) -> String { fraction(share, of: 100, digits: 2) }

    private static func fraction(_ count: Int64, of whole: Int64, digits: Int) -> String {
        var rest = "\(whole + count % whole)".dropFirst()
        while rest.last == "0" { rest.removeLast() }
        return rest.isEmpty ? "\(count / whole)" : "\(count / whole).\(rest)"
    }

    // MARK: - Escapes

    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, Unicode.Scalar(first).properties.isAlphabetic,
            text.utf8.allSatisfy({ (0x20...0x7E) ~= $0 }), !taken.contains(text.lowercased())
        else { return false }
        // In a mapping in braces these mean something too.
        let marks = "#:{}[],&*?|<>=!%@`\"'\\"
        return !text.contains { marks.contains($0) } && text.last != " "
    }

    /// Backslashes that Go's strings, YAML's and PromQL's have in common.
    private static func escaped(_ text: String) -> String {
        var quoted = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where isShown(scalar): quoted.unicodeScalars.append(scalar)
            default:
                quoted +=
                    scalar.value > 0xFFFF
                    ? "\\U\(hex(scalar.value, digits: 8))" : "\\u\(hex(scalar.value, digits: 4))"
            }
        }
        return quoted
    }

    /// True of what stands for itself on a line, in any of the languages.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            false
        case .spaceSeparator: scalar == " "
        default: true
        }
    }

    private static func hex(_ value: UInt32, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
