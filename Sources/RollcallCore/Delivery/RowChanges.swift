/// Rows to be written.
package struct RowChanges<Row: Equatable & Sendable>: Equatable, Sendable {
    /// Those that the store does not have.
    package internal(set) var added: [Row] = []
    /// Those that it has otherwise.
    package internal(set) var changed: [Row] = []

    package init() {}

    /// The changes that somebody else has made.
    package init(added: [Row], changed: [Row]) {
        self.added = added
        self.changed = changed
    }

    /// True if there is nothing to write.
    package var isEmpty: Bool { added.isEmpty && changed.isEmpty }

    mutating func add(_ other: RowChanges) {
        added += other.added
        changed += other.changed
    }
}

/// Rows of the outbox.
package typealias OutboxChanges = RowChanges<OutboxMessage>
/// Rows of pushes.
package typealias PushChanges = RowChanges<PushMessage>

/// The rows that changed since they were last taken, by number.
struct ChangedRows<Row: Equatable & Sendable>: Equatable, Sendable {
    private var rows: [Int64: Row] = [:]
    /// Those of them that the store does not have.
    private var added: Set<Int64> = []

    var isEmpty: Bool { rows.isEmpty }

    /// Row `number` is so now; the store does not have it yet if it `isNew`.
    mutating func note(_ number: Int64, _ row: Row, isNew: Bool = false) {
        rows[number] = row
        if isNew { added.insert(number) }
    }

    /// Takes them, by number.
    mutating func take() -> RowChanges<Row> {
        var changes = RowChanges<Row>()
        for (number, row) in rows.sorted(by: { $0.key < $1.key }) {
            if added.contains(number) {
                changes.added.append(row)
            } else {
                changes.changed.append(row)
            }
        }
        if !isEmpty { self = ChangedRows() }
        return changes
    }
}

extension OutboxChanges {
    /// Adds the ends of messages that another cell has to send, as the store of a new one keeps them (K6).
    package mutating func leaveBehind(_ messages: [OutboxMessage], at wall: Timestamp) {
        changed += messages.map { message in
            var message = message
            message.state = .over
            if message.outcome == nil { (message.outcome, message.finishedAt) = (.removed, wall) }
            return message
        }
    }
}
