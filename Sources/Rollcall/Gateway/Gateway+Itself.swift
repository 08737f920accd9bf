import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// A gateway answers some requests itself, and takes none from another one. Source: K5.
extension Gateway {
    /// The field by which a gateway says that it passes a request on, and its word. Source: RFC 9110 §7.6.3.
    static let viaField = "Via"
    static let via = "1.1 rollcall-gateway"
    /// The status of what went round: 508 Loop Detected. Source: RFC 5842 §7.2.
    static let loopStatus = 508

    /// Refuses what a gateway passed on: this one would pass it on too, for ever if the address of a cell is its own.
    func refusalOfLoop(_ request: HTTPRequest) -> HTTPResponse? {
        let words = (request.via ?? "").split(separator: ",")
        guard words.contains(where: { $0.drop { $0 == " " || $0 == "\t" } == Self.via }) else {
            return nil
        }
        if loops.mayLog {
            log.error(
                "a gateway passes requests on to this one: the map has a gateway's address as a cell's"
            )
        }
        return .problem(
            Self.loopStatus, "Loop Detected",
            detail: "this is a gateway, and another one was told that it is a cell")
    }

    /// Answers what is asked of the gateway, or of the cell that the request names.
    func answerOwn(_ call: Call) {
        guard named(call.request) != nil else { return answerHere(call) }
        switch call.route.resource {
        case .metrics, .reload: forward(call)
        default:
            call.answer(
                .problem(
                    400, "Bad Request",
                    detail:
                        "this is asked of the gateway alone: ask without cell=, or at the cell's own "
                        + "address"), InputStats())
        }
    }

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

/// Tells the log of what may come a thousand times a second now and then.
final class RareLine: Sendable {
    private static let every = Milliseconds.seconds(60).count
    private let logged = Atomic(Int64.min / 2)

    /// True if it is to be told now.
    var mayLog: Bool {
        let now = ClockReading.now().elapsed
        let last = logged.load(ordering: .relaxed)
        guard now - last >= Self.every else { return false }
        return logged.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
    }
}
