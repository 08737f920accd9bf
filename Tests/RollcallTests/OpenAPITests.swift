import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

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
        let routes = Route.all.map { "\($0.method.rawValue) \($0.resource.path)" }
        #expect(Set(Route.all.map(\.resource)) == Set(Resource.allCases))
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

    private static let tree: JSONTree? = OpenAPI.document

    /// The names of the components that `value` refers to, and those that these refer to.
    private static func references(_ value: JSONTree, _ found: inout Set<String>) {
        if let target = value["$ref"]?.text, found.insert(target).inserted {
            let steps = target.split(separator: "/").dropFirst()
            guard let named = part(steps.joined(separator: "/")) else {
                Issue.record("\(target) leads nowhere")
                return
            }
            references(named, &found)
        }
        for member in value.members { references(member.value, &found) }
        for element in value.elements { references(element, &found) }
    }

    /// A part of the document, by the names of members with slashes between them.
    private static func part(_ path: String) -> JSONTree? {
        path.split(separator: "/").reduce(tree) { $0?[String($1)] }
    }

    @Test func `every reference leads somewhere, and all that there is is used`() throws {
        var found: Set<String> = []
        Self.references(try #require(Self.part("paths")), &found)
        var declared: Set<String> = []
        for kind in try #require(Self.part("components")).members
        where kind.name != "securitySchemes" {
            declared.formUnion(kind.value.names.map { "#/components/\(kind.name)/\($0)" })
        }
        #expect(declared.count > 120)
        #expect(found == declared)
    }

    @Test func `its sets of words are the code's`() throws {
        let statuses = Status.allCases.map(\.word)
        let platforms = Platform.allCases.filter { $0 != .unknown && $0 != .other }.map(\.word)
        let clocks = SkewState.allCases.filter { $0 != .right && $0 != .unmeasured }.map(\.word)
        var expected: [String: [StaticString]] = [
            "AdviceKey": Advice.allCases.map(\.word),
            "AlertName": AlertName.allCases.map(\.word),
            "BlindReason": BlindReason.allCases.map(\.word),
            "ClockState": clocks + [ClockJSON.late],
            "DeliveryState": Reach.State.allCases.map(\.word),
            "DifferenceFact": DifferenceFact.allCases.map(\.word),
            "DutyState": DutyState.allCases.filter { $0 != .none }.map(\.word),
            "GapCause": GapCause.allCases.map(\.word),
            "GapEventState": GapState.allCases.map(\.word),
            "GapVerdict": GapVerdict.allCases.map(\.word),
            "HoldReason": NudgeReason.written.map(\.word),
            "NotExpected": NotExpected.allCases.map(\.word),
            "NoticeKind": Notice.Kind.allCases.map(\.word),
            "NoticeOutcome": NoticeOutcome.allCases.map(\.word),
            "NudgeChoice": NudgeChoice.allCases.map(\.word),
            "NudgeMode": NudgeRules.Mode.allCases.map(\.word),
            "NudgeOutcome": NudgeOutcome.allCases.map(\.word),
            "NudgeReason": NudgeReason.allCases.map(\.word),
            "NudgeSink": NudgeRules.Sink.allCases.map(\.word),
            "PhonePlatform": platforms, "Platform": Platform.allCases.map(\.word),
            "PushOutcome": PushOutcome.allCases.map(\.word),
            "PushState": PushMessage.State.allCases.map(\.word),
            "Reachable": Reachable.allCases.map(\.word),
            "ReceiverKind": ReceiverKind.allCases.map(\.word),
            "Severity": Severity.allCases.map(\.word), "Sharing": Sharing.allCases.map(\.word),
            "ShownStatus": statuses + ["NOT_EXPECTED"],
            "StateLossCause": StateLossCause.allCases.map(\.word), "Status": statuses,
            "StatusOrigin": Origin.allCases.map(\.word),
            "WakeReason": WakeReason.allCases.map(\.word),
        ]
        // The first value stands for what was not told, the last for a word that is not known.
        for field in Telemetry.fields where field.values.count > 3 {
            let name = "\(field.name)".split(separator: "_").map(\.capitalized).joined()
            expected[name] = Array(field.values.dropFirst().filter { "\($0)" != "other" })
            expected["Shown\(name)"] = Array(field.values.dropFirst())
        }
        let schemas = try #require(Self.part("components/schemas")).members
        let words = schemas.compactMap { schema in
            schema.value["enum"].map { (schema.name, $0.elements.compactMap(\.text)) }
        }
        #expect(
            Dictionary(uniqueKeysWithValues: words) == expected.mapValues { $0.map { "\($0)" } })
    }

    @Test func `its limits are the code's`() throws {
        let notes = Int64(ItemScanner.notesMax)
        let unknown = Int64(UnknownField.namedMax + 1)
        let limits: [String: Int64] = [
            "Name/maxLength": Int64(ItemScanner.nameBytesMax),
            "Circles/maxItems": Int64(ItemScanner.circlesMax),
            "Facts/properties/push_token/maxLength": Int64(ItemScanner.tokenBytesMax),
            "Heartbeat/properties/every_seconds/minimum": Int64(Router.everySeconds.lowerBound),
            "Heartbeat/properties/every_seconds/maximum": Int64(Router.everySeconds.upperBound),
            // A `sent_at` that cannot be read, or twice, and a longer promise.
            "HeartbeatAnswer/properties/problems/maxItems": unknown + 2,
            "Problem/properties/problems/maxItems": unknown,
            "SilenceBegun/properties/problems/maxItems": unknown,
            "WakeAnswer/properties/problems/maxItems": unknown,
            "RejectedProblem/properties/rejected/maxItems": notes,
            "RejectedProblem/properties/problems/maxItems": notes,
            "Verdict/properties/rejected/maxItems": notes,
            "Verdict/properties/problems/maxItems": notes,
            "NobodyReached/properties/incidents/maxItems": Int64(Unreached.incidentsMax),
            "SilenceRequest/properties/matchers/maxItems": Int64(MatcherText.countMax),
            "SilenceRequest/properties/author/maxLength": Int64(SilenceRequest.authorMax),
            "SilenceRequest/properties/comment/maxLength": Int64(SilenceRequest.commentMax),
            "SilenceRequest/properties/id/maxLength": Int64(SilenceRequest.authorMax),
            "StatusAnswer/properties/sources/maxItems": Int64(Feed.sourcesMax),
            "StatusAnswer/properties/clocks/maxItems": Int64(2 * Feed.sourcesMax),
            "StatusAnswer/properties/receivers/maxItems": Int64(Receiver.countMax),
            "StatusHistory/properties/step_seconds/minimum":
                StatusHistoryQuery.stepRange.lowerBound / 1000,
            "StatusHistory/properties/step_seconds/maximum":
                StatusHistoryQuery.stepRange.upperBound / 1000,
        ]
        for (path, limit) in limits {
            #expect(Self.part("components/schemas/\(path)")?.whole == limit, "\(path)")
        }
        let items = "\(ScanLimits().itemsMax) items and \(HTTPLimits().bodyBytesMax >> 20) MiB"
        for (path, words) in [
            "requestBodies/Batches": items, "requestBodies/Facts": items,
            "requestBodies/Transitions": items, "responses/TooManySources": "\(Feed.sourcesMax) ",
            "responses/SilenceConflict": "\(Silence.countMax) ",
            "parameters/tell": " \(PersonalStanding.itemsMax) items",
            "schemas/Name": " \(ItemScanner.nameBytesMax) bytes",
            "schemas/Verdict/properties/rejected": " \(ItemScanner.notesMax) ",
            "schemas/AlertList/properties/truncated": " \(AlertJSON.alertsMax).",
        ] {
            let text = Self.part("components/\(path)")?["description"]?.text
            #expect(text?.contains(words) == true, "\(path)")
        }
    }

    @Test func `each kind of an event has a schema, which its word leads to`() throws {
        let event = try #require(Self.part("components/schemas/Event"))
        let mapping = try #require(event["discriminator"]?["mapping"]).members
        #expect(event["oneOf"]?.elements.compactMap { $0["$ref"] } == mapping.map(\.value))
        for member in mapping {
            let name = try #require(member.value.text?.split(separator: "/").last)
            let kind = Self.part("components/schemas/\(name)/properties/kind/const")
            #expect(kind?.text == member.name)
        }
    }

    @Test func `every operation has a name of its own`() {
        #expect(Set(Route.all.map(\.name)).count == Route.all.count)
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
