import RollcallSupport
import Synchronization

/// The permit of a member to reach out: it holds for a while after something of its own landed in the
/// watch's log (S6). On one machine it always holds.
package final class SendingPermit: Sendable {
    /// The words that are said of an attempt for which the permit did not hold.
    package static let words = "not sent: this member may not lead any more"

    private let until = Atomic(Int64.max)

    /// A permit that holds.
    package init() {}

    /// It holds until an instant of the machine's clock.
    package func follow(_ instant: Int64) { until.store(instant, ordering: .relaxed) }

    /// True if it holds now.
    package var holds: Bool {
        let until = until.load(ordering: .relaxed)
        return until == .max || ClockReading.now().elapsed <= until
    }
}
