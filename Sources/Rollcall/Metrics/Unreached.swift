import RollcallCore

/// Alerts that fire and that nobody has taken. Source: rule D1.
package struct Unreached: Equatable, Sendable {
    /// The time that an alert fires before that is said.
    static let after = Milliseconds.seconds(60)
    /// Incidents named at most.
    static let incidentsMax = 10
    /// The severities that are counted.
    static let severities: [Severity] = [.critical, .warning, .info]
    private static let words = severities.map { Array("\($0.word)".utf8) }

    /// The reason why nobody was reached.
    package enum Reason: Sendable {
        /// Somebody is to be told, and did not take it.
        case notTaken
        /// No receiver of the settings wants it.
        case noReceiver

        /// The word in answers.
        package var word: StaticString { self == .notTaken ? "not_taken" : "no_receiver" }
    }

    /// The number of alerts, by severity.
    private(set) var counts: [Severity: Int] = [:]
    /// The first instant at which one of those that are critical fired; nil if there is none.
    private(set) var criticalSince: Timestamp?
    /// The lowest incidents of those.
    private(set) var incidents: [Int64] = []
    private(set) var reason = Reason.noReceiver

    /// Nobody waits for anybody.
    init() {}

    /// Counts what nobody took of all that fires in `engine` and of the `alarms` that it does not
    /// know; what was taken after `committed` does not count.
    init(_ engine: Engine, _ outbox: Outbox, _ alarms: [StoreAlarm], by committed: Timestamp) {
        let receivers = engine.policy.receivers
        let now = engine.clock.wallNow
        engine.alerting.board.forEach { key, alert in
            guard alert.state == .firing, now - alert.startsAt >= Self.after,
                !outbox.isTaken(alert, by: committed),
                !engine.isMuted(key, alert), alert.heldUntil <= engine.clock.now
            else { return }
            note(alert.labels, receivers, since: alert.startsAt, alert.incident)
        }
        for alarm in alarms where alarm.alertState == .firing {
            let labels = alarm.subject.member.labels
            let logs =
                receivers.areMoreThanLogs(for: labels)
                ? receivers.filter { $0.kind == .log }.map(\.name) : []
            guard now - alarm.startsAt >= Self.after,
                alarm.notified.allSatisfy({ logs.contains($0.receiver) }),
                alarm.silence(in: engine, now: engine.clock.now) == nil
            else { continue }
            note(labels, receivers, since: alarm.startsAt, nil)
        }
        incidents = Array(incidents.sorted().prefix(Self.incidentsMax))
    }

    private mutating func note(
        _ labels: [Label], _ receivers: [Receiver], since: Timestamp, _ incident: Int64?
    ) {
        let word = labels.value(of: Array("severity".utf8))
        guard let place = Self.words.firstIndex(of: word) else { return }
        let severity = Self.severities[place]
        counts[severity, default: 0] += 1
        guard severity == .critical else { return }
        criticalSince = min(criticalSince ?? since, since)
        if let incident { incidents.append(incident) }
        if receivers.contains(where: { $0.wants(labels) }) { reason = .notTaken }
    }

    /// Appends its family.
    func append(to page: inout Exposition) {
        page.family(
            "rollcall_alerts_unreached", .gauge,
            "Alerts that fire for a minute, are not muted, and that no receiver has taken.")
        for severity in Self.severities {
            page.sample(["severity": .word(severity.word)], Quantity(counts[severity] ?? 0))
        }
    }
}
