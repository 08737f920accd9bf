import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// A roster, which all cells take or none: it is sent in parts, then asked what it would do, and then ended.
/// Source: K5, I11.
extension Gateway {
    /// A roster on its way.
    private struct Roster: Sendable {
        let call: Call
        let map: CellMap
        let query: RosterQuery
        /// The parts of the cells that are named in it.
        var parts: [BodyParts.Part] = []
        /// The verdicts of the cells on its entries so far.
        var verdict = VerdictMerge(isWhole: true)
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
        if query.terms.id.isEmpty { query.terms.id = rosters.id(of: call.request.body) }
        let parts: [BodyParts.Part]
        switch divided(call.request, map, call.route) {
        case .parts(let own): parts = own
        case .refused(let refusal): return call.answer(refusal, InputStats())
        }
        let roster = Roster(call: call, map: map, query: query, parts: parts)
        if parts.isEmpty { return query.terms.hasMore ? conclude(roster) : check(roster) }
        var request = request(roster, hasMore: true)
        request.body = call.request.body
        send(parts, of: call, request, map) { [self] outcomes in
            take(outcomes, of: roster)
        }
    }

    /// Goes on once each cell has its entries.
    private func take(_ outcomes: [CellOutcome], of roster: Roster) {
        var roster = roster
        for (part, outcome) in zip(roster.parts, outcomes) {
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
        request.contentType = "application/json"
        let cells = roster.map.cells
        guard let passed = passed(roster.call, request, body: Self.nobody) else {
            return roster.call.answer(Self.notFound, InputStats())
        }
        let now = ClockReading.now().elapsed
        calls.send(cells.map { (passed, $0) }, arrival: now) { [self] outcomes in
            let found = Self.answers(outcomes, cells)
            guard found.found.count == cells.count else {
                rosters.forget(roster.call.request.body, if: found.refusal != nil)
                return roster.call.answer(Self.missing(found), InputStats())
            }
            let answers = found.found.map(\.tree)
            var (active, retiring, refusing) = (Int64(0), Int64(0), false)
            for answer in answers {
                let one = (answer["active"]?.whole ?? 0, answer["retiring"]?.whole ?? 0)
                active = Self.sum([active, one.0])
                retiring = Self.sum([retiring, one.1])
                refusing = refusing || Engine.shrinks(active: Int(one.0), retiring: Int(one.1))
            }
            let isMost = Engine.shrinks(active: Int(active), retiring: Int(retiring))
            let (all, most) = ((active, retiring), refusing || isMost)
            unlessSplit(roster, outcomes) { then(all.0, all.1, most) }
        }
    }

    /// Goes on if the cells that answered are all that there are: one that is not in this map would keep whom the
    /// roster does not name.
    private func unlessSplit(
        _ roster: Roster, _ outcomes: [CellOutcome], then: @escaping @Sendable () -> Void
    ) {
        lookForMore(outcomes, than: roster.map) { newer in
            if case .none = newer { return then() }
            roster.call.answer(Self.isSplit, InputStats())
        }
    }

    /// The body of a word without entries.
    private static let nobody = Array("[]".utf8)

    private static func missing(_ answers: CellAnswers) -> HTTPResponse {
        if let refusal = answers.refusal { return response(refusal) }
        let names = answers.unavailable.map { words($0) }.joined(separator: ", ")
        return Router.unavailable("\(names) did not take it")
    }

    // MARK: - The end

    /// Tells all cells that it has ended, each with its own entries once more: so one that ended before is
    /// known by them.
    private func end(_ roster: Roster) {
        let cells = roster.map.cells
        let own = Dictionary(uniqueKeysWithValues: roster.parts.map { ($0.cell, $0) })
        var requests: [(request: CellRequest, cell: CellMap.Cell)] = []
        for (place, cell) in cells.enumerated() {
            var request = request(roster, hasMore: false)
            if own[place] == nil { request.contentType = "application/json" }
            guard let passed = passed(roster.call, request, body: own[place]?.body ?? Self.nobody)
            else { return roster.call.answer(Self.notFound, InputStats()) }
            requests.append((passed, cell))
        }
        calls.send(requests, arrival: ClockReading.now().elapsed) { [self] outcomes in
            var verdict = VerdictMerge(isWhole: true)
            for (place, outcome) in outcomes.enumerated() {
                let none = BodyParts.Part(cell: place, body: [], places: [], itemCount: 0)
                verdict.add(own[place] ?? none, of: cells[place], outcome)
            }
            if verdict.isPartial {
                rosters.forget(roster.call.request.body, if: verdict.isRefused)
            } else {
                rosters.forgetAll()
            }
            let response = verdict.response(isPartialTaken: false)
            unlessSplit(roster, outcomes) { roster.call.answer(response, InputStats()) }
        }
    }

    /// Returns the request as one about a part of the roster.
    private func request(_ roster: Roster, hasMore: Bool) -> HTTPRequest {
        let terms = roster.query.terms
        var request = roster.call.request
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

/// The ids of rosters that came whole, which a gateway sends in parts: the same body goes on under the same
/// one for some minutes, unless one has ended since, so that one that is refused again and again opens no other
/// each time.
final class RosterIDs: Sendable {
    private static let keptMax = 64
    /// Well before cells give up one of which no part comes.
    private static let keptFor = RosterParts.partsApart.count / 2

    private struct Kept: Sendable {
        let body: UInt64
        let id: [UInt8]
        let since: Int64
    }

    private let kept = Mutex<[Kept]>([])

    /// The id of a body.
    func id(of body: [UInt8]) -> [UInt8] {
        let hash = StableHash.of(body.span, 0..<body.count)
        let now = ClockReading.now().elapsed
        return kept.withLock { kept in
            kept.removeAll { now - $0.since >= Self.keptFor }
            if let known = kept.first(where: { $0.body == hash }) { return known.id }
            let id = Array("gateway-\(UInt64.random(in: .min ... .max))".utf8)
            kept.append(Kept(body: hash, id: id, since: now))
            if kept.count > Self.keptMax { kept.removeFirst() }
            return id
        }
    }

    /// Forgets the id of a body that a cell knows as ended, if it `isOver`.
    func forget(_ body: [UInt8], if isOver: Bool) {
        guard isOver else { return }
        let hash = StableHash.of(body.span, 0..<body.count)
        kept.withLock { $0.removeAll { $0.body == hash } }
    }

    /// Forgets all: one has ended, and what is sent from now on comes behind it.
    func forgetAll() { kept.withLock { $0 = [] } }
}
