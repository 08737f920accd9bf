import Testing

@testable import RollcallCore

/// What a phone is: manufacturer, model and versions. Source: P6.
@Suite struct PhoneMakeTests {
    private func scan(_ text: String, _ kind: ItemKind = .batch) throws -> ScanResult {
        try ItemScanner.scan(Array(text.utf8).span, kind: kind)
    }

    private func text(_ range: ByteRange?, _ result: ScanResult) -> String? {
        range.map { String(decoding: result.items.bytes[$0.indices], as: UTF8.self) }
    }

    @Test func `P6: a batch tells manufacturer and model, and an export tells them again`() throws {
        let told = #"{"responder_id":"a","manufacturer":"HUAWEI","model":"Mate9 \"lite\""}"#
        let result = try scan(told)
        let item = try #require(result.items.item(0))
        #expect(text(item.manufacturer, result) == "HUAWEI")
        #expect(text(item.model, result) == #"Mate9 "lite""#)
        var written: [UInt8] = []
        #expect(ItemText.append(result.items, 0, to: &written))
        #expect(String(decoding: written, as: UTF8.self) == told)
    }

    @Test(arguments: ["manufacturer", "model"])
    func `P6: 64 bytes at most, and no coordinates`(field: String) throws {
        for (value, isTaken) in [
            (String(repeating: "x", count: 64), true), (String(repeating: "x", count: 65), false),
            ("", false), ("52.520008, 13.404954", false), ("SM-G960F", true),
        ] {
            let result = try scan(#"{"responder_id":"a","\#(field)":"\#(value)"}"#)
            #expect(result.items.count == 1 && result.problems.isEmpty == isTaken)
            if !isTaken { #expect(result.problems.map(\.pointer) == ["/\(field)"]) }
        }
        let coordinates = try scan(#"{"responder_id":"a","\#(field)":"52.520008,13.404954"}"#)
        #expect(coordinates.problemCount(.coordinate) == 1)
    }

    @Test(arguments: [
        ("brand", "manufacturer"), ("deviceModel", "model"), ("phone_model", "model"),
        ("Manufacturer", "manufacturer"), ("device_manufacturer", "manufacturer"),
    ])
    func `P3, P6: others' names for them are named with what is meant`(
        name: String, meant: String
    ) throws {
        let result = try scan(#"{"responder_id":"a","\#(name)":"x"}"#)
        #expect(result.problems.map(\.detail) == ["unknown field; \(meant) is meant?"])
    }

    @Test func `P6: backends tell neither`() throws {
        let result = try scan(#"{"responder_id":"a","manufacturer":"x"}"#, .responder)
        #expect(result.problemCount(.unknownField) == 1)
    }

    @Test func `P6: a gap knows the phone, and its verdict is counted under the manufacturer`()
        throws
    {
        let engine = try timeline(
            """
            \(Self.silence)
            750s                                  → 41 degraded, 41 gap open
            """, gaps: true)
        let number = try #require(engine.roster.number(of: Array("41".utf8)))
        let facts = try #require(engine.followedGap(of: number)).facts
        let names = [facts.manufacturer, facts.model, facts.osVersion, facts.appVersion]
        #expect(
            names.map { String(decoding: $0, as: UTF8.self) } == ["HUAWEI", "Mate9", "10", "4.1"])
        let makers = engine.counters.gaps.makers
        #expect(makers.names == [Array("HUAWEI".utf8)])
        #expect(makers.count(.appStopped, of: 0) == 1)
        #expect(makers.returns(of: 0).sum == 510_000, "P7: silent from 90 s to 600 s")
        #expect(makers.count(.appStopped, of: nil) == 0)
    }

    /// One who tells what their phone is falls silent, comes back, and has a verdict.
    private static let silence = """
        0s     policy on_duty 60/90/180
        0s     41 reports with 1 \(phone)      → 41 unknown, 41 online
        90s                                   → 41 degraded, 41 gap open unexplained
        180s                                  → 41 offline, 41 gap judged
        600s   41 reports with 2              → 41 online, 41 gap closed
        660s   41 reports with 3
        720s                                  → 41 verdict app_stopped
        """
    private static let phone =
        #"{"manufacturer":"HUAWEI","model":"Mate9","os_version":"10","app_version":"4.1"}"#

    @Test func `P6: 32 manufacturers have a label, all others one`() {
        var makers = MakerCounters()
        for maker in 0..<40 {
            let name = Array("maker \(maker)".utf8)
            for _ in 0...maker { makers.count(.network, of: name, length: .seconds(240)) }
        }
        makers.count(.network, of: [], length: .seconds(240))
        makers.count(.network, of: Array("other".utf8), length: .seconds(240))
        #expect(makers.names.count == MakerCounters.labelsMax)
        #expect((0..<32).allSatisfy { makers.count(.network, of: $0) == $0 + 1 })
        #expect(makers.count(.network, of: nil) == (33...40).reduce(0, +) + 2)
        #expect((0..<32).allSatisfy { makers.returns(of: $0).count == $0 + 1 })
        #expect(makers.returns(of: 3).sum == 4 * 240_000)
        // Whoever was erased may have been the only one with a name.
        makers.forget(Array("maker 5".utf8))
        makers.forget(Array("maker 39".utf8))
        #expect(makers.names.count == 31 && makers.count(.network, of: 5) == 7)
        #expect(makers.count(.network, of: nil) == (33...40).reduce(0, +) + 2 + 6)
        #expect(makers.returns(of: 5).count == 7)
        #expect(makers.returns(of: nil).count == (33...40).reduce(0, +) + 2 + 6)
        // Nobody came back from a gap that the end of their duty closed.
        makers.count(.dutyEnded, of: Array("maker 6".utf8), length: .seconds(60))
        #expect(makers.count(.dutyEnded, of: 5) == 1 && makers.returns(of: 5).count == 7)
        var copy = MakerCounters()
        let bytes = Archive.bytes { makers.code(&$0) }
        #expect(Archive.reads(part: bytes) { copy.code(&$0) } && copy == makers)
    }

    @Test func `P6: a manufacturer that one person had goes with them`() throws {
        let engine = try timeline(
            """
            \(Self.silence)
            730s   41 is erased
            740s   turn
            """, gaps: true)
        let makers = engine.counters.gaps.makers
        #expect(makers.names.isEmpty && makers.count(.appStopped, of: nil) == 1)
        #expect(engine.versions.known(Array("HUAWEI".utf8)) == nil)
    }

    @Test func `P6: the manufacturer of a phone that they had before goes with them, too`() throws {
        let engine = try timeline(
            """
            \(Self.silence)
            730s   41 reports with 4 {"manufacturer":"Samsung"}
            740s   41 is erased
            750s   turn
            """, gaps: true)
        #expect(engine.counters.gaps.makers.names.isEmpty)
        #expect(engine.gaps.past.makersKnown.isEmpty)
    }
}
