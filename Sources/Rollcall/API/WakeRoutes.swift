import RollcallCore

/// What somebody tells with `POST /v1/wakes`: they look at a circle. Source: design §7 N9.
struct WakeRequest: Equatable {
    /// Why it is not taken.
    struct Fault: Error, Equatable {
        let detail: String
    }

    let circle: [UInt8]
    let viewer: [UInt8]

    /// Reads a body.
    init(_ body: JSONTree) throws(Fault) {
        guard case .object = body else { throw Fault(detail: "an object expected") }
        circle = try Self.name(body, "circle")
        viewer = try Self.name(body, "viewer")
    }

    private static func name(_ body: JSONTree, _ member: String) throws(Fault) -> [UInt8] {
        let name = body[member]?.text.map { Array($0.utf8) } ?? []
        guard Router.isName(name) else {
            throw Fault(
                detail: "/\(member): 1 to \(ItemScanner.nameBytesMax) bytes without control "
                    + "characters expected")
        }
        return name
    }
}

/// The route by which phones are woken. Source: design §7 N9.
extension Router {
    /// Answers `POST /v1/wakes` after its commit: for each other member whether they are woken, and
    /// why not.
    func postWake(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let source = source(request) else { return answer(Self.badSource, InputFigures()) }
        let call: WakeRequest
        do {
            call = try WakeRequest(try JSONTree(reading: request.body))
        } catch let error as JSONError {
            return answer(Self.notJSON(error), InputFigures())
        } catch let error as WakeRequest.Fault {
            return answer(Self.unprocessable(error.detail), InputFigures())
        } catch {
            return answer(Self.unprocessable("not understood"), InputFigures())
        }
        let event = Event.wake(.circle(call.circle, viewer: call.viewer), source: source)
        write(event, request, answer, by: source) { [keeper] receipt in
            // Ids are not in a receipt: what was decided may be looked at again after an erasure.
            keeper.ask { view in
                let tree = Self.wakes(call.circle, receipt, view.engine)
                answer(.json(AlertJSON.bytes(tree)), InputFigures())
            }
        }
    }

    private static func wakes(
        _ circle: [UInt8], _ receipt: Receipt, _ engine: Engine
    ) -> JSONTree {
        var decisions: [JSONTree] = []
        for wake in receipt.wakes {
            let id = Array(engine.roster.id(wake.person))
            guard !id.isEmpty else { continue }
            let decision: JSONTree = [
                "responder_id": AlertJSON.text(id),
                "decision": wake.reason == nil ? "wake" : "skip",
            ]
            let reason: JSONTree = ["reason": wake.reason.map { AlertJSON.word($0.word) } ?? nil]
            decisions.append(wake.reason == nil ? decision : decision.with(reason))
        }
        let mode = engine.policy.nudges.mode
        return [
            "circle": AlertJSON.text(circle), "decisions": .list(decisions),
            "beyond": .integer(Int64(receipt.wakesBeyond)),
            "mode": AlertJSON.word(mode.word), "sent": .boolean(mode == .live),
        ]
    }
}
