import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The router of requests to their routes. Source: V5.
package final class Router: HTTPEdge {
    /// Answers a request once, and tells what of its input is to be counted.
    typealias Answer = @Sendable (HTTPResponse, InputStats) -> Void

    let writer: StateWriter
    let edge: EdgeStats
    let limits: BodyLimits
    let accessPolicy: AccessPolicy
    let admission: Admission
    let reloader: Reloader
    let compressor: AnswerCompressor
    let packedAssets: PackedAssets
    let metrics: MetricsNegotiation
    let scrapes: ScrapeCache
    let history: HistoryService
    let scans: PeopleScans
    let copies: StoreCopy
    let events: EventReaders
    let erasedIDs: ErasedIDs
    let tail: LogTail
    let leaders = LeaderCaller()

    var log: Logger { writer.log }

    /// The inputs and their counts.
    var inputs: InputBook { edge.inputs }

    /// A router to `writer` and `reloader` that counts in `edge`, reads bodies within `limits`,
    /// lets in whom `accessPolicy` let in and lets wait what `admission` has room for.
    /// `historyLimits` bound what a question of history costs, `streamsMax` how many streams of events
    /// there are; `tail` has the last lines of the
    /// log, `metrics` chooses the language of a scrape, `listener` tells what the listener in front of it
    /// counted.
    package init(
        writer: StateWriter, edge: EdgeStats, limits: BodyLimits, accessPolicy: AccessPolicy,
        admission: Admission,
        reloader: Reloader, historyLimits: HistoryLimits = HistoryLimits(), streamsMax: Int = 1000,
        erasedIDs: ErasedIDs = ErasedIDs(), tail: LogTail = LogTail(),
        metrics: MetricsNegotiation = MetricsNegotiation(),
        listener: @escaping @Sendable () -> HTTPStats = { HTTPStats() }
    ) {
        self.writer = writer
        self.edge = edge
        self.limits = limits
        self.accessPolicy = accessPolicy
        self.admission = admission
        self.reloader = reloader
        let compressor = AnswerCompressor()
        self.compressor = compressor
        packedAssets = PackedAssets(compressor)
        self.metrics = metrics
        scrapes = ScrapeCache(
            writer: writer, edge: edge, compressor: compressor, listener: listener)
        history = HistoryService(writer: writer, limits: historyLimits)
        scans = PeopleScans(writer: writer)
        copies = StoreCopy(storePath: writer.storePath)
        self.erasedIDs = erasedIDs
        self.tail = tail
        events = EventReaders(
            writer: writer, accessPolicy: accessPolicy, edge: edge,
            streamsMax: streamsMax, erasedIDs: erasedIDs)
    }

    /// Says on `/-/ready` that it is over; what comes is still answered.
    package func drain() {
        accessPolicy.close()
        events.close()
    }

    /// Ends what runs beside the requests.
    package func close() {
        scrapes.close()
        compressor.close()
        history.close()
        leaders.close()
        if writer.board != nil { copies.close() }
    }

    // MARK: - Before the body

    /// Refuses by its head what need not be read.
    package func authorise(_ request: HTTPRequest, at accessPoint: AccessPoint) -> HTTPResponse? {
        let (target, routes) = Route.named(request.path)
        let label = routes.first?.label ?? .other
        if let target, target.isInput {
            return authorise(request, to: target, routes, accessPoint, accessPolicy.rules).map {
                counted($0, label)
            }
        }
        if let refusal = refusal(of: request, to: target?.resource, routes, at: accessPoint) {
            return counted(refusal, label)
        }
        guard let route = routes.first(where: { $0.method.rawValue == request.method }),
            route.method.hasBody
        else { return nil }
        // A heartbeat is small, and what says that there is somebody.
        guard route.scope == .ingest, label != .heartbeat else { return nil }
        return refusalAtCapacity(request).map { counted($0, label) }
    }

    /// Counts what the listener answered without asking here.
    package func count(_ request: HTTPRequest, refusedWith status: Int) {
        let label = Route.named(request.path).routes.first?.label ?? .other
        edge.answered(label, code: status, after: .zero)
    }

    // MARK: - Whole requests

    /// Answers a request, at once or when the state writer has.
    package func handle(_ request: HTTPRequest, _ reply: HTTPReply) {
        let began = ContinuousClock.now
        let (target, routes) = Route.named(request.path)
        let route = routes.first { $0.method.rawValue == request.method }
        let label = route?.label ?? .other
        let router = self
        let answer: Answer = { response, input in
            // Who was answered by the watchdog meanwhile got its 503, whatever we say now.
            let code = reply.isOpen ? response.status : 503
            let named = router.namingMap(router.namingLeader(response))
            let response = router.placing(named, of: route)
            router.edge.answered(
                label, code: code, after: ContinuousClock.now - began, input: input)
            reply.answer(response)
        }
        guard let target, let route else { return answer(Self.notFound, InputStats()) }
        if let patience = route.patience { reply.wait(for: patience) }
        if passOn(route, request, answer) { return }
        if let refusal = refusalUntilCaughtUp(route) ?? refusalElsewhere(route, target, request) {
            return answer(refusal, InputStats())
        }
        let isAwaited = { @Sendable in reply.isOpen }
        let handle = { @Sendable (request: HTTPRequest) in
            route.handle(
                router,
                Route.Call(target: target, request: request, answer: answer, isAwaited: isAwaited))
        }
        if route.method == .get {
            holding(route, request, answer, handle)
        } else {
            handle(request)
        }
    }

    var health: HTTPResponse {
        guard let still = writer.loopHealth.still() else { return .text("Rollcall is healthy.\n") }
        return .problem(503, "Hanging", detail: "the keeper stands still for \(still.count) ms")
    }

    var readiness: HTTPResponse {
        if accessPolicy.isClosing {
            return .problem(503, "Not Ready", detail: "stopping", headers: [("Retry-After", "1")])
        }
        if cells.lacksMap {
            return .problem(
                503, "Not Ready", detail: "the fleet cell has not handed this cell the map yet",
                headers: [("Retry-After", "1")])
        }
        if let board = writer.board { return readiness(of: board) }
        guard writer.isTakingWrites else {
            return .problem(
                503, "Not Ready", detail: "the store does not take commits",
                headers: [("Retry-After", "1")])
        }
        if let still = writer.loopHealth.still(for: MetricsExposition.presentFor) {
            return .problem(
                503, "Not Ready", detail: "the keeper has not answered for \(still.count) ms",
                headers: [("Retry-After", "1")])
        }
        return .text("Rollcall is ready.\n")
    }

    private func counted(_ response: HTTPResponse, _ label: EdgeStats.Route) -> HTTPResponse {
        edge.answered(label, code: response.status, after: .zero)
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
