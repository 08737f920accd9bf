/// A JSON value as it is written.
indirect enum JSONText {
    case null
    case boolean(Bool)
    case number(Double)
    case text(String)
    case list([JSONText])
    case object([(String, JSONText)])

    /// The document, without line feeds.
    var text: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .number(let value): Self.number(value)
        case .text(let value): Self.quoted(value)
        case .list(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ":" + $1.text }.joined(separator: ",") + "}"
        }
    }

    /// At most three decimals, which is more than any figure here is good for.
    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return decimal(value, 3)
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

/// A number with so many decimals, rounded.
func decimal(_ value: Double, _ decimals: Int) -> String {
    var scale: Int64 = 1
    for _ in 0..<decimals { scale *= 10 }
    guard let scaled = Int64(exactly: (value * Double(scale)).rounded()) else { return "–" }
    let sign = scaled < 0 ? "-" : ""
    let whole = "\(scaled.magnitude / scale.magnitude)"
    guard decimals > 0 else { return sign + whole }
    let fraction = "\(scaled.magnitude % scale.magnitude)"
    return sign + whole + "." + String(repeating: "0", count: decimals - fraction.count) + fraction
}

/// A whole number, its thousands set apart: `123 456`.
func grouped(_ value: Double) -> String {
    let digits = decimal(value, 0)
    var result = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index) % 3 == 0 { result += " " }
        result.append(digit)
    }
    return result
}

/// A share as whole percent.
func percent(_ share: Double) -> String { "\(decimal(share * 100, 0)) %" }

/// A share as whole percent, or as a multiple if it is a large one.
func share(_ share: Double) -> String {
    share < 9.995 ? percent(share) : grouped(share) + " ×"
}

/// Bytes as millions of bytes.
func megabytes(_ bytes: Int) -> String { decimal(Double(bytes) / 1e6, 1) }

/// Columns beside each other: the first `leading` begin, the others end in line.
func aligned(_ rows: [[String]], leading: Int) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
        rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
        row.enumerated().map { column, cell in
            let padding = String(repeating: " ", count: widths[column] - cell.count)
            return column < leading ? cell + padding : padding + cell
        }.joined(separator: "  ")
    }
}

/// A promise (Q1, Q2, Q3, Q4, Q5, Q6) and what was found.
struct Promise {
    let text: String
    let found: String
    let isKept: Bool

    /// For people; not evaluated is a run that proves only that everything runs.
    func line(isEvaluated: Bool = true) -> String {
        "\(text): \(found)" + (isEvaluated ? isKept ? ": kept" : ": NOT kept" : "")
    }

    /// For machines.
    var json: JSONText {
        .object([("promise", .text(text)), ("found", .text(found)), ("kept", .boolean(isKept))])
    }
}
