/// The depths of a phone's queue in the last three batches that told one, by when the batches were
/// received. Kept only of phones of which one is not 0. Source: design §5 C1, fine print F25.
struct QueueDepths: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        /// When the batch was received.
        var at: WatchedTime
        /// The highest sequence of the batch, for ties; −1 without updates.
        var sequence: Int64
        var depth: UInt32
    }

    /// Batches remembered.
    static let countMax = 3

    /// Oldest first.
    private(set) var entries: [Entry] = []

    /// The depths, oldest first.
    var depths: [UInt32] { entries.map(\.depth) }

    /// True if all are 0, which needs no remembering one by one.
    var isAllZero: Bool { entries.allSatisfy { $0.depth == 0 } }

    /// Puts one in its place; ties go by sequence, else to what comes later (I2).
    mutating func add(_ entry: Entry) {
        var index = entries.count
        while index > 0, Self.isAfter(entries[index - 1], entry) { index -= 1 }
        entries.insert(entry, at: index)
        if entries.count > Self.countMax { entries.removeFirst() }
    }

    /// True if `a` stays behind `b`, which came later.
    static func isAfter(_ a: Entry, _ b: Entry) -> Bool {
        if a.at != b.at { return a.at > b.at }
        return a.sequence >= 0 && b.sequence >= 0 && a.sequence > b.sequence
    }

    /// True if there are three, each deeper than the one before.
    static func areRising(_ depths: [UInt32]) -> Bool {
        depths.count == countMax && zip(depths, depths.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// Watched time was set back (B1).
    mutating func clampInstants(to now: WatchedTime) {
        for index in entries.indices { entries[index].at = min(entries[index].at, now) }
    }

    mutating func code(_ archive: inout Archive) {
        let empty = Entry(at: .distantPast, sequence: -1, depth: 0)
        archive.code(&entries, empty: empty) { archive, entry in
            archive.code(&entry.at)
            archive.code(&entry.sequence)
            archive.code(&entry.depth)
        }
    }
}
