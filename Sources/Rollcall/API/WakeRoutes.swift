import RollcallCore
import RollcallSupport

/// The circle that somebody looks at, as they tell with `POST /v1/wakes`. Source: N9.
struct WakeRequest: Equatable {
    /// The reason why a request is not taken.
    struct Fault: Error, Equatable {
        let detail: String
        /// True of a name that looks like coordinates: that is counted.
        var isPlace = false
    }

    /// The fields that a body may have.
    static let fields = ["circle", "viewer"]

    let circle: [UInt8]
    let viewer: [UInt8]

    /// Reads a body.
    /// - Throws: `Fault` if it is no object, or a name in it is missing or wrong.
    init(_ body: JSONTree) throws(Fault) {
        guard case .object = body else { throw Fault(detail: "an object expected") }
        circle = try Self.name(body["circle"]?.text, "circle")
        viewer = try Self.name(body["viewer"]?.responderID, "viewer")
    }

    private static func name(_ text: String?, _ member: String) throws(Fault) -> [UInt8] {
        let name = text.map { Array($0.utf8) } ?? []
        guard Router.isName(name) else {
            throw Fault(
                detail: "/\(member): 1 to \(ItemScanner.nameBytesMax) bytes without control "
                    + "characters expected")
        }
        if PlaceText.isIn(name) {
            throw Fault(
                detail: "/\(member): looks like coordinates, which are never taken", isPlace: true)
        }
        return name
    }
}

/// The route by which phones are woken. Source: N9.
extension Router {
    /// Answers `POST /v1/wakes` after its commit: how many other members are woken, and how many for
    /// which reason not; to whom may read, for each of them.
    func postWake(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let answer = noting(WakeRequest.fields, request, answer) else { return }
        guard let source = source(request) else { return answer(Self.badSource, InputStats()) }
        if let refusal = Self.bulk(request) { return answer(refusal, InputStats()) }
        let call: WakeRequest
        do {
            call = try WakeRequest(try JSONTree(reading: request.body))
        } catch let error as JSONError {
            return answer(Self.notJSON(error), InputStats())
        } catch let error as WakeRequest.Fault {
            var input = InputStats()
            if error.isPlace { input.addProblem(.coordinate) }
            return answer(Self.unprocessable(error.detail), input)
        } catch {
            return answer(Self.unprocessable("not understood"), InputStats())
        }
        let sending = RequestSending(request)
        note(sending, of: source)
        let event = Event.wake(.circle(call.circle, viewer: call.viewer), source: source)
        let isReader = opens(.read, request)
        write(event, request, answer, by: source, once: .report) {
            [writer] receipt, answer in
            // Ids are not in a receipt: what was decided may be looked at again after an erasure.
            writer.ask { view in
                let counts = Self.wakes(call.circle, receipt, view.engine.policy.nudges.mode)
                // Of a repeat the numbers are known, and no people.
                let showsMembers = isReader && receipt.repeated == nil
                let tree =
                    showsMembers ? counts.with(Self.members(receipt, view.engine)) : counts
                answer(
                    .json(AlertJSON.bytes(tree.with(Self.problems(sending)))), sending.stats)
            }
        }
    }

    /// Returns what of a request that brings no item cannot be read, if there is anything.
    private static func problems(_ sending: RequestSending) -> JSONTree {
        guard let problem = sending.problem else { return [:] }
        let note: JSONTree = [
            "index": .integer(Int64(problem.index)), "pointer": .text(problem.pointer),
            "detail": .text(problem.detail),
        ]
        return ["problems": .list([note])]
    }

    private static func wakes(
        _ circle: [UInt8], _ receipt: Receipt, _ mode: NudgeRules.Mode
    ) -> JSONTree {
        let numbers = receipt.repeated ?? receipt.result(of: .wake(.members([]), source: []))
        func number(_ place: Int) -> Int64 { place < numbers.count ? numbers[place] : 0 }
        let skipped = WakeReason.allCases.indices.compactMap { place -> JSONTree.Member? in
            let count = number(2 + place)
            guard count > 0 else { return nil }
            return JSONTree.Member(
                name: "\(WakeReason.allCases[place].word)", value: .integer(count))
        }
        return [
            "circle": AlertJSON.text(circle),
            "woken": .integer(number(0)), "skipped": .object(skipped),
            "beyond": .integer(number(1)),
            "mode": AlertJSON.word(mode.word), "sent": .boolean(mode == .live),
        ]
    }

    /// Returns who is woken and who is not: who writes alone need not know who is in a circle.
    private static func members(_ receipt: Receipt, _ engine: Engine) -> JSONTree {
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
        return ["decisions": .list(decisions)]
    }
}
