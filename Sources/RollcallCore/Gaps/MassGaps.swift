/// The people who fell out of contact together, region by region. Source: C1, F25.
struct MassGaps: Sendable {
    /// Fewer are no mass.
    static let countMin = 5
    private static let keptFor = Milliseconds.seconds(3 * 3600)

    /// The people of one region who fell silent within the last 60 s, and their group.
    struct Region: Sendable {
        var people = RecentPeople()
        /// Those of them that belong to no group, oldest first: to be evaluated again with the
        /// next.
        var alone: [Int] = []
        /// The group that forms at the moment; 0 without one.
        var group: Int64 = 0
        var members = 0
        /// The instant at which somebody joined last: after 60 s the next mass is another group.
        var joinedAt = ObservedTime.distantPast
        /// The instant at which somebody fell silent last.
        var openedAt = ObservedTime.distantPast
        /// The region's name when somebody fell silent last: thousands of reports share it. It is read
        /// anew where it is another one's by now, and as long as this is remembered, the table has it.
        var name: [UInt8] = []

        fileprivate mutating func open(
            _ number: Int, now: ObservedTime, named region: UInt32, in names: NameTable
        ) -> (openings: Int, name: [UInt8], last: ObservedTime?) {
            if !names.isName(region, name) { name = names[region] }
            let last = people.add(number, now: now)
            openedAt = now
            alone.append(number)
            // Who fell silent again and again stands in it more than once.
            if alone.count > 2 * people.count + 64 {
                var seen = Set<Int>()
                alone = alone.filter { people.contains($0) && seen.insert($0).inserted }
            }
            return (people.count, name, last)
        }

        fileprivate mutating func takeAlone() -> [Int] {
            defer { alone.removeAll(keepingCapacity: alone.count < 64) }
            return alone.filter(people.contains)
        }

        fileprivate func isOver(_ now: ObservedTime) -> Bool {
            group == 0 || now - joinedAt >= RecentPeople.span
        }

        fileprivate mutating func begin(_ group: Int64, members: Int, now: ObservedTime) {
            self.group = group
            self.members = members
            joinedAt = now
        }

        fileprivate mutating func join(now: ObservedTime) -> (group: Int64, members: Int) {
            members += 1
            joinedAt = now
            return (group, members)
        }
    }

    private var regions: [UInt32: Region] = [:]
    /// The number that the next group gets.
    private var nextGroup: Int64 = 1
    /// Gaps that opened so far, anywhere.
    private(set) var openings: Int64 = 0
    private var cleanedAt = ObservedTime.distantPast
    /// True to note who falls silent, for whom that is to be said (K2).
    var notesSilent = false
    /// Those of whom it was not said yet, by region and instant; below 0 who counts there no more. It is in
    /// no checkpoint.
    private var silent: [UInt32: [ObservedTime: Int]] = [:]

    /// True if so many who fell silent are a mass among so many active.
    static func isMass(_ openings: Int, of active: Int) -> Bool {
        openings >= countMin && openings * 10 >= active * 3
    }

    /// Takes the number of a new group.
    mutating func takeGroup() -> Int64 {
        defer { nextGroup += 1 }
        return nextGroup
    }

    /// Notes that `number` fell silent in `region`; returns how many different people did within
    /// 60 s, and the region's name.
    mutating func open(
        _ number: Int, in region: UInt32, _ names: NameTable, now: ObservedTime
    ) -> (openings: Int, name: [UInt8]) {
        openings += 1
        let (count, name, last) = regions[region, default: Region()].open(
            number, now: now, named: region, in: names)
        if notesSilent {
            if let last { silent[region, default: [:]][last, default: 0] -= 1 }
            silent[region, default: [:]][now, default: 0] += 1
        }
        return (count, name)
    }

    /// Takes the regions in which somebody fell silent of whom it was not said yet, with those people.
    mutating func takeSilent(_ now: ObservedTime) -> [(region: UInt32, silent: [SilentPeople])] {
        if silent.isEmpty { return [] }
        defer { silent = [:] }
        return silent.keys.sorted().map { region in
            let counts = (silent[region] ?? [:]).filter { at, people in
                people != 0 && (0...RecentPeople.span.count).contains((now - at).count)
            }
            return (
                region,
                counts.keys.sorted().map { SilentPeople(ago: now - $0, people: counts[$0] ?? 0) }
            )
        }
    }

    /// All who fell silent within 60 s in a region.
    func allSilent(in region: UInt32, _ now: ObservedTime) -> [SilentPeople] {
        guard let people = regions[region]?.people else { return [] }
        return people.counts
            .filter { (0..<RecentPeople.span.count).contains((now - $0.at).count) }
            .map { SilentPeople(ago: now - $0.at, people: $0.people) }
    }

    /// A mass that another watch decided has this number: the next of this one gets another.
    mutating func noteGroup(_ number: Int64) { nextGroup = max(nextGroup, number + 1) }

    /// The group of a mass in `region`, for somebody who belongs to it from now on, and how many
    /// do. Those who fell silent before it formed are counted already.
    mutating func join(
        _ region: UInt32, openings: Int, isCounted: Bool, now: ObservedTime
    ) -> (group: Int64, members: Int) {
        if isCounted, let group = regions[region]?.group, let members = regions[region]?.members {
            return (group, members)
        }
        if regions[region]?.isOver(now) ?? true {
            let group = takeGroup()
            regions[region, default: Region()].begin(group, members: openings, now: now)
            return (group, openings)
        }
        return regions[region, default: Region()].join(now: now)
    }

    /// Some are here no more: they fell silent nowhere. Where nobody did who is still known, and which
    /// `isOver`, is forgotten; returns those regions.
    mutating func remove(_ numbers: [Int], _ isOver: (UInt32) -> Bool) -> [UInt32] {
        var alone: [UInt32] = []
        let leaving = Set(numbers)
        for region in regions.keys {
            if notesSilent { noteLeaving(leaving, region) }
            regions[region]?.people.remove(leaving)
            if regions[region]?.people.count == 0, isOver(region) { alone.append(region) }
        }
        for region in alone { regions[region] = nil }
        return alone
    }

    private mutating func noteLeaving(_ numbers: Set<Int>, _ region: UInt32) {
        for at in regions[region]?.people.times(of: numbers) ?? [] {
            silent[region, default: [:]][at, default: 0] -= 1
        }
    }

    /// True if somebody fell silent in a region, and that is remembered.
    func knows(_ region: UInt32) -> Bool { regions[region] != nil }

    /// Regions that are remembered, in no order.
    var regionsHeld: [UInt32] { Array(regions.keys) }

    /// True if the next to join in `region` begins a group.
    func isNew(_ region: UInt32, now: ObservedTime) -> Bool {
        regions[region]?.isOver(now) ?? true
    }

    /// Forgets a region that there is not.
    mutating func drop(_ region: UInt32) { regions[region] = nil }

    /// Takes those who fell silent in `region` within 60 s and belong to no group yet.
    mutating func takeAlone(_ region: UInt32) -> [Int] {
        regions[region]?.takeAlone() ?? []
    }

    /// Lets go of regions where nobody fell silent for so long that no blindness noticed later can
    /// bring it within 60 s again: the longest is 2.5 beats of an hour (B1, B2). Returns them.
    mutating func clean(_ now: ObservedTime) -> [UInt32] {
        guard now - cleanedAt >= Self.keptFor else { return [] }
        cleanedAt = now
        let gone = regions.filter { now - $0.value.openedAt >= Self.keptFor }.map(\.key)
        for region in gone { regions[region] = nil }
        return gone
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        cleanedAt = min(cleanedAt, now)
        for region in regions.keys.sorted() {
            regions[region]?.people.clampInstants(to: now)
            if let at = regions[region]?.joinedAt { regions[region]?.joinedAt = min(at, now) }
            if let at = regions[region]?.openedAt { regions[region]?.openedAt = min(at, now) }
        }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&nextGroup)
        archive.code(&openings)
        archive.code(&cleanedAt)
        var entries = regions.keys.sorted().map { ($0, regions[$0] ?? Region()) }
        archive.code(&entries, empty: (0, Region())) { archive, entry in
            archive.code(&entry.0)
            entry.1.people.code(&archive)
            archive.code(&entry.1.alone)
            archive.code(&entry.1.group)
            archive.code(&entry.1.members)
            archive.code(&entry.1.joinedAt)
            archive.code(&entry.1.openedAt)
        }
        guard archive.isReading else { return }
        regions = [:]
        for (region, entry) in entries { regions[region] = entry }
    }
}
