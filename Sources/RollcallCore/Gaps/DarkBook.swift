/// The book of dark time: what is still open of it, and what is to be booked. Source: C4.
struct DarkBook: Sendable {
    /// The interval at which the time of those who stay dark is booked, so that a day's row is not
    /// later than that.
    static let bookedEvery = Milliseconds.seconds(3600)
    /// The time for which a hole stays open for locations that come later, unless a verdict settles
    /// it.
    private static let coveredWithin = Milliseconds.seconds(120)
    private static let dayMilliseconds: Int64 = 86_400_000

    /// A stretch of observed time that is to be booked.
    typealias Stretch = Uncovered.Hole

    private var uncovered = SideTable<Uncovered>()
    /// The instants at which uncovered stretches are booked.
    private var holes = DeadlineQueue<RunningTime>()
    /// The bookings that the driver has not taken yet.
    private var bookings: [DarkBooking] = []
    /// In a view: the last turn. What ran since is gone if we were stopped meanwhile, and a counter
    /// must not fall.
    private(set) var asOf: ObservedTime?

    init() {}

    /// The stretches of everybody that no location covers, as they are now.
    var uncoveredByNumber: SideTable<Uncovered> { uncovered }

    /// Counts what runs on no further than up to `now`: for a view.
    mutating func freeze(at now: ObservedTime) { asOf = now }

    // MARK: - Holes

    /// A location of a person who is active covers a stretch of `degraded`, before it becomes their
    /// newest (C4). Returns a hole that found no more place.
    mutating func cover(
        _ person: Responder, _ number: Int, _ instant: ObservedTime, degraded: Milliseconds,
        now: RunningTime
    ) -> Stretch? {
        let until = locatedUntil(person, number, degraded)
        var oldest: Stretch?
        if person.isActive, instant > until {
            oldest = leave(number, from: until, to: instant, now: now)
        }
        guard var entry = uncovered[number] else { return oldest }
        entry.cover(from: instant, to: instant + degraded)
        let isOver = entry.holes.isEmpty && entry.until <= instant + degraded
        uncovered[number] = isOver ? nil : entry
        return oldest
    }

    /// Somebody is no longer active: what no location covers is a hole. Returns one that found no
    /// more place.
    mutating func leave(
        _ person: Responder, _ number: Int, degraded: Milliseconds, at end: ObservedTime,
        now: RunningTime
    ) -> Stretch? {
        let until = locatedUntil(person, number, degraded)
        return until < end ? leave(number, from: until, to: end, now: now) : nil
    }

    /// Returns up to where locations cover the person's active time, or it is accounted for
    /// otherwise.
    private func locatedUntil(
        _ person: Responder, _ number: Int, _ degraded: Milliseconds
    ) -> ObservedTime {
        let until = max(person.lastLocation + degraded, person.activeSince)
        return max(until, uncovered[number]?.until ?? .distantPast)
    }

    private mutating func leave(
        _ number: Int, from start: ObservedTime, to end: ObservedTime, now: RunningTime
    ) -> Stretch? {
        var entry = uncovered[number] ?? Uncovered()
        if entry.holes.isEmpty { schedule(&entry, number, now) }
        let oldest = entry.add(from: start, to: end)
        uncovered[number] = entry
        return oldest
    }

    /// Up to here all is accounted for, though by the threshold of now it would not be.
    mutating func account(
        _ person: Responder, _ number: Int, until: ObservedTime, degraded: Milliseconds
    ) {
        guard until > locatedUntil(person, number, degraded) else { return }
        var entry = uncovered[number] ?? Uncovered()
        entry.account(until: until)
        uncovered[number] = entry
    }

    private mutating func schedule(_ entry: inout Uncovered, _ number: Int, _ now: RunningTime) {
        entry.due = now + Self.coveredWithin
        holes.push(.init(at: entry.due, number: UInt32(number)))
    }

    /// The earliest instant at which holes are to be booked.
    var nextHoles: RunningTime { holes.first?.at ?? .distantFuture }

    /// Takes the numbers of those whose holes nothing has filled for two minutes, by rising number.
    /// Those of a gap wait for its verdict.
    mutating func takeDue(_ now: RunningTime, _ roster: Roster) -> [Int] {
        var due: [Int] = []
        while let first = holes.first, first.at <= now, holes.popFirst() != nil {
            let number = Int(first.number)
            if uncovered[number]?.due == first.at, !roster[number].hasGap { due.append(number) }
        }
        return due.sorted()
    }

    /// Takes the holes of a person, to be booked: nothing fills them any more.
    mutating func takeHoles(
        _ person: Responder, _ number: Int, degraded: Milliseconds
    ) -> [Stretch] {
        guard let entry = uncovered[number] else { return [] }
        let isAhead = entry.until > max(person.lastLocation + degraded, person.activeSince)
        uncovered[number] = isAhead ? Uncovered(until: entry.until) : nil
        return entry.holes.filter { $0.start < $0.end }
    }

    /// A gap ended without a verdict: its holes have two minutes of their own.
    mutating func release(_ number: Int, now: RunningTime) {
        guard var entry = uncovered[number], !entry.holes.isEmpty else { return }
        schedule(&entry, number, now)
        uncovered[number] = entry
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        uncovered.changeAll { $0.clampInstants(to: now) }
    }

    /// A person is erased.
    mutating func forget(_ number: Int) { uncovered[number] = nil }

    /// Puts back what a person's locations do not cover.
    mutating func restore(_ entry: Uncovered?, _ number: Int) {
        uncovered.put(entry, at: number)
        guard let entry, !entry.holes.isEmpty else { return }
        holes.push(.init(at: entry.due, number: UInt32(number)))
    }

    // MARK: - Booking

    /// Books a stretch under what the person is, in a region of that name, and adds it to `totals`:
    /// a row a day.
    mutating func book(
        _ kind: DarkKind, _ stretch: Stretch, _ person: Responder, _ number: Int,
        region: [UInt8], _ clock: ObservationClock, _ totals: inout DarkTotals
    ) {
        totals.add(kind, DarkKey(person), stretch.end - stretch.start)
        var start = stretch.start
        while start < stretch.end {
            let wall = clock.wall(clock.wasRunning(at: start)).milliseconds
            let day = wall.flooredDivision(by: Self.dayMilliseconds)
            let rest = (day + 1) * Self.dayMilliseconds - wall
            let next = min(stretch.end, start + Milliseconds(rest))
            bookings.append(
                DarkBooking(
                    number: number, day: day, kind: kind, length: next - start, region: region,
                    platform: person.platform))
            start = next
        }
    }

    /// Hands over what was booked.
    mutating func takeBookings() -> [DarkBooking] {
        defer { bookings = [] }
        return bookings
    }
}

extension Int64 {
    /// The quotient, rounded down also below zero.
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
