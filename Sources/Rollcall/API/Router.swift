import RollcallCore

/// The router of requests to their routes. Source: V5.
package struct Router: Sendable {
    /// Answers a request once, and tells what of its input is to be counted.
    typealias Answer = @Sendable (HTTPResponse, InputFigures) -> Void

    let keeper: Keeper
    let edge: EdgeFigures
    let limits: BodyLimits
    let doors: Doors
    let admission: Admission
    let reloader: Reloader
    let desk: ScrapeDesk
    let history: HistoryDesk

    /// A router to `keeper` and `reloader` that counts in `edge`, reads bodies within `limits`, lets
    /// in whom `doors` let in and lets wait what `admission` has room for. `historyLimits` bound what
    /// a question of history costs; `listener` tells what the listener in front of it counted.
    package init(
        keeper: Keeper, edge: EdgeFigures, limits: BodyLimits, doors: Doors, admission: Admission,
        reloader: Reloader, historyLimits: HistoryLimits = HistoryLimits(),
        listener: @escaping @Sendable () -> HTTPFigures = { HTTPFigures() }
    ) {
        self.keeper = keeper
        self.edge = edge
        self.limits = limits
        self.doors = doors
        self.admission = admission
        self.reloader = reloader
        desk = ScrapeDesk(keeper: keeper, edge: edge, listener: listener)
        history = HistoryDesk(keeper: keeper, limits: historyLimits)
    }

    /// Says on `/-/ready` that it is over; what comes is still answered.
    package func drain() { doors.close() }

    /// Ends what runs beside the requests.
    package func close() {
        desk.close()
        history.close()
    }

    // MARK: - Before the body

    /// Refuses by its head what need not be read.
    package func judge(_ request: HTTPRequest, at door: Door) -> HTTPResponse? {
        let rules = doors.rules
        let token = rules.access.holder(request.authorization)
        let resource = Target(request.path)?.resource
        let route = resource?.route ?? .other
        if let refusal = stranger(request, token, door, rules) {
            return counted(StatusPageRefusal.shown(refusal, to: request, resource), route)
        }
        guard let methods = resource?.methods else {
            return counted(StatusPageRefusal.shown(Self.notFound, to: request, nil), .other)
        }
        guard methods.contains(request.method) else {
            let allowed = methods.contains("GET") ? methods + ["HEAD"] : methods
            return counted(
                .problem(
                    405, "Method Not Allowed", detail: "see the Allow header",
                    headers: [("Allow", allowed.joined(separator: ", "))]), route)
        }
        if let refusal = forbidden(request, token, door, rules) {
            return counted(StatusPageRefusal.shown(refusal, to: request, resource), route)
        }
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
        edge.answered(Target(request.path)?.resource.route ?? .other, code: status, after: .zero)
    }

    // MARK: - Whole requests

    /// Answers a request, at once or when the keeper has.
    package func handle(_ request: HTTPRequest, _ reply: HTTPReply) {
        let began = ContinuousClock.now
        let target = Target(request.path)
        let route = target?.resource.route ?? .other
        let edge = edge
        let answer: Answer = { response, input in
            // Who was answered by the watchdog meanwhile got its 503, whatever we say now.
            let code = reply.isOpen ? response.status : 503
            edge.answered(route, code: code, after: ContinuousClock.now - began, input: input)
            reply.answer(response)
        }
        guard let target else { return answer(Self.notFound, InputFigures()) }
        switch (target.resource, request.method) {
        case (.batches, _): postItems(.batch, request, answer)
        case (.transitions, _): postItems(.transition, request, answer)
        case (.responders, "POST"): postItems(.responder, request, answer)
        case (.responders, "PUT"): putRoster(request, answer)
        case (.responders, _): listResponders(request, answer)
        case (.responder, "DELETE"): erase(target.id, request, answer)
        case (.responder, _): showResponder(target.id, answer)
        case (.timeline, _): showTimeline(target.id, request, answer)
        case (.nudge, _): showNudge(target.id, request, answer)
        case (.gaps, _): showGaps(request, answer)
        case (.dark, _): showDark(request, answer)
        case (.nudges, _): showNudges(request, answer)
        case (.wakes, _): postWake(request, answer)
        case (.alerts, _): showAlerts(request, answer)
        case (.alertHistory, _): showAlertHistory(request, answer)
        case (.silences, "POST"): postSilence(request, answer)
        case (.silences, _): listSilences(request, answer)
        case (.silence, "DELETE"): endSilence(target.number, request, answer)
        case (.silence, _): showSilence(target.number, answer)
        case (.drills, _): postDrill(request, answer)
        case (.drill, _): showDrill(target.number, answer)
        case (.erasure, _): showErasure(target.number, answer)
        case (.heartbeat, _): postHeartbeat(request, answer)
        case (.status, _): showStatus(answer)
        case (.statusHistory, _): showStatusHistory(request, answer)
        case (.regions, _): listRegions(request, answer)
        case (.metrics, _): showMetrics(request, answer)
        case (.healthy, _): answer(health, InputFigures())
        case (.ready, _): answer(readiness, InputFigures())
        case (.reload, _): reloadSettings(answer)
        case (.openAPI, _): answer(.json(OpenAPI.bytes), InputFigures())
        case (.page, _), (.silentPage, _), (.alertsPage, _), (.nudgesPage, _), (.feedsPage, _),
            (.peoplePage, _):
            showPage(below: "", answer)
        case (.personPage, _): showPage(below: "../", answer)
        case (.asset, _): showAsset(target.asset, answer)
        }
    }

    private var health: HTTPResponse {
        guard let still = keeper.pulse.still() else { return .text("Rollcall is healthy.\n") }
        return .problem(503, "Hanging", detail: "the keeper stands still for \(still.count) ms")
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
        if let still = keeper.pulse.still(for: MetricsPage.presentFor) {
            return .problem(
                503, "Not Ready", detail: "the keeper has not answered for \(still.count) ms",
                headers: [("Retry-After", "1")])
        }
        return .text("Rollcall is ready.\n")
    }

    private func counted(_ response: HTTPResponse, _ route: EdgeFigures.Route) -> HTTPResponse {
        edge.answered(route, code: response.status, after: .zero)
        return response
    }

    /// Returns how a body of this content type is read; nil for one that is not.
    ///
    /// Without a type, and form-encoded as `curl -d` says it, it is JSON (I7).
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
