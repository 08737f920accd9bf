/// An item as the JSON that a backend could have sent: what is scanned from it is the item again,
/// byte for byte, but for the push token, which is a secret. Source: V7 (`export`).
enum ItemText {
    /// Appends item `index` of `list`; false if its bytes are damaged, or are about nobody.
    static func append(_ list: ItemList, _ index: Int, to output: inout [UInt8]) -> Bool {
        let range = list.range(of: index)
        guard let first = range.first, let kind = ItemKind(rawValue: list.bytes[first]),
            kind != .nobody
        else { return false }
        var writer = Writer(kind: kind, at: first + 1, end: range.upperBound)
        var object = ObjectWriter(&output)
        var isWhole = true
        while writer.at < writer.end, isWhole {
            isWhole = writer.field(list.bytes.span, &object)
        }
        object.end()
        output = object.bytes
        return isWhole
    }

    /// Returns the text that stands for a push token in a file that travels: two are equal if the
    /// tokens were.
    static func token(_ hash: UInt64) -> [UInt8] { HexText.bytes(hash) }

    /// `StableHash` of what stands for the token of this hash; 0 stays 0, which is none.
    static func hash(ofToken hash: UInt64) -> UInt64 {
        if hash == 0 { return 0 }
        let text = token(hash)
        return StableHash.of(text.span, 0..<text.count)
    }

    /// Goes over an item's fields in their order.
    private struct Writer {
        let kind: ItemKind
        var at: Int
        let end: Int
        /// The updates without a sequence: they stand in one list with the others.
        var unsequenced = ByteRange.empty
        var unsequencedCount: UInt64 = 0

        /// Writes the next field; false if it makes no sense.
        mutating func field(_ bytes: Span<UInt8>, _ object: inout ObjectWriter) -> Bool {
            guard let tag = ItemTag(rawValue: bytes[at]) else { return false }
            at += 1
            if tag == .telemetry { return telemetry(bytes, &object) }
            guard let value = Varint.read(bytes, &at, end) else { return false }
            switch tag {
            case .updates: return updates(value, bytes, &object)
            case .unsequenced: return unsequenced(value, bytes, &object)
            case .responderID, .region, .circles, .osVersion, .appVersion, .manufacturer, .model,
                .installID, .pushToken, .transitionID:
                guard value <= UInt64(end - at) else { return false }
                let text = bytes.extracting(at..<(at + Int(value))).withUnsafeBufferPointer {
                    Array($0)
                }
                at += Int(value)
                self.text(tag, text, &object)
                return true
            default: return number(tag, value, &object)
            }
        }

        private func text(_ tag: ItemTag, _ text: [UInt8], _ object: inout ObjectWriter) {
            switch tag {
            case .responderID: object.text("responder_id", text)
            case .region: object.text("region", text)
            case .osVersion: object.text("os_version", text)
            case .appVersion: object.text("app_version", text)
            case .manufacturer: object.text("manufacturer", text)
            case .model: object.text("model", text)
            case .installID: object.text("install_id", text)
            case .transitionID: object.text("id", text)
            case .pushToken:
                object.text("push_token", token(StableHash.of(text.span, 0..<text.count)))
            default:
                object.array("circles", CircleNames.names(text)) {
                    JSONWriter.string($0, to: &$1)
                }
            }
        }

        private func number(
            _ tag: ItemTag, _ value: UInt64, _ object: inout ObjectWriter
        ) -> Bool {
            let small = UInt8(truncatingIfNeeded: value)
            let time = Int64(bitPattern: value)
            var word: StaticString?
            switch tag {
            case .reportedAt: object.sent(kind == .batch ? "received_at" : "at", time)
            case .pausedUntil: object.sent("paused_until", time)
            case .battery: object.fraction("battery_level", time)
            case .promise: object.integer("next_expected_in", time)
            case .nudgeSound: object.word("nudge_sound", small == 1 ? "silent" : "default")
            case .duty: word = DutyState(rawValue: small)?.word
            case .sharing: word = Sharing(rawValue: small)?.word
            case .platform: word = Platform(rawValue: small)?.word
            case .from, .to: word = Status(rawValue: small)?.word
            // Whoever stands in a journal was known, and need not be enrolled again.
            case .isKnownOnly: break
            default: return false
            }
            switch (tag, word) {
            case (.duty, let word?): object.word("duty_state", word)
            case (.sharing, let word?): object.word("sharing", word)
            case (.platform, let word?): object.word("platform", word)
            case (.from, let word?): object.word("from", word)
            case (.to, let word?): object.word("to", word)
            case (.duty, nil), (.sharing, nil), (.platform, nil), (.from, nil), (.to, nil):
                return false
            default: break
            }
            return time >= 0
        }

        private mutating func telemetry(
            _ bytes: Span<UInt8>, _ object: inout ObjectWriter
        ) -> Bool {
            var telemetry = Telemetry()
            guard ItemReader.telemetry(bytes, &at, end, &telemetry) else { return false }
            object.object("telemetry") { inner in
                for field in Telemetry.fields {
                    let value = Int(field.value(telemetry))
                    guard value > 0 else { continue }
                    if field.values.count == 3 {
                        inner.flag(field.name, value == 1)
                    } else {
                        inner.word(field.name, field.values[value])
                    }
                }
                if telemetry.queueDepth != Telemetry.queueDepthUnknown {
                    inner.integer("queue_depth", Int64(telemetry.queueDepth))
                }
            }
            return true
        }

        private mutating func updates(
            _ count: UInt64, _ bytes: Span<UInt8>, _ object: inout ObjectWriter
        ) -> Bool {
            var item = Item()
            item.updates = ByteRange(offset: at, count: end - at)
            item.unsequenced = unsequenced
            at = end
            return append(item, count, bytes, &object)
        }

        /// Goes over the updates without a sequence; they are written at once if no others follow.
        private mutating func unsequenced(
            _ count: UInt64, _ bytes: Span<UInt8>, _ object: inout ObjectWriter
        ) -> Bool {
            guard count > 0, count <= UInt64(end - at) else { return false }
            let first = at
            for _ in 0..<count where Varint.read(bytes, &at, end) == nil { return false }
            unsequenced = ByteRange(offset: first, count: at - first)
            unsequencedCount = count
            guard at == end || bytes[at] != ItemTag.updates.rawValue else { return true }
            var item = Item()
            item.unsequenced = unsequenced
            return append(item, 0, bytes, &object)
        }

        private func append(
            _ item: Item, _ count: UInt64, _ bytes: Span<UInt8>, _ object: inout ObjectWriter
        ) -> Bool {
            var reader = UpdateReader(item)
            var updates: [Update] = []
            while let update = reader.next(bytes) { updates.append(update) }
            object.array("updates", updates) { update, output in
                var inner = ObjectWriter(&output)
                if !update.isUnsequenced { inner.integer("sequence", update.sequence) }
                if let at = update.capturedAt { inner.sent("captured_at", at.milliseconds) }
                if update.isCached { inner.word("fix", "cached") }
                inner.end()
                output = inner.bytes
            }
            return UInt64(updates.count) == count + unsequencedCount
        }
    }
}

extension ObjectWriter {
    /// Writes a time so that it is read again as what it is: as a number only where that stands for
    /// milliseconds (P1).
    fileprivate mutating func sent(_ name: StaticString, _ milliseconds: Int64) {
        if TimeForm.isMilliseconds(milliseconds) {
            integer(name, milliseconds)
        } else {
            time(name, Timestamp(milliseconds: milliseconds))
        }
    }
}
