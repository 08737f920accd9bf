/// Numbers of messages by a rank, the least first: a binary heap in which nothing is moved when a
/// rank changes. Whoever asks for the first says which entries still hold; the others go then.
struct RankedNumbers<Rank: Comparable & Sendable>: Equatable, Sendable {
    /// A number as it was ranked.
    struct Entry: Equatable, Sendable {
        var number: Int64
        var rank: Rank

        fileprivate static func areInOrder(_ a: Entry, _ b: Entry) -> Bool {
            a.rank == b.rank ? a.number <= b.number : a.rank < b.rank
        }
    }

    private var heap: [Entry] = []

    /// Entries, those that do not hold any more among them.
    var count: Int { heap.count }

    /// Ranks a number; what it was ranked as before is for the caller to tell from this.
    mutating func insert(_ number: Int64, _ rank: Rank) {
        let entry = Entry(number: number, rank: rank)
        heap.append(entry)
        var index = heap.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            if Entry.areInOrder(heap[parent], entry) { break }
            heap[index] = heap[parent]
            index = parent
        }
        heap[index] = entry
    }

    /// The first entry that holds; those before it are removed.
    mutating func first(where holds: (Entry) -> Bool) -> Entry? {
        while let first = heap.first {
            if holds(first) { return first }
            removeFirst()
        }
        return nil
    }

    /// Removes the first entry.
    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        var index = 0
        while true {
            var child = index * 2 + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, !Entry.areInOrder(heap[child], heap[child + 1]) {
                child += 1
            }
            if Entry.areInOrder(last, heap[child]) { break }
            heap[index] = heap[child]
            index = child
        }
        heap[index] = last
    }

    /// Lets go of what does not hold, once that is most of what is kept: `alive` numbers exist.
    mutating func tidy(alive: Int, where holds: (Entry) -> Bool) {
        guard heap.count > 64 + 4 * alive else { return }
        let left = heap.filter(holds)
        heap = []
        for entry in left { insert(entry.number, entry.rank) }
    }
}
