/// The alerts that people's receivers were told singly and have not taken, and the storms that tell
/// of many alerts at once. Source: D11.
///
///     told singly ──── taken ────────────────► told singly, for good
///         │                                        ▲
///         └── too many wait ──► in a storm ────────┘ if one that was on its way is taken
package struct StormState: Equatable, Sendable {
    /// So long after the last alert joined a storm no further one does.
    static let joinableFor = Milliseconds.seconds(15 * 60)

    /// A message that is on its way.
    private struct InFlight: Equatable {
        var queue = Queue()
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
    private var singles: [Queue: [Int64: Single]] = [:]
    /// By notice.
    private var inFlight: [Int64: InFlight] = [:]

    // MARK: - Told singly

    /// True if nothing is known of anybody's receiver.
    var isEmpty: Bool { storms.isEmpty && singles.isEmpty }

    /// Returns the number of alerts that wait in a queue.
    func waiting(_ queue: Queue) -> Int { singles[queue]?.count ?? 0 }

    /// A receiver is told of a firing singly, for the first time.
    mutating func wait(_ queue: Queue, _ incident: Int64, _ key: AlertKey) {
        singles[queue, default: [:]][incident] = Single(key: key)
    }

    /// A message is on its way that tells of `incidents` singly.
    mutating func send(_ notice: Int64, _ queue: Queue, _ incidents: [Int64], addresses: Int) {
        guard singles[queue] != nil else { return }
        let untaken = incidents.filter { singles[queue]?[$0] != nil }
        for incident in untaken { singles[queue]?[incident]?.notices.append(notice) }
        guard !untaken.isEmpty else { return }
        inFlight[notice] = InFlight(queue: queue, incidents: untaken, addresses: addresses)
    }

    /// A firing is over, of which a receiver was told by a storm, or by 0 singly. Returns true if it
    /// is told of its end too.
    mutating func leave(_ incident: Int64, _ queue: Queue, storm: Int64) -> Bool {
        guard storm != 0 else {
            if let single = singles[queue]?[incident] { forget(single, incident) }
            drop(incident, queue)
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

    private mutating func drop(_ incident: Int64, _ queue: Queue) {
        singles[queue]?[incident] = nil
        if singles[queue]?.isEmpty == true { singles[queue] = nil }
    }

    /// Messages tell nobody of a firing any more.
    private mutating func forget(_ single: Single, _ incident: Int64) {
        for notice in single.notices {
            inFlight[notice]?.incidents.removeAll { $0 == incident }
            if inFlight[notice]?.incidents.isEmpty == true { inFlight[notice] = nil }
        }
    }

    // MARK: - What became of messages

    /// A message came to its end. Returns what was in a storm and is not, because it was taken by a
    /// message of its own that had left before.
    mutating func end(_ end: NoticeEnd, now: RunningTime) -> [AlertKey] {
        guard var entry = inFlight[end.notice], entry.queue.receiver == end.receiver else {
            return []
        }
        entry.addresses -= 1
        inFlight[end.notice] = entry.addresses > 0 ? entry : nil
        if entry.isStorm {
            endStorm(entry, end, now)
            return []
        }
        var left: [AlertKey] = []
        for incident in entry.incidents {
            if end.outcome == .delivered {
                left += take(incident, entry.queue)
                continue
            }
            change(incident, entry.queue) { single in
                // Of one that was given up nobody knows whether it arrived.
                if end.outcome != .dropped { single.isHeard = true }
                if entry.addresses == 0 { single.notices.removeAll { $0 == end.notice } }
            }
        }
        return left
    }

    private mutating func endStorm(_ entry: InFlight, _ end: NoticeEnd, _ now: RunningTime) {
        guard let place = entry.incidents.first.flatMap({ place($0) }) else { return }
        if end.outcome == .delivered {
            (storms[place].notifiedAt, storms[place].trigger) = (now, 0)
        }
        // Nobody took it there: if the receiver comes back it is told at once.
        if end.outcome == .removed { storms[place].notifiedAt = .distantPast }
        if entry.addresses == 0 { storms[place].notices.removeAll { $0 == end.notice } }
        isDirty = true
    }

    /// A receiver took a message of its own about a firing; its key if it was in a storm.
    private mutating func take(_ incident: Int64, _ queue: Queue) -> [AlertKey] {
        if let single = singles[queue]?[incident] {
            forget(single, incident)
            drop(incident, queue)
            return []
        }
        for place in storms.indices where storms[place].queue == queue {
            guard let single = storms[place].members.removeValue(forKey: incident) else { continue }
            forget(single, incident)
            isDirty = true
            return [single.key]
        }
        return []
    }

    private mutating func change(
        _ incident: Int64, _ queue: Queue, _ body: (inout Single) -> Void
    ) {
        if var single = singles[queue]?[incident] {
            body(&single)
            singles[queue]?[incident] = single
            return
        }
        for place in storms.indices where storms[place].queue == queue {
            guard var single = storms[place].members[incident] else { continue }
            body(&single)
            storms[place].members[incident] = single
        }
    }

    // MARK: - Storms

    /// The storm that further alerts join; nil if there is none.
    func joinable(_ queue: Queue) -> Int64? {
        storms.last { $0.isJoinable && $0.queue == queue }?.episode
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
        _ episode: Int64, _ queue: Queue, now: RunningTime, wall: Timestamp
    ) -> [(incident: Int64, key: AlertKey)] {
        var storm = Storm(queue: queue, episode: episode, startsAt: wall, lastJoin: now)
        storm.members = singles.removeValue(forKey: queue) ?? [:]
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
    mutating func notify(
        _ episode: Int64, by notice: Int64?, _ severity: Severity, addresses: Int, now: RunningTime
    ) {
        guard let place = place(episode) else { return }
        storms[place].notifiedAt = now
        // The first one, or what stands in for it once that can be taken no more.
        if storms[place].notifiedCount == 0 || storms[place].trigger != 0 {
            storms[place].trigger = notice ?? storms[place].trigger
        }
        storms[place].notifiedCount = storms[place].members.count
        storms[place].severity = severity
        guard let notice else { return }
        storms[place].notices.append(notice)
        inFlight[notice] = InFlight(
            queue: storms[place].queue, incidents: [episode], isStorm: true, addresses: addresses)
    }

    /// Somebody sees to a storm until an instant.
    mutating func hold(_ episode: Int64, until: RunningTime) {
        guard let place = place(episode) else { return }
        storms[place].heldUntil = until
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
        for notice in storms.remove(at: place).notices { inFlight[notice] = nil }
    }

    private func place(_ episode: Int64) -> Int? { storms.firstIndex { $0.episode == episode } }

    // MARK: - Settings

    /// Forgets what waits for receivers that people do not read, by their names.
    mutating func dropSingles(of receivers: Set<[UInt8]>) {
        for (queue, all) in singles where receivers.contains(queue.receiver) {
            for (incident, single) in all { forget(single, incident) }
            singles[queue] = nil
        }
    }

    // MARK: - Coming back

    /// The storms as they are, and of messages nothing: what they came to may be known to others.
    var storedStorms: StormState {
        var copy = StormState()
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
            let queue = Queue(receiver: notice.receiver, name: member.name)
            _ = begin(episode, queue, now: now, wall: member.startsAt)
        }
        guard let place = place(episode) else { return }
        if notice.kind == .fired || storms[place].trigger != 0 {
            storms[place].trigger = notice.number
        }
        storms[place].notifiedAt = now
        storms[place].notifiedCount = max(1, notice.storm?.count ?? 0)
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
            let queue = Queue(receiver: mute.receiver, name: mute.key.name)
            _ = begin(episode, queue, now: now, wall: wall)
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
        for (queue, all) in singles {
            for (incident, single) in all {
                if let key = keys[incident] {
                    singles[queue]?[incident]?.key = key
                } else {
                    forget(single, incident)
                    drop(incident, queue)
                }
            }
        }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&storms, empty: Storm()) { $1.code(&$0) }
        var queues = singles.keys.sorted(by: Queue.areInOrder)
        archive.code(&queues, empty: Queue()) { archive, queue in
            queue.code(&archive)
            var all = singles[queue] ?? [:]
            Single.code(&all, &archive)
            singles[queue] = all
        }
        var numbers = inFlight.keys.sorted()
        archive.code(&numbers, empty: 0) { archive, number in
            archive.code(&number)
            var entry = inFlight[number] ?? InFlight()
            entry.queue.code(&archive)
            archive.code(&entry.incidents)
            archive.code(&entry.isStorm)
            archive.code(&entry.addresses)
            inFlight[number] = entry
        }
        if archive.isReading { isDirty = !storms.isEmpty }
    }

    // MARK: - Invariants

    /// Returns, in words, what does not hold; `fires` are the firings that a receiver was told of,
    /// with the storm that tells of them.
    func brokenInvariants(_ fires: [Int64: [Alert.NotifiedReceiver]]) -> [String] {
        var broken: [String] = []
        func expect(_ holds: Bool, _ what: String) { if !holds { broken.append(what) } }
        func isNotified(_ incident: Int64, _ queue: Queue, by storm: Int64) -> Bool {
            fires[incident]?.contains { $0.receiver == queue.receiver && $0.storm == storm }
                ?? false
        }
        for storm in storms {
            expect(!storm.members.isEmpty, "storm \(storm.episode) has members")
            expect(storm.notifiedCount > 0, "storm \(storm.episode) is told")
            for (incident, single) in storm.members {
                expect(
                    isNotified(incident, storm.queue, by: storm.episode),
                    "\(incident) is told by storm \(storm.episode)")
                expect(
                    single.notices.allSatisfy { inFlight[$0] != nil }, "\(incident) is on its way")
            }
        }
        for (queue, all) in singles {
            expect(!all.isEmpty, "a lane without anything is let go of")
            for (incident, single) in all {
                expect(isNotified(incident, queue, by: 0), "\(incident) is told singly")
                expect(
                    single.notices.allSatisfy { inFlight[$0] != nil }, "\(incident) is on its way")
            }
        }
        let members = storms.reduce(0) { $0 + $1.members.count }
        let notified = fires.values.reduce(0) { $0 + $1.count { $0.storm != 0 } }
        expect(members == notified, "\(notified) are told by storms, which have \(members) members")
        let joinable = storms.filter(\.isJoinable).map(\.queue)
        expect(Set(joinable).count == joinable.count, "one storm of a lane is joined")
        return broken
    }
}
