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
    func messages() throws(StoreError) -> [OutboxMessage] {
        let select = statements.aliveMessages
        defer { select.reset() }
        var messages: [OutboxMessage] = []
        var last = MessagePlace()
        while try select.next() {
            let place = MessagePlace(notice: select.integer(at: 0), target: select.integer(at: 1))
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
    func write(_ changes: OutboxChanges) throws(StoreError) {
        try keepAlive { () throws(StoreError) in
            for message in changes.added {
                try insert(message)
                if message.state != .over { alive.messages += 1 }
            }
            for message in changes.changed {
                try update(message)
                if message.state == .over { alive.messages -= connection.changes }
            }
        }
    }

    private func insert(_ message: OutboxMessage) throws(StoreError) {
        try writing { () throws(StoreError) in
            let insert = statements.insertMessage
            bind(message, to: insert)
            insert.bind(message.since.milliseconds, at: 6)
            insert.bind(message.next.milliseconds, at: 7)
            insert.bind(message.decidedAt.milliseconds, at: 8)
            insert.bind(finished(message), at: 9)
            insert.bind(outcome(message), at: 10)
            try insert.bind(copying: message.notice.journalBytes, at: 11)
            try insert.run()
        }
    }

    private func update(_ message: OutboxMessage) throws(StoreError) {
        try writing { () throws(StoreError) in
            let update = statements.updateMessage
            bind(message, to: update)
            update.bind(message.next.milliseconds, at: 6)
            update.bind(finished(message), at: 7)
            update.bind(outcome(message), at: 8)
            try update.run()
        }
    }

    private func bind(_ message: OutboxMessage, to statement: Statement) {
        statement.bind(message.number, at: 1)
        statement.bind(Int64(message.target), at: 2)
        statement.bind(Int64(message.state.rawValue), at: 3)
        statement.bind(Int64(bitPattern: message.left), at: 4)
        statement.bind(Int64(message.attempts), at: 5)
    }

    private func finished(_ message: OutboxMessage) -> Int64 {
        message.state.isFinished ? message.finishedAt.milliseconds : 0
    }

    private func outcome(_ message: OutboxMessage) -> Int64 {
        message.outcome.map { Int64($0.rawValue) } ?? -1
    }

    /// Keeps an attempt as it stands, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    func put(_ attempt: AttemptRow) throws(StoreError) {
        try writing { () throws(StoreError) in
            let put = statements.putAttempt
            put.bind(attempt.notice, at: 1)
            put.bind(Int64(attempt.target), at: 2)
            put.bind(Int64(attempt.attempt), at: 3)
            put.bind(attempt.beganAt.milliseconds, at: 4)
            put.bind(attempt.took?.count ?? -1, at: 5)
            put.bind(Int64(attempt.status ?? 0), at: 6)
            try put.bind(attempt.error, at: 7)
            try put.run()
        }
    }

    // MARK: - Retention

    /// Removes those of the next `limit` messages behind notice `last` that were over before
    /// `time`, with their attempts, and moves `last` on; true if some are left. What is not over
    /// stays, however old.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func cutOutbox(
        before time: Timestamp, after last: inout Int64, limit: Int64
    ) throws(StoreError) -> Bool {
        var moved = last
        var isLeft = false
        try writing { () throws(StoreError) in
            var old: [(notice: Int64, target: Int64)] = []
            let select = statements.messagesAfter
            select.bind(last, at: 1)
            defer { select.reset() }
            var looked: Int64 = 0
            while try select.next() {
                let notice = select.integer(at: 0)
                // Whole notices: the next piece begins behind the last of them.
                if looked >= limit, notice > moved {
                    isLeft = true
                    break
                }
                if select.integer(at: 4) >= time.milliseconds { break }
                moved = notice
                looked += 1
                let isOver = select.integer(at: 2) == Int64(OutboxMessage.State.over.rawValue)
                if isOver, select.integer(at: 3) < time.milliseconds {
                    old.append((notice, select.integer(at: 1)))
                }
            }
            select.reset()
            for (notice, target) in old {
                for delete in [statements.deleteMessage, statements.deleteAttempts] {
                    delete.bind(notice, at: 1)
                    delete.bind(target, at: 2)
                    try delete.run()
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
    func storeNumber() throws(StoreError) -> UInt64? {
        try integer(forKey: Self.storeNumberKey).map { UInt64(bitPattern: $0) }
    }

    /// Gives it its number, once, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    func set(storeNumber: UInt64) throws(StoreError) {
        try set(Int64(bitPattern: storeNumber), forKey: Self.storeNumberKey)
    }

    private static let storeNumberKey = "store_number"
}

extension JournalSchema {
    /// The statement that writes what of a message changes with its attempts; its body is changed
    /// by erasures alone.
    static let updateMessage: StaticString = """
        UPDATE outbox SET
            state = ?3, left_members = ?4, attempts = ?5, next_ms = ?6, finished_ms = ?7,
            outcome = ?8,
            checksum = checksum
                - row_checksum(
                    8, notice, target, state, left_members, attempts, since_ms, next_ms, decided_ms,
                    finished_ms, outcome, body)
                + row_checksum(
                    8, notice, target, ?3, ?4, ?5, since_ms, ?6, decided_ms, ?7, ?8, body)
        WHERE notice = ?1 AND target = ?2 AND state < 4
        """
    static let insertMessage: StaticString = """
        INSERT INTO outbox VALUES(
            ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
            row_checksum(8, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11))
        """
    static let putAttempt: StaticString = """
        INSERT OR REPLACE INTO attempts VALUES(
            ?1, ?2, ?3, ?4, ?5, ?6, ?7, row_checksum(9, ?1, ?2, ?3, ?4, ?5, ?6, ?7))
        """
    static let messagesAfter: StaticString = """
        SELECT notice, target, state, finished_ms, decided_ms FROM outbox
        WHERE notice > ? ORDER BY notice, target
        """
}

extension OutboxMessage {
    /// The current row of a statement that selects the whole table; nil if it is damaged.
    init?(_ statement: Statement) {
        guard let notice = Notice(journalBytes: Array(statement.bytes(at: 10))),
            notice.number == statement.integer(at: 0),
            let target = Int(exactly: statement.integer(at: 1)),
            let state = State(rawValue: UInt8(truncatingIfNeeded: statement.integer(at: 2))),
            let attempts = Int(exactly: statement.integer(at: 4))
        else { return nil }
        let outcome = statement.integer(at: 9)
        self.init(
            notice, target: target, decidedAt: Timestamp(milliseconds: statement.integer(at: 7)),
            since: RunningTime(milliseconds: statement.integer(at: 5)),
            left: UInt64(bitPattern: statement.integer(at: 3)), state: state, attempts: attempts,
            next: RunningTime(milliseconds: statement.integer(at: 6)),
            outcome: outcome < 0
                ? nil : NoticeOutcome(rawValue: UInt8(truncatingIfNeeded: outcome)),
            finishedAt: Timestamp(milliseconds: statement.integer(at: 8)))
    }
}
