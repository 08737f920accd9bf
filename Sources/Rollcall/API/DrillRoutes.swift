import RollcallCore

/// The routes of drills: test alerts through the real path. Source: design §6 A11.
extension Router {
    /// Answers `POST /v1/drill`.
    func postDrill(_ request: HTTPRequest, _ answer: @escaping Answer) {
        read(request, answer) { (body) throws(BodyFault) in
            guard let receiver = body["receiver"]?.text,
                (1...ReceiverSettings.nameMax).contains(receiver.utf8.count)
            else { throw BodyFault(detail: "/receiver: the name of a receiver expected") }
            return .drill(receiver: Array(receiver.utf8))
        } then: { receipt in
            guard let number = receipt.drill else { return refuseDrill(answer) }
            showDrill(number, answer)
        }
    }

    private func refuseDrill(_ answer: @escaping Answer) {
        keeper.ask { view in
            let names = view.engine.policy.receivers.map {
                String(decoding: $0.name, as: UTF8.self)
            }
            answer(
                .problem(
                    404, "Not Found",
                    detail: "no receiver has this name; there are: "
                        + names.joined(separator: ", ")), InputFigures())
        }
    }

    /// Answers `GET /v1/drill/{number}`: what has become of it.
    func showDrill(_ number: Int64, _ answer: @escaping Answer) {
        keeper.ask { [history] view in
            _ = view
            history.ask({ answer($0, InputFigures()) }) { (work) throws(StoreError) in
                try Drill.answer(number, work)
            }
        }
    }
}

/// What became of a drill, from the store.
enum Drill {
    /// Answers a question for the drill of a number: 202 as long as its end is not known.
    static func answer(_ number: Int64, _ work: HistoryWork) throws(StoreError) -> HTTPResponse {
        guard let notice = try notice(number, work),
            notice.members.contains(where: { $0.name == .rollcallDrill })
        else { return .problem(404, "Not Found", detail: "there is no such drill") }
        let tree: JSONTree = [
            "drill": .integer(number), "receiver": AlertJSON.text(notice.receiver),
            "outcome": nil, "took_ms": nil, "targets": [],
        ]
        return .json(AlertJSON.bytes(tree), status: 202)
    }

    /// The notice of a number; newer ones are looked at first.
    private static func notice(
        _ number: Int64, _ work: HistoryWork
    ) throws(StoreError) -> Notice? {
        var id = Int64.max
        var looked = 0
        var found: Notice?
        var isEnd = false
        while !isEnd, found == nil, looked < AlertHistory.decisionsMax, !work.isOver {
            var isPast = false
            isEnd = try work.reader.alertDecisions(before: &id) { row in
                looked += 1
                guard case .notice(_, let notice) = DecisionCode.decision(row) else { return true }
                if notice.number == number { found = notice }
                isPast = notice.number <= number
                return !isPast && looked < AlertHistory.decisionsMax
            }
            if isPast { break }
        }
        return found
    }
}
