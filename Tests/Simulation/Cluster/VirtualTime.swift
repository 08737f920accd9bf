/// Time that passes only when nothing else happens at the present instant. One story's world is on
/// one thread; nothing of it is shared.
final class VirtualTime: @unchecked Sendable {
    private struct Entry {
        var at: Int64
        var order: Int
        var body: () -> Void

        func precedes(_ other: Entry) -> Bool {
            at != other.at ? at < other.at : order < other.order
        }
    }

    /// Milliseconds since the story began.
    private(set) var now: Int64 = 0
    private var entries: [Entry] = []
    private var planned = 0

    /// Calls `body` in so many milliseconds; what is planned for one instant, in the order of planning.
    func after(_ milliseconds: Int64, _ body: @escaping () -> Void) {
        planned += 1
        entries.append(Entry(at: now + max(0, milliseconds), order: planned, body: body))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].precedes(entries[parent]) else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// Lets everything happen that is planned up to an instant, or until `isOver` holds.
    func run(until end: Int64, isOver: () -> Bool) {
        while let first = entries.first, first.at <= end, !isOver() {
            removeFirst()
            now = first.at
            first.body()
        }
        now = max(now, end)
    }

    private func removeFirst() {
        entries[0] = entries[entries.count - 1]
        entries.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].precedes(entries[least]) {
                least = child
            }
            if least == parent { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
