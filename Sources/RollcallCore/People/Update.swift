/// One update of a batch. Source: I9.
package struct Update: Equatable, Sendable {
    /// The phone's number of it; −1 for one that has none, which its capture identifies (P4).
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

    /// True if it has no sequence, and therefore was captured at some instant.
    package var isUnsequenced: Bool { sequence < 0 }
}
