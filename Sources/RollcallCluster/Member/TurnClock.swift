import RollcallCore

/// The running time of a watch, as its turns tell it to somebody who did not make them. Source: S14.
///
/// A turn says how running time stood when it was made; the one that came fastest tells it best. That
/// is asked anew each minute, because clocks do not run alike.
package struct TurnClock: Sendable {
    private static let minute: Int64 = 60_000

    /// Running time minus the machine's time, the greatest of this minute and of the one before.
    private var present: Int64?
    private var before: Int64?
    private var beganAt: Int64 = 0

    /// Nothing was observed.
    package init() {}

    /// A turn made at `running` came at `elapsed`, by the machine's clock.
    package mutating func observe(_ running: RunningTime, at elapsed: Int64) {
        let offset = running.milliseconds - elapsed
        if let known = present, elapsed - beganAt < Self.minute {
            present = max(known, offset)
        } else {
            before = elapsed - beganAt < 2 * Self.minute ? present : nil
            present = offset
            beganAt = elapsed
        }
    }

    /// Returns the running time at an instant of the machine's clock; nil if nothing was observed.
    package func running(at elapsed: Int64) -> RunningTime? {
        guard let present else { return nil }
        return RunningTime(milliseconds: max(present, before ?? present) + elapsed)
    }
}
