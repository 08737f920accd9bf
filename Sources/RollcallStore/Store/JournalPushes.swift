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
            let number = select.integer(.number)
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
    package func write(_ changes: PushChanges) throws(StoreError) {
        try keepAlive { () throws(StoreError) in
            for message in changes.added {
                try run(statements.insertPush, message.changing, message.staying)
                if message.row.state != .over { alive.pushes += 1 }
            }
            for message in changes.changed {
                try run(statements.updatePush, message.changing)
                if message.row.state == .over { alive.pushes -= connection.changes }
            }
        }
    }

    /// Returns the highest number of a push that the store holds; 0 for none.
    /// - Throws: `StoreError` if it cannot be read, or is not as it was written.
    package func lastPush() throws(StoreError) -> Int64 {
        try statements.lastPush.first { row throws(StoreError) in
            let number = row.integer(.number)
            guard row.fits(.pushes) else {
                throw .damaged("push \(number) is not as it was written")
            }
            return number
        } ?? 0
    }

    // MARK: - Claims

    /// Returns the number of attempts to send a push that this store ever began: beside it stands
    /// the same number, and a store that knows of fewer is a copy that was made before (N2).
    /// - Throws: `StoreError` if it cannot be read.
    package func pushClaims() throws(StoreError) -> Int64 {
        try integer(forKey: Self.pushClaimsKey) ?? 0
    }

    /// Keeps their number, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    package func set(pushClaims claims: Int64) throws(StoreError) {
        try set(claims, forKey: Self.pushClaimsKey)
    }

    // MARK: - Restored copies

    /// Returns when this store was last found to be an older copy of itself: what was decided after
    /// it was taken has other numbers now. Nil if it never was.
    /// - Throws: `StoreError` if it cannot be read.
    package func restoredAt() throws(StoreError) -> Timestamp? {
        try integer(forKey: Self.restoredKey).map { Timestamp(milliseconds: $0) }
    }

    /// Sets that, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    package func set(restoredAt time: Timestamp) throws(StoreError) {
        try set(time.milliseconds, forKey: Self.restoredKey)
    }

    private static let restoredKey = "restored_ms"
    private static let pushClaimsKey = "push_claims"

    // MARK: - Retention and erasure

    /// Removes those of the next `limit` pushes behind push `last` that were over before `time`,
    /// and moves `last` on; true if some are left. What is not over stays.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func cutPushes(
        before time: Timestamp, after last: inout Int64, limit: Int64
    ) throws(StoreError) -> Bool {
        var moved = last
        var isLeft = false
        try writing { () throws(StoreError) in
            var old: [Int64] = []
            let select = statements.pushesAfter
            select.bind(last, as: .number)
            defer { select.reset() }
            var looked: Int64 = 0
            while try select.next() {
                if looked == limit {
                    isLeft = true
                    break
                }
                if select[.decidedMs] >= time { break }
                moved = select[.number]
                looked += 1
                let isOver = select[.state] == PushMessage.State.over
                if isOver, select[.finishedMs] < time { old.append(moved) }
            }
            select.reset()
            for number in old { try statements.deletePush.run([.number: number]) }
        }
        last = moved
        return isLeft
    }

    /// Removes at most `limit` pushes to person number `responder` - 1; true if some may be left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func removePushes(of responder: Int64, limit: Int64) throws(StoreError) -> Bool {
        var removed: Int64 = 0
        let delete = statements.deletePushesOf
        try delete.bind([.responder: responder, .limit: limit])
        try keepAlive { () throws(StoreError) in
            try writing { () throws(StoreError) in
                while try delete.next() {
                    removed += 1
                    if delete[.state] != PushMessage.State.over { alive.pushes -= 1 }
                }
            }
        }
        return removed == limit
    }
}

extension JournalSchema {
    static let sinceVersion5: [SQL] = [
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
        "CREATE INDEX pushes_alive ON pushes(number) WHERE state < \(PushMessage.State.over)",
        // For erasures: decisions may be cut before what became of their pushes.
        "CREATE INDEX pushes_responder ON pushes(responder)",
        // The nudge ledger, newest first (N8): few decisions are of it.
        "CREATE INDEX nudge_decisions ON decisions(id) WHERE kind = \(DecisionCode.Kind.nudge)",
    ]
}

extension PushMessage {
    /// The current row of a statement that selects the whole table; nil if it is damaged.
    init?(_ row: Statement) {
        let responder: Int = row[.responder]
        guard let facts = NudgeFacts(journalBytes: Array(row.bytes(.facts))),
            let state: State = row[.state], let kind: PushKind = row[.kind], responder > 0
        else { return nil }
        let decided = PushMessage(
            number: row[.number], kind: kind, person: responder - 1, decidedAt: row[.decidedMs],
            now: row[.sinceMs], life: Milliseconds(0), facts: facts)
        self.init(
            decided,
            as: Row(
                state: state, attempts: row[.attempts], next: row[.nextMs], until: row[.untilMs],
                ticket: Array(row.bytes(.ticket)), token: row[.token], outcome: row[.outcome],
                finishedAt: state == .over ? row[.finishedMs] : .distantPast))
    }

    /// Its number, and what changes on its way.
    fileprivate var changing: Arguments {
        [
            .number: number, .state: Code(row.state), .attempts: row.attempts, .nextMs: row.next,
            .untilMs: row.until,
            .finishedMs: row.state == .over ? row.finishedAt.milliseconds : 0,
            .outcome: Code(row.outcome), .token: row.token, .ticket: row.ticket,
        ]
    }

    fileprivate var staying: Arguments {
        [
            .responder: person + 1, .kind: Code(kind), .sinceMs: since, .decidedMs: decidedAt,
            .facts: facts.journalBytes,
        ]
    }
}
