import RollcallCore
import Synchronization

/// The limits of a body's content, which may change while the server runs.
package final class BodyLimits: Sendable {
    private let limits: Mutex<ScanLimits>

    /// Limits that are `limits` at first.
    package init(_ limits: ScanLimits) { self.limits = Mutex(limits) }

    /// The limits as they are now.
    package var current: ScanLimits { limits.withLock { $0 } }

    /// Holds other limits from the next request on.
    package func follow(_ limits: ScanLimits) { self.limits.withLock { $0 = limits } }
}
