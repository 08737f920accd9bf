/// Somebody's word that they see to an incident: until it ends nobody is told of it again. Source: R2.
package struct Take: Equatable, Sendable {
    /// The time for which a take holds unless it says otherwise.
    package static let usual = Milliseconds.seconds(3600)
    /// A take holds for so long at most.
    package static let longest = Milliseconds.seconds(12 * 3600)

    /// The firing, or the storm, by its number.
    package var incident: Int64
    /// The one who sees to it, by the name that they gave, else that of their token.
    package var by: [UInt8]
    /// The name of the token that they came with; empty for none.
    package var token: [UInt8]
    /// The words that they left for others; empty for none.
    package var note: [UInt8]
    /// The instant at which they took it.
    package internal(set) var at = Timestamp.distantPast
    package internal(set) var until: Timestamp
    /// The end in running time: a step of the wall does not move it (F9).
    var ends = RunningTime.distantPast

    /// `by` sees to an incident until an instant.
    package init(
        incident: Int64, by: [UInt8], token: [UInt8] = [], note: [UInt8] = [], until: Timestamp
    ) {
        self.incident = incident
        self.by = by
        self.token = token
        self.note = note
        self.until = until
    }

    static let empty = Take(incident: 0, by: [], until: .distantPast)

    mutating func code(_ archive: inout Archive) {
        archive.code(&incident)
        archive.code(&by)
        archive.code(&token)
        archive.code(&note)
        archive.code(&at)
        archive.code(&until)
        archive.code(&ends)
    }
}

/// A change of who sees to an incident, that somebody asks for. Source: R2.
package enum TakeChange: Equatable, Sendable {
    /// One that is there already gives way.
    case begin(Take)
    /// Nobody sees to the incident of this number any more.
    case end(Int64)

    /// The change as the journal keeps it.
    package var journalBytes: [UInt8] {
        var isEnd = false
        var take = Take.empty
        switch self {
        case .begin(let begun): take = begun
        case .end(let incident): (isEnd, take.incident) = (true, incident)
        }
        return Archive.bytes { archive in
            archive.code(&isEnd)
            take.code(&archive)
        }
    }

    /// The change that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        var isEnd = false
        var take = Take.empty
        let isWhole = Archive.reads(part: journalBytes) { archive in
            archive.code(&isEnd)
            take.code(&archive)
        }
        guard isWhole else { return nil }
        self = isEnd ? .end(take.incident) : .begin(take)
    }
}

/// The reason why a change of who sees to an incident was not made.
package enum TakeFault: Equatable, Sendable {
    /// There was never an incident of this number.
    case unknown
    /// The incident is over.
    case resolved
    /// Its end has passed already.
    case over
    /// Nobody sees to it.
    case untaken
    /// The watchdog is no incident: nobody must keep it from being told.
    case watchdog
}

/// The takes of incidents that are not over. Source: R2.
struct Takes: Equatable, Sendable {
    /// By incident.
    private(set) var all: [Int64: Take] = [:]
    /// The earliest instant at which one ends.
    private(set) var nextEnd = RunningTime.distantFuture

    var isEmpty: Bool { all.isEmpty }

    /// Returns the instant until which an incident is held; the distant past if nobody took it.
    func heldUntil(_ incident: Int64) -> RunningTime { all[incident]?.ends ?? .distantPast }

    /// An incident is taken from now on; false if the end of that has passed.
    mutating func begin(_ take: Take, _ clock: ObservationClock) -> Bool {
        guard take.until > clock.wallNow else { return false }
        var take = take
        take.at = clock.wallNow
        take.until = min(take.until, clock.wallNow + Take.longest)
        take.ends = clock.now + (take.until - clock.wallNow)
        all[take.incident] = take
        findNextEnd()
        return true
    }

    /// Nobody sees to an incident any more, or it is over; false if nobody did.
    @discardableResult
    mutating func end(_ incident: Int64) -> Bool {
        guard !all.isEmpty, all.removeValue(forKey: incident) != nil else { return false }
        findNextEnd()
        return true
    }

    /// Lets go of what has come to its end.
    mutating func expire(_ now: RunningTime) {
        guard nextEnd <= now else { return }
        all = all.filter { $0.value.ends > now }
        findNextEnd()
    }

    /// Forgets who took something, and what they said: for a state that leaves the house.
    mutating func forgetAuthors() {
        for incident in all.keys {
            all[incident]?.by = []
            all[incident]?.token = []
            all[incident]?.note = []
        }
    }

    private mutating func findNextEnd() {
        nextEnd = all.values.lazy.map(\.ends).min() ?? .distantFuture
    }

    mutating func code(_ archive: inout Archive) {
        var list = all.values.sorted { $0.incident < $1.incident }
        archive.code(&list, empty: .empty) { $1.code(&$0) }
        guard archive.isReading else { return }
        for take in list { all[take.incident] = take }
        findNextEnd()
    }
}
