/// What the world will do next, and when: a heap in time order, ties in the order of planning.
struct Agenda {
    private struct Entry {
        var at: Int64
        var order: Int
        var happening: Happening

        func precedes(_ other: Entry) -> Bool {
            at != other.at ? at < other.at : order < other.order
        }
    }

    private var entries: [Entry] = []
    private var planned = 0

    /// Plans `happening` for `at`, milliseconds since the story began.
    mutating func plan(_ happening: Happening, at: Int64) {
        planned += 1
        entries.append(Entry(at: at, order: planned, happening: happening))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].precedes(entries[parent]) else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes out what comes first; nil if nothing is planned.
    mutating func next() -> (at: Int64, happening: Happening)? {
        guard let first = entries.first else { return nil }
        entries[0] = entries[entries.count - 1]
        entries.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].precedes(entries[least]) {
                least = child
            }
            if least == parent { break }
            entries.swapAt(parent, least)
            parent = least
        }
        return (first.at, first.happening)
    }

    /// Forgets everything that was planned.
    mutating func clear() { entries.removeAll() }
}

/// One thing that the world does when its time comes; numbers are those of phones and backends.
enum Happening {
    /// A phone takes its location and tries to send.
    case report(phone: Int)
    /// A phone without network tries to empty its offline queue.
    case retry(phone: Int)
    /// A killed phone runs again.
    case revive(phone: Int)
    /// A silent phone returns, in a way that a verdict looks at.
    case comeback(phone: Int, way: Comeback)
    /// A phone that comes and goes is back, for the last time if nothing is left.
    case flap(phone: Int, left: Int64)
    /// The rest of what a returning phone had collected.
    case remains(phone: Int, [StoryUpdate])
    /// Something reaches the host.
    case arrive(Parcel)
    /// A backend sends what it holds back.
    case flush(backend: Int)
    /// A backend's heartbeat.
    case beat(backend: Int)
    /// A minute of a backend's requests tells its clock.
    case measure(backend: Int)
    /// A fault, or a turn of daily life, strikes.
    case strike(Fault)
    /// The same, but it is not to come again.
    case once(Fault)
    /// The host runs again.
    case resume
    /// The disk works again.
    case storeWorks
    /// Something happens exactly at a deadline of this phone.
    case edge(phone: Int)
    /// Something happens that nudges depend on.
    case nudging
    /// Something changes about who is told.
    case telling
    /// Somebody takes incidents, or asks for people.
    case acting
    /// Somebody asks for a phone's person, and again, and the wall leaps so often meanwhile.
    case asking(phone: Int?, leaps: Int64)
    /// Phones report together while everything is well.
    case slot
    /// The backends tell the truth about everybody.
    case truth
    /// The story ends.
    case end
}

/// A line on its way to the host.
struct Parcel {
    /// Who sends it.
    var backend: Int
    /// What it says.
    var event: StoryEvent
}
