/// The alerts that people's receivers were told singly and have not taken, and the storms that tell
/// of many alerts at once. Source: D11.
///
///     told singly ──── taken ────────────────► told singly, for good
///         │                                        ▲
///         └── too many wait ──► in a storm ────────┘ if one that was on its way is taken
package struct StormDesk: Equatable, Sendable {
    /// So long after the last alert joined a storm no further one does.
    static let joinableFor = Milliseconds.seconds(15 * 60)

    /// A message that is on its way.
    private struct Way: Equatable {
        var lane = Lane()
        /// The firings that it tells of; of a storm its number.
        var incidents: [Int64] = []
        var isStorm = false
        /// The receiver's addresses of which the end is not known.
        var addresses = 0
    }

    /// By their numbers.
    private(set) var storms: [Storm] = []
    /// True if a storm may have something to tell.
    var isDirty = false
    private var singles: [Lane: [Int64: Single]] = [:]
    /// By notice.
    private var ways: [Int64: Way] = [:]

    // MARK: - Told singly

    /// True if nothing is known of anybody's receiver.
    var isEmpty: Bool { storms.isEmpty && singles.isEmpty }

    /// Returns the number of alerts that wait in a lane.
    func waiting(_ lane: Lane) -> Int { singles[lane]?.count ?? 0 }

    /// A receiver is told of a firing singly, for the first time.
    mutating func wait(_ lane: Lane, _ incident: Int64, _ key: AlertKey) {
        singles[lane, default: [:]][incident] = Single(key: key)
    }

    /// A message is on its way that tells of `incidents` singly.
    mutating func send(_ notice: Int64, _ lane: Lane, _ incidents: [Int64], addresses: Int) {
        guard singles[lane] != nil else { return }
        let untaken = incidents.filter { singles[lane]?[$0] != nil }
        for incident in untaken { singles[lane]?[incident]?.notices.append(notice) }
        guard !untaken.isEmpty else { return }
        ways[notice] = Way(lane: lane, incidents: untaken, addresses: addresses)
    }

    /// A firing is over, of which a receiver was told by a storm, or by 0 singly. Returns true if it
    /// is told of its end too.
    mutating func leave(_ incident: Int64, _ lane: Lane, storm: Int64) -> Bool {
        guard storm != 0 else {
            if let single = singles[lane]?[incident] { forget(single, incident) }
            drop(incident, lane)
            return true
        }
        guard let place = place(storm), let single = storms[place].members[incident] else {
            return false
        }
        storms[place].members[incident] = nil
        forget(single, incident)
        isDirty = true
        return single.mayBeHeard
    }

    private mutating func drop(_ incident: Int64, _ lane: Lane) {
        singles[lane]?[incident] = nil
        if singles[lane]?.isEmpty == true { singles[lane] = nil }
    }

    /// Messages tell nobody of a firing any more.
    private mutating func forget(_ single: Single, _ incident: Int64) {
        for notice in single.notices {
            ways[notice]?.incidents.removeAll { $0 == incident }
            if ways[notice]?.incidents.isEmpty == true { ways[notice] = nil }
        }
    }

    // MARK: - What became of messages

    /// A message came to its end. Returns what was in a storm and is not, because it was taken by a
    /// message of its own that had left before.
    mutating func end(_ end: NoticeEnd, now: RunningTime) -> [AlertKey] {
        guard var way = ways[end.notice], way.lane.receiver == end.receiver else { return [] }
        way.addresses -= 1
        ways[end.notice] = way.addresses > 0 ? way : nil
        if way.isStorm {
            endStorm(way, end, now)
            return []
        }
        var left: [AlertKey] = []
        for incident in way.incidents {
            if end.outcome == .delivered {
                left += take(incident, way.lane)
                continue
            }
            change(incident, way.lane) { single in
                // Of one that was given up nobody knows whether it arrived.
                if end.outcome != .dropped { single.isHeard = true }
                if way.addresses == 0 { single.notices.removeAll { $0 == end.notice } }
            }
        }
        return left
    }

    private mutating func endStorm(_ way: Way, _ end: NoticeEnd, _ now: RunningTime) {
        guard let place = way.incidents.first.flatMap({ place($0) }) else { return }
        if end.outcome == .delivered { (storms[place].toldAt, storms[place].trigger) = (now, 0) }
        // Nobody took it there: if the receiver comes back it is told at once.
        if end.outcome == .removed { storms[place].toldAt = .distantPast }
        if way.addresses == 0 { storms[place].notices.removeAll { $0 == end.notice } }
        isDirty = true
    }

    /// A receiver took a message of its own about a firing; its key if it was in a storm.
    private mutating func take(_ incident: Int64, _ lane: Lane) -> [AlertKey] {
        if let single = singles[lane]?[incident] {
            forget(single, incident)
            drop(incident, lane)
            return []
        }
        for place in storms.indices where storms[place].lane == lane {
            guard let single = storms[place].members.removeValue(forKey: incident) else { continue }
            forget(single, incident)
            isDirty = true
            return [single.key]
        }
        return []
    }

    private mutating func change(
        _ incident: Int64, _ lane: Lane, _ body: (inout Single) -> Void
    ) {
        if var single = singles[lane]?[incident] {
            body(&single)
            singles[lane]?[incident] = single
            return
        }
        for place in storms.indices where storms[place].lane == lane {
            guard var single = storms[place].members[incident] else { continue }
            body(&single)
            storms[place].members[incident] = single
        }
    }

    // MARK: - Storms

    /// The storm that further alerts join; nil if there is none.
    func joinable(_ lane: Lane) -> Int64? {
        storms.last { $0.isJoinable && $0.lane == lane }?.episode
    }

    /// Closes what nobody joins any more, where more than `limit` make a storm.
    mutating func close(now: RunningTime, limit: Int) {
        for place in storms.indices where storms[place].isJoinable {
            let isLate = now - storms[place].lastJoin >= Self.joinableFor
            let isSmall = 2 * storms[place].members.count < limit
            if limit == 0 || isLate || isSmall { storms[place].isJoinable = false }
        }
    }

    /// A storm begins with all that wait. Returns their keys by firing, in order.
    mutating func begin(
        _ episode: Int64, _ lane: Lane, now: RunningTime, wall: Timestamp
    ) -> [(incident: Int64, key: AlertKey)] {
        var storm = Storm(lane: lane, episode: episode, startsAt: wall, lastJoin: now)
        storm.members = singles.removeValue(forKey: lane) ?? [:]
        storm.joined = storm.members.count
        storms.append(storm)
        isDirty = true
        return storm.members.map { ($0.key, $0.value.key) }.sorted { $0.incident < $1.incident }
    }

    /// A firing joins.
    mutating func join(_ episode: Int64, _ incident: Int64, _ key: AlertKey, now: RunningTime) {
        guard let place = place(episode) else { return }
        if storms[place].members.updateValue(Single(key: key), forKey: incident) == nil {
            storms[place].joined += 1
        }
        storms[place].lastJoin = now
        isDirty = true
    }

    /// A storm is told of by the message of this number, unless it needs none.
    mutating func tell(
        _ episode: Int64, by notice: Int64?, _ severity: Severity, addresses: Int, now: RunningTime
    ) {
        guard let place = place(episode) else { return }
        storms[place].toldAt = now
        // The first one, or what stands in for it once that can be taken no more.
        if storms[place].toldCount == 0 || storms[place].trigger != 0 {
            storms[place].trigger = notice ?? storms[place].trigger
        }
        storms[place].toldCount = storms[place].members.count
        storms[place].severity = severity
        guard let notice else { return }
        storms[place].notices.append(notice)
        ways[notice] = Way(
            lane: storms[place].lane, incidents: [episode], isStorm: true, addresses: addresses)
    }

    /// A storm has no members any more.
    mutating func empty(_ episode: Int64) {
        guard let place = place(episode) else { return }
        for (incident, single) in storms[place].members { forget(single, incident) }
        storms[place].members = [:]
        isDirty = true
    }

    /// A storm is over.
    mutating func remove(_ episode: Int64) {
        empty(episode)
        guard let place = place(episode) else { return }
        for notice in storms.remove(at: place).notices { ways[notice] = nil }
    }

    private func place(_ episode: Int64) -> Int? { storms.firstIndex { $0.episode == episode } }

    // MARK: - Settings

    /// Forgets what waits for receivers that people do not read, by their names.
    mutating func dropSingles(of receivers: Set<[UInt8]>) {
        for (lane, all) in singles where receivers.contains(lane.receiver) {
            for (incident, single) in all { forget(single, incident) }
            singles[lane] = nil
        }
    }

    // MARK: - Coming back

    /// The storms as they are, and of messages nothing: what they came to may be known to others.
    var storedStorms: StormDesk {
        var copy = StormDesk()
        copy.storms = storms
        for place in copy.storms.indices {
            copy.storms[place].notices = []
            for (incident, single) in storms[place].members {
                copy.storms[place].members[incident]?.isHeard = single.mayBeHeard
                copy.storms[place].members[incident]?.notices = []
            }
        }
        copy.isDirty = true
        return copy
    }

    /// A stored storm began, or was told again.
    mutating func put(_ notice: Notice, _ member: NoticeMember, now: RunningTime) {
        let episode = member.incident
        guard notice.kind != .resolved else { return remove(episode) }
        if place(episode) == nil {
            let lane = Lane(receiver: notice.receiver, name: member.name)
            _ = begin(episode, lane, now: now, wall: member.startsAt)
        }
        guard let place = place(episode) else { return }
        if notice.kind == .fired || storms[place].trigger != 0 {
            storms[place].trigger = notice.number
        }
        storms[place].toldAt = now
        storms[place].toldCount = max(1, notice.storm?.count ?? 0)
    }

    /// A stored notice was taken; of one that is no storm's first there is nothing to know.
    mutating func take(_ notice: Int64) {
        for place in storms.indices where storms[place].trigger == notice {
            storms[place].trigger = 0
        }
    }

    /// A stored storm has a member. It may be known before its first message is.
    mutating func put(_ mute: Mute, _ episode: Int64, now: RunningTime, wall: Timestamp) {
        if place(episode) == nil {
            let lane = Lane(receiver: mute.receiver, name: mute.key.name)
            _ = begin(episode, lane, now: now, wall: wall)
        }
        join(episode, mute.incident, mute.key, now: now)
    }

    /// Knows what firings are about, by their numbers, and forgets what fires no more.
    mutating func find(_ keys: [Int64: AlertKey]) {
        for place in storms.indices {
            for incident in storms[place].members.keys {
                if let key = keys[incident] {
                    storms[place].members[incident]?.key = key
                } else if let single = storms[place].members.removeValue(forKey: incident) {
                    forget(single, incident)
                }
            }
        }
        for (lane, all) in singles {
            for (incident, single) in all {
                if let key = keys[incident] {
                    singles[lane]?[incident]?.key = key
                } else {
                    forget(single, incident)
                    drop(incident, lane)
                }
            }
        }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&storms, empty: Storm()) { $1.code(&$0) }
        var lanes = singles.keys.sorted(by: Lane.areInOrder)
        archive.code(&lanes, empty: Lane()) { archive, lane in
            lane.code(&archive)
            var all = singles[lane] ?? [:]
            Single.code(&all, &archive)
            singles[lane] = all
        }
        var numbers = ways.keys.sorted()
        archive.code(&numbers, empty: 0) { archive, number in
            archive.code(&number)
            var way = ways[number] ?? Way()
            way.lane.code(&archive)
            archive.code(&way.incidents)
            archive.code(&way.isStorm)
            archive.code(&way.addresses)
            ways[number] = way
        }
        if archive.isReading { isDirty = !storms.isEmpty }
    }

    // MARK: - Invariants

    /// Returns, in words, what does not hold; `fires` are the firings that a receiver was told of,
    /// with the storm that tells of them.
    func brokenInvariants(_ fires: [Int64: [Alert.Told]]) -> [String] {
        var broken: [String] = []
        func expect(_ holds: Bool, _ what: String) { if !holds { broken.append(what) } }
        func isTold(_ incident: Int64, _ lane: Lane, by storm: Int64) -> Bool {
            fires[incident]?.contains { $0.receiver == lane.receiver && $0.storm == storm } ?? false
        }
        for storm in storms {
            expect(!storm.members.isEmpty, "storm \(storm.episode) has members")
            expect(storm.toldCount > 0, "storm \(storm.episode) is told")
            for (incident, single) in storm.members {
                expect(
                    isTold(incident, storm.lane, by: storm.episode),
                    "\(incident) is told by storm \(storm.episode)")
                expect(single.notices.allSatisfy { ways[$0] != nil }, "\(incident) is on its way")
            }
        }
        for (lane, all) in singles {
            expect(!all.isEmpty, "a lane without anything is let go of")
            for (incident, single) in all {
                expect(isTold(incident, lane, by: 0), "\(incident) is told singly")
                expect(single.notices.allSatisfy { ways[$0] != nil }, "\(incident) is on its way")
            }
        }
        let members = storms.reduce(0) { $0 + $1.members.count }
        let told = fires.values.reduce(0) { $0 + $1.count { $0.storm != 0 } }
        expect(members == told, "\(told) are told by storms, which have \(members) members")
        let joinable = storms.filter(\.isJoinable).map(\.lane)
        expect(Set(joinable).count == joinable.count, "one storm of a lane is joined")
        return broken
    }
}
