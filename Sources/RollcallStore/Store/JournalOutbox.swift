import RollcallCore

/// An attempt to deliver a message, as the store keeps it.
package struct AttemptRow: Equatable, Sendable {
    package var notice: Int64
    /// The place among the receiver's addresses, from 0.
    package var target: Int
    /// Counts from 1.
    package var attempt: Int
    package var beganAt: Timestamp
    /// Nil as long as nobody knows what became of it; for ever, if we were killed.
    package var took: Milliseconds?
    /// The answer's; nil without one.
    package var status: Int?
    /// The error, without secrets; empty if there was none.
    package var error = ""

    /// An attempt that begins.
    package init(notice: Int64, target: Int, attempt: Int, beganAt: Timestamp) {
        self.notice = notice
        self.target = target
        self.attempt = attempt
        self.beganAt = beganAt
    }
}

/// The outbox in the store (A9).
extension Journal {
    /// Returns the messages that are not over, by their notices.
    /// - Throws: `StoreError` if they cannot be read, and `damaged` if a row is not as it was
    ///   written, or if there are not as many as there should be: an index finds them, and it may
    ///   be what is damaged.
    package func messages() throws(StoreError) -> [OutboxMessage] {
        let select = statements.aliveMessages
        defer { select.reset() }
        var messages: [OutboxMessage] = []
        var last = MessagePlace()
        while try select.next() {
            let place = MessagePlace(notice: select[.notice], target: select[.target])
            guard select.fits(.outbox), last < place else {
                throw .damaged("message of notice \(place.notice) is not as it was written")
            }
            guard let message = OutboxMessage(select), message.state != .over else {
                throw .damaged("message of notice \(place.notice) makes no sense")
            }
            last = place
            messages.append(message)
        }
        guard messages.count == alive.messages else {
            throw .damaged("\(messages.count) of \(alive.messages) messages are found")
        }
        return messages
    }

    /// Writes what changed in the outbox, in the open transaction. What is over does not change.
    /// - Throws: `StoreError` if it cannot be written.
    package func write(_ changes: OutboxChanges) throws(StoreError) {
        try keepAlive { () throws(StoreError) in
            for message in changes.added {
                try run(statements.insertMessage, message.changing, message.staying)
                if message.state != .over { alive.messages += 1 }
            }
            for message in changes.changed {
                try run(statements.updateMessage, message.changing)
                if message.state == .over { alive.messages -= connection.changes }
            }
        }
    }

    /// Keeps an attempt as it stands, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    package func put(_ attempt: AttemptRow) throws(StoreError) {
        try run(statements.putAttempt, attempt.arguments)
    }

    // MARK: - Retention

    /// Removes those of the next `limit` messages behind notice `last` that were over before
    /// `time`, with their attempts, and moves `last` on; true if some are left. What is not over
    /// stays, however old.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func cutOutbox(
        before time: Timestamp, after last: inout Int64, limit: Int64
    ) throws(StoreError) -> Bool {
        var moved = last
        var isLeft = false
        try writing { () throws(StoreError) in
            var old: [(notice: Int64, target: Int64)] = []
            let select = statements.messagesAfter
            select.bind(last, as: .notice)
            defer { select.reset() }
            var looked: Int64 = 0
            while try select.next() {
                let notice = select.integer(.notice)
                // Whole notices: the next piece begins behind the last of them.
                if looked >= limit, notice > moved {
                    isLeft = true
                    break
                }
                if select[.decidedMs] >= time { break }
                moved = notice
                looked += 1
                if select[.state] == OutboxMessage.State.over, select[.finishedMs] < time {
                    old.append((notice, select[.target]))
                }
            }
            select.reset()
            for (notice, target) in old {
                for delete in [statements.deleteMessage, statements.deleteAttempts] {
                    try delete.run([.notice: notice, .target: target])
                }
            }
        }
        last = moved
        return isLeft
    }

    // MARK: - The store's number

    /// Returns the number that tells this store from all others, in every key that a pager sees;
    /// nil before it has one.
    /// - Throws: `StoreError` if it cannot be read.
    package func storeNumber() throws(StoreError) -> UInt64? {
        try integer(forKey: Self.storeNumberKey).map { UInt64(bitPattern: $0) }
    }

    /// Gives it its number, once, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    package func set(storeNumber: UInt64) throws(StoreError) {
        try set(Int64(bitPattern: storeNumber), forKey: Self.storeNumberKey)
    }

    private static let storeNumberKey = "store_number"
}

extension OutboxMessage {
    /// The current row of a statement that selects the whole table; nil if it is damaged.
    init?(_ row: Statement) {
        guard let notice = Notice(journalBytes: Array(row.bytes(.body))),
            notice.number == row[.notice], let state: State = row[.state]
        else { return nil }
        self.init(
            notice, target: row[.target], decidedAt: row[.decidedMs], since: row[.sinceMs],
            left: row[.leftMembers], state: state, attempts: row[.attempts],
            next: row[.nextMs], outcome: row[.outcome], finishedAt: row[.finishedMs])
    }

    /// Its place, and what changes with its attempts.
    fileprivate var changing: Arguments {
        [
            .notice: number, .target: target, .state: Code(state), .leftMembers: left,
            .attempts: attempts, .nextMs: next,
            .finishedMs: state.isFinished ? finishedAt.milliseconds : 0, .outcome: Code(outcome),
        ]
    }

    fileprivate var staying: Arguments {
        [.sinceMs: since, .decidedMs: decidedAt, .body: notice.journalBytes]
    }
}

extension AttemptRow {
    /// The current row of a statement that selects the whole table.
    init(_ row: Statement) {
        self.init(
            notice: row[.notice], target: row[.target], attempt: row[.attempt],
            beganAt: row[.beganMs])
        let (took, status): (Milliseconds, Int) = (row[.tookMs], row[.status])
        self.took = took.count < 0 ? nil : took
        self.status = status == 0 ? nil : status
        error = row.text(.error)
    }

    fileprivate var arguments: Arguments {
        [
            .notice: notice, .target: target, .attempt: attempt, .beganMs: beganAt,
            .tookMs: took?.count ?? -1, .status: status ?? 0, .error: error,
        ]
    }
}
