import Foundation
import Testing

/// The folders of the core, and those of the edges, point one way: a folder can be read with those below it, and moved.
@Suite struct TidyRoomsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Of all folders of these modules, as if they were one.
    private static func graph(_ modules: [String]) throws -> FolderGraph {
        var files: [(String, [UInt8])] = []
        for module in modules {
            let url = root.appendingPathComponent("Sources/\(module)")
            let names = FileManager.default.enumerator(atPath: url.path)
            while let name = names?.nextObject() as? String {
                guard name.hasSuffix(".swift") else { continue }
                let bytes = [UInt8](try Data(contentsOf: url.appendingPathComponent(name)))
                files.append(("\(module)/\(name)", bytes))
            }
        }
        try #require(files.count > 100, "no sources in \(modules)")
        return FolderGraph(files)
    }

    @Test(arguments: [
        ["RollcallCore"],
        [
            "RollcallCluster", "RollcallStore", "RollcallSupport", "RollcallBasis", "Rollcall",
            "RollcallTools",
        ],
    ])
    func `the folders of modules do not lead round`(modules: [String]) throws {
        let cycle = try Self.graph(modules).cycle
        #expect(cycle.isEmpty, "\(cycle.map(\.description).joined(separator: "\n"))")
    }

    @Test func `a type of a higher folder that a lower one names closes a cycle`() {
        let cycle = Self.graph(of: "let name = \"of \\(Router.name(\"a\", of: Clock()))\"").cycle
        #expect(
            cycle.map(\.description) == [
                "API/ → Time/: API/Router.swift names Clock, which is in Time/Clock.swift",
                "Time/ → API/: Time/Clock.swift names Router, which is in API/Router.swift",
            ])
    }

    @Test(arguments: [
        "// Router", "let a = \"Router\"", "let a = \"\"\"\n    A \"Router\"\n    \"\"\"",
        "let a = \"\\(b(\"Router\")) Router\"", "let a = Web.Router()", "struct Router {}",
        "let a: Routers",
    ])
    func `words that stand for no type of another folder close none`(line: String) {
        let graph = Self.graph(of: line.hasPrefix("struct") ? "enum A {\n    \(line)\n}" : line)
        #expect(graph.cycle.map(\.description) == [])
    }

    /// Of two folders: the routes know the clock, and the clock's file has `lines` beside it.
    private static func graph(of lines: String) -> FolderGraph {
        FolderGraph([
            ("API/Router.swift", Array("package struct Router { let clock: Clock }".utf8)),
            ("Time/Clock.swift", Array("struct Clock {}\n\(lines)\n".utf8)),
        ])
    }
}
