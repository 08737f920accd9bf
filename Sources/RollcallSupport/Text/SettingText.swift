import RollcallCore

/// Settings as text: how they are written in a file, and how they are told to people.
package enum SettingText {
    /// Units of durations as they are told, in milliseconds.
    private static let durationUnits: [(name: String, count: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    /// Units of sizes, in bytes.
    package static let sizeUnits: [(name: String, count: Int64)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]
    /// Minutes below this are told in seconds, as everybody does with thresholds: 90s, 180s.
    private static let secondsBelow: Int64 = 600_000

    /// A whole number with one of `units`; nil if it is none, or too great for anything.
    package static func quantity(_ text: String, _ units: [(name: String, count: Int64)]) -> Int64?
    {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits),
            let unit = units.first(where: { $0.name == text.dropFirst(digits.count) })
        else { return nil }
        let (product, isOverflow) = number.multipliedReportingOverflow(by: unit.count)
        return isOverflow ? nil : product
    }

    /// A span as people write it: `90s`, `2m30s`, `2w`. Each unit stands at most once, a greater one
    /// before a smaller; nil for anything else, or if it is too long for anything.
    package static func duration(_ text: String) -> Milliseconds? {
        let bytes = Array(text.utf8)
        return DurationText.span(bytes.span)
    }

    /// A duration as a setting: `180s`, `15m`, `30d`. `between` stands before the unit.
    package static func of(_ span: Milliseconds, between: String = "") -> String {
        let units = durationUnits.filter { unit in
            unit.name != "m" || abs(span.count) >= secondsBelow
        }
        return text(span.count, units, between)
    }

    /// A size as a setting: `8MiB`.
    package static func of(bytes: Int, between: String = "") -> String {
        text(Int64(bytes), sizeUnits, between)
    }

    /// In the greatest unit that leaves a whole number.
    private static func text(
        _ count: Int64, _ units: [(name: String, count: Int64)], _ between: String
    ) -> String {
        // Nothing is nothing in any unit; seconds are what people read.
        if count == 0 {
            return "0\(between)\(units.first { $0.name == "s" }?.name ?? units[0].name)"
        }
        let unit = units.last { count % $0.count == 0 } ?? units[0]
        return "\(count / unit.count)\(between)\(unit.name)"
    }
}
