import RollcallCore

/// Decisions of the open transaction that are not written yet: SQLite takes many in one step for
/// half of what it takes for each alone.
struct DecisionRows {
    /// The number of decisions that are written in one step.
    static let rowsMax = 64

    private struct Row {
        var decision: DecisionRow
        /// The range of the body among all bytes.
        var body: Range<Int>
    }

    private var rows: [Row] = []
    private var bytes: [UInt8] = []

    /// Makes room for one step.
    init() { rows.reserveCapacity(Self.rowsMax) }

    /// True if one more has to wait until these are written.
    var isFull: Bool { rows.count == Self.rowsMax }

    /// Adds a decision behind all others; its body is copied.
    mutating func append(_ decision: DecisionRow) {
        let start = bytes.count
        bytes.append(contentsOf: decision.body)
        rows.append(Row(decision: decision, body: start..<bytes.count))
    }

    /// Forgets all of them.
    mutating func removeAll() {
        rows.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: bytes.count < 1 << 16)
    }

    /// Writes all of them in order, in one step if they fill it and follow the table's last one.
    /// - Throws: `StoreError` if SQLite refuses.
    func write(by statements: JournalStatements) throws(StoreError) {
        guard !rows.isEmpty else { return }
        let isNext = isFull ? isNext(behind: try statements.lastDecision.one()) : false
        let many = statements.insertDecisions
        try bytes.withUnsafeBufferPointer { buffer throws(StoreError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            defer { many.offset = 0 }
            for row in rows {
                var decision = row.decision
                decision.body = UnsafeRawBufferPointer(rebasing: bytes[row.body])
                if isNext {
                    try decision.bind(to: many, isNext: true)
                    many.offset += many.parameterCount / Int32(Self.rowsMax)
                } else {
                    try decision.write(by: statements.insertDecision)
                }
            }
            if isNext { try many.run() }
        }
    }

    /// True if they follow the last one of the table without a hole. SQLite numbers them itself then, and
    /// seeks the place of none.
    ///
    /// "The usual algorithm is to give the newly created row a ROWID that is one larger than the largest
    /// ROWID in the table prior to the insert." (sqlite.org/autoinc.html)
    private func isNext(behind last: Int64) -> Bool {
        guard let first = rows.first?.decision.id, let end = rows.last?.decision.id else {
            return false
        }
        return first == last + 1 && end == last + Int64(rows.count)
    }
}
