/// The result of reading a body.
package struct ScanResult: Sendable {
    /// The items to be folded.
    package var items = ItemList()
    /// The places in the body of each of them.
    package var places: [UInt32] = []
    /// Items that are not taken; the first `ItemScanner.notesMax` of them.
    package private(set) var rejected: [ItemNote] = []
    /// Parts of taken items that are not taken; the first `ItemScanner.notesMax` of them.
    package private(set) var problems: [ItemNote] = []
    /// Items that are not taken, listed or not.
    package private(set) var rejectedCount = 0
    /// Notes whose texts were put together: what a body costs beyond its bytes, and no more than are
    /// listed.
    package private(set) var notesBuilt = 0
    /// All items that are not taken, by `ItemFault`; empty while there is none.
    private var rejectedCounts: [Int] = []
    /// All problems, by `ItemFault`; empty while there is none.
    private var problemCounts: [Int] = []
    /// Fields dropped unread because their names say that they hold a place.
    package var privateFieldsDropped = 0
    /// Times that were read, by `TimeForm`.
    package fileprivate(set) var timesRead: InlineArray<3, Int> = [0, 0, 0]
    /// The instant at which the body says that it was sent (D10).
    package fileprivate(set) var sentAt = SentAt.untold
    /// The newest `received_at` of its batches; nil without one.
    package fileprivate(set) var receivedAt: Timestamp?

    package init() {}

    /// Items in the body.
    package var itemCount: Int { items.count + rejectedCount }

    /// Returns how many items are not taken for a reason, listed or not.
    package func rejectedCount(_ fault: ItemFault) -> Int {
        rejectedCounts.isEmpty ? 0 : rejectedCounts[Int(fault.rawValue)]
    }

    /// Returns how many problems of a kind there are, listed or not.
    package func problemCount(_ fault: ItemFault) -> Int {
        problemCounts.isEmpty ? 0 : problemCounts[Int(fault.rawValue)]
    }

    /// Counts a problem; true while there is room for its note.
    mutating func countProblem(_ fault: ItemFault) -> Bool {
        Self.count(fault, in: &problemCounts)
        return problems.count < ItemScanner.notesMax
    }

    /// Counts a problem of the request, and lists it before those of its items.
    package mutating func note(_ problem: ItemNote) {
        if countProblem(problem.fault) {
            problems.insert(problem, at: 0)
            notesBuilt += 1
        }
    }

    /// Lists a problem that was counted.
    mutating func list(_ problem: ItemNote) {
        problems.append(problem)
        notesBuilt += 1
    }

    /// Counts an item that is not taken; its note is there while there is room.
    mutating func addRejection(_ fault: ItemFault, _ note: ItemNote?) {
        Self.count(fault, in: &rejectedCounts)
        rejectedCount += 1
        guard let note else { return }
        rejected.append(note)
        notesBuilt += 1
    }

    /// Counts as what a time was read.
    mutating func countTime(_ form: TimeForm) { timesRead[Int(form.rawValue)] += 1 }

    /// Notes when a batch was received, as it says.
    mutating func noteReceived(_ time: Timestamp) { receivedAt = max(receivedAt ?? time, time) }

    private static func count(_ fault: ItemFault, in counts: inout [Int]) {
        if counts.isEmpty { counts = [Int](repeating: 0, count: ItemFault.allCases.count) }
        counts[Int(fault.rawValue)] += 1
    }
}

/// Reads what backends post into items: the one parser on the hot path (Decisions).
///
/// Strict about JSON, lenient about content: a bad value costs its field, a bad update itself, and
/// an item falls only with its identity, a required field or its `received_at` (I12).
package struct ItemScanner {
    /// Problems listed in an answer at most, and as many rejected items; all are counted, and only
    /// what is listed is put into words: a body of eight million zeros has as many faults.
    package static let notesMax = 100

    let kind: ItemKind
    let limits: ScanLimits
    private(set) var result = ScanResult()
    private var writer = ItemWriter()
    var place = 0
    /// Objects that said when the body was sent: none of them is an item (D10).
    var heads = 0
    private var seen: UInt64 = 0
    /// The first fault of the item that is read, for which it cannot be taken; it is the one that
    /// is told.
    private var rejection: Rejection?
    var scratch: [UInt8] = []
    /// The updates of the item that is being read which have no sequence.
    var unsequenced: [UInt8] = []
    var unsequencedCount = 0
    /// False for what was taken once already: a replay decides by what was stored.
    private(set) var refusesPlaces = true

    /// A fault that costs its item; the note is nil where no more are listed.
    fileprivate struct Rejection {
        let fault: ItemFault
        var note: ItemNote?
    }
    /// The telemetry of the item that is being read, and what was told beside it.
    var inside: Telemetry?
    var beside: Telemetry?
    private let isStrict: Bool
    /// True before the first of several items: it may say when the body was sent instead (D10).
    private var mayBeSending = false
    /// Unknown fields of the item that is being read.
    private var unknownFields = 0

    private init(kind: ItemKind, limits: ScanLimits, isStrict: Bool = false) {
        self.kind = kind
        self.limits = limits
        self.isStrict = isStrict
    }

    /// Reads `body[range]`.
    ///
    /// Throws `ScanError` if the body is not JSON or holds too many items, and then nothing of it
    /// counts. A line that is not JSON rejects that item alone: lines are framed, so that the rest
    /// of them can be trusted. Where it `isStrict`, an unknown field rejects its item (P3).
    package static func scan(
        _ body: Span<UInt8>, in range: Range<Int>? = nil, kind: ItemKind,
        format: BodyFormat = .json, limits: ScanLimits = ScanLimits(), isStrict: Bool = false
    ) throws(ScanError) -> ScanResult {
        var scanner = ItemScanner(kind: kind, limits: limits, isStrict: isStrict)
        let range = range ?? 0..<body.count
        scanner.result.items.bytes.reserveCapacity(range.count / 2 + 16)
        switch format {
        case .json: try scanner.document(body, range)
        case .lines: try scanner.lines(body, range)
        }
        return scanner.result
    }

    /// Reads the value that comes next: the body in the midst of something larger. Throws
    /// `JSONError` if it is not JSON.
    static func scan(
        next cursor: inout JSONCursor, _ bytes: Span<UInt8>, kind: ItemKind
    ) throws(JSONError) -> ScanResult {
        var scanner = ItemScanner(kind: kind, limits: ScanLimits(itemsMax: .max, depthMax: 64))
        scanner.refusesPlaces = false
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
    /// - Throws: `JSONError` if the body is not JSON, up to the last item that may be taken.
    private mutating func value(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Bool {
        guard cursor.peek(body) == UInt8(ascii: "[") else {
            try item(&cursor, body)
            settle()
            return true
        }
        try cursor.open(UInt8(ascii: "["), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
        mayBeSending = true
        while more && place - heads < limits.itemsMax {
            try item(&cursor, body)
            settle()
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
        return !more
    }

    private mutating func lines(_ body: Span<UInt8>, _ range: Range<Int>) throws(ScanError) {
        var cursor = JSONCursor(range: range, depthMax: limits.depthMax, isLine: true)
        mayBeSending = true
        while cursor.nextLine(body) {
            if cursor.isAtEnd(body) { continue }
            if place - heads == limits.itemsMax { throw .tooManyItems(limit: limits.itemsMax) }
            let before = result.items.ends.count
            do throws(JSONError) {
                try item(&cursor, body)
                try cursor.finish(body)
                settle()
            } catch {
                // A complete item with something behind it was listed already: take it back.
                if result.items.ends.count > before {
                    result.items.ends.removeLast()
                    result.places.removeLast()
                }
                writer.abandon(in: &result.items)
                // Whatever else it is, it is no JSON.
                rejection = nil
                reject("", .malformed, "not JSON: \(error.message)")
                settle()
            }
        }
    }

    // MARK: - Items

    private mutating func item(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        writer.begin(kind, in: &result.items)
        var isHead = mayBeSending
        mayBeSending = false
        guard cursor.peek(body) == UInt8(ascii: "{") else {
            try skip(&cursor, body)
            writer.abandon(in: &result.items)
            return reject("", .malformed, "not an object")
        }
        seen = 0
        unknownFields = 0
        inside = nil
        beside = nil
        scratch.removeAll(keepingCapacity: true)
        unsequenced.removeAll(keepingCapacity: true)
        unsequencedCount = 0
        var updateCount = 0
        try cursor.open(UInt8(ascii: "{"), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let token = try cursor.key(body)
            if isHead, ShortWord(token, body) == "sent_at" {
                isHead = false
                let said = try sending(&cursor, body)
                more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
                guard more else { return finish(said) }
                noteUnknown(token, .item, body)
                continue
            }
            isHead = false
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
                noteUnknown(token, .item, body)
                try skip(&cursor, body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
        let kind = kind
        for field in ItemField.required(kind) where seen & field.bit == 0 {
            reject("/" + field.name(kind), .missing, "required")
        }
        if rejection != nil { return writer.abandon(in: &result.items) }
        finishTelemetry()
        if unsequencedCount > 0 {
            ItemWriter.number(.unsequenced, UInt64(unsequencedCount), to: &result.items.bytes)
            result.items.bytes.append(contentsOf: unsequenced)
        }
        if updateCount > 0 {
            ItemWriter.number(.updates, UInt64(updateCount), to: &result.items.bytes)
            result.items.bytes.append(contentsOf: scratch)
        }
        writer.finish(in: &result.items)
        result.places.append(UInt32(truncatingIfNeeded: place))
    }

    /// The object said nothing but when the body was sent: it is no item.
    private mutating func finish(_ said: SentAt) {
        writer.abandon(in: &result.items)
        heads += 1
        result.sentAt = said
        if said == .unreadable { note("/sent_at", .malformed, SentAt.fault) }
    }

    /// True if `field` is to be read: it was not there before and is not null.
    /// - Throws: `JSONError` if a value that is not to be read is not JSON.
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
        refuse(field, .duplicateKey, Self.twice)
        return false
    }

    /// Skips a value that says nothing to us, but counts the private fields in it.
    /// - Throws: `JSONError` if the value is not JSON.
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

    /// Counts as what a time was read.
    mutating func count(_ form: TimeForm) { result.countTime(form) }

    /// Notes when a batch was received, as it says.
    mutating func note(receivedAt time: Timestamp) {
        if kind == .batch { result.noteReceived(time) }
    }

    /// Counts a private field that was met outside of this file.
    mutating func countPrivateField() { result.privateFieldsDropped += 1 }

    // MARK: - Notes

    /// A field that cannot be taken: fatal for the item if it cannot do without.
    mutating func refuse(
        _ field: ItemField, _ fault: ItemFault, _ detail: @autoclosure () -> String
    ) {
        let kind = kind
        if field.isVital(kind) {
            reject("/" + field.name(kind), fault, detail())
        } else {
            note("/" + field.name(kind), fault, detail())
        }
    }

    /// A part of an item that is dropped. The texts are put together only where they are listed.
    mutating func note(
        _ pointer: @autoclosure () -> String, _ fault: ItemFault,
        _ detail: @autoclosure () -> String
    ) {
        guard result.countProblem(fault) else { return }
        result.list(ItemNote(index: place, pointer: pointer(), fault: fault, detail: detail()))
    }

    /// A field that nobody knows: named while there is room, and counted, or fatal for the item (P3).
    mutating func noteUnknown(
        _ token: JSONCursor.StringToken, _ parent: UnknownField.Parent, _ body: Span<UInt8>
    ) {
        unknownFields += 1
        if isStrict {
            guard unknownFields == 1 else { return }
            let field = UnknownField(token, parent, kind, body)
            reject(field.pointer, .unknownField, field.detail)
        } else if unknownFields <= UnknownField.namedMax, result.problems.count < Self.notesMax {
            let field = UnknownField(token, parent, kind, body)
            note(field.pointer, .unknownField, field.detail)
        } else {
            _ = result.countProblem(.unknownField)
        }
    }

    private mutating func reject(
        _ pointer: @autoclosure () -> String, _ fault: ItemFault,
        _ detail: @autoclosure () -> String
    ) {
        guard rejection == nil else { return }
        rejection = Rejection(fault: fault, note: nil)
        guard result.rejected.count < Self.notesMax else { return }
        rejection?.note = ItemNote(index: place, pointer: pointer(), fault: fault, detail: detail())
    }

    /// Ends an item, taken or not.
    private mutating func settle() {
        if let rejection { result.addRejection(rejection.fault, rejection.note) }
        rejection = nil
        place += 1
    }
}
