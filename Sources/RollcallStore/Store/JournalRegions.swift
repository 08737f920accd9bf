import RollcallCore

/// A message by its notice and the address of its receiver.
package struct MessagePlace: Comparable, Sendable {
    var notice: Int64 = 0
    var target: Int64 = -1

    /// Whoever goes through messages begins before the first, or behind the one of `notice` and `target`.
    package init(notice: Int64 = 0, target: Int64 = -1) {
        self.notice = notice
        self.target = target
    }

    package static func < (left: Self, right: Self) -> Bool {
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
    package func forgetRegions(
        _ regions: ErasedRegions, _ engine: Engine, through turn: Int64, after last: Int64,
        limit: Int64
    ) throws(StoreError) -> Int64? {
        let select = statements.nobodysAfter
        defer { select.reset() }
        try select.bind([.id: last, .limit: limit])
        var moved = last
        var looked: Int64 = 0
        var changed: [(id: Int64, body: [UInt8], checksum: Int64)] = []
        while try select.next() {
            var row = DecisionRow(select)
            guard row.turn <= turn else { break }
            moved = row.id
            looked += 1
            let without = DecisionCode.decision(row).flatMap { engine.forgetting($0, of: regions) }
            if let decision = without {
                let body = DecisionCode(decision).body
                body.withUnsafeBytes { bytes in
                    row.body = bytes
                    changed.append((row.id, body, row.checksum))
                }
            }
        }
        select.reset()
        try writing { () throws(StoreError) in
            for (id, body, checksum) in changed {
                try statements.replaceDecision.run([.id: id, .body: body, .checksum: checksum])
            }
        }
        return looked < limit ? nil : moved
    }

    /// Takes the names of `regions` out of the next `limit` messages behind `last`, whether they
    /// are over or not; returns the last of them, nil once there are no more.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func forgetRegions(
        _ regions: ErasedRegions, _ engine: Engine, after last: MessagePlace, limit: Int64
    ) throws(StoreError) -> MessagePlace? {
        let select = statements.messageBodiesAfter
        defer { select.reset() }
        try select.bind([.notice: last.notice, .target: last.target, .limit: limit])
        var moved = last
        var looked: Int64 = 0
        var changed: [(place: MessagePlace, body: [UInt8])] = []
        while try select.next() {
            moved = MessagePlace(notice: select[.notice], target: select[.target])
            looked += 1
            let notice = Notice(journalBytes: Array(select.bytes(.body)))
            if let without = notice.flatMap({ engine.forgetting($0, of: regions) }) {
                changed.append((moved, without.journalBytes))
            }
        }
        select.reset()
        try writing { () throws(StoreError) in
            for (place, body) in changed {
                try statements.replaceMessage.run([
                    .notice: place.notice, .target: place.target, .body: body,
                ])
            }
        }
        return looked < limit ? nil : moved
    }
}
