import RollcallCore

/// The value of a setting as it is written: in a file, which is YAML, and in a `policy` line, which
/// is JSON.
package enum SettingValue: Sendable {
    /// A number or true or false; in a file also what stands there as it is.
    case plain(String)
    /// A text, in a file in quotes only where YAML would take it for something else.
    case word(String)
    /// A text of somebody's own, always in quotes.
    case text([UInt8])
    case list([SettingValue])
    case mapping([(key: String, value: SettingValue)])

    /// The value as a file has it.
    var yaml: String {
        switch self {
        case .plain(let text): text
        case .word(let text): Self.isPlain(text) ? text : Self.quoted(Array(text.utf8))
        case .text(let text): Self.quoted(text)
        case .list(let values): "[\(values.map(\.yaml).joined(separator: ", "))]"
        case .mapping(let members): "{\(Self.members(members))}"
        }
    }

    /// The value as a `policy` line has it.
    package var json: String {
        switch self {
        case .plain(let text): text
        case .word(let text): Self.escaped(text)
        case .text(let text): Self.escaped(String(decoding: text, as: UTF8.self))
        case .list(let values): "[\(values.map(\.json).joined(separator: ","))]"
        case .mapping(let members):
            "{\(members.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ","))}"
        }
    }

    /// Returns what stands in a file between the braces of a mapping.
    static func members(_ members: [(key: String, value: SettingValue)]) -> String {
        members.map { "\($0.key): \($0.value.yaml)" }.joined(separator: ", ")
    }

    /// JSON's strings are YAML's as well.
    package static func quoted(_ text: [UInt8]) -> String {
        var bytes: [UInt8] = []
        JSONWriter.string(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ text: String) -> Bool {
        text.first.map { $0.isLetter || $0.isNumber || $0 == "." || $0 == "/" } ?? false
            && text.utf8.allSatisfy { byte in
                (0x30...0x3A).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || "-._/".utf8.contains(byte)
            } && text.last != ":"
    }

    /// A JSON string whose characters YAML lets pass as well: it wants escapes for more of them.
    private static func escaped(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C:
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD,
                0x10000...0x10FFFF:
                quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}
