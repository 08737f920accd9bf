import RollcallSupport

/// Texts as cells of a CSV file (RFC 4180) that a spreadsheet takes for texts.
enum CSVText {
    /// The end of a line.
    static let lineEnd = "\r\n"

    /// Returns a line of cells that are quoted already where they must be.
    static func line(_ cells: [String]) -> String { cells.joined(separator: ",") + lineEnd }

    /// Returns a text from outside as a cell. One that a spreadsheet could take for a formula, and
    /// one that begins with an apostrophe, has an apostrophe in front of it, so that whoever takes
    /// the first apostrophe away has the text again. Source: OWASP, "CSV Injection".
    static func cell(_ text: String) -> String {
        let first = text.unicodeScalars.first { $0 != " " }
        return quoted(first.map(isRisky) == true ? "'" + text : text)
    }

    /// Returns a cell as it is, in quotes if what it holds could end it. A semicolon and a tab
    /// are separators where a spreadsheet is set up so.
    static func quoted(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20 && scalar != "," && scalar != "\"" && scalar != ";"
        }
        if isPlain, !text.hasPrefix(" "), !text.hasSuffix(" ") { return text }
        var cell = "\""
        // By scalars: a quotation mark under an accent is one too.
        for scalar in text.unicodeScalars {
            if scalar == "\"" { cell += "\"" }
            cell.unicodeScalars.append(scalar)
        }
        return cell + "\""
    }

    /// True for what begins a formula, in full width too, and for the mark itself.
    private static func isRisky(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "=", "+", "-", "@", "\t", "\r", "\n", "'", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}",
            "\u{FF20}":
            true
        default: false
        }
    }
}
