/// The values at named pointers: what is looked at of a body.
extension InputReader {
    /// Bytes of a word at most.
    static let wordBytesMax = 64
    /// Bytes of a topic at most.
    static let topicBytesMax = 512
    /// Bytes of a text that is a time or a number at most.
    private static let numberBytesMax = 64

    /// The value of `ref`.
    func token(_ ref: InputMapping.Ref) -> InputToken {
        ref.isOfRoot ? rootTokens[ref.slot] : itemTokens[ref.slot]
    }

    /// The pointer of `ref`, from the body on.
    func pointer(_ ref: InputMapping.Ref) -> String {
        ref.isOfRoot
            ? mapping.rootPlan.slots[ref.slot] : place.text + mapping.itemPlan.slots[ref.slot]
    }

    private func hasText(_ token: InputToken) -> Bool { token.isThere && !isEmpty(token) }

    /// True for a text without a character.
    func isEmpty(_ token: InputToken) -> Bool {
        (token.kind == .string || token.kind == .escaped) && token.range.isEmpty
    }

    /// A value as a text of at most `bytesMax` bytes; nil if it is none.
    func text(_ token: InputToken, _ body: Span<UInt8>, bytesMax: Int) -> [UInt8]? {
        switch token.kind {
        case .string, .number:
            guard token.range.count <= bytesMax else { return nil }
            return body.extracting(token.range).withUnsafeBufferPointer { Array($0) }
        case .escaped:
            guard token.range.count <= bytesMax * JSONText.escapeBytesMax else { return nil }
            let decoded = JSONText.decoded(
                JSONCursor.StringToken(range: token.range, isEscaped: true), body)
            return decoded.count <= bytesMax ? decoded : nil
        case .yes: return Array("true".utf8)
        case .no: return Array("false".utf8)
        case .absent, .container, .twice: return nil
        }
    }

    /// True if a value as a text is `word`.
    func isText(_ token: InputToken, _ word: [UInt8], _ body: Span<UInt8>) -> Bool {
        switch token.kind {
        case .string, .number:
            body.extracting(token.range).bytes.isSame(as: word.span.bytes)
        default: text(token, body, bytesMax: Self.wordBytesMax) == word
        }
    }

    /// A value as an id: a string, or an integer, which is the same as its digits (P4).
    func text(ofID token: InputToken, _ body: Span<UInt8>) -> [UInt8]? {
        switch token.kind {
        case .string, .escaped:
            // One byte more than allowed, so that what is too long is told as that.
            return text(token, body, bytesMax: body.count)
        case .number:
            guard JSONText.natural(body, token.range) != nil else { return nil }
            return text(token, body, bytesMax: Self.wordBytesMax)
        default: return nil
        }
    }

    /// True for a text that may be a name.
    static func isName(_ text: [UInt8]) -> Bool {
        let token = JSONCursor.StringToken(range: 0..<text.count, isEscaped: false)
        return ItemScanner.isName(token, text.span, ItemScanner.nameBytesMax)
            && (text.allSatisfy { $0 < 0x80 } || String(validating: text, as: UTF8.self) != nil)
    }

    // MARK: - Numbers

    /// A number, also one in quotes; nil for all else.
    private func number(_ token: InputToken, _ body: Span<UInt8>) -> Double? {
        numberRange(token, body).flatMap { JSONText.double(body, $0) }
    }

    /// An integer from 0 to 2⁶³−1, also one in quotes; nil for all else.
    func natural(_ token: InputToken, _ body: Span<UInt8>) -> Int64? {
        guard token.kind == .number || token.kind == .string else { return nil }
        return JSONText.natural(body, token.range)
    }

    /// Returns where a number stands, also one in quotes; nil for what is none.
    private func numberRange(_ token: InputToken, _ body: Span<UInt8>) -> Range<Int>? {
        if token.kind == .number { return token.range }
        guard token.kind == .string, token.range.count <= Self.numberBytesMax else { return nil }
        var cursor = JSONCursor(range: token.range, depthMax: 3)
        guard let range = try? cursor.number(body), range == token.range else { return nil }
        return range
    }

    // MARK: - Times

    /// The instant of a capture; nil if there is none, which is noted if it is there.
    mutating func time(
        of capture: InputMapping.Capture, _ body: Span<UInt8>
    ) -> Timestamp? {
        switch capture {
        case .never: nil
        case .arrival: request.arrival
        case .at(let refs, let unit):
            refs.contains { hasText(token($0)) } || !mapping.description.isCapturedOnArrival
                ? firstTime(refs, unit, body) : request.arrival
        }
    }

    /// The time at the first of `refs` that has a value; nil if it is none, which is noted.
    mutating func firstTime(
        _ refs: [InputMapping.Ref], _ unit: InputDescription.Unit, _ body: Span<UInt8>
    ) -> Timestamp? {
        for ref in refs {
            let token = token(ref)
            guard token.isThere, !isEmpty(token) else { continue }
            if let (time, form) = time(token, unit, body) {
                reading.scan.countTime(form)
                return time
            }
            refuse(token, ref, SentAt.fault)
            return nil
        }
        return nil
    }

    private func time(
        _ token: InputToken, _ unit: InputDescription.Unit, _ body: Span<UInt8>
    ) -> (time: Timestamp, form: TimeForm)? {
        if let range = numberRange(token, body) {
            return TimeForm.time(body, range, unit)
        }
        guard let text = text(token, body, bytesMax: Self.numberBytesMax) else { return nil }
        return Self.date(text, isUTC: unit == .osmand).map { ($0, .rfc3339) }
    }

    /// A date as RFC 3339 has it, or with an offset without its colon, as Foundation's formatters
    /// write it (`2015-10-01T08:00:00-0700`); with `isUTC` also one without an offset.
    private static func date(_ text: [UInt8], isUTC: Bool) -> Timestamp? {
        if let time = RFC3339.parse(text.span, 0..<text.count) { return time }
        var text = text
        let sign = text.count - 5
        if sign > 0, text[sign] == UInt8(ascii: "+") || text[sign] == UInt8(ascii: "-"),
            text[(sign + 1)...].allSatisfy({ $0 &- UInt8(ascii: "0") <= 9 })
        {
            text.insert(UInt8(ascii: ":"), at: text.count - 2)
        } else if isUTC {
            text.append(UInt8(ascii: "Z"))
        }
        return RFC3339.parse(text.span, 0..<text.count)
    }

    // MARK: - Facts

    /// Writes the facts of the item that was captured last, and those that hold for all.
    mutating func facts(_ body: Span<UInt8>) {
        var telemetry: Telemetry?
        for fact in mapping.facts {
            guard let ref = fact.refs.first(where: { hasText(self.token($0)) })
            else { continue }
            let token = self.token(ref)
            if token.kind == .container || token.kind == .twice {
                refuse(token, ref, "")
            } else if fact.field.words != nil {
                word(fact, token, ref, &telemetry, body)
            } else if fact.field == .batteryLevel {
                battery(fact, token, ref, body)
            } else if fact.field == .queueDepth {
                depth(fact, token, ref, &telemetry, body)
            } else {
                text(fact, token, ref, body)
            }
        }
        let fixed = request.fixed
        if !fixed.region.isEmpty { write(.region, fixed.region) }
        if let duty = fixed.duty { write(.duty, duty.rawValue) }
        if let platform = fixed.platform { write(.platform, platform.rawValue) }
        if let telemetry { ItemWriter.telemetry(telemetry, to: &reading.scan.items.bytes) }
    }

    /// Notes a value that cannot be taken for what it should be.
    private mutating func refuse(
        _ token: InputToken, _ ref: InputMapping.Ref, _ detail: String
    ) {
        switch token.kind {
        case .container: note(.ref(ref), .malformed, "an object or an array, not a value")
        case .twice: note(.ref(ref), .duplicateKey, ItemScanner.twice)
        default: note(.ref(ref), .malformed, detail)
        }
    }

    private mutating func write(_ tag: ItemTag, _ code: UInt8) {
        ItemWriter.number(tag, UInt64(code), to: &reading.scan.items.bytes)
    }

    private mutating func write(_ tag: ItemTag, _ text: [UInt8]) {
        ItemWriter.bytes(tag, text, to: &reading.scan.items.bytes)
    }

    private mutating func word(
        _ fact: InputMapping.Fact, _ token: InputToken, _ ref: InputMapping.Ref,
        _ telemetry: inout Telemetry?, _ body: Span<UInt8>
    ) {
        var code: UInt8?
        if let known = fact.codes.first(where: { isText(token, $0.text, body) }) {
            code = known.code
        } else {
            note(.ref(ref), .unknownValue, "unknown value")
            code = fact.field.other
        }
        guard let code else { return }
        switch fact.field {
        case .platform: if request.fixed.platform == nil { write(.platform, code) }
        case .dutyState: if request.fixed.duty == nil { write(.duty, code) }
        case .sharing: write(.sharing, code)
        default:
            var reported = telemetry ?? Telemetry()
            reported.set(fact.field, code)
            telemetry = reported
        }
    }

    private mutating func battery(
        _ fact: InputMapping.Fact, _ token: InputToken, _ ref: InputMapping.Ref,
        _ body: Span<UInt8>
    ) {
        guard let level = number(token, body) else {
            return refuse(token, ref, "not a number")
        }
        // Below zero it means in all clients that nobody knows.
        if level < 0 { return }
        let share = (level * fact.scale * 10_000).rounded()
        guard share <= 10_000 else {
            return note(.ref(ref), .outOfRange, "beyond a full battery")
        }
        ItemWriter.number(.battery, UInt64(share), to: &reading.scan.items.bytes)
    }

    private mutating func depth(
        _ fact: InputMapping.Fact, _ token: InputToken, _ ref: InputMapping.Ref,
        _ telemetry: inout Telemetry?, _ body: Span<UInt8>
    ) {
        guard let depth = number(token, body), depth >= 0 else {
            return refuse(token, ref, "not a number from 0 on")
        }
        var reported = telemetry ?? Telemetry()
        let most = Double(Telemetry.queueDepthUnknown - 1)
        reported.queueDepth = UInt32(min((depth * fact.scale).rounded(), most))
        telemetry = reported
    }

    private mutating func text(
        _ fact: InputMapping.Fact, _ token: InputToken, _ ref: InputMapping.Ref,
        _ body: Span<UInt8>
    ) {
        if fact.field == .region, !request.fixed.region.isEmpty { return }
        // A version may be a number; who made a phone, and which, is none (P6).
        let isMake = fact.field == .manufacturer || fact.field == .model
        guard token.kind == .string || token.kind == .escaped || token.kind == .number && !isMake
        else {
            return refuse(token, ref, "not a string")
        }
        let most = isMake ? ItemScanner.makeBytesMax : ItemScanner.nameBytesMax
        guard let text = text(token, body, bytesMax: most), Self.isName(text) else {
            return note(
                .ref(ref), .outOfRange, "1 to \(most) bytes without control characters expected")
        }
        if PlaceText.isIn(text) {
            return note(.ref(ref), .coordinate, ItemScanner.placeRefusal)
        }
        switch fact.field {
        case .osVersion: write(.osVersion, text)
        case .appVersion: write(.appVersion, text)
        case .manufacturer: write(.manufacturer, text)
        case .model: write(.model, text)
        case .installID: write(.installID, text)
        default: write(.region, text)
        }
    }
}

extension Telemetry {
    /// Sets a field of a closed set.
    fileprivate mutating func set(_ field: InputField, _ code: UInt8) {
        switch field {
        case .permissionStatus: permissionStatus = code
        case .locationServices: locationServices = code
        case .powerMode: powerMode = code
        case .appState: appState = code
        case .networkType: networkType = code
        default: break
        }
    }
}
