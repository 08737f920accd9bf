/// Rules that hold for the alert lines of any story. Source: Contract/Alerts, F1, F27.
///
///     nothing ──► pending ──► firing ──► resolved
///        │           └──► inactive
///        └──► firing, if `for` is 0
struct AlertStream {
    /// An alert's line.
    struct Line {
        var at: Int64
        var name: String
        var state: String
        var labels: String
        var value: String

        /// What makes it the same alert.
        var id: String { name + labels }
        /// Its place among the label sets: the empty one comes first.
        var place: String { labels == "{}" ? "" : labels }
        /// Evaluated while blind too (F9).
        var isOfFeed: Bool { name == "TelemetryFeedDown" }
    }

    /// A pending or firing alert.
    private struct Alert {
        var isFiring = false
        /// Running time, moved on by what was blind.
        var since: Int64
        /// The shortest `for` in force since then.
        var shortest: Int64
    }

    private var alerts: [String: Alert] = [:]
    private var rules = StoryAlerts()
    private var steps: Int64 = 0
    /// The line before, if it was one of the same evaluation.
    private var last: Line?

    /// The wall stepped.
    mutating func step(_ by: Int64) {
        steps += by
        last = nil
    }

    /// Other rules are in force.
    mutating func note(_ rules: StoryAlerts) {
        self.rules = rules
        for (id, alert) in alerts {
            let name = String(id.prefix { $0 != "{" })
            alerts[id]?.shortest = min(alert.shortest, rules.rule(of: name).pendingFor)
        }
    }

    /// We can see again after not seeing between two walls; `until` is nil if a step makes the length
    /// unknown. With a grace the timers of pending alerts start anew (B5, F9).
    mutating func regain(from: Int64, until: Int64?, hasGrace: Bool) {
        for (id, alert) in alerts where !alert.isFiring && !id.hasPrefix("TelemetryFeedDown") {
            guard let until else {
                alerts[id]?.shortest = 0
                continue
            }
            let (onset, end) = (from - steps, until - steps)
            let blind = max(0, end - max(onset, alert.since))
            alerts[id]?.since = hasGrace || alert.since >= onset ? end : alert.since + blind
        }
    }

    /// Evaluates a line by those before it; `statuses` are everybody's.
    mutating func take(
        _ line: Line, isBlind: Bool, _ statuses: [String: String]
    ) throws(Breach) {
        let alert = alerts[line.id]
        func breach(_ rule: String, _ why: String) -> Breach {
            Breach(rule: rule, detail: "\(why): \(line), was \(alert as Any)")
        }
        if isBlind, !line.isOfFeed { throw breach("B4", "an alert changes while blind") }
        if let last, last.at == line.at, (last.name, last.place) >= (line.name, line.place) {
            throw breach("F1", "alerts come by name and labels")
        }
        last = line
        let rule = rules.rule(of: line.name)
        let since = line.at - steps
        switch line.state {
        case "pending":
            guard alert == nil else { throw breach("F27", "pending again") }
            guard rule.pendingFor > 0 else { throw breach("F27", "pending without a wait") }
            alerts[line.id] = Alert(since: since, shortest: rule.pendingFor)
        case "firing":
            if alert?.isFiring == true { throw breach("A1", "fires again") }
            if alert == nil, rule.pendingFor > 0 { throw breach("A1", "fires without a wait") }
            if let alert, since - alert.since < alert.shortest {
                throw breach("A1", "fires too soon")
            }
            alerts[line.id] = Alert(isFiring: true, since: since, shortest: rule.pendingFor)
        case "resolved":
            guard alert?.isFiring == true else { throw breach("F27", "resolved without firing") }
            alerts[line.id] = nil
        case "inactive":
            guard alert?.isFiring == false else { throw breach("F27", "inactive, not pending") }
            alerts[line.id] = nil
        default: throw breach("F5", "unknown state")
        }
        if line.state == "pending" || line.state == "firing" {
            if !rule.isEnabled { throw breach("A1", "disabled") }
            try evaluateValue(line, statuses, breach)
        }
    }

    /// Evaluates the end of a story, at `endsAt` by the wall, when all is well: nothing waits for
    /// longer than it must (A1).
    func evaluateEnd(_ endsAt: Int64) throws(Breach) {
        for (id, alert) in alerts where !alert.isFiring && alert.shortest > 0 {
            let name = String(id.prefix { $0 != "{" })
            if endsAt - steps - alert.since >= rules.rule(of: name).pendingFor {
                throw Breach(rule: "A1", detail: "\(id) is pending since \(alert.since)")
            }
        }
    }

    /// A rate of the whole fleet is that of the statuses told so far (A2).
    private func evaluateValue(
        _ line: Line, _ statuses: [String: String], _ breach: (String, String) -> Breach
    ) throws(Breach) {
        guard line.name == "HighOfflineRate", line.labels == "{}" else { return }
        let active = statuses.values.count { $0 != "NOT_EXPECTED" }
        let offline = statuses.values.count { $0 == "OFFLINE" }
        if line.value != JSON.share(offline, of: active) {
            throw breach("A2", "\(offline) of \(active)")
        }
    }
}
