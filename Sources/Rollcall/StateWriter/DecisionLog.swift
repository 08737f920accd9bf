import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The log of what was decided and is committed, as lines of our own. Source: D4.
///
/// No line names a person: an erasure does not reach what a log's reader has kept. Whoever may read
/// finds them by the number of the gap (`GET /v1/gaps`), which leads to nobody once they are erased.
struct DecisionLog: Sendable {
    /// Lines about people in one second at most; of the rest there is one that counts them.
    static let peoplePerSecond = 20
    /// Lines about alerts in one second at most: a storm must not fill a disk.
    static let alertsPerSecond = 200

    /// Lines of one kind in one second, and what was not told in it.
    private struct Budget: Sendable {
        let most: Int
        var logged = 0
        var left: [String: Int] = [:]

        /// True if a line may be written; else it is counted as `kind`.
        mutating func takes(_ kind: String) -> Bool {
            logged += 1
            if logged <= most { return true }
            left[kind, default: 0] += 1
            return false
        }

        /// Writes the line that counts the rest, and begins anew.
        mutating func end(_ words: Logger.Message, _ log: Logger) {
            if !left.isEmpty {
                let counts = left.mapValues { Logger.MetadataValue.string("\($0)") }
                log.info(words, metadata: counts)
            }
            self = Budget(most: most)
        }
    }

    private let log: Logger
    private var second = Int64.min
    private var people = Budget(most: peoplePerSecond)
    private var alerts = Budget(most: alertsPerSecond)

    init(_ log: Logger) { self.log = log }

    /// Tells of decisions that `engine` made, at an instant of the machine's clock.
    mutating func writeLog(_ decisions: [NumberedDecision], of engine: Engine, at elapsed: Int64) {
        pass(at: elapsed)
        for decision in decisions {
            switch decision.decision {
            case .status(_, let number, let from, let to, _):
                writeLog(number, from: from, to: to, engine)
            case .alert(_, let report): writeLog(report)
            case .blind(let at, let begins, let since, let reason):
                writeLog(reason, begins: begins, since: since, at: at, engine)
            case .skew(_, let report): writeLog(report)
            case .gap, .nudge, .wake, .notice, .mute, .update, .person, .action, .delivery, .push:
                break
            }
        }
    }

    /// Tells what a second that is over left untold.
    mutating func pass(at elapsed: Int64) {
        guard elapsed / 1000 != second else { return }
        second = elapsed / 1000
        people.end("more people went OFFLINE or are back", log)
        alerts.end("more alerts changed", log)
    }

    // MARK: - People

    private mutating func writeLog(_ number: Int, from: Status?, to: Status?, _ engine: Engine) {
        guard from != to, from == .offline || to == .offline else { return }
        guard people.takes(to == .offline ? "offline" : to == nil ? "not_expected" : "back") else {
            return
        }
        let person = engine.roster[number]
        var metadata: Logger.Metadata = [:]
        Self.add("region", engine.regions[person.region], to: &metadata)
        if let gap = engine.followedGap(of: number), gap.number > 0 {
            metadata["gap"] = "\(gap.number)"
            metadata["suspected"] = "\(gap.suspected.word)"
            if to != .offline, gap.length.count > 0 { metadata["after_ms"] = "\(gap.length.count)" }
        }
        if let to, to != .offline { metadata["status"] = "\(to.word)" }
        let words: Logger.Message =
            switch to {
            case .offline?: "a responder went OFFLINE"
            case nil: "a responder who was OFFLINE is not expected any more"
            default: "a responder who was OFFLINE is back"
            }
        log.info(words, metadata: metadata)
    }

    // MARK: - Alerts

    private mutating func writeLog(_ report: AlertReport) {
        guard alerts.takes("\(report.state.word)") else { return }
        var metadata: Logger.Metadata = [
            "alertname": "\(report.key.name.word)", "severity": "\(report.severity.word)",
            "count": "\(report.stats.count)", "total": "\(report.stats.total)",
        ]
        if report.incident > 0 { metadata["incident"] = "\(report.incident)" }
        switch report.key.subject {
        case .all: break
        case .region(let name): Self.add("region", name, to: &metadata)
        case .source(let name): Self.add("source", name, to: &metadata)
        case .cell(let name): Self.add("cell", name, to: &metadata)
        case .suspected: metadata["suspected"] = "true"
        }
        for label in report.labels {
            let name = NotificationWords.text(label.name)
            if metadata[name] == nil { Self.add(name, label.value, to: &metadata) }
        }
        let words: Logger.Message =
            switch report.state {
            case .pending: "an alert is pending"
            case .firing: "an alert fires"
            case .resolved: "an alert is resolved"
            case .inactive: "an alert is pending no more"
            }
        log.info(words, metadata: metadata)
    }

    /// Returns which alert a message is about, and how it stands there.
    static func about(_ payload: NotificationPayload) -> Logger.Metadata {
        guard let first = payload.members.first else { return [:] }
        var metadata: Logger.Metadata = [
            "alertname": "\(first.name.word)",
            "state": first.endsAt == .distantPast ? "firing" : "resolved",
        ]
        if first.incident > 0 { metadata["incident"] = "\(first.incident)" }
        add("region", first.labels.value(of: Array("region".utf8)), to: &metadata)
        if let fallback = first.fallback { add("fallback_for", fallback.receiver, to: &metadata) }
        if payload.members.count > 1 { metadata["alerts"] = "\(payload.members.count)" }
        if let storm = payload.storm {
            (metadata["incident"], metadata["storm"]) = (nil, "\(first.incident)")
            metadata["alerts"] = "\(storm.count)"
        }
        return metadata
    }

    // MARK: - The watch

    private func writeLog(
        _ reason: BlindReason, begins: Bool, since: Timestamp, at: Timestamp, _ engine: Engine
    ) {
        var metadata: Logger.Metadata = [
            "reason": "\(reason.word)", "since": "\(RFC3339.string(since))",
        ]
        guard !begins else { return log.info("a blind window began", metadata: metadata) }
        metadata["for_ms"] = "\(max(0, (at - since).count))"
        metadata["watching"] = "\(!engine.clock.isBlind)"
        log.info("a blind window ended", metadata: metadata)
    }

    // MARK: - Clocks

    private func writeLog(_ report: SkewReport) {
        var metadata: Logger.Metadata = [
            "skew_ms": "\(report.skew.count)", "correction_ms": "\(report.correction.count)",
        ]
        Self.add("source", report.source, to: &metadata)
        switch report.state {
        case .right: log.info("the clock of a source is right again", metadata: metadata)
        case .unmeasured:
            log.info("the clock of a source is not known any more", metadata: metadata)
        case .unsure: log.warning("the clock of a source may be off", metadata: metadata)
        case .corrected:
            log.warning("the clock of a source is off: its times are corrected", metadata: metadata)
        case .tooFar:
            log.warning(
                "the clock of a source is off by more than is corrected", metadata: metadata)
        }
    }

    /// Tells of a source that does not say when it sends, and whose times lag, or no more.
    static func writeLog(_ change: SourceClocks.Change, _ log: Logger) {
        var metadata: Logger.Metadata = ["lag_ms": "\(change.lag.count)"]
        add("source", change.source, to: &metadata)
        guard change.isLate else {
            return log.info("the times of a source lag no more", metadata: metadata)
        }
        log.warning(
            "the times of a source lag: its clock is behind, or it forwards late; sent_at tells which",
            metadata: metadata)
    }

    private static func add(_ name: String, _ value: [UInt8], to metadata: inout Logger.Metadata) {
        if !value.isEmpty { metadata[name] = "\(NotificationWords.text(value))" }
    }
}
