import RollcallBasis
import RollcallCore
import RollcallSupport

/// A roster, which all cells take or none: it is sent in parts, then asked what it would do, and then ended.
/// Source: K5, I11.
extension Gateway {
    /// A roster on its way.
    private struct Roster: Sendable {
        let call: Call
        let map: CellMap
        let query: RosterQuery
        /// The verdicts of the cells on its entries so far.
        var verdict = VerdictMerge()
        /// True if an entry of it was rejected.
        var isRejected = false
    }

    /// Sends a roster, or a part of one.
    func passRoster(_ call: Call, _ map: CellMap) {
        var query: RosterQuery
        do throws(ParameterError) {
            query = try Router.rosterParameters.read(
                call.request.query, known: call.route.sharedParameters)
        } catch {
            return call.answer(.refusal(error), InputStats())
        }
        if query.isCheck { return answerCheck(Roster(call: call, map: map, query: query)) }
        if query.terms.id.isEmpty {
            query.terms.id = Array("gateway-\(UInt64.random(in: .min ... .max))".utf8)
        }
        let roster = Roster(call: call, map: map, query: query)
        guard let parts = parts(of: call.request, map) else {
            // Whatever is wrong with it, any cell can say so.
            return pass(call, call.request, to: map.cells[0])
        }
        if parts.isEmpty { return query.terms.hasMore ? conclude(roster) : check(roster) }
        var request = request(roster, hasMore: true)
        request.body = call.request.body
        send(parts, of: call, request, map) { [self] outcomes in
            take(outcomes, parts, of: roster)
        }
    }

    /// Goes on once each cell has its entries.
    private func take(_ outcomes: [CellOutcome], _ parts: [BodyParts.Part], of roster: Roster) {
        var roster = roster
        for (part, outcome) in zip(parts, outcomes) {
            if case .answered(let answer) = outcome {
                roster.isRejected = roster.isRejected || answer.status == 422
                // Of one that has ended there the last word says whether it is complete.
                if answer.status == 409, !roster.query.terms.hasMore { continue }
            }
            roster.verdict.add(part, of: roster.map.cells[part.cell], outcome)
        }
        let mustWait = roster.verdict.isPartial || roster.isRejected
        mustWait || roster.query.terms.hasMore ? conclude(roster) : check(roster)
    }

    /// Answers what the cells say of the entries.
    private func conclude(_ roster: Roster) {
        let refusal = roster.isRejected ? Router.notWhole : nil
        roster.call.answer(
            roster.verdict.response(isPartialTaken: false, refusal: refusal), InputStats())
    }

    // MARK: - What it would do

    private func answerCheck(_ roster: Roster) {
        ask(roster) { active, retiring, _ in
            let tree: JSONTree = ["active": .integer(active), "retiring": .integer(retiring)]
            roster.call.answer(.json(AlertJSON.bytes(tree)), InputStats())
        }
    }

    /// Asks all cells what the roster would do, and ends it if it would not retire most people anywhere: a
    /// cell would refuse it, when others had taken it already.
    private func check(_ roster: Roster) {
        ask(roster) { [self] active, retiring, refusing in
            if refusing, !roster.query.terms.allowsShrink {
                let fault = RosterFault.shrinks(active: Int(active), retiring: Int(retiring))
                return roster.call.answer(Router.refusal(fault), InputStats())
            }
            end(roster)
        }
    }

    private func ask(
        _ roster: Roster,
        then: @escaping @Sendable (_ active: Int64, _ retiring: Int64, _ refusing: Bool) -> Void
    ) {
        var request = request(roster, hasMore: false)
        request.query.append((name: "check", value: "true"))
        toAll(roster, request) { answers in
            var (active, retiring, refusing) = (Int64(0), Int64(0), false)
            for answer in answers {
                let one = (answer["active"]?.whole ?? 0, answer["retiring"]?.whole ?? 0)
                active += one.0
                retiring += one.1
                refusing = refusing || Engine.shrinks(active: Int(one.0), retiring: Int(one.1))
            }
            let isMost = Engine.shrinks(active: Int(active), retiring: Int(retiring))
            then(active, retiring, refusing || isMost)
        }
    }

    // MARK: - The end

    private func end(_ roster: Roster) {
        toAll(roster, request(roster, hasMore: false)) { answers in
            var verdict = roster.verdict
            for answer in answers { verdict.add(end: answer) }
            roster.call.answer(verdict.response(isPartialTaken: false), InputStats())
        }
    }

    /// Sends a word without entries to all cells; goes on with what all of them answer, or says who does not.
    private func toAll(
        _ roster: Roster, _ request: HTTPRequest,
        then: @escaping @Sendable ([JSONTree]) -> Void
    ) {
        let cells = roster.map.cells
        guard let passed = passed(roster.call, request, body: Array("[]".utf8)) else {
            return roster.call.answer(Self.notFound, InputStats())
        }
        let now = ClockReading.now().elapsed
        calls.send(cells.map { (passed, $0) }, arrival: now) { outcomes in
            let answers = Self.answers(outcomes, cells)
            guard answers.found.count < cells.count else {
                return then(answers.found.map(\.tree))
            }
            if let refusal = answers.refusal {
                return roster.call.answer(Self.response(refusal), InputStats())
            }
            let names = answers.unavailable.map { Self.words($0) }.joined(separator: ", ")
            roster.call.answer(
                Router.unavailable("\(names) did not take it, and the others may have"),
                InputStats())
        }
    }

    /// Returns the request as one about a part of the roster.
    private func request(_ roster: Roster, hasMore: Bool) -> HTTPRequest {
        let terms = roster.query.terms
        var request = roster.call.request
        request.contentType = hasMore ? request.contentType : "application/json"
        let own = ["roster", "more", "shrink", "check"]
        request.query.removeAll { own.contains($0.name) }
        request.query.append((name: "roster", value: String(decoding: terms.id, as: UTF8.self)))
        if hasMore {
            request.query.append((name: "more", value: "true"))
        } else if terms.allowsShrink {
            request.query.append((name: "shrink", value: "allow"))
        }
        return request
    }
}
