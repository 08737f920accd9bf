/// The fleet cell's knowledge of its cells: what each said last, and when. Source: K2, K4.
package struct CellBook: Sendable {
    /// A cell without a summary for so long is dark.
    package static let darkAfter = Milliseconds.seconds(15)

    /// One cell, as it said of itself.
    package struct Cell: Sendable {
        package var name: [UInt8] = []
        /// The position of its last summary; 0 before the first.
        package var position: Int64 = 0
        /// The wall through which it has said everything.
        package var through = Timestamp.distantPast
        /// The instant at which its last summary came; of one that never said anything, since when it is
        /// waited for.
        package var heardAt = RunningTime.distantPast
        /// True while it cannot see.
        package var isBlind = false
        /// True if nothing was heard of it for `darkAfter`.
        package internal(set) var isDark = false
        /// The cell that it was split from; empty of others. Until it is heard that one speaks for its people.
        package internal(set) var splitFrom: [UInt8] = []
        /// By the fleet cell's numbers of regions; nobody is in the others.
        private(set) var regions: [UInt32: RegionSummary] = [:]
        /// Of all regions, without causes.
        private(set) var total = RegionSummary()

        /// Notes what it says of a region.
        mutating func note(_ summary: RegionSummary, _ region: UInt32) {
            total.add(numbersOf: regions[region] ?? RegionSummary(), times: -1)
            total.add(numbersOf: summary, times: 1)
            regions[region] = summary.isEmpty ? nil : summary
        }

        /// True if its numbers are those of now.
        package var isLit: Bool { !isDark && !isBlind && position > 0 }

        /// True of one that was split from another one, and became dark before it said anything.
        var isDarkHalf: Bool { isDark && position == 0 && !splitFrom.isEmpty }

        /// True before it said anything, and while it may be waited for.
        var isAwaited: Bool { position == 0 && !isDark }

        /// The numbers of a region, or of all of them, as it said them last, without causes.
        func numbers(in region: UInt32?) -> RegionSummary {
            region.map { regions[$0] ?? RegionSummary() } ?? total
        }

        /// Its active people, as it said last.
        package var active: Int { total.active }

        mutating func code(_ archive: inout Archive) {
            archive.code(&name)
            archive.code(&position)
            archive.code(&through)
            archive.code(&heardAt)
            archive.code(&isBlind)
            archive.code(&isDark)
            archive.code(&splitFrom)
            var list = regions.keys.sorted().map { ($0, regions[$0] ?? RegionSummary()) }
            archive.code(&list, empty: (0, RegionSummary())) { archive, entry in
                archive.code(&entry.0)
                entry.1.code(&archive)
            }
            if archive.isReading { for (region, summary) in list { note(summary, region) } }
        }
    }

    /// In the order of their names' bytes.
    package private(set) var cells: [Cell] = []
    /// Alerts of which it could not be said whether they are true, because cells were not lit.
    var undecided: Set<AlertKey> = []

    init() {}

    /// True if no cell is known: nothing of this is written.
    var isEmpty: Bool { cells.isEmpty }

    package subscript(name: [UInt8]) -> Cell? { cells.first { $0.name == name } }

    /// Waits for a cell from an instant on, unless it is known.
    mutating func await(
        _ name: [UInt8], since now: RunningTime, splitFrom origin: [UInt8] = []
    ) {
        guard !cells.contains(where: { $0.name == name }) else { return }
        let place = cells.firstIndex { name.lexicographicallyPrecedes($0.name) } ?? cells.count
        var cell = Cell()
        (cell.name, cell.heardAt, cell.splitFrom) = (name, now, origin)
        cells.insert(cell, at: place)
    }

    /// The cells that were split and whose new halves have said nothing yet: what the old half says counts
    /// once both have, so that nobody is missed on the way (K6).
    package var splits: [(origin: [UInt8], new: [UInt8])] {
        cells.filter { $0.isAwaited && !$0.splitFrom.isEmpty }.map { ($0.splitFrom, $0.name) }
    }

    /// Returns the cell that was split from one and became dark before it said anything, until that one has said all
    /// through that instant.
    func darkHalf(of origin: [UInt8], _ clock: ObservationClock) -> [UInt8]? {
        // Mostly there is none, and this is asked with every change.
        guard let half = cells.first(where: { $0.isDarkHalf && $0.splitFrom == origin }),
            let through = self[origin]?.through,
            through < clock.wall(half.heardAt + Self.darkAfter)
        else { return nil }
        return half.name
    }

    /// Changes what is known of a cell.
    mutating func change(_ name: [UInt8], _ body: (inout Cell) -> Void) {
        guard let place = cells.firstIndex(where: { $0.name == name }) else { return }
        body(&cells[place])
    }

    /// Nothing was heard of anybody between two instants: each is waited for as long as before.
    mutating func didNotListen(_ span: Milliseconds) {
        for place in cells.indices where !cells[place].isDark {
            cells[place].heardAt = cells[place].heardAt + span
        }
    }

    /// Nobody was heard for our own reasons until now: each is waited for anew.
    mutating func listenAnew(_ now: RunningTime) {
        for place in cells.indices where !cells[place].isDark {
            cells[place].heardAt = max(cells[place].heardAt, now)
        }
    }

    /// The earliest instant at which a cell becomes dark if nothing comes of it.
    var nextDark: RunningTime {
        if cells.isEmpty { return .distantFuture }
        let held = Set(splits.map(\.origin))
        return cells.lazy.filter { !$0.isDark && !held.contains($0.name) }
            .map { $0.heardAt + Self.darkAfter }.min() ?? .distantFuture
    }

    /// Notes the cells that are dark by now; returns the regions of which they spoke.
    mutating func darken(_ now: RunningTime) -> [UInt32] {
        var regions: [UInt32] = []
        // Of one that was split nothing is taken until the new one is heard (K6).
        let splits = splits
        let held = Set(splits.map(\.origin))
        for place in cells.indices
        where !cells[place].isDark && now - cells[place].heardAt >= Self.darkAfter
            && !held.contains(cells[place].name)
        {
            cells[place].isDark = true
            regions += cells[place].regions.keys
            guard let split = splits.first(where: { $0.new == cells[place].name }) else { continue }
            // What it said meanwhile is taken from now on.
            change(split.origin) { $0.heardAt = max($0.heardAt, now) }
        }
        return regions
    }

    /// Returns what all cells say of a region; nil for all regions.
    func summary(in region: UInt32?) -> RegionSummary {
        var sum = RegionSummary()
        for cell in cells {
            if let region {
                if let summary = cell.regions[region] { sum.add(summary) }
            } else {
                for summary in cell.regions.values { sum.add(summary) }
            }
        }
        return sum
    }

    /// Returns the numbers of a region, or of all, in the cells that are not lit.
    func unlit(in region: UInt32?) -> RegionSummary {
        var sum = RegionSummary()
        for cell in cells where !cell.isLit {
            sum.add(numbersOf: cell.numbers(in: region), times: 1)
        }
        return sum
    }

    /// True if some cell is dark.
    var isAnyDark: Bool { cells.contains { $0.isDark } }

    /// True if some cell is not lit.
    package var hasUnlit: Bool { cells.contains { !$0.isLit } }

    /// The cells that have never said anything, and so may not have their people yet, each with the one that it was
    /// split from; that is empty of others.
    package var unheard: [[UInt8]: [UInt8]] {
        var found: [[UInt8]: [UInt8]] = [:]
        for cell in cells where cell.position == 0 { found[cell.name] = cell.splitFrom }
        return found
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&cells, empty: Cell()) { $1.code(&$0) }
        var keys = undecided.sorted(by: AlertKey.areInOrder)
        archive.code(&keys, empty: AlertKey(name: .highOfflineRate, subject: .all)) {
            $1.code(&$0)
        }
        if archive.isReading { undecided = Set(keys) }
    }
}
