import RollcallBasis
import RollcallCore
import RollcallSupport

/// An answer says up to which entry of the watch's log it may know, and a client can ask for one
/// that knows of an entry, so that whoever reads at another member sees what it wrote. Source: S15.
extension Router {
    /// The field that says up to which entry of the log an answer may know.
    static let positionField = "Rollcall-Position"
    /// The parameter that asks for an answer that knows of an entry.
    static let atLeast = "at_least"
    /// The time for which an entry is waited for.
    private static let positionPatience = Milliseconds(1000)

    /// Says of an answer to `route` where it stands; nothing on one machine (S16), and of failures.
    func placing(_ response: HTTPResponse, of route: Route?) -> HTTPResponse {
        guard let board = writer.board, let route, route.isOfWatch, response.status < 500,
            !response.headers.contains(where: { $0.0 == Self.positionField })
        else { return response }
        var response = response
        response.headers.append((Self.positionField, "\(board.positions.shown)"))
        return response
    }

    /// Calls `body` with the request, which reads, once this member holds the entry that it asks for, at once as a
    /// rule. Without members nothing is ahead of anybody.
    func holding(
        _ route: Route, _ request: HTTPRequest, _ answer: @escaping Answer,
        _ body: @escaping @Sendable (HTTPRequest) -> Void
    ) {
        guard route.isOfWatch,
            let value = request.query.first(where: { $0.name == Self.atLeast })?.value
        else { return body(request) }
        guard let position = Int64(value), position >= 0 else {
            let fault = ParameterError(
                detail: "\(Self.atLeast): the \(Self.positionField) of an answer expected")
            return answer(.refusal(fault), InputStats())
        }
        var rest = request
        rest.query.removeAll { $0.name == Self.atLeast }
        guard let board = writer.board, board.positions.held < position else { return body(rest) }
        writer.waitForPosition(position, patience: Self.positionPatience) { [rest] isHeld in
            if isHeld { return body(rest) }
            answer(
                Self.unavailable(
                    "entry \(position) of the log is not held here yet, but "
                        + "\(board.positions.held)"),
                InputStats())
        }
    }
}

extension Route {
    /// True of what tells of the watch, not of this server alone.
    var isOfWatch: Bool { resource.path.hasPrefix("/v1/") && resource != .session }
}
