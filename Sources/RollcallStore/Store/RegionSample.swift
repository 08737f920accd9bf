import RollcallCore

/// The counts of one region at one minute.
package struct RegionCounts: Equatable, Sendable {
    /// Expected people, by `Status`.
    package var byStatus = SIMD4<Int>()
    package var notExpected = 0
    /// True if somebody must always be there and nobody is active.
    package var isUnstaffed = false

    /// The counts of a region that nobody is in.
    package init() {}

    /// The counts of region `number` in `engine`.
    package init(_ number: UInt32, _ engine: Engine) {
        byStatus = Self.vector(engine.aggregates.counts(in: number))
        notExpected = engine.aggregates.notExpected(in: number)
    }

    /// Expected people.
    package var active: Int { byStatus.wrappedSum() }

    /// Returns the expected people of a status.
    package func count(_ status: Status) -> Int { byStatus[Int(status.rawValue)] }

    fileprivate static func vector(_ counts: [Int]) -> SIMD4<Int> {
        var vector = SIMD4<Int>()
        for (place, count) in counts.prefix(4).enumerated() { vector[place] = count }
        return vector
    }
}

/// A region as a sample counts it.
package struct SampledRegion: Equatable, Sendable {
    /// Regions of one sample at most, beside those that must be staffed; all others are counted as one.
    package static let countMax = 256

    /// The region's name; empty for all regions beyond `countMax` together.
    package var name: [UInt8]
    package var counts: RegionCounts

    /// Returns the regions of `engine`: those that must be staffed, then by their numbers those where
    /// somebody is. So a region stays counted whatever comes later.
    static func all(of engine: Engine) -> [SampledRegion] {
        var found: [SampledRegion] = []
        var rest = RegionCounts()
        rest.byStatus = RegionCounts.vector(engine.aggregates.byStatus)
        rest.notExpected = engine.aggregates.notExpected.reduce(0, +)
        func add(_ name: [UInt8], _ counts: RegionCounts) {
            found.append(SampledRegion(name: name, counts: counts))
            rest.byStatus &-= counts.byStatus
            rest.notExpected -= counts.notExpected
        }
        var covered = Set<[UInt8]>()
        for name in engine.policy.coverageRegions where !name.isEmpty {
            guard covered.insert(name).inserted else { continue }
            var counts = engine.regions.known(name).map { RegionCounts($0, engine) } ?? .init()
            counts.isUnstaffed = counts.active == 0
            add(name, counts)
        }
        for place in engine.regions.names.indices.dropFirst() {
            guard found.count < max(covered.count, countMax), rest != RegionCounts() else { break }
            let counts = RegionCounts(UInt32(place), engine)
            guard counts != RegionCounts() else { continue }
            let name = engine.regions.names[place]
            if !name.isEmpty, !covered.contains(name) { add(name, counts) }
        }
        if rest != RegionCounts() { found.append(SampledRegion(name: [], counts: rest)) }
        return found
    }
}

/// The regions of one minute as the store keeps them: a few bytes each, by the store's own numbers.
///
///     number since the one before · marks · the counts that are not 0
///     bits 0…3 of the marks   a count of that `Status`      bit 4   a count of those not expected
///     bit  5                  nobody is there who must be
package struct RegionSample: Equatable, Sendable {
    /// A region by its number in the store.
    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var counts: RegionCounts
    }

    /// The number of all regions that were counted as one.
    package static let rest: Int64 = 0
    private static let notExpectedMark: UInt64 = 1 << 4
    private static let unstaffedMark: UInt64 = 1 << 5

    /// The instant at which they were counted, by the wall.
    package var at: Timestamp
    /// The regions by rising numbers; one that is missing had nobody.
    package var entries: [Entry]

    /// The regions `entries` of an instant.
    package init(at: Timestamp, entries: [Entry]) {
        self.at = at
        self.entries = entries.sorted { $0.number < $1.number }
    }

    /// True if there were more regions than were counted by themselves.
    package var hasRest: Bool { entries.first?.number == Self.rest }

    /// Returns the counts of a region; nil if nobody knows, because it was one of many.
    package func counts(of number: Int64?) -> RegionCounts? {
        var (low, high) = (0, entries.count)
        while let number, low < high {
            let middle = (low + high) / 2
            if entries[middle].number == number { return entries[middle].counts }
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return hasRest ? nil : RegionCounts()
    }

    /// The bytes that the store keeps.
    var journalBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 * entries.count)
        var before: Int64 = 0
        for entry in entries {
            let counts = entry.counts
            var marks: UInt64 = counts.isUnstaffed ? Self.unstaffedMark : 0
            for place in 0..<4 where counts.byStatus[place] > 0 { marks |= 1 << UInt64(place) }
            if counts.notExpected > 0 { marks |= Self.notExpectedMark }
            Varint.append(UInt64(entry.number - before), to: &bytes)
            Varint.append(marks, to: &bytes)
            for place in 0..<4 where counts.byStatus[place] > 0 {
                Varint.append(UInt64(counts.byStatus[place]), to: &bytes)
            }
            if counts.notExpected > 0 { Varint.append(UInt64(counts.notExpected), to: &bytes) }
            before = entry.number
        }
        return bytes
    }

    /// The sample that `journalBytes` were made of; nil if they are damaged.
    init?(at: Timestamp, journalBytes bytes: [UInt8]) {
        self.at = at
        entries = []
        var place = 0
        func read() -> Int64? {
            Varint.read(bytes.span, &place, bytes.count).flatMap { Int64(exactly: $0) }
        }
        var number: Int64 = 0
        while place < bytes.count {
            guard let step = read(), let marks = read(), step > 0 || entries.isEmpty,
                marks < 1 << 6, !number.addingReportingOverflow(step).overflow
            else { return nil }
            number += step
            var counts = RegionCounts()
            for status in 0..<4 where marks & 1 << Int64(status) != 0 {
                guard let count = read(), count < 1 << 40 else { return nil }
                counts.byStatus[status] = Int(count)
            }
            if marks & Int64(Self.notExpectedMark) != 0 {
                guard let count = read(), count < 1 << 40 else { return nil }
                counts.notExpected = Int(count)
            }
            counts.isUnstaffed = marks & Int64(Self.unstaffedMark) != 0
            entries.append(Entry(number: number, counts: counts))
        }
    }
}
