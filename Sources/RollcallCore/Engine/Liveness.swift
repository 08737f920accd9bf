/// `Liveness` knows who is heard and who is late: statuses and deadlines, retirements, pauses, and
/// what the server says of people. Source: Contract/Liveness, F17 to F23.
///
/// It is told of contact, of settings and of time, and decides which status somebody comes to have by
/// it; the engine gives them that status (`Engine.change`), and gaps and alerts follow. It changes no
/// person but the one it is given.
struct Liveness: Sendable {
    /// The thresholds of a person.
    typealias Limits = (degraded: Milliseconds, offline: Milliseconds)

    /// The times that were adopted from the server, by number.
    var adopted = SideTable<Adoption>()
    var declaredWorse = DeclaredWorse()
    /// Hashes of the ids of the server's last transitions, by number.
    var transitionIDs = SideTable<[UInt64]>()
    /// The instants at which people were retired, by number.
    var retired = SideTable<ObservedTime>()
    /// The instants, by the wall, at which pauses end by themselves, by number.
    var pauses = SideTable<Timestamp>()
    var reigns = Reigns()
    private var pauseQueue = DeadlineQueue<Timestamp>()
    /// The instants at which people are late, dark, too old or forgotten.
    private var deadlines = DueTimes()

    init() {}

    // MARK: - Being expected

    /// A person is expected from now on: nothing is known of them (L2). True if they were heard so
    /// lately that they are ONLINE.
    func begin(
        _ person: inout Responder, _ limits: Limits, now: ObservedTime, wall: Timestamp
    ) -> Bool {
        person.isActive = true
        person.isHeard = false
        person.status = .unknown
        person.activeSince = now
        person.since = wall
        person.setDeadlines(limits)
        return person.wasHeard && now - person.lastContact <= limits.degraded
    }

    /// A person is expected no longer.
    mutating func end(_ person: inout Responder, _ number: Int, wall: Timestamp) {
        person.since = wall
        person.isActive = false
        adopted[number] = nil
    }

    // MARK: - Contact

    /// A contact told for `instant`: what it is worth follows from its own age, deadlines from the
    /// newest one (L3, F18). Returns a better status that it gives.
    @inline(__always)
    mutating func hear(
        _ person: inout Responder, _ number: Int, _ instant: ObservedTime, at wall: Timestamp,
        _ policy: Policy, _ clock: ObservationClock
    ) -> Status? {
        person.contactFolded = clock.now
        let isNewest = instant >= person.lastContact
        if isNewest {
            person.factor = policy.factor(person)
            person.lastContact = instant
            person.lastContactAt = wall
        }
        guard person.isActive else { return nil }
        if instant >= person.activeSince { person.isHeard = true }
        let limits = policy.thresholds(person)
        if isNewest { person.setDeadlines(limits) }
        let adoption = adopted[number]
        let best = adoption?.best(instant) ?? .online
        if adoption != nil, best == .online { adopted[number] = nil }
        let age = clock.observedNow - instant
        let worth = max(
            best, age <= limits.degraded ? .online : age <= limits.offline ? .degraded : .offline)
        return worth < person.status ? worth : nil
    }

    // MARK: - Thresholds

    /// Other thresholds for an active person: a stricter one never makes late at once, a looser
    /// one re-judges (L6, F19). Returns a better status that it gives.
    func adjust(
        _ person: inout Responder, _ number: Int, old: Limits, new: Limits, now: ObservedTime
    ) -> Status? {
        let base = person.deadlineBase
        if new.degraded < old.degraded {
            person.degradedDeadline = min(person.degradedDeadline, now + new.degraded)
        } else if new.degraded > old.degraded {
            // Loosening after a stretched deadline (L6) must not make late either.
            person.degradedDeadline = max(person.degradedDeadline, base + new.degraded)
        }
        if new.offline < old.offline {
            person.offlineDeadline = min(person.offlineDeadline, now + new.offline)
        } else if new.offline > old.offline {
            person.offlineDeadline = max(person.offlineDeadline, base + new.offline)
        }
        // What was adopted from the server stays until contact. A grace moves deadlines, not ages
        // (L4).
        let adopted = adopted[number]?.worst ?? .online
        let age = now - max(person.lastContact, person.activeSince)
        let better: Status
        if person.status == .offline, new.offline > old.offline, age <= new.offline {
            better = !person.isHeard ? .unknown : age <= new.degraded ? .online : .degraded
        } else if person.status == .degraded, new.degraded > old.degraded, age <= new.degraded {
            better = .online
        } else {
            return nil
        }
        let status = max(better, adopted)
        return status < person.status ? status : nil
    }

    // MARK: - Deadlines

    /// Notes when the person next falls due; true if nobody near them was known to as early.
    @inline(__always)
    mutating func arm(_ person: Responder, _ number: Int, _ policy: Policy) -> Bool {
        deadlines.set(number, policy.due(person))
    }

    /// The earliest true deadline. What moved on unnoticed is noted on the way.
    mutating func nextDeadline(_ roster: Roster, _ policy: Policy) -> ObservedTime? {
        while let first = deadlines.first() {
            let due = policy.due(roster[first.number])
            if due <= first.at { return max(first.at, reigns.waitsUntil) }
            _ = deadlines.set(first.number, due)
        }
        return nil
    }

    /// Takes those whose deadline is over by `now`, in no order: the late, and those to be forgotten.
    mutating func takeDue(
        _ now: ObservedTime, _ roster: Roster, _ policy: Policy
    ) -> (late: [Int], lost: [Int]) {
        guard now >= reigns.waitsUntil else { return ([], []) }
        var late: [Int] = []
        var lost: [Int] = []
        for number in deadlines.take(until: now) {
            let due = policy.due(roster[number])
            if due > now {
                _ = deadlines.set(number, due)
            } else if roster[number].status == .offline {
                lost.append(number)
            } else {
                late.append(number)
            }
        }
        return (late, lost)
    }

    /// Deadlines of everybody who is not OFFLINE start anew (B5).
    mutating func grantGrace(_ roster: inout Roster, _ policy: Policy, now: ObservedTime) {
        for number in 0..<roster.count {
            var person = roster[number]
            guard person.isActive, person.status != .offline else { continue }
            person.grace = now
            person.setDeadlines(policy.thresholds(person))
            _ = arm(person, number, policy)
            roster[number] = person
        }
    }

    /// Returns, in words, what does not hold of a person's deadline.
    func broken(_ person: Responder, _ number: Int, _ policy: Policy) -> [String] {
        guard person.isActive else { return [] }
        return (deadlines[number] <= policy.due(person) ? [] : ["the deadline is noted"])
            + (deadlines.isObserved(number) ? [] : ["what is noted is looked at in time"])
    }

    // MARK: - Retirement

    mutating func retire(_ person: inout Responder, _ number: Int, now: ObservedTime) {
        person.isRetired = true
        retired[number] = now
    }

    mutating func endRetirement(_ person: inout Responder, _ number: Int) {
        person.isRetired = false
        retired[number] = nil
    }

    /// Contact received after a retirement brings the person back (F17).
    mutating func returnRetired(
        _ person: inout Responder, _ number: Int, _ instant: ObservedTime
    ) {
        guard person.isRetired, let at = retired[number], instant > at else { return }
        endRetirement(&person, number)
    }

    // MARK: - Pauses

    /// Sharing and the end of a pause, as an item tells them (F23).
    mutating func share(_ item: Item, _ person: inout Responder, _ number: Int, wall: Timestamp) {
        if let until = item.pausedUntil, item.sharing != .active {
            person.sharing = until > wall ? .paused : .active
            pauses[number] = person.sharing == .paused ? until : nil
            if person.sharing == .paused { waitForPause(number, until: until) }
        } else if item.sharing == .paused {
            person.sharing = .paused
        } else {
            person.sharing = .active
            pauses[number] = nil
        }
    }

    private mutating func waitForPause(_ number: Int, until: Timestamp) {
        pauseQueue.push(.init(at: until, number: UInt32(number)))
    }

    /// The instant, by the wall, at which the next pause may end by itself.
    var nextPause: Timestamp? { pauseQueue.first?.at }

    /// Takes those whose pause is over, in no order.
    mutating func takePaused(until wall: Timestamp) -> [Int] {
        var numbers: [Int] = []
        while let first = pauseQueue.first, first.at <= wall {
            _ = pauseQueue.popFirst()
            let number = Int(first.number)
            guard pauses[number] == first.at else { continue }
            pauses[number] = nil
            numbers.append(number)
        }
        return numbers
    }

    // MARK: - Beside the people

    /// Puts back when somebody's pause ends.
    mutating func restore(pausedUntil until: Timestamp?, _ number: Int) {
        guard let until else { return }
        pauses[number] = until
        waitForPause(number, until: until)
    }

    /// A person is erased.
    mutating func forget(_ number: Int) {
        adopted[number] = nil
        declaredWorse.forget(number)
        transitionIDs[number] = nil
        retired[number] = nil
        pauses[number] = nil
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        adopted.changeAll { adoption in
            adoption.degradedAt = min(adoption.degradedAt, now)
            adoption.offlineAt = min(adoption.offlineAt, now)
        }
        retired.changeAll { $0 = min($0, now) }
        declaredWorse.clampInstants(to: now)
        reigns.clampInstants(to: now)
    }
}

extension Responder {
    /// The latest of last contact, becoming active and the last grace: where deadlines count from
    /// (F18).
    fileprivate var deadlineBase: ObservedTime { max(lastContact, activeSince, grace) }

    /// Sets both deadlines anew.
    fileprivate mutating func setDeadlines(_ limits: Liveness.Limits) {
        let base = deadlineBase
        degradedDeadline = base + limits.degraded
        offlineDeadline = base + limits.offline
    }

    /// The worse status that somebody has once a deadline is over; nil while none is. A run through
    /// DEGRADED to OFFLINE is two transitions (F3).
    func worse(at now: ObservedTime) -> Status? {
        switch status {
        case .online: lateness <= now ? .degraded : nil
        case .degraded, .unknown: offlineDeadline <= now ? .offline : nil
        case .offline: nil
        }
    }
}

extension Policy {
    /// Returns the earliest instant at which time alone changes something about a person.
    @inline(__always)
    func due(_ person: Responder) -> ObservedTime {
        guard person.isActive else { return .distantFuture }
        let dark = person.isDark ? person.darkFrom + DarkBook.bookedEvery : person.darkFrom
        let stale = person.isStale ? .distantFuture : nudges.staleFrom(person)
        return min(
            dark, stale, person.status == .offline ? forgottenFrom(person) : person.lateness)
    }

    /// Returns the instant from which on somebody who is OFFLINE is forgotten (L10).
    @inline(__always)
    func forgottenFrom(_ person: Responder) -> ObservedTime { person.offlineSince + forgetAfter }
}
