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

    /// A gap that counts, as one of the rows tells it.
    private struct Gap {
        var row: Int
        var number: Int64
        var aggregates: GapAggregates
        var openedAt: Timestamp
        var closedAt: Timestamp
        /// The range of the region among all bytes.
        var region: Range<Int>
    }

    private var rows: [Row] = []
    private var archive = Archive()
    private var gaps: [Gap] = []

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
        var counted: GapReport?
        // Of gaps there may be half a million: theirs is written where it is to stand.
        if case .gap(let time, let number, let gap) = decision.decision {
            gap.write(to: &archive)
            if gap.number > 0 { counted = gap.report }
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
        if let counted { append(counted) }
    }

    /// Adds what the last row tells of its gap.
    private mutating func append(_ report: GapReport) {
        let start = archive.bytes.count
        archive.append(raw: report.facts.region)
        gaps.append(
            Gap(
                row: rows.count - 1, number: report.number, aggregates: GapAggregates(report),
                openedAt: report.openedAt, closedAt: report.closedAt,
                region: start..<archive.bytes.count))
    }

    /// Calls `take` with each decision, in order, and then `takeGaps` with what they tell of gaps that
    /// count, some at once and in order. Throws what either throws.
    fileprivate func forEach(
        turn: Int64, _ take: (DecisionRow) throws(StoreError) -> Void,
        gaps takeGaps: ([CountedGap]) throws(StoreError) -> Void
    ) throws(StoreError) {
        var failure: StoreError?
        archive.bytes.withUnsafeBytes { bytes in
            do throws(StoreError) {
                for row in rows {
                    try take(
                        DecisionRow(
                            id: row.id, turn: turn, kind: row.kind, responder: row.responder,
                            previous: row.previous, atMilliseconds: row.at.milliseconds,
                            body: UnsafeRawBufferPointer(rebasing: bytes[row.body])))
                }
                for start in stride(from: 0, to: gaps.count, by: CountedGap.rowsMax) {
                    let some = gaps[start..<min(start + CountedGap.rowsMax, gaps.count)]
                    try takeGaps(some.map { row($0, turn: turn, bytes) })
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private func row(_ gap: Gap, turn: Int64, _ bytes: UnsafeRawBufferPointer) -> CountedGap {
        let isOpen = gap.closedAt == .distantPast
        return CountedGap(
            number: gap.number, responder: rows[gap.row].responder,
            aggregates: gap.aggregates.raw,
            region: UnsafeRawBufferPointer(rebasing: bytes[gap.region]),
            openedMilliseconds: gap.openedAt.milliseconds,
            closedMilliseconds: isOpen ? 0 : max(1, gap.closedAt.milliseconds), turn: turn,
            body: UnsafeRawBufferPointer(rebasing: bytes[rows[gap.row].body]))
    }
}

extension Journal {
    /// Appends decisions of a turn, and what they tell of gaps that count, in the open transaction.
    /// - Throws: `StoreError` if they cannot be written.
    package func append(_ batch: DecisionBatch, turn: Int64) throws(StoreError) {
        try batch.forEach(turn: turn) { (row) throws(StoreError) in
            try appendDecision(
                id: row.id, turn: turn, kind: row.kind, responder: row.responder,
                previous: row.previous, atMilliseconds: row.atMilliseconds, body: row.body)
        } gaps: { (rows) throws(StoreError) in
            try put(rows)
        }
    }
}
