/// Dark time: how long somebody who was expected could not be reached, or not be located. Source:
/// C4.
extension Engine {
    /// The interval at which the time of those who stay dark is booked, so that a day's row is not
    /// later than that.
    static let darkBookedEvery = Milliseconds.seconds(3600)
    /// The time for which a hole stays open for locations that come later, unless a verdict settles
    /// it.
    private static let coveredWithin = Milliseconds.seconds(120)
    private static let dayMilliseconds: Int64 = 86_400_000

    // MARK: - Contact

    /// A person may have changed: what was dark is booked under what they were (C4).
    mutating func followDark(from before: Responder, _ person: inout Responder, _ number: Int) {
        guard before.isActive || person.isActive else { return }
        let now = clock.observedNow
        if before.isActive && person.isActive && isAsDark(before, person) {
            person.isDark = person.darkFrom <= now
            guard person.isDark, now - person.darkFrom >= Self.darkBookedEvery else { return }
            book(.contact, person, number, from: person.darkFrom, to: now)
            person.darkFrom = now
            return
        }
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
            let now = darkAsOf ?? clock.observedNow
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
        let until = locatedUntil(person, number, degraded)
        if person.isActive, instant > until { leave(person, number, from: until, to: instant) }
        guard var uncovered = uncovered[number] else { return }
        uncovered.cover(from: instant, to: instant + degraded)
        let isOver = uncovered.holes.isEmpty && uncovered.until <= instant + degraded
        self.uncovered[number] = isOver ? nil : uncovered
    }

    /// Up to where locations cover the person's active time, or it is accounted for otherwise.
    private func locatedUntil(
        _ person: Responder, _ number: Int, _ degraded: Milliseconds
    ) -> ObservedTime {
        let until = max(person.lastLocation + degraded, person.activeSince)
        return max(until, uncovered[number]?.until ?? .distantPast)
    }

    /// Somebody is no longer active: what no location covers is a hole.
    private mutating func leaveLocated(
        _ person: Responder, _ number: Int, _ before: Responder
    ) {
        guard isMeasuring else { return }
        let until = locatedUntil(person, number, policy.thresholds(before).degraded)
        let now = clock.observedNow
        if until < now { leave(person, number, from: until, to: now) }
    }

    private mutating func leave(
        _ person: Responder, _ number: Int, from start: ObservedTime, to end: ObservedTime
    ) {
        var entry = uncovered[number] ?? Uncovered()
        if entry.holes.isEmpty { schedule(&entry, number) }
        if let oldest = entry.add(from: start, to: end) {
            book(.location, person, number, from: oldest.start, to: oldest.end)
        }
        uncovered[number] = entry
    }

    private mutating func schedule(_ entry: inout Uncovered, _ number: Int) {
        entry.due = clock.now + Self.coveredWithin
        idleUntil = .distantPast
        holes.push(.init(at: entry.due, number: UInt32(number)))
    }

    /// The earliest instant at which holes are to be booked.
    var nextHoles: RunningTime { holes.first?.at ?? .distantFuture }

    /// Books the holes that nothing has filled for two minutes. Those of a gap wait for its verdict.
    mutating func settleHoles() {
        var due: [Int] = []
        while let first = holes.first, first.at <= clock.now, holes.popFirst() != nil {
            let number = Int(first.number)
            if uncovered[number]?.due == first.at, !roster[number].hasGap { due.append(number) }
        }
        for number in due.sorted() { bookHoles(number) }
    }

    /// The verdict settles the location-dark time too (C4).
    mutating func bookHoles(_ number: Int) {
        guard let entry = uncovered[number] else { return }
        uncovered[number] = nil
        let person = roster[number]
        for hole in entry.holes where hole.start < hole.end {
            book(.location, person, number, from: hole.start, to: hole.end)
        }
        let degraded = policy.thresholds(person).degraded
        if entry.until > max(person.lastLocation + degraded, person.activeSince) {
            uncovered[number] = Uncovered(until: entry.until)
        }
    }

    /// A gap ended without a verdict: its holes have two minutes of their own.
    mutating func releaseHoles(_ number: Int) {
        guard var entry = uncovered[number], !entry.holes.isEmpty else { return }
        schedule(&entry, number)
        uncovered[number] = entry
    }

    // MARK: - Booking

    private mutating func book(
        _ kind: DarkKind, _ person: Responder, _ number: Int, from start: ObservedTime,
        to end: ObservedTime
    ) {
        counters.dark.add(kind, DarkKey(person), end - start)
        var start = start
        while start < end {
            let wall = clock.wall(clock.wasRunning(at: start)).milliseconds
            let day = wall.flooredDivision(by: Self.dayMilliseconds)
            let rest = (day + 1) * Self.dayMilliseconds - wall
            let next = min(end, start + Milliseconds(rest))
            darkBookings.append(
                DarkBooking(
                    number: number, day: day, kind: kind, length: next - start,
                    region: regions[person.region], platform: person.platform))
            start = next
        }
    }

    /// Hands over what was booked.
    package mutating func takeDarkBookings() -> [DarkBooking] {
        defer { darkBookings = [] }
        return darkBookings
    }
}

extension Int64 {
    /// The quotient, rounded down also below zero.
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
