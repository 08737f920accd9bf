/// The envelope of a replay line. Source: V7.
struct ReplayLine {
    var at: Timestamp?
    var kind = ""
    /// The source that sent it; `default` without one (F10).
    var source = EventSource.standard
    var terms = RosterTerms()
    /// The rest of items about people who were erased, and where each stands among the others.
    var erased: [(index: Int, enrols: Bool)] = []
    /// The range of the body in the line.
    var body: Range<Int>?
    /// The items of the body, if the kind that stands before it says that it is items.
    var items: ItemList?

    init(_ bytes: Span<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 64)
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            let name = ShortWord(try cursor.key(bytes), bytes)
            if name == "at" {
                at = try TimeForm.lineTime(&cursor, bytes)
            } else if name == "kind" {
                kind = Self.word(try cursor.string(bytes), bytes)
            } else if name == "source" {
                source = JSONText.decoded(try cursor.string(bytes), bytes)
            } else if name == "shrink" {
                terms.allowsShrink = ShortWord(try cursor.string(bytes), bytes) == "allow"
            } else if name == "roster" {
                terms.id = JSONText.decoded(try cursor.string(bytes), bytes)
            } else if name == "more" {
                terms.hasMore = cursor.peek(bytes) == UInt8(ascii: "t")
                try cursor.skipValue(bytes)
            } else if name == "erased" {
                erased = try Self.erased(&cursor, bytes)
            } else if name == "body" {
                _ = cursor.peek(bytes)
                let start = cursor.position
                if let kind = itemKind {
                    items = try ItemScanner.scan(next: &cursor, bytes, kind: kind).items
                } else {
                    try cursor.skipValue(bytes)
                }
                body = start..<cursor.position
            } else {
                try cursor.skipValue(bytes)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
        try cursor.finish(bytes)
    }

    /// The kind of the items, if the line is nothing but items; each is told alone, as a rule.
    var itemKind: ItemKind? {
        switch kind {
        case "batch": .batch
        case "transition": .transition
        case "responder": .responder
        default: nil
        }
    }

    private static func erased(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> [(index: Int, enrols: Bool)] {
        var erased: [(index: Int, enrols: Bool)] = []
        try cursor.open(UInt8(ascii: "["), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), bytes)
        while more {
            erased.append((-1, false))
            try cursor.open(UInt8(ascii: "{"), bytes)
            var hasMember = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
            while hasMember {
                let name = ShortWord(try cursor.key(bytes), bytes)
                let next = cursor.peek(bytes)
                if name == "index", next != UInt8(ascii: "\"") {
                    let index = JSONText.natural(bytes, try cursor.number(bytes)) ?? -1
                    erased[erased.count - 1].index = Int(index)
                } else {
                    if name == "enrols", next == UInt8(ascii: "t") {
                        erased[erased.count - 1].enrols = true
                    }
                    try cursor.skipValue(bytes)
                }
                hasMember = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), bytes)
        }
        return erased
    }

    /// The text of a token, without a copy of its bytes if it is written as it is meant.
    private static func word(_ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) -> String {
        if token.isEscaped {
            return String(decoding: JSONText.decoded(token, bytes), as: UTF8.self)
        }
        return bytes.extracting(token.range).withUnsafeBufferPointer {
            String(decoding: $0, as: UTF8.self)
        }
    }
}

/// The members of the small bodies. Source: F5, B2.
package struct ReplayBody {
    package var source: [UInt8]?
    package var everySeconds: Double?
    package var responderID: [UInt8]?
    package var stepMilliseconds: Int64?
    var skewMilliseconds: Int64?
    package var lateMilliseconds: Int64?
    package var state: String?
    package var count: Int?
    package var isRestored = false
    /// Of a reign.
    var number: Int64?
    var member: [UInt8]?
    var unobservedMilliseconds: Int64?
    /// Of a change of members, which has a reign's number or member, too.
    var change: String?
    /// The instant at which the request was sent (D10).
    package var sentAt = SentAt.untold
    /// Of a push that came to its end (`outcome`).
    var push: Int64?
    var kind: String?
    var outcome: String?
    /// Hashes, of a token and of an erased id.
    var token: [UInt8]?
    var hash: [UInt8]?
    /// Somebody's number.
    var person: Int?
    /// People's numbers.
    var people: [Int]?
    /// Of people's company in other cells, those who have none.
    var alone: [Int]?
    /// The member of a circle who asks for somebody.
    var asker: [UInt8]?
    /// The bytes that stand in the journal in a form of their own; nil without them, or if they are no Base64.
    var journalBytes: [UInt8]?

    /// Reads `bytes[range]`, an object; without a range there is nothing to read.
    /// - Throws: `JSONError` if it is no JSON object.
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
            if name == "sent_at" { sentAt = SentAt(text: value) }
            if name == "responder_id" { responderID = value }
            if name == "by" { asker = value }
            if name == "state" { state = String(decoding: value, as: UTF8.self) }
            if name == "kind" { kind = String(decoding: value, as: UTF8.self) }
            if name == "outcome" { outcome = String(decoding: value, as: UTF8.self) }
            if name == "token" { token = value }
            if name == "hash" { hash = value }
            if name == "member" { member = value }
            if name == "bytes" { journalBytes = Base64.decoded(value.span, 0..<value.count) }
            if name == "change" { change = String(decoding: value, as: UTF8.self) }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let number = try cursor.number(bytes)
            if name == "sent_at" { sentAt = SentAt(number: bytes, number) }
            if name == "responder_id" { responderID = ItemScanner.numberedID(bytes, number) }
            if name == "push" { push = JSONText.natural(bytes, number) }
            if name == "person" { person = JSONText.natural(bytes, number).map { Int($0) } }
            if name == "number" { self.number = JSONText.natural(bytes, number) }
            if name == "unobserved_ms" {
                unobservedMilliseconds = JSONText.natural(bytes, number)
            }
            let value = JSONText.double(bytes, number) ?? .infinity
            if name == "every_seconds" { everySeconds = value }
            if name == "step_ms" {
                stepMilliseconds = Int64(exactly: value.rounded())
            }
            if name == "skew_ms" {
                skewMilliseconds = Int64(exactly: value.rounded())
            }
            if name == "late_ms" {
                lateMilliseconds = Int64(exactly: value.rounded())
            }
            if name == "count" { count = Int(exactly: value.rounded()) }
        case UInt8(ascii: "t"):
            try cursor.skipValue(bytes)
            if name == "restored" { isRestored = true }
            if name == "sent_at" { sentAt = .unreadable }
        case UInt8(ascii: "[") where name == "people": people = try Self.numbers(&cursor, bytes)
        case UInt8(ascii: "[") where name == "alone": alone = try Self.numbers(&cursor, bytes)
        case let first:
            if name == "sent_at", first != UInt8(ascii: "n") { sentAt = .unreadable }
            try cursor.skipValue(bytes)
        }
    }

    private static func numbers(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> [Int] {
        var numbers: [Int] = []
        try cursor.open(UInt8(ascii: "["), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), bytes)
        while more {
            _ = cursor.peek(bytes)
            numbers.append(Int(JSONText.natural(bytes, try cursor.number(bytes)) ?? -1))
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), bytes)
        }
        return numbers
    }
}
