import RollcallCore
import RollcallSupport

/// The standing of nudges at this moment.
package struct NudgeStanding: Equatable, Sendable {
    package let mode: NudgeRules.Mode
    package let sink: NudgeRules.Sink
    /// Nil unless they are frozen (N2).
    package let frozenUntil: Timestamp?
    package let isWatching: Bool
    /// The store's number, which stands in the ids of pushes.
    let store: UInt64

    /// Reads how nudges stand in the engine at this turn.
    package init(_ engine: Engine, store: UInt64) {
        mode = engine.policy.nudges.mode
        sink = engine.policy.nudges.sink
        let until = engine.nudges.frozenUntil
        frozenUntil = until > engine.clock.wallNow ? until : nil
        isWatching = !engine.clock.isBlind
        self.store = store
    }

    /// The id under which the sink knows a push.
    package func id(_ kind: PushKind, _ number: Int64) -> String {
        "\(kind.word)_\(NotificationPayload.hexadecimal(store))_\(number)"
    }
}
