import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// Alerts as they are answered.
package enum AlertJSON {
    /// Alerts in one answer at most: it is written between two turns, in some milliseconds. The
    /// least are left out: what is not critical, and what is only pending.
    static let alertsMax = 500

    /// The whole of `GET /v1/alerts`.
    static func body(_ view: StateView) -> [UInt8] {
        let engine = view.engine
        let all = engine.alerting.board.all
        var shown = all
        if all.count > alertsMax {
            shown = Array(worst(all).prefix(alertsMax))
        }
        var alerts = shown.sorted { AlertKey.areInOrder($0.key, $1.key) }
            .map { alert($0.key, $0.alert, view) }
        alerts += view.store.alarms.compactMap { alarm($0, view) }
        let tree: JSONTree = [
            "as_of": time(engine.clock.wallNow), "watching": .boolean(!engine.clock.isBlind),
            "alerts": .list(alerts), "truncated": .boolean(shown.count < all.count),
        ]
        return bytes(tree)
    }

    /// By severity, and what fires before what may: in one pass, for there are many.
    private static func worst(
        _ all: [(key: AlertKey, alert: Alert)]
    ) -> [(key: AlertKey, alert: Alert)] {
        var parts = [[(key: AlertKey, alert: Alert)]](
            repeating: [], count: 2 * Severity.allCases.count)
        for entry in all {
            let rest = entry.alert.state == .firing ? 0 : 1
            parts[2 * Int(entry.alert.severity.rawValue) + rest].append(entry)
        }
        return parts.flatMap { $0 }
    }

    /// A document as an answer's body.
    static func bytes(_ tree: JSONTree) -> [UInt8] {
        var body: [UInt8] = []
        tree.append(to: &body)
        body.append(0x0A)
        return body
    }

    private static func alert(_ key: AlertKey, _ alert: Alert, _ view: StateView) -> JSONTree {
        let engine = view.engine
        let reaches = view.reaches(alert)
        let fires = alert.state == .firing
        let labels = engine.labels(key, alert)
        return [
            "alertname": word(key.name.word), "state": word(alert.state.word),
            "severity": text(labels.value(of: Array("severity".utf8))), "labels": object(labels),
            "annotations": object(annotations(key, alert, labels, engine)),
            "value": value(key.name, alert.stats),
            "count": .integer(Int64(alert.stats.count)),
            "total": .integer(Int64(alert.stats.total)), "active_at": time(alert.activeAt),
            "starts_at": fires ? time(alert.startsAt) : nil,
            "incident": fires ? .integer(alert.incident) : nil,
            "key": fires ? .text(IncidentKey.text(view.storeNumber, alert.incident)) : nil,
            "taken": taken(alert, engine), "told": notified(reaches),
            "receivers": receivers(reaches, engine.clock),
            "escalations": escalations(alert, engine),
            "muted": .list(
                // That a storm will tell of it stands with its receivers.
                alert.muted.filter { !$0.reason.isStorm }.map { muted in
                    JSONTree.object([.init(name: "receiver", value: text(muted.receiver))])
                        .with(reason(muted.reason))
                }),
        ]
    }

    /// Returns the annotations of one that fires; of one that is pending only its title can be.
    private static func annotations(
        _ key: AlertKey, _ alert: Alert, _ labels: [Label], _ engine: Engine
    ) -> [Label] {
        var member = NoticeMember()
        member.name = key.name
        member.labels = labels
        member.facts = alert.presentFacts
        member.facts.stats = alert.stats
        member.startsAt = alert.startsAt
        let roster = engine.roster
        let words = AlertText(member, fired: alert.facts.stats) { number in
            let id = (0..<roster.count).contains(number) ? Array(roster.id(number)) : []
            return id.isEmpty ? nil : id
        }
        if alert.state == .firing {
            member.annotations = alert.annotations
            return (member.annotations + words.annotations).ordered()
        }
        let title = Label(Array("summary".utf8), Array(words.summary.utf8))
        return (engine.policy.alerts[key.name].annotations + [title]).ordered()
    }

    /// An alert that no store can hold (A5).
    private static func alarm(_ alarm: StoreAlarm, _ view: StateView) -> JSONTree? {
        guard let state = alarm.alertState else { return nil }
        let isFiring = state == .firing
        var member = alarm.subject.member
        member.startsAt = isFiring ? alarm.startsAt : .distantPast
        let words = AlertText(member) { _ in nil }.annotations
        let annotations = isFiring ? words : words.filter { $0.name == Array("summary".utf8) }
        let silence = alarm.silence(in: view.engine, now: view.engine.clock.now)
        let muted = alarm.receiversMuted(by: silence, of: view.engine.policy.receivers)
        return [
            "alertname": word(member.name.word), "state": word(state.word),
            "severity": text(member.labels.value(of: Array("severity".utf8))),
            "labels": object(member.labels), "annotations": object(annotations), "value": 1,
            "count": 1, "total": 1, "active_at": time(alarm.activeAt),
            "starts_at": time(member.startsAt),
            "incident": nil, "key": nil, "taken": nil,
            "told": notified(alarm.reaches),
            "receivers": receivers(alarm.reaches, view.engine.clock), "escalations": [],
            "muted": .list(
                muted.map { receiver, silence in
                    [
                        "receiver": text(receiver), "reason": "silence",
                        "silence": .integer(silence),
                    ]
                }),
        ]
    }

    // MARK: - Who sees to it

    /// Returns the key by which pagers know a firing, or a storm.
    static func key(_ incident: Int64, _ view: StateView) -> JSONTree {
        let name = view.engine.alerting.notifications.nameOfStorm(incident)
        return .text(IncidentKey.text(view.storeNumber, incident, ofStorm: name))
    }

    /// Returns who sees to an alert, or to a storm that tells of it, for the longest; null if nobody does.
    private static func taken(_ alert: Alert, _ engine: Engine) -> JSONTree {
        let state = engine.alerting.notifications
        let incidents = [alert.incident] + alert.notified.map(\.storm)
        return incidents.compactMap { state.take(of: $0, at: engine.clock.now) }
            .max { $0.until < $1.until }.map { take($0) } ?? nil
    }

    /// Returns a take as an object.
    static func take(_ take: Take) -> JSONTree {
        [
            "by": text(take.by), "token": take.token.isEmpty ? nil : text(take.token),
            "note": take.note.isEmpty ? nil : text(take.note), "at": time(take.at),
            "until": time(take.until), "incident": .integer(take.incident),
        ]
    }

    /// Returns who is told of an alert that fires unless it is over, or somebody takes it, before.
    private static func escalations(_ alert: Alert, _ engine: Engine) -> JSONTree {
        let ahead = alert.escalations(engine.policy.receivers, after: engine.clock.now)
        return .list(
            ahead.map { receiver, at in
                [
                    "receiver": text(receiver),
                    "at": time(engine.clock.wallNow + (at - engine.clock.now)),
                ]
            })
    }

    // MARK: - Parts

    /// Returns what became of a message to one address, with every attempt.
    static func target(_ target: NoticeDeliveryStatus.Target) -> JSONTree {
        [
            "target": .integer(Int64(target.target)), "state": word(target.state.word),
            "outcome": target.outcome.map { word($0.word) } ?? nil,
            "attempts": .list(
                target.attempts.map { attempt in
                    [
                        "at": time(attempt.beganAt),
                        "took_ms": attempt.took.map { .integer($0.count) } ?? nil,
                        "status": attempt.status.map { .integer(Int64($0)) } ?? nil,
                        "error": attempt.error.isEmpty ? nil : .text(attempt.error),
                    ]
                }),
        ]
    }

    /// Returns the reason why somebody is not told, as an object.
    static func reason(_ reason: MuteReason) -> JSONTree {
        switch reason {
        case .silence(let number): ["reason": "silence", "silence": .integer(number)]
        case .inhibited(let key): ["reason": "inhibited", "by": object(identity(key))]
        case .blind: ["reason": "blind"]
        case .storm(let storm): ["reason": "storm", "storm": .integer(storm)]
        }
    }

    /// The labels that tell an alert from all others.
    private static func identity(_ key: AlertKey) -> [Label] {
        let name = Label(Array("alertname".utf8), Array("\(key.name.word)".utf8))
        switch key.subject {
        case .all: return [name]
        case .region(let region): return [name, Label(Array("region".utf8), region)]
        case .source(let source): return [name, Label(Array("source".utf8), source)]
        case .cell(let cell): return [name, Label(Array("cell".utf8), cell)]
        case .suspected: return [name, Label(Array("suspected".utf8), Array("true".utf8))]
        }
    }

    /// A rate as a fraction of 1, everything else as a count; as a replay prints it (F5).
    static func value(_ name: AlertName, _ stats: AlertStats) -> JSONTree {
        guard name == .highOfflineRate else { return .integer(Int64(stats.count)) }
        guard stats.total > 0 else { return 0 }
        return .number(Double(stats.count * 10_000 / stats.total) / 10_000)
    }

    /// Labels as an object.
    static func object(_ labels: [Label]) -> JSONTree {
        .object(
            labels.map {
                .init(name: String(decoding: $0.name, as: UTF8.self), value: text($0.value))
            })
    }

    static func text(_ bytes: [UInt8]) -> JSONTree { .text(String(decoding: bytes, as: UTF8.self)) }

    /// Returns a word of the code as an answer shows it.
    package static func word(_ word: StaticString) -> JSONTree { .text("\(word)") }

    /// A time; null for never.
    package static func time(_ time: Timestamp) -> JSONTree {
        time > .distantPast ? .text(RFC3339.string(time)) : nil
    }
}
