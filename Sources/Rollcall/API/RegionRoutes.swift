import RollcallBasis
import RollcallCore

/// `GET /v1/regions`: how each region stands, from memory (J8).
extension Router {
    /// Regions without a `limit`.
    static var regionsStandard: Int { 256 }

    func listRegions(_ query: RegionQuery, _ answer: @escaping Answer) {
        writer.ask { view in
            var body: [UInt8] = []
            RegionList(query, view.engine).append(to: &body)
            answer(.json(body), InputStats())
        }
    }
}

/// The regions that a question is about.
struct RegionQuery: Sendable {
    /// The region that the page before ended with.
    var after: [UInt8]?
    var limit = Router.regionsStandard

    static let parameters = Parameters(
        RegionQuery(),
        [
            .text(
                "after", "The `next` of the answer before.", OpenAPI.schema("Name"),
                into: \.after),
            .limit(
                "Regions in the answer at most.", standard: Router.regionsStandard, into: \.limit),
        ])
}

/// A page of regions in the order of their names' bytes.
struct RegionList {
    private struct Row {
        let name: [UInt8]
        /// Nil of a region under `coverage` where nobody ever was.
        let number: UInt32?
    }

    private let engine: Engine
    private var rows: [Row] = []
    /// The name to go on from; nil at the end.
    private var next: [UInt8]?
    /// There were more regions than one answer looks at.
    private let isTruncated: Bool

    /// The page that `query` asks for. Regions under `coverage` are always looked at, all others up
    /// to `lookedAtMax`, in the order in which they were first named.
    init(
        _ query: RegionQuery, _ engine: Engine, lookedAtMax: Int = Resource.regionsLookedAtMax
    ) {
        self.engine = engine
        let names = engine.regions.names
        let covered = Set(engine.policy.coverageRegions)
        isTruncated = names.count - 1 > lookedAtMax
        func isBehind(_ name: [UInt8]) -> Bool {
            query.after.map { $0.lexicographicallyPrecedes(name) } ?? true
        }
        var found = covered.filter(isBehind).map { Row(name: $0, number: engine.regions.known($0)) }
        // One more than the page, and whatever comes behind it is passed by: sorting all of them for
        // each page would take longer than looking at them.
        let most = query.limit + 1
        var end: [UInt8]?
        func cut() {
            found.sort { $0.name.lexicographicallyPrecedes($1.name) }
            found.removeLast(max(0, found.count - most))
            if found.count == most { end = found.last?.name }
        }
        for place in names.indices.dropFirst().prefix(lookedAtMax) {
            let (number, name) = (UInt32(place), names[place])
            guard Self.isInhabited(number, engine), isBehind(name),
                end.map({ name.lexicographicallyPrecedes($0) }) ?? true, !covered.contains(name)
            else { continue }
            found.append(Row(name: name, number: number))
            if found.count >= 2 * most { cut() }
        }
        cut()
        rows = Array(found.prefix(query.limit))
        if found.count > rows.count { next = rows.last?.name }
    }

    /// A region that everybody left is only a name that is still known.
    private static func isInhabited(_ number: UInt32, _ engine: Engine) -> Bool {
        engine.aggregates.counts(in: number).contains { $0 > 0 }
            || engine.aggregates.notExpected(in: number) > 0
    }

    // MARK: - The answer

    func append(to body: inout [UInt8]) {
        JSONWriter.raw("{\"as_of\":\"", to: &body)
        RFC3339.append(engine.clock.wallNow, to: &body)
        JSONWriter.raw("\",\"regions\":", to: &body)
        let covered = Set(engine.policy.coverageRegions)
        JSONWriter.list(rows, to: &body) {
            append($0, mustBeStaffed: covered.contains($0.name), to: &$1)
        }
        JSONWriter.raw(",\"next\":", to: &body)
        if let next {
            JSONWriter.string(next, to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw(isTruncated ? ",\"truncated\":true" : ",\"truncated\":false", to: &body)
        JSONWriter.raw("}\n", to: &body)
    }

    private func append(_ row: Row, mustBeStaffed: Bool, to body: inout [UInt8]) {
        let counts = row.number.map { engine.aggregates.counts(in: $0) } ?? [0, 0, 0, 0]
        JSONWriter.raw("{\"region\":", to: &body)
        JSONWriter.string(row.name, to: &body)
        StatusJSON.count("active", counts.reduce(0, +), to: &body)
        JSONWriter.raw(",\"responders\":{", to: &body)
        for status in Status.allCases {
            if status != Status.allCases.first { body.append(UInt8(ascii: ",")) }
            JSONWriter.word(status.word, to: &body)
            body.append(UInt8(ascii: ":"))
            JSONWriter.integer(Int64(counts[Int(status.rawValue)]), to: &body)
        }
        JSONWriter.raw("}", to: &body)
        let absent = row.number.map { engine.aggregates.notExpected(in: $0) } ?? 0
        StatusJSON.count("not_expected", absent, to: &body)
        let flapping = row.number.map { engine.aggregates.flapping(in: $0) } ?? 0
        StatusJSON.count("flapping", flapping, to: &body)
        JSONWriter.raw(
            mustBeStaffed ? ",\"must_be_staffed\":true" : ",\"must_be_staffed\":false",
            to: &body)
        if let unlit = row.number.map({ engine.unlit(in: $0) }), unlit.active > 0 {
            let online = Int(Status.online.rawValue)
            StatusJSON.count("unknown", unlit.active, to: &body)
            StatusJSON.count("known_online", counts[online] - unlit.byStatus[online], to: &body)
        }
        JSONWriter.raw("}", to: &body)
    }
}
