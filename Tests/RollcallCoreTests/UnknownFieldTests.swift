import RollcallCore
import Testing

/// Fields that nobody knows, and the memo's telemetry where it stands beside `telemetry`. Source: P3.
@Suite struct UnknownFieldTests {
    private func scan(
        _ body: String, _ kind: ItemKind = .batch, isStrict: Bool = false
    ) throws -> ScanResult {
        try ItemScanner.scan(Array(body.utf8).span, kind: kind, isStrict: isStrict)
    }

    // MARK: - Named

    @Test(arguments: [
        (#""dutyState":"ON_DUTY""#, "/dutyState", "unknown field; duty_state is meant?"),
        (
            #""permissionStatus":"denied""#, "/permissionStatus",
            "unknown field; telemetry.permission_status is meant?"
        ),
        (
            #""telemetry":{"permissionStatus":"denied"}"#, "/telemetry/permissionStatus",
            "unknown field; telemetry.permission_status is meant?"
        ),
        (#""regoin":"n""#, "/regoin", "unknown field; region is meant?"),
        (
            #""telemetry":{"battery_level":0.5}"#, "/telemetry/battery_level",
            "unknown field; battery_level beside telemetry is meant?"
        ),
        (
            #""telemetry":{"battery":0.5}"#, "/telemetry/battery",
            "unknown field; battery_level beside telemetry is meant?"
        ),
        (
            #""updates":[{"sequence":1,"region":"n"}]"#, "/updates/0/region",
            "unknown field; region beside updates is meant?"
        ),
        (
            #""updates":[{"sequence":1,"capturedAt":7}]"#, "/updates/0/capturedAt",
            "unknown field; updates[].captured_at is meant?"
        ),
        (
            #""updates":[{"sequence":1,"timestamp":7}]"#, "/updates/0/timestamp",
            "unknown field; updates[].captured_at is meant?"
        ),
        (
            #""updates":[{"sequence":1},{"sequence":2,"Fix":"live"}]"#, "/updates/1/Fix",
            "unknown field; updates[].fix is meant?"
        ),
        // Two letters are missing, or are others; four are too few for a guess.
        (#""dutyste":1"#, "/dutyste", "unknown field; duty_state is meant?"),
        (#""dvtystbte":1"#, "/dvtystbte", "unknown field; duty_state is meant?"),
        (#""dvtysbbte":1"#, "/dvtysbbte", "unknown field"),
        (#""modl":1"#, "/modl", "unknown field"),
        (#""a/b~c":{"x":1}"#, "/a~1b~0c", "unknown field"),
        (#""":1"#, "/", "unknown field"),
        (#""dutySt\u0061te":1"#, "/dutyState", "unknown field; duty_state is meant?"),
    ])
    func `P3: an unknown field is named, with what was probably meant`(
        member: String, pointer: String, detail: String
    ) throws {
        let result = try scan(#"{"responder_id":"a",\#(member)}"#)
        #expect(result.problems.map(\.pointer) == [pointer])
        #expect(result.problems.map(\.detail) == [detail])
        #expect(result.problems.map(\.fault) == [.unknownField])
        #expect(result.problemCount(.unknownField) == 1 && result.items.count == 1)
    }

    @Test func `P3: what each kind of item knows is no problem`() throws {
        let transition =
            #"{"responder_id":"a","from":"ONLINE","to":"OFFLINE","at":1,"id":"x","#
            + #""reason":"late"}"#
        #expect(try scan(transition, .transition).problems.isEmpty)
        let facts =
            #"{"responder_id":"a","duty_state":"ON_DUTY","region":"n","circles":[],"#
            + #""sharing":"active","paused_until":1,"platform":"ios","push_token":"t","#
            + #""nudge_sound":"silent","at":1}"#
        #expect(try scan(facts, .responder).problems.isEmpty)
        #expect(try scan(facts, .rosterEntry).problems.isEmpty)
        #expect(
            try scan(#"{"responder_id":"a","received_at":1}"#, .responder).problems.map(\.pointer)
                == ["/received_at"])
    }

    @Test(arguments: [ItemKind.responder, .rosterEntry])
    func `P3: a fact's own names are meant in both kinds of facts`(kind: ItemKind) throws {
        for name in ["pausedUntil", "push-token", "nudgeSound"] {
            let result = try scan(#"{"responder_id":"a","\#(name)":1}"#, kind)
            #expect(result.problems.count == 1)
            #expect(result.problems.first?.detail.hasSuffix(" is meant?") == true, "\(name)")
        }
    }

    @Test(arguments: [(5, 5), (6, 5), (40, 5)])
    func `P3: five an item are named, all are counted`(count: Int, named: Int) throws {
        let members = (0..<count).map { ",\"x\($0)\":1" }.joined()
        let item = #"{"responder_id":"a"\#(members)}"#
        let result = try scan("[\(item),\(item)]")
        #expect(
            result.problems.map(\.index) == [0, 1].flatMap { Array(repeating: $0, count: named) })
        #expect(result.problemCount(.unknownField) == 2 * count)
    }

    @Test(arguments: [
        (String(repeating: "x", count: 64), String(repeating: "x", count: 64)),
        (String(repeating: "x", count: 65), String(repeating: "x", count: 64)),
        (String(repeating: "x", count: 63) + "ü", String(repeating: "x", count: 63)),
        (String(repeating: "x", count: 100_000), String(repeating: "x", count: 64)),
    ])
    func `P3: a name is cut at 64 bytes, not within a character`(name: String, shown: String) throws
    {
        let result = try scan(#"{"responder_id":"a","\#(name)":1}"#)
        #expect(result.problems.map(\.pointer) == ["/" + shown])
    }

    @Test func `P3: the value of an unknown field is neither kept nor shown`() throws {
        let result = try scan(#"{"responder_id":"a","secret":{"deep":"4711"},"lat":4711}"#)
        #expect(!String(decoding: result.items.bytes, as: UTF8.self).contains("4711"))
        #expect(!"\(result.problems)".contains("4711"))
        #expect(result.privateFieldsDropped == 1 && result.problems.count == 1)
    }

    @Test func `P3: strict refuses an item with an unknown field, and no other`() throws {
        let body =
            #"[{"responder_id":"a","dutyState":1,"x":2},{"responder_id":"b"},"#
            + #"{"responder_id":"c","updates":[{"sequence":1,"seq":1}]},"#
            + #"{"responder_id":"d","lat":1,"battery_level":7}]"#
        let result = try scan(body, isStrict: true)
        #expect(result.rejected.map(\.index) == [0, 2])
        #expect(result.rejected.map(\.pointer) == ["/dutyState", "/updates/0/seq"])
        #expect(result.rejected.map(\.fault) == [.unknownField, .unknownField])
        #expect(result.places == [1, 3] && result.privateFieldsDropped == 1)
        #expect(result.problems.map(\.pointer) == ["/battery_level"])
    }

    // MARK: - Telemetry beside `telemetry`

    @Test func `P3: the memo's six fields are taken beside telemetry`() throws {
        let members =
            #""permission_status":"denied","location_services":false,"#
            + #""power_mode":"low_power","app_state":"background","queue_depth":5,"#
            + #""network_type":"none""#
        let beside = try scan(#"{"responder_id":"a",\#(members)}"#)
        let inside = try scan(#"{"responder_id":"a","telemetry":{\#(members)}}"#)
        #expect(beside.problems.isEmpty)
        #expect(try #require(beside.items.item(0)?.telemetry).isPermissionDenied)
        #expect(beside.items.item(0)?.telemetry == inside.items.item(0)?.telemetry)
    }

    @Test(arguments: [
        #""telemetry":{"app_state":"foreground"},"app_state":"background","power_mode":"normal""#,
        #""power_mode":"normal","app_state":"background","telemetry":{"app_state":"foreground"}"#,
    ])
    func `P3: inside wins, in whichever order`(members: String) throws {
        let item = try scan(#"{"responder_id":"a",\#(members)}"#).items.item(0)
        let telemetry = try #require(item?.telemetry)
        #expect(telemetry.isInForeground && telemetry.powerMode == 1)
        #expect(telemetry.queueDepth == Telemetry.queueDepthUnknown)
    }

    @Test func `P3: a bad value beside is a problem there, and twice is once too often`() throws {
        let result = try scan(
            #"{"responder_id":"a","queue_depth":-1,"app_state":"asleep","app_state":"foreground"}"#)
        #expect(result.problems.map(\.pointer) == ["/queue_depth", "/app_state", "/app_state"])
        #expect(
            result.problems.map(\.fault) == [.malformed, .unknownValue, .duplicateKey])
    }

    /// I12: whichever of two is meant, nobody knows; of a sequence that costs the update.
    @Test func `a field given twice is a problem in updates and telemetry too`() throws {
        let result = try scan(
            #"{"responder_id":"a","telemetry":{"app_state":"foreground","app_state":"background","#
                + #""queue_depth":null,"queue_depth":3},"updates":[{"sequence":1,"sequence":2},"#
                + #"{"sequence":3,"captured_at":1795230005,"captured_at":1795230006},"#
                + #"{"fix":"cached","sequence":4,"fix":"live"},{"sequence":null,"sequence":5}]}"#)
        #expect(
            result.problems.map(\.pointer) == [
                "/telemetry/app_state", "/updates/0/sequence", "/updates/1/captured_at",
                "/updates/2/fix",
            ])
        #expect(result.problems.allSatisfy { $0.fault == .duplicateKey })
        let item = try #require(result.items.item(0))
        #expect(item.telemetry?.isInForeground == true && item.telemetry?.queueDepth == 3)
        #expect(item.updateCount == 3)
        var reader = UpdateReader(item)
        var updates: [Update] = []
        while let update = reader.next(result.items.bytes.span) { updates.append(update) }
        try #require(updates.map(\.sequence) == [3, 4, 5])
        #expect(updates[0].capturedAt?.milliseconds == 1_795_230_005_000)
        #expect(updates.map(\.isCached) == [false, true, false])
    }

    /// F15: telemetry is taken as a whole, and one of the six is enough to make the batch carry it.
    @Test func `P3: one field beside makes the batch carry telemetry`() throws {
        let engine = try timeline(
            """
            0s     41 reports {"telemetry":{"app_state":"background","power_mode":"normal"}} → \
            41 unknown, 41 online
            10s    41 reports {"power_mode":"low_power"}
            100s                                      → 41 degraded
            """)
        #expect(engine.roster[0].telemetry.isLowPower)
        #expect(engine.roster[0].telemetry.appState == 0)
    }
}
