import RollcallCore
import RollcallStore
import RollcallSupport

/// The stretch of the regions' past that a question is about, and how closely.
struct RegionHistoryQuery: Sendable {
    /// Regions of one answer without a `limit`.
    static let regionsStandard = 24
    /// Steps of one answer at most without a `step`.
    static let stepsStandard: Int64 = 72
    /// The stretch without a `since`.
    static let spanStandard = Milliseconds.seconds(6 * 3600)
    /// Steps times regions of one answer at most.
    static let cellsMax: Int64 = 50_000

    /// The query as it is sent.
    struct Asked: Sendable {
        var span = StatusHistoryQuery.Asked()
        /// Regions that were told before.
        var after: Int64 = 0
        var limit = regionsStandard
    }

    let since: Timestamp
    let until: Timestamp
    let step: Milliseconds
    /// The regions to pass by.
    let after: Int
    let limit: Int

    static let parameters = Parameters(
        Asked(),
        [
            .time(
                "since", "From then on: RFC 3339, or milliseconds since 1970.",
                into: \.span.since),
            .time("until", "Before then, likewise.", into: \.span.until),
            Parameter(
                "step", "The length of a cell, such as `5m`.",
                ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"]
            ) { (query, value) throws(ParameterError) in
                query.span.step = try StatusHistoryQuery.step(value)
            },
            .cursor("after", ["type": "string", "pattern": "^[0-9]+$"]) { $0.after = $1[0] },
            .limit(
                "Regions in the answer at most.", standard: regionsStandard, into: \.limit),
        ])

    /// The stretch that is `asked` for `now`.
    /// - Throws: `ParameterError` if it is empty, or has too many steps.
    init(_ asked: Asked, now: Timestamp) throws(ParameterError) {
        let span = try StatusHistoryQuery(
            asked.span, now: now, span: Self.spanStandard, samples: Self.stepsStandard)
        (since, until, step) = (span.since, span.until, span.step)
        // More than there can be regions: a sum of it and a limit is a number still.
        after = Int(min(asked.after, 1 << 32))
        limit = min(asked.limit, Int(Self.cellsMax / (span.count + 1)))
    }

    /// The instant at which the first step begins: a whole number of steps since 1970.
    var firstStep: Timestamp {
        Timestamp(milliseconds: since.milliseconds / step.count * step.count)
    }

    /// The number of steps.
    var count: Int { Int(((until - firstStep).count + step.count - 1) / step.count) }

    /// Returns the step that an instant of the stretch lies in.
    func step(of at: Timestamp) -> Int { Int((at - firstStep).count / step.count) }
}

/// A region as it stands now.
struct RegionNow: Sendable {
    let name: [UInt8]
    let counts: RegionCounts
    /// True if somebody must always be there.
    let isCovered: Bool

    /// Returns the regions of `engine` in which somebody is, or must be: of those that need not be
    /// staffed the first `lookedAtMax` by number.
    static func all(of engine: Engine, lookedAtMax: Int) -> [RegionNow] {
        let covered = Set(engine.policy.coverageRegions.filter { !$0.isEmpty })
        var found = covered.map { name in
            var counts = engine.regions.known(name).map { RegionCounts($0, engine) } ?? .init()
            counts.isUnstaffed = counts.active == 0
            return RegionNow(name: name, counts: counts, isCovered: true)
        }
        for place in engine.regions.names.indices.dropFirst().prefix(lookedAtMax) {
            let counts = RegionCounts(UInt32(place), engine)
            guard counts != RegionCounts() else { continue }
            let name = engine.regions.names[place]
            guard !name.isEmpty, !covered.contains(name) else { continue }
            found.append(RegionNow(name: name, counts: counts, isCovered: false))
        }
        return found
    }

    /// The order in which regions are told: where nobody can be reached, where nobody is who must be,
    /// then by the share of who cannot be reached.
    static func worstFirst(_ regions: [RegionNow]) -> [RegionNow] {
        regions.sorted { a, b in
            if a.rank != b.rank { return a.rank < b.rank }
            let (first, second) = (
                a.silent * max(1, b.counts.active), b.silent * max(1, a.counts.active)
            )
            if first != second { return first > second }
            if a.silent != b.silent { return a.silent > b.silent }
            return a.name.lexicographicallyPrecedes(b.name)
        }
    }

    /// Expected people who are not ONLINE.
    private var silent: Int { counts.active - counts.count(.online) }

    private var rank: Int {
        if counts.isUnstaffed { return 1 }
        let isLate = counts.count(.degraded) + counts.count(.offline) > 0
        return counts.count(.online) == 0 && isLate ? 0 : 2
    }
}
