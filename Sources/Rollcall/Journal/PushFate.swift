import RollcallCore

/// What has become of a push so far. Source: design §7 N7.
struct PushFate: Equatable, Sendable {
    var state: PushMessage.State
    /// Attempts that were begun.
    var attempts: Int
    /// Nil until it is over.
    var outcome: PushOutcome?
    var finishedAt: Timestamp?
}

/// Reads what became of pushes.
final class PushReader {
    private let push: Statement

    /// A reader of a store of which the tables are there.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        push = try Statement(
            connection,
            "SELECT state, attempts, outcome, finished_ms FROM pushes WHERE number = ?")
    }

    /// What became of the push of a number; nil if there is none, or it was cut.
    func fate(of number: Int64) throws(StoreError) -> PushFate? {
        push.bind(number, at: 1)
        defer { push.reset() }
        guard try push.next(),
            let state = PushMessage.State(rawValue: UInt8(truncatingIfNeeded: push.integer(at: 0)))
        else { return nil }
        let isOver = state == .over
        return PushFate(
            state: state, attempts: Int(clamping: push.integer(at: 1)),
            outcome: isOver
                ? PushOutcome(rawValue: UInt8(truncatingIfNeeded: push.integer(at: 2))) : nil,
            finishedAt: isOver ? Timestamp(milliseconds: push.integer(at: 3)) : nil)
    }
}
