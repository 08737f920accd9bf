import RollcallCore

/// The running time of a watch, as its turns tell it to somebody who did not make them. Source: S14.
///
/// A turn says how running time stood when it was made; the one that came fastest tells it best. That
/// is asked anew each minute, because clocks do not run alike, and in each reign, because another
/// machine's clock makes the turns. Turns that were read after the fact tell only that it is later than
/// they say: they count until one came as it landed.
package struct TurnClock: Sendable {
    private static let minute: Int64 = 60_000

    /// Running time minus the machine's time, the greatest of this minute and of the one before.
    private var present: Int64?
    private var before: Int64?
    private var beganAt: Int64 = 0
    private var reign: Int64 = 0
    /// The greatest such difference by turns that did not come as they landed.
    private var least: Int64?

    /// Nothing was observed.
    package init() {}

    /// A turn of `reign` that was made at `running` was here at `elapsed`, by the machine's clock;
    /// `isFresh` if it came as it landed.
    package mutating func observe(
        _ running: RunningTime, at elapsed: Int64, reign: Int64, isFresh: Bool
    ) {
        let offset = running.milliseconds - elapsed
        guard isFresh else {
            least = max(least ?? offset, offset)
            return
        }
        if let known = present, reign == self.reign, elapsed - beganAt < Self.minute {
            present = max(known, offset)
        } else {
            let isOfThis = reign == self.reign && elapsed - beganAt < 2 * Self.minute
            before = isOfThis ? present : nil
            present = offset
            beganAt = elapsed
            self.reign = reign
        }
    }

    /// Returns the running time at an instant of the machine's clock; nil if nothing was observed.
    package func running(at elapsed: Int64) -> RunningTime? {
        guard let offset = present.map({ max($0, before ?? $0) }) ?? least else { return nil }
        return RunningTime(milliseconds: offset + elapsed)
    }
}
