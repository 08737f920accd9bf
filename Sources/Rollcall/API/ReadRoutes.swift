import RollcallCore
import RollcallSupport

/// The routes that answer questions, from memory (J8).
extension Router {
    /// People in one answer at most.
    static var limitMax: Int { 1000 }
    /// People without a `limit`.
    static var limitStandard: Int { 100 }
    /// People looked at for one answer at most, so that no question holds the state writer up: some
    /// milliseconds. The answer's `next` goes on from there.
    static var lookedAtMax: Int { 50_000 }

    // MARK: - People

    func listResponders(_ filter: ResponderQuery, _ answer: @escaping Answer) {
        if let missing = filter.insteadOf {
            return listReplacements(of: missing, limit: filter.limit, answer)
        }
        writer.ask { view in answer(Self.list(filter, view.engine), InputStats()) }
    }

    private static func list(_ filter: ResponderQuery, _ engine: Engine) -> HTTPResponse {
        var number = 0
        if let after = filter.after {
            guard let last = engine.roster.number(of: after) else {
                return .problem(400, "Bad Request", detail: "after: nobody has this id")
            }
            number = last + 1
        }
        let region = filter.region.map { engine.regions.known($0) }
        var body: [UInt8] = []
        JSONWriter.raw("{\"responders\":[", to: &body)
        var taken = 0
        let end = min(engine.roster.count, number + lookedAtMax)
        while number < end, taken < filter.limit {
            let person = engine.roster[number]
            defer { number += 1 }
            guard person.idCount > 0, matches(filter, region, person, engine) else { continue }
            if taken > 0 { body.append(UInt8(ascii: ",")) }
            ResponderJSON.append(number, engine, to: &body)
            taken += 1
        }
        JSONWriter.raw("],\"next\":", to: &body)
        while number < engine.roster.count, number > 0, engine.roster[number - 1].idCount == 0 {
            number += 1
        }
        if number < engine.roster.count {
            JSONWriter.string(engine.roster.id(number - 1), to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw("}\n", to: &body)
        return .json(body)
    }

    private static func matches(
        _ filter: ResponderQuery, _ region: UInt32??, _ person: Responder, _ engine: Engine
    ) -> Bool {
        if let status = filter.status, !person.isActive || person.status != status { return false }
        if let duty = filter.duty, person.duty != duty { return false }
        if let region, person.region != region { return false }
        if let reachable = filter.reachable, engine.reachable(person) != reachable { return false }
        return true
    }

    func showResponder(
        _ id: [UInt8], _ answer: @escaping Answer
    ) {
        writer.ask { view in
            guard let number = view.engine.roster.number(of: id) else {
                return answer(
                    .problem(404, "Not Found", detail: "nobody has this id"), InputStats())
            }
            var body: [UInt8] = []
            ResponderJSON.appendWhole(number, view.engine, to: &body)
            body.append(0x0A)
            answer(.json(body), InputStats())
        }
    }

    // MARK: - Ourselves

    func showStatus(_ answer: @escaping Answer) {
        writer.ask { [edge] view in
            var body: [UInt8] = []
            StatusJSON.append(view, edge, to: &body)
            answer(.json(body), InputStats())
        }
    }

    func showMetrics(
        _ request: HTTPRequest,
        _ answer: @escaping Answer
    ) {
        scrapes.scrape(MetricsNegotiation.format(accept: request.accept)) { response in
            answer(response, InputStats())
        }
    }
}

/// The people whom a list is to hold.
struct ResponderQuery: Sendable {
    var status: Status?
    var reachable: Reachable?
    var region: [UInt8]?
    var duty: DutyState?
    var after: [UInt8]?
    /// The person who is to be replaced, as they cannot be reached.
    var insteadOf: [UInt8]?
    var limit = Router.limitStandard

    static let parameters = Parameters(
        ResponderQuery(),
        [
            .word(
                "status", "Those expected, of this status.", Status.allCases, \.word,
                schema: "Status", into: \.status),
            .word(
                "reachable", "Who can be reached now.", Reachable.allCases, \.word,
                schema: "Reachable", into: \.reachable),
            .text("region", "Of this region.", into: \.region),
            .word(
                "duty_state", "Of this duty state.", DutyState.allCases, \.word,
                schema: "DutyState", into: \.duty),
            .text(
                "after", "The `next` of the answer before.", OpenAPI.schema("Name"),
                into: \.after),
            .limit(
                "People in the answer at most.", standard: Router.limitStandard, into: \.limit),
            .text(
                "instead_of",
                """
                Who can be reached instead of this person: of the same region or a circle of theirs \
                first, then who is ON_DUTY, then whose location is the newest. Goes with `limit` alone.
                """, OpenAPI.schema("Name"), into: \.insteadOf),
        ]
    ) { (query, names) throws(ParameterError) in
        if query.insteadOf != nil, names.contains(where: { !["instead_of", "limit"].contains($0) })
        {
            throw ParameterError(detail: "instead_of: goes with limit alone")
        }
    }
}
