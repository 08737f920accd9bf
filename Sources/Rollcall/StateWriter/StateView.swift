import RollcallCore
import RollcallStore
import RollcallSupport

/// The state that a question sees: the committed one, by reference, for as long as it is being
/// answered.
package struct StateView {
    /// The engine; its `watch.now` is the present.
    package let engine: Engine
    /// The facts that the store knows of itself.
    package let store: StoreStats
    /// The messages on their way to receivers, also what no commit holds yet.
    let outbox: Outbox
    /// The instant up to which what was taken is committed: what was taken later is not.
    let committedAt: Timestamp
    /// Erasures, by their numbers.
    package let erasures: [Int64: Erasure]
    /// Erasures that are not over in all of a watch on several machines.
    var erasuresPending: [PendingErasure] = []
    /// Numbers + 1 of people of whom something may be left in the store.
    let peopleErased: [Int64]
    /// Numbers of people who are another cell's since this one was split, or were erased: what the store still
    /// holds of them is not told here.
    var peopleGone = NumberSet()
    /// The JSON that says how this member stands; nil on one machine.
    var cluster: JSONTree?
    /// The store's number, of which keys of incidents are made.
    var storeNumber: UInt64 = 0
    /// The epoch of the numbers of events.
    var eventEpoch: UInt64 = 0
    /// True at a member that does not lead: others may know of more than it does.
    var isFollowing = false
}
