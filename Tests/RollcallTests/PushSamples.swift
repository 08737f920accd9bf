import RollcallCore

@testable import RollcallBasis

/// Pushes as tests send them.
enum PushSamples {
    static let token = "ExponentPushToken[aaaaaaaaaaaaaaaaaaaaaa]"

    /// A nudge that was decided at `NotificationSamples.time`, four hours after the last location.
    static var facts: NudgeFacts {
        var facts = NudgeFacts()
        facts.cause = .appSuspended
        facts.platform = .ios
        facts.lastLocationAt = NotificationSamples.time - .seconds(4 * 3600 + 1)
        facts.stale = .seconds(4 * 3600 + 1)
        return facts
    }

    static func payload(
        _ kind: PushKind = .nudge, number: Int64 = 7, id: String = "r-17",
        token: String? = Self.token, isSilent: Bool = false, platform: Platform = .ios,
        facts: NudgeFacts = Self.facts, circles: [String] = ["team-1", "night"],
        timeToLive: Milliseconds = .seconds(3600)
    ) -> PushPayload {
        PushPayload(
            number: number, kind: kind, store: 0xAB, responderID: Array(id.utf8),
            token: token.map { Array($0.utf8) }, isSilent: isSilent, platform: platform,
            facts: kind == .nudge ? facts : NudgeFacts(), circles: circles.map { Array($0.utf8) },
            timeToLive: timeToLive, decidedAt: NotificationSamples.time)
    }

    /// Pushes with tokens of their own, `ExponentPushToken[1]` and so on.
    static func payloads(_ numbers: ClosedRange<Int64>) -> [PushPayload] {
        numbers.map { payload(number: $0, token: "ExponentPushToken[\($0)]") }
    }
}
