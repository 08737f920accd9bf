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

    func listResponders(_ query: ResponderQuery, _ call: Route.Call) {
        let answer = call.answer
        if let missing = query.insteadOf {
            return listReplacements(of: missing, limit: query.limit, answer)
        }
        guard let order = query.orderInForce else {
            return writer.ask { view in answer(Self.list(query, view.engine), InputStats()) }
        }
        let after = query.after.map { ResponderCursor($0) }
        if let after, after?.order != order {
            return answer(
                .problem(
                    400, "Bad Request",
                    detail: "after: the next of an answer in the same order expected"),
                InputStats())
        }
        let listing = ResponderListing(query, order, after: after ?? nil)
        scans.ask(listing, while: call.isAwaited) { answer($0, InputStats()) }
    }

    private static func list(_ query: ResponderQuery, _ engine: Engine) -> HTTPResponse {
        var number = 0
        if let after = query.after {
            guard let last = engine.roster.number(of: after) else {
                return .problem(400, "Bad Request", detail: "after: nobody has this id")
            }
            number = last + 1
        }
        var filter = ResponderFilter(query)
        filter.begin(engine)
        var body: [UInt8] = []
        JSONWriter.raw("{\"responders\":[", to: &body)
        var taken = 0
        let end = min(engine.roster.count, number + lookedAtMax)
        while number < end, taken < query.limit {
            defer { number += 1 }
            guard filter.match(number, engine) != nil else { continue }
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
