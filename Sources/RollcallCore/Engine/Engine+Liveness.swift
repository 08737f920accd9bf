/// Statuses and deadlines. Source: Contract/Liveness, F17 to F23.
extension Engine {
    // MARK: - Changes

    /// Gives a person a status and says so; counts it unless they were not expected (F5).
    mutating func change(
        _ person: inout Responder, _ number: Int, to status: Status, _ origin: Origin,
        from believed: Status? = nil
    ) {
        let old = person.status
        let from = believed ?? old
        person.status = status
        person.since = clock.wallNow
        // A server's word for worse is no contact.
        if status < min(old, .unknown) { person.isHeard = true }
        if status == .offline { person.offlineSince = clock.observedNow }
        counters.transitions[Int(from.rawValue) * 4 + Int(status.rawValue)] += 1
        decisions.append(
            .status(at: clock.wallNow, number: number, from: from, to: status, origin: origin))
        gaps.follow(
            &person, number, from: old, origin, &people, policy, clock, &counters, &decisions)
        alerting.followLastExtreme(
            &person, number, from: old, origin, now: clock.observedNow, policy.alerts)
    }

    /// Makes active who is expected and was not, and the reverse (L1, L2).
    mutating func reconcile(
        _ person: inout Responder, _ number: Int, origin: Origin = .duty
    ) {
        let isExpected = person.notExpected == nil
        guard isExpected != person.isActive else { return }
        let now = clock.observedNow
        if isExpected {
            person.isActive = true
            person.isHeard = false
            person.status = .unknown
            person.activeSince = now
            emit(number, from: nil, to: .unknown, origin)
            person.since = clock.wallNow
            let limits = setDeadlines(&person)
            if person.wasHeard, now - person.lastContact <= limits.degraded {
                change(&person, number, to: .online, .contact)
            }
        } else {
            emit(number, from: person.status, to: nil, origin)
            person.since = clock.wallNow
            person.isActive = false
            adopted[number] = nil
            alerting.clearFlapping(&person, number)
            if person.hasGap {
                gaps.abandon(&person, number, &people, clock, &counters, &decisions)
            }
        }
    }

    private mutating func emit(_ number: Int, from: Status?, to: Status?, _ origin: Origin) {
        decisions.append(
            .status(at: clock.wallNow, number: number, from: from, to: to, origin: origin))
    }

    // MARK: - Contact

    /// A contact told for `instant`: what it is worth follows from its own age, deadlines from the
    /// newest one (L3, F18). `taken` is what each install had taken before it (F26).
    mutating func contact(
        _ person: inout Responder, _ number: Int, _ instant: ObservedTime, at wall: Timestamp,
        _ origin: Origin = .contact, from believed: Status? = nil, taken: Heights? = nil
    ) {
        let previous = person.lastContact
        hear(&person, number, instant, at: wall, origin, from: believed)
        guard person.hasGap, person.isActive, person.status == .online else { return }
        gaps.close(
            &person, number, previous: previous, at: instant,
            heights: taken ?? heights(person, number), &people, policy, clock, &counters,
            &decisions)
    }

    private mutating func hear(
        _ person: inout Responder, _ number: Int, _ instant: ObservedTime, at wall: Timestamp,
        _ origin: Origin, from believed: Status?
    ) {
        person.contactFolded = clock.now
        let isNewest = instant >= person.lastContact
        if isNewest {
            person.factor = policy.factor(person)
            person.lastContact = instant
            person.lastContactAt = wall
        }
        guard person.isActive else { return }
        if instant >= person.activeSince { person.isHeard = true }
        let limits = isNewest ? setDeadlines(&person) : policy.thresholds(person)
        let adoption = adopted[number]
        let best = adoption?.best(instant) ?? .online
        if adoption != nil, best == .online { adopted[number] = nil }
        let age = clock.observedNow - instant
        let worth = max(
            best, age <= limits.degraded ? .online : age <= limits.offline ? .degraded : .offline)
        guard worth < person.status else { return }
        let from = person.status == .unknown && believed != worth ? believed : nil
        change(&person, number, to: worth, origin, from: from)
    }

    // MARK: - Deadlines

    /// The latest of last contact, becoming active and the last grace: where deadlines count from
    /// (F18). Inlined like what follows where a person is an argument: a call copies them.
    @inline(__always)
    private func base(_ person: Responder) -> ObservedTime {
        max(person.lastContact, person.activeSince, person.grace)
    }

    /// Sets both deadlines anew and returns the thresholds.
    @discardableResult
    private func setDeadlines(
        _ person: inout Responder
    ) -> (degraded: Milliseconds, offline: Milliseconds) {
        let limits = policy.thresholds(person)
        let base = base(person)
        person.degradedDeadline = base + limits.degraded
        person.offlineDeadline = base + limits.offline
        return limits
    }

    /// Other thresholds for an active person: a stricter one never makes late at once, a looser
    /// one re-judges (L6, F19).
    mutating func adjust(
        _ person: inout Responder, _ number: Int,
        old: (degraded: Milliseconds, offline: Milliseconds), _ origin: Origin
    ) {
        let new = policy.thresholds(person)
        let now = clock.observedNow
        let base = base(person)
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
            return
        }
        if max(better, adopted) < person.status {
            change(&person, number, to: max(better, adopted), origin)
        }
    }

    /// Returns the earliest instant at which time alone changes something about a person.
    @inline(__always)
    func due(_ person: Responder) -> ObservedTime {
        guard person.isActive else { return .distantFuture }
        let dark = person.isDark ? person.darkFrom + DarkBook.bookedEvery : person.darkFrom
        let stale = person.isStale ? .distantFuture : staleFrom(person)
        return min(dark, stale, person.status == .offline ? forgotten(person) : person.lateness)
    }

    /// Returns the instant at which somebody who is OFFLINE is forgotten (L10).
    private func forgotten(_ person: Responder) -> ObservedTime {
        person.offlineSince + policy.forgetAfter
    }

    /// Notes when the person next falls due.
    @inline(__always)
    mutating func arm(_ person: Responder, _ number: Int) {
        if deadlines.set(number, due(person)) { idleUntil = .distantPast }
    }

    /// The earliest true deadline. What moved on unnoticed is noted on the way.
    mutating func nextDeadline() -> ObservedTime? {
        while let first = deadlines.first() {
            let person = roster[first.number]
            let due = due(person)
            if due <= first.at { return max(first.at, reigns.waitsUntil) }
            _ = deadlines.set(first.number, due)
        }
        return nil
    }

    /// Passes the deadlines that are due: first the late, then the forgotten (F1).
    mutating func settleDeadlines() {
        let now = clock.observedNow
        guard now >= reigns.waitsUntil else { return }
        let (late, lost, moved) = due(now, among: deadlines.take(until: now))
        for (number, due) in moved { _ = deadlines.set(number, due) }
        guard !late.isEmpty || !lost.isEmpty else { return }
        for number in late.sorted(by: roster.precedes) {
            edit(number) { engine, person in engine.passDeadlines(&person, number, now) }
        }
        for number in lost.sorted(by: roster.precedes) {
            edit(number) { engine, person in
                guard engine.forgotten(person) <= now else { return }
                person.isForgotten = true
                engine.reconcile(&person, number, origin: .deadline)
            }
        }
    }

    /// Of those whose time was noted as come, the late and those to be forgotten, and when the others
    /// fall due, who moved on unnoticed.
    ///
    /// It changes nothing: where `due(_:)` is inlined into what does, the engine is copied for each.
    private func due(
        _ now: ObservedTime, among numbers: [Int]
    ) -> (late: [Int], lost: [Int], moved: [(number: Int, due: ObservedTime)]) {
        var late: [Int] = []
        var lost: [Int] = []
        var moved: [(number: Int, due: ObservedTime)] = []
        for number in numbers {
            let due = due(roster[number])
            if due > now {
                moved.append((number, due))
            } else if roster[number].status == .offline {
                lost.append(number)
            } else {
                late.append(number)
            }
        }
        return (late, lost, moved)
    }

    /// A run through DEGRADED to OFFLINE is two transitions (F3).
    private mutating func passDeadlines(
        _ person: inout Responder, _ number: Int, _ now: ObservedTime
    ) {
        if person.status == .online, person.lateness <= now {
            change(&person, number, to: .degraded, .deadline)
        }
        if person.status == .degraded || person.status == .unknown, person.offlineDeadline <= now {
            change(&person, number, to: .offline, .deadline)
        }
    }

    // MARK: - Blindness

    /// Deadlines of everybody who is not OFFLINE start anew (B5).
    mutating func grantGrace() {
        for number in 0..<roster.count {
            var person = roster[number]
            guard person.isActive, person.status != .offline else { continue }
            person.grace = clock.observedNow
            setDeadlines(&person)
            arm(person, number)
            roster[number] = person
        }
        alerting.board.startPendingAnew(clock.observedNow, policy.alerts)
    }

    /// Observed time was set back: no instant may lie in the future of it (B1, F9). What was
    /// decided in between stands.
    mutating func setBack() {
        let now = clock.observedNow
        for number in 0..<roster.count {
            recount(number) { engine, person in engine.setBack(&person, to: now) }
        }
        nudges.clampInstants(to: now)
        adopted.changeAll { adoption in
            adoption.degradedAt = min(adoption.degradedAt, now)
            adoption.offlineAt = min(adoption.offlineAt, now)
        }
        retired.changeAll { $0 = min($0, now) }
        factOverflows.changeAll { $0.clampInstants(to: now) }
        declaredWorse.clampInstants(to: now)
        reigns.clampInstants(to: now)
        gaps.clampInstants(to: now)
        alerting.evaluateFlappingAnew(now)
        alerting.board.clampInstants(to: now, policy.alerts)
        // Ages are others now, and everything is judged by them once we can see again (F8).
        alerting.board.isAllDirty = true
    }

    private func setBack(_ person: inout Responder, to now: ObservedTime) {
        person.clampInstants(to: now)
        if person.isActive {
            let limits = policy.thresholds(person)
            if person.darkFrom > now { startDark(&person) }
            person.degradedDeadline = min(person.degradedDeadline, now + limits.degraded)
            person.offlineDeadline = min(person.offlineDeadline, now + limits.offline)
        }
        if person.isStale, staleFrom(person) > now { person.isStale = false }
    }
}

extension Responder {
    /// Moves every instant that lies after `now` to `now`.
    fileprivate mutating func clampInstants(to now: ObservedTime) {
        lastContact = min(lastContact, now)
        activeSince = min(activeSince, now)
        offlineSince = min(offlineSince, now)
        grace = min(grace, now)
        lastLocation = min(lastLocation, now)
        factTimes.clampInstants(to: now)
        emptyQueueAt = min(emptyQueueAt, now)
    }
}
