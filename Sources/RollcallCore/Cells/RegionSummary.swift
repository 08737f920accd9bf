/// The word of a cell about its people in one region: numbers that alerts are judged by, and why the silent
/// are silent. It names nobody. Source: K2.
package struct RegionSummary: Equatable, Sendable {
    /// People with one suspected cause.
    package struct Cause: Equatable, Sendable {
        /// Those who are OFFLINE.
        package var offline = 0
        /// Those who are not ONLINE.
        package var absent = 0
        /// Those who flap.
        package var flapping = 0

        package init() {}

        var isEmpty: Bool { offline == 0 && absent == 0 && flapping == 0 }

        mutating func add(_ other: Cause, times: Int) {
            offline += times * other.offline
            absent += times * other.absent
            flapping += times * other.flapping
        }

        mutating func code(_ archive: inout Archive) {
            archive.code(&offline)
            archive.code(&absent)
            archive.code(&flapping)
        }
    }

    /// Active people by status.
    package var byStatus = [0, 0, 0, 0]
    /// Flapping people.
    package var flapping = 0
    /// People who are UNKNOWN for longer than the degraded threshold (F29).
    package var unheard = 0
    /// In the order of the causes, only those that somebody has.
    package internal(set) var causes: [(cause: GapCause, people: Cause)] = []

    /// Nobody is there.
    package init() {}

    /// Active people.
    package var active: Int { byStatus.reduce(0, +) }

    /// True if nobody is there.
    package var isEmpty: Bool { self == RegionSummary() }

    package static func == (a: RegionSummary, b: RegionSummary) -> Bool {
        a.byStatus == b.byStatus && a.flapping == b.flapping && a.unheard == b.unheard
            && a.causes.elementsEqual(b.causes, by: ==)
    }

    /// Adds another region's people, or the same one's of another cell, or takes them away (`times` −1).
    mutating func add(_ other: RegionSummary, times: Int = 1) {
        add(numbersOf: other, times: times)
        for (cause, people) in other.causes { add(people, of: cause, times: times) }
    }

    /// Adds people without their causes, or takes them away (`times` −1).
    mutating func add(numbersOf other: RegionSummary, times: Int) {
        for status in byStatus.indices { byStatus[status] += times * other.byStatus[status] }
        flapping += times * other.flapping
        unheard += times * other.unheard
    }

    /// Adds people with a cause, or takes them away (`times` −1).
    mutating func add(_ people: Cause, of cause: GapCause, times: Int) {
        let place = causes.firstIndex { $0.cause.rawValue >= cause.rawValue } ?? causes.count
        if place == causes.count || causes[place].cause != cause {
            causes.insert((cause, Cause()), at: place)
        }
        causes[place].people.add(people, times: times)
        if causes[place].people.isEmpty { causes.remove(at: place) }
    }

    /// Returns the people by whom these are more than those who are left of them: as many as are missing, and of
    /// each kind no more than are missing there.
    func left(by after: RegionSummary) -> RegionSummary {
        var left = RegionSummary()
        var missing = max(0, active - after.active)
        // Somebody who changed meanwhile is missing in their status, and is there still.
        for status in byStatus.indices.reversed() {
            left.byStatus[status] = min(
                missing, max(0, byStatus[status] - after.byStatus[status]))
            missing -= left.byStatus[status]
        }
        left.flapping = min(left.active, max(0, flapping - after.flapping))
        left.unheard = min(
            left.byStatus[Int(Status.unknown.rawValue)], max(0, unheard - after.unheard))
        var rest = Cause()
        rest.offline = left.byStatus[Int(Status.offline.rawValue)]
        rest.absent = left.active - left.byStatus[Int(Status.online.rawValue)]
        rest.flapping = left.flapping
        for (cause, people) in causes {
            var gone = people
            gone.add(after.causes.first { $0.cause == cause }?.people ?? Cause(), times: -1)
            gone.offline = min(rest.offline, max(0, gone.offline))
            gone.absent = min(rest.absent, max(0, gone.absent))
            gone.flapping = min(rest.flapping, max(0, gone.flapping))
            rest.add(gone, times: -1)
            if !gone.isEmpty { left.add(gone, of: cause, times: 1) }
        }
        return left
    }

    /// False for numbers that nobody can have counted.
    var isCredible: Bool {
        let numbers =
            byStatus + [flapping, unheard]
            + causes.flatMap { [$0.people.offline, $0.people.absent, $0.people.flapping] }
        return byStatus.count == 4 && numbers.allSatisfy { (0...Summary.peopleMax).contains($0) }
            && zip(causes, causes.dropFirst()).allSatisfy {
                $0.cause.rawValue < $1.cause.rawValue
            }
    }

    mutating func code(_ archive: inout Archive) {
        for status in byStatus.indices { archive.code(&byStatus[status]) }
        archive.code(&flapping)
        archive.code(&unheard)
        archive.code(&causes, empty: (.unexplained, Cause())) { archive, entry in
            archive.code(&entry.cause)
            entry.people.code(&archive)
        }
    }
}
