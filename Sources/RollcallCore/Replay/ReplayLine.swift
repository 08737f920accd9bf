/// The envelope of a replay line. Source: design §9.
struct ReplayLine {
    var at: Timestamp?
    var kind = ""
    /// Who sent it; `default` without one (fine print F10).
    var source = Array("default".utf8)
    var allowsShrink = false
    /// Where the body stands in the line.
    var body: Range<Int>?

    init(_ bytes: Span<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 64)
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            let name = try cursor.key(bytes)
            if ItemScanner.isWord(name, bytes, "at") {
                at = try ItemScanner.time(&cursor, bytes)
            } else if ItemScanner.isWord(name, bytes, "kind") {
                kind = String(
                    decoding: JSONText.decoded(try cursor.string(bytes), bytes), as: UTF8.self)
            } else if ItemScanner.isWord(name, bytes, "source") {
                source = JSONText.decoded(try cursor.string(bytes), bytes)
            } else if ItemScanner.isWord(name, bytes, "shrink") {
                allowsShrink = ItemScanner.isWord(try cursor.string(bytes), bytes, "allow")
            } else if ItemScanner.isWord(name, bytes, "body") {
                _ = cursor.peek(bytes)
                let start = cursor.position
                try cursor.skipValue(bytes)
                body = start..<cursor.position
            } else {
                try cursor.skipValue(bytes)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
        try cursor.finish(bytes)
    }
}

/// The members of the small bodies. Source: fine print F5, design §2 B2.
package struct ReplayBody {
    package var source: [UInt8]?
    package var everySeconds: Double?
    package var responderID: [UInt8]?
    package var stepMilliseconds: Int64?
    package var lateMilliseconds: Int64?
    package var state: String?
    package var count: Int?

    /// Reads `bytes[range]`, an object; without a range there is nothing to read.
    package init(_ bytes: Span<UInt8>, _ range: Range<Int>?) throws(JSONError) {
        guard let range else { return }
        var cursor = JSONCursor(range: range, depthMax: 64)
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            let name = try cursor.key(bytes)
            try member(name, &cursor, bytes)
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
        try cursor.finish(bytes)
    }

    private mutating func member(
        _ name: JSONCursor.StringToken, _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) {
        switch cursor.peek(bytes) {
        case UInt8(ascii: "\""):
            let value = JSONText.decoded(try cursor.string(bytes), bytes)
            if ItemScanner.isWord(name, bytes, "source") { source = value }
            if ItemScanner.isWord(name, bytes, "responder_id") { responderID = value }
            if ItemScanner.isWord(name, bytes, "state") {
                state = String(decoding: value, as: UTF8.self)
            }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let value = JSONText.double(bytes, try cursor.number(bytes)) ?? .infinity
            if ItemScanner.isWord(name, bytes, "every_seconds") { everySeconds = value }
            if ItemScanner.isWord(name, bytes, "step_ms") {
                stepMilliseconds = Int64(exactly: value.rounded())
            }
            if ItemScanner.isWord(name, bytes, "late_ms") {
                lateMilliseconds = Int64(exactly: value.rounded())
            }
            if ItemScanner.isWord(name, bytes, "count") { count = Int(exactly: value.rounded()) }
        default: try cursor.skipValue(bytes)
        }
    }
}
