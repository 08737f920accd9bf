/// Everybody who is watched: who they are, the names they have, and what is counted of them.
///
/// It knows what people have in common, and nothing of what is decided about them.
struct People: Sendable {
    /// The region of people of whom nobody told one.
    static let defaultRegion = Array("default".utf8)

    var roster = Roster()
    var regions = NameTable()
    var circles = NameTable()
    var versions = NameTable(numbersMax: 65_536)
    var aggregates = Aggregates(PacePolicy(Policy()))
    var groupCounts = CircleCounts()

    /// Says nothing. An existential has no fixed layout, so a method that changes nothing is given the
    /// address of what holds one, and the engine's too, of which this is a part; without one its 1.8 KB
    /// were copied for each call, a dozen times a batch.
    private let isPassedByAddress: any Sendable = true

    init() {}

    /// True if a number is somebody's who was not erased.
    func knows(_ number: Int) -> Bool {
        (0..<roster.count).contains(number) && roster[number].idCount > 0
    }
}

/// Everybody who is watched, as others ask for them.
extension Engine {
    /// Everybody by number and by id.
    package internal(set) var roster: Roster {
        @inline(__always) _read { yield people.roster }
        @inline(__always) _modify { yield &people.roster }
    }

    /// The regions by number.
    package internal(set) var regions: NameTable {
        @inline(__always) _read { yield people.regions }
        @inline(__always) _modify { yield &people.regions }
    }

    /// The sets of circles by number, each circle as a set of one among them.
    package internal(set) var circles: NameTable {
        @inline(__always) _read { yield people.circles }
        @inline(__always) _modify { yield &people.circles }
    }

    /// The versions of apps and of systems by number.
    package internal(set) var versions: NameTable {
        @inline(__always) _read { yield people.versions }
        @inline(__always) _modify { yield &people.versions }
    }

    /// The number of people in each state.
    package internal(set) var aggregates: Aggregates {
        @inline(__always) _read { yield people.aggregates }
        @inline(__always) _modify { yield &people.aggregates }
    }
}
