/// The number of people in each state, kept as people change so that a scrape need not look at
/// them.
package struct Aggregates: Sendable {
    /// Active people by region number × status: index region × 4 + status.
    package private(set) var byRegion: [Int] = [0, 0, 0, 0]
    /// Active people by status.
    package private(set) var byStatus = [0, 0, 0, 0]
    /// Not expected people by reason.
    package private(set) var notExpected = [Int](repeating: 0, count: NotExpected.allCases.count)
    /// Not expected people by region number; a region behind the end has none.
    private var notExpectedByRegion: [Int] = []
    /// Active people by telemetry field and value.
    package private(set) var telemetry = Telemetry.fields.map {
        [Int](repeating: 0, count: $0.values.count)
    }
    /// Active people by duty state.
    package private(set) var byDuty = [Int](repeating: 0, count: DutyState.allCases.count)
    /// The people who are out of contact now, by their keys' places: how many, and the sum of the
    /// instants since when, in milliseconds.
    private var dark: [(count: Int64, since: Int64)] = []
    /// Flapping people, and UNKNOWN people beyond the degraded threshold, by region.
    private var flappingByRegion: [UInt32: Int] = [:]
    private var unheardByRegion: [UInt32: Int] = [:]
    /// People whom ResponderOffline counts, by region.
    private var missedByRegion: [UInt32: Int] = [:]
    /// Gaps that are open, by what is suspected.
    package internal(set) var openGaps = OpenGaps()
    /// Ages of the active people's last locations.
    package private(set) var ages = LocationAges()
    /// The book of how often the active people are expected to report.
    private var paceBook: PaceBook

    init(_ policy: PacePolicy) { paceBook = PaceBook(policy) }

    /// Returns how often the active people are expected to report (F11).
    @inline(__always)
    var pace: Pace { paceBook.pace }

    /// Other settings say what promises come to: everybody is counted anew.
    mutating func changePace(to policy: PacePolicy, _ roster: Roster) {
        paceBook = PaceBook(policy)
        for number in 0..<roster.count where roster[number].isActive {
            paceBook.change(roster[number], by: 1)
        }
    }

    /// Active people.
    package var active: Int { byStatus[0] + byStatus[1] + byStatus[2] + byStatus[3] }

    /// Active people of a region, by status. One where nobody ever was active has no row.
    package func counts(in region: UInt32) -> [Int] {
        let first = Int(region) * 4
        guard first + 4 <= byRegion.count else { return [0, 0, 0, 0] }
        return Array(byRegion[first..<first + 4])
    }

    /// Active people of a region who have a status.
    func count(_ status: Status, in region: UInt32) -> Int {
        let place = Int(region) * 4 + Int(status.rawValue)
        return place < byRegion.count ? byRegion[place] : 0
    }

    /// Active people of a region.
    func active(in region: UInt32) -> Int {
        count(.online, in: region) + count(.degraded, in: region) + count(.offline, in: region)
            + count(.unknown, in: region)
    }

    /// Not expected people of a region.
    package func notExpected(in region: UInt32) -> Int {
        let place = Int(region)
        return place < notExpectedByRegion.count ? notExpectedByRegion[place] : 0
    }

    /// Flapping people.
    var flapping: Int { flappingByRegion.values.reduce(0, +) }

    /// Flapping people of a region.
    package func flapping(in region: UInt32) -> Int { flappingByRegion[region] ?? 0 }

    /// People of a region who are UNKNOWN for longer than the degraded threshold (F29).
    func unheard(in region: UInt32) -> Int { unheardByRegion[region] ?? 0 }

    /// People whom ResponderOffline counts (R1).
    var missed: Int { missedByRegion.values.reduce(0, +) }

    /// People of a region whom ResponderOffline counts (R1).
    func missed(in region: UInt32) -> Int { missedByRegion[region] ?? 0 }

    /// The keys under which somebody is out of contact now.
    var darkKeys: [DarkKey] {
        dark.indices.filter { dark[$0].count != 0 }.map { DarkKey(place: $0) }
    }

    /// Returns for how long, summed up, those who are out of contact now have been.
    func darkMilliseconds(_ key: DarkKey, now: ObservedTime) -> Int64 {
        guard key.place < dark.count else { return 0 }
        let sum = dark[key.place]
        return sum.count &* now.milliseconds &- sum.since
    }

    mutating func add(_ person: Responder, now: ObservedTime) { change(person, by: 1, now) }

    mutating func remove(_ person: Responder, now: ObservedTime) { change(person, by: -1, now) }

    /// Others say of a region what they said otherwise before (K2).
    mutating func change(
        _ region: UInt32, from before: RegionSummary, to after: RegionSummary
    ) {
        let first = Int(region) * 4
        while byRegion.count < first + 4 { byRegion.append(0) }
        for status in 0..<4 {
            let step = after.byStatus[status] - before.byStatus[status]
            byRegion[first + status] += step
            byStatus[status] += step
        }
        Self.change(&flappingByRegion, region, by: after.flapping - before.flapping)
        Self.change(&unheardByRegion, region, by: after.unheard - before.unheard)
    }

    /// An active person of whom nothing else changed was located anew.
    mutating func move(from before: ObservedTime, to after: ObservedTime, now: ObservedTime) {
        if before > .distantPast { ages.remove(before, now: now) }
        if after > .distantPast { ages.add(after, now: now) }
    }

    private mutating func change(_ person: Responder, by step: Int, _ now: ObservedTime) {
        guard person.isActive else {
            if let reason = person.notExpected {
                changeNotExpected(reason, person.region, by: step)
            }
            return
        }
        let status = Int(person.status.rawValue)
        let region = Int(person.region) * 4
        while byRegion.count < region + 4 { byRegion.append(0) }
        byRegion[region + status] += step
        byStatus[status] += step
        byDuty[Int(person.duty.rawValue)] += step
        paceBook.change(person, by: step)
        if person.isDark { changeDark(person, by: Int64(step)) }
        if person.isFlapping { Self.change(&flappingByRegion, person.region, by: step) }
        if person.isMissed { Self.change(&missedByRegion, person.region, by: step) }
        if person.isDark, person.status == .unknown {
            Self.change(&unheardByRegion, person.region, by: step)
        }
        telemetry[0][Int(person.telemetry.permissionStatus)] += step
        telemetry[1][Int(person.telemetry.locationServices)] += step
        telemetry[2][Int(person.telemetry.powerMode)] += step
        telemetry[3][Int(person.telemetry.appState)] += step
        telemetry[4][Int(person.telemetry.networkType)] += step
        guard person.lastLocation > .distantPast else { return }
        if step > 0 {
            ages.add(person.lastLocation, now: now)
        } else {
            ages.remove(person.lastLocation, now: now)
        }
    }

    private mutating func changeNotExpected(
        _ reason: NotExpected, _ region: UInt32, by step: Int
    ) {
        notExpected[Int(reason.rawValue)] += step
        while notExpectedByRegion.count <= Int(region) { notExpectedByRegion.append(0) }
        notExpectedByRegion[Int(region)] += step
    }

    private static func change(_ counts: inout [UInt32: Int], _ region: UInt32, by step: Int) {
        let count = (counts[region] ?? 0) + step
        counts[region] = count == 0 ? nil : count
    }

    private mutating func changeDark(_ person: Responder, by step: Int64) {
        let key = DarkKey(person)
        for key in [key, key.ofAll] {
            let place = key.place
            while dark.count <= place { dark.append((0, 0)) }
            dark[place].count += step
            // Wraps, and comes out right: sums of millions of instants need more than 64 bits.
            dark[place].since &+= step &* person.darkFrom.milliseconds
            if dark[place].count == 0 { dark[place].since = 0 }
        }
    }
}
