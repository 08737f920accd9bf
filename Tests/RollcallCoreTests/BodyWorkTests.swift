import RollcallCore
import Testing

/// What reading a body costs beyond its bytes: texts are put together for what is listed, and for
/// nothing else. Work is counted here, not time. Source: I7, style 15.
@Suite struct BodyWorkTests {
    private static let many = 20_000

    private static func repeated(_ part: String) -> String {
        Array(repeating: part, count: many).joined(separator: ",")
    }

    /// Bodies of one item in which nearly everything is a fault.
    private static let faulty: [(body: String, faults: Int)] = [
        (#"{"responder_id":"a","updates":[\#(repeated("1"))]}"#, many),
        (#"{"responder_id":"a","updates":[\#(repeated("{}"))]}"#, many),
        (#"{"responder_id":"a","updates":[\#(repeated(#"{"captured_at":"x"}"#))]}"#, many),
        (#"{"responder_id":"a",\#(repeated(#""region":7"#))}"#, many),
        (#"{"responder_id":"a","telemetry":{\#(repeated(#""power_mode":7"#))}}"#, many),
        (#"{"responder_id":"a","telemetry":{\#(repeated(#""app_state":"x""#))}}"#, many),
    ]

    @Test(arguments: 0..<6)
    func `of a thousand faults a hundred are put into words, and all are counted`(
        place: Int
    ) throws {
        let (body, faults) = Self.faulty[place]
        let result = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        #expect(result.items.count == 1)
        #expect(ItemFault.allCases.map(result.problemCount).reduce(0, +) == faults)
        #expect(result.problems.count == ItemScanner.notesMax)
        #expect(result.notesBuilt == ItemScanner.notesMax)
    }

    @Test func `circles end at the sixty-fourth, with one problem for all behind it`() throws {
        let body = #"{"responder_id":"a","circles":[\#(Self.repeated("1"))],"region":"n"}"#
        let result = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        #expect(result.problemCount(.malformed) == ItemScanner.circlesMax)
        #expect(result.problemCount(.outOfRange) == 1)
        #expect(result.problems.last?.pointer == "/circles/\(ItemScanner.circlesMax)")
        let item = try #require(result.items.item(0))
        #expect(item.circles?.count == 0 && item.region?.count == 1)
    }

    @Test func `an identity that is named a thousand times rejects its item once`() throws {
        let body = "{\(Self.repeated(#""responder_id":"a""#))}"
        let result = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        #expect(result.items.count == 0 && result.itemCount == 1)
        #expect(result.rejected.map(\.fault) == [.duplicateKey])
        #expect(result.notesBuilt == 1)
    }

    @Test(arguments: [BodyFormat.json, .lines])
    func `of rejected items a hundred are listed, and all are counted`(format: BodyFormat) throws {
        let items = Array(repeating: "1", count: Self.many)
        let body =
            format == .json
            ? "[\(items.joined(separator: ","))]" : items.joined(separator: "\n")
        let result = try ItemScanner.scan(
            Array(body.utf8).span, kind: .batch, format: format,
            limits: ScanLimits(itemsMax: Self.many))
        #expect(result.itemCount == Self.many && result.rejectedCount == Self.many)
        #expect(result.rejectedCount(.malformed) == Self.many)
        #expect(result.rejected.map(\.index) == Array(0..<ItemScanner.notesMax))
        #expect(result.notesBuilt == ItemScanner.notesMax)
    }

    @Test func `a line with more behind its item is rejected once, whatever else it is`() throws {
        let body = "{}\n{} x\n{\"responder_id\":\"a\"} x\n{\"responder_id\":\"b\"}"
        let result = try ItemScanner.scan(Array(body.utf8).span, kind: .batch, format: .lines)
        #expect(result.rejected.map(\.index) == [0, 1, 2])
        #expect(result.rejected.map(\.fault) == [.missing, .malformed, .malformed])
        #expect(result.places == [3] && result.itemCount == 4)
    }

    /// A name is compared as what its escapes stand for, however many there are.
    @Test(arguments: [1, 24, 25, 128, 129, 60_000])
    func `what is written in escapes is read as what it stands for`(bytes: Int) throws {
        let escaped = String(repeating: #"\u0061"#, count: bytes)
        let unknown = #"{"responder_id":"a","\#(escaped)":1,"r\u0065gion":"\u006e"}"#
        let result = try ItemScanner.scan(Array(unknown.utf8).span, kind: .batch)
        #expect(result.items.item(0)?.region?.count == 1)
        #expect(result.rejectedCount == 0 && result.privateFieldsDropped == 0)
        let named = #"{"responder_id":"\#(escaped)"}"#
        let people = try ItemScanner.scan(Array(named.utf8).span, kind: .batch)
        #expect(people.items.count == (bytes <= ItemScanner.nameBytesMax ? 1 : 0))
    }
}
