import Foundation
import RollcallCore
import Testing

@testable import RollcallSupport

/// The scanner against the cases of JSONTestSuite: what RFC 8259 allows is accepted, within our
/// limits, what it forbids is refused, and where it leaves the choice, ours is the one written here.
@Suite struct JSONSuiteTests {
    /// One file of the suite.
    struct Case: CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]

        var testDescription: String { name }

        /// What the suite asks of a reader; nil where the choice is the reader's.
        var isAccepted: Bool? {
            switch name.first {
            case "y": true
            case "n": false
            default: nil
            }
        }
    }

    private static let cases: [Case] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden/JSONTestSuite.txt")
        let lines = (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n") ?? []
        let written = lines.filter { !$0.hasPrefix("#") }.map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            return Case(name: String(parts[0]), bytes: unescaped(parts.dropFirst().first ?? ""))
        }
        return written + large
    }()

    /// What would fill the file.
    private static let large = [
        Case(
            name: "n_structure_100000_opening_arrays",
            bytes: [UInt8](repeating: UInt8(ascii: "["), count: 100_000)),
        Case(
            name: "n_structure_open_array_object",
            bytes: Array((String(repeating: #"[{"":"#, count: 50_000) + "\n").utf8)),
        Case(
            name: "i_structure_500_nested_arrays",
            bytes: Array((nested("[", 500) + nested("]", 500)).utf8)),
    ]

    private static func nested(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    private static func unescaped(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            bytes.append(UInt8(digits, radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// Our choice where the suite leaves one: a number of any size is JSON, as its value is asked
    /// for only where it means something. A lone surrogate stands for no character, so no string
    /// has it; and there is UTF-8 and nothing else, without a byte order mark.
    private static func isOurs(_ name: String) -> Bool { name.hasPrefix("i_number_") }

    private static func expectation(_ suiteCase: Case) -> Bool {
        suiteCase.isAccepted ?? isOurs(suiteCase.name)
    }

    @Test func `the suite is there, whole`() {
        func count(_ prefix: String) -> Int {
            Self.cases.count { $0.name.hasPrefix(prefix) }
        }
        #expect(count("y_") == 95 && count("n_") == 188 && count("i_") == 35)
        #expect(Set(Self.cases.map(\.name)).count == Self.cases.count)
    }

    /// Of the whole suite, so that one that is read wrongly shows beside the others.
    private func disagreements(_ accepts: (Case) -> Bool) -> [String] {
        Self.cases.filter { accepts($0) != Self.expectation($0) }.map(\.name).sorted()
    }

    // MARK: - Texts

    @Test func `a text is read as the suite says`() {
        let wrong = disagreements { suiteCase in
            var cursor = JSONCursor(range: 0..<suiteCase.bytes.count, depthMax: 16)
            do throws(JSONError) {
                try cursor.skipValue(suiteCase.bytes.span)
                try cursor.finish(suiteCase.bytes.span)
                return true
            } catch {
                return false
            }
        }
        #expect(wrong == [])
    }

    /// What sinks answer, and small bodies, are read whole into a tree. There a number is read at
    /// once, so one that no double holds is refused, and so is one of more than 64 bytes.
    @Test func `a tree is read as the suite says, but for numbers beyond our limits`() {
        let wrong = disagreements { (try? JSONTree(reading: $0.bytes)) != nil }
        #expect(
            wrong == [
                "i_number_huge_exp", "i_number_neg_int_huge_exp", "i_number_pos_double_huge_exp",
                "i_number_real_neg_overflow", "i_number_real_pos_overflow",
                "y_number_double_close_to_zero",
            ])
    }

    // MARK: - Bodies

    private func scan(
        _ bytes: [UInt8], _ kind: ItemKind = .batch, _ format: BodyFormat = .json
    ) -> ScanResult? {
        try? ItemScanner.scan(bytes.span, kind: kind, format: format)
    }

    /// The body is JSON or it is not; that no item is in it is another matter.
    @Test(arguments: [ItemKind.batch, .transition, .responder, .rosterEntry])
    func `a whole body is read as the suite says`(kind: ItemKind) {
        let wrong = disagreements { scan($0.bytes, kind) != nil }
        #expect(wrong == [])
        for suiteCase in Self.cases {
            guard let result = scan(suiteCase.bytes, kind) else { continue }
            #expect(result.items.count == 0, "\(suiteCase.name)")
        }
    }

    @Test(arguments: [ItemKind.batch, .transition, .responder, .rosterEntry])
    func `a member that means nothing to us is read as the suite says`(kind: ItemKind) {
        let required = kind == .transition ? #""from":"ONLINE","to":"OFFLINE","# : ""
        let before = Array(#"{"responder_id":"a",\#(required)"strange":"#.utf8)
        let wrong = disagreements { suiteCase in
            guard let result = scan(before + suiteCase.bytes + Array("}".utf8), kind) else {
                return false
            }
            #expect(result.items.count == 1, "\(suiteCase.name)")
            #expect(result.problems.map(\.pointer) == ["/strange"], "\(suiteCase.name)")
            return true
        }
        #expect(wrong == [])
    }

    /// The value of what does mean something is judged by its own rules, but only if it is JSON.
    @Test(arguments: [
        "received_at", "duty_state", "region", "circles", "platform", "battery_level", "updates",
        "telemetry", "lat",
    ])
    func `a member of ours is read as the suite says`(member: String) {
        let before = Array(#"{"responder_id":"a","\#(member)":"#.utf8)
        #expect(disagreements { scan(before + $0.bytes + Array("}".utf8)) != nil } == [])
    }

    /// A line feed ends the item, wherever it stands, so white space that is one is no white space.
    @Test func `a line is read as the suite says, but for what holds a line feed`() {
        let before = Array(#"{"responder_id":"a","strange":"#.utf8)
        let good = Array("}\n{\"responder_id\":\"b\"}".utf8)
        let wrong = disagreements { suiteCase in
            let result = scan(before + suiteCase.bytes + good, .batch, .lines)
            // The line behind it is none of its business.
            let ids = result.map { result in
                (0..<result.items.count).compactMap { result.items.item($0) }.map {
                    result.items.bytes[$0.responderID.indices]
                }
            }
            #expect(ids?.last == Array("b".utf8)[...], "\(suiteCase.name)")
            return result?.rejected.isEmpty == true
        }
        let broken = Self.cases.filter { $0.bytes.contains(0x0A) && Self.expectation($0) }
        #expect(wrong == broken.map(\.name).sorted())
        #expect(broken.count == 4)
    }
}
