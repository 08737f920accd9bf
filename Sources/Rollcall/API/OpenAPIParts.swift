import RollcallCore

/// The parts that several operations share: parameters, bodies, header fields and failures.
extension OpenAPI {
    // MARK: - Parameters

    static var parameters: JSONTree {
        let name = schema("Name")
        let limit: JSONTree = [
            "type": "integer", "minimum": 1, "maximum": .integer(Int64(Router.limitMax)),
            "default": .integer(Int64(Router.limitStandard)),
        ]
        let fixed: [(String, JSONTree)] = [
            ("id", inPath("id", "The person, percent-encoded.", name)),
            (
                "number",
                inPath("number", "Its number.", ["type": "integer", "format": "int64"])
            ),
            ("version", inPath("version", "Of all the page's files.", ["type": "string"])),
            ("name", inPath("name", "The file's name.", ["type": "string"])),
            (
                "source",
                inQuery(
                    "source",
                    "Who sends this write; without it the token's name, else `default`.", name)
            ),
            ("roster", inQuery("roster", "The id of a roster that comes in parts.", name)),
            (
                "more",
                inQuery(
                    "more", "Another part follows; needs `roster`.",
                    ["type": "boolean", "default": false])
            ),
            (
                "strict",
                inQuery(
                    "strict", "An unknown field refuses its item, or the body.",
                    ["type": "boolean", "default": false])
            ),
            (
                "sentAt",
                [
                    "name": .text(RequestSending.field), "in": "header",
                    "description": """
                    When this request is sent, by the clock that tells `received_at` and `at`, anew \
                    at each attempt: a clock that is off is told from a way that is long. Heartbeats \
                    and bodies of several items may say `sent_at` themselves, which wins.
                    """, "schema": schema("Time"),
                ]
            ),
            (
                "shrink",
                inQuery(
                    "shrink", "Takes a roster also if it retires most people.", words(["allow"]))
            ),
            ("status", inQuery("status", "Those expected, of this status.", schema("Status"))),
            ("reachable", inQuery("reachable", "Who can be reached now.", schema("Reachable"))),
            ("region", inQuery("region", "Of this region.", ["type": "string"])),
            ("duty_state", inQuery("duty_state", "Of this duty state.", schema("DutyState"))),
            ("after", inQuery("after", "The `next` of the answer before.", name)),
            ("limit", inQuery("limit", "People in the answer at most.", limit)),
        ]
        return .object(
            (fixed + presentParameters + historyParameters + alertParameters + nudgeParameters)
                .map { .init(name: $0.0, value: $0.1) })
    }

    static func inQuery(
        _ name: String, _ description: String, _ schema: JSONTree
    ) -> JSONTree {
        [
            "name": .text(name), "in": "query", "description": .text(description),
            "schema": schema,
        ]
    }

    private static func inPath(
        _ name: String, _ description: String, _ schema: JSONTree
    ) -> JSONTree {
        [
            "name": .text(name), "in": "path", "required": true,
            "description": .text(description), "schema": schema,
        ]
    }

    // MARK: - Bodies

    static var requestBodies: JSONTree {
        [
            "Batches": items("Batch", Samples.batch),
            "Transitions": items("Transition", Samples.transition),
            "Facts": items("Facts", Samples.facts),
            "Heartbeat": one("Heartbeat", Samples.heartbeat),
            "SilenceRequest": one("SilenceRequest", Samples.silenceRequest),
            "DrillRequest": one("DrillRequest", Samples.drillRequest),
            "WakeRequest": one("WakeRequest", Samples.wakeRequest),
        ]
    }

    /// A body of one object.
    private static func one(_ name: String, _ sample: JSONTree) -> JSONTree {
        [
            "required": true,
            "content": ["application/json": ["schema": schema(name), "example": sample]],
        ]
    }

    /// A body of items: one, an array of them, or one a line.
    private static func items(_ name: String, _ sample: JSONTree) -> JSONTree {
        var line: [UInt8] = []
        sample.append(to: &line)
        let one = schema(name)
        let several: JSONTree = ["anyOf": [one, schema("Sending")]]
        return [
            "required": true,
            "description": """
            At most \(ScanLimits().itemsMax) items and \(HTTPLimits().bodyBytesMax >> 20) MiB, \
            unless the settings `limits.items` and `limits.body` say otherwise. Without a type \
            or form-encoded, a body is read as JSON. No content coding is understood. The first of \
            several objects may be `{"sent_at": …}` alone: it is no item.
            """,
            "content": [
                "application/json": [
                    "schema": ["oneOf": [one, ["type": "array", "items": several]]],
                    "examples": [
                        "one": ["value": sample], "several": ["value": [sample]],
                    ],
                ],
                "application/x-ndjson": [
                    "schema": [
                        "type": "string",
                        "description": "One object a line, each as in `application/json`.",
                    ],
                    "example": .text(String(decoding: line, as: UTF8.self) + "\n"),
                ],
            ],
        ]
    }

    // MARK: - Header fields

    static var headers: JSONTree {
        [
            "RetryAfter": [
                "description": "Seconds to wait at least.",
                "schema": ["type": "integer", "minimum": 0],
            ],
            "Location": [
                "description": "Tells how far it is.", "required": true,
                "schema": ["type": "string", "format": "uri-reference"],
            ],
            "WWWAuthenticate": [
                "description": "How to show a token.", "required": true,
                "schema": ["type": "string"],
            ],
        ]
    }

    // MARK: - Failures

    /// The failures, by status.
    static var responses: JSONTree {
        let retry: JSONTree = ["headers": ["Retry-After": reference("headers", "RetryAfter")]]
        let challenge: JSONTree = [
            "headers": ["WWW-Authenticate": reference("headers", "WWWAuthenticate")]
        ]
        return [
            "400": problem("No JSON, a parameter that makes no sense, or an ambiguous head."),
            "401": problem("Tokens are configured, and this is none of them.").with(challenge),
            "403": problem("The token lacks the scope, or `Host` or `Origin` are another's."),
            "404": problem("There is no such thing."),
            "413": problem("The body is too large, or holds too many items: send it in parts."),
            "415": problem("Another type than JSON or NDJSON, or a content coding."),
            "422": problem("A value that must be there cannot be read."),
            "429": problem("Too much of this source waits while others wait: send it again.")
                .with(retry),
            "431": problem("The head is too large."),
            "503": problem("Not known to be done: send it again.").with(retry),
            "default": problem("Whatever else went wrong."),
        ]
    }

    private static func problem(_ description: String) -> JSONTree {
        answer(description, schema("Problem"), type: "application/problem+json")
    }
}
