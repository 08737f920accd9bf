import RollcallCore

/// The operations of each resource.
extension OpenAPI {
    /// The path item of a resource.
    static func item(_ resource: Resource) -> JSONTree {
        switch resource {
        case .batches: ["post": postBatches]
        case .transitions: ["post": postTransitions]
        case .responders: ["get": getResponders, "post": postResponders, "put": putResponders]
        case .responder: responder
        case .timeline: timeline
        case .nudge: nudge
        case .gaps: ["get": getGaps]
        case .dark: ["get": getDark]
        case .nudges: ["get": getNudges]
        case .wakes: ["post": postWake]
        case .alerts: ["get": getAlerts]
        case .alertHistory: ["get": getAlertHistory]
        case .silences: ["get": getSilences, "post": postSilence]
        case .silence: silence
        case .drills: ["post": postDrill]
        case .drill: drill
        case .erasure: erasure
        case .heartbeat: ["post": postHeartbeat, "delete": deleteHeartbeat]
        case .status: ["get": getStatus]
        case .statusHistory: ["get": getStatusHistory]
        case .regions: ["get": getRegions]
        case .metrics: ["get": getMetrics]
        case .healthy: ["get": getHealthy]
        case .ready: ["get": getReady]
        case .reload: ["post": postReload]
        case .openAPI: ["get": getOpenAPI]
        case .page, .silentPage, .alertsPage, .nudgesPage, .feedsPage, .peoplePage:
            ["get": page(resource)]
        case .personPage:
            ["parameters": [reference("parameters", "id")], "get": page(resource)]
        case .asset: asset
        }
    }

    // MARK: - Writes

    /// The 200 of a write of items.
    private static let verdict = answer(
        "Committed. Look at `rejected` and `problems`.", schema("Verdict"),
        example: Samples.verdict)
    /// The 422 of a write of items.
    private static let refusal = answer(
        "Every item was rejected, or `source` is no name.",
        ["anyOf": [schema("RejectedProblem"), schema("Problem")]],
        type: "application/problem+json", example: Samples.refusal)
    private static let source = reference("parameters", "source")
    private static let strict = reference("parameters", "strict")
    private static let sentAt = reference("parameters", "sentAt")

    private static var postBatches: JSONTree {
        operation(
            "postBatches", .batches, "POST", .writes, "What phones sent",
            """
            What phones sent with their locations, forwarded by the backend; a batch is contact. \
            It enrols somebody unknown ON_DUTY in region `default` unless it says otherwise.
            """,
            parameters: [source, strict, sentAt], body: reference("requestBodies", "Batches"),
            answers: ["200": verdict], problems: [429], details: [422: refusal])
    }

    private static var postTransitions: JSONTree {
        operation(
            "postTransitions", .transitions, "POST", .writes, "The server's own status changes",
            """
            Evidence, not orders: `to: ONLINE` is contact at `at`; `DEGRADED` and `OFFLINE` are \
            adopted if worse than what is known and later than the last contact.
            """,
            parameters: [source, strict, sentAt], body: reference("requestBodies", "Transitions"),
            answers: ["200": verdict], problems: [429], details: [422: refusal])
    }

    private static var postResponders: JSONTree {
        operation(
            "postResponders", .responders, "POST", .writes, "Facts that the backend knows",
            """
            None of them is contact. A duty state told here wins over one in batches received \
            within 60 s after it. Naming an erased person takes them up again.
            """,
            parameters: [source, strict, sentAt], body: reference("requestBodies", "Facts"),
            answers: ["200": verdict], problems: [429], details: [422: refusal])
    }

    private static var putResponders: JSONTree {
        operation(
            "putResponders", .responders, "PUT", .writes, "The whole roster",
            """
            Who is not in it is retired. In parts: each with the same `roster` and `more=true`, \
            the last without `more`, no 10 minutes apart, another `roster` each time.
            """,
            parameters: [
                source, strict, sentAt, reference("parameters", "roster"),
                reference("parameters", "more"), reference("parameters", "shrink"),
            ], body: reference("requestBodies", "Facts"),
            answers: ["200": verdict], problems: [429],
            details: [
                409: answer(
                    "It would retire more than half of the active, and more than 5; or it was "
                        + "complete already. Nothing was taken.",
                    schema("Problem"), type: "application/problem+json",
                    example: Samples.shrinkingRoster),
                422: refusal,
            ])
    }

    private static var postHeartbeat: JSONTree {
        operation(
            "postHeartbeat", .heartbeat, "POST", .writes, "Arms a source's dead-man's switch",
            """
            Promises a write every `every_seconds`; any write of the source counts. Once 2.5 of \
            them are missing of every source, the watch is blind and says so.
            """,
            parameters: [source, sentAt, strict], body: reference("requestBodies", "Heartbeat"),
            answers: ["200": answer("Committed.", schema("HeartbeatAnswer"))],
            problems: [422],
            details: [
                409: answer(
                    "\(Feed.sourcesMax) sources are declared already: delete one.",
                    schema("Problem"), type: "application/problem+json")
            ])
    }

    private static var deleteHeartbeat: JSONTree {
        operation(
            "deleteHeartbeat", .heartbeat, "DELETE", .writes, "Disarms a source's switch",
            "The same answer for a source that was not declared.", parameters: [source],
            answers: ["200": answer("Committed.", schema("HeartbeatAnswer"))], problems: [422])
    }

    // MARK: - Answers

    private static var getResponders: JSONTree {
        let names = ["status", "reachable", "region", "duty_state", "after", "limit"]
        return operation(
            "listResponders", .responders, "GET", .answers, "People, by what is known of them",
            """
            All filters must hold. `reachable=yes` is what assigns incidents. Go on with `after` = \
            `next` until it is null; at most \(Router.lookedAtMax) people are looked at for one \
            answer, so that one may be empty and have a `next`. A parameter that is not known here \
            is a 400.
            """,
            parameters: names.map { reference("parameters", $0) },
            answers: ["200": answer("People.", schema("ResponderList"))])
    }

    private static var responder: JSONTree {
        let show = operation(
            "getResponder", .responder, "GET", .answers, "One person",
            answers: [
                "200": answer("The person.", schema("Responder"), example: Samples.responder)
            ],
            problems: [404])
        let erase = operation(
            "eraseResponder", .responder, "DELETE", .writes, "Erases a person",
            """
            Out of memory and answers at once, out of the store within \
            \(Router.erasedWithin.count / 60_000) minutes. Whether anybody had the id is not told. \
            The id is refused until `POST /v1/responders` names it again.
            """,
            parameters: [source],
            answers: [
                "202": answer("Committed; the store follows.", schema("ErasureAccepted"))
                    .with(["headers": ["Location": reference("headers", "Location")]])
            ], problems: [404, 422])
        return [
            "parameters": [reference("parameters", "id")],
            "get": show, "delete": erase,
        ]
    }

    private static var erasure: JSONTree {
        let show = operation(
            "getErasure", .erasure, "GET", .answers, "How far an erasure is",
            answers: ["200": answer("The erasure.", schema("Erasure"), example: Samples.erasure)],
            problems: [404])
        return ["parameters": [reference("parameters", "number")], "get": show]
    }

    // MARK: - Operation

    private static var getMetrics: JSONTree {
        let text: JSONTree = ["schema": ["type": "string"]]
        return operation(
            "getMetrics", .metrics, "GET", .operation, "Metrics for Prometheus",
            """
            Text 0.0.4, or OpenMetrics 1.0 for who asks for it by `Accept`. On a listener of its \
            own (`web.metrics_listen_address`) it needs no token.
            """,
            answers: [
                "200": [
                    "description": "The page.",
                    "content": ["text/plain": text, "application/openmetrics-text": text],
                ]
            ])
    }

    private static func probe(
        _ id: String, _ resource: Resource, _ summary: String, _ description: String
    ) -> JSONTree {
        operation(
            id, resource, "GET", .operation, summary, description,
            answers: ["200": answer("Yes.", ["type": "string"], type: "text/plain")])
    }

    private static var getHealthy: JSONTree {
        probe(
            "getHealthy", .healthy, "Does the loop go round?",
            "503 if it stood still for too long. Never waits for the store.")
    }

    private static var getReady: JSONTree {
        probe(
            "getReady", .ready, "Are writes taken?",
            "503 while the server stops, the store takes no commits, or the keeper has not answered "
                + "for more than 5 s.")
    }

    private static var postReload: JSONTree {
        operation(
            "reload", .reload, "POST", .operation, "Reads the settings again",
            "All or nothing: with 422 none was taken and those from before stay.",
            answers: ["200": answer("Taken.", schema("Reload"), example: Samples.reload)],
            details: [
                422: answer(
                    "They are wrong; `detail` says where.", schema("Problem"),
                    type: "application/problem+json")
            ])
    }

    private static var getOpenAPI: JSONTree {
        operation(
            "getOpenAPI", .openAPI, "GET", .operation, "This document",
            answers: ["200": answer("OpenAPI 3.1.", ["type": "object"])])
    }
}
