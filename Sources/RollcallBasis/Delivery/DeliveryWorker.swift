import RollcallSupport

/// Carries one load after the other on a thread of its own: whatever is at the other end holds up
/// nobody else (A9, N7).
final class DeliveryWorker<Load: Sendable>: Sendable {
    /// Nil ends the thread.
    private let mailbox = Mailbox<Load?>()

    /// Starts the thread, on which `work` makes what carries; nil if the system has none left.
    init?(_ work: @escaping @Sendable () -> (Load) -> Void) {
        let isStarted = DetachedThread.start { [mailbox] in
            let carry = work()
            while true {
                // An hour, or as long as there is nothing to do.
                for load in mailbox.takeAll(waiting: 3_600_000) {
                    guard let load else { return }
                    carry(load)
                }
            }
        }
        if !isStarted { return nil }
    }

    /// Hands over a load.
    func carry(_ load: Load) { mailbox.put(load) }

    /// Ends the thread after what it is at.
    func close() { mailbox.put(nil) }
}

/// Delivery workers by where they go, each sent for with the first load.
package struct DeliveryWorkers<Queue: Hashable, Load: Sendable> {
    private var all: [Queue: DeliveryWorker<Load>] = [:]

    package init() {}

    /// Hands over a load to the delivery worker of `queue`, who does `work` if they are new; false
    /// if the system has no thread left.
    package mutating func carry(
        _ load: Load, to queue: Queue, _ work: @escaping @Sendable () -> (Load) -> Void
    ) -> Bool {
        let worker = all[queue] ?? DeliveryWorker(work)
        all[queue] = worker
        worker?.carry(load)
        return worker != nil
    }

    /// Sends delivery workers home after what they are at.
    package mutating func dismiss(_ queues: [Queue]) {
        for queue in queues { all.removeValue(forKey: queue)?.close() }
    }

    /// Sends all of them home.
    package mutating func dismissAll() { dismiss(Array(all.keys)) }
}
