import RollcallCore

/// Decisions of the open transaction that are not written yet: SQLite takes many in one step for
/// two thirds of what it takes for each alone.
struct DecisionRows {
    /// The number of decisions that are written in one step.
    static let rowsMax = 16

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

    /// Writes all of them in order, by `many` if there are as many as it takes, else by `one`.
    /// - Throws: `StoreError` if SQLite refuses.
    func write(by many: Statement, or one: Statement) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try bytes.withUnsafeBufferPointer { buffer throws(StoreError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            defer { many.offset = 0 }
            for row in rows {
                var decision = row.decision
                decision.body = UnsafeRawBufferPointer(rebasing: bytes[row.body])
                if isFull {
                    try decision.bind(to: many)
                    many.offset += many.parameterCount / Int32(Self.rowsMax)
                } else {
                    try decision.write(by: one)
                }
            }
            if isFull { try many.run() }
        }
    }
}
