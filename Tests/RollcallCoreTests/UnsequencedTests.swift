import Testing

@testable import RollcallCore

/// Phones that do not count their updates, and ids that are numbers. Source: P4.
@Suite struct UnsequencedTests {
    private func scan(_ text: String, _ kind: ItemKind = .batch) throws -> ScanResult {
        try ItemScanner.scan(Array(text.utf8).span, kind: kind)
    }

    private func updates(_ result: ScanResult) throws -> [Update] {
        let item = try #require(result.items.item(0))
        var reader = UpdateReader(item)
        var updates: [Update] = []
        while let update = reader.next(result.items.bytes.span) { updates.append(update) }
        #expect(updates.count == item.updateCount)
        return updates
    }

    @Test func `P4: an update without a sequence is told by its capture, beside others`() throws {
        let result = try scan(
            #"{"responder_id":"a","updates":[{"captured_at":1795219200000},{"sequence":7},"#
                + #"{"sequence":null,"captured_at":1795219260000,"fix":"cached"}]}"#)
        #expect(result.problems.isEmpty)
        func at(_ time: Int64) -> Timestamp { Timestamp(milliseconds: time) }
        let expected = [
            Update(sequence: 7, capturedAt: nil, isCached: false),
            Update(sequence: -1, capturedAt: at(1_795_219_200_000), isCached: false),
            Update(sequence: -1, capturedAt: at(1_795_219_260_000), isCached: true),
        ]
        #expect(try updates(result) == expected)
        // The bytes that others write, too: `(captured + 1) << 1 | isCached`.
        let bytes: [UInt8] =
            [24, 2] + varint(1_795_219_200_001 << 1)
            + varint(1_795_219_260_001 << 1 | 1) + [19, 1, 7, 0]
        #expect(result.items.bytes.suffix(bytes.count) == bytes[...])
    }

    private func varint(_ value: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        Varint.append(value, to: &bytes)
        return bytes
    }

    @Test(arguments: [
        ("{}", "/updates/0"), (#"{"fix":"cached"}"#, "/updates/0"),
        (#"{"sequence":-1,"captured_at":1795219200000}"#, "/updates/0/sequence"),
        (#"{"sequence":"7","captured_at":1795219200000}"#, "/updates/0/sequence"),
        (#"{"captured_at":"soon"}"#, "/updates/0/captured_at"),
        (#"{"captured_at":1795219200000,"captured_at":1795219200001}"#, "/updates/0/captured_at"),
    ])
    func `P4: one that nothing tells apart is a problem, and the batch is contact`(
        update: String, pointer: String
    ) throws {
        let result = try scan(#"{"responder_id":"a","updates":[\#(update)]}"#)
        #expect(result.problems.map(\.pointer) == [pointer])
        #expect(result.items.item(0)?.updateCount == 0)
    }

    @Test(arguments: ["0", "7", "1234567890123456789", "9999999999999999999"])
    func `P4: an id that is a number is its digits`(number: String) throws {
        for kind in [ItemKind.batch, .responder, .rosterEntry] {
            let told = try scan(#"{"responder_id":\#(number)}"#, kind)
            let text = try scan(#"{"responder_id":"\#(number)"}"#, kind)
            #expect(told.items.bytes == text.items.bytes && told.items.count == 1)
        }
        let told = try scan(
            #"{"responder_id":\#(number),"from":"ONLINE","to":"OFFLINE"}"#, .transition)
        #expect(told.items.count == 1 && told.problems.isEmpty)
    }

    @Test(arguments: [
        "-1", "-0", "1.0", "1e3", "10000000000000000000", "true", "[7]", #"{"id":7}"#,
    ])
    func `P4: no other value is an id`(value: String) throws {
        let result = try scan(#"{"responder_id":\#(value)}"#)
        #expect(result.rejected.map(\.pointer) == ["/responder_id"])
    }

    @Test func `P4: an export tells them as they came`() throws {
        let told =
            #"{"responder_id":"a","updates":[{"sequence":7,"captured_at":1795219200000},"#
            + #"{"captured_at":1795219200000},{"captured_at":1795219260000,"fix":"cached"}]}"#
        let numbered = #"{"sequence":7,"captured_at":1795219200000},"#
        for text in [told, told.replacing(numbered, with: "")] {
            let items = try scan(text).items
            var written: [UInt8] = []
            #expect(ItemText.append(items, 0, to: &written))
            #expect(try scan(String(decoding: written, as: UTF8.self)).items.bytes == items.bytes)
            #expect(String(decoding: written, as: UTF8.self) == text)
        }
    }

    // MARK: - What they decide

    @Test func `P4: a repeat without a sequence keeps nobody alive`() throws {
        try timeline(
            """
            0s     policy on_duty 60/90/180
            0s     41 reports {"updates":[{"captured_at":"0s"}]}    → 41 unknown, 41 online
            60s    41 reports {"updates":[{"captured_at":"0s"}]}
            90s                                                     → 41 degraded
            100s   41 reports {"updates":[{"captured_at":"95s"}]}   → 41 online
            """.withInstants)
    }

    @Test(arguments: [
        // It goes on, and nothing was captured meanwhile: the app was stopped.
        ("600s", "app_stopped"),
        // The phone collected, and could not deliver.
        ("300s", "network"),
        // What is older than all that came before proves neither.
        ("20s", "unexplained"),
    ])
    func `C2, P4: a newer capture is the sequence that goes on`(
        captured: String, verdict: String
    ) throws {
        try timeline(
            """
            0s     policy on_duty 60/90/180
            0s     41 reports {"updates":[]}                        → 41 unknown, 41 online
            30s    41 reports {"updates":[{"captured_at":"30s"}]}
            120s                                  → 41 degraded, 41 gap open unexplained
            210s                                  → 41 offline, 41 gap judged
            600s   41 reports {"updates":[{"captured_at":"\(captured)"}]} → 41 online, 41 gap closed
            660s   41 reports
            720s                                  → 41 verdict \(verdict)
            """.withInstants, gaps: true)
    }

    private let first = #"{"install_id":"i1","updates":[{"captured_at":"0s"}]}"#

    @Test func `I3, P4: only an install's id tells of a reinstall`() throws {
        let back = #"{"install_id":"ID","updates":[{"captured_at":"600s"}]}"#
        let lines = """
            0s     policy on_duty 60/90/180
            0s     41 reports FIRST               → 41 unknown, 41 online
            90s                                   → 41 degraded, 41 gap open unexplained
            180s                                  → 41 offline, 41 gap judged
            600s   41 reports BACK                → 41 online, 41 gap closed
            660s   41 reports
            720s                                  → 41 verdict VERDICT
            """.replacing("FIRST", with: first).replacing("BACK", with: back).withInstants
        for (id, verdict) in [("i1", "app_stopped"), ("i2", "reinstalled")] {
            let engine = try timeline(
                lines.replacing("ID", with: id).replacing("VERDICT", with: verdict), gaps: true)
            #expect(engine.counters.installsReset == (id == "i2" ? 1 : 0))
        }
    }

    @Test func `I4, P4: a relay that repeats an old body under a new install's id tells nothing`()
        throws
    {
        let engine = try timeline(
            """
            0s     policy on_duty 60/90/180
            0s     41 reports FIRST                                 → 41 unknown, 41 online
            60s    41 reports {"install_id":"i2","updates":[{"captured_at":"0s"}]}
            90s                                                     → 41 degraded
            """.replacing("FIRST", with: first).withInstants)
        #expect(engine.counters.installsReset == 0)
    }
}

extension String {
    /// Instants of a timeline, "60s", as its bodies write them.
    fileprivate var withInstants: String {
        replacing(/"captured_at":"([0-9]+)s"/) { match in
            "\"captured_at\":\(Script.zero + (Int64(match.1) ?? 0) * 1000)"
        }
    }
}
