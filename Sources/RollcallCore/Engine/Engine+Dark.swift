/// Dark time: how long somebody who was expected could not be reached, or not be located. Source:
/// C4.
extension Engine {
    // MARK: - Contact

    /// A person may have changed: what was dark is booked under what they were (C4).
    mutating func followDark(from before: Responder, _ person: inout Responder, _ number: Int) {
        guard before.isActive || person.isActive else { return }
        let now = clock.observedNow
        if before.isActive && person.isActive && isAsDark(before, person) {
            person.isDark = person.darkFrom <= now
            if person.isDark, !before.isDark { bookPromised(before) }
            guard person.isDark, now - person.darkFrom >= DarkBook.bookedEvery else { return }
            book(.contact, person, number, from: person.darkFrom, to: now)
            person.darkFrom = now
            return
        }
        if before.isActive, !before.isDark { bookPromised(before) }
        if before.isActive, before.darkFrom < now {
            book(.contact, before, number, from: before.darkFrom, to: now)
        }
        if person.isActive {
            startDark(&person)
        } else {
            person.isDark = false
            person.darkFrom = .distantFuture
        }
        if before.isActive && !person.isActive { leaveLocated(person, number, before) }
    }

    /// A person is erased: their dark time stays in the sums, which know nobody.
    mutating func keepDark(of person: Responder) {
        let length = clock.observedNow - person.darkFrom
        if person.isDark { counters.dark.add(.contact, DarkKey(person), length) }
        if person.isActive, !person.isDark { bookPromised(person) }
    }

    /// A person's promise is over, or more than it: for so long nothing else kept them from being dark
    /// (C4, P5). It counts by the settings of now, from when it was told.
    mutating func bookPromised(_ person: Responder) {
        guard person.promise > 0 else { return }
        let (floor, limits) = (policy.floor(person), policy.thresholds(person))
        let base = max(person.lastContact, person.activeSince)
        let start = max(base + floor.degraded, clock.observed(person.contactFolded))
        let end = min(base + limits.degraded, clock.observedNow)
        if start < end { counters.dark.add(promised: end - start, DarkKey(person)) }
    }

    /// Returns the watched time, in milliseconds, in which people of a region, or of all, were not dark
    /// by their promises alone; as far as it is over.
    package func promised(region: UInt32?, _ platform: Platform) -> Int64 {
        counters.dark.promised[DarkKey(region: region, platform: platform)] ?? 0
    }

    /// The thresholds changed under a person: what was dark under the old ones is booked.
    mutating func changeDark(_ person: inout Responder, _ number: Int) {
        let now = clock.observedNow
        if person.darkFrom < now { book(.contact, person, number, from: person.darkFrom, to: now) }
        startDark(&person)
    }

    /// Observed time that an active person is dark and that is not booked yet: it goes on, and no
    /// row of the store holds it (C4, D7).
    package func darkSoFar(_ person: Responder) -> Milliseconds {
        guard person.isActive else { return Milliseconds(0) }
        return max(Milliseconds(0), clock.observedNow - person.darkFrom)
    }

    /// True if nothing changed that decides since when somebody is dark, and for whom it counts.
    func isAsDark(_ a: Responder, _ b: Responder) -> Bool {
        a.lastContact == b.lastContact && a.activeSince == b.activeSince && a.duty == b.duty
            && a.factor == b.factor && a.region == b.region && a.platform == b.platform
            && a.isBehind == b.isBehind && a.promise == b.promise
    }

    /// From the instant on at which the last contact is older than the degraded threshold, or from
    /// now on if it is already.
    func startDark(_ person: inout Responder) {
        let now = clock.observedNow
        let start =
            max(person.lastContact, person.activeSince) + policy.thresholds(person).degraded
        person.darkFrom = max(start, now)
        person.isDark = start <= now
    }

    /// Returns the dark time of a region, or of all, and a platform, summed up, in milliseconds: in
    /// contact up to the last turn, in location as far as it is settled. It never falls.
    package func dark(_ kind: DarkKind, region: UInt32?, _ platform: Platform) -> Int64 {
        let key = DarkKey(region: region, platform: platform)
        switch kind {
        case .contact:
            let now = gaps.dark.asOf ?? clock.observedNow
            return max(counters.dark.shown[key] ?? 0, contactDark(key, at: now))
        case .location: return counters.dark.location[key] ?? 0
        }
    }

    private func contactDark(_ key: DarkKey, at now: ObservedTime) -> Int64 {
        (counters.dark.contact[key] ?? 0) + aggregates.darkMilliseconds(key, now: now)
    }

    /// Observed time will be set back from `now`: what was shown until then stays (B1).
    mutating func keepDarkShown(at now: ObservedTime) {
        for key in aggregates.darkKeys { counters.dark.keep(key, shown: contactDark(key, at: now)) }
    }

    // MARK: - Location

    /// A location of a person who is active, before it becomes their newest (C4).
    mutating func cover(_ person: Responder, _ number: Int, _ instant: ObservedTime) {
        let degraded = policy.thresholds(person).degraded
        let oldest = gaps.dark.cover(person, number, instant, degraded: degraded, now: clock.now)
        idleUntil = min(idleUntil, gaps.dark.nextHoles)
        if let oldest { book(.location, person, number, from: oldest.start, to: oldest.end) }
    }

    /// Until now a location covered `degraded`: what it covered by then it still does, though others
    /// cover less from now on (P5).
    mutating func keepCovered(_ person: Responder, _ number: Int, by degraded: Milliseconds) {
        guard isMeasuring, person.isActive, person.lastLocation > .distantPast,
            policy.thresholds(person).degraded < degraded
        else { return }
        let until = min(person.lastLocation + degraded, clock.observedNow)
        gaps.dark.account(
            person, number, until: until, degraded: policy.thresholds(person).degraded)
    }

    /// Somebody is no longer active: what no location covers is a hole.
    private mutating func leaveLocated(
        _ person: Responder, _ number: Int, _ before: Responder
    ) {
        guard isMeasuring else { return }
        let degraded = policy.thresholds(before).degraded
        let oldest = gaps.dark.leave(
            person, number, degraded: degraded, at: clock.observedNow, now: clock.now)
        if let oldest { book(.location, person, number, from: oldest.start, to: oldest.end) }
    }

    /// Books the holes that nothing has filled for two minutes.
    mutating func settleHoles() {
        guard gaps.dark.nextHoles <= clock.now else { return }
        for number in gaps.dark.takeDue(clock.now, people.roster) {
            gaps.bookHoles(number, people, policy, clock, &counters.dark)
        }
    }

    // MARK: - Booking

    private mutating func book(
        _ kind: DarkKind, _ person: Responder, _ number: Int, from start: ObservedTime,
        to end: ObservedTime
    ) {
        gaps.dark.book(
            kind, DarkBook.Stretch(start: start, end: end), person, number,
            region: regions[person.region], clock, &counters.dark)
    }

    /// Hands over what was booked.
    package mutating func takeDarkBookings() -> [DarkBooking] { gaps.dark.takeBookings() }
}

extension GapBook {
    /// The verdict settles the location-dark time too (C4).
    mutating func bookHoles(
        _ number: Int, _ people: People, _ policy: Policy, _ clock: ObservationClock,
        _ totals: inout DarkTotals
    ) {
        let person = people.roster[number]
        let degraded = policy.thresholds(person).degraded
        for hole in dark.takeHoles(person, number, degraded: degraded) {
            dark.book(
                .location, hole, person, number, region: people.regions[person.region], clock,
                &totals)
        }
    }
}
