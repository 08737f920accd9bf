/// The values of an item's fields.
extension ItemScanner {
    /// Bytes of a person's, region's, circle's or install's name at most. Source: I9.
    package static let nameBytesMax = 128
    /// Circles of one person at most, whatever the settings say.
    package static let circlesMax = 64
    /// Bytes of a manufacturer's or a model's name at most. Source: P6.
    package static let makeBytesMax = 64
    /// Digits of an id that is a number, at most (P4).
    package static let idDigitsMax = 19
    /// Bytes of a push token at most: Apple's and Google's stay below 300.
    package static let tokenBytesMax = 1024
    /// The text about a field that is there twice.
    package static let twice = "named twice"

    /// Reads the value of `field` into the item.
    /// - Throws: `JSONError` if the value is not JSON; one of a wrong form is noted, not thrown.
    mutating func read(
        _ field: ItemField, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        switch field {
        case .responderID: try text(field, .responderID, Self.nameBytesMax, &cursor, body)
        case .region: try text(field, .region, Self.nameBytesMax, &cursor, body)
        case .osVersion: try text(field, .osVersion, Self.nameBytesMax, &cursor, body)
        case .appVersion: try text(field, .appVersion, Self.nameBytesMax, &cursor, body)
        case .manufacturer: try text(field, .manufacturer, Self.makeBytesMax, &cursor, body)
        case .model: try text(field, .model, Self.makeBytesMax, &cursor, body)
        case .installID: try text(field, .installID, Self.nameBytesMax, &cursor, body)
        case .transitionID: try text(field, .transitionID, Self.nameBytesMax, &cursor, body)
        case .pushToken: try text(field, .pushToken, Self.tokenBytesMax, &cursor, body)
        case .reportedAt: try time(field, .reportedAt, &cursor, body)
        case .pausedUntil: try time(field, .pausedUntil, &cursor, body)
        case .dutyState: try word(field, .duty, Words.duty, other: nil, &cursor, body)
        case .sharing: try word(field, .sharing, Words.sharing, other: nil, &cursor, body)
        case .platform:
            try word(
                field, .platform, Words.platform, other: Platform.other.rawValue, &cursor, body)
        case .nudgeSound: try word(field, .nudgeSound, Words.sound, other: 0, &cursor, body)
        case .from:
            try word(field, .from, Words.status, other: Status.unknown.rawValue, &cursor, body)
        case .to:
            try word(field, .to, Words.status, other: Status.unknown.rawValue, &cursor, body)
        case .batteryLevel: try battery(&cursor, body)
        case .nextExpectedIn: try promise(&cursor, body)
        case .circles: try circles(&cursor, body)
        case .telemetry: try telemetry(&cursor, body)
        case .permissionStatus, .locationServices, .powerMode, .appState, .queueDepth, .networkType:
            var reported = beside ?? Telemetry()
            try telemetryMember(field, "/", &reported, &cursor, body)
            beside = reported
        case .updates, .reason, .privateField: try skip(&cursor, body)
        }
    }

    // MARK: - Scalars

    private mutating func text(
        _ field: ItemField, _ tag: ItemTag, _ bytesMax: Int, _ cursor: inout JSONCursor,
        _ body: Span<UInt8>
    ) throws(JSONError) {
        guard cursor.peek(body) == UInt8(ascii: "\"") else {
            if field == .responderID { return try numberedID(&cursor, body) }
            try skip(&cursor, body)
            return refuse(field, .malformed, "not a string")
        }
        let token = try cursor.string(body)
        guard Self.isName(token, body, bytesMax) else {
            return refuse(
                field, .outOfRange, "1 to \(bytesMax) bytes without control characters expected")
        }
        if field.mayNamePlace, isPlace(token, body) {
            return refuse(field, .coordinate, Self.placeRefusal)
        }
        write { ItemWriter.text(tag, token, body, to: &$0) }
    }

    /// Reads an id that is a number: its digits are the id (P4).
    /// - Throws: `JSONError` if the value is not JSON.
    private mutating func numberedID(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        switch cursor.peek(body) {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            let range = try cursor.number(body)
            if let digits = Self.numberedID(body, range) {
                return write { ItemWriter.bytes(.responderID, digits, to: &$0) }
            }
        default: try skip(&cursor, body)
        }
        refuse(
            .responderID, .malformed,
            "neither a string nor an integer from 0 on of at most \(Self.idDigitsMax) digits")
    }

    /// Returns the id that a number of JSON is: its digits, of a natural one, since there are no two
    /// ways to write the same; nil for any other (P4).
    static func numberedID(_ body: Span<UInt8>, _ number: Range<Int>) -> [UInt8]? {
        guard number.count <= idDigitsMax else { return nil }
        let digits = body.extracting(number).withUnsafeBufferPointer { Array($0) }
        let isNatural = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return isNatural ? digits : nil
    }

    private mutating func time(
        _ field: ItemField, _ tag: ItemTag, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        guard let (time, _) = try time(&cursor, body) else {
            return refuse(field, .malformed, SentAt.fault)
        }
        if field == .reportedAt { note(receivedAt: time) }
        write { ItemWriter.time(tag, time, to: &$0) }
    }

    /// Reads the instant at which the body was sent; null says nothing.
    /// - Throws: `JSONError` if the value is not JSON.
    mutating func sending(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> SentAt {
        if cursor.peek(body) == UInt8(ascii: "n") {
            try cursor.literal("null", body)
            return .untold
        }
        guard let (time, form) = try time(&cursor, body) else { return .unreadable }
        return .at(time, form)
    }

    /// Reads a time and counts as what it was read; nil if it is none.
    /// - Throws: `JSONError` if the value is not JSON.
    mutating func time(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> (time: Timestamp, form: TimeForm)? {
        switch cursor.peek(body) {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try skip(&cursor, body)
            return nil
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            let range = try cursor.number(body)
            guard let read = TimeForm.time(body, range) else { return nil }
            count(read.form)
            return read
        default:
            guard let time = try TimeForm.text(&cursor, body) else { return nil }
            count(.rfc3339)
            return (time, .rfc3339)
        }
    }

    private mutating func word(
        _ field: ItemField, _ tag: ItemTag, _ words: [(ShortWord, UInt8)], other: UInt8?,
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        guard cursor.peek(body) == UInt8(ascii: "\"") else {
            try skip(&cursor, body)
            return refuse(field, .malformed, "not a string")
        }
        let reported = ShortWord(try cursor.string(body), body)
        for (word, value) in words where word == reported {
            return write { ItemWriter.number(tag, UInt64(value), to: &$0) }
        }
        let kind = kind
        note("/" + field.name(kind), .unknownValue, "unknown value")
        if let other { write { ItemWriter.number(tag, UInt64(other), to: &$0) } }
    }

    private mutating func battery(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        guard let level = try number(&cursor, body) else {
            return refuse(.batteryLevel, .malformed, "not a number")
        }
        guard level >= 0, level <= 1 else {
            return refuse(.batteryLevel, .outOfRange, "0 to 1 expected")
        }
        let value = UInt64((level * 10_000).rounded())
        write { ItemWriter.number(.battery, value, to: &$0) }
    }

    private mutating func number(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Double? {
        switch cursor.peek(body) {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            return JSONText.double(body, try cursor.number(body))
        default:
            try skip(&cursor, body)
            return nil
        }
    }

    /// Reads an integer from 0 to 2⁶³−1; nil for any other value.
    /// - Throws: `JSONError` if the value is not JSON.
    mutating func natural(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Int64? {
        switch cursor.peek(body) {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            return JSONText.natural(body, try cursor.number(body))
        default:
            try skip(&cursor, body)
            return nil
        }
    }

    // MARK: - Containers

    private mutating func telemetry(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        guard cursor.peek(body) == UInt8(ascii: "{") else {
            try skip(&cursor, body)
            return refuse(.telemetry, .malformed, "not an object")
        }
        var telemetry = Telemetry()
        var given: UInt64 = 0
        try cursor.open(UInt8(ascii: "{"), body)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let token = try cursor.key(body)
            let name = ShortWord(token, body)
            if let field = ItemField.telemetry(name) {
                if cursor.peek(body) == UInt8(ascii: "n") {
                    try cursor.literal("null", body)
                } else if given & field.bit != 0 {
                    try skip(&cursor, body)
                    let kind = kind
                    note("/telemetry/\(field.name(kind))", .duplicateKey, Self.twice)
                } else {
                    given |= field.bit
                    try telemetryMember(field, "/telemetry/", &telemetry, &cursor, body)
                }
            } else if ItemField.isPrivate(name) {
                countPrivateField()
                try cursor.skipValue(body, onKey: { _, _ in false })
            } else {
                noteUnknown(token, .telemetry, body)
                try skip(&cursor, body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
        inside = telemetry
    }

    /// Writes what stood inside `telemetry` over what stood beside it.
    mutating func finishTelemetry() {
        guard var reported = beside ?? inside else { return }
        if beside != nil, let inside { reported.take(inside) }
        write { ItemWriter.telemetry(reported, to: &$0) }
    }

    /// Reads a member of the telemetry; `parent` is where it stands, for a problem's pointer.
    /// - Throws: `JSONError` if the value is not JSON.
    private mutating func telemetryMember(
        _ field: ItemField, _ parent: StaticString, _ telemetry: inout Telemetry,
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        switch field {
        case .locationServices:
            switch cursor.peek(body) {
            case UInt8(ascii: "t"):
                try cursor.literal("true", body)
                telemetry.locationServices = 1
            case UInt8(ascii: "f"):
                try cursor.literal("false", body)
                telemetry.locationServices = 2
            default:
                try skip(&cursor, body)
                note("\(parent)location_services", .malformed, "neither true nor false")
            }
        case .queueDepth:
            guard let depth = try natural(&cursor, body) else {
                return note("\(parent)queue_depth", .malformed, "not an integer from 0 on")
            }
            telemetry.queueDepth = UInt32(min(depth, Int64(Telemetry.queueDepthUnknown) - 1))
        case .permissionStatus:
            telemetry.permissionStatus = try telemetryWord(0, parent, &cursor, body)
        case .powerMode: telemetry.powerMode = try telemetryWord(2, parent, &cursor, body)
        case .appState: telemetry.appState = try telemetryWord(3, parent, &cursor, body)
        case .networkType: telemetry.networkType = try telemetryWord(4, parent, &cursor, body)
        default: try skip(&cursor, body)
        }
    }

    private mutating func telemetryWord(
        _ index: Int, _ parent: StaticString, _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> UInt8 {
        // Read where they stand: a field that is taken out is counted, by all threads in one place.
        guard cursor.peek(body) == UInt8(ascii: "\"") else {
            try skip(&cursor, body)
            note("\(parent)\(Telemetry.fields[index].name)", .malformed, "not a string")
            return 0
        }
        let word = ShortWord(try cursor.string(body), body)
        for value in 1..<Telemetry.fields[index].values.count
        where word == ShortWord(Telemetry.fields[index].values[value]) {
            if value == Telemetry.fields[index].other { break }
            return UInt8(value)
        }
        note("\(parent)\(Telemetry.fields[index].name)", .unknownValue, "unknown value")
        return Telemetry.fields[index].other
    }

    // MARK: - Words

    private enum Words {
        static let duty: [(ShortWord, UInt8)] = [
            ("ON_DUTY", DutyState.onDuty.rawValue), ("ON_MISSION", DutyState.onMission.rawValue),
            ("OFF_DUTY", DutyState.offDuty.rawValue),
        ]
        static let sharing: [(ShortWord, UInt8)] = [
            ("active", Sharing.active.rawValue), ("paused", Sharing.paused.rawValue),
        ]
        static let platform: [(ShortWord, UInt8)] = [
            ("ios", Platform.ios.rawValue), ("android", Platform.android.rawValue),
        ]
        // There is no "off": it counts as the default (N5).
        static let sound: [(ShortWord, UInt8)] = [("default", 0), ("off", 0), ("silent", 1)]
        static let status: [(ShortWord, UInt8)] = [
            ("ONLINE", Status.online.rawValue), ("DEGRADED", Status.degraded.rawValue),
            ("OFFLINE", Status.offline.rawValue), ("UNKNOWN", Status.unknown.rawValue),
        ]
    }
}
