import Foundation
import Testing

/// Every decision has its date, says whether it stands, and leads to what superseded it.
@Suite struct TidyDecisionsTests {
    private static let catalogue = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/RollcallCore/RollcallCore.docc")

    /// The pages by their paths in the catalogue: the list of topics, and each topic.
    private static func pages() throws -> [String: String] {
        let topics = try FileManager.default.contentsOfDirectory(
            atPath: catalogue.appendingPathComponent("Decisions").path)
        var pages: [String: String] = [:]
        for path in ["Decisions.md"] + topics.map({ "Decisions/\($0)" }) {
            pages[path] = try String(
                contentsOf: catalogue.appendingPathComponent(path), encoding: .utf8)
        }
        return pages
    }

    /// Returns the name that a forge gives a heading in a link.
    private static func anchor(_ heading: Substring) -> String {
        heading.lowercased().filter { $0.isLetter || $0.isNumber || "_- ".contains($0) }
            .replacing(" ", with: "-")
    }

    @Test func `each decision has its date and says whether it stands`() throws {
        var titles: Set<Substring> = []
        for (path, page) in try Self.pages() where path != "Decisions.md" {
            for entry in page.split(separator: "\n## ").dropFirst() {
                let title = entry.prefix { $0 != "\n" }
                let says = entry.dropFirst(title.count).prefixMatch(
                    of: #/\n\n\d{4}-\d\d-\d\d\. (Stands|Superseded by \[)/#)
                #expect(says != nil, "\(path): \(title)")
                #expect(titles.insert(title).inserted, "\(path): \(title) stands twice")
            }
        }
        #expect(titles.count > 200)
    }

    @Test func `links between decisions lead to headings, and each topic is listed`() throws {
        let pages = try Self.pages()
        var listed: Set<String> = []
        for (path, page) in pages {
            for link in page.matches(of: #/\]\((\w[^):]*\.md)?(?:#([^)]+))?\)/#) {
                let folder = path.contains("/") ? "Decisions/" : ""
                let target = link.1.map { folder + $0 } ?? path
                if path == "Decisions.md" { listed.insert(target) }
                let headings = pages[target]?.split(separator: "\n").filter { $0.hasPrefix("#") }
                    .map { Self.anchor($0.drop { $0 == "#" }.dropFirst()) }
                #expect(headings != nil, "\(path): \(target)")
                if let heading = link.2 {
                    #expect(headings?.contains(String(heading)) == true, "\(path): \(heading)")
                }
            }
        }
        #expect(listed.union(["Decisions.md"]) == Set(pages.keys))
    }
}
