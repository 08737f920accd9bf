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
        guard let order = query.orderInForce else { return look(ResponderPage(query), call) }
        let after = query.after.map { ResponderCursor($0) }
        if let after, after?.order != order {
            return answer(
                .problem(
                    400, "Bad Request",
                    detail: "after: the next of an answer in the same order expected"),
                InputStats())
        }
        look(ResponderListing(query, order, after: after ?? nil), call)
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
        let language = metrics.language(accept: request.accept)
        scrapes.scrape(language, .choice(request.acceptEncoding)) { response in
            answer(response, InputStats())
        }
    }
}
