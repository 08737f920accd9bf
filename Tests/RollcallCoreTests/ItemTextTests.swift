import Testing

@testable import RollcallCore

/// What an export writes of an item is read as the item again, byte for byte (V7).
@Suite struct ItemTextTests {
    /// Draws bodies with whatever an item may say.
    private struct Bodies {
        private var state: UInt64
        private let kind: ItemKind

        init(seed: Int, kind: ItemKind) {
            state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1
            self.kind = kind
        }

        mutating func next(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }

        private mutating func pick(_ words: [String]) -> String { words[next(words.count)] }

        private mutating func name(_ bytes: Int = 128) -> String {
            let odd = [
                #"\""#, #"\\"#, "é", "日本", "😀", " ", "/", "\u{2028}", #"\u00e9"#, #"\ud83d\ude00"#,
                "\u{FEFF}", "'",
            ]
            let name = (0...next(4)).map { _ in next(2) == 0 ? "r-\(next(99))" : pick(odd) }
            return "\"\(name.joined())\""
        }

        private mutating func time() -> String {
            [
                "\(next(99_999_999_999_999))", "0", "99999999999999",
                "\"2026-11-21T03:00:\(10 + next(50)).\(next(1_000_000))+01:00\"",
            ][next(4)]
        }

        private mutating func telemetry() -> String {
            var members: [String] = []
            for field in Telemetry.fields where next(2) == 0 {
                let word = field.values[1 + next(field.values.count - 1)]
                let isFlag = field.values.count == 3
                let told = "\(word)" == "other" ? "brand_new" : "\(word)"
                members.append("\"\(field.name)\":\(isFlag ? told : "\"\(told)\"")")
            }
            if next(2) == 0 {
                members.append("\"queue_depth\":\(pick(["0", "7", "4294967295", "99999999999"]))")
            }
            return "{\(members.joined(separator: ","))}"
        }

        private mutating func updates() -> String {
            let updates = (0..<next(5)).map { _ in
                "{\"sequence\":\(pick(["0", "\(next(1000))", "9223372036854775807"]))"
                    + (next(3) == 0 ? "" : ",\"captured_at\":\(time())")
                    + (next(3) == 0 ? ",\"fix\":\"cached\"" : "") + "}"
            }
            return "[\(updates.joined(separator: ","))]"
        }

        private mutating func value(_ field: ItemField) -> String {
            switch field {
            case .reportedAt, .pausedUntil: time()
            case .dutyState: pick([#""ON_DUTY""#, #""ON_MISSION""#, #""OFF_DUTY""#, #""ASLEEP""#])
            case .circles: "[\((0..<next(5)).map { _ in name() }.joined(separator: ","))]"
            case .sharing: pick([#""active""#, #""paused""#, #""never""#])
            case .platform: pick([#""ios""#, #""android""#, #""harmony""#])
            case .batteryLevel: pick(["0", "1", "0.\(next(10_000))", "1e-4", "0.99999"])
            case .telemetry: telemetry()
            case .updates: updates()
            case .nudgeSound: pick([#""default""#, #""off""#, #""silent""#, #""loud""#])
            case .from, .to:
                pick([#""ONLINE""#, #""DEGRADED""#, #""OFFLINE""#, #""UNKNOWN""#, #""GONE""#])
            default: name()
            }
        }

        mutating func item() -> String {
            let known: [ItemField] =
                switch kind {
                case .batch:
                    [
                        .reportedAt, .dutyState, .region, .circles, .sharing, .platform, .osVersion,
                        .appVersion, .installID, .batteryLevel, .telemetry, .updates,
                    ]
                case .transition: [.reportedAt, .transitionID]
                default:
                    [
                        .reportedAt, .dutyState, .region, .circles, .sharing, .pausedUntil,
                        .platform,
                        .nudgeSound,
                    ]
                }
            var fields = known.filter { _ in next(2) == 0 } + ItemField.required(kind)
            for index in fields.indices { fields.swapAt(index, next(fields.count)) }
            let members = fields.map { "\"\($0.name(kind))\":\(value($0))" }
            return "{\(members.joined(separator: ","))}"
        }
    }

    private func again(_ list: ItemList, _ kind: ItemKind) throws -> ItemList {
        var text = Array("[".utf8)
        for index in 0..<list.count {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            let isWhole = ItemText.append(list, index, to: &text)
            #expect(isWhole)
        }
        text.append(UInt8(ascii: "]"))
        let limits = ScanLimits(itemsMax: .max, depthMax: 64)
        let scan = try ItemScanner.scan(text.span, kind: kind, limits: limits)
        #expect(scan.rejected.isEmpty)
        return scan.items
    }

    @Test(arguments: [ItemKind.batch, .transition, .responder, .rosterEntry])
    func `an item written and scanned is the same item`(kind: ItemKind) throws {
        for seed in 1...300 {
            var bodies = Bodies(seed: seed, kind: kind)
            let body = "[\((0..<8).map { _ in bodies.item() }.joined(separator: ","))]"
            let list = try ItemScanner.scan(Array(body.utf8).span, kind: kind).items
            #expect(list.count == 8, "\(body)")
            let copy = try again(list, kind)
            #expect(copy.bytes == list.bytes, "\(body)")
            #expect(copy.ends == list.ends)
        }
    }

    @Test func `every level of a battery comes back`() throws {
        for level in 0...10_000 {
            var list = ItemList()
            ItemWriter.bytes(.responderID, [97], to: &list.bytes)
            list.bytes.insert(ItemKind.batch.rawValue, at: 0)
            ItemWriter.number(.battery, UInt64(level), to: &list.bytes)
            list.ends = [list.bytes.count]
            let copy = try again(list, .batch)
            #expect(copy.bytes == list.bytes, "\(level)")
        }
    }

    @Test func `a push token leaves as a hash by which equal ones are known`() throws {
        func token(_ text: String) throws -> [UInt8] {
            let body = Array("{\"responder_id\":\"a\",\"push_token\":\"\(text)\"}".utf8)
            let list = try ItemScanner.scan(body.span, kind: .responder).items
            let copy = try again(list, .responder)
            let item = try #require(copy.item(0))
            let place = try #require(item.pushToken)
            return Array(copy.bytes[place.indices])
        }
        let token1 = try token("ExponentPushToken[abc]")
        let (same, other) = (
            try token("ExponentPushToken[abc]"), try token("ExponentPushToken[abd]")
        )
        #expect(token1 == same)
        #expect(token1 != other)
        #expect(token1.count == 16)
        let text = Array("ExponentPushToken[abc]".utf8)
        let hash = StableHash.of(text.span, 0..<text.count)
        // What a push was sent to is told by the hash of what stands for it.
        #expect(ItemText.hash(ofToken: hash) == StableHash.of(token1.span, 0..<token1.count))
    }

    @Test func `damaged items are refused, not trapped on`() throws {
        let body =
            #"{"responder_id":"a","telemetry":{"queue_depth":5},"updates":[{"sequence":300}]}"#
        let list = try ItemScanner.scan(Array(body.utf8).span, kind: .batch).items
        for end in 0..<list.bytes.count {
            for value in [0, 1, 0x7F, 0xFF] as [UInt8] {
                var damaged = list
                damaged.bytes[end] = value
                var text: [UInt8] = []
                _ = ItemText.append(damaged, 0, to: &text)
            }
            var cut = list
            cut.bytes = Array(cut.bytes[..<end])
            cut.ends = [end]
            var text: [UInt8] = []
            _ = ItemText.append(cut, 0, to: &text)
        }
    }

    @Test func `bytes come back from Base64, and nothing else is taken`() {
        for count in 0...70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            var text: [UInt8] = []
            Base64.append(bytes, to: &text)
            #expect(text.count % 4 == 0)
            #expect(Base64.decoded(text.span, 0..<text.count) == bytes)
        }
        for wrong in ["A", "AAA", "A===", "AA=A", "!AAA", "AAAA=AAA", "====", "A A="] {
            let text = Array(wrong.utf8)
            #expect(Base64.decoded(text.span, 0..<text.count) == nil, "\(wrong)")
        }
        for value in [0, 1, UInt64.max, 0x0123_4567_89AB_CDEF] {
            #expect(HexText.value(HexText.bytes(value)) == value)
        }
        #expect(HexText.value(Array("0123456789abcde".utf8)) == nil)
    }
}
