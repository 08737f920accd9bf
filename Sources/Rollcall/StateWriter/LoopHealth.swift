import RollcallCore
import RollcallSupport
import Synchronization

/// The instant at which the state writer's loop went round last, for those who must not ask the
/// state writer itself (J8).
package final class LoopHealth: Sendable {
    /// A loop that stood still for longer hangs: it goes round each second, and a disk that is slow
    /// for a minute is given up by the kernel before.
    package static let stillAfter = Milliseconds(60_000)

    private let onTurn: @Sendable () -> Void
    /// By the machine's clock, which also runs while it is suspended; before the first turn nothing
    /// stands still.
    private let last = Atomic(Int64.max)

    /// A loop's health that calls `onTurn` whenever the loop has gone round.
    package init(_ onTurn: @escaping @Sendable () -> Void) { self.onTurn = onTurn }

    /// The loop has gone round.
    func turned(at elapsed: Int64 = ClockReading.now().elapsed) {
        last.store(elapsed, ordering: .relaxed)
        onTurn()
    }

    /// Returns how long the loop stands still, once that is too long; `allowed` is how long it may.
    func still(
        for allowed: Milliseconds = stillAfter, at elapsed: Int64 = ClockReading.now().elapsed
    ) -> Milliseconds? {
        let (age, isOverflow) = elapsed.subtractingReportingOverflow(last.load(ordering: .relaxed))
        return !isOverflow && age > allowed.count ? Milliseconds(age) : nil
    }
}
