/// A media type that a client names in `Accept`, and how much it wants it. Source: RFC 9110 §12.5.1.
package struct AcceptedType: Equatable, Sendable {
    /// The type as `text/plain`, in lower case.
    package private(set) var type = ""
    /// The parameters but for the weight, by their names in lower case.
    package private(set) var parameters: [String: String] = [:]
    /// The weight in thousandths; 0 for what the client does not want.
    package private(set) var weight = 1000

    /// Returns all that a field names, in their order; none if there was no field.
    package static func all(_ accept: String?) -> [AcceptedType] {
        (accept ?? "").utf8.split(separator: UInt8(ascii: ",")).map { AcceptedType($0) }
    }

    /// Returns true if a field names `type` and wants it. A wildcard names nothing.
    package static func names(_ type: String, in accept: String?) -> Bool {
        all(accept).contains { $0.type == type && $0.weight > 0 }
    }

    private init(_ clause: Substring.UTF8View) {
        for (index, part) in clause.split(separator: UInt8(ascii: ";")).enumerated() {
            guard index > 0 else {
                type = Self.trimmed(part).lowercased()
                continue
            }
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard halves.count == 2 else { continue }
            let value = Self.trimmed(halves[1])
            let name = Self.trimmed(halves[0]).lowercased()
            if name == "q" { weight = Self.weight(value) } else { parameters[name] = value }
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
