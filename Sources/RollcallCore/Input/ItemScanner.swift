/// How a body holds its items.
package enum BodyFormat: Sendable {
    /// One object or an array of objects.
    case json
    /// One object a line.
    case lines
}

/// The limits of a body's content. Source: design §11 `limits`.
package struct ScanLimits: Equatable, Sendable {
    /// Items a body; the next one ends the reading with `ScanError.tooManyItems`.
    package var itemsMax: Int
    /// Nested containers, at most 64.
    package var depthMax: Int

    /// Limits as given; the depth is held between 3 and 64.
    package init(itemsMax: Int = 10_000, depthMax: Int = 16) {
        self.itemsMax = itemsMax
        self.depthMax = min(max(depthMax, 3), 64)
    }
}

/// Why a whole body is refused.
package enum ScanError: Error, Equatable, Sendable {
    /// It is not JSON, or nested too deep.
    case notJSON(JSONError)
    /// It holds more items than allowed.
    case tooManyItems(limit: Int)
}

/// Why an item or a part of it was not taken: the label `reason` of two metrics.
package enum ItemFault: UInt8, CaseIterable, Sendable {
    case malformed = 0
    case missing = 1
    case outOfRange = 2
    case duplicateKey = 3
    case unknownValue = 4
    /// The engine holds no more responders.
    case responderLimit = 5
    /// The person was erased and has not been named again (fine print F17).
    case erased = 6

    /// The label's value.
    package var word: StaticString {
        switch self {
        case .malformed: "malformed"
        case .missing: "missing"
        case .outOfRange: "out_of_range"
        case .duplicateKey: "duplicate_key"
        case .unknownValue: "unknown_value"
        case .responderLimit: "responder_limit"
        case .erased: "erased"
        }
    }
}

/// One thing that was not taken, for the answer. It never repeats what the body said.
package struct ItemNote: Equatable, Sendable {
    /// The item's place in the body, from 0.
    package var index: Int
    /// The field, as a JSON pointer from the item on.
    package var pointer: String
    package var fault: ItemFault
    /// What is wrong, for people.
    package var detail: String

    /// Makes a note about the item at `index`.
    package init(index: Int, pointer: String, fault: ItemFault, detail: String) {
        self.index = index
        self.pointer = pointer
        self.fault = fault
        self.detail = detail
    }
}

/// What was found in a body.
package struct ScanResult: Sendable {
    /// The items to be folded.
    package var items = ItemList()
    /// Where each of them stood in the body.
    package var places: [UInt32] = []
    /// Items that are not taken.
    package var rejected: [ItemNote] = []
    /// Parts of taken items that are not taken; the first `ItemScanner.notesMax` of them.
    package var problems: [ItemNote] = []
    /// All problems, by `ItemFault`; empty while there is none.
    private var problemCounts: [Int] = []
    /// Fields dropped unread because their names say that they hold a place.
    package var privateFieldsDropped = 0

    package init() {}

    /// Items in the body.
    package var itemCount: Int { items.count + rejected.count }

    /// How many problems of a kind there are, listed or not.
    package func problemCount(_ fault: ItemFault) -> Int {
        problemCounts.isEmpty ? 0 : problemCounts[Int(fault.rawValue)]
    }

    /// Adds a problem; it is listed while there is room.
    fileprivate mutating func add(_ problem: ItemNote) {
        if problemCounts.isEmpty {
            problemCounts = [Int](repeating: 0, count: ItemFault.allCases.count)
        }
        problemCounts[Int(problem.fault.rawValue)] += 1
        if problems.count < ItemScanner.notesMax { problems.append(problem) }
    }
}

/// Reads what backends post into items: the one parser on the hot path (design §1).
///
/// Strict about JSON, lenient about content: a bad value costs its field, a bad update itself, and
/// an item falls only with its identity, a required field or its `received_at` (design §3).
package struct ItemScanner {
    /// Problems listed in an answer at most; all are counted.
    package static let notesMax = 100

    let kind: ItemKind
    private let limits: ScanLimits
    private(set) var result = ScanResult()
    private var writer = ItemWriter()
    var place = 0
    private var seen: UInt64 = 0
    var scratch: [UInt8] = []

    private init(kind: ItemKind, limits: ScanLimits) {
        self.kind = kind
        self.limits = limits
    }

    /// Reads `body[range]`.
    ///
    /// Errors: `ScanError`, and then nothing of the body counts. A line that is not JSON rejects
    /// that item alone: lines are framed, so that the rest of them can be trusted.
    package static func scan(
        _ body: Span<UInt8>, in range: Range<Int>? = nil, kind: ItemKind,
        format: BodyFormat = .json, limits: ScanLimits = ScanLimits()
    ) throws(ScanError) -> ScanResult {
        var scanner = ItemScanner(kind: kind, limits: limits)
        let range = range ?? 0..<body.count
        scanner.result.items.bytes.reserveCapacity(range.count / 2 + 16)
        switch format {
        case .json: try scanner.document(body, range)
        case .lines: try scanner.lines(body, range)
        }
        return scanner.result
    }

    /// Reads the value that comes next: the body in the midst of something larger. Errors: it is not
    /// JSON.
    static func scan(
        next cursor: inout JSONCursor, _ bytes: Span<UInt8>, kind: ItemKind
    ) throws(JSONError) -> ScanResult {
        var scanner = ItemScanner(kind: kind, limits: ScanLimits(itemsMax: .max, depthMax: 64))
        _ = try scanner.value(&cursor, bytes)
        return scanner.result
    }

    // MARK: - Bodies

    private mutating func document(_ body: Span<UInt8>, _ range: Range<Int>) throws(ScanError) {
        var cursor = JSONCursor(range: range, depthMax: limits.depthMax)
        do throws(JSONError) {
            if cursor.isAtEnd(body) { throw cursor.error("empty body") }
            if try value(&cursor, body) { return try cursor.finish(body) }
        } catch {
            throw .notJSON(error)
        }
        throw .tooManyItems(limit: limits.itemsMax)
    }

    /// Reads one object or an array of objects; false if they are too many.
    private mutating func value(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Bool {
        guard cursor.peek(body) == UInt8(ascii: "[") else {
            try item(&cursor, body)
            return true
        }
        try cursor.open(UInt8(ascii: "["), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
        while more && place < limits.itemsMax {
            try item(&cursor, body)
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
        return !more
    }

    private mutating func lines(_ body: Span<UInt8>, _ range: Range<Int>) throws(ScanError) {
        var cursor = JSONCursor(range: range, depthMax: limits.depthMax, isLine: true)
        while cursor.nextLine(body) {
            if cursor.isAtEnd(body) { continue }
            if place == limits.itemsMax { throw .tooManyItems(limit: limits.itemsMax) }
            let before = (place, result.items.ends.count, result.rejected.count)
            do throws(JSONError) {
                try item(&cursor, body)
                try cursor.finish(body)
            } catch {
                // A complete item with something behind it was listed already: take it back.
                if result.items.ends.count > before.1 {
                    result.items.ends.removeLast()
                    result.places.removeLast()
                }
                result.rejected.removeLast(result.rejected.count - before.2)
                writer.abandon(in: &result.items)
                place = before.0
                reject("", .malformed, "not JSON: \(error.message)")
                place += 1
            }
        }
    }

    // MARK: - Items

    private mutating func item(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        defer { place += 1 }
        writer.begin(kind, in: &result.items)
        guard cursor.peek(body) == UInt8(ascii: "{") else {
            try skip(&cursor, body)
            writer.abandon(in: &result.items)
            return reject("", .malformed, "not an object")
        }
        seen = 0
        scratch.removeAll(keepingCapacity: true)
        let rejectedBefore = result.rejected.count
        var updateCount = 0
        try cursor.open(UInt8(ascii: "{"), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let token = try cursor.key(body)
            let field = ItemField.of(token, body, kind)
            if field == .privateField {
                result.privateFieldsDropped += 1
                try cursor.skipValue(body, onKey: { _, _ in false })
            } else if let field {
                if try isFirst(field, &cursor, body) {
                    if field == .updates {
                        updateCount = try updates(&cursor, body)
                    } else {
                        try read(field, &cursor, body)
                    }
                }
            } else {
                try skip(&cursor, body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
        for field in ItemField.required(kind) where seen & field.bit == 0 {
            if result.rejected.count > rejectedBefore { break }
            reject("/" + field.name(kind), .missing, "required")
        }
        guard result.rejected.count == rejectedBefore else {
            result.rejected.removeLast(result.rejected.count - rejectedBefore - 1)
            return writer.abandon(in: &result.items)
        }
        if updateCount > 0 {
            ItemWriter.number(.updates, UInt64(updateCount), to: &result.items.bytes)
            result.items.bytes.append(contentsOf: scratch)
        }
        writer.finish(in: &result.items)
        result.places.append(UInt32(truncatingIfNeeded: place))
    }

    /// True if `field` is to be read: it was not there before and is not null.
    private mutating func isFirst(
        _ field: ItemField, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Bool {
        if cursor.peek(body) == UInt8(ascii: "n") {
            try cursor.literal("null", body)
            return false
        }
        guard seen & field.bit != 0 else {
            seen |= field.bit
            return true
        }
        try skip(&cursor, body)
        refuse(field, .duplicateKey, "named twice")
        return false
    }

    /// Skips a value that says nothing to us, but counts the private fields in it.
    mutating func skip(_ cursor: inout JSONCursor, _ body: Span<UInt8>) throws(JSONError) {
        var dropped = 0
        try cursor.skipValue(body) { token, bytes in
            let isPrivate = ItemField.isPrivate(ShortWord(token, bytes))
            dropped += isPrivate ? 1 : 0
            return !isPrivate
        }
        result.privateFieldsDropped += dropped
    }

    /// Appends to the item that is being read.
    mutating func write(_ body: (inout [UInt8]) -> Void) { body(&result.items.bytes) }

    /// Counts a private field that was met outside of this file.
    mutating func countPrivateField() { result.privateFieldsDropped += 1 }

    // MARK: - Notes

    /// A field that cannot be taken: fatal for the item if it cannot do without.
    mutating func refuse(_ field: ItemField, _ fault: ItemFault, _ detail: String) {
        if field.isVital(kind) {
            reject("/" + field.name(kind), fault, detail)
        } else {
            note("/" + field.name(kind), fault, detail)
        }
    }

    /// A part of an item that is dropped.
    mutating func note(_ pointer: String, _ fault: ItemFault, _ detail: String) {
        result.add(ItemNote(index: place, pointer: pointer, fault: fault, detail: detail))
    }

    private mutating func reject(_ pointer: String, _ fault: ItemFault, _ detail: String) {
        result.rejected.append(
            ItemNote(index: place, pointer: pointer, fault: fault, detail: detail))
    }
}
