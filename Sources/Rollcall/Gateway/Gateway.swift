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
        /// The instant at which it was begun anew by a newer map; nil if it was not.
        var anewAt: Int64?

        /// The instant from which on cells are waited for.
        var sentAt: Int64 { anewAt ?? arrival }
        var isAnew: Bool { anewAt != nil }

        /// A copy that is begun anew now.
        var anew: Call {
            var copy = self
            copy.anewAt = ClockReading.now().elapsed
            return copy
        }
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
    let waits: EventWaits
    let streams: StreamRelay
    let rosters = RosterIDs()
    let loops = RareLine()
    let follower: MapFollower
    let fleetCell: CellMap.Cell
    let limits: BodyLimits
    let metrics: MetricsNegotiation
    let reload: @Sendable (@escaping @Sendable (String?) -> Void) -> Void

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
        calls = CellCalls(stats: stats, log: log) { follower.heard(of: $0) }
        waits = EventWaits(CellCalls(stats: stats, log: log) { follower.heard(of: $0) })
        streams = StreamRelay(streamsMax: streamsMax)
    }

    /// Says on `/-/ready` that it is over; what comes is still answered.
    func drain() {
        accessPolicy.close()
        streams.close()
        waits.hurry()
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
        var refusal: HTTPResponse?
        if target?.isInput == true {
            let rules = accessPolicy.rules
            refusal =
                unauthenticated(request, nil, nil, accessPoint, rules) ?? foreign(request, rules)
                ?? refusalAtInput(request, routes, rules)
        } else {
            refusal = self.refusal(
                of: request, to: target?.resource, routes, at: accessPoint)
        }
        // Nobody who is not let in says to the log that there is a loop.
        refusal = refusal ?? refusalOfLoop(request)
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

    /// True of what comes to an input from somebody whom the cells may know, and this gateway does not.
    func isUnauthenticated(_ request: HTTPRequest) -> Bool {
        guard request.path.hasPrefix(HTTPRequest.inputsPath) else { return false }
        let rules = accessPolicy.rules
        if rules.access.isOpen || accessPolicy.caller(request, rules) != nil { return false }
        let shown = request.query.filter { $0.name == Router.tokenParameter }
        return !shown.contains { rules.access.holder(of: Array($0.value.utf8)) != nil }
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
        if route.forwarding != .own, let name = CellRequest.unsendableField(of: request) {
            return answer(
                .problem(
                    400, "Bad Request",
                    detail: "the field \(name) holds a character that no field may hold"),
                InputStats())
        }
        switch route.forwarding {
        case .own: answerOwn(call)
        case .fleet where named(call.request) == nil: pass(call, call.request, to: fleetCell)
        default: forward(call)
        }
    }

    /// Returns the cell that a request names; nil if it names none.
    func named(_ request: HTTPRequest) -> String? {
        request.query.first { $0.name == Self.cellParameter }?.value
    }

    func forward(_ call: Call) {
        guard let map = follower.map else {
            let why = follower.problem.map { ": the fleet cell: \($0)" } ?? ""
            let refusal = Router.unavailable(
                "nobody has told this gateway whose people are whose\(why)")
            return call.answer(GatewayAwayPage.shown(refusal, to: call), InputStats())
        }
        let forwarding = call.route.forwarding
        if forwarding != .input, let name = named(call.request) {
            var rest = call.request
            rest.query.removeAll { $0.name == Self.cellParameter }
            guard let place = map.place(of: Array(name.utf8)) else {
                if !call.isAnew { return beginAnew(call, after: map) }
                return call.answer(
                    .problem(404, "Not Found", detail: "there is no such cell"), InputStats())
            }
            if forwarding == .list(.events), Self.isStream(rest) {
                return passStream(call, rest, of: map.cells[place], map: nil)
            }
            return pass(call, rest, to: map.cells[place], isNamed: true)
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

    /// Passes a request on to a cell, and its answer back. If the client has not named the cell, and somebody is
    /// another one's, it goes there.
    func pass(_ call: Call, _ request: HTTPRequest, to cell: CellMap.Cell, isNamed: Bool = false) {
        guard let passed = passed(call, request) else {
            return call.answer(Self.notFound, InputStats())
        }
        calls.send(passed, to: cell, arrival: call.sentAt) { [self] outcome in
            if !isNamed, case .answered(let answer) = outcome, answer.status == 421 {
                return passAnew(call, passed, misdirected: answer)
            }
            Self.answer(call, outcome, of: cell)
        }
    }

    /// Answers what came of a request to one cell.
    static func answer(_ call: Call, _ outcome: CellOutcome, of cell: CellMap.Cell) {
        var response = response(outcome, of: cell)
        if case .unavailable = outcome { response = GatewayAwayPage.shown(response, to: call) }
        let isErasure = call.route.method == .delete && call.route.resource == .responder
        if isErasure { name(cell, in: &response) }
        call.answer(response, InputStats())
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
        // No watch sends anybody elsewhere.
        case .answered(let answer) where CellCalls.isLoop(answer) || answer.status / 100 == 3:
            return Router.unavailable("\(words(cell)) answers, and not as it should")
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
}

extension CellMap {
    /// The place of the cell that has a person.
    func place(ofPerson id: [UInt8]) -> Int { Int(owners[PersonSlot.of(id)]) }

    /// The cell that has a person.
    func cell(ofPerson id: [UInt8]) -> Cell { cells[place(ofPerson: id)] }
}
