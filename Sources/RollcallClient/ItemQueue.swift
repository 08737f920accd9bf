import Foundation

/// An `Item` waits, or is being sent.
struct Item: Sendable, Equatable {
    /// It rises: who has the lowest waits longest.
    let number: Int
    let route: Route
    /// The one whom it is about.
    let person: String
    fileprivate(set) var line: Data
}

/// An `ItemQueue` holds items that go in their order, with pauses of their own.
struct ItemQueue {
    /// The people that the items are about.
    enum Name: Hashable, Sendable {
        /// They were not sent yet, or nobody knows what became of them.
        case fresh
        /// This cell did not take them, or they are about the same people.
        case cell(String)
    }

    /// Of what waits.
    private(set) var bytes = 0
    /// Items of each, those in the body too.
    private(set) var people: [String: Int] = [:]
    /// Attempts in vain in a row.
    var failures = 0
    /// Before that nothing is sent; nil if it may be at once.
    var notBefore: ContinuousClock.Instant?
    /// It rises from body to body: which queue has the lowest was sent longest ago.
    var turn = 0
    private var items: [Item] = []
    /// The index of the first item that waits: those before it have gone, and are cut off now and
    /// then.
    private var head = 0

    /// Returns how many items wait.
    var count: Int { items.count - head }
    /// Returns the oldest that waits.
    var first: Item? { count > 0 ? items[head] : nil }
    /// Returns what waits, the oldest first.
    var waiting: ArraySlice<Item> { items[head...] }

    /// Adds an item at the end.
    mutating func append(_ item: Item) {
        items.append(item)
        bytes += item.line.count
        people[item.person, default: 0] += 1
    }

    /// Takes out the oldest; its person still counts as one of the queue's.
    mutating func takeFirst() -> Item? {
        guard let item = first else { return nil }
        bytes -= item.line.count
        items[head].line = Data()
        head += 1
        if head > 1024, head > items.count / 2 {
            items.removeSubrange(..<head)
            head = 0
        }
        return item
    }

    /// Puts back at the front what was taken out.
    mutating func putBack(_ taken: some Collection<Item>) {
        items.replaceSubrange(..<head, with: taken)
        head = 0
        bytes += taken.reduce(0) { $0 + $1.line.count }
    }

    /// These are the queue's no longer.
    mutating func forget(_ taken: some Collection<Item>) {
        for item in taken {
            let left = (people[item.person] ?? 0) - 1
            people[item.person] = left > 0 ? left : nil
        }
    }

    /// Puts all of another queue in front: what of it waits, and its people.
    mutating func putBack(all other: ItemQueue) {
        putBack(other.waiting)
        people.merge(other.people, uniquingKeysWith: +)
    }
}
