import RollcallCore
import RollcallStore

/// The routes about alerts. Source: A10, §9.
extension Router {
    /// Answers `GET /v1/alerts`: what is pending or fires, from memory.
    func showAlerts(_ answer: @escaping Answer) {
        writer.ask { view in answer(.json(AlertJSON.body(view)), InputStats()) }
    }

    /// Answers `GET /v1/alerts/history`: what fired, who was told or not, and why.
    func showAlertHistory(_ query: AlertHistoryQuery, _ answer: @escaping Answer) {
        writer.ask { [history] view in
            let present = HistoryPresent(view)
            history.ask({ answer($0, InputStats()) }) { (work) throws(StoreError) in
                try AlertHistory.answer(query, present, work)
            }
        }
    }
}
