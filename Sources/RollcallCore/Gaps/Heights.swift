/// The newest that was taken from a person when a gap ended: what is newer goes on where the phone had
/// been, so that the app ran on (C2).
struct Heights: Equatable, Sendable {
    /// The highest sequence of each install, by its place; −1 for none. A new install moves the places,
    /// but then the verdict is that.
    var sequences: [Int64] = []
    /// The newest capture of the updates without a sequence; nil if there were none (P4).
    var captured: Timestamp?

    /// True if an update that was taken for an install goes on with what had been taken before.
    func isContinued(by update: Update, _ install: Int) -> Bool {
        if update.isUnsequenced {
            guard let captured, let newer = update.capturedAt else { return false }
            return newer > captured
        }
        guard sequences.indices.contains(install), sequences[install] >= 0 else { return false }
        return update.sequence > sequences[install]
    }
}
