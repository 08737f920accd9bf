import RollcallBasis
import RollcallCore
import RollcallStore

/// The routes about nudges. Source: N8, §9.
extension Router {
    /// Answers `GET /v1/nudges`: who was nudged, who was not and why.
    func showNudges(_ query: NudgeQuery, _ answer: @escaping Answer) {
        writer.ask { [history, writer] view in
            let person = query.responder.flatMap { HistoryPerson($0, view.engine.roster) }
            guard query.responder == nil || person != nil else {
                return answer(Self.nobody, InputStats())
            }
            let present = HistoryPresent(view)
            if !query.by.isEmpty {
                return history.ask({ answer($0, InputStats()) }) { (work) throws(StoreError) in
                    try NudgeTable.answer(query, present, work)
                }
            }
            let standing = NudgeStanding(view.engine, store: writer.store.number)
            history.ask({ answer($0, InputStats()) }) { (work) throws(StoreError) in
                try NudgeLedger.answer(query, person, present, standing, work)
            }
        }
    }

    /// Answers `GET /v1/responders/{id}/nudge`: would this person be nudged now?
    func showNudge(_ id: [UInt8], _ answer: @escaping Answer) {
        writer.ask { [writer] view in
            guard let number = view.engine.roster.number(of: id) else {
                return answer(Self.nobody, InputStats())
            }
            let standing = NudgeStanding(view.engine, store: writer.store.number)
            let tree = NudgeJSON.answer(number, view.engine, standing)
            answer(.json(AlertJSON.bytes(tree)), InputStats())
        }
    }
}
