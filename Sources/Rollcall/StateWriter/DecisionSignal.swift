import Synchronization

/// Says that something was decided and is committed, to those who wait for it on other threads.
package final class DecisionSignal: Sendable {
    private struct Listeners {
        var all: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    private let number = Atomic<Int64>(0)
    private let listeners = Mutex(Listeners())

    init() {}

    /// The number of the newest decision that was told of; 0 before the first.
    var newest: Int64 { number.load(ordering: .acquiring) }

    /// Calls `body` on the state writer's thread whenever there is more, until `leave`; it must not
    /// wait. Returns what `leave` is told.
    func follow(_ body: @escaping @Sendable () -> Void) -> Int {
        listeners.withLock { listeners in
            listeners.next += 1
            listeners.all[listeners.next] = body
            return listeners.next
        }
    }

    /// Calls it no longer.
    func leave(_ listener: Int) { listeners.withLock { _ = $0.all.removeValue(forKey: listener) } }

    /// The decisions up to this number are committed.
    func raise(to newest: Int64) {
        number.store(newest, ordering: .releasing)
        for body in listeners.withLock({ $0.all.isEmpty ? [] : Array($0.all.values) }) { body() }
    }
}
