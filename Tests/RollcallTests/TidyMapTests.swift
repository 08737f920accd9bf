import Foundation
import Testing

@testable import RollcallCore

/// What the documents say of the tree is so: its folders, its dependencies, its sizes, and that the
/// tests' own installer waits for others.
@Suite struct TidyMapTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let pages = "Sources/RollcallCore/RollcallCore.docc"

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The folders right below `path` that hold files of the repository.
    private static func folders(_ path: String) throws -> [String] {
        let url = root.appendingPathComponent(path)
        return try FileManager.default.contentsOfDirectory(
            at: url, includingPropertiesForKeys: [.isDirectoryKey]
        ).filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }
            .map(\.lastPathComponent).filter { !$0.hasPrefix("__") && !$0.hasSuffix(".docc") }
            .sorted()
    }

    /// The names of folders in the README's map, as they stand below the last whole path.
    private static func map() throws -> [String: Set<String>] {
        let readme = try text("README.md")
        let start = try #require(readme.firstRange(of: "## Map of the code\n"))
        var found: [String: Set<String>] = [:]
        var above = ""
        for line in readme[start.upperBound...].split(separator: "\n") where line.hasPrefix("|") {
            let cell = line.dropFirst().prefix { $0 != "|" }
            for match in cell.matches(of: #/`([^`]+)/`/#) {
                let path = String(match.1)
                if cell.contains("…") {
                    found[above, default: []].insert(path)
                } else {
                    above = path
                    let parts = path.split(separator: "/")
                    found[parts.dropLast().joined(separator: "/"), default: []]
                        .insert(String(parts.last ?? ""))
                }
            }
        }
        return found
    }

    @Test(arguments: [
        "Sources", "Sources/RollcallCore", "Sources/RollcallCluster", "Sources/RollcallStore",
        "Sources/RollcallSupport",
        "Sources/RollcallBasis", "Sources/Rollcall", "Sources/RollcallTools", "Tests",
    ])
    func `the README's map has every folder, and no other`(path: String) throws {
        let mapped = try Self.map()[path] ?? []
        #expect(try mapped == Set(Self.folders(path)))
    }

    @Test func `the dependencies are those that the decision names`() throws {
        let package = try Self.text("Package.swift")
        let used = package.matches(of: #/\.package\(url: "[^"]+\/([^"\/]+)"/#).map { String($0.1) }
        #expect(used.count == 3)
        let decisions = try Self.text("\(Self.pages)/Decisions/Tests.md")
        let entry = try #require(
            decisions.firstMatch(
                of: #/## (\w+) dependencies beside the system's libraries\n\n([^#]+)/#))
        #expect(entry.1 == "Three")
        for name in used { #expect(entry.2.contains(name), "\(name)") }
    }

    /// What comes with the compiler or the system.
    private static let builtIn: Set<String> = [
        "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Testing",
    ]

    // Without it a build succeeds if something else has built the module by then, and else does not.
    @Test func `each target names what it imports`() throws {
        let package = try Self.text("Package.swift")
        let modules = try #require(package.firstMatch(of: #/let modules = \[([^\]]+)\]/#)).1
        let begin = #/\.(?:target|executableTarget|testTarget)\(\s*name: "([\w-]+)"/#
        let targets = package.matches(of: begin)
        #expect(targets.count > 12)
        for (place, target) in targets.enumerated() {
            let end = targets.dropFirst(place + 1).first?.range.lowerBound ?? package.endIndex
            let own = package[target.range.lowerBound..<end]
            var named = Set(own.matches(of: #/"(\w+)"/#).map { String($0.1) })
            if own.contains("dependencies: product") {
                named.formUnion(modules.matches(of: #/"(\w+)"/#).map { String($0.1) })
            }
            let folder = own.firstMatch(of: #/path: "([^"]+)"/#).map { String($0.1) }
            let isTest = own.hasPrefix(".testTarget")
            let path = folder ?? "\(isTest ? "Tests" : "Sources")/\(target.1)"
            for file in try Self.swiftFiles(path) {
                for match in try Self.text(file).matches(
                    of:
                        #/(?m)^(?:@testable |@preconcurrency |package |public )?import (?:\w+ )?(\w+)/#
                ) {
                    let module = String(match.1)
                    #expect(
                        named.contains(module) || Self.builtIn.contains(module),
                        "\(file): \(module)")
                }
            }
        }
    }

    private static func swiftFiles(_ path: String) throws -> [String] {
        let all = try FileManager.default.subpathsOfDirectory(
            atPath: root.appendingPathComponent(path).path)
        return all.filter { $0.hasSuffix(".swift") }.map { "\(path)/\($0)" }
    }

    @Test func `the architecture tells the size of a page of people`() throws {
        let architecture = try Self.text("\(Self.pages)/Architecture.md")
        #expect(architecture.contains("pages of \(Roster.pageSize) plain structs"))
    }

    @Test func `the tests wait for the package manager's lock`() throws {
        let lines = try Self.text(".packages/install").split(separator: "\n")
        #expect(lines.contains { $0.contains("wait=(-o DPkg::Lock::Timeout=600)") })
        let calls = lines.filter { $0.contains("apt-get ") && !$0.contains("# ") }
        #expect(calls.count == 2)
        for call in calls { #expect(call.contains(#"apt-get "${wait[@]}" "#), "\(call)") }
    }
}
