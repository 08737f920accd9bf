import Foundation
import Testing

/// Keeps the house's rules for the source tree, so that nobody has to remember them.
@Suite struct TidyTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    /// What the top level holds beside dot files.
    private static let listed: Set<String> = [
        "Package.swift", "README.md", "Sources", "Tests", "Dashboards", "Alerts",
    ]
    /// What building and running leave behind, and `.gitignore` names.
    private static let leftBehind = ["Package.resolved"]
    private static let leftEndings = [
        ".db", ".db-wal", ".db-shm", ".db.lock", ".db.epoch", ".db.suspect", ".sqlite",
    ]
    private static let linesMax = 400
    /// A file of one of these names has no idea in it yet.
    private static let ideasMissing = ["Utils", "Utilities", "Helper", "Manager", "Common", "Misc"]
    /// The words that begin a clause, or send the reader elsewhere.
    private static let clauseWords: Set<Substring> = [
        "What", "Who", "How", "When", "Where", "Whose", "Whether", "Why", "Which", "Whom", "See",
    ]

    /// A source file of this repository.
    private struct Source: CustomStringConvertible {
        let path: String
        private(set) var lines: [Substring]
        var description: String { path }

        init(_ url: URL, below root: URL) throws {
            path = String(url.path.dropFirst(root.path.count + 1))
            let text = try String(contentsOf: url, encoding: .utf8)
            lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            if lines.last == "" { lines.removeLast() }
        }
    }

    private static func sources(_ folder: String) throws -> [Source] {
        let url = root.appendingPathComponent(folder)
        let files = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
        var found: [Source] = []
        while let file = files?.nextObject() as? URL {
            if file.pathExtension == "swift" { found.append(try Source(file, below: root)) }
        }
        try #require(!found.isEmpty, "no sources in \(folder)")
        return found.sorted { $0.path < $1.path }
    }

    @Test func `the top level holds what is listed`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.path)
        let strange = names.filter { name in
            !name.hasPrefix(".") && !Self.listed.contains(name) && !Self.leftBehind.contains(name)
                && !Self.leftEndings.contains { name.hasSuffix($0) }
        }
        #expect(strange == [])
    }

    @Test func `no source file is longer than 400 lines`() throws {
        let long = try Self.sources("Sources")
            .filter { $0.lines.count > Self.linesMax }
            .map { "\($0.path): \($0.lines.count)" }
        #expect(long == [])
    }

    @Test func `the core imports nothing`() throws {
        var imports: [String] = []
        for source in try Self.sources("Sources/RollcallCore") {
            for (place, line) in source.lines.enumerated() where Self.isImport(line) {
                imports.append("\(source):\(place + 1): \(line)")
            }
        }
        #expect(imports == [])
    }

    private static func isImport(_ line: Substring) -> Bool {
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(of: "import") else { return false }
        return words[..<place].allSatisfy {
            $0.hasPrefix("@") || ["public", "package", "internal", "private"].contains($0)
        }
    }

    @Test func `nothing is left to do`() throws {
        // Put together here, or this file would be its own offender.
        let marks = ["TO" + "DO", "FIX" + "ME"]
        var left: [String] = []
        for source in try Self.sources("Sources") + Self.sources("Tests") {
            for (place, line) in source.lines.enumerated()
            where marks.contains(where: { line.contains($0) }) {
                left.append("\(source):\(place + 1): \(line)")
            }
        }
        #expect(left == [])
    }

    @Test func `every file has an idea in its name`() throws {
        let nameless = try (Self.sources("Sources") + Self.sources("Tests")).filter { source in
            let name = source.path.split(separator: "/").last ?? ""
            return Self.ideasMissing.contains { name.contains($0) }
        }
        #expect(nameless.map(\.path) == [])
    }

    @Test func `what other targets see is documented, and only the client is public`() throws {
        var bare: [String] = []
        for source in try Self.sources("Sources") {
            // Other people's servers see it.
            let isForOthers = source.path.hasPrefix("Sources/RollcallClient/")
            for (place, line) in source.lines.enumerated() {
                let words = line.split(separator: " ")
                let isAssignment = words.dropFirst().first == "="
                let isPublic = words.first == "public" || words.first == "open" && !isAssignment
                if isPublic, !isForOthers {
                    bare.append("\(source):\(place + 1): \(line)")
                }
                // Of the client everything has its sentence: its users see nothing else.
                guard isPublic || words.first == "package" && Self.isDeclaration(words.dropFirst())
                else { continue }
                if !Self.isDocumented(source.lines[..<place]) {
                    bare.append("\(source):\(place + 1): \(line)")
                }
            }
        }
        #expect(bare == [])
    }

    @Test func `the first line of a doc comment is a sentence, not a clause`() throws {
        var clauses: [String] = []
        for source in try Self.sources("Sources") {
            var isWithin = false
            for (place, line) in source.lines.enumerated() {
                let text = line.trimmingPrefix { $0 == " " }
                let isDoc = text.hasPrefix("///")
                if isDoc, !isWithin, Self.isClause(text.dropFirst(3)) {
                    clauses.append("\(source):\(place + 1): \(line)")
                }
                isWithin = isDoc
            }
        }
        #expect(clauses == [])
    }

    /// True for a text that begins with one of those words, or with "The same".
    private static func isClause(_ text: Substring) -> Bool {
        let words = text.split(maxSplits: 2) { !$0.isLetter }
        guard let first = words.first else { return false }
        return clauseWords.contains(first)
            || first == "The" && words.dropFirst().first == "same"
    }

    /// True for what needs a sentence: functions, initialisers and types. Properties and cases
    /// often say it all by their names, and so do operators and an initialiser without arguments.
    private static func isDeclaration(_ words: ArraySlice<Substring>) -> Bool {
        let modifiers: Set<Substring> = [
            "static", "final", "mutating", "nonmutating", "consuming", "borrowing", "indirect",
        ]
        guard let place = words.firstIndex(where: { !modifiers.contains($0) }) else { return false }
        switch words[place] {
        case "func":
            let name = words.dropFirst(place - words.startIndex + 1).first?.first
            return name.map { $0.isLetter || $0 == "_" || $0 == "`" } ?? false
        case "struct", "enum", "class", "actor", "protocol": return true
        case let word: return word.hasPrefix("init") && !word.hasPrefix("init()")
        }
    }

    /// True if a doc comment ends right above, attributes aside.
    private static func isDocumented(_ above: ArraySlice<Substring>) -> Bool {
        for line in above.reversed() {
            let text = line.trimmingPrefix { $0 == " " }
            if text.hasPrefix("///") { return true }
            if !text.hasPrefix("@") { return false }
        }
        return false
    }
}
