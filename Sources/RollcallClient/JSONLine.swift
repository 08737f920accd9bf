import Foundation

/// An item as one line of NDJSON, stamped.
struct JSONLine: Sendable {
    let bytes: Data
    /// The id of the one whom it is about; 41 is the same as "41".
    let person: String

    /// Encodes `item`, and stamps it with what it does not say itself.
    static func of(_ item: some Encodable, _ route: Route) throws -> JSONLine {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(milliseconds(date))
        }
        return try stamped(try encoder.encode(item), route)
    }

    /// Checks JSON from outside, and stamps it with what it does not say itself.
    static func stamped(_ json: Data, _ route: Route) throws -> JSONLine {
        var bytes = [UInt8](json)
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        let start = bytes.firstIndex { !isSpace($0) } ?? bytes.endIndex
        // JSONSerialization would read UTF-16 too, every other byte of which is 0.
        guard start < bytes.endIndex, bytes[start] == UInt8(ascii: "{"),
            bytes.allSatisfy({ $0 >= 0x20 || isSpace($0) }),
            String(validating: bytes, as: UTF8.self) != nil,
            let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        else { throw RollcallClient.Invalid.notAnObject }
        // Between tokens a line break is a space; inside of a text there is none.
        for place in bytes.indices where bytes[place] == 0x0A || bytes[place] == 0x0D {
            bytes[place] = 0x20
        }
        var stamps = ""
        for (name, value) in route.stamps() where object[name] == nil {
            stamps += "\"\(name)\":\(value),"
        }
        if object.isEmpty, !stamps.isEmpty { stamps.removeLast() }
        let id = object["responder_id"]
        return JSONLine(
            bytes: Data([UInt8(ascii: "{")] + stamps.utf8 + bytes[(start + 1)...]),
            person: id as? String ?? (id as? NSNumber)?.stringValue ?? "")
    }

    static func milliseconds(_ date: Date) -> Int64 {
        Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) ?? 0
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

/// A `Route` says where items go.
enum Route: String, Sendable {
    case batches = "/v1/batches"
    case transitions = "/v1/transitions"
    case facts = "/v1/responders"

    /// Returns what an item is stamped with, as JSON, if its sender does not say it.
    func stamps() -> [(name: String, value: String)] {
        let now = "\(JSONLine.milliseconds(Date()))"
        return switch self {
        case .batches: [("received_at", now)]
        case .transitions: [("at", now), ("id", "\"\(UUID().uuidString.lowercased())\"")]
        case .facts: [("at", now)]
        }
    }
}
