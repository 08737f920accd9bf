import Foundation
import Testing

/// One thing has one word: what the glossary's table rules out is no part of a name in the code.
@Suite struct TidyWordsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let glossary = "Sources/RollcallCore/RollcallCore.docc/Glossary.md"
    /// Names that others see, though a word of the table is a part of them.
    private static let allowed: Set<String> = []

    /// The words between backticks in the second column of the table.
    private static func ruledOut() throws -> Set<String> {
        let page = try String(contentsOf: root.appendingPathComponent(glossary), encoding: .utf8)
        let table = try #require(page.firstRange(of: "| we say | not | meaning |"))
        return page[table.upperBound...].split(separator: "\n").reduce(into: []) { words, line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count > 3 else { return }
            for word in cells[2].matches(of: #/`(\w+)`/#) {
                words.formUnion([String(word.1), "\(word.1)s"])
            }
        }
    }

    /// The names in a line of code: what stands in a text or a comment is none.
    private static func names(_ line: Substring) -> [Substring] {
        let text = #/#".*?"#|"(?:\\\((?:[^()]|\([^()]*\))*\)|\\.|[^"\\])*"/#
        let code = line.replacing(text, with: "").prefixMatch(of: #/(?:(?!\/\/).)*/#)
        return code.map { $0.output.matches(of: #/[A-Za-z_]\w*/#).map(\.output) } ?? []
    }

    /// The words that a name is made of: `isHeldUp` of is, held and up.
    private static func parts(_ name: Substring) -> [String] {
        name.matches(of: #/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/#).map { $0.output.lowercased() }
    }

    /// What a file says otherwise than the glossary.
    private static func offences(_ text: String, _ words: Set<String>) -> Set<Substring> {
        var isInText = false
        return text.split(separator: "\n").reduce(into: []) { found, line in
            if line.contains("\"\"\"") {
                isInText = line.matches(of: #/"""/#).count == 1 ? !isInText : isInText
            } else if !isInText {
                found.formUnion(
                    names(line).filter { name in
                        !allowed.contains(String(name))
                            && parts(name).contains(where: words.contains)
                    })
            }
        }
    }

    @Test func `no name in the code is made of a word that the glossary rules out`() throws {
        let words = try Self.ruledOut()
        #expect(words.count > 30)
        let sources = Self.root.appendingPathComponent("Sources")
        let files = FileManager.default.enumerator(atPath: sources.path)
        var offenders: [String] = []
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix(".swift") else { continue }
            let text = try String(
                contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            let name = Substring(file.split(separator: "/").last ?? "").dropLast(6)
            offenders += Self.offences(text + "\n\(name)", words).sorted().map { "\(file): \($0)" }
        }
        #expect(offenders.sorted() == [])
    }

    @Test(arguments: [
        ("let oldKeeper = 1", ["oldKeeper"]), ("a(\"keeper \\(b)\") // keeper", []),
        ("    keepers(TheKeeper.of)", ["TheKeeper"]), ("#\"{\"keeper\"}\"#", []),
        ("let a = \"\"\"\nkeeper\n\"\"\"\nkeeper", ["keeper"]),
    ])
    func `texts and comments may hold any word`(text: String, names: [Substring]) {
        #expect(Self.offences(text, ["keeper"]) == Set(names))
    }
}
