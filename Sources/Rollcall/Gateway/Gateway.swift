import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// One address for all cells of a fleet: it holds nothing but the map, sends each cell what is about its
/// people, and makes one answer of theirs. Any number of gateways may stand beside each other. Source: K5.
package final class Gateway: HTTPEdge {
    /// A request on its way.
    struct Call: Sendable {
        let route: Route
        let target: Target
        let request: HTTPRequest
        /// The instant at which it was here, by the machine's clock.
        let arrival: Int64
        let answer: Router.Answer
    }

    /// The parameter that names the one cell that is to answer.
    static let cellParameter = "cell"
    /// The time for which a request may wait: a roster goes to all cells three times.
    private static let patience = Duration.milliseconds(3 * CellCalls.patience.count + 1000)

    package let accessPolicy: AccessPolicy
    let log: Logger
    let stats = GatewayStats()
    let calls: CellCalls
    /// Those by whom events are waited for, who must take no place of anybody else.
    let waits: CellCalls
    let streams: StreamRelay
    let rosters = RosterIDs()
    let follower: MapFollower
    let fleetCell: CellMap.Cell
    let limits: BodyLimits
    private let metrics: MetricsNegotiation
    private let reload: @Sendable (@escaping @Sendable (String?) -> Void) -> Void

    /// A gateway to the cells of the fleet cell at `urls`, which asks for `token`. `reload` reads the
    /// settings again, and says what is wrong with them; `onTurn` is called twice a second.
    init(
        urls: [[UInt8]], token: Secret?, accessPolicy: AccessPolicy, limits: BodyLimits,
        metrics: MetricsNegotiation, streamsMax: Int, log: Logger,
        onTurn: @escaping @Sendable () -> Void,
        reload: @escaping @Sendable (@escaping @Sendable (String?) -> Void) -> Void
    ) {
        self.accessPolicy = accessPolicy
        self.log = log
        self.limits = limits
        self.metrics = metrics
        self.reload = reload
        fleetCell = CellMap.Cell(name: GatewayStats.fleetCell, urls: urls)
        let follower = MapFollower(fleetCell, token: token, log: log, onTurn: onTurn)
        self.follower = follower
        calls = CellCalls(stats: stats) { follower.heard(of: $0) }
        waits = CellCalls(stats: stats)
        streams = StreamRelay(streamsMax: streamsMax)
    }

    /// Says on `/-/ready` that it is over; what comes is still answered.
    func drain() {
        accessPolicy.close()
        streams.close()
    }

    /// Ends what runs beside the requests.
    func close() {
        follower.close()
        calls.close()
        waits.close()
    }

    // MARK: - Before the body

    /// Refuses by its head what need not be read. Whom an input lets in, its cells say.
    func authorise(_ request: HTTPRequest, at accessPoint: AccessPoint) -> HTTPResponse? {
        let (target, routes) = Route.named(request.path)
        let label = routes.first?.label ?? .other
        let refusal: HTTPResponse?
        if target?.isInput == true {
            let rules = accessPolicy.rules
            refusal =
                unauthenticated(request, nil, nil, accessPoint, rules) ?? foreign(request, rules)
                ?? refusalAtInput(request, routes, rules)
        } else {
            refusal = self.refusal(
                of: request, to: target?.resource, routes, at: accessPoint)
        }
        if let refusal { stats.edge.answered(label, code: refusal.status, after: .zero) }
        return refusal
    }

    /// Refuses what no cell would take of a phone: whose it is, they know.
    private func refusalAtInput(
        _ request: HTTPRequest, _ routes: [Route], _ rules: AccessPolicy.Rules
    ) -> HTTPResponse? {
        guard routes.contains(where: { $0.method.rawValue == request.method }) else {
            return .problem(
                405, "Method Not Allowed", detail: "see the Allow header",
                headers: [("Allow", "GET, HEAD, POST, PUT")])
        }
        let isNamed = request.query.contains { $0.name == Router.tokenParameter }
        if !rules.access.isOpen, request.authorization == nil, !isNamed {
            accessPolicy.count(.token)
            return Self.noToken(request)
        }
        guard request.method != "GET",
            case .refused(let refusal) = BodyCoding.choice(request.contentEncoding)
        else { return nil }
        return refusal
    }

    /// Counts what the listener answered without asking here.
    func count(_ request: HTTPRequest, refusedWith status: Int) {
        let label = Route.named(request.path).routes.first?.label ?? .other
        stats.edge.answered(label, code: status, after: .zero)
    }

    // MARK: - Whole requests

    /// Answers a request, at once or when the cells have.
    func handle(_ request: HTTPRequest, _ reply: HTTPReply) {
        let began = ContinuousClock.now
        let (target, routes) = Route.named(request.path)
        let route = routes.first { $0.method.rawValue == request.method }
        let label = route?.label ?? .other
        let answer: Router.Answer = { [stats] response, _ in
            // Who was answered by the watchdog meanwhile got its 503, whatever we say now.
            let code = reply.isOpen ? response.status : 503
            stats.edge.answered(label, code: code, after: ContinuousClock.now - began)
            reply.answer(response)
        }
        guard let target, let route else { return answer(Self.notFound, InputStats()) }
        reply.wait(for: max(Self.patience, route.patience ?? .zero))
        let call = Call(
            route: route, target: target, request: request, arrival: ClockReading.now().elapsed,
            answer: answer)
        // The query of an input is its client's own (M3).
        if route.forwarding != .input, let name = request.argumentUnread {
            return answer(.refusal(.unread(name)), InputStats())
        }
        switch route.forwarding {
        case .own: answerHere(call)
        case .fleet where named(call.request) == nil: pass(call, call.request, to: fleetCell)
        default: forward(call)
        }
    }

    /// Returns the cell that a request names; nil if it names none.
    private func named(_ request: HTTPRequest) -> String? {
        request.query.first { $0.name == Self.cellParameter }?.value
    }

    private func forward(_ call: Call) {
        guard let map = follower.map else {
            let why = follower.problem.map { ": \($0)" } ?? ""
            return call.answer(
                Router.unavailable("nobody has told this gateway whose people are whose\(why)"),
                InputStats())
        }
        let forwarding = call.route.forwarding
        if forwarding != .input, let name = named(call.request) {
            var rest = call.request
            rest.query.removeAll { $0.name == Self.cellParameter }
            guard let place = map.place(of: Array(name.utf8)) else {
                return call.answer(
                    .problem(404, "Not Found", detail: "there is no such cell"), InputStats())
            }
            if forwarding == .list(.events), Self.isStream(rest) {
                return passStream(call, rest, of: map.cells[place])
            }
            return pass(call, rest, to: map.cells[place])
        }
        switch forwarding {
        case .own, .fleet: break
        case .items: passItems(call, map)
        case .roster: passRoster(call, map)
        case .person: pass(call, call.request, to: map.cell(ofPerson: call.target.id))
        case .asked: passAsked(call, map)
        case .everywhere: passEverywhere(call, map)
        case .wake: passWake(call, map)
        case .input: passInput(call, map)
        case .list(let list): passList(call, list, map)
        case .incident: passIncident(call, map)
        case .named:
            if let cell = Self.cell(ofPersonIn: call.request, map) {
                return pass(call, call.request, to: cell)
            }
            let names = map.cells.map { String(decoding: $0.name, as: UTF8.self) }
            call.answer(
                .problem(
                    400, "Bad Request",
                    detail: "nothing is made of the answers of several cells here: say which one "
                        + "by cell=, of \(names.joined(separator: ", "))"), InputStats())
        }
    }

    // MARK: - One cell

    /// Passes a request on to a cell, and its answer back.
    func pass(_ call: Call, _ request: HTTPRequest, to cell: CellMap.Cell) {
        guard let passed = passed(call, request) else {
            return call.answer(Self.notFound, InputStats())
        }
        let isErasure = call.route.method == .delete && call.route.resource == .responder
        calls.send(passed, to: cell, arrival: call.arrival) { outcome in
            var response = Self.response(outcome, of: cell)
            if isErasure { Self.name(cell, in: &response) }
            call.answer(response, InputStats())
        }
    }

    /// Returns a request as it goes on; nil if it goes to nobody.
    func passed(
        _ call: Call, _ request: HTTPRequest, body: [UInt8]? = nil
    ) -> CellRequest? {
        var passed = CellRequest(
            request, target: Router.target(of: request), body: body,
            mayBeSentTwice: call.route.isRepeatable || request.idempotencyKey != nil)
        // It waits for a receiver.
        if call.route.resource == .drills { passed?.patience = LeaderCaller.patience }
        return passed
    }

    /// The answer of a cell as it goes to the client.
    static func response(_ outcome: CellOutcome, of cell: CellMap.Cell) -> HTTPResponse {
        switch outcome {
        case .answered(let answer): return response(answer)
        case .unavailable(let why):
            return Router.unavailable("\(words(cell)) does not answer: \(why)")
        }
    }

    static func response(_ answer: HTTPCallAnswer) -> HTTPResponse {
        let type = answer.contentType.map { [("Content-Type", $0)] } ?? []
        return HTTPResponse(
            status: (200...599).contains(answer.status) ? answer.status : 502,
            headers: type + answer.fields.map { ($0.name, $0.value) }, body: answer.body)
    }

    static func words(_ cell: CellMap.Cell) -> String {
        cell.name == GatewayStats.fleetCell ? "the fleet cell" : "cell \(name(of: cell))"
    }

    /// The name of a cell in answers; no cell can have that of the fleet cell.
    static func name(of cell: CellMap.Cell) -> String {
        cell.name == GatewayStats.fleetCell
            ? "fleet cell" : String(decoding: cell.name, as: UTF8.self)
    }

    /// Numbers are each cell's own: where an erasure is asked about, it is said of which.
    private static func name(_ cell: CellMap.Cell, in response: inout HTTPResponse) {
        let name = Router.encoded(String(decoding: cell.name, as: UTF8.self))
        for place in response.headers.indices where response.headers[place].0 == "Location" {
            response.headers[place].1 += "?\(cellParameter)=\(name)"
        }
    }

    // MARK: - Itself

    private func answerHere(_ call: Call) {
        let (request, answer) = (call.request, call.answer)
        switch call.route.resource {
        case .session:
            switch call.route.method {
            case .get: showSession(request, answer)
            case .delete: signOut(request, answer)
            default: signIn(request, answer)
            }
        case .metrics:
            let format = metrics.language(accept: request.accept).format
            let page = stats.page(format, map: follower.map, process: .read())
            answer(
                HTTPResponse(
                    status: 200,
                    headers: [
                        ("Content-Type", "\(format.contentType)"),
                        ("Vary", MetricsNegotiation.vary),
                    ], body: page), InputStats())
        case .healthy: answer(.text("Rollcall is healthy.\n"), InputStats())
        case .ready, .leader: answer(readiness, InputStats())
        case .reload:
            reload { problem in
                answer(
                    problem.map { .problem(422, "Unprocessable Content", detail: $0) }
                        ?? .json(Array("{\"reloaded\":true}\n".utf8)), InputStats())
            }
        default: answer(.json(OpenAPI.bytes), InputStats())
        }
    }

    private var readiness: HTTPResponse {
        if accessPolicy.isClosing {
            return .problem(503, "Not Ready", detail: "stopping", headers: [("Retry-After", "1")])
        }
        guard follower.map != nil else {
            return .problem(
                503, "Not Ready",
                detail: "the fleet cell has not told this gateway the map: "
                    + (follower.problem ?? "it is being asked"),
                headers: [("Retry-After", "1")])
        }
        return .text("Rollcall is ready.\n")
    }
}

extension CellMap {
    /// The place of the cell that has a person.
    func place(ofPerson id: [UInt8]) -> Int { Int(owners[PersonSlot.of(id)]) }

    /// The cell that has a person.
    func cell(ofPerson id: [UInt8]) -> Cell { cells[place(ofPerson: id)] }
}
