/// The depths of a phone's queue in the last three batches that told one, by when the batches were
/// received. Kept only of phones of which one is not 0. Source: C1, F25.
struct QueueDepths: Sendable {
    struct Entry: Equatable, Sendable {
        /// The instant at which the batch was received.
        var at: ObservedTime
        /// The highest sequence of the batch, for ties; −1 without updates.
        var sequence: Int64
        var depth: UInt32
    }

    /// Batches remembered.
    static let countMax = 3

    // In place, not in an array: whoever has a queue has three of them.
    private var instants = InlineArray<3, ObservedTime>(repeating: .distantPast)
    private var sequences = InlineArray<3, Int64>(repeating: -1)
    private var depthsKept = InlineArray<3, UInt32>(repeating: 0)
    private var count: UInt8 = 0

    /// Oldest first.
    var entries: [Entry] { (0..<Int(count)).map { self[$0] } }

    /// The depths, oldest first.
    var depths: [UInt32] { (0..<Int(count)).map { depthsKept[$0] } }

    /// True if nothing is remembered.
    var isEmpty: Bool { count == 0 }

    /// The newest.
    var last: Entry? { isEmpty ? nil : self[Int(count) - 1] }

    /// True if all are 0, which needs no remembering one by one.
    var isAllZero: Bool { (0..<Int(count)).allSatisfy { depthsKept[$0] == 0 } }

    private subscript(place: Int) -> Entry {
        get {
            Entry(at: instants[place], sequence: sequences[place], depth: depthsKept[place])
        }
        set {
            instants[place] = newValue.at
            sequences[place] = newValue.sequence
            depthsKept[place] = newValue.depth
        }
    }

    /// Puts one in its place; ties go by sequence, else to what comes later (I2).
    mutating func add(_ entry: Entry) {
        var place = Int(count)
        while place > 0, Self.isAfter(self[place - 1], entry) { place -= 1 }
        if Int(count) < Self.countMax {
            for next in stride(from: Int(count), to: place, by: -1) { self[next] = self[next - 1] }
            count += 1
        } else {
            // The oldest goes, which may be the new one.
            if place == 0 { return }
            place -= 1
            for next in 0..<place { self[next] = self[next + 1] }
        }
        self[place] = entry
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

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        for place in 0..<Int(count) { self[place].at = min(self[place].at, now) }
    }

    mutating func code(_ archive: inout Archive) {
        let empty = Entry(at: .distantPast, sequence: -1, depth: 0)
        var entries = entries
        archive.code(&entries, empty: empty) { archive, entry in
            archive.code(&entry.at)
            archive.code(&entry.sequence)
            archive.code(&entry.depth)
        }
        guard archive.isReading else { return }
        self = QueueDepths()
        // No more were ever written.
        for entry in entries.prefix(Self.countMax) {
            self[Int(count)] = entry
            count += 1
        }
    }
}
