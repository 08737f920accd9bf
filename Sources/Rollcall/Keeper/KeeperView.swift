import RollcallCore

/// What a question sees: the committed state, by reference, for as long as it is being answered.
package struct KeeperView {
    /// The engine; its `watch.now` is the present.
    package let engine: Engine
    /// What the store knows of itself.
    package let store: StoreFigures
    /// What is on its way to receivers, also what no commit holds yet.
    let outbox: Outbox
    /// What was taken later than this is not committed.
    let committedAt: Timestamp
    /// Erasures, by their numbers.
    package let erasures: [Int64: Erasure]
    /// Numbers + 1 of people of whom something may be left in the store.
    let peopleErased: [Int64]
}
