import RollcallBasis
import RollcallCore
import RollcallSupport

/// Writes, which go to the cells of those whom they are about. Source: K5.
extension Gateway {
    /// The parameter by which somebody takes an answer on a part of what they sent.
    static let partialParameter = "partial"

    // MARK: - Items

    /// Sends each cell its own items.
    func passItems(_ call: Call, _ map: CellMap) {
        let said = call.request.query.filter { $0.name == Self.partialParameter }.map(\.value)
        guard said.count < 2, said.allSatisfy({ $0 == "true" || $0 == "false" }) else {
            return call.answer(
                .refusal(ParameterError(detail: "partial: true or false expected")), InputStats())
        }
        let isPartialTaken = said.first == "true"
        var rest = call.request
        rest.query.removeAll { $0.name == Self.partialParameter }
        let parts: [BodyParts.Part]
        switch divided(rest, map, call.route) {
        case .parts(let own): parts = own
        case .refused(let refusal): return call.answer(refusal, InputStats())
        }
        // Whatever else is wrong with one about nobody, any cell can say so.
        if parts.isEmpty { return pass(call, rest, to: map.cells[0]) }
        send(parts, of: call, rest, map) { outcomes in
            // What one cell has answered on all of it needs no other words.
            if parts.count == 1, !isPartialTaken, case .answered(let answer) = outcomes[0],
                VerdictMerge.isVerdict(answer)
            {
                return call.answer(Self.response(answer), InputStats())
            }
            var merge = VerdictMerge()
            for (part, outcome) in zip(parts, outcomes) {
                merge.add(part, of: map.cells[part.cell], outcome)
            }
            call.answer(merge.response(isPartialTaken: isPartialTaken), InputStats())
        }
    }

    /// A body is divided, or refused.
    enum Divided {
        /// Those of the cells; none of a body without items.
        case parts([BodyParts.Part])
        /// Whole.
        case refused(HTTPResponse)
    }

    /// Divides a body. What is none by the gateway's own limits is refused as one watch with these would: a cell
    /// with others might take it, and would say of people of several that they are others'.
    func divided(_ request: HTTPRequest, _ map: CellMap, _ route: Route) -> Divided {
        let form = Router.standingForm(request)
        let most = Router.limits(limits.current, form)
        let format = Router.format(request.contentType) ?? .json
        // A line that is nested too deep is rejected alone, by the cell whose person it names.
        let depthMax = format == .lines ? Self.depthMax : most.depthMax
        let divided = BodyParts(
            request.body, format: format, owners: map.owners, depthMax: depthMax,
            itemsMax: most.itemsMax)
        if let divided { return .parts(divided.parts) }
        do throws(ScanError) {
            _ = try ItemScanner.scan(
                request.body.span, kind: route.itemKind, format: format, limits: most)
            return .refused(
                .problem(
                    400, "Bad Request",
                    detail: "the body cannot be divided among the cells: send it in parts"))
        } catch {
            return .refused(Router.refusal(error, form))
        }
    }

    /// Nesting that some settings allow.
    private static let depthMax = 64

    /// Sends each cell its part of a request, and goes on with what came of all.
    func send(
        _ parts: [BodyParts.Part], of call: Call, _ request: HTTPRequest, _ map: CellMap,
        then: @escaping @Sendable ([CellOutcome]) -> Void
    ) {
        let requests = parts.compactMap { part in
            passed(call, request, body: part.body).map { ($0, map.cells[part.cell]) }
        }
        calls.send(requests, arrival: call.sentAt, then: then)
    }

    // MARK: - One person

    /// Passes on what somebody asks a person, to the cell that has them.
    func passAsked(_ call: Call, _ map: CellMap) {
        if let refusal = Router.bulk(call.request) {
            return call.answer(refusal, InputStats())
        }
        let tree = try? JSONTree(reading: call.request.body)
        let id = tree?["responder_id"]?.responderID
        // Without one any cell says what is missing.
        let cell = id.map { map.cell(ofPerson: Array($0.utf8)) } ?? map.cells[0]
        pass(call, call.request, to: cell)
    }

    /// Milliseconds from the arrival of what a phone sent after which no other cell is asked.
    private static let inputPatience: Int64 = 3000
    /// Cells that are asked whose phone it is, at most.
    private static let inputAttemptsMax = 3

    /// Passes on what a phone sent in its own words: to the cell of the id that stands outside of them, else
    /// to any, and on to the one that it names.
    func passInput(_ call: Call, _ map: CellMap) {
        // What asks by HEAD brings nothing.
        if call.request.isHead {
            return call.answer(HTTPResponse(status: 200), InputStats())
        }
        let id = call.target.id.isEmpty ? call.request.user ?? [] : call.target.id
        let first = id.isEmpty ? map.cells.indices.randomElement() : map.place(ofPerson: id)
        passInput(call, map, to: first ?? 0, tried: [])
    }

    private func passInput(_ call: Call, _ map: CellMap, to place: Int, tried: [Int]) {
        guard var passed = passed(call, call.request) else {
            return call.answer(Self.notFound, InputStats())
        }
        let tried = tried + [place]
        // A phone waits no longer than the listener does.
        let isLate = ClockReading.now().elapsed - call.arrival > Self.inputPatience
        let isLast = isLate || tried.count == min(Self.inputAttemptsMax, map.cells.count)
        // One that hangs leaves others the time to say whose it is.
        if !isLast { passed.patience = Milliseconds(CellCalls.patience.count / 2) }
        let now = ClockReading.now().elapsed
        calls.send(passed, to: map.cells[place], arrival: now) { [self] outcome in
            var next: Int?
            switch outcome {
            case .answered(let answer) where answer.status == 421:
                let name = (try? JSONTree(reading: answer.body))?["cell"]?.text
                next = name.flatMap { map.place(of: Array($0.utf8)) }
                // A cell that is new.
                if next == nil, let name, outcome.mapVersion > map.version, !call.isAnew {
                    return follower.map(of: outcome.mapVersion) { [self] newer in
                        let place = newer?.place(of: Array(name.utf8))
                        passInput(call.anew, newer ?? map, to: place ?? 0, tried: [])
                    }
                }
            case .answered(let answer) where answer.status < 500: break
            default: next = map.cells.indices.filter { !tried.contains($0) }.randomElement()
            }
            if let next, !tried.contains(next), !isLast {
                return passInput(call, map, to: next, tried: tried)
            }
            // Whose it is, is no question to the phone.
            if case .answered(let answer) = outcome, answer.status == 421 {
                return call.answer(
                    Router.unavailable("the cell whose person it is does not answer"), InputStats())
            }
            call.answer(Self.response(outcome, of: map.cells[place]), InputStats())
        }
    }

    // MARK: - Everybody

    /// Passes a heartbeat on to all cells and the fleet cell: each has a dead-man's switch of its own.
    func passEverywhere(_ call: Call, _ map: CellMap) {
        guard let passed = passed(call, call.request) else {
            return call.answer(Self.notFound, InputStats())
        }
        sendToAll(passed.plain, and: [fleetCell], of: call, map) { cells, outcomes in
            var taken: HTTPCallAnswer?
            var refusal: HTTPCallAnswer?
            var missing: [String] = []
            for (cell, outcome) in zip(cells, outcomes) {
                guard case .answered(let answer) = outcome, Self.isDocument(answer) else {
                    missing.append(Self.words(cell))
                    continue
                }
                if answer.status == 200 {
                    taken = taken ?? answer
                } else {
                    refusal = refusal ?? answer
                    missing.append(Self.words(cell))
                }
            }
            // What is wrong with it is wrong everywhere, unless somebody took it.
            if taken == nil, let refusal {
                return call.answer(Self.response(refusal), InputStats())
            }
            // One beat that is missing counts for nothing; who is not switched off raises an alarm.
            let isEnough = missing.isEmpty || call.route.method == .post
            guard let taken, isEnough else {
                return call.answer(
                    Router.unavailable("\(missing.joined(separator: ", ")) did not take it"),
                    InputStats())
            }
            call.answer(Self.response(taken, without: missing), InputStats())
        }
    }

    /// An answer of one object, with those who did not take the request if there are any.
    private static func response(
        _ answer: HTTPCallAnswer, without missing: [String]
    ) -> HTTPResponse {
        var response = response(answer)
        guard !missing.isEmpty, let tree = try? JSONTree(reading: answer.body) else {
            return response
        }
        let list: JSONTree = ["unavailable": .list(missing.map { .text($0) })]
        response.body = AlertJSON.bytes(tree.with(list))
        return response
    }

    /// Wakes the members of a circle in all cells, and adds up how many were.
    func passWake(_ call: Call, _ map: CellMap) {
        guard let passed = passed(call, call.request) else {
            return call.answer(Self.notFound, InputStats())
        }
        sendToAll(passed.plain, of: call, map) { cells, outcomes in
            let answers = Self.answers(outcomes, cells)
            guard let first = answers.found.first else {
                return call.answer(answers.failure(of: cells), InputStats())
            }
            let trees = answers.found.map(\.tree)
            let skipped = WakeReason.allCases.compactMap { reason -> JSONTree.Member? in
                let name = "\(reason.word)"
                let count = Self.sum(trees.map { $0["skipped"]?[name]?.whole })
                return count > 0 ? .init(name: name, value: .integer(count)) : nil
            }
            let merged = first.tree.members.compactMap { member -> JSONTree.Member? in
                switch member.name {
                case "woken", "beyond":
                    let sum = Self.sum(trees.map { $0[member.name]?.whole })
                    return .init(name: member.name, value: .integer(sum))
                case "skipped": return .init(name: "skipped", value: .object(skipped))
                case "decisions":
                    let all = trees.flatMap { $0["decisions"]?.elements ?? [] }
                    return .init(name: "decisions", value: .list(all))
                default: return member
                }
            }
            call.answer(
                .json(AlertJSON.bytes(JSONTree.object(merged).with(answers.missing))),
                InputStats())
        }
    }

    /// Asks all who may have an incident; its number is another's everywhere else.
    func passIncident(_ call: Call, _ map: CellMap) {
        // A bare number is the fleet cell's: each cell counts from 1.
        guard IncidentKey(call.target.key)?.store != nil else {
            return pass(call, call.request, to: fleetCell)
        }
        guard let passed = passed(call, call.request) else {
            return call.answer(Self.notFound, InputStats())
        }
        sendToAll(passed.plain, and: [fleetCell], of: call, map) { cells, outcomes in
            var missing: CellMap.Cell?
            var unknown: HTTPCallAnswer?
            var refusal: HTTPCallAnswer?
            for (cell, outcome) in zip(cells, outcomes) {
                guard case .answered(let answer) = outcome, Self.isDocument(answer) else {
                    missing = missing ?? cell
                    continue
                }
                switch answer.status {
                case 200: return call.answer(Self.response(answer), InputStats())
                case 404: unknown = answer
                default: refusal = refusal ?? answer
                }
            }
            if let refusal { return call.answer(Self.response(refusal), InputStats()) }
            guard missing == nil, let unknown else {
                let words = missing.map { Self.words($0) } ?? "nobody"
                return call.answer(
                    Router.unavailable("\(words) does not answer, and may have it"), InputStats())
            }
            call.answer(Self.response(unknown), InputStats())
        }
    }
}

extension Route {
    /// The kind of the items that it takes.
    fileprivate var itemKind: ItemKind {
        switch resource {
        case .transitions: .transition
        case .responders: method == .put ? .rosterEntry : .responder
        default: .batch
        }
    }
}
