import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of who sees to an incident. Source: R2.
extension Router {
    /// Answers `POST /v1/incidents/{key}/take`.
    func postTake(_ text: String, _ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let answer = noting(TakeRequest.fields, request, answer) else { return }
        withIncident(text, answer) { incident in
            let token = self.action(.take, request).token
            self.read(request, answer) { (body) throws(RequestFault) in
                let now = ClockReading.now().wall
                let asked = try TakeRequest(body, incident, token: token, now: now)
                return .take(.begin(asked.take))
            } then: { receipt, answer in
                if let fault = receipt.takeFault {
                    return answer(Self.refusal(fault), InputStats())
                }
                self.showTake(incident, answer)
            }
        }
    }

    /// Answers `DELETE /v1/incidents/{key}/take`.
    func endTake(_ text: String, _ request: HTTPRequest, _ answer: @escaping Answer) {
        withIncident(text, answer) { incident in
            let action = self.action(.release, request)
            self.write(.take(.end(incident)), request, answer, once: .action, as: action) {
                receipt, answer in
                if let fault = receipt.takeFault {
                    return answer(Self.refusal(fault), InputStats())
                }
                answer(.json(AlertJSON.bytes(["incident": .integer(incident)])), InputStats())
            }
        }
    }

    /// Goes on with the incident that a key names, unless it is another store's or none.
    private func withIncident(
        _ text: String, _ answer: @escaping Answer, _ body: @escaping @Sendable (Int64) -> Void
    ) {
        guard let key = IncidentKey(text) else {
            return answer(Self.refusal(.unknown), InputStats())
        }
        guard let store = key.store else { return body(key.incident) }
        writer.ask { view in
            if view.storeNumber == store { return body(key.incident) }
            answer(Self.refusal(.unknown), InputStats())
        }
    }

    private func showTake(_ incident: Int64, _ answer: @escaping Answer) {
        writer.ask { view in
            let now = view.engine.clock.now
            let take = view.engine.alerting.notifications.take(of: incident, at: now)
            let tree: JSONTree = [
                "incident": .integer(incident), "key": AlertJSON.key(incident, view),
                "taken": take.map { AlertJSON.take($0) } ?? nil,
            ]
            answer(.json(AlertJSON.bytes(tree)), InputStats())
        }
    }

    private static func refusal(_ fault: TakeFault) -> HTTPResponse {
        switch fault {
        case .unknown:
            .problem(404, "Not Found", detail: "there is no such incident here, and there was none")
        case .untaken: .problem(404, "Not Found", detail: "nobody has taken it")
        case .resolved: .problem(409, "Conflict", detail: "it is over: there is nothing to see to")
        case .watchdog:
            .problem(
                409, "Conflict",
                detail: "the watchdog is no incident: who listens to it must hear it")
        case .over: unprocessable("/until: has passed already")
        }
    }
}
