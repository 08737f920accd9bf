import RollcallCore

/// The routes about alerts. Source: A10, §9.
extension Router {
    /// Answers `GET /v1/alerts`: what is pending or fires, from memory.
    func showAlerts(_ answer: @escaping Answer) {
        keeper.ask { view in answer(.json(AlertJSON.body(view)), InputFigures()) }
    }

    /// Answers `GET /v1/alerts/history`: what fired, who was told or not, and why.
    func showAlertHistory(_ query: AlertHistoryQuery, _ answer: @escaping Answer) {
        keeper.ask { [history] view in
            let present = HistoryPresent(view)
            history.ask({ answer($0, InputFigures()) }) { (work) throws(StoreError) in
                try AlertHistory.answer(query, present, work)
            }
        }
    }
}
