import RollcallBasis
import RollcallCore
import RollcallSupport

/// The wish that somebody reconnects, as it is given with `POST /v1/nudges`. Source: R3.
struct AskRequest {
    static let fields = ["responder_id", "by", "note"]

    let responder: [UInt8]
    /// The one who asks, by the name that was given: of a member their id; empty without one.
    let by: [UInt8]
    let note: [UInt8]

    /// Reads a body; `needsAsker` where nobody else says who asks. Throws `RequestFault` if it is no
    /// object, or a field of it is missing or wrong.
    init(_ body: JSONTree, needsAsker: Bool) throws(RequestFault) {
        guard case .object = body else {
            throw RequestFault(pointer: "", detail: "an object expected")
        }
        responder = try RequestFault.text(
            body["responder_id"]?.responderID.map { .text($0) }, "/responder_id",
            ItemScanner.nameBytesMax)
        let given = body["by"] == .null ? nil : body["by"]
        guard given != nil || !needsAsker else {
            throw RequestFault(
                pointer: "/by", detail: "must be the responder_id of the member who asks")
        }
        by =
            try given.map { (value) throws(RequestFault) in
                try RequestFault.text(
                    value.responderID.map { .text($0) }, "/by", SilenceRequest.authorMax)
            } ?? []
        note = try RequestFault.note(body)
    }
}

/// The route by which somebody is asked to reconnect. Source: R3.
extension Router {
    /// Returns the scope that a request to ask needs: an operator acts, and a backend passes on what a
    /// member of a circle asks.
    static func scopeToAsk(_ token: Access.Token?) -> Access.Scope? {
        token?.opens(.act) == true ? .act : nil
    }

    /// Answers `POST /v1/nudges`: an operator the decision with its reason, a member of a circle whether
    /// somebody was asked.
    func postNudge(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let answer = noting(AskRequest.fields, request, answer) else { return }
        guard let source = source(request) else { return answer(Self.badSource, InputStats()) }
        let isOperator = opens(.act, request)
        var action = action(.ask, request)
        let isNamed = isOperator && !action.token.isEmpty
        let asked = document(request, answer) { (body) throws(RequestFault) in
            try AskRequest(body, needsAsker: !isNamed)
        }
        guard let asked else { return }
        // Of whoever asks nothing is known in another cell: only who is asked for decides where.
        if let refusal = refusalElsewhere(asked.responder) { return answer(refusal, InputStats()) }
        if isOperator, !asked.by.isEmpty { action.author = asked.by }
        action.comment = asked.note
        let call = AskCall.ids(asked.responder, by: isOperator ? nil : asked.by)
        write(
            .ask(call, source: source), request, answer, by: isOperator ? nil : source,
            once: isOperator ? .action : .report, as: action
        ) { [writer] receipt, answer in
            writer.ask { view in
                let standing = NudgeStanding(view.engine, store: view.storeNumber)
                answer(
                    isOperator
                        ? Self.decision(asked.responder, receipt, standing)
                        : Self.said(asked.responder, receipt), InputStats())
            }
        }
    }

    /// Returns what a member of a circle learns: nothing of why somebody is not asked.
    private static func said(_ responder: [UInt8], _ receipt: Receipt) -> HTTPResponse {
        let isAsked = receipt.ask?.result == .send || receipt.repeated.map { $0.last == 0 } == true
        return .json(
            AlertJSON.bytes([
                "responder_id": AlertJSON.text(responder),
                "answer": isAsked ? "asked" : "not_now",
            ]))
    }

    /// Returns what an operator learns.
    private static func decision(
        _ responder: [UInt8], _ receipt: Receipt, _ standing: NudgeStanding
    ) -> HTTPResponse {
        var push = receipt.ask?.push ?? 0
        var result = receipt.ask?.result
        if let repeated = receipt.repeated, repeated.count == 2 {
            (push, result) = (repeated[0], repeated[1] == 1 ? .dryRun : .send)
        }
        guard let result else { return nobody }
        if result == .disabled {
            return .problem(
                409, "Conflict", detail: "nudges.mode is disabled: nobody can be asked")
        }
        var reason: NudgeReason?
        if case .hold(let held) = result { reason = held }
        return .json(
            AlertJSON.bytes([
                "responder_id": AlertJSON.text(responder),
                "decision": result == .send ? "send" : result == .dryRun ? "dry_run" : "hold",
                "reason": reason.map { AlertJSON.word($0.word) } ?? nil,
                "text": .text(NudgeWords.asked(result)),
                "until": receipt.ask?.until.map { AlertJSON.time($0) } ?? nil,
                "nudge_id": push > 0 ? .text(standing.id(.nudge, push)) : nil,
            ]))
    }
}
