import RollcallCore

/// The standing of nudges at this moment.
struct NudgeStanding: Equatable, Sendable {
    let mode: NudgeRules.Mode
    let sink: NudgeRules.Sink
    /// Nil unless they are frozen (N2).
    let frozenUntil: Timestamp?
    let isWatching: Bool
    /// The store's number, which stands in the ids of pushes.
    let store: UInt64

    init(_ engine: Engine, store: UInt64) {
        mode = engine.policy.nudges.mode
        sink = engine.policy.nudges.sink
        let until = engine.nudges.frozenUntil
        frozenUntil = until > engine.clock.wallNow ? until : nil
        isWatching = !engine.clock.isBlind
        self.store = store
    }

    /// As members of an answer.
    var tree: JSONTree {
        [
            "mode": AlertJSON.word(mode.word), "sink": AlertJSON.word(sink.word),
            "frozen_until": frozenUntil.map { AlertJSON.time($0) } ?? nil,
            "watching": .boolean(isWatching),
        ]
    }

    /// The id under which the sink knows a push.
    func id(_ kind: PushKind, _ number: Int64) -> String {
        "\(kind.word)_\(NotificationPayload.hexadecimal(store))_\(number)"
    }
}
