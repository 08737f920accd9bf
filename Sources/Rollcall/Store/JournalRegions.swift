import RollcallCore

/// A message by its notice and the address of its receiver.
struct MessagePlace: Comparable, Sendable {
    var notice: Int64 = 0
    var target: Int64 = -1

    static func < (left: Self, right: Self) -> Bool {
        (left.notice, left.target) < (right.notice, right.target)
    }
}

/// Taking the names of regions of somebody erased, which nobody has any more, out of what is stored
/// about alerts (I11, DELETE /v1/responders/{id}).
extension Journal {
    /// Takes the names of `regions` out of the next `limit` decisions behind `last` that are about
    /// nobody; returns the last of them, nil once there are no more. Those behind `turn` stay: a
    /// restart decides them again, and compares (J3).
    /// - Throws: `StoreError` if the store cannot be read or written.
    func forgetRegions(
        _ regions: ErasedRegions, _ engine: Engine, through turn: Int64, after last: Int64,
        limit: Int64
    ) throws(StoreError) -> Int64? {
        let select = statements.nobodysAfter
        defer { select.reset() }
        select.bind(last, at: 1)
        select.bind(limit, at: 2)
        var moved = last
        var looked: Int64 = 0
        var changed: [(id: Int64, body: [UInt8], checksum: Int64)] = []
        while try select.next() {
            let row = DecisionRow(select)
            guard row.turn <= turn else { break }
            moved = row.id
            looked += 1
            let without = DecisionCode.decision(row).flatMap { engine.forgetting($0, of: regions) }
            if let decision = without {
                let body = DecisionCode(decision).body
                let sum = body.withUnsafeBytes { RowChecksum.of(row, $0) }
                changed.append((row.id, body, sum))
            }
        }
        select.reset()
        try writing { () throws(StoreError) in
            for (id, body, checksum) in changed {
                statements.replaceDecision.bind(id, at: 1)
                try statements.replaceDecision.bind(copying: body, at: 2)
                statements.replaceDecision.bind(checksum, at: 3)
                try statements.replaceDecision.run()
            }
        }
        return looked < limit ? nil : moved
    }

    /// Takes the names of `regions` out of the next `limit` messages behind `last`, whether they
    /// are over or not; returns the last of them, nil once there are no more.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func forgetRegions(
        _ regions: ErasedRegions, _ engine: Engine, after last: MessagePlace, limit: Int64
    ) throws(StoreError) -> MessagePlace? {
        let select = statements.messageBodiesAfter
        defer { select.reset() }
        select.bind(last.notice, at: 1)
        select.bind(last.target, at: 2)
        select.bind(limit, at: 3)
        var moved = last
        var looked: Int64 = 0
        var changed: [(place: MessagePlace, body: [UInt8])] = []
        while try select.next() {
            moved = MessagePlace(notice: select.integer(at: 0), target: select.integer(at: 1))
            looked += 1
            let notice = Notice(journalBytes: Array(select.bytes(at: 2)))
            if let without = notice.flatMap({ engine.forgetting($0, of: regions) }) {
                changed.append((moved, without.journalBytes))
            }
        }
        select.reset()
        try writing { () throws(StoreError) in
            for (place, body) in changed {
                statements.replaceMessage.bind(place.notice, at: 1)
                statements.replaceMessage.bind(place.target, at: 2)
                try statements.replaceMessage.bind(copying: body, at: 3)
                try statements.replaceMessage.run()
            }
        }
        return looked < limit ? nil : moved
    }
}

extension JournalSchema {
    /// The index holds what is about nobody: blindness, alerts, notices, mutes.
    static let nobodysAfter: StaticString = """
        SELECT * FROM decisions INDEXED BY blind_decisions
        WHERE responder = 0 AND id > ?1 ORDER BY id LIMIT ?2
        """
    static let replaceMessage: StaticString = """
        UPDATE outbox SET
            body = ?3,
            checksum = checksum
                - row_checksum(
                    8, notice, target, state, left_members, attempts, since_ms, next_ms, decided_ms,
                    finished_ms, outcome, body)
                + row_checksum(
                    8, notice, target, state, left_members, attempts, since_ms, next_ms, decided_ms,
                    finished_ms, outcome, ?3)
        WHERE notice = ?1 AND target = ?2
        """
    static let messageBodiesAfter: StaticString = """
        SELECT notice, target, body FROM outbox
        WHERE (notice, target) > (?1, ?2) ORDER BY notice, target LIMIT ?3
        """
}
