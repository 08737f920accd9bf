import RollcallCore

/// Where requests go. Source: design §9.
package struct Router: Sendable {
    /// What a path means.
    enum Target: Equatable, Sendable {
        case items(ItemKind)
        case heartbeat
        case responders
        case responder(id: [UInt8])
        case roster
        case erase(id: [UInt8])
        case erasure(number: Int64)
        case status
        case metrics
        case healthy
        case ready
        case reload
        case landing
    }

    /// Answers a request once, and tells what of its input is to be counted.
    typealias Answer = @Sendable (HTTPResponse, InputFigures) -> Void

    let keeper: Keeper
    let edge: EdgeFigures
    let limits: BodyLimits
    let doors: Doors
    let admission: Admission
    let reloader: Reloader
    let desk: ScrapeDesk

    /// A router to `keeper` and `reloader` that counts in `edge`, reads bodies within `limits`, lets
    /// in whom `doors` let in and lets wait what `admission` has room for.
    package init(
        keeper: Keeper, edge: EdgeFigures, limits: BodyLimits, doors: Doors, admission: Admission,
        reloader: Reloader
    ) {
        self.keeper = keeper
        self.edge = edge
        self.limits = limits
        self.doors = doors
        self.admission = admission
        self.reloader = reloader
        desk = ScrapeDesk(keeper: keeper, edge: edge)
    }

    /// Says on `/-/ready` that it is over; what comes is still answered.
    package func drain() { doors.close() }

    /// Ends what runs beside the requests.
    package func close() { desk.close() }

    // MARK: - Before the body

    /// Refuses by its head what need not be read.
    package func judge(_ request: HTTPRequest, at door: Door) -> HTTPResponse? {
        let rules = doors.rules
        let token = rules.access.holder(request.authorization)
        let known = Self.methods(request.path)
        let route = known == nil ? .other : Self.route(request.path)
        if let refusal = stranger(request, token, door, rules) { return counted(refusal, route) }
        guard let methods = known else { return counted(Self.notFound, .other) }
        guard methods.contains(request.method) else {
            let allowed = methods.contains("GET") ? methods + ["HEAD"] : methods
            return counted(
                .problem(
                    405, "Method Not Allowed", detail: "see the Allow header",
                    headers: [("Allow", allowed.joined(separator: ", "))]), route)
        }
        if let refusal = forbidden(request, token, door, rules) { return counted(refusal, route) }
        guard request.method == "POST" || request.method == "PUT" else { return nil }
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
        return crowd(request).map { counted($0, route) }
    }

    /// Counts what the listener answered without asking here.
    package func count(_ request: HTTPRequest, refusedWith status: Int) {
        edge.answered(Self.route(request.path), code: status, after: .zero)
    }

    // MARK: - Whole requests

    /// Answers a request, at once or when the keeper has.
    package func handle(_ request: HTTPRequest, _ reply: HTTPReply) {
        let began = ContinuousClock.now
        let route = Self.route(request.path)
        let edge = edge
        let answer: Answer = { response, input in
            // Who was answered by the watchdog meanwhile got its 503, whatever we say now.
            let code = reply.isOpen ? response.status : 503
            edge.answered(route, code: code, after: ContinuousClock.now - began, input: input)
            reply.answer(response)
        }
        guard let target = Self.target(request) else {
            return answer(Self.notFound, InputFigures())
        }
        switch target {
        case .items(let kind): postItems(kind, request, answer)
        case .heartbeat: postHeartbeat(request, answer)
        case .responders: listResponders(request, answer)
        case .responder(let id): showResponder(id, answer)
        case .roster: putRoster(request, answer)
        case .erase(let id): erase(id, request, answer)
        case .erasure(let number): showErasure(number, answer)
        case .status: showStatus(answer)
        case .metrics: showMetrics(request, answer)
        case .healthy:
            let still = keeper.pulse.still()
            answer(
                still.map {
                    .problem(503, "Hanging", detail: "the keeper stands still for \($0.count) ms")
                } ?? .text("Rollcall is healthy.\n"), InputFigures())
        case .ready:
            answer(readiness, InputFigures())
        case .reload: reloadSettings(answer)
        case .landing: showLanding(answer)
        }
    }

    private var readiness: HTTPResponse {
        if doors.isClosing {
            return .problem(503, "Not Ready", detail: "stopping", headers: [("Retry-After", "1")])
        }
        guard keeper.isTakingWrites else {
            return .problem(
                503, "Not Ready", detail: "the store does not take commits",
                headers: [("Retry-After", "1")])
        }
        return .text("Rollcall is ready.\n")
    }

    private func counted(_ response: HTTPResponse, _ route: EdgeFigures.Route) -> HTTPResponse {
        edge.answered(route, code: response.status, after: .zero)
        return response
    }

    // MARK: - Tables

    private static let responderPrefix = "/v1/responders/"
    static let erasurePrefix = "/v1/erasures/"

    private static func methods(_ path: String) -> [String]? {
        switch path {
        case "/v1/batches", "/v1/transitions", "/-/reload": ["POST"]
        case "/v1/responders": ["GET", "POST", "PUT"]
        case "/v1/heartbeat": ["POST", "DELETE"]
        case "/v1/status", "/metrics", "/-/healthy", "/-/ready", "/": ["GET"]
        default:
            responderID(path) != nil
                ? ["GET", "DELETE"] : erasureNumber(path) != nil ? ["GET"] : nil
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
        case "/-/reload": .reload
        case "/": .page
        default:
            path.hasPrefix("/v1/responders")
                ? .responders : path.hasPrefix(erasurePrefix) ? .erasures : .other
        }
    }

    private static func target(_ request: HTTPRequest) -> Target? {
        switch request.path {
        case "/v1/batches": .items(.batch)
        case "/v1/transitions": .items(.transition)
        case "/v1/responders":
            switch request.method {
            case "POST": .items(.responder)
            case "PUT": .roster
            default: .responders
            }
        case "/v1/heartbeat": .heartbeat
        case "/v1/status": .status
        case "/metrics": .metrics
        case "/-/healthy": .healthy
        case "/-/ready": .ready
        case "/-/reload": .reload
        case "/": .landing
        default:
            if let number = erasureNumber(request.path) {
                .erasure(number: number)
            } else {
                responderID(request.path).map {
                    request.method == "DELETE" ? .erase(id: $0) : .responder(id: $0)
                }
            }
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

    private static func erasureNumber(_ path: String) -> Int64? {
        guard path.hasPrefix(erasurePrefix) else { return nil }
        return Int64(path.dropFirst(erasurePrefix.count))
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
