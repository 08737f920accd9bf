import RollcallCluster
import RollcallCore
import RollcallSupport

/// A `WatchUpkeep` holds what a member knows of its watch beside its turns: erasures that are not
/// over everywhere, digests, and what it is asked to do next.
struct WatchUpkeep {
    /// Between two looks at what members said.
    static let lookEvery: Int64 = 500
    /// Between two looks whether the list of members has to change.
    static let changeEvery: Int64 = 1000

    /// Erasures that are not over in all of the watch (S13).
    var erasures: [PendingErasure] = []
    /// The instant of the last look at what members said, and the number of erasures at that time.
    var lookedAt = (at: Int64.min / 4, erasures: 0)
    var changedAt = Int64.min / 4
    var digester = StateDigester()
    /// True once the lead is to be left to others, as soon as nothing is on its way.
    var isDraining = false
    /// True once what was put aside before was deleted, if it had to be.
    var hasCleared = false
    /// The number of the last erasure when what was put aside was looked at.
    var clearedThrough: Int64 = 0
    /// The instant at which an onlooker that lacks people last looked for somebody who has them (K6).
    var splitLookedAt = Int64.min / 4
    /// The last split of this cell, while the new one may lack its people (K6).
    var split: SplitPlace?
    /// The people of a cell that was split who are gone, as of the map of a version (K6).
    var gone = (version: Int64?.none, people: NumberSet())
}

/// The place of a split in the log of the cell that gave slots.
struct SplitPlace: Equatable {
    /// The version of the map by which it gave them.
    var version: Int64
    /// The position of the entry.
    var position: Int64
    /// True once this member, leading, has kept it.
    var isKept = false
}
