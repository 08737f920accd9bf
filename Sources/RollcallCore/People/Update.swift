/// One update of a batch. Source: I9.
package struct Update: Equatable, Sendable {
    package var sequence: Int64
    /// The instant at which the phone took the fix, as it says itself; nil is no location (F6).
    package var capturedAt: Timestamp?
    /// True for a last known position sent anew.
    package var isCached: Bool

    /// Makes an update of what was read.
    package init(sequence: Int64, capturedAt: Timestamp?, isCached: Bool) {
        self.sequence = sequence
        self.capturedAt = capturedAt
        self.isCached = isCached
    }
}
