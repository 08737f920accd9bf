import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question of a write how those stand whom it is about. Source: R4.
extension Router {
    /// Returns the form in which a request asks how those stand who sent its items; nil if it does not.
    static func standingForm(_ request: HTTPRequest) -> StandingJSON.Form? {
        guard asksStanding(request) else { return nil }
        let isArray = request.body.first { $0 > 0x20 } == UInt8(ascii: "[")
        return isArray || format(request.contentType) == .lines ? .list : .one
    }

    /// Returns the limits of a body: an answer that has something of each item is bounded by them.
    static func limits(_ limits: ScanLimits, _ you: StandingJSON.Form?) -> ScanLimits {
        guard you != nil else { return limits }
        var limits = limits
        limits.itemsMax = min(limits.itemsMax, PersonalStanding.itemsMax)
        return limits
    }

    /// Returns the answer to a phone that has proven by a key of its own whose it is, and asks how its
    /// person stands; nil if it does not, or there is no place for that in what its client expects.
    ///
    /// Of anybody else it is passed by, not refused: a client's query is its own (M3), and a refused one
    /// would be sent for ever (M4).
    static func standingAnswer(
        to request: HTTPRequest, _ settings: InputSettings
    ) -> (@Sendable (PersonalStanding?) -> HTTPResponse)? {
        guard settings.deviceKey != nil, asksStanding(request),
            let place = settings.placeForStanding
        else { return nil }
        let status = settings.answer.status
        return { standing in
            var body = place.before
            StandingJSON.append(standing, to: &body)
            body += place.after
            return HTTPResponse(
                status: status, headers: [("Content-Type", "application/json")], body: body)
        }
    }

    private static func asksStanding(_ request: HTTPRequest) -> Bool {
        request.query.contains { $0.name == Route.Shared.you.rawValue && $0.value == "true" }
    }
}

extension InputSettings {
    /// The name of the member that says how somebody stands.
    private static let member = "you"

    /// Returns what stands before and behind the value of `you` in the answer; nil if there is no place
    /// for it: the answer is no object, or its client takes each member for something of its own.
    fileprivate var placeForStanding: (before: [UInt8], after: [UInt8])? {
        guard preset?.readsEachMember != true,
            let tree = try? JSONTree(reading: Array(answer.body.utf8)),
            case .object(let members) = tree, !members.contains(where: { $0.name == Self.member }),
            let end = answer.body.utf8.lastIndex(of: UInt8(ascii: "}"))
        else { return nil }
        let before = Array(answer.body.utf8[..<end])
        let member = "\(members.isEmpty ? "" : ",")\"\(Self.member)\":"
        return (before + Array(member.utf8), Array(answer.body.utf8[end...]))
    }
}
