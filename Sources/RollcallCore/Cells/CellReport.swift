/// The changes that a cell has not said yet, and why its people are silent, region by region. Nothing is
/// decided by it, and no checkpoint has it. Source: K2.
struct CellReport: Sendable {
    /// More changes are not kept: the next summary is a whole one then.
    private static let changesMax = 20_000

    /// The part that somebody has in what is said of their region, beside what is counted anyway.
    struct Part: Equatable {
        var region: UInt32
        var cause: GapCause
        var people: RegionSummary.Cause
    }

    private var causes: [UInt32: RegionSummary] = [:]
    private var changes: [Summary.Change] = []
    /// The names of regions that somebody was in who is erased: their numbers may be others' by now.
    var left: [[UInt8]] = []
    /// The last that was noted of whether the cell sees, and was told of people.
    private var isBlind = false
    private var hasInput = false
    /// True if all is to be said.
    private(set) var isWhole = true
    /// The last beat of each source that was said.
    private var beats: [[UInt8]: RunningTime] = [:]

    init() {}

    mutating func add(_ part: Part?, times: Int) {
        guard let part else { return }
        causes[part.region, default: RegionSummary()].add(
            part.people, of: part.cause, times: times)
        if causes[part.region]?.causes.isEmpty == true { causes[part.region] = nil }
    }

    /// The causes in a region.
    func causes(in region: UInt32) -> [(cause: GapCause, people: RegionSummary.Cause)] {
        causes[region]?.causes ?? []
    }

    /// Nobody is silent, until everybody is counted anew.
    mutating func removeCauses() { causes = [:] }

    /// Notes what is to be said since an instant.
    mutating func note(_ change: Summary.Change) {
        if isWhole { return }
        guard changes.count < Self.changesMax else { return sayAll() }
        changes.append(change)
    }

    /// Notes whether the cell sees, and was told of people.
    mutating func note(isBlind: Bool, hasInput: Bool, at wall: Timestamp) {
        if isBlind != self.isBlind {
            note(Summary.Change(at: wall, kind: isBlind ? .blind : .sees))
        }
        if hasInput, !self.hasInput { note(Summary.Change(at: wall, kind: .input)) }
        (self.isBlind, self.hasInput) = (isBlind, hasInput)
    }

    /// Nothing was said of this cell, nor noted; whether all is to be said next stays.
    mutating func beginAnew() {
        (changes, left) = ([], [])
        (isBlind, hasInput) = (false, false)
    }

    /// All is to be said next.
    mutating func sayAll() {
        isWhole = true
        changes = []
    }

    /// Takes the sources that beat since it was said last, with their last beats.
    mutating func takeSources(
        _ feed: Feed, _ clock: ObservationClock, isAll: Bool
    ) -> [Summary.Source] {
        let news = feed.sources.filter { source in
            guard !source.isAssumed else { return false }
            // One that writes all the time is not said again each second.
            guard !isAll, let said = beats[source.name] else { return true }
            return (source.lastBeat - said).count * 4 >= source.every.count
        }
        for source in news { beats[source.name] = source.lastBeat }
        if beats.count > 2 * Feed.sourcesMax {
            let known = Set(feed.sources.map(\.name))
            beats = beats.filter { known.contains($0.key) }
        }
        return news.map { Summary.Source(name: $0.name, at: clock.wall($0.lastBeat)) }
    }

    /// Takes what was not said yet; from now on changes are noted.
    mutating func take() -> [Summary.Change] {
        isWhole = false
        defer { changes = [] }
        return changes
    }
}
