import RollcallCore

/// The delivery status of a push so far. Source: N7.
package struct PushDeliveryStatus: Equatable, Sendable {
    package var state: PushMessage.State
    /// Attempts that were begun.
    package var attempts: Int
    /// Nil until it is over.
    package var outcome: PushOutcome?
    package var finishedAt: Timestamp?
}

/// Reads what became of pushes.
package final class PushReader {
    private let push: Statement

    /// A reader of a store of which the tables are there.
    /// - Throws: `StoreError` if SQLite refuses its statement.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        push = try Statement(connection, "\(select: .pushes) WHERE number = :number")
    }

    /// Returns what became of the push of a number; nil if there is none, or it was cut.
    /// - Throws: `StoreError` if it cannot be read, or is not as it was written.
    package func deliveryStatus(of number: Int64) throws(StoreError) -> PushDeliveryStatus? {
        try push.first([.number: number]) { select throws(StoreError) in
            guard select.fits(.pushes), let row = PushMessage(select)?.row else {
                throw .damaged("push \(number) is not as it was written")
            }
            let isOver = row.state == .over
            return PushDeliveryStatus(
                state: row.state, attempts: row.attempts, outcome: isOver ? row.outcome : nil,
                finishedAt: isOver ? row.finishedAt : nil)
        }
    }
}
