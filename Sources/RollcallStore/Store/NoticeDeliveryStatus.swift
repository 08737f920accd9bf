import RollcallCore

/// The delivery status of a notice, at each address of its receiver (A10, A11).
package struct NoticeDeliveryStatus: Equatable, Sendable {
    /// The delivery status of the message to one address.
    package struct Target: Equatable, Sendable {
        /// The place among the receiver's addresses, from 0.
        package var target: Int
        /// The state of the news, as it is shown (D1).
        package var state: Reach.State
        /// Nil until it came to its end.
        package var outcome: NoticeOutcome?
        package var finishedAt: Timestamp?
        /// In their order.
        package var attempts: [AttemptRow] = []
    }

    package var notice: Notice
    package var decidedAt: Timestamp
    /// By their numbers.
    package var targets: [Target] = []

    /// From the decision until the last address was told, or given up; nil before.
    package var took: Milliseconds? {
        var last = decidedAt
        for target in targets {
            guard let finishedAt = target.finishedAt else { return nil }
            last = max(last, finishedAt)
        }
        return targets.isEmpty ? nil : last - decidedAt
    }
}

/// Reads what became of notices, through whichever connection.
package final class NoticeReader {
    private let messages, attempts: Statement

    /// A reader of a store of which the tables are there.
    /// - Throws: `StoreError` if SQLite refuses one of its statements.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        messages = try Statement(
            connection, "\(select: .outbox) WHERE notice = :notice ORDER BY target")
        attempts = try Statement(
            connection, "\(select: .attempts) WHERE notice = :notice ORDER BY target, attempt")
    }

    /// Frees its statements, so that the connection can be closed.
    func finalize() {
        messages.finalize()
        attempts.finalize()
    }

    /// Returns what became of the notice of a number so far; nil if there is none, or it was cut.
    /// - Throws: `StoreError` if it cannot be read, or is not as it was written.
    package func deliveryStatus(of number: Int64) throws(StoreError) -> NoticeDeliveryStatus? {
        var deliveryStatus: NoticeDeliveryStatus?
        messages.bind(number, as: .notice)
        defer { messages.reset() }
        while try messages.next() {
            guard messages.fits(.outbox), let message = OutboxMessage(messages) else {
                throw .damaged("message of notice \(number) is not as it was written")
            }
            var found =
                deliveryStatus
                ?? NoticeDeliveryStatus(notice: message.notice, decidedAt: message.decidedAt)
            found.targets.append(
                NoticeDeliveryStatus.Target(
                    target: message.target,
                    state: Reach.State(
                        message.state, message.outcome, attempts: message.attempts),
                    outcome: message.outcome,
                    finishedAt: message.state.isFinished ? message.finishedAt : nil))
            deliveryStatus = found
        }
        guard var deliveryStatus else { return nil }
        attempts.bind(number, as: .notice)
        defer { attempts.reset() }
        while try attempts.next() {
            guard attempts.fits(.attempts) else {
                throw .damaged("attempt of notice \(number) is not as it was written")
            }
            let row = AttemptRow(attempts)
            guard let place = deliveryStatus.targets.firstIndex(where: { $0.target == row.target })
            else {
                continue
            }
            deliveryStatus.targets[place].attempts.append(row)
        }
        return deliveryStatus
    }
}
