import Foundation
import Testing

/// The table of faults names tests that there are, and every fault of the list once.
@Suite struct TidyFaultsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let page = "Sources/RollcallCore/RollcallCore.docc/Faults.md"
    /// How many faults of each kind reliability's list has.
    private static let kinds = [
        ("P", 10), ("D", 15), ("N", 15), ("T", 10), ("I", 26), ("O", 18),
    ]

    /// Every test of the tree, as `file: name`.
    private static func tests() throws -> Set<String> {
        let files = FileManager.default.enumerator(
            at: root.appendingPathComponent("Tests"), includingPropertiesForKeys: nil)
        var found: Set<String> = []
        while let file = files?.nextObject() as? URL {
            guard ["swift", "py"].contains(file.pathExtension) else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            let stem = file.deletingPathExtension().lastPathComponent
            for match in text.matches(of: #/func `([^`\n]+)`\(/#) {
                found.insert("\(stem): \(match.1)")
            }
            for match in text.matches(of: #/def (test_\w+)\(/#) {
                found.insert("\(stem): \(match.1)")
            }
        }
        return found
    }

    @Test func `every test that the table of faults names is there`() throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent(Self.page), encoding: .utf8)
        let named = Set(page.matches(of: #/`(\w+: [^`\n]+)`/#).map { String($0.1) })
        #expect(named.count > 100)
        #expect(try named.subtracting(Self.tests()).sorted() == [])
    }

    @Test func `every fault has one row`() throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent(Self.page), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|", omittingEmptySubsequences: false)[1] }
        let found = rows.flatMap { $0.matches(of: #/\b([PDNTIO]-\d\d)\b/#).map { String($0.1) } }
        let wanted = Self.kinds.flatMap { kind, count in
            (1...count).map { "\(kind)-" + ($0 < 10 ? "0\($0)" : "\($0)") }
        }
        #expect(found.sorted() == wanted.sorted())
    }
}
