import RollcallCore
import Testing

/// Strict about JSON, lenient about content. Source: I7, F6, F15, F20.
@Suite struct ScannerTests {
    // MARK: - JSON (RFC 8259)

    private func isJSON(_ bytes: [UInt8], depthMax: Int = 16) -> Bool {
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: depthMax)
        do throws(JSONError) {
            try cursor.skipValue(bytes.span)
            try cursor.finish(bytes.span)
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: [
        "{}", "[]", "\"\"", "0", "-0", "7", "-7", "10", "0.5", "-0.50", "1e5", "1E-5", "1.25e+10",
        "123456789012345678901234567890", "1e999", "true", "false", "null", " \t\r\n[ ] ",
        "[1,\"2\",true,null,{}]", #"{"a":{"b":[{}]},"a":2,"":0}"#, #""\"\\\/\b\f\n\r\t""#,
        #""\u0041\uD83D\uDE00\ud83d\ude00""#, "\"é€😀\u{7F}\"", #"{"a" : 1 , "b" : [ 1 , 2 ] }"#,
        "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", "[[],[[],[]],{}]",
    ])
    func `what the standard allows is read`(text: String) {
        #expect(isJSON(Array(text.utf8)))
    }

    @Test(arguments: [
        "", " ", "{", "}", "[", "]", "{]", "[}", "[1,]", "[,1]", "[1 2]", "[1,,2]", "[1]]", "1 2",
        #"{"a":1,}"#, #"{,"a":1}"#, #"{"a" 1}"#, #"{"a":}"#, #"{"a"}"#, "{a:1}", "{1:2}", "'a'",
        #"{"a":1 "b":2}"#, #"{"a":1;"b":2}"#, "01", "-01", "00", "1.", ".5", "+1", "-", "--1", "1e",
        "1e+", "1.e1", "0x1", "1_000", "NaN", "Infinity", "-Infinity", "tru", "True", "nul",
        "nulll",
        "truefalse", "\"", "\"abc", "\"\\\"", #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#,
        #""\ud800\u0041""#, #""\udc00""#, #""\ud800x""#, "\"\u{0}\"", "\"\u{1F}\"", "\"\t\"",
        "\"\n\"",
        "// no\n1", "1 /* no */", "\u{FEFF}1", "\u{A0}1", "undefined", "[1,2", #"{"a":[}"#,
        "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]",
    ])
    func `what the standard forbids is not`(text: String) {
        #expect(!isJSON(Array(text.utf8)))
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func `a string that is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(!isJSON([0x22] + bytes + [0x22]))
        #expect(!isJSON([0x22] + bytes))
    }

    @Test(
        arguments: [
            [0x24], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF],
            [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80],
            [0xF4, 0x8F, 0xBF, 0xBF],
        ] as [[UInt8]])
    func `the first and the last characters of each length are UTF-8`(bytes: [UInt8]) {
        #expect(isJSON([0x22] + bytes + [0x22]))
    }

    @Test(arguments: [3, 16, 64])
    func `containers nest up to the limit and not one deeper`(limit: Int) {
        func nested(_ depth: Int) -> [UInt8] {
            let opening = (0..<depth).map { $0 % 2 == 0 ? "[" : "{\"k\":" }.joined()
            let closing = (0..<depth).reversed().map { $0 % 2 == 0 ? "]" : "}" }.joined()
            return Array((opening + "0" + closing).utf8)
        }
        #expect(isJSON(nested(limit), depthMax: limit))
        #expect(!isJSON(nested(limit + 1), depthMax: limit))
    }

    @Test func `naturals are read up to the largest`() {
        func natural(_ text: String) -> Int64? {
            let bytes = Array(text.utf8)
            return JSONText.natural(bytes.span, 0..<bytes.count)
        }
        #expect(natural("0") == 0)
        #expect(natural("9223372036854775807") == .max)
        for text in ["9223372036854775808", "10000000000000000000", "-1", "1.0", "1e2", ""] {
            #expect(natural(text) == nil)
        }
    }

    // MARK: - Bodies

    private func scan(
        _ text: String, _ kind: ItemKind = .batch, format: BodyFormat = .json,
        limits: ScanLimits = ScanLimits()
    ) throws -> ScanResult {
        try ItemScanner.scan(Array(text.utf8).span, kind: kind, format: format, limits: limits)
    }

    private func ids(_ result: ScanResult) -> [String] {
        (0..<result.items.count).map { index in
            result.items.item(index).map { text($0.responderID, result) ?? "" } ?? "damaged"
        }
    }

    private func text(_ range: ByteRange?, _ result: ScanResult) -> String? {
        range.map { String(decoding: result.items.bytes[$0.indices], as: UTF8.self) }
    }

    private func updates(_ item: Item, _ result: ScanResult) -> [Update] {
        var reader = UpdateReader(item)
        var updates: [Update] = []
        while let update = reader.next(result.items.bytes.span) { updates.append(update) }
        return updates
    }

    @Test func `the batch of the contract is read whole`() throws {
        let result = try scan(
            """
            {"responder_id":"r-17","received_at":"2026-11-21T03:00:05.120Z",
             "duty_state":"ON_DUTY","region":"north","circles":["c-9"],"sharing":"active",
             "platform":"ios","os_version":"18.2","app_version":"4.1.0","install_id":"b1f0",
             "battery_level":0.62,
             "telemetry":{"permission_status":"granted","location_services":true,
                          "power_mode":"normal","app_state":"background","queue_depth":5,
                          "network_type":"cellular"},
             "updates":[{"sequence":4711,"captured_at":"2026-11-21T03:00:01Z"},
                        {"sequence":4712,"captured_at":"2026-11-21T03:00:04Z","fix":"cached"}]}
            """)
        #expect(result.rejected.isEmpty && result.problems.isEmpty)
        #expect(result.privateFieldsDropped == 0)
        let item = try #require(result.items.item(0))
        #expect(item.kind == .batch)
        #expect(text(item.responderID, result) == "r-17")
        #expect(item.reportedAt?.milliseconds == 1_795_230_005_120)
        #expect(item.duty == .onDuty)
        #expect(text(item.region, result) == "north")
        let circles = item.circles.map { CircleNames.names(Array(result.items.bytes[$0.indices])) }
        #expect(circles == [Array("c-9".utf8)])
        #expect(item.sharing == .active)
        #expect(item.platform == .ios)
        #expect(text(item.osVersion, result) == "18.2")
        #expect(text(item.appVersion, result) == "4.1.0")
        #expect(text(item.installID, result) == "b1f0")
        #expect(item.battery == 6200)
        var telemetry = Telemetry()
        (telemetry.permissionStatus, telemetry.locationServices, telemetry.powerMode) = (1, 1, 1)
        (telemetry.appState, telemetry.queueDepth, telemetry.networkType) = (2, 5, 2)
        #expect(item.telemetry == telemetry)
        let first = Timestamp(milliseconds: 1_795_230_001_000)
        let second = Timestamp(milliseconds: 1_795_230_004_000)
        #expect(
            updates(item, result) == [
                Update(sequence: 4711, capturedAt: first, isCached: false),
                Update(sequence: 4712, capturedAt: second, isCached: true),
            ])
    }

    @Test func `what a batch does not say stays unsaid`() throws {
        let result = try scan(#"{"responder_id":"41"}"#)
        let item = try #require(result.items.item(0))
        #expect(
            item.reportedAt == nil && item.duty == nil && item.region == nil && item.circles == nil)
        #expect(item.sharing == nil && item.platform == nil && item.battery == nil)
        #expect(item.telemetry == nil && item.installID == nil && item.updateCount == 0)
    }

    @Test func `facts and transitions are read with their own members`() throws {
        let fact = try scan(
            #"{"responder_id":"41","duty_state":"OFF_DUTY","region":"n","circles":[],"#
                + #""sharing":"paused","paused_until":1795230000000,"platform":"android","#
                + #""push_token":"t","nudge_sound":"silent","at":"2026-11-21T03:00:00Z"}"#,
            .responder)
        let item = try #require(fact.items.item(0))
        #expect(fact.problems.isEmpty && item.kind == .responder)
        #expect(item.duty == .offDuty && item.sharing == .paused && item.platform == .android)
        #expect(item.pausedUntil?.milliseconds == 1_795_230_000_000)
        #expect(item.reportedAt == item.pausedUntil)
        #expect(text(item.pushToken, fact) == "t" && item.nudgeSound == 1)
        #expect(item.circles.map { $0.count } == 0)
        let transition = try scan(
            #"{"responder_id":"41","from":"ONLINE","to":"OFFLINE","at":7,"reason":"r","id":"x"}"#,
            .transition)
        let told = try #require(transition.items.item(0))
        #expect(
            told.from == .online && told.to == .offline && told.reportedAt?.milliseconds == 7000)
        #expect(text(told.transitionID, transition) == "x")
    }

    @Test func `a body is one object, an array, or lines`() throws {
        #expect(ids(try scan(#" {"responder_id":"a"} "#)) == ["a"])
        #expect(ids(try scan(#"[{"responder_id":"a"},{"responder_id":"b"}]"#)) == ["a", "b"])
        #expect(try scan("[]").itemCount == 0)
        let lines =
            "{\"responder_id\":\"a\"}\n\n \r\n{\"responder_id\":\"b\"}\r\n{\"responder_id\":\"c\"}"
        #expect(ids(try scan(lines, format: .lines)) == ["a", "b", "c"])
    }

    @Test(arguments: [
        "", " ", "{", "[", #"[{"responder_id":"a"}"#, #"[{"responder_id":"a"},]"#,
        #"{"responder_id":"a"}{"responder_id":"b"}"#, #"[{"responder_id":"a"}] x"#,
        #"[{"responder_id":"a"},{"responder_id":01}]"#, #"{"responder_id":"a","x":[1,]}"#,
    ])
    func `a body that is not JSON is refused whole`(body: String) {
        let error = #expect(throws: ScanError.self) { try scan(body) }
        guard case .notJSON = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
    }

    @Test func `items are limited, at the limit and one past it`() throws {
        let limits = ScanLimits(itemsMax: 3, depthMax: 16)
        func list(_ count: Int) -> [String] { (0..<count).map { #"{"responder_id":"\#($0)"}"# } }
        for (format, open, separator, close) in [
            (BodyFormat.json, "[", ",", "]"), (.lines, "", "\n", "\n"),
        ] {
            let three = open + list(3).joined(separator: separator) + close
            #expect(try scan(three, format: format, limits: limits).items.count == 3)
            let four = open + list(4).joined(separator: separator) + close
            #expect(throws: ScanError.tooManyItems(limit: 3)) {
                try scan(four, format: format, limits: limits)
            }
        }
        #expect(ScanLimits().itemsMax == 10_000 && ScanLimits().depthMax == 16)
    }

    @Test func `bodies nest up to 16 deep`() throws {
        func body(_ depth: Int) -> String {
            let inner = depth - 1
            return #"{"responder_id":"a","x":"# + String(repeating: "[", count: inner)
                + String(repeating: "]", count: inner) + "}"
        }
        #expect(try scan(body(16)).items.count == 1)
        #expect(throws: ScanError.self) { try scan(body(17)) }
        let lines = try scan(body(17) + "\n" + body(16), format: .lines)
        #expect(lines.items.count == 1 && lines.rejected.map(\.index) == [0])
    }

    // MARK: - Items

    @Test func `a bad line costs itself alone`() throws {
        let result = try scan(
            """
            {"responder_id":"a","updates":[{"sequence":1}]}
            {"responder_id":"b","updates":[{"sequence":2}],
            {"responder_id":"c"} x
            [{"responder_id":"d"}]
            {"responder_id":"e","updates":[{"sequence":5}]}
            """, format: .lines)
        #expect(ids(result) == ["a", "e"])
        #expect(result.places == [0, 4])
        #expect(result.rejected.map(\.index) == [1, 2, 3])
        #expect(result.rejected.map(\.pointer) == ["", "", ""])
        #expect(result.itemCount == 5)
        let last = try #require(result.items.item(1))
        #expect(updates(last, result).map(\.sequence) == [5])
    }

    @Test func `an item of an array that is no object costs itself alone`() throws {
        let result = try scan(#"[7,{"responder_id":"a"},[],"x",null,{"responder_id":"b"}]"#)
        #expect(ids(result) == ["a", "b"])
        #expect(result.places == [1, 5])
        #expect(result.rejected.map(\.index) == [0, 2, 3, 4])
    }

    @Test(arguments: [
        (#"{}"#, "/responder_id", ItemFault.missing),
        (#"{"responder_id":7.5}"#, "/responder_id", .malformed),
        (#"{"responder_id":""}"#, "/responder_id", .outOfRange),
        (#"{"responder_id":"a\u0000"}"#, "/responder_id", .outOfRange),
        (#"{"responder_id":"a\nb"}"#, "/responder_id", .outOfRange),
        ("{\"responder_id\":\"a\u{7F}\"}", "/responder_id", .outOfRange),
        ("{\"responder_id\":\"a\u{85}\"}", "/responder_id", .outOfRange),
        (#"{"responder_id":"a","received_at":"yesterday"}"#, "/received_at", .malformed),
        (#"{"responder_id":"a","received_at":"1795230000000"}"#, "/received_at", .malformed),
        (#"{"responder_id":"a","received_at":-1}"#, "/received_at", .malformed),
        (#"{"responder_id":"a","received_at":{}}"#, "/received_at", .malformed),
        (#"{"received_at":{},"responder_id":7}"#, "/received_at", .malformed),
    ])
    func `a batch without an identity or a readable received_at is rejected`(
        item: String, pointer: String, fault: ItemFault
    ) throws {
        let result = try scan("[\(item),{\"responder_id\":\"b\"}]")
        #expect(ids(result) == ["b"])
        #expect(result.rejected.map(\.pointer) == [pointer])
        #expect(result.rejected.map(\.fault) == [fault])
    }

    @Test(arguments: [
        (#"{"from":"ONLINE","to":"OFFLINE"}"#, "/responder_id"),
        (#"{"responder_id":"a","to":"OFFLINE"}"#, "/from"),
        (#"{"responder_id":"a","from":"ONLINE"}"#, "/to"),
        (#"{"responder_id":"a","from":"ONLINE","to":7}"#, "/to"),
        (#"{"responder_id":"a","from":[],"to":"OFFLINE"}"#, "/from"),
    ])
    func `a transition without its required members is rejected`(item: String, pointer: String)
        throws
    {
        let result = try scan(item, .transition)
        #expect(result.items.count == 0)
        #expect(result.rejected.map(\.pointer) == [pointer])
    }

    @Test(arguments: [ItemKind.transition, .responder, .rosterEntry])
    func `an unreadable at is a problem of the item, not its end`(kind: ItemKind) throws {
        let result = try scan(
            #"{"responder_id":"a","from":"ONLINE","to":"OFFLINE","at":"soon"}"#, kind)
        #expect(ids(result) == ["a"])
        let known = result.problems.filter { $0.fault != .unknownField }
        #expect(known.map(\.pointer) == ["/at"])
        #expect(result.items.item(0)?.reportedAt == nil)
    }

    @Test func `names have 1 to 128 bytes, escapes count as what they stand for`() throws {
        func batch(_ id: String) -> String { #"{"responder_id":"\#(id)"}"# }
        #expect(try scan(batch(String(repeating: "x", count: 128))).items.count == 1)
        #expect(try scan(batch(String(repeating: "x", count: 129))).rejected.count == 1)
        #expect(try scan(batch(String(repeating: "é", count: 64))).items.count == 1)
        #expect(try scan(batch(String(repeating: "é", count: 64) + "x")).rejected.count == 1)
        let escaped = try scan(batch(String(repeating: #"\u0041"#, count: 128)))
        #expect(ids(escaped) == [String(repeating: "A", count: 128)])
        #expect(try scan(batch(String(repeating: #"\u0041"#, count: 129))).rejected.count == 1)
    }

    // MARK: - Problems

    @Test(arguments: [
        (#""battery_level":1.01"#, "/battery_level"), (#""battery_level":-0.01"#, "/battery_level"),
        (#""battery_level":"full""#, "/battery_level"),
        (#""battery_level":1e400"#, "/battery_level"),
        (#""duty_state":7"#, "/duty_state"), (#""duty_state":"LUNCH""#, "/duty_state"),
        (#""sharing":"ghost""#, "/sharing"), (#""platform":"palm""#, "/platform"),
        (#""region":"""#, "/region"), (#""region":["n"]"#, "/region"),
        (#""install_id":9"#, "/install_id"), (#""circles":"c""#, "/circles"),
        (#""circles":["a",7,"b"]"#, "/circles/1"), (#""circles":["a","b",""]"#, "/circles/2"),
        (#""telemetry":[]"#, "/telemetry"),
        (#""telemetry":{"queue_depth":-1}"#, "/telemetry/queue_depth"),
        (#""telemetry":{"queue_depth":1.5}"#, "/telemetry/queue_depth"),
        (#""telemetry":{"location_services":"on"}"#, "/telemetry/location_services"),
        (#""telemetry":{"network_type":"pigeon"}"#, "/telemetry/network_type"),
        (#""updates":{}"#, "/updates"), (#""updates":[{"sequence":1},7]"#, "/updates/1"),
        (#""updates":[{"fix":"cached"}]"#, "/updates/0"),
        (#""updates":[{"sequence":-1}]"#, "/updates/0/sequence"),
        (#""updates":[{"sequence":1.5}]"#, "/updates/0/sequence"),
        (#""updates":[{"sequence":"1"}]"#, "/updates/0/sequence"),
        (#""updates":[{"sequence":9223372036854775808}]"#, "/updates/0/sequence"),
        (
            #""updates":[{"sequence":1},{"sequence":2,"captured_at":"now"}]"#,
            "/updates/1/captured_at"
        ),
    ])
    func `a value that cannot be read costs itself and is named`(member: String, pointer: String)
        throws
    {
        let result = try scan(
            #"[{"responder_id":"a"},{"responder_id":"b",\#(member),"os_version":"9"}]"#)
        #expect(ids(result) == ["a", "b"])
        #expect(result.problems.map(\.pointer) == [pointer])
        #expect(result.problems.map(\.index) == [1])
        #expect(ItemFault.allCases.map(result.problemCount).reduce(0, +) == 1)
        #expect(result.rejected.isEmpty)
        #expect(text(result.items.item(1)?.osVersion, result) == "9")
    }

    @Test(arguments: [
        ("0", 0, TimeForm.seconds), ("1795230005", 1_795_230_005_000, .seconds),
        ("1795230005.1209", 1_795_230_005_120, .seconds),
        ("1795230005.5", 1_795_230_005_500, .seconds),
        ("99999999999", 99_999_999_999_000, .seconds),
        ("100000000000", 100_000_000_000, .milliseconds),
        ("1795230005120", 1_795_230_005_120, .milliseconds),
        ("1795230005120.9", 1_795_230_005_120, .milliseconds),
        ("99999999999999", 99_999_999_999_999, .milliseconds),
        ("1.7e12", 1_700_000_000_000, .milliseconds), ("1e9", 1_000_000_000_000, .seconds),
        ("1.7952300051209E9", 1_795_230_005_120, .seconds),
        ("17952300051209e-1", 1_795_230_005_120, .milliseconds),
        ("17952300051209e-4", 1_795_230_005_120, .seconds), ("0e99999999999", 0, .seconds),
        ("1795230005e+0", 1_795_230_005_000, .seconds), ("1e-99999999999", 0, .seconds),
        ("0.00000000000000000017e31", 1_700_000_000_000, .milliseconds),
        (#""2026-11-21T03:00:05.120Z""#, 1_795_230_005_120, .rfc3339),
    ])
    func `P1: a number is seconds or milliseconds by its magnitude, and that is counted`(
        told: String, milliseconds: Int64, form: TimeForm
    ) throws {
        let result = try scan(#"{"responder_id":"a","received_at":\#(told)}"#)
        #expect(result.items.item(0)?.reportedAt?.milliseconds == milliseconds)
        for other in TimeForm.allCases {
            #expect(result.timesRead[Int(other.rawValue)] == (other == form ? 1 : 0))
        }
    }

    @Test(arguments: [
        "100000000000000", "-1", "1e14", "-1.7e12", "1e99999999999", "9999999999999999999999",
        "92233720368547758079e0", "true", #""1795230005""#,
    ])
    func `P1: any other number is no time, and rejects the batch`(told: String) throws {
        let result = try scan(#"{"responder_id":"a","received_at":\#(told)}"#)
        #expect(result.rejected.map(\.pointer) == ["/received_at"] && result.items.count == 0)
        #expect(result.timesRead.indices.allSatisfy { result.timesRead[$0] == 0 })
    }

    @Test func `good updates around a bad one are taken`() throws {
        let result = try scan(
            #"{"responder_id":"a","updates":[{"sequence":1},{"sequence":-1},{},"#
                + #"{"sequence":9223372036854775807,"captured_at":0},[2],"#
                + #"{"sequence":0,"captured_at":99999999999999}]}"#)
        let item = try #require(result.items.item(0))
        let last = Timestamp(milliseconds: 99_999_999_999_999)
        #expect(
            updates(item, result) == [
                Update(sequence: 1, capturedAt: nil, isCached: false),
                Update(sequence: .max, capturedAt: Timestamp(milliseconds: 0), isCached: false),
                Update(sequence: 0, capturedAt: last, isCached: false),
            ])
        #expect(item.updateCount == 3 && result.problems.count == 3)
    }

    @Test func `an unknown value becomes other and is counted, a duty state is dropped`() throws {
        let result = try scan(
            #"{"responder_id":"a","duty_state":"LUNCH","sharing":"ghost","platform":"palm","#
                + #""telemetry":{"permission_status":"maybe","power_mode":"turbo","#
                + #""app_state":"asleep","network_type":"pigeon"}}"#)
        let item = try #require(result.items.item(0))
        #expect(item.duty == nil && item.sharing == nil)
        #expect(item.platform == .other)
        for (field, value) in [(0, 3), (2, 3), (3, 3), (4, 4)] {
            #expect(item.telemetry.map { Int(Telemetry.fields[field].value($0)) } == value)
        }
        #expect(result.problemCount(.unknownValue) == 7)
    }

    /// N5.
    @Test(arguments: [("off", 0, 0), ("default", 0, 0), ("silent", 1, 0), ("loud", 0, 1)])
    func `only an explicit silent is silent`(word: String, sound: UInt8, unknown: Int) throws {
        let result = try scan(#"{"responder_id":"a","nudge_sound":"\#(word)"}"#, .responder)
        #expect(result.items.item(0)?.nudgeSound == sound)
        #expect(result.problemCount(.unknownValue) == unknown)
    }

    @Test(arguments: [(0, 0), (1, 1), (100, 100), (101, 100), (250, 100)])
    func `all problems are counted, a hundred are listed`(count: Int, listed: Int) throws {
        let updates = Array(repeating: "7", count: count).joined(separator: ",")
        let result = try scan(#"{"responder_id":"a","updates":[\#(updates)]}"#)
        #expect(result.problems.count == listed)
        #expect(ItemFault.allCases.map(result.problemCount).reduce(0, +) == count)
    }

    @Test func `circles are limited, at the limit and one past it`() throws {
        func batch(_ count: Int) -> String {
            let names = (0..<count).map { "\"c\($0)\"" }.joined(separator: ",")
            return #"{"responder_id":"a","circles":[\#(names)]}"#
        }
        for (count, problems) in [(ItemScanner.circlesMax, 0), (ItemScanner.circlesMax + 1, 1)] {
            let result = try scan(batch(count))
            let circles = try #require(result.items.item(0)?.circles)
            let names = CircleNames.names(Array(result.items.bytes[circles.indices]))
            #expect(names.count == ItemScanner.circlesMax && result.problems.count == problems)
        }
    }

    // MARK: - Private fields

    @Test(arguments: [
        "lat", "latitude", "lng", "lon", "longitude", "coords", "coordinates", "location", "geo",
        "altitude", "heading", "speed", #"l\u0061t"#, #"\u006Cng"#,
    ])
    func `a place on earth is dropped unread wherever it stands`(name: String) throws {
        for value in ["48.2", #""48.2""#, #"{"lat":48.2,"x":[{"lng":48.2}]}"#, "[48.2,[48.2]]"] {
            let secret = #""\#(name)":\#(value)"#
            let nested = try scan(
                #"{\#(secret),"responder_id":"a","updates":[{"sequence":1,\#(secret)}],"#
                    + #""telemetry":{\#(secret),"queue_depth":1},"#
                    + #""extra":[{"deep":{\#(secret)}},{\#(secret)}]}"#)
            #expect(nested.privateFieldsDropped == 5)
            #expect(nested.problems.map(\.pointer) == ["/extra"] && nested.items.count == 1)
            #expect(!String(decoding: nested.items.bytes, as: UTF8.self).contains("48.2"))
            for kind in [ItemKind.transition, .responder, .rosterEntry] {
                let result = try scan(
                    #"{"responder_id":"a","from":"ONLINE","to":"OFFLINE",\#(secret)}"#, kind)
                #expect(result.privateFieldsDropped == 1 && result.items.count == 1)
            }
        }
    }

    @Test func `names that only resemble places are unknown like any other`() throws {
        let result = try scan(
            #"{"responder_id":"a","latency":1,"longest":2,"speedy":3,"x":{"locations":4,"la":5}}"#)
        #expect(result.privateFieldsDropped == 0)
        #expect(result.problems.map(\.pointer) == ["/latency", "/longest", "/speedy", "/x"])
    }

    @Test func `location_services is a fact about the phone, not a place`() throws {
        let result = try scan(#"{"responder_id":"a","telemetry":{"location_services":false}}"#)
        #expect(result.privateFieldsDropped == 0)
        #expect(result.items.item(0)?.telemetry?.locationServices == 2)
    }

    @Test func `a private field in a value of the wrong kind is counted too`() throws {
        let result = try scan(#"{"responder_id":"a","region":{"lat":1},"updates":{"lng":[2]}}"#)
        #expect(result.privateFieldsDropped == 2)
        #expect(result.problems.map(\.pointer) == ["/region", "/updates"])
        let times = try scan(
            #"[{"responder_id":"a","updates":[{"sequence":1,"captured_at":{"lat":1}}]},"#
                + #"{"responder_id":"b","received_at":[{"lng":2,"x":{"geo":3}}]}]"#)
        #expect(times.privateFieldsDropped == 3 && times.items.count == 1)
        let nothing = try scan(#"{"responder_id":"a","lat":null,"telemetry":{"lat":null}}"#)
        #expect(nothing.privateFieldsDropped == 2)
    }
}
