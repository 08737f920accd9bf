/// The fleet cell's knowledge of who fell out of contact lately, region by region, and the masses of them.
/// Source: C1, K2.
package struct FleetMasses: Sendable {
    /// A mass to which nobody came for so long is handed out no more: no cell that is heard lacks it then.
    private static let handedFor = Milliseconds.seconds(10 * 60)
    /// Those of whom it was heard so long ago are forgotten, whatever was seen meanwhile.
    private static let heardFor = Milliseconds.seconds(10 * 60)

    /// Different people of one cell who fell silent at one instant.
    private struct Fallen: Equatable {
        var at = ObservedTime.distantPast
        /// The instant at which the fleet cell heard of them.
        var heardAt = RunningTime.distantPast
        var cell: [UInt8] = []
        var people = 0
    }

    /// The people of a cell of whom it is known that they fell silent in a region.
    private struct Known {
        var people = 0
        /// The instant of the last of them, and how many they were at it.
        var last = ObservedTime.distantPast
        var atLast = 0
    }

    /// Those of one region within the last 60 s, oldest first.
    private struct Region {
        /// Those before `first` are too old.
        var fallen: [Fallen] = []
        private var first = 0
        var people = 0
        /// Those of them who fell silent since the last time that they were a mass.
        var joining = 0
        /// The number of the mass that they belong to; 0 without one.
        var mass: Int64 = 0
        /// Whoever fell silent by then was too old when somebody did later, and stays so when observed time
        /// is set back, whatever a cell says anew.
        var tooOldThrough = ObservedTime.distantPast

        /// Lets go of those who are too old; while this watch is blind the time that it sees stands still.
        mutating func expire(_ clock: ObservationClock) {
            let now = clock.observedNow
            while first < fallen.count,
                now - fallen[first].at >= RecentPeople.span
                    || clock.now - fallen[first].heardAt >= FleetMasses.heardFor
            {
                people -= fallen[first].people
                first += 1
            }
            if first > 1024, first * 2 > fallen.count { dropOld() }
        }

        mutating func dropOld() {
            fallen.removeFirst(first)
            first = 0
        }

        mutating func add(_ one: Fallen) {
            let place = fallen[first...].lastIndex { $0.at <= one.at }.map { $0 + 1 } ?? first
            if place > first, fallen[place - 1].at == one.at, fallen[place - 1].cell == one.cell {
                fallen[place - 1].people += one.people
            } else {
                fallen.insert(one, at: place)
            }
            people += one.people
        }

        /// One who fell silent again is counted once, where they did so last.
        mutating func move(from at: ObservedTime, _ cell: [UInt8], _ count: Int) {
            var place = fallen[first...].firstPlace { $0.at >= at }
            while place < fallen.count, fallen[place].at == at, fallen[place].cell != cell {
                place += 1
            }
            guard place < fallen.count, fallen[place].at == at else { return }
            let moved = min(count, fallen[place].people)
            fallen[place].people -= moved
            people -= moved
            if fallen[place].people == 0 { fallen.remove(at: place) }
        }

        mutating func clampInstants(to now: ObservedTime) {
            for place in fallen.indices { fallen[place].at = min(fallen[place].at, now) }
            tooOldThrough = min(tooOldThrough, now - Milliseconds(1))
        }

        /// Lets go of a cell's; returns what was known of them.
        @discardableResult
        mutating func remove(_ cell: [UInt8]) -> Known {
            dropOld()
            var known = Known()
            for one in fallen where one.cell == cell {
                known.atLast = one.at == known.last ? known.atLast + one.people : one.people
                known.last = one.at
                known.people += one.people
            }
            fallen.removeAll { $0.cell == cell }
            people = fallen.reduce(0) { $0 + $1.people }
            return known
        }
    }

    private var regions: [[UInt8]: Region] = [:]
    /// The masses that are handed out, by their numbers.
    package private(set) var masses: [FleetMass] = []
    private var nextNumber: Int64 = 1
    private var cleanedAt = RunningTime.distantPast

    init() {}

    /// True if nothing of it was ever known: nothing of this is written.
    var isEmpty: Bool { regions.isEmpty && masses.isEmpty && nextNumber == 1 }

    /// Takes what a cell says of those who fell silent in a region; true if somebody did just now: who looks
    /// then has heard all cells. Whoever fell silent before was looked at then.
    mutating func take(
        _ change: Summary.Change, of cell: [UInt8], _ clock: ObservationClock
    ) -> Bool {
        let (now, name) = (clock.observedNow, change.region)
        clean(clock)
        // It is moved and not copied: tens of thousands may have fallen silent one by one.
        var region = regions.removeValue(forKey: name) ?? Region()
        region.expire(clock)
        let known = change.kind == .allSilent ? region.remove(cell) : Known()
        var (added, joining, fresh) = (0, 0, 0)
        // It may come late.
        let said = now - max(Milliseconds(0), clock.wallNow - change.at)
        for one in change.silent where one.people < 0 {
            region.move(from: said - one.ago, cell, -one.people)
        }
        for one in change.silent where one.people > 0 && said - one.ago > region.tooOldThrough {
            let at = said - one.ago
            region.add(Fallen(at: at, heardAt: clock.now, cell: cell, people: one.people))
            added += one.people
            if one.ago.count == 0 { fresh += one.people }
            if at > known.last { joining += one.people }
            if at == known.last { joining += max(0, one.people - known.atLast) }
        }
        // Those of whom it was said before did not join, unless they fell silent now: that a cell moved them
        // there, since time was set back (B1), is not told apart.
        region.joining += min(joining, max(fresh, added - known.people))
        region.expire(clock)
        let isNew = change.silent.contains { $0.people > 0 && $0.ago.count == 0 }
        if isNew { region.tooOldThrough = max(region.tooOldThrough, now - RecentPeople.span) }
        if region.people > 0 { regions[name] = region }
        return isNew
    }

    /// Looks whether those who fell silent lately in a region are a mass among so many active people.
    mutating func look(in name: [UInt8], active: Int, _ clock: ObservationClock) {
        guard MassGaps.isMass(regions[name]?.people ?? 0, of: active),
            var region = regions.removeValue(forKey: name)
        else { return }
        join(name, &region, active: min(active, FleetMass.peopleMax), clock.wallNow)
        regions[name] = region
    }

    /// Some cell has said everything: in regions other than these nobody of it fell silent lately.
    mutating func forget(_ cell: [UInt8], but said: Set<[UInt8]>) {
        for name in regions.keys where !said.contains(name) {
            regions[name]?.remove(cell)
            if regions[name]?.people == 0 { regions[name] = nil }
        }
    }

    /// Those who fell silent within 60 s in a region are a mass: the one to which somebody came last, unless
    /// that is 60 s ago.
    private mutating func join(
        _ name: [UInt8], _ region: inout Region, active: Int, _ wall: Timestamp
    ) {
        let joining = min(region.joining, region.people)
        region.joining = 0
        if let place = place(of: region.mass), wall >= masses[place].to,
            wall - masses[place].to < RecentPeople.span
        {
            masses[place].members = min(masses[place].members + joining, FleetMass.peopleMax)
            masses[place].active = active
            masses[place].to = wall
            return
        }
        var mass = FleetMass()
        // Of another store's, and of a cell's own groups, none has it.
        nextNumber = max(nextNumber, wall.milliseconds)
        (mass.number, mass.region) = (nextNumber, name)
        (mass.since, mass.to) = (wall, wall)
        (mass.members, mass.active) = (min(region.people, FleetMass.peopleMax), active)
        region.mass = nextNumber
        nextNumber += 1
        masses.append(mass)
    }

    /// The place of a mass by its number; they are in that order.
    private func place(of number: Int64) -> Int? {
        let place = masses.firstPlace { $0.number >= number }
        return place < masses.count && masses[place].number == number ? place : nil
    }

    /// Forgets what is old, now and then.
    private mutating func clean(_ clock: ObservationClock) {
        guard clock.now - cleanedAt >= RecentPeople.span else { return }
        cleanedAt = clock.now
        for name in regions.keys {
            regions[name]?.expire(clock)
            if regions[name]?.people == 0 { regions[name] = nil }
        }
    }

    /// The wall stepped: the masses are as long ago as before.
    mutating func step(_ step: Milliseconds) {
        for place in masses.indices {
            masses[place].since = masses[place].since + step
            masses[place].to = masses[place].to + step
        }
    }

    /// Lets go of masses that are handed out no more.
    mutating func forget(_ wall: Timestamp) {
        if let first = masses.first, wall - first.to >= Self.handedFor {
            masses.removeAll { wall - $0.to >= Self.handedFor }
        }
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        for name in regions.keys { regions[name]?.clampInstants(to: now) }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&nextNumber)
        archive.code(&cleanedAt)
        archive.code(&masses, empty: FleetMass()) { $1.code(&$0) }
        var list = regions.keys
            .sorted { $0.lexicographicallyPrecedes($1) }
            .map { name in
                var region = regions[name] ?? Region()
                region.dropOld()
                return (name, region)
            }
        archive.code(&list, empty: ([], Region())) { archive, entry in
            archive.code(&entry.0)
            archive.code(&entry.1.joining)
            archive.code(&entry.1.mass)
            archive.code(&entry.1.tooOldThrough)
            archive.code(&entry.1.fallen, empty: Fallen()) { archive, fallen in
                archive.code(&fallen.at)
                archive.code(&fallen.heardAt)
                archive.code(&fallen.cell)
                archive.code(&fallen.people)
            }
        }
        guard archive.isReading else { return }
        regions = [:]
        for (name, var region) in list {
            region.people = region.fallen.reduce(0) { $0 + $1.people }
            regions[name] = region
        }
    }
}
