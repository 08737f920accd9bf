import RollcallCore

/// The choice of the text format that a scraper wants.
///
/// OpenMetrics goes to those who ask for it by name; text 0.0.4 to everybody else: browsers, curl,
/// `*/*`, no header, and headers that make no sense. Never 406: a scrape in the wrong language says
/// more than none. Source: Prometheus' and OpenMetrics' own pages on
/// content negotiation.
package enum MetricsNegotiation {
    /// The fields that the answer depends on, for its field `Vary`.
    package static let vary = "Accept, Accept-Encoding"

    /// The format for a field `Accept`; nil if there was none.
    ///
    /// The clause with the highest weight that names one of our formats wins, the first of equals.
    /// Wildcards name none. `charset` and `escaping` change nothing: our names and pages are the
    /// same under all of them.
    package static func format(accept: String?) -> Exposition.Format {
        var best: (format: Exposition.Format, weight: Int)?
        for clause in (accept ?? "").utf8.split(separator: UInt8(ascii: ",")) {
            let clause = Clause(clause)
            guard clause.weight > 0, let format = clause.format else { continue }
            if clause.weight > best?.weight ?? 0 { best = (format, clause.weight) }
        }
        return best?.format ?? .text
    }

    /// One media type with its parameters.
    private struct Clause {
        /// In thousandths.
        var weight = 1000
        var format: Exposition.Format? {
            switch (type, version) {
            case ("text/plain", nil), ("text/plain", "0.0.4"): .text
            // "If no version is requested, the server MUST default to the oldest", which is 1.0.0;
            // the drafts before it (0.0.1) are not spoken.
            case ("application/openmetrics-text", nil), ("application/openmetrics-text", "1.0.0"):
                .openMetrics
            default: nil
            }
        }
        private var type = ""
        private var version: String?

        init(_ bytes: Substring.UTF8View) {
            for (index, part) in bytes.split(separator: UInt8(ascii: ";")).enumerated() {
                guard index > 0 else {
                    type = Self.trimmed(part).lowercased()
                    continue
                }
                let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1)
                guard halves.count == 2 else { continue }
                let value = Self.trimmed(halves[1])
                switch Self.trimmed(halves[0]).lowercased() {
                case "q": weight = Self.weight(value)
                case "version": version = value
                default: break
                }
            }
        }

        /// Without blanks and quotes around it.
        private static func trimmed(_ part: Substring.UTF8View) -> String {
            let isPadding = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x22 }
            guard let first = part.firstIndex(where: { !isPadding($0) }),
                let last = part.lastIndex(where: { !isPadding($0) })
            else { return "" }
            return String(part[first...last]) ?? ""
        }

        /// Thousandths of a weight, "0" to "1" with up to three decimals; 1000 for what is none.
        private static func weight(_ text: String) -> Int {
            guard let value = Double(text), value >= 0, value < 1 else { return 1000 }
            return Int(exactly: (value * 1000).rounded()) ?? 1000
        }
    }
}
