import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of inputs. Source: M2 to M4.
extension Router {
    /// The parameter of a query that may hold a token (M3).
    static let tokenParameter = "token"

    // MARK: - Who is let in

    /// Refuses by its head what need not be read.
    func authorise(
        _ request: HTTPRequest, to target: Target, _ routes: [Route], _ accessPoint: AccessPoint,
        _ rules: AccessPolicy.Rules
    ) -> HTTPResponse? {
        if let refusal = unauthenticated(request, nil, nil, accessPoint, rules) { return refusal }
        let entry = inputs.entry(target.input)
        let token = self.token(request, rules)
        let deviceKey = entry?.settings.deviceKey
        if deviceKey == nil, !rules.access.isOpen, token == nil {
            accessPolicy.count(.token)
            return Self.noToken(request)
        }
        guard routes.contains(where: { $0.method.rawValue == request.method }) else {
            return Self.wrongMethod("GET, HEAD, POST, PUT")
        }
        if let refusal = foreign(request, rules) { return refusal }
        if let deviceKey {
            guard deviceKey.holder(request.authorization) != nil else {
                accessPolicy.count(.token)
                return Self.noDeviceKey
            }
        } else if rules.access.isOpen {
            // A page of anybody can make a browser ask for an address of this machine.
            guard request.method != "GET" else {
                accessPolicy.count(.token)
                return Self.noTokenOfGET
            }
        } else if token?.inputs.contains(String(target.input)) != true {
            accessPolicy.count(.scope)
            return Self.wrongInput(token)
        }
        guard let entry else { return Self.notFound }
        return refusal(request, of: entry, target)
    }

    /// Refuses what an input does not take, and what there is no room for.
    private func refusal(
        _ request: HTTPRequest, of entry: InputBook.Entry, _ target: Target
    ) -> HTTPResponse? {
        if request.method == "GET" {
            return entry.settings.takesForms ? nil : Self.wrongMethod("POST, PUT")
        }
        if case .refused(let refusal) = BodyCoding.choice(request.contentEncoding) {
            return refusal
        }
        return inputAtCapacity(target.input)
    }

    private static func wrongMethod(_ allowed: String) -> HTTPResponse {
        .problem(
            405, "Method Not Allowed", detail: "see the Allow header",
            headers: [("Allow", allowed)])
    }

    /// The token of a request to an input: as everywhere, or in its query.
    private func token(_ request: HTTPRequest, _ rules: AccessPolicy.Rules) -> Access.Token? {
        if let token = rules.access.holder(request.authorization) { return token }
        let shown = request.query.first { $0.name == Self.tokenParameter }?.value
        return shown.flatMap { rules.access.holder(of: Array($0.utf8)) }
    }

    private static var noTokenOfGET: HTTPResponse {
        .problem(
            401, "Unauthorized",
            detail: "GET needs a token even on this machine: set web.tokens, with the scope "
                + "input:NAME",
            headers: [("WWW-Authenticate", "Bearer realm=\"rollcall\"")])
    }

    /// Says which inputs a token opens, to whoever holds it: a name that is misspelt in an app stands
    /// beside the right one. Whether there is an input of the name that was asked for, it does not say.
    private static func wrongInput(_ token: Access.Token?) -> HTTPResponse {
        let opened = (token?.inputs ?? []).sorted().map { "input:\($0)" }.joined(separator: ", ")
        return .problem(
            403, "Forbidden",
            detail: "this token opens no input of this name; "
                + (opened.isEmpty ? "it has no scope input:NAME" : "it has \(opened)"))
    }

    private static var noDeviceKey: HTTPResponse {
        .problem(
            401, "Unauthorized",
            detail: "Basic is needed, with the id as user and its HMAC as password",
            headers: [("WWW-Authenticate", "Basic realm=\"rollcall\", charset=\"UTF-8\"")])
    }

    // MARK: - What it brings

    /// Reads what came to an input and answers as its client expects, after the commit. What can never
    /// be taken is answered so too: its client would send it for ever (M4).
    func takeInput(_ call: Route.Call) {
        let request = call.request
        guard let entry = inputs.entry(call.target.input) else {
            return call.answer(Self.notFound, InputStats())
        }
        // What asks by HEAD brings nothing.
        if request.isHead { return call.answer(Self.answer(entry.settings.answer), InputStats()) }
        let source = Self.source(of: entry)
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try admission.reserve(source, bytes: request.body.count)
        } catch {
            return call.answer(Self.refusal(error), InputStats())
        }
        let arrival = ClockReading.now().wall
        let reading = read(call, entry, arrival)
        if reading.isForeign {
            admission.release(place)
            accessPolicy.count(.scope)
            return call.answer(
                .problem(403, "Forbidden", detail: "this key is another person's"), InputStats())
        }
        var input = InputStats()
        input.add(reading.scan)
        let answer = Self.answer(entry.settings.answer)
        let standingAnswer = Self.standingAnswer(to: request, entry.settings)
        let (book, name) = (inputs, entry.settings.name)
        guard reading.scan.items.count > 0 else {
            admission.release(place)
            book.count(name, reading, Receipt(), at: arrival)
            return call.answer(standingAnswer?(nil) ?? answer, input)
        }
        if let refusal = refusalElsewhere(reading.scan) {
            admission.release(place)
            if refusal.status != 503 { book.count(name, reading, Receipt(), at: arrival) }
            return call.answer(refusal, InputStats())
        }
        if let received = reading.scan.receivedAt {
            edge.clocks.note(source, sentAt: nil, receivedAt: received, arrival: arrival)
        }
        writer.write(
            .items(reading.scan.items, source: source), asksStandings: standingAnswer != nil
        ) {
            [admission, input, reading, reply = call.answer] outcome in
            admission.release(place)
            switch outcome {
            case .committed(let receipt):
                var input = input
                input.add(receipt)
                book.count(name, reading, receipt, at: arrival)
                // All items are of the one whose key it is (M3).
                let standing = receipt.standings?.first ?? nil
                reply(standingAnswer?(standing) ?? answer, input)
            case .unavailable(let reason): reply(Self.unavailable(reason), InputStats())
            }
        }
    }

    private func read(
        _ call: Route.Call, _ entry: InputBook.Entry, _ arrival: Timestamp
    ) -> InputReading {
        let request = call.request
        var said = InputRequest(arrival: arrival)
        said.user = request.user
        said.headers = request.fields
        said.query = request.query
        said.path = call.target.id.isEmpty ? nil : call.target.id
        said.enrols = entry.enrols
        said.fixed = entry.settings.fixed
        said.only = entry.settings.deviceKey?.holder(request.authorization)
        guard let mapping = entry.settings.mapping(of: request.body) else {
            return InputReading()
        }
        do throws(ScanError) {
            return try InputReader.read(
                request.body.span, said, by: mapping, limits: limits.current)
        } catch {
            return InputReading(refused: error)
        }
    }

    /// The source of what comes by an input (F10).
    private static func source(of entry: InputBook.Entry) -> [UInt8] {
        Array("input:\(entry.settings.name)".utf8)
    }

    /// Refuses by its head what there is no room for.
    func inputAtCapacity(_ input: Substring) -> HTTPResponse? {
        guard let entry = inputs.entry(input) else { return nil }
        do throws(Admission.Refusal) {
            try admission.check(Self.source(of: entry))
            return nil
        } catch {
            return Self.refusal(error)
        }
    }

    private static func answer(_ answer: InputAnswer) -> HTTPResponse {
        let body = Array(answer.body.utf8)
        return HTTPResponse(
            status: answer.status,
            headers: body.isEmpty ? [] : [("Content-Type", "application/json")], body: body)
    }
}

/// `GET /v1/inputs`. Source: M4.
extension Router {
    /// Answers what came by each input, and the last that could not be taken: never a value of it.
    func listInputs(_ answer: @escaping Answer) {
        let list = inputs.all().map { entry, counts -> JSONTree in
            let updates: JSONTree = [
                "accepted": .integer(Int64(counts.updates[0])),
                "duplicate": .integer(Int64(counts.updates[1])),
                "late": .integer(Int64(counts.updates[2])),
            ]
            let items = InputBook.outcomes.enumerated().map { place, word in
                JSONTree.Member(name: "\(word)", value: .integer(Int64(counts.items[place])))
            }
            let faults = ItemFault.allCases.compactMap { fault -> JSONTree.Member? in
                let count = counts.faults[Int(fault.rawValue)]
                guard count > 0 else { return nil }
                return JSONTree.Member(name: "\(fault.word)", value: .integer(Int64(count)))
            }
            return [
                "name": .text(entry.settings.name),
                "preset": entry.settings.preset.map { .text($0.rawValue) } ?? .null,
                "enrols": .boolean(entry.enrols), "mqtt": edge.mqtt.answer(entry.settings.name),
                "requests": .integer(Int64(counts.requests)),
                "items": .object(items),
                "updates": updates,
                "problems": .object(faults),
                "last_problem": counts.lastProblem.map { Self.tree($0) } ?? .null,
                "last_request_at": Self.tree(counts.lastRequestAt),
                "last_accepted_at": Self.tree(counts.lastAcceptedAt),
            ]
        }
        let body: JSONTree = ["inputs": .list(list)]
        answer(.json(Array((body.printed).utf8)), InputStats())
    }

    private static func tree(_ problem: InputBook.LastProblem) -> JSONTree {
        [
            "at": tree(problem.at), "pointer": .text(problem.note.pointer),
            "reason": .text("\(problem.note.fault.word)"), "detail": .text(problem.note.detail),
        ]
    }

    private static func tree(_ at: Timestamp?) -> JSONTree {
        at.map { .text(RFC3339.string($0)) } ?? .null
    }
}
