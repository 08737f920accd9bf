import RollcallBasis
import RollcallCore
import RollcallSupport

/// `GET /openapi.json`: every route in OpenAPI 3.1. Source: V5.
///
/// The paths are the table of routes, with its words, limits and scopes; what they refer to,
/// schemas and examples, stands in `openapi.json` beside this file.
enum OpenAPI {
    /// The document's text, made once.
    static let bytes: [UInt8] = {
        var bytes: [UInt8] = []
        document.append(to: &bytes)
        bytes.append(0x0A)
        return bytes
    }()

    /// The document.
    static var document: JSONTree {
        guard let frame = try? JSONTree(reading: PackageResources.openapi_json) else {
            preconditionFailure("openapi.json is not JSON")
        }
        let version: JSONTree = ["version": .text(BuildInformation.version)]
        return .object(
            frame.members.flatMap { member -> [JSONTree.Member] in
                switch member.name {
                case "info": [.init(name: "info", value: member.value.with(version))]
                case "components": [.init(name: "paths", value: paths), member]
                default: [member]
                }
            })
    }

    private static var paths: JSONTree {
        .object(
            Resource.allCases.map { resource in
                let variables = resource.variables.map { reference("parameters", $0) }
                let shared: JSONTree = variables.isEmpty ? [:] : ["parameters": .list(variables)]
                let operations = Route.of(resource).map { route in
                    JSONTree.Member(
                        name: route.method.rawValue.lowercased(), value: operation(route))
                }
                return .init(name: resource.path, value: shared.with(.object(operations)))
            })
    }

    /// One operation. What may befall any request (a head that is refused, a stranger, a server
    /// that stops) is declared here.
    private static func operation(_ route: Route) -> JSONTree {
        let scope = route.scopeName
        let needs = scope.map { "Scope: `\($0)`." } ?? "Needs no token."
        let text = [route.text, needs].filter { !$0.isEmpty }.joined(separator: "\n\n")
        var operation: JSONTree = [
            "operationId": .text(route.name), "tags": [.text(route.tag.rawValue)],
            "summary": .text(route.summary), "description": .text(text),
            "security": security(scope),
        ]
        let position = route.method == .get && route.isOfWatch ? ["atLeast"] : []
        let parameters =
            (route.shared.map(\.rawValue) + position).map { reference("parameters", $0) }
            + route.parameters
        if !parameters.isEmpty { operation = operation.with(["parameters": .list(parameters)]) }
        if let body = route.body {
            operation = operation.with(["requestBody": reference("requestBodies", body)])
        }
        var named = Dictionary(uniqueKeysWithValues: route.answers.map { ($0.key, $0.value) })
        let anywhere = [400, 403, 431, 503] + (route.scope == nil ? [] : [401])
        let ofBodies = route.method.hasBody ? [413, 415] : []
        for status in route.problems + anywhere + ofBodies { named[status] = "\(status)" }
        let answers = named.sorted { $0.key < $1.key }.map { status, name in
            JSONTree.Member(name: "\(status)", value: reference("responses", name))
        }
        let rest: JSONTree = ["default": reference("responses", "default")]
        return operation.with(["responses": .object(answers).with(rest)])
    }

    /// Returns who may do this: a token of the scope by a scheme that opens it, or anybody where there
    /// are none.
    ///
    /// OpenAPI 3.1.0 §4.8.30: "For other security scheme types, the array MAY contain a list of
    /// role names which are required for the execution".
    private static func security(_ scope: String?) -> JSONTree {
        guard let scope else { return [] }
        let isOfSession = Session.scopes.contains { $0.rawValue == scope }
        let isOfPassword = scope != Access.Scope.act.rawValue
        let schemesUsed =
            (["bearer"] + (isOfPassword ? ["basic"] : []) + (isOfSession ? ["session"] : [])).map {
                JSONTree.object([.init(name: $0, value: [.text(scope)])])
            }
        return .list(schemesUsed + [[:]])
    }

    private static func reference(_ kind: String, _ name: String) -> JSONTree {
        ["$ref": "#/components/\(kind)/\(name)"]
    }

    /// A reference to a schema.
    static func schema(_ name: String) -> JSONTree { reference("schemas", name) }
}
