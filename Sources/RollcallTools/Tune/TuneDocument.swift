import RollcallCore
import RollcallSupport

/// A result as one JSON document; its names stay as they are.
struct TuneDocument {
    let result: TuneResult

    /// The document.
    var tree: JSONTree {
        let words = TuneWords(result: result)
        let hidden = result.unobserved
        return [
            "events": .integer(Int64(result.events)),
            "span_seconds": Self.seconds(result.span),
            "watched_seconds": Self.seconds(result.observed),
            "unobserved_seconds": Self.seconds(hidden),
            "policy_changes": .integer(Int64(result.policyChanges)),
            "heals_within_seconds": Self.seconds(result.healsWithin),
            "costs": TuneCosts.json(result.weights),
            "candidates": .list(result.outcomes.indices.map(candidate)),
            "axes": .list(
                zip(result.sweep.axes, result.advice).map { axis(words, $0.0, $0.1) }),
            "recommendation": [
                "changes": Self.changes(result.changes),
                "yaml": result.changes.isEmpty
                    ? nil : .text(TuneText.yaml(result.changes.map { ($0.key, $0.value) })),
            ],
            "definitions": .object(
                words.definitions.map { .init(name: $0.name, value: .text($0.meaning)) }),
        ]
    }

    private static func changes(_ changes: [TuneCandidate.Change]) -> JSONTree {
        .list(changes.map { ["setting": .text($0.key), "value": .text($0.value)] })
    }

    private static func seconds(_ span: Milliseconds?) -> JSONTree {
        span.map { .number(Double($0.count) / 1000) } ?? .null
    }

    private static func count(_ count: Int) -> JSONTree { .integer(Int64(count)) }

    private func candidate(_ place: Int) -> JSONTree {
        let outcome = result.outcomes[place]
        let (counts, stats) = (outcome.counts, outcome.stats)
        let objection = place == 0 ? nil : TuneAdvice.objection(to: outcome, result.outcomes[0])
        func daily(_ count: Int) -> JSONTree { .number(outcome.daily(count)) }
        return [
            "changes": Self.changes(result.sweep.candidates[place].changes),
            "is_present": .boolean(place == 0),
            "a_day": [
                "degraded": daily(counts.all.degraded), "offline": daily(counts.all.offline),
                "back": daily(counts.all.back), "false_alarms": daily(counts.all.healed),
                "pages": daily(counts.allNotifications.fired),
                "critical_pages": daily(counts.allNotifications.critical),
                "short_pages": daily(counts.allNotifications.short), "nudges": daily(counts.nudges),
                "believed_reachable_hours": .number(outcome.believedHours),
                "cost": .number(outcome.cost(result.weights)),
            ],
            "offline": [
                "false_alarms": Self.count(counts.all.healed),
                "real": Self.count(counts.all.real), "censored": Self.count(counts.censored),
                "unseen": Self.count(counts.unseen),
                "delay_seconds": .object(
                    [("both", nil), ("on_duty", .onDuty), ("on_mission", .onMission)].map {
                        .init(name: $0.0, value: Self.delays(counts, $0.1))
                    }),
            ],
            "long_gaps": [
                "count": Self.count(stats.long), "missed": Self.count(stats.missed),
                "mean_delay_seconds": Self.seconds(outcome.meanDelay),
                "mean_later_seconds": Self.seconds(outcome.meanLater),
                "unseen": Self.count(stats.unseen),
            ],
            "pages": .list(
                AlertName.allCases.filter { counts[$0].fired > 0 }.map { name in
                    Self.notifications(name, counts[name])
                }),
            "lasting_pages": [
                "count": Self.count(stats.longNotifications),
                "missed": Self.count(stats.missedNotifications),
                "later_seconds": Self.seconds(stats.laterNotifications),
            ],
            "nudges": [
                "sent": Self.count(counts.nudges),
                "held": .object(
                    NudgeReason.written.map { ($0, counts.holds[Int($0.rawValue)]) }
                        .filter { !$0.isOfCells || $1 > 0 }
                        .map { .init(name: "\($0.word)", value: Self.count($1)) }),
            ],
            "flapping_people": Self.count(counts.flapping),
            "people": .list(Self.cells(counts)),
            "phones": .list(phones(counts)),
            "objection": objection.map { .text(TuneWords(result: result).words($0)) } ?? .null,
        ]
    }

    private static func delays(_ counts: TuneCounts, _ duty: DutyState?) -> JSONTree {
        [
            "p50": seconds(counts.delay(0.5, duty)), "p90": seconds(counts.delay(0.9, duty)),
            "p99": seconds(counts.delay(0.99, duty)), "longest": seconds(counts.delay(1, duty)),
        ]
    }

    private static func notifications(_ name: AlertName, _ notifications: TuneCounts.Notifications)
        -> JSONTree
    {
        [
            "alertname": .text("\(name.word)"), "fired": count(notifications.fired),
            "critical": count(notifications.critical), "short": count(notifications.short),
            "firing_seconds": seconds(notifications.firing),
        ]
    }

    private static func cells(_ counts: TuneCounts) -> [JSONTree] {
        TuneCounts.duties.flatMap { duty in
            Platform.allCases.compactMap { platform in
                let cell = counts[duty, platform]
                guard cell != TuneCounts.Cell() else { return nil }
                return [
                    "duty_state": .text("\(duty.word)"), "platform": .text("\(platform.word)"),
                    "degraded": count(cell.degraded), "offline": count(cell.offline),
                    "back": count(cell.back), "false_alarms": count(cell.healed),
                    "real": count(cell.real),
                ]
            }
        }
    }

    private func phones(_ counts: TuneCounts) -> [JSONTree] {
        counts.phonesByName.map { name, phone in
            let text = name.map { String(decoding: $0, as: UTF8.self) }
            return [
                "\(result.phoneName.word)": text.map { $0.isEmpty ? .null : .text($0) } ?? .null,
                "is_all_others": .boolean(name == nil),
                "false_alarms": Self.count(phone.healed), "real": Self.count(phone.real),
                "returns": Self.count(phone.returns.count),
                "usual_return_seconds": Self.seconds(phone.usualReturn),
            ]
        }
    }

    private func axis(_ words: TuneWords, _ axis: TuneAxis, _ advice: TuneAdvice) -> JSONTree {
        var place: Int?
        if case .take(let taken, _) = advice { place = taken }
        return [
            "settings": .list(axis.keys.map { .text($0) }),
            "present": .list(axis.present.map { .text($0) }),
            "candidates": .list(axis.places.map { Self.count($0) }),
            "advice": place == nil ? "keep" : "take",
            "candidate": place.map { Self.count($0) } ?? .null,
            "reason": .text(words.sentence(axis, advice)),
        ]
    }
}
