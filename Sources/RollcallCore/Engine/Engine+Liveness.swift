/// The engine gives people their statuses: whoever follows one is called here. Source:
/// Contract/Liveness.
extension Engine {
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
        emit(number, from: from, to: status, origin)
        gaps.follow(
            &person, number, from: old, origin, &people, policy, clock, &counters, &decisions)
        alerting.followLastExtreme(
            &person, number, from: old, origin, now: clock.observedNow, policy.alerts)
    }

    private mutating func emit(_ number: Int, from: Status?, to: Status?, _ origin: Origin) {
        decisions.append(
            .status(at: clock.wallNow, number: number, from: from, to: to, origin: origin))
    }

    /// Makes active who is expected and was not, and the reverse (L1, L2).
    mutating func reconcile(
        _ person: inout Responder, _ number: Int, origin: Origin = .duty
    ) {
        let isExpected = person.notExpected == nil
        guard isExpected != person.isActive else { return }
        let (now, wall) = (clock.observedNow, clock.wallNow)
        if isExpected {
            emit(number, from: nil, to: .unknown, origin)
            let isHeard = liveness.begin(&person, policy.thresholds(person), now: now, wall: wall)
            if isHeard { change(&person, number, to: .online, .contact) }
        } else {
            emit(number, from: person.status, to: nil, origin)
            liveness.end(&person, number, wall: wall)
            alerting.clearFlapping(&person, number)
            if person.hasGap {
                gaps.abandon(&person, number, &people, clock, &counters, &decisions)
            }
        }
    }

    /// A contact told for `instant`. `taken` is what each install had taken before it (F26), `promise`
    /// what the phone promised with it, 0 for nothing; nil leaves what it promised before (P5).
    mutating func contact(
        _ person: inout Responder, _ number: Int, _ instant: ObservedTime, at wall: Timestamp,
        _ origin: Origin = .contact, from believed: Status? = nil, taken: Heights? = nil,
        promise: UInt16? = nil
    ) {
        let previous = person.lastContact
        if instant >= previous { takeCadence(&person, number, instant, promise) }
        if let better = liveness.hear(&person, number, instant, at: wall, policy, clock) {
            let from = person.status == .unknown && believed != better ? believed : nil
            change(&person, number, to: better, origin, from: from)
        }
        guard person.hasGap, person.isActive, person.status == .online else { return }
        gaps.close(
            &person, number, previous: previous, at: instant,
            heights: taken ?? heights(person, number), &people, policy, clock, &counters,
            &decisions)
    }

    /// Takes over where the app is, and what the phone promises: they decide from its newest
    /// contact on (F19, P5). Of batches that were received at one instant the longest promise
    /// counts, in whatever order they come (I2).
    private mutating func takeCadence(
        _ person: inout Responder, _ number: Int, _ instant: ObservedTime, _ reported: UInt16?
    ) {
        let isBehind = person.telemetry.isBehind
        let promise =
            instant > person.lastContact
            ? reported ?? person.promise : max(reported ?? 0, person.promise)
        guard isBehind != person.isBehind || promise != person.promise else { return }
        let degraded = policy.thresholds(person).degraded
        person.isBehind = isBehind
        person.promise = promise
        keepCovered(person, number, by: degraded)
    }

    /// Other thresholds may hold for an active person, for whom those of `old` did (L6).
    mutating func adjust(
        _ person: inout Responder, _ number: Int, old: Liveness.Limits, _ origin: Origin
    ) {
        let new = policy.thresholds(person)
        let better = liveness.adjust(&person, number, old: old, new: new, now: clock.observedNow)
        if let better { change(&person, number, to: better, origin) }
    }

    // MARK: - The server

    /// Takes a transition that the server declares (L7).
    mutating func foldTransition(
        _ item: Item, _ list: ItemList, _ number: Int, _ receipt: inout Receipt
    ) {
        guard let from = item.from, let to = item.to else {
            receipt.accepted += 1
            return
        }
        if let range = item.transitionID,
            liveness.isRetry(StableHash.of(list.bytes.span, range.indices), number)
        {
            receipt.duplicates += 1
            return
        }
        receipt.accepted += 1
        counters.serverTransitions[Int(from.rawValue) * 4 + Int(to.rawValue)] += 1
        let reportedAt = min(reportedAt(of: item) ?? clock.wallNow, clock.wallNow)
        let instant = clock.reported(reportedAt)
        edit(number) { engine, person in
            let isNew = person.lastRow == 0
            if isNew { person.duty = .onDuty }
            let adopts = engine.policy.serverTransitions == .adopt
            if to == .online && adopts {
                engine.liveness.returnRetired(&person, number, instant)
                person.isForgotten = false
            }
            engine.reconcile(&person, number)
            if to == .online && adopts {
                engine.contact(&person, number, instant, at: reportedAt, .server, from: from)
            } else if to == .degraded || to == .offline {
                engine.worsen(
                    &person, number, .init(from: from, to: to, instant: instant, isNew: isNew))
            }
            if person.isActive, to != .unknown, person.status != to {
                engine.counters.disagreements[
                    Int(person.status.rawValue) * 4 + Int(to.rawValue)] += 1
            }
        }
    }

    /// The server declares somebody worse.
    private mutating func worsen(
        _ person: inout Responder, _ number: Int, _ declaration: Liveness.Declaration
    ) {
        guard
            liveness.adopts(
                declaration, person, number, active: people.aggregates.active + 1, policy, clock)
        else { return }
        let (from, to) = (declaration.from, declaration.to)
        let believed = person.status == .unknown && from != to ? from : nil
        if declaration.wasOnline(person) { person.status = .online }
        change(&person, number, to: to, .server, from: believed)
    }

    // MARK: - Once an instant

    /// Ends the pauses that are over.
    mutating func settlePauses() {
        let expired = liveness.takePaused(until: clock.wallNow)
        guard !expired.isEmpty else { return }
        for number in expired.sorted(by: roster.precedes) {
            edit(number) { engine, person in
                person.sharing = .active
                engine.reconcile(&person, number)
            }
        }
    }

    /// Passes the deadlines that are due: first the late, then the forgotten (F1).
    mutating func settleDeadlines(_ relief: Relief) {
        let now = clock.observedNow
        let (late, lost) = liveness.takeDue(now, people.roster, policy)
        guard !late.isEmpty || !lost.isEmpty else { return }
        var left = late.count
        for number in roster.inOrder(late) {
            edit(number) { engine, person in
                while let worse = person.worse(at: now) {
                    engine.change(&person, number, to: worse, .deadline)
                }
            }
            left -= 1
            if decisions.count >= massFrom { relief(&self, left) }
        }
        for number in roster.inOrder(lost) {
            edit(number) { engine, person in
                guard engine.policy.forgottenFrom(person) <= now else { return }
                person.isForgotten = true
                engine.reconcile(&person, number, origin: .deadline)
            }
        }
    }

    /// Notes when the person next falls due.
    @inline(__always)
    mutating func arm(_ person: Responder, _ number: Int) {
        if liveness.arm(person, number, policy) { idleUntil = .distantPast }
    }
}
