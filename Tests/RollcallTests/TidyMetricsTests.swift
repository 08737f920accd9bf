import Foundation
import RollcallCore
import Testing

@testable import Rollcall

/// What rules, dashboards and runbooks ask for is there. Source: style 27.
@Suite struct TidyMetricsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let endings = ["yml", "yaml", "json", "md"]
    /// How names of metrics begin, beside those of other products.
    private static let beginnings = [
        "rollcall_", "process_", "responders_", "location_update_", "status_transitions",
    ]

    /// The text of each file of a folder, by its path; none if there is no such folder.
    private func texts(_ folder: String) throws -> [String: String] {
        let url = Self.root.appendingPathComponent(folder)
        let files = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
        var found: [String: String] = [:]
        while let file = files?.nextObject() as? URL {
            guard Self.endings.contains(file.pathExtension) else { continue }
            let path = String(file.path.dropFirst(Self.root.path.count + 1))
            found[path] = try String(contentsOf: file, encoding: .utf8)
        }
        return found
    }

    /// Names of the series on a page, as a scrape reads them.
    private var scraped: Set<String> {
        let page = MetricsExposition.bytes(
            engine: Engine(policy: Policy()), edge: EdgeStats(),
            store: StoreStats(version: "0.1.0"),
            member: MemberStats(MemberBoard(member: [97], silence: .seconds(2)), isPermitted: true),
            process: .read(), format: .text)
        let gateway = GatewayStats().page(.text, map: nil, process: nil)
        // Of a fleet of cells alone, as Metrics.md has it.
        var names: Set<String> = ["rollcall_cell_role"]
        for line in String(decoding: page + gateway, as: UTF8.self).split(separator: "\n") {
            guard line.hasPrefix("# TYPE ") else { continue }
            let words = line.split(separator: " ")
            let isHistogram = words[3] == "histogram"
            for suffix in isHistogram ? ["_bucket", "_sum", "_count", ""] : [""] {
                names.insert(words[2] + suffix)
            }
        }
        return names
    }

    /// The words of a text: letters, digits, `_` and, inside, `:`.
    private func words(_ text: String) -> [String] {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":")) }
            .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ":")) }
    }

    @Test func `every metric in Alerts and Dashboards is scraped or recorded`() throws {
        let texts = try texts("Alerts").merging(texts("Dashboards")) { first, _ in first }
        try #require(texts.count > 3)
        var known = scraped
        for text in texts.values {
            for line in text.split(separator: "\n") {
                let line = line.trimmingCharacters(in: .whitespaces)
                guard line.hasPrefix("- record: ") else { continue }
                known.insert(String(line.dropFirst("- record: ".count)))
            }
        }
        var unknown: Set<String> = []
        for (path, text) in texts {
            for word in words(text) {
                let isMetric =
                    Self.beginnings.contains { word.hasPrefix($0) }
                    || word.split(separator: ":").count == 3 && word.contains("_")
                if isMetric && !known.contains(word) { unknown.insert("\(path): \(word)") }
            }
        }
        #expect(unknown.sorted() == [])
    }
}
