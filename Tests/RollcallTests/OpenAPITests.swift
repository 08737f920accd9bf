import Foundation
import RollcallCore
import Testing

@testable import Rollcall

/// The document against the table of routes; what is answered is held against it by the acceptance
/// tests. Source: V5.
@Suite struct OpenAPITests {
    private static let methods: Set<String> = [
        "get", "put", "post", "delete", "options", "head", "patch", "trace",
    ]

    /// The document as a strict reader sees it.
    private static func document() throws -> [String: Any] {
        let parsed = try JSONSerialization.jsonObject(with: Data(OpenAPI.bytes))
        return try #require(parsed as? [String: Any])
    }

    @Test func `every route is in the document, and nothing else`() throws {
        let paths = try #require(try Self.document()["paths"] as? [String: [String: Any]])
        var described: Set<String> = []
        for (path, item) in paths {
            for method in item.keys where Self.methods.contains(method) {
                described.insert("\(method.uppercased()) \(path)")
            }
        }
        let routes = Resource.allCases.flatMap { resource in
            resource.methods.map { "\($0) \(resource.path)" }
        }
        #expect(described == Set(routes))
        #expect(routes.count == Set(routes).count)
    }

    @Test func `every path of the table leads to its resource`() {
        for resource in Resource.allCases {
            let path = resource.path
                .replacing("{id}", with: "r%2F17").replacing("{number}", with: "7")
                .replacing("{version}", with: "0").replacing("{name}", with: "main.js")
            #expect(Target(path)?.resource == resource, "\(path)")
        }
        #expect(Target("/v1/responders/r%2F17")?.id == Array("r/17".utf8))
        #expect(Target("/v1/responders/r%2F17/timeline")?.id == Array("r/17".utf8))
        #expect(Target("/v1/responders/timeline")?.resource == .responder)
        #expect(Target("/v1/responders/r%2F17/nudge")?.id == Array("r/17".utf8))
        #expect(Target("/v1/responders/nudge")?.resource == .responder)
        for path in ["/v1/erasures/7", "/v1/silences/7", "/v1/drill/7"] {
            #expect(Target(path)?.number == 7)
        }
        for path in [
            "", "/v1", "/v1/batches/", "/v1/responders/", "/v1/responders/a/b",
            "/v1/responders//timeline", "/v1/responders//nudge", "/v1/responders/a/nudge/",
            "/v1/nudges/", "/v1/wakes/",
            "/v1/gaps/", "/v1/erasures/", "/v1/silences/", "/v1/silences/x", "/v1/drill/",
            "/v1/alerts/", "/v1/alerts/7",

            "/v1/erasures/x", "/v1/erasures/9223372036854775808", "/openapi.yaml",
        ] {
            #expect(Target(path) == nil, "\(path)")
        }
    }

    @Test func `every reference leads somewhere`() throws {
        let document = try Self.document()
        var references: Set<String> = []
        func collect(_ value: Any) {
            if let object = value as? [String: Any] {
                if let target = object["$ref"] as? String { references.insert(target) }
                for member in object.values { collect(member) }
            } else if let list = value as? [Any] {
                for element in list { collect(element) }
            }
        }
        collect(document)
        #expect(references.count > 30)
        for reference in references {
            var found: Any? = document
            for step in reference.split(separator: "/").dropFirst() {
                found = (found as? [String: Any])?[String(step)]
            }
            #expect(found != nil, "\(reference)")
        }
    }

    @Test func `every operation has a name of its own`() {
        var names: [JSONTree] = []
        for resource in Resource.allCases {
            guard case .object(let members) = OpenAPI.item(resource) else { continue }
            for member in members where Self.methods.contains(member.name) {
                guard case .object(let operation) = member.value else { continue }
                names += operation.filter { $0.name == "operationId" }.map(\.value)
            }
        }
        #expect(names.count == Resource.allCases.map(\.methods.count).reduce(0, +))
        for (place, name) in names.enumerated() {
            #expect(!names[..<place].contains(name), "\(name)")
        }
    }

    @Test func `the places that it says are dropped are dropped`() throws {
        let info = try #require(try Self.document()["info"] as? [String: Any])
        let text = try #require(info["description"] as? String)
        let list = try #require(text.firstMatch(of: /named like a place \((.*?)\)/)).1
        let names = list.matches(of: /`([a-z]+)`/).map { String($0.1) }
        #expect(names.count == 12)
        for name in names {
            let body = Array("{\"responder_id\":\"a\",\"\(name)\":1}".utf8)
            let scan = try ItemScanner.scan(
                body.span, kind: .batch, format: .json, limits: ScanLimits())
            #expect(scan.privateFieldsDropped == 1, "\(name)")
        }
    }

    @Test func `a tree is written in its order, with escapes`() {
        let tree: JSONTree = [
            "b": [1, -2, 0.62, true, false, nil, []], "a\"": "line\n\u{1}", "empty": [:],
        ]
        var text: [UInt8] = []
        tree.append(to: &text)
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"b":[1,-2,0.62,true,false,null,[]],"a\"":"line\n\u0001","empty":{}}"#)
        #expect(tree.names == ["b", "a\"", "empty"])
        #expect(tree.with(["c": 1]).names == ["b", "a\"", "empty", "c"])
    }
}
