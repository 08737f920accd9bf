import RollcallCore

/// Pushes in the store (N2, N7): neither ids nor tokens of people.
extension Journal {
    /// Returns the pushes that are not over, by number.
    /// - Throws: `StoreError` if they cannot be read, and `damaged` if a row is not as it was
    ///   written, or if there are not as many as there should be.
    package func pushes() throws(StoreError) -> [PushMessage] {
        let select = statements.alivePushes
        defer { select.reset() }
        var messages: [PushMessage] = []
        while try select.next() {
            let number = select.integer(at: 0)
            guard select.fits(.pushes), messages.last.map({ $0.number < number }) ?? true else {
                throw .damaged("push \(number) is not as it was written")
            }
            guard let message = PushMessage(select), message.row.state != .over else {
                throw .damaged("push \(number) makes no sense")
            }
            messages.append(message)
        }
        guard messages.count == alive.pushes else {
            throw .damaged("\(messages.count) of \(alive.pushes) pushes are found")
        }
        return messages
    }

    /// Writes what changed of pushes, in the open transaction. What is over does not change.
    /// - Throws: `StoreError` if it cannot be written.
    func write(_ changes: PushChanges) throws(StoreError) {
        try keepAlive { () throws(StoreError) in
            for message in changes.added {
                try insert(message)
                if message.row.state != .over { alive.pushes += 1 }
            }
            for message in changes.changed {
                try update(message)
                if message.row.state == .over { alive.pushes -= connection.changes }
            }
        }
    }

    private func insert(_ message: PushMessage) throws(StoreError) {
        try writing { () throws(StoreError) in
            let insert = statements.insertPush
            try bind(message, to: insert)
            insert.bind(Int64(message.person + 1), at: 10)
            insert.bind(Int64(message.kind.rawValue), at: 11)
            insert.bind(message.since.milliseconds, at: 12)
            insert.bind(message.decidedAt.milliseconds, at: 13)
            try insert.bind(copying: message.facts.journalBytes, at: 14)
            try insert.run()
        }
    }

    private func update(_ message: PushMessage) throws(StoreError) {
        try writing { () throws(StoreError) in
            try bind(message, to: statements.updatePush)
            try statements.updatePush.run()
        }
    }

    private func bind(_ message: PushMessage, to statement: Statement) throws(StoreError) {
        let row = message.row
        statement.bind(message.number, at: 1)
        statement.bind(Int64(row.state.rawValue), at: 2)
        statement.bind(Int64(row.attempts), at: 3)
        statement.bind(row.next.milliseconds, at: 4)
        statement.bind(row.until.milliseconds, at: 5)
        statement.bind(row.state == .over ? row.finishedAt.milliseconds : 0, at: 6)
        statement.bind(row.outcome.map { Int64($0.rawValue) } ?? -1, at: 7)
        statement.bind(Int64(bitPattern: row.token), at: 8)
        try statement.bind(copying: row.ticket, at: 9)
    }

    /// Returns the highest number of a push that the store holds; 0 for none.
    /// - Throws: `StoreError` if it cannot be read, or is not as it was written.
    func lastPush() throws(StoreError) -> Int64 {
        let select = statements.lastPush
        defer { select.reset() }
        guard try select.next() else { return 0 }
        let number = select.integer(at: 0)
        guard select.fits(.pushes) else {
            throw .damaged("push \(number) is not as it was written")
        }
        return number
    }

    // MARK: - Claims

    /// Returns the number of attempts to send a push that this store ever began: beside it stands
    /// the same number, and a store that knows of fewer is a copy that was made before (N2).
    /// - Throws: `StoreError` if it cannot be read.
    func pushClaims() throws(StoreError) -> Int64 {
        try integer(forKey: Self.pushClaimsKey) ?? 0
    }

    /// Keeps their number, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    func set(pushClaims claims: Int64) throws(StoreError) {
        try set(claims, forKey: Self.pushClaimsKey)
    }

    private static let pushClaimsKey = "push_claims"

    // MARK: - Retention and erasure

    /// Removes those of the next `limit` pushes behind push `last` that were over before `time`,
    /// and moves `last` on; true if some are left. What is not over stays.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func cutPushes(
        before time: Timestamp, after last: inout Int64, limit: Int64
    ) throws(StoreError) -> Bool {
        var moved = last
        var isLeft = false
        try writing { () throws(StoreError) in
            var old: [Int64] = []
            let select = statements.pushesAfter
            select.bind(last, at: 1)
            defer { select.reset() }
            var looked: Int64 = 0
            while try select.next() {
                if looked == limit {
                    isLeft = true
                    break
                }
                if select.integer(at: 3) >= time.milliseconds { break }
                moved = select.integer(at: 0)
                looked += 1
                let isOver = select.integer(at: 1) == Int64(PushMessage.State.over.rawValue)
                if isOver, select.integer(at: 2) < time.milliseconds { old.append(moved) }
            }
            select.reset()
            for number in old {
                statements.deletePush.bind(number, at: 1)
                try statements.deletePush.run()
            }
        }
        last = moved
        return isLeft
    }

    /// Removes at most `limit` pushes to person number `responder` - 1; true if some may be left.
    /// - Throws: `StoreError` if the store cannot be written.
    func removePushes(of responder: Int64, limit: Int64) throws(StoreError) -> Bool {
        var removed: Int64 = 0
        let delete = statements.deletePushesOf
        delete.bind(responder, at: 1)
        delete.bind(limit, at: 2)
        try keepAlive { () throws(StoreError) in
            try writing { () throws(StoreError) in
                while try delete.next() {
                    removed += 1
                    let isOver = delete.integer(at: 0) == Int64(PushMessage.State.over.rawValue)
                    if !isOver { alive.pushes -= 1 }
                }
            }
        }
        return removed == limit
    }
}

extension JournalSchema {
    static let sinceVersion5: [StaticString] = [
        // One row a push (N7). `responder` is the person's number + 1; `outcome` is -1 before the
        // end; `token` is a hash. What it waits by, `since_ms`, `next_ms` and `until_ms`, is
        // running time.
        """
        CREATE TABLE pushes(
            number INTEGER PRIMARY KEY,
            state INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            next_ms INTEGER NOT NULL,
            until_ms INTEGER NOT NULL,
            finished_ms INTEGER NOT NULL,
            outcome INTEGER NOT NULL,
            token INTEGER NOT NULL,
            ticket BLOB NOT NULL,
            responder INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            since_ms INTEGER NOT NULL,
            decided_ms INTEGER NOT NULL,
            facts BLOB NOT NULL)
        """,
        // What a start reads: all but those that are over.
        "CREATE INDEX pushes_alive ON pushes(number) WHERE state < 3",
        // For erasures: decisions may be cut before what became of their pushes.
        "CREATE INDEX pushes_responder ON pushes(responder)",
        // The nudge ledger, newest first (N8): few decisions are of it.
        "CREATE INDEX nudge_decisions ON decisions(id) WHERE kind = 7",
    ]

    /// The statement that writes what of a push changes on its way.
    static let updatePush: StaticString = """
        UPDATE pushes SET
            state = ?2, attempts = ?3, next_ms = ?4, until_ms = ?5, finished_ms = ?6,
            outcome = ?7, token = ?8, ticket = ?9,
            checksum = checksum
                - row_checksum(
                    10, number, state, attempts, next_ms, until_ms, finished_ms, outcome, token,
                    ticket, responder, kind, since_ms, decided_ms, facts)
                + row_checksum(
                    10, number, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, responder, kind, since_ms, decided_ms,
                    facts)
        WHERE number = ?1 AND state < 3
        """
    static let insertPush: StaticString = """
        INSERT INTO pushes VALUES(
            ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
            row_checksum(10, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14))
        """
    static let pushesAfter: StaticString = """
        SELECT number, state, finished_ms, decided_ms FROM pushes
        WHERE number > ? ORDER BY number
        """
}

extension PushMessage {
    /// The current row of a statement that selects the whole table; nil if it is damaged.
    init?(_ statement: Statement) {
        guard let facts = NudgeFacts(journalBytes: Array(statement.bytes(at: 13))),
            let state = State(rawValue: UInt8(truncatingIfNeeded: statement.integer(at: 1))),
            let attempts = Int(exactly: statement.integer(at: 2)),
            let person = Int(exactly: statement.integer(at: 9) - 1), person >= 0,
            let kind = PushKind(rawValue: UInt8(truncatingIfNeeded: statement.integer(at: 10)))
        else { return nil }
        let since = RunningTime(milliseconds: statement.integer(at: 11))
        let decided = PushMessage(
            number: statement.integer(at: 0), kind: kind, person: person,
            decidedAt: Timestamp(milliseconds: statement.integer(at: 12)), now: since,
            life: Milliseconds(0), facts: facts)
        let outcome = statement.integer(at: 6)
        self.init(
            decided,
            as: Row(
                state: state, attempts: attempts,
                next: RunningTime(milliseconds: statement.integer(at: 3)),
                until: RunningTime(milliseconds: statement.integer(at: 4)),
                ticket: Array(statement.bytes(at: 8)),
                token: UInt64(bitPattern: statement.integer(at: 7)),
                outcome: outcome < 0
                    ? nil : PushOutcome(rawValue: UInt8(truncatingIfNeeded: outcome)),
                finishedAt: Timestamp(
                    milliseconds: state == .over ? statement.integer(at: 5) : Self.never)))
    }

    private static let never = Timestamp.distantPast.milliseconds
}
