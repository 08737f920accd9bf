/// The updates of a batch. Source: I9, P4.
extension ItemScanner {
    /// Reads the updates into `scratch`, those without a sequence into `unsequenced`, and returns how
    /// many the former are.
    /// - Throws: `JSONError` if the value is not JSON.
    mutating func updates(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Int {
        guard cursor.peek(body) == UInt8(ascii: "[") else {
            try skip(&cursor, body)
            refuse(.updates, .malformed, "not an array")
            return 0
        }
        var taken = 0
        var index = 0
        try cursor.open(UInt8(ascii: "["), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
        while more {
            if let update = try update(index, &cursor, body) {
                if update.isUnsequenced {
                    ItemWriter.update(update, to: &unsequenced)
                    unsequencedCount += 1
                } else {
                    ItemWriter.update(update, to: &scratch)
                    taken += 1
                }
            }
            index += 1
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
        }
        return taken
    }

    private mutating func update(
        _ index: Int, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Update? {
        guard cursor.peek(body) == UInt8(ascii: "{") else {
            try skip(&cursor, body)
            note("/updates/\(index)", .malformed, "not an object")
            return nil
        }
        var update = Update(sequence: -1, capturedAt: nil, isCached: false)
        var given = UpdateFields()
        var ambiguous = UpdateFields()
        try cursor.open(UInt8(ascii: "{"), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let token = try cursor.key(body)
            let name = ShortWord(token, body)
            if let field = UpdateFields(name) {
                if cursor.peek(body) == UInt8(ascii: "n") {
                    try cursor.literal("null", body)
                } else if given.contains(field) {
                    try skip(&cursor, body)
                    note("/updates/\(index)/\(field.name)", .duplicateKey, Self.twice)
                    // Whichever is meant, nobody knows: the other one may be another's.
                    ambiguous.insert(field)
                } else {
                    given.insert(field)
                    try read(field, of: index, &update, &cursor, body)
                }
            } else if ItemField.isPrivate(name) {
                countPrivateField()
                try cursor.skipValue(body, onKey: { _, _ in false })
            } else {
                noteUnknown(token, .update(index), body)
                try skip(&cursor, body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
        return identified(update, index, given, ambiguous)
    }

    /// Returns an update that can be told from others: by its sequence, or, if none was given, by when
    /// it was captured (P4).
    private mutating func identified(
        _ update: Update, _ index: Int, _ given: UpdateFields, _ ambiguous: UpdateFields
    ) -> Update? {
        if given.contains(.sequence) {
            if ambiguous.contains(.sequence) { return nil }
            if !update.isUnsequenced { return update }
            note("/updates/\(index)/sequence", .malformed, "an integer from 0 to 2^63-1 expected")
            return nil
        }
        if ambiguous.contains(.capturedAt) { return nil }
        if update.capturedAt != nil { return update }
        if !given.contains(.capturedAt) {
            note("/updates/\(index)", .missing, "neither sequence nor captured_at")
        }
        return nil
    }

    private mutating func read(
        _ field: UpdateFields, of index: Int, _ update: inout Update, _ cursor: inout JSONCursor,
        _ body: Span<UInt8>
    ) throws(JSONError) {
        switch field {
        case .sequence: update.sequence = try natural(&cursor, body) ?? -1
        case .capturedAt:
            update.capturedAt = try time(&cursor, body)?.time
            if update.capturedAt == nil {
                note("/updates/\(index)/captured_at", .malformed, SentAt.fault)
            }
        default: try fix(index, &update, &cursor, body)
        }
    }

    private mutating func fix(
        _ index: Int, _ update: inout Update, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        switch cursor.peek(body) {
        case UInt8(ascii: "\""):
            update.isCached = ShortWord(try cursor.string(body), body) == "cached"
        default:
            try skip(&cursor, body)
            note("/updates/\(index)/fix", .malformed, "not a string")
        }
    }
}
