import Glibc
import RollcallCluster
import RollcallCore
import RollcallSupport
import Synchronization

/// etcd as a store of keys, over its JSON gateway, on threads of its own.
///
/// Nothing is sent twice of which nobody knows what became of it: the turn log reads instead (S3).
package final class EtcdStore: KeyValueStore {
    /// Transactions that are on their way at once: a member that does not answer holds up one of
    /// them.
    private static let workersMax = 3
    /// A watch is begun anew after so long.
    static let watchMax = Milliseconds(3_600_000)
    /// A watch on which nothing comes for so long is begun anew: the other side may be gone without
    /// a word. Where somebody leads, a beat comes each half second (S8).
    static let watchIdleSecondsMax = 10
    /// Bytes of an answer at most: sixteen entries of a megabyte, in Base64.
    static let answerBytesMax = 32 << 20
    /// Microseconds between two tries of a watch that breaks.
    private static let watchPause: UInt32 = 100_000

    /// The task of a worker.
    private enum Job: Sendable {
        case run(KeyValueTransaction, @Sendable (KeyValueOutcome) -> Void)
        case forget(before: Int64)
    }

    /// A thread, and what waits for it.
    private final class Worker: Sendable {
        let jobs = Mailbox<Job>()
        let waiting = Atomic(0)
    }

    private let known: EtcdKnowledge
    private let workers: [Worker]

    /// The etcd that `settings` describe. Its threads run until `close()`.
    package init(_ settings: EtcdSettings) {
        known = EtcdKnowledge(settings)
        let known = known
        workers = (0..<Self.workersMax).map { _ in Worker() }.filter { worker in
            DetachedThread.start { Self.work(worker, EtcdConnection(known), known) }
        }
    }

    /// Ends the threads once what they are doing is over. What waits gets no reply.
    package func close() { known.close() }

    /// Runs a transaction; see `KeyValueStore`.
    package func run(
        _ transaction: KeyValueTransaction,
        reply: @escaping @Sendable (KeyValueOutcome) -> Void
    ) {
        put(.run(transaction, reply))
    }

    /// Lets etcd compact what was before `revision`.
    package func forget(before revision: Int64) { put(.forget(before: revision)) }

    private func put(_ job: Job) {
        let worker = workers.min {
            $0.waiting.load(ordering: .relaxed) < $1.waiting.load(ordering: .relaxed)
        }
        guard let worker else {
            if case .run(_, let reply) = job { reply(.notRun("the system has no thread left")) }
            return
        }
        worker.waiting.add(1, ordering: .relaxed)
        worker.jobs.put(job)
    }

    private static func work(_ worker: Worker, _ connection: EtcdConnection, _ known: EtcdKnowledge)
    {
        while !known.isClosed {
            for job in worker.jobs.takeAll(waiting: 1000) {
                switch job {
                case .run(let transaction, let reply):
                    let body = EtcdGateway.body(of: transaction)
                    switch connection.post(EtcdGateway.transactionPath, body) {
                    case .answer(let answer):
                        reply(EtcdGateway.outcome(of: answer, to: transaction))
                    case .notSent(let why): reply(.notRun(why))
                    case .unknown(let why): reply(.unknown(why))
                    }
                case .forget(let revision):
                    _ = connection.post(
                        EtcdGateway.compactionPath, EtcdGateway.compactionBody(before: revision))
                }
                worker.waiting.subtract(1, ordering: .relaxed)
            }
        }
    }

    // MARK: - Watching

    /// Follows keys on a thread of its own; see `KeyValueStore`. `receive` is not called any more
    /// once the store is closed.
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
        _ prefix: [UInt8], after revision: Int64, _ known: EtcdKnowledge,
        _ receive: @escaping @Sendable (KeyValueNews) -> Void
    ) {
        let connection = EtcdConnection(known)
        var reader = EtcdWatchReader(after: revision)
        while !known.isClosed {
            reader.begin()
            var end: EtcdWatchReader.End?
            let body = EtcdGateway.watchBody(prefix: prefix, after: reader.revision)
            let member = known.current
            _ = connection.post(EtcdGateway.watchPath, body) { bytes in
                end = reader.take(bytes) { receive(.changed($0)) }
                return end == nil && !known.isClosed
            }
            if end == .gone { return receive(.gone) }
            known.avoid(member)
            usleep(watchPause)
        }
    }
}
