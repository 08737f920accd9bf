/// The envelope of a replay line. Source: design §9.
struct ReplayLine {
    var at: Timestamp?
    var kind = ""
    /// Who sent it; `default` without one (fine print F10).
    var source = Array("default".utf8)
    var terms = RosterTerms()
    /// Where the body stands in the line.
    var body: Range<Int>?

    init(_ bytes: Span<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 64)
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            let name = ShortWord(try cursor.key(bytes), bytes)
            if name == "at" {
                at = try ItemScanner.time(&cursor, bytes)
            } else if name == "kind" {
                kind = String(
                    decoding: JSONText.decoded(try cursor.string(bytes), bytes), as: UTF8.self)
            } else if name == "source" {
                source = JSONText.decoded(try cursor.string(bytes), bytes)
            } else if name == "shrink" {
                terms.allowsShrink = ShortWord(try cursor.string(bytes), bytes) == "allow"
            } else if name == "roster" {
                terms.id = JSONText.decoded(try cursor.string(bytes), bytes)
            } else if name == "more" {
                terms.hasMore = cursor.peek(bytes) == UInt8(ascii: "t")
                try cursor.skipValue(bytes)
            } else if name == "body" {
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
    package var isRestored = false

    /// Reads `bytes[range]`, an object; without a range there is nothing to read.
    package init(_ bytes: Span<UInt8>, _ range: Range<Int>?) throws(JSONError) {
        guard let range else { return }
        var cursor = JSONCursor(range: range, depthMax: 64)
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            let name = ShortWord(try cursor.key(bytes), bytes)
            try member(name, &cursor, bytes)
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
        try cursor.finish(bytes)
    }

    private mutating func member(
        _ name: ShortWord, _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) {
        switch cursor.peek(bytes) {
        case UInt8(ascii: "\""):
            let value = JSONText.decoded(try cursor.string(bytes), bytes)
            if name == "source" { source = value }
            if name == "responder_id" { responderID = value }
            if name == "state" {
                state = String(decoding: value, as: UTF8.self)
            }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let value = JSONText.double(bytes, try cursor.number(bytes)) ?? .infinity
            if name == "every_seconds" { everySeconds = value }
            if name == "step_ms" {
                stepMilliseconds = Int64(exactly: value.rounded())
            }
            if name == "late_ms" {
                lateMilliseconds = Int64(exactly: value.rounded())
            }
            if name == "count" { count = Int(exactly: value.rounded()) }
        case UInt8(ascii: "t"):
            try cursor.skipValue(bytes)
            if name == "restored" { isRestored = true }
        default: try cursor.skipValue(bytes)
        }
    }
}
