/// Carries one load after the other on a thread of its own: whatever is at the other end holds up
/// nobody else (A9, N7).
final class Courier<Load: Sendable>: Sendable {
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

/// Couriers by where they go, each sent for with the first load.
struct Couriers<Lane: Hashable, Load: Sendable> {
    private var all: [Lane: Courier<Load>] = [:]

    /// Hands over a load to the courier of `lane`, who does `work` if they are new; false if the
    /// system has no thread left.
    mutating func carry(
        _ load: Load, to lane: Lane, _ work: @escaping @Sendable () -> (Load) -> Void
    ) -> Bool {
        let courier = all[lane] ?? Courier(work)
        all[lane] = courier
        courier?.carry(load)
        return courier != nil
    }

    /// Sends couriers home after what they are at.
    mutating func dismiss(_ lanes: [Lane]) {
        for lane in lanes { all.removeValue(forKey: lane)?.close() }
    }

    /// Sends all of them home.
    mutating func dismissAll() { dismiss(Array(all.keys)) }
}
