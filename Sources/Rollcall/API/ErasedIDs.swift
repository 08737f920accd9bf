import RollcallCore
import RollcallSupport
import Synchronization

/// The ids of those who were erased of late, in memory only: those who are told of events must forget
/// them too. Source: E1.
package final class ErasedIDs: Sendable {
    /// The time for which an id is kept.
    static let keptFor = Milliseconds.seconds(600)
    /// Ids that are kept for that at most.
    private static let countMax = 10_000

    private let known = Mutex<[UInt64: (id: [UInt8], until: Int64)]>([:])

    package init() {}

    /// Remembers the id of somebody who is being erased.
    func note(_ id: [UInt8]) {
        let now = ClockReading.now().elapsed
        known.withLock { known in
            known = known.filter { $0.value.until > now }
            guard known.count < Self.countMax else { return }
            known[StableHash.of(id.span, 0..<id.count)] = (id, now + Self.keptFor.count)
        }
    }

    /// Returns the id of a hash; nil if that is not known, or not any more.
    func id(of hash: UInt64) -> [UInt8]? {
        let now = ClockReading.now().elapsed
        return known.withLock { known in known[hash].flatMap { $0.until > now ? $0.id : nil } }
    }
}
