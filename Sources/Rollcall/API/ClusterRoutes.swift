import RollcallBasis
import RollcallCore
import RollcallSupport

/// A `ClusterCopyQuery` names the piece of a copy of the store that is asked for.
struct ClusterCopyQuery {
    /// The number of the copy; nil to have one made.
    var copy: Int64?
    /// The byte at which the piece begins.
    var offset: Int64 = 0

    static let parameters = Parameters(
        ClusterCopyQuery(),
        [
            .number("copy", "The number of the copy, as it was told.") { $0.copy = $1 },
            .number("offset", "The byte at which the piece begins.") { $0.offset = $1 },
        ])
}

/// The routes of a watch on several machines. Source: S11, S15.
extension Router {
    /// The field that says where writes are taken.
    static let leaderField = "Rollcall-Leader"

    /// Says at who does not lead who does.
    func namingLeader(_ response: HTTPResponse) -> HTTPResponse {
        // The leader's own answer may have said it already.
        guard response.status == 503, let board = writer.board,
            !response.headers.contains(where: { $0.0 == Self.leaderField })
        else { return response }
        let standing = board.standing
        guard standing.leader != board.member, let address = standing.leaderAddress else {
            return response
        }
        var named = response
        named.headers.append((Self.leaderField, address))
        return named
    }

    var leadership: HTTPResponse {
        var answer = leadershipAlone
        if case .cell = cells.role {
            // For other cells: who is asked by the fleet cell knows that it is there (K4).
            answer.headers.append(
                (FleetCellWatch.field, cells.hearing.rawValue))
        }
        return answer
    }

    private var leadershipAlone: HTTPResponse {
        guard let board = writer.board else { return readiness }
        guard board.isLeading(), writer.isTakingWrites else {
            return .problem(
                503, "Not Leading", detail: writer.reasonToRefuse, headers: [("Retry-After", "1")])
        }
        return .text("Rollcall leads.\n")
    }

    /// A member is ready if all of the log is held there: it may be asked, and may come to lead.
    func readiness(of board: MemberBoard) -> HTTPResponse {
        if let still = writer.loopHealth.still(for: MetricsExposition.presentFor) {
            return .problem(
                503, "Not Ready", detail: "the keeper has not answered for \(still.count) ms",
                headers: [("Retry-After", "1")])
        }
        guard board.isConfirmed() else {
            let loss = board.standing.loss
            return .problem(
                503, "Not Ready",
                detail: loss.isEmpty ? "this member does not hold all of the log" : loss,
                headers: [("Retry-After", "1")])
        }
        return .text("Rollcall is ready.\n")
    }

    /// The answer of a server that is no member.
    static var alone: HTTPResponse {
        .problem(404, "Not Found", detail: "this server watches alone: cluster.log is not set")
    }

    /// Tells how this member stands.
    func showCluster(_ answer: @escaping Answer) {
        guard let board = writer.board else { return answer(Self.alone, InputStats()) }
        var body: [UInt8] = []
        board.answer().append(to: &body)
        answer(.json(body + [0x0A]), InputStats())
    }

    /// Makes a copy of the store, or hands over a piece of it.
    func copyStore(_ query: ClusterCopyQuery, _ answer: @escaping Answer) {
        guard let board = writer.board else { return answer(Self.alone, InputStats()) }
        let standing = board.standing
        guard standing.role != .lost, !standing.isDivergent else {
            // Whoever takes what is wrong would be wrong, too.
            return answer(
                Self.unavailable("what this member holds is not what its watch's log says"),
                InputStats())
        }
        if let number = query.copy {
            guard let piece = copies.piece(of: number, at: query.offset) else {
                return answer(
                    .problem(404, "Not Found", detail: "there is no such piece of a copy"),
                    InputStats())
            }
            let type = [("Content-Type", "application/octet-stream")]
            return answer(HTTPResponse(status: 200, headers: type, body: piece), InputStats())
        }
        copies.make { made in
            guard let made else {
                return answer(Self.unavailable("a copy cannot be made now"), InputStats())
            }
            var body: [UInt8] = []
            let tree: JSONTree = ["copy": .integer(made.number), "bytes": .integer(made.bytes)]
            tree.append(to: &body)
            answer(.json(body + [0x0A]), InputStats())
        }
    }
}
