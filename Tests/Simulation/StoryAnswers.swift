import RollcallCore

extension StoryDecision {
    /// What whoever acts is answered: of a take and an ask; nil for other lines.
    init?(_ line: StoryLine, _ receipt: Receipt, _ engine: Engine) {
        let wall = engine.clock.wallNow.milliseconds
        switch line.event {
        case .take(let take):
            let taken = engine.alerting.notifications.take(
                of: take.incident, at: engine.clock.now)
            self = .take(
                at: wall, incident: take.incident, answer: Self.text(receipt, "taken"),
                until: receipt.taken == nil ? nil : taken?.until.milliseconds)
        case .giveBack(let incident):
            self = .take(
                at: wall, incident: incident, answer: Self.text(receipt, "given back"), until: nil)
        case .ask(let ask):
            self = .ask(
                at: wall, responderID: ask.responderID,
                answer: receipt.ask.map { Self.text($0.result) } ?? "unknown",
                until: receipt.ask?.until?.milliseconds)
        default: return nil
        }
    }

    private static func text(_ receipt: Receipt, _ done: String) -> String {
        switch receipt.takeFault {
        case nil: receipt.taken == nil ? "nothing" : done
        case .unknown: "unknown"
        case .resolved: "resolved"
        case .over: "over"
        case .untaken: "untaken"
        case .watchdog: "watchdog"
        }
    }

    private static func text(_ result: AskResult) -> String {
        switch result {
        case .send: "send"
        case .dryRun: "dry_run"
        case .hold(let reason): "\(reason.word)"
        case .outsider: "outsider"
        case .disabled: "disabled"
        }
    }
}
