import Glibc
import RollcallCluster
import RollcallCore
import RollcallSupport
import Synchronization

/// A table of PostgreSQL as a store of keys, on threads of its own.
///
/// Every transaction ends with a commit that waits for the standbys, those that only read too: a row
/// that is visible proves nothing, since a cancelled wait shows it at the primary alone (S3).
package final class PostgresStore: KeyValueStore {
    /// Transactions that are on their way at once, each on a connection of its own.
    private static let workersMax = 3
    /// Keys that a look of a watch takes at most.
    private static let changesMax = 64

    /// The task of a worker.
    private struct Job: Sendable {
        var transaction: KeyValueTransaction
        var reply: @Sendable (KeyValueOutcome) -> Void
    }

    /// A thread, and what waits for it.
    private final class Worker: Sendable {
        let jobs = Mailbox<Job>()
        let waiting = Atomic(0)
    }

    private let known: PostgresKnowledge
    private let workers: [Worker]

    /// The PostgreSQL that `settings` describe. Its threads run until `close()`.
    package init(_ settings: PostgresSettings) {
        known = PostgresKnowledge(settings)
        let known = known
        workers = (0..<Self.workersMax).map { _ in Worker() }.filter { worker in
            DetachedThread.start { Self.work(worker, PostgresConnection(known), known) }
        }
    }

    /// Ends the threads once what they are doing is over. What waits gets no reply.
    package func close() { known.close() }

    /// Runs a transaction; see `KeyValueStore`.
    package func run(
        _ transaction: KeyValueTransaction,
        reply: @escaping @Sendable (KeyValueOutcome) -> Void
    ) {
        let worker = workers.min {
            $0.waiting.load(ordering: .relaxed) < $1.waiting.load(ordering: .relaxed)
        }
        guard let worker else { return reply(.notRun("the system has no thread left")) }
        worker.waiting.add(1, ordering: .relaxed)
        worker.jobs.put(Job(transaction: transaction, reply: reply))
    }

    /// Does nothing: a table holds no history.
    package func forget(before revision: Int64) {}

    private static func work(
        _ worker: Worker, _ connection: PostgresConnection, _ known: PostgresKnowledge
    ) {
        while !known.isClosed {
            for job in worker.jobs.takeAll(waiting: 1000) {
                job.reply(connection.run(job.transaction))
                worker.waiting.subtract(1, ordering: .relaxed)
            }
        }
    }

    // MARK: - Watching

    /// Looks for changes on a thread of its own, twenty times a second; of a key that was changed
    /// several times between two looks the last change is told. See `KeyValueStore`. `receive` is not
    /// called any more once the store is closed.
    package func watch(
        prefix: [UInt8], after revision: Int64,
        receive: @escaping @Sendable (KeyValueNews) -> Void
    ) {
        let hasBegun = DetachedThread.start { [known] in
            Self.follow(prefix, after: revision, known, receive)
        }
        if !hasBegun { receive(.gone) }
    }

    private static func follow(
        _ prefix: [UInt8], after revision: Int64, _ known: PostgresKnowledge,
        _ receive: @Sendable (KeyValueNews) -> Void
    ) {
        let connection = PostgresConnection(known)
        var revision = revision
        while !known.isClosed {
            switch connection.changes(prefix: prefix, after: revision, limit: changesMax) {
            case .nothing: break
            case .gone: return receive(.gone)
            case .changes(let rows, let end):
                var rest = rows[...]
                while let first = rest.first {
                    let count = rest.prefix { $0.revision == first.revision }.count
                    receive(.changed(Array(rest.prefix(count))))
                    rest = rest.dropFirst(count)
                }
                revision = end
                // There is more.
                if rows.count > changesMax / 2 { continue }
            }
            usleep(UInt32(clamping: known.settings.watchEvery.count * 1000))
        }
    }
}
