import RollcallCore

/// Where requests go. Source: design §9.
package struct Router: Sendable {
    /// What a path means.
    enum Target: Equatable, Sendable {
        case items(ItemKind)
        case heartbeat
        case responders
        case responder(id: [UInt8])
        case status
        case metrics
        case healthy
        case ready
        case landing
    }

    let keeper: Keeper
    let edge: EdgeFigures
    let limits: ScanLimits
    let desk: ScrapeDesk

    /// A router to `keeper` that counts in `edge` and reads bodies within `limits`.
    package init(keeper: Keeper, edge: EdgeFigures, limits: ScanLimits) {
        self.keeper = keeper
        self.edge = edge
        self.limits = limits
        desk = ScrapeDesk(keeper: keeper, edge: edge)
    }

    /// Ends what runs beside the requests.
    package func close() { desk.close() }

    // MARK: - Before the body

    /// Refuses by its head what need not be read.
    package func judge(_ request: HTTPRequest) -> HTTPResponse? {
        guard let methods = Self.methods(request.path) else {
            return counted(
                .problem(404, "Not Found", detail: "there is no such path"), .other)
        }
        let route = Self.route(request.path)
        guard methods.contains(request.method) else {
            let allowed = methods.contains("GET") ? methods + ["HEAD"] : methods
            return counted(
                .problem(
                    405, "Method Not Allowed", detail: "see the Allow header",
                    headers: [("Allow", allowed.joined(separator: ", "))]), route)
        }
        guard request.method == "POST" else { return nil }
        if request.contentEncoding != nil {
            return counted(
                .problem(
                    415, "Unsupported Media Type", detail: "no content coding is understood",
                    headers: [("Accept-Encoding", "identity")]), route)
        }
        guard Self.format(request.contentType) != nil else {
            return counted(
                .problem(
                    415, "Unsupported Media Type",
                    detail: "application/json or application/x-ndjson expected",
                    headers: [("Accept", "application/json, application/x-ndjson")]), route)
        }
        return nil
    }

    // MARK: - Whole requests

    /// Answers a request, at once or when the keeper has.
    package func handle(_ request: HTTPRequest, _ reply: HTTPReply) {
        let began = ContinuousClock.now
        let route = Self.route(request.path)
        let edge = edge
        let answer: @Sendable (HTTPResponse, InputFigures) -> Void = { response, input in
            edge.answered(
                route, code: response.status, after: ContinuousClock.now - began, input: input)
            reply.answer(response)
        }
        guard let target = Self.target(request) else {
            return answer(
                .problem(404, "Not Found", detail: "there is no such path"), InputFigures())
        }
        switch target {
        case .items(let kind): postItems(kind, request, answer)
        case .heartbeat: postHeartbeat(request, answer)
        case .responders: listResponders(request, answer)
        case .responder(let id): showResponder(id, answer)
        case .status: showStatus(answer)
        case .metrics: showMetrics(request, answer)
        case .healthy:
            let still = keeper.pulse.still()
            answer(
                still.map {
                    .problem(503, "Hanging", detail: "the keeper stands still for \($0.count) ms")
                } ?? .text("Rollcall is healthy.\n"), InputFigures())
        case .ready:
            let isReady = keeper.isTakingWrites
            answer(
                isReady
                    ? .text("Rollcall is ready.\n")
                    : .problem(503, "Not Ready", detail: "the store does not take commits"),
                InputFigures())
        case .landing: showLanding(answer)
        }
    }

    private func counted(_ response: HTTPResponse, _ route: EdgeFigures.Route) -> HTTPResponse {
        edge.answered(route, code: response.status, after: .zero)
        return response
    }

    // MARK: - Tables

    private static let responderPrefix = "/v1/responders/"

    private static func methods(_ path: String) -> [String]? {
        switch path {
        case "/v1/batches", "/v1/transitions": ["POST"]
        case "/v1/responders": ["GET", "POST"]
        case "/v1/heartbeat": ["POST", "DELETE"]
        case "/v1/status", "/metrics", "/-/healthy", "/-/ready", "/": ["GET"]
        default: responderID(path) == nil ? nil : ["GET"]
        }
    }

    private static func route(_ path: String) -> EdgeFigures.Route {
        switch path {
        case "/v1/batches": .batches
        case "/v1/transitions": .transitions
        case "/v1/heartbeat": .heartbeat
        case "/v1/status": .status
        case "/metrics": .metrics
        case "/-/healthy", "/-/ready": .health
        case "/": .page
        default: path.hasPrefix("/v1/responders") ? .responders : .other
        }
    }

    private static func target(_ request: HTTPRequest) -> Target? {
        switch request.path {
        case "/v1/batches": .items(.batch)
        case "/v1/transitions": .items(.transition)
        case "/v1/responders": request.method == "POST" ? .items(.responder) : .responders
        case "/v1/heartbeat": .heartbeat
        case "/v1/status": .status
        case "/metrics": .metrics
        case "/-/healthy": .healthy
        case "/-/ready": .ready
        case "/": .landing
        default: responderID(request.path).map { .responder(id: $0) }
        }
    }

    private static func responderID(_ path: String) -> [UInt8]? {
        guard path.hasPrefix(responderPrefix) else { return nil }
        let rest = path.utf8.dropFirst(responderPrefix.utf8.count)
        guard !rest.contains(UInt8(ascii: "/")), let id = percentDecoded(rest),
            (1...ItemScanner.nameBytesMax).contains(id.count)
        else { return nil }
        return id
    }

    /// Percent-decodes a part of a path; nil if a `%` is not followed by two digits.
    private static func percentDecoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var pending: [UInt8]?
        for byte in text {
            if var digits = pending {
                digits.append(byte)
                pending = digits
                guard digits.count == 2 else { continue }
                guard let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                    return nil
                }
                decoded.append(value)
                pending = nil
            } else if byte == UInt8(ascii: "%") {
                pending = []
            } else {
                decoded.append(byte)
            }
        }
        return pending == nil ? decoded : nil
    }

    /// How a body of this content type is read; nil for one that is not.
    ///
    /// Without a type, and form-encoded as `curl -d` says it, it is JSON (design §3).
    static func format(_ contentType: String?) -> BodyFormat? {
        guard let contentType, contentType != "application/json" else { return .json }
        let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        switch type {
        case "application/json", "application/x-www-form-urlencoded", "": return .json
        case "application/x-ndjson": return .lines
        default: return nil
        }
    }
}

extension HTTPResponse {
    /// Plain text.
    static func text(_ text: String) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: [("Content-Type", "text/plain; charset=utf-8")],
            body: Array(text.utf8))
    }

    /// JSON.
    static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "application/json")], body: body)
    }
}
