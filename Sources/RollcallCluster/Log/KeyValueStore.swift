/// A store of keys that runs transactions one after the other, as etcd does: what a turn log stands
/// on.
package protocol KeyValueStore: Sendable {
    /// Runs a transaction; `reply` is called once, on any thread.
    ///
    /// Whatever is not a complete answer is `unknown`: the transaction may run later, too (S3).
    func run(
        _ transaction: KeyValueTransaction,
        reply: @escaping @Sendable (KeyValueOutcome) -> Void)

    /// Follows the keys that begin with `prefix`: `receive` is called with every change after
    /// `revision`, in order, on one thread, until the process ends or `receive` is told of the end.
    /// What breaks is begun again where it broke; only history that is gone ends it.
    func watch(
        prefix: [UInt8], after revision: Int64,
        receive: @escaping @Sendable (KeyValueNews) -> Void)

    /// Lets the store forget what keys held before `revision`. Nobody waits for it.
    func forget(before revision: Int64)
}

/// Operations that are run if every comparison holds, all or none of them; others if one does not.
package struct KeyValueTransaction: Equatable, Sendable {
    /// A condition on one key.
    package enum Comparison: Equatable, Sendable {
        case value(key: [UInt8], is: [UInt8])
        /// The key was changed last by the transaction of that revision.
        case revision(key: [UInt8], is: Int64)
        case absent(key: [UInt8])
    }

    /// One step of a transaction.
    package enum Operation: Equatable, Sendable {
        case put(key: [UInt8], value: [UInt8])
        /// Removes the keys from `from` up to, and not with, `to`.
        case delete(from: [UInt8], to: [UInt8])
        /// Reads one key.
        case get(key: [UInt8])
        /// Reads the keys from `from` up to, and not with, `to`, in their order; at most `limit`.
        case range(from: [UInt8], to: [UInt8], limit: Int)
    }

    package var comparisons: [Comparison]
    package var operations: [Operation]
    package var otherwise: [Operation]

    /// A transaction; without comparisons its operations are run.
    package init(
        if comparisons: [Comparison] = [], _ operations: [Operation],
        otherwise: [Operation] = []
    ) {
        self.comparisons = comparisons
        self.operations = operations
        self.otherwise = otherwise
    }
}

/// A key as it was read.
package struct KeyValueRow: Equatable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]
    /// The revision of the transaction that changed it last.
    package var revision: Int64

    /// A key with its value.
    package init(key: [UInt8], value: [UInt8], revision: Int64) {
        self.key = key
        self.value = value
        self.revision = revision
    }
}

extension KeyValueRow {
    /// Returns the first key behind all that begin with `prefix`; an empty one if there is none.
    package static func behind(_ prefix: [UInt8]) -> [UInt8] {
        var end = prefix
        while let last = end.popLast() {
            if last < 0xFF { return end + [last + 1] }
        }
        return []
    }
}

/// A complete answer.
package struct KeyValueAnswer: Equatable, Sendable {
    /// True if every comparison held.
    package var isTrue: Bool
    /// The store's revision after the transaction.
    package var revision: Int64
    /// The rows that each `get` and `range` found, in the order of those operations.
    package var found: [[KeyValueRow]]

    /// The answer of a store at `revision`.
    package init(isTrue: Bool, revision: Int64, found: [[KeyValueRow]]) {
        self.isTrue = isTrue
        self.revision = revision
        self.found = found
    }
}

/// The outcome of a transaction.
package enum KeyValueOutcome: Equatable, Sendable {
    case answered(KeyValueAnswer)
    /// It was certainly not run, and never will be; why.
    case notRun(String)
    /// Nobody knows whether it was run, or will be; why.
    case unknown(String)
}

/// Something that a watch tells.
package enum KeyValueNews: Equatable, Sendable {
    /// Keys that a transaction changed, those that it removed left out, with its revision.
    case changed([KeyValueRow])
    /// The history after the revision asked for is gone: read what there is, and watch anew.
    case gone
}
