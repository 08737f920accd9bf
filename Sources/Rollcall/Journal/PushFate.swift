import RollcallCore

/// What has become of a push so far. Source: design §7 N7.
struct PushFate: Equatable, Sendable {
    /// Where it stands. The raw values are stored.
    enum State: Int64, CaseIterable, Sendable {
        /// To be sent.
        case waiting = 0
        /// Being sent: as long as this is so, nobody knows whether it went out.
        case sending = 1
        /// Taken by the sink, which tells later what became of it.
        case ticketed = 2
        case over = 3

        /// The word in answers.
        var word: StaticString {
            switch self {
            case .waiting: "waiting"
            case .sending: "sending"
            case .ticketed: "ticketed"
            case .over: "over"
            }
        }
    }

    var state: State
    /// Attempts that were begun.
    var attempts: Int
    /// Nil until it is over.
    var outcome: PushOutcome?
    var finishedAt: Timestamp?
}

/// Reads what became of pushes.
final class PushReader {
    private let push: Statement?

    /// A reader of a store; one without pushes tells of none.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        let count = try connection.integer(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'pushes'")
        push =
            count == 0
            ? nil
            : try Statement(
                connection,
                "SELECT state, attempts, outcome, finished_ms FROM pushes WHERE number = ?")
    }

    /// What became of the push of a number; nil if there is none, or it was cut.
    func fate(of number: Int64) throws(StoreError) -> PushFate? {
        guard let push else { return nil }
        push.bind(number, at: 1)
        defer { push.reset() }
        guard try push.next(), let state = PushFate.State(rawValue: push.integer(at: 0)) else {
            return nil
        }
        let isOver = state == .over
        return PushFate(
            state: state, attempts: Int(clamping: push.integer(at: 1)),
            outcome: isOver
                ? PushOutcome(rawValue: UInt8(truncatingIfNeeded: push.integer(at: 2))) : nil,
            finishedAt: isOver ? Timestamp(milliseconds: push.integer(at: 3)) : nil)
    }
}
