import RollcallBasis
import RollcallCore
import RollcallSupport

/// A `ClusterAdoptQuery` says whether a log is begun anew though another member holds more.
struct ClusterAdoptQuery {
    var force = false

    static let parameters = Parameters(
        ClusterAdoptQuery(),
        [
            .flag(
                "force", "Also if a member that is reached holds more, which is lost then.",
                standard: false, into: \.force)
        ])
}

/// The routes by which people say who is a member of a watch, who leads, and how it goes on after its
/// log was lost. Source: S11, S17.
extension Router {
    /// Returns the refusal of a question about people at a member that has not held all of the log
    /// since it began; nil for one that is answered. Some may have been erased meanwhile (S13).
    func refusalUntilCaughtUp(_ route: Route) -> HTTPResponse? {
        guard let board = writer.board, route.tag == .answers, route.resource != .cluster,
            !board.standing.hasCaughtUp
        else { return nil }
        return Self.unavailable("this member has not held all of the log yet since it began")
    }

    /// Changes the list of members.
    func changeMember(
        _ change: MembershipChange, _ request: HTTPRequest, _ answer: @escaping Answer
    ) {
        guard writer.board != nil else { return answer(Self.alone, InputStats()) }
        guard change.isCredible else {
            return answer(
                Self.unprocessable("a member has 1 to 64 letters, digits or signs without /"),
                InputStats())
        }
        write(.membership(change), request, answer) { receipt, answer in
            if let fault = receipt.membershipFault {
                return answer(Self.refusal(fault), InputStats())
            }
            self.writer.ask { view in
                let membership = view.engine.membership
                var body: [UInt8] = []
                let tree: JSONTree = [
                    "members": .list(
                        membership.names.map { .text(String(decoding: $0, as: UTF8.self)) }),
                    "closed": .boolean(membership.isClosed),
                ]
                tree.append(to: &body)
                answer(.json(body + [0x0A]), InputStats())
            }
        }
    }

    private static func refusal(_ fault: MembershipFault) -> HTTPResponse {
        switch fault {
        case .known: .problem(409, "Conflict", detail: "it is a member already")
        case .unknown: .problem(404, "Not Found", detail: "no member has this name")
        case .full:
            .problem(
                409, "Conflict",
                detail: "\(Membership.membersMax) are members already: remove one")
        case .last: .problem(409, "Conflict", detail: "it is the only member")
        case .early:
            .problem(
                409, "Conflict",
                detail: "members are named in the log once all that are alive read that: seconds "
                    + "after a start, or an upgrade of the last one")
        }
    }

    /// Asks something of this member.
    func order(_ order: MemberOrder, _ answer: @escaping Answer) {
        guard writer.board != nil else { return answer(Self.alone, InputStats()) }
        writer.order(order) { outcome in
            switch outcome {
            case .done(let sentence):
                var body: [UInt8] = []
                let tree: JSONTree = ["done": .text(sentence)]
                tree.append(to: &body)
                answer(.json(body + [0x0A], status: 202), InputStats())
            case .refused(let why):
                answer(.problem(409, "Conflict", detail: why), InputStats())
            case .unknown(let why):
                answer(Self.unavailable("not known to be done: \(why)"), InputStats())
            }
        }
    }
}
