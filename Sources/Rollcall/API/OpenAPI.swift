import RollcallCore

/// `GET /openapi.json`: every route in OpenAPI 3.1. Source: V5.
///
/// It is written by hand, but words, limits, scopes and the version are the code's own, and the
/// compiler asks for an entry for each `Resource`.
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
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Rollcall",
                "version": .text(BuildInformation.version),
                "summary": "Who of your people can be reached now.",
                "description": .text(introduction),
            ],
            "servers": [["url": "/"]],
            "tags": [
                ["name": "writes", "description": "What backends tell."],
                ["name": "answers", "description": "What is known of people, from memory."],
                ["name": "operation", "description": "The server itself."],
            ],
            "paths": .object(
                Resource.allCases.map { .init(name: $0.path, value: item($0)) }),
            "components": [
                "securitySchemes": securitySchemes,
                "parameters": parameters,
                "requestBodies": requestBodies,
                "headers": headers,
                "responses": responses,
                "schemas": told.with(answered).with(present).with(history).with(alerts)
                    .with(nudges),
            ],
        ]
    }

    private static let introduction = """
        Rollcall hears what phones report and tells, exact to the deadline, who can be reached.

        **A 2xx means committed.** 503 means that the outcome is unknown: send it again. Repeats \
        do no harm: `(responder_id, install, sequence)` is taken once. 429 means that too much of \
        one source waits while others wait too: send it again, later.

        **Coordinates are never kept.** Fields named like a place (`lat`, `latitude`, `lng`, `lon`, \
        `longitude`, `coords`, `coordinates`, `location`, `geo`, `altitude`, `heading`, `speed`) \
        are dropped unread at any depth, and counted. Any other unknown field is named under \
        `problems`, with what was probably meant (five an item, names cut at 64 bytes), and with \
        `strict=true` refuses its item. `null` is the same as absent, and a field that is not sent \
        keeps its last value.

        **One bad value costs itself.** An item is rejected only if its identity, a required field \
        or its `received_at` cannot be read; other values that cannot be read are named under \
        `problems`. The schemas here tell what to send; what does not fit them is judged like that.

        Errors are problem documents (RFC 9457), but for heads that cannot be read at all. `HEAD` \
        is answered wherever `GET` is. Answers may get further members in later versions. Where \
        tokens are configured each operation names the scope that its token needs; where none are, \
        all of it is open.
        """

    // MARK: - Security

    /// The schemes' names.
    private static let schemes = ["bearer", "basic"]

    private static var securitySchemes: JSONTree {
        [
            "bearer": ["type": "http", "scheme": "bearer", "description": "One of `web.tokens`."],
            "basic": [
                "type": "http", "scheme": "basic",
                "description": "The token as the password, any user: what browsers can do.",
            ],
        ]
    }

    /// Returns who may do this: a token of the scope by either scheme, or anybody where there are
    /// none.
    ///
    /// OpenAPI 3.1.0 §4.8.30: "For other security scheme types, the array MAY contain a list of
    /// role names which are required for the execution".
    private static func security(_ scope: Access.Scope?) -> JSONTree {
        guard let scope else { return [] }
        let ways = schemes.map { name in
            JSONTree.object([.init(name: name, value: [.text(scope.rawValue)])])
        }
        return .list(ways + [[:]])
    }

    // MARK: - Operations

    /// The purpose of an operation.
    enum Tag: String {
        case writes, answers, operation
    }

    /// One operation. What may befall any request (a head that is refused, a stranger, a server
    /// that stops) is declared here; `problems` are its own.
    static func operation(
        _ id: String, _ resource: Resource, _ method: String, _ tag: Tag, _ summary: String,
        _ description: String = "", parameters: [JSONTree] = [], body: JSONTree? = nil,
        answers: JSONTree, problems: [Int] = [], details: [Int: JSONTree] = [:]
    ) -> JSONTree {
        let scope = Router.scope(method, resource.path)
        let needs = scope.map { "Scope: `\($0.rawValue)`." } ?? "Needs no token."
        let text = [description, needs].filter { !$0.isEmpty }.joined(separator: "\n\n")
        var operation: JSONTree = [
            "operationId": .text(id), "tags": [.text(tag.rawValue)], "summary": .text(summary),
            "description": .text(text), "security": security(scope),
        ]
        if !parameters.isEmpty { operation = operation.with(["parameters": .list(parameters)]) }
        if let body { operation = operation.with(["requestBody": body]) }
        var all = Set(problems + [400, 403, 431, 503])
        if scope != nil { all.insert(401) }
        if method == "POST" || method == "PUT" { all.formUnion([413, 415]) }
        all.subtract(details.keys)
        let failures = (all.map { ($0, reference("responses", "\($0)")) } + Array(details))
            .sorted { $0.0 < $1.0 }
            .map { JSONTree.Member(name: "\($0.0)", value: $0.1) }
        let rest: JSONTree = ["default": reference("responses", "default")]
        return operation.with(["responses": answers.with(.object(failures)).with(rest)])
    }

    // MARK: - Words

    /// A reference to a component.
    static func reference(_ kind: String, _ name: String) -> JSONTree {
        ["$ref": "#/components/\(kind)/\(name)"]
    }

    /// A reference to a schema.
    static func schema(_ name: String) -> JSONTree { reference("schemas", name) }

    /// An answer with a body of one type.
    static func answer(
        _ description: String, _ schema: JSONTree, type: String = "application/json",
        example: JSONTree? = nil
    ) -> JSONTree {
        var media: JSONTree = ["schema": schema]
        if let example { media = media.with(["example": example]) }
        let content = JSONTree.object([.init(name: type, value: media)])
        return ["description": .text(description), "content": content]
    }

    /// A closed set of words.
    static func words(_ words: [StaticString]) -> JSONTree {
        ["type": "string", "enum": .list(words.map { .text("\($0)") })]
    }

    /// An object with these members, of which some are always there.
    static func object(
        _ description: String, required: [String], _ properties: JSONTree
    ) -> JSONTree {
        [
            "type": "object", "description": .text(description),
            "required": .list(required.map { .text($0) }), "properties": properties,
        ]
    }
}
