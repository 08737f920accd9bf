import RollcallCore

/// Decisions as the rows that the store keeps of them, many at once: one thread makes them, and another
/// may write them.
package struct DecisionBatch: Sendable {
    private struct Row {
        var id: Int64
        var previous: Int64
        var kind: UInt8
        var responder: Int64
        var at: Timestamp
        /// The range of the body among all bytes.
        var body: Range<Int>
    }

    private var rows: [Row] = []
    private var archive = Archive()
    /// The gaps that count, by the indexes of their rows.
    private var gaps: [(row: Int, gap: GapDecision)] = []

    package init() {}

    /// Forgets all of them, and keeps the room that they took.
    package mutating func removeAll() {
        rows.removeAll(keepingCapacity: true)
        archive.removeAll()
        gaps.removeAll(keepingCapacity: true)
    }

    /// Adds decisions behind all others.
    package mutating func append(_ decisions: some Sequence<NumberedDecision>) {
        for decision in decisions { append(decision) }
    }

    private mutating func append(_ decision: NumberedDecision) {
        let start = archive.bytes.count
        let (kind, responder, at): (DecisionCode.Kind, Int64, Timestamp)
        // Of gaps there may be half a million: theirs is written where it is to stand.
        if case .gap(let time, let number, let gap) = decision.decision {
            gap.write(to: &archive)
            if gap.number > 0 { gaps.append((rows.count, gap)) }
            (kind, responder, at) = (.gap, Int64(number + 1), time)
        } else {
            let code = DecisionCode(decision.decision)
            archive.append(raw: code.body)
            (kind, responder, at) = (code.kind, code.responder, code.at)
        }
        rows.append(
            Row(
                id: decision.id, previous: decision.previous, kind: kind.rawValue,
                responder: responder, at: at, body: start..<archive.bytes.count))
    }

    /// Calls `take` with each row, in order, and what it tells of a gap that counts. Throws what `take`
    /// throws.
    fileprivate func forEach(
        turn: Int64, _ take: (DecisionRow, GapDecision?) throws(StoreError) -> Void
    ) throws(StoreError) {
        var failure: StoreError?
        archive.bytes.withUnsafeBytes { bytes in
            var next = gaps.startIndex
            do throws(StoreError) {
                for (index, row) in rows.enumerated() {
                    var gap: GapDecision?
                    if next < gaps.endIndex, gaps[next].row == index {
                        gap = gaps[next].gap
                        next += 1
                    }
                    let decision = DecisionRow(
                        id: row.id, turn: turn, kind: row.kind, responder: row.responder,
                        previous: row.previous, atMilliseconds: row.at.milliseconds,
                        body: UnsafeRawBufferPointer(rebasing: bytes[row.body]))
                    try take(decision, gap)
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }
}

extension Journal {
    /// Appends decisions of a turn, and what they tell of gaps that count, in the open transaction.
    /// - Throws: `StoreError` if they cannot be written.
    package func append(_ batch: DecisionBatch, turn: Int64) throws(StoreError) {
        try batch.forEach(turn: turn) { (row, gap) throws(StoreError) in
            try appendDecision(
                id: row.id, turn: turn, kind: row.kind, responder: row.responder,
                previous: row.previous, atMilliseconds: row.atMilliseconds, body: row.body)
            if let gap {
                try put(gap.report, responder: row.responder, turn: turn, body: row.body)
            }
        }
    }
}
