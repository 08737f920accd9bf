/// The word of a cell about all its people, complete through an instant: what changed since it said something
/// last, each with its instant, or everything. Source: K2.
package struct Summary: Equatable, Sendable {
    /// People of one cell at most, in any number of it.
    static let peopleMax = 1_000_000_000
    /// Bytes of a region's name at most, and of a cell's.
    static let nameBytesMax = 4096

    /// Something that is otherwise since an instant.
    package struct Change: Equatable, Sendable {
        /// The thing that changed.
        package enum Kind: UInt8, Sendable {
            /// The numbers of one region.
            case region = 0
            /// The cell was told of people, for the first time (F29).
            case input = 1
            /// The cell cannot see any more (B1): what it says is not known to be so still.
            case blind = 2
            /// It can see again.
            case sees = 3
            /// People of a region fell silent (C1).
            case silent = 4
            /// Those who did within 60 s, all of them.
            case allSilent = 5

            /// True if it is about one region.
            var hasRegion: Bool { self == .region || self == .silent || self == .allSilent }
        }

        /// The wall at which it came to be so.
        package var at = Timestamp.distantPast
        package var kind = Kind.region
        /// Of numbers, the region's name.
        package var region: [UInt8] = []
        /// All of the region in this cell, not the difference.
        package var summary = RegionSummary()
        /// Of those who fell silent.
        package var silent: [SilentPeople] = []

        /// Bytes that it takes in the journal, about.
        package var size: Int {
            48 + region.count + 24 * summary.causes.count + 8 * silent.count
        }

        /// Says it of another instant; who fell silent did so when they did.
        package mutating func move(to instant: Timestamp) {
            let later = instant - at
            at = instant
            if kind == .region { return }
            for place in silent.indices {
                silent[place].ago = Milliseconds(max(0, silent[place].ago.count + later.count))
            }
            silent.removeAll { $0.ago >= RecentPeople.span }
        }

        mutating func code(_ archive: inout Archive) {
            archive.code(&at)
            archive.code(&kind)
            guard kind.hasRegion else { return }
            archive.code(&region)
            if kind == .region { return summary.code(&archive) }
            archive.code(&silent, empty: SilentPeople()) { archive, silent in
                archive.code(&silent.ago)
                archive.code(&silent.people)
            }
        }

        fileprivate var isCredible: Bool {
            region.isEmpty != kind.hasRegion && region.count <= Summary.nameBytesMax
                && summary.isCredible
                && silent.allSatisfy {
                    (0...RecentPeople.span.count).contains($0.ago.count)
                        && (-Summary.peopleMax...Summary.peopleMax).contains($0.people)
                }
        }
    }

    /// A source that promised to beat, and its last sign of life. Source: B2.
    package struct Source: Equatable, Sendable {
        package var name: [UInt8] = []
        package var at = Timestamp.distantPast

        package init() {}

        init(name: [UInt8], at: Timestamp) { (self.name, self.at) = (name, at) }
    }

    /// The cell that says it.
    package var cell: [UInt8] = []
    /// Rising with each that this cell says: an older one is ignored. A cell that lost its place begins
    /// again with a whole one.
    package var position: Int64 = 0
    /// The wall through which it is complete: the cell says of nothing earlier any more.
    package var through = Timestamp.distantPast
    /// True if it says everything: regions that are not among the changes have nobody.
    package var isWhole = false
    /// The last batch from anyone there; the distant past without one.
    package var lastBatchAt = Timestamp.distantPast
    /// In the order in which they came to be.
    package var changes: [Change] = []
    /// The sources that beat there since the last one, or wrote.
    package var sources: [Source] = []

    /// Nothing is said yet.
    package init() {}

    /// The times that a clock can show.
    private static let times =
        Timestamp(milliseconds: 0)...Timestamp(milliseconds: RFC3339.millisecondsMax)

    /// Bytes that it takes in the journal, at least about: numbers are small.
    package var size: Int {
        sources.reduce(changes.reduce(64 + cell.count) { $0 + $1.size }) { $0 + 16 + $1.name.count }
    }

    /// False for what no cell can have said.
    var isCredible: Bool {
        (1...Self.nameBytesMax).contains(cell.count) && position > 0
            && Self.times.contains(through)
            && (lastBatchAt == .distantPast || Self.times.contains(lastBatchAt))
            && (changes.first.map { Self.times.contains($0.at) } ?? true)
            && changes.allSatisfy { $0.at <= through && $0.isCredible }
            && sources.count <= Feed.sourcesMax
            && sources.allSatisfy { $0.name.count <= Self.nameBytesMax }
            && zip(changes, changes.dropFirst()).allSatisfy { $0.at <= $1.at }
    }

    /// The summary as the journal keeps it, and as cells hand it over.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The summary of some bytes; nil if they make no sense.
    package init?(journalBytes: [UInt8]) {
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    /// Several of them, as the journal keeps them.
    package static func journalBytes(of list: [Summary]) -> [UInt8] {
        var copy = list
        return Archive.bytes { code(&copy, &$0) }
    }

    /// Those of some bytes; nil if they make no sense, or no cell can have said so.
    package static func list(journalBytes: [UInt8]) -> [Summary]? {
        var list: [Summary] = []
        guard Archive.reads(part: journalBytes, { code(&list, &$0) }) else { return nil }
        return list.allSatisfy(\.isCredible) ? list : nil
    }

    private static func code(_ list: inout [Summary], _ archive: inout Archive) {
        archive.code(&list, empty: Summary()) { $1.code(&$0) }
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&cell)
        archive.code(&position)
        archive.code(&through)
        archive.code(&isWhole)
        archive.code(&lastBatchAt)
        archive.code(&changes, empty: Change()) { $1.code(&$0) }
        archive.code(&sources, empty: Source()) { archive, source in
            archive.code(&source.name)
            archive.code(&source.at)
        }
    }
}
