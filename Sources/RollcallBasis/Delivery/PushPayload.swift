import RollcallCore

/// A push as the state writer hands it over: facts, the id they belong to, and what was true when
/// it was to be sent. It is put in words by whoever sends it. Source: N6, N7, N9.
package struct PushPayload: Sendable {
    /// The push's number.
    package let number: Int64
    package let kind: PushKind
    /// The store's number.
    package let store: UInt64
    package let responderID: [UInt8]
    /// The token under which the phone is reached; nil if nobody told. Never stored, never
    /// logged.
    package let token: [UInt8]?
    /// True only for those who said `silent` (N5).
    package let isSilent: Bool
    /// As it is when the push is sent.
    package let platform: Platform
    /// As they were when a nudge was decided; a wake has none.
    package let facts: NudgeFacts
    package let circles: [[UInt8]]
    /// The time that is left of its life.
    package let timeToLive: Milliseconds
    package let decidedAt: Timestamp

    /// The state writer hands over a push with what is true of it as it is sent.
    package init(
        number: Int64, kind: PushKind, store: UInt64, responderID: [UInt8], token: [UInt8]?,
        isSilent: Bool, platform: Platform, facts: NudgeFacts, circles: [[UInt8]],
        timeToLive: Milliseconds, decidedAt: Timestamp
    ) {
        self.number = number
        self.kind = kind
        self.store = store
        self.responderID = responderID
        self.token = token
        self.isSilent = isSilent
        self.platform = platform
        self.facts = facts
        self.circles = circles
        self.timeToLive = timeToLive
        self.decidedAt = decidedAt
    }

    /// `nudge_<store>_<number>`, the same over retries: a sink can tell a repetition by it.
    package var id: String { "\(kind.word)_\(NotificationPayload.hexadecimal(store))_\(number)" }

    /// `timeToLive` in whole seconds, one begun counting as one. A second is the least: to a push
    /// service nothing may mean "now or never", or as long as it likes.
    var secondsToLive: Int64 { max(1, (timeToLive.count + 999) / 1000) }
}
