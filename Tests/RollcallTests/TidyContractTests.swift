import Foundation
import Testing

/// The contract stands in the catalogue's `Contract` pages: whoever cites a rule cites one that there
/// is, and each rule has a test that cites it.
@Suite struct TidyContractTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let contract = "Sources/RollcallCore/RollcallCore.docc/Contract"
    /// What a document would call the contract when it stood elsewhere.
    private static let elsewhere = ["design" + " §", "fine" + " print F"]

    /// A text of this repository.
    private struct Document {
        let path: String
        let text: String
    }

    private static func documents(_ folders: [String]) throws -> [Document] {
        var found: [Document] = []
        for folder in folders {
            let url = root.appendingPathComponent(folder)
            let files = FileManager.default.enumerator(atPath: url.path)
            while let file = files?.nextObject() as? String {
                let path = "\(folder)/\(file)"
                guard ["swift", "py", "md"].contains((file as NSString).pathExtension) else {
                    continue
                }
                let text = try String(
                    contentsOf: root.appendingPathComponent(path), encoding: .utf8)
                found.append(Document(path: path, text: text))
            }
        }
        try #require(!found.isEmpty)
        return found.sorted { $0.path < $1.path }
    }

    /// Every rule, with the pages that define it.
    private static func rules() throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for page in try documents([contract]) {
            for line in page.text.split(separator: "\n") {
                if let match = line.prefixMatch(of: #/ *\* \*\*([A-Z][0-9]{1,2})\*\* /#) {
                    found[String(match.1), default: []].append(page.path)
                }
            }
        }
        return found
    }

    /// The rules that a text cites, if `letters` begin them.
    private static func cited(in text: String, letters: Set<Character>) -> Set<String> {
        let matches = text.matches(of: #/([^A-Za-z0-9_{%\\.-]|^)([A-Z][1-9][0-9]?|J0)\b(?!-)/#)
        return Set(matches.map { String($0.2) }.filter { letters.contains($0.first ?? " ") })
    }

    @Test func `each rule is defined once`() throws {
        let rules = try Self.rules()
        #expect(rules.count > 100)
        #expect(rules.filter { $0.value.count > 1 }.keys.sorted() == [])
    }

    @Test func `whoever cites a rule cites one of the contract`() throws {
        let rules = Set(try Self.rules().keys)
        let letters = Set(rules.compactMap(\.first))
        var unknown: [String] = []
        let readme = Document(
            path: "README.md",
            text: try String(
                contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8))
        for document in try Self.documents(["Sources", "Tests"]) + [readme] {
            for rule in Self.cited(in: document.text, letters: letters).sorted()
            where !rules.contains(rule) {
                unknown.append("\(document.path): \(rule)")
            }
            for words in Self.elsewhere where document.text.contains(words) {
                unknown.append("\(document.path): \(words)")
            }
        }
        #expect(unknown == [])
    }

    @Test func `each rule is cited by a test`() throws {
        let rules = Set(try Self.rules().keys)
        let letters = Set(rules.compactMap(\.first))
        let cited = try Self.documents(["Tests"]).reduce(into: Set<String>()) {
            $0.formUnion(Self.cited(in: $1.text, letters: letters))
        }
        #expect(rules.subtracting(cited).sorted() == [])
    }
}
