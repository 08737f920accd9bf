import Testing

@testable import RollcallCore

/// How a batch promises the next one. Source: P5.
@Suite struct PromiseTextTests {
    private func scan(_ value: String) throws -> (promise: UInt16?, problems: [String]) {
        let body = Array(#"{"responder_id":"a","next_expected_in":\#(value)}"#.utf8)
        let result = try ItemScanner.scan(body.span, kind: .batch)
        #expect(result.rejected.isEmpty)
        let problems = result.problems.map { "\($0.pointer) \($0.fault.word)" }
        return (result.items.item(0)?.promise, problems)
    }

    private static let good: [(String, UInt16)] = [
        ("900", 900), ("900.0", 900), ("0.2", 1), ("59.5", 60), ("1e3", 1000), ("1e300", 65_535),
        ("65535", 65_535), ("65536", 65_535), (#""15m""#, 900), (#""90s""#, 90),
        (#""1h30m""#, 5400), (#""1500ms""#, 2), (#""1d""#, 65_535), (#""1\u0035m""#, 900),
        ("null", 0),
    ]

    @Test(arguments: good)
    func `seconds, or a duration, rounded up to seconds`(value: String, seconds: UInt16) throws {
        let (promise, problems) = try scan(value)
        #expect(promise == seconds)
        #expect(problems == [])
    }

    @Test(arguments: [
        "0", "-1", "0.0", "-0", #""0s""#, #""""#, #""15""#, #""m""#, #""15 m""#, #""-15m""#,
        #""1m1m""#, #""1s1m""#, #""15M""#, #""99999999999999999999s""#, "true", "[15]", "{}",
        #""\#(String(repeating: "1", count: 70))s""#,
    ])
    func `what is none is named and ignored, and the batch is contact`(value: String) throws {
        let (promise, problems) = try scan(value)
        #expect(promise == 0)
        #expect(problems == ["/next_expected_in out_of_range"])
    }

    @Test func `a fact promises nothing`() throws {
        let body = Array(#"{"responder_id":"a","next_expected_in":900}"#.utf8)
        let result = try ItemScanner.scan(body.span, kind: .responder)
        #expect(result.problems.map(\.fault) == [.unknownField])
    }

    @Test func `it is written as seconds, and read again`() throws {
        let body = Array(#"{"responder_id":"a","next_expected_in":"15m"}"#.utf8)
        let result = try ItemScanner.scan(body.span, kind: .batch)
        var text: [UInt8] = []
        #expect(ItemText.append(result.items, 0, to: &text))
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"responder_id":"a","next_expected_in":900}"#)
        #expect(try ItemScanner.scan(text.span, kind: .batch).items.bytes == result.items.bytes)
    }
}
