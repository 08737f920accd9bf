/// People of one region who fell out of contact together, in whichever cells they are. The fleet cell decides
/// it, and its cells take it. Source: C1, K2.
package struct FleetMass: Equatable, Sendable {
    /// Bytes of a region's name at most, and people of one.
    private static let nameBytesMax = 4096
    static let peopleMax = 1_000_000_000

    /// Rising with each mass of this fleet cell, from 1 on.
    package var number: Int64 = 0
    /// The region's name.
    package var region: [UInt8] = []
    /// The instant at which they were a mass first: whoever fell silent within 60 s before it, or since,
    package var since = Timestamp.distantPast
    /// and not after this one, belongs to it. It moves on while more do.
    package var to = Timestamp.distantPast
    /// People of it so far, in all cells: while it is the same nobody joined.
    package var members = 0
    /// The region's active people, in all cells, when somebody joined last.
    package var active = 0

    package init() {}

    /// The instants at which somebody fell silent who belongs to it, as a clock saw them.
    func instants(_ clock: ObservationClock) -> Range<ObservedTime> {
        let first = clock.reported(since) - RecentPeople.span + Milliseconds(1)
        return first..<max(first, clock.reported(to) + Milliseconds(1))
    }

    /// False for what no fleet cell can have decided.
    package var isCredible: Bool {
        let times =
            Timestamp(milliseconds: 0)...Timestamp(milliseconds: RFC3339.millisecondsMax)
        return (1...Int64.max / 2).contains(number)
            && (1...Self.nameBytesMax).contains(region.count)
            && times.contains(since) && times.contains(to) && since <= to
            && (MassGaps.countMin...Self.peopleMax).contains(members)
            && (0...Self.peopleMax).contains(active)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&region)
        archive.code(&since)
        archive.code(&to)
        archive.code(&members)
        archive.code(&active)
    }

    /// Several of them, as the journal keeps them.
    package static func journalBytes(of list: [FleetMass]) -> [UInt8] {
        var copy = list
        return Archive.bytes { $0.code(&copy, empty: FleetMass()) { $1.code(&$0) } }
    }

    /// Those of some bytes; nil if they make no sense, or no fleet cell can have said so.
    package static func list(journalBytes: [UInt8]) -> [FleetMass]? {
        var list: [FleetMass] = []
        guard
            Archive.reads(
                part: journalBytes, { $0.code(&list, empty: FleetMass()) { $1.code(&$0) } })
        else { return nil }
        return list.allSatisfy(\.isCredible) ? list : nil
    }
}
