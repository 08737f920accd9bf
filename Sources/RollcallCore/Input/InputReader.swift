/// Reads what phones and other servers send anyway into items, by an `InputMapping`: in one pass over
/// the bytes, of which only the values at named pointers are looked at. What it writes is what an
/// `ItemScanner` writes of a native batch. Source: M1, M2, M8.
package struct InputReader {
    /// Room that is made for what is read; more is made as it is needed.
    private static let bytesUsual = 1024

    let mapping: InputMapping
    let request: InputRequest
    let limits: ScanLimits
    var reading = InputReading()
    var writer = ItemWriter()
    /// The values of the body around the items, and of the item that is being read.
    var rootTokens: [InputToken]
    var itemTokens: [InputToken]
    /// The place of the item that is being read.
    var place = InputPlace()
    /// The group in which the next item of ours is collected.
    var group = InputGroup()
    /// True once a list of items was met, or one item.
    private(set) var hasList = false
    /// Items of the body that were met.
    private var itemsMet = 0
    /// Those of them that brought no update. A body of nothing else is read to `limits.itemsMax` of
    /// them: packed, a few kilobytes hold millions.
    private var itemsWithoutUpdate = 0
    /// Updates that were met.
    var updatesMet = 0
    /// True while only the body around the items is read, or only the items.
    private var passesItems = false
    private var passesRoot = false

    private init(
        _ mapping: InputMapping, _ request: consuming InputRequest, _ limits: ScanLimits
    ) {
        self.mapping = mapping
        self.request = request
        self.limits = limits
        rootTokens = Array(repeating: InputToken(), count: mapping.rootPlan.slots.count)
        itemTokens = Array(repeating: InputToken(), count: mapping.itemPlan.slots.count)
    }

    /// Reads `body`, which came with `request`.
    /// - Throws: `ScanError` if it is not JSON; then nothing of it counts.
    package static func read(
        _ body: Span<UInt8>, _ request: consuming InputRequest, by mapping: InputMapping,
        limits: ScanLimits = ScanLimits()
    ) throws(ScanError) -> InputReading {
        if body.count == 0, !mapping.description.isForm {
            // "it is best to ignore zero-length payloads" (OwnTracks, HTTP mode).
            var reading = InputReading()
            reading.skipped = 1
            return reading
        }
        if mapping.description.isForm {
            let form = InputForm(query: request.query, body: body)
            var reader = InputReader(mapping, request, limits)
            reader.form(form)
            return reader.finished()
        }
        var reader = InputReader(mapping, request, limits)
        reader.reading.scan.items.bytes.reserveCapacity(min(body.count, bytesUsual))
        do throws(JSONError) {
            try reader.document(body)
        } catch {
            let isLong = reader.itemsWithoutUpdate > limits.itemsMax
            throw isLong ? .tooManyItems(limit: limits.itemsMax) : .notJSON(error)
        }
        return reader.finished()
    }

    /// Hands over what was read, and keeps nothing of it: a copy would be one of all that is in it.
    private mutating func finished() -> InputReading {
        var reading = InputReading()
        swap(&reading, &self.reading)
        return reading
    }

    // MARK: - Documents

    private mutating func document(_ body: Span<UInt8>) throws(JSONError) {
        if mapping.needsRootFirst {
            passesItems = true
            try pass(body)
            passesItems = false
            passesRoot = true
        }
        try pass(body)
        flush(body)
        if itemsMet == 0, reading.scan.problems.isEmpty { finishWithoutItems(body) }
    }

    private mutating func pass(_ body: Span<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(range: 0..<body.count, depthMax: limits.depthMax)
        if cursor.isAtEnd(body) { throw cursor.error("empty body") }
        try value(mapping.rootPlan, 0, isItem: false, &cursor, body)
        try cursor.finish(body)
    }

    private mutating func form(_ form: InputForm) {
        for (name, range) in form.fields {
            let token = JSONCursor.StringToken(range: name, isEscaped: false)
            let next = mapping.itemPlan.next(0, token, form.bytes.span)
            if next < 0 { continue }
            record(
                mapping.itemPlan, next, isItem: true,
                InputToken(
                    kind: .string, lower: UInt32(range.lowerBound),
                    upper: UInt32(range.upperBound)))
        }
        take(form.bytes.span)
        flush(form.bytes.span)
    }

    /// Reads the value that comes next, at a place of `plan`.
    /// - Throws: `JSONError` if it is not JSON.
    private mutating func value(
        _ plan: InputPlan, _ at: Int, isItem: Bool, _ cursor: inout JSONCursor,
        _ body: Span<UInt8>
    ) throws(JSONError) {
        switch cursor.peek(body) {
        case UInt8(ascii: "{"):
            if plan.holdsItems(at) {
                return try item(isListed: false, plan, at, &cursor, body)
            }
            record(plan, at, isItem: isItem, InputToken(kind: .container))
            guard plan.hasEdges(at) else { return try cursor.skipValue(body) }
            try members(plan, at, isItem: isItem, &cursor, body)
        case UInt8(ascii: "["):
            if plan.holdsItems(at) { return try items(plan, at, &cursor, body) }
            record(plan, at, isItem: isItem, InputToken(kind: .container))
            guard plan.hasEntries(at) else { return try cursor.skipValue(body) }
            try entries(plan, at, isItem: isItem, &cursor, body)
        default:
            let token = try scalar(&cursor, body)
            if plan.holdsItems(at) {
                guard token.isThere, !passesItems else { return }
                note(.text(plan.text(at)), .malformed, "neither an object nor an array")
            } else {
                record(plan, at, isItem: isItem, token)
            }
        }
    }

    private mutating func members(
        _ plan: InputPlan, _ at: Int, isItem: Bool, _ cursor: inout JSONCursor,
        _ body: Span<UInt8>
    ) throws(JSONError) {
        try cursor.open(UInt8(ascii: "{"), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let token = try cursor.key(body)
            let next = plan.next(at, token, body)
            if next < 0 {
                try cursor.skipValue(body)
            } else {
                try value(plan, next, isItem: isItem, &cursor, body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
    }

    /// Reads a scalar, unread but for its form; null is absent.
    /// - Throws: `JSONError` if none comes next.
    private func scalar(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> InputToken {
        switch cursor.peek(body) {
        case UInt8(ascii: "\""):
            let token = try cursor.string(body)
            return InputToken(
                kind: token.isEscaped ? .escaped : .string,
                lower: UInt32(truncatingIfNeeded: token.range.lowerBound),
                upper: UInt32(truncatingIfNeeded: token.range.upperBound))
        case UInt8(ascii: "t"):
            try cursor.literal("true", body)
            return InputToken(kind: .yes)
        case UInt8(ascii: "f"):
            try cursor.literal("false", body)
            return InputToken(kind: .no)
        case UInt8(ascii: "n"):
            try cursor.literal("null", body)
            return InputToken()
        default:
            let range = try cursor.number(body)
            return InputToken(
                kind: .number, lower: UInt32(truncatingIfNeeded: range.lowerBound),
                upper: UInt32(truncatingIfNeeded: range.upperBound))
        }
    }

    /// Remembers a value where a slot is; the second one makes both unreadable.
    private mutating func record(
        _ plan: InputPlan, _ at: Int, isItem: Bool, _ token: InputToken
    ) {
        let slot = plan.slot(at)
        guard slot >= 0, token.isThere else { return }
        if isItem {
            let isTwice = itemTokens[slot].isThere
            itemTokens[slot] = isTwice ? InputToken(kind: .twice) : token
        } else if !passesRoot {
            let isTwice = rootTokens[slot].isThere
            rootTokens[slot] = isTwice ? InputToken(kind: .twice) : token
        }
    }

    // MARK: - Lists

    /// Reads the items of a list.
    private mutating func items(
        _ plan: InputPlan, _ at: Int, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        if passesItems { return try cursor.skipValue(body) }
        hasList = true
        try cursor.open(UInt8(ascii: "["), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
        var index = 0
        while more {
            place.index = index
            try item(isListed: true, plan, at, &cursor, body)
            index += 1
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
    }

    /// Reads one item, and takes it.
    private mutating func item(
        isListed: Bool, _ plan: InputPlan, _ at: Int, _ cursor: inout JSONCursor,
        _ body: Span<UInt8>
    ) throws(JSONError) {
        if passesItems { return try cursor.skipValue(body) }
        hasList = true
        place.list = plan.text(at)
        place.isListed = isListed
        place.number = itemsMet
        itemsMet += 1
        guard itemsWithoutUpdate <= limits.itemsMax else { throw cursor.error("too many items") }
        guard cursor.peek(body) == UInt8(ascii: "{") else {
            itemsWithoutUpdate += 1
            try cursor.skipValue(body)
            return note(.item, .malformed, "not an object")
        }
        let open = isIdentityKnown && group.isOpen ? 1 : 0
        guard reading.scan.items.count + open < limits.itemsMax else {
            try cursor.skipValue(body)
            return note(.item, .outOfRange, "more than \(limits.itemsMax) items")
        }
        let before = updatesMet
        defer { if updatesMet == before { itemsWithoutUpdate += 1 } }
        for slot in itemTokens.indices { itemTokens[slot] = InputToken() }
        try members(mapping.itemPlan, 0, isItem: true, &cursor, body)
        take(body)
    }

    /// Reads a list of entries, of which those count that say what a pointer asks for.
    private mutating func entries(
        _ plan: InputPlan, _ at: Int, isItem: Bool, _ cursor: inout JSONCursor,
        _ body: Span<UInt8>
    ) throws(JSONError) {
        try cursor.open(UInt8(ascii: "["), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
        while more {
            // What an entry is says a member that may stand behind what it says.
            var ahead = cursor
            let fitting = try entry(plan.entries(at), &ahead, body)
            if fitting < 0 {
                cursor = ahead
            } else {
                try value(plan, fitting, isItem: isItem, &cursor, body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
    }

    /// Returns the node of the entry that comes next; -1 if none is asked for.
    private func entry(
        _ entries: [InputTree.Entry], _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Int {
        guard cursor.peek(body) == UInt8(ascii: "{") else {
            try cursor.skipValue(body)
            return -1
        }
        var found = -1
        try cursor.open(UInt8(ascii: "{"), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let key = try cursor.key(body)
            if found < 0, cursor.peek(body) == UInt8(ascii: "\"") {
                let said = try cursor.string(body)
                for entry in entries
                where Self.isSame(key, entry.key, body) && Self.isSame(said, entry.value, body) {
                    found = entry.node
                }
            } else {
                try cursor.skipValue(body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
        return found
    }

    private static func isSame(
        _ token: JSONCursor.StringToken, _ text: [UInt8], _ body: Span<UInt8>
    ) -> Bool {
        if token.isEscaped {
            return token.range.count <= text.count * JSONText.escapeBytesMax
                && JSONText.decoded(token, body) == text
        }
        guard token.range.count == text.count else { return false }
        for (index, byte) in zip(token.range, text) where body[index] != byte { return false }
        return true
    }

    // MARK: - Notes

    /// A `Pointer` says where a problem is; it is put into words only where it is listed.
    enum Pointer {
        case ref(InputMapping.Ref)
        /// The item that is being read.
        case item
        case text(String)
    }

    private func text(_ pointer: Pointer) -> String {
        switch pointer {
        case .ref(let ref): self.pointer(ref)
        case .item: place.text
        case .text(let text): text
        }
    }

    /// Notes a problem of what is being read.
    mutating func note(_ pointer: Pointer, _ fault: ItemFault, _ detail: String) {
        guard reading.scan.countProblem(fault) else { return }
        let note = ItemNote(
            index: place.number, pointer: text(pointer), fault: fault, detail: detail)
        reading.scan.list(note)
    }

    /// Rejects what was to be an item.
    mutating func reject(_ pointer: Pointer, _ fault: ItemFault, _ detail: String) {
        let isListed = reading.scan.rejected.count < ItemScanner.notesMax
        let note =
            isListed
            ? ItemNote(index: place.number, pointer: text(pointer), fault: fault, detail: detail)
            : nil
        reading.scan.addRejection(fault, note)
    }
}

/// An `InputPlace` says where an item stands in a body.
struct InputPlace {
    /// The pointer to the list, or to the one item.
    var list = ""
    var isListed = false
    var index = 0
    /// The number of the item among all items of the body.
    var number = 0

    /// The pointer to it.
    var text: String { isListed ? "\(list)/\(index)" : list }
}
