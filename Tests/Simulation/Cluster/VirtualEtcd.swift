import RollcallCluster

/// A key-value store as etcd is one, seen from outside: transactions one after the other, revisions,
/// a history that watches read, and copies that it can be restored from.
final class VirtualEtcd: @unchecked Sendable {
    /// What it holds.
    struct State {
        var rows: [[UInt8]: KeyValueRow] = [:]
        var revision: Int64 = 1
    }

    private(set) var state = State()
    /// What each transaction changed.
    private(set) var history: [(revision: Int64, rows: [KeyValueRow])] = []
    /// Up to here history is forgotten.
    private(set) var forgotten: Int64 = 0
    /// Called after every transaction that changed something.
    var onChange: ([KeyValueRow]) -> Void = { _ in }

    /// Runs a transaction.
    func run(_ transaction: KeyValueTransaction) -> KeyValueAnswer {
        let isTrue = transaction.comparisons.allSatisfy { holds($0) }
        var changed: [KeyValueRow] = []
        var found: [[KeyValueRow]] = []
        let operations = isTrue ? transaction.operations : transaction.otherwise
        let next = state.revision + 1
        var isChanged = false
        for operation in operations {
            switch operation {
            case .put(let key, let value):
                let row = KeyValueRow(key: key, value: value, revision: next)
                state.rows[key] = row
                changed.append(row)
                isChanged = true
            case .delete(let from, let to):
                for key in keys(from, to) {
                    state.rows[key] = nil
                    isChanged = true
                }
            case .get(let key): found.append(state.rows[key].map { [$0] } ?? [])
            case .range(let from, let to, let limit):
                found.append(keys(from, to).prefix(limit).compactMap { state.rows[$0] })
            }
        }
        if isChanged {
            state.revision = next
            history.append((next, changed))
            onChange(changed)
        }
        return KeyValueAnswer(isTrue: isTrue, revision: state.revision, found: found)
    }

    private func keys(_ from: [UInt8], _ to: [UInt8]) -> [[UInt8]] {
        state.rows.keys.filter {
            !$0.lexicographicallyPrecedes(from) && $0.lexicographicallyPrecedes(to)
        }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func holds(_ comparison: KeyValueTransaction.Comparison) -> Bool {
        switch comparison {
        case .value(let key, let value): state.rows[key]?.value == value
        case .revision(let key, let revision): state.rows[key]?.revision == revision
        case .absent(let key): state.rows[key] == nil
        }
    }

    /// Returns what changed after a revision; nil if that is forgotten, or lies ahead: then it was
    /// restored.
    func changes(after revision: Int64) -> [(revision: Int64, rows: [KeyValueRow])]? {
        guard revision >= forgotten, revision <= state.revision else { return nil }
        return history.filter { $0.revision > revision }
    }

    /// Forgets the history before a revision.
    func forget(before revision: Int64) {
        forgotten = max(forgotten, min(revision - 1, state.revision))
        history.removeAll { $0.revision <= forgotten }
    }

    /// Goes back to an older state, as after `etcdctl snapshot restore` under the same names.
    func restore(_ older: State) {
        state = older
        history.removeAll { $0.revision > older.revision }
    }

    /// Somebody wrote an older state's keys again, from a dump: the same values at new revisions.
    func rewrite(_ older: State) {
        var next = older
        next.revision = state.revision + 1
        for key in next.rows.keys { next.rows[key]?.revision = next.revision }
        state = next
        history = []
        forgotten = next.revision
    }
}
