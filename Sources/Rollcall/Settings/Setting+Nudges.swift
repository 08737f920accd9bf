import RollcallCore

/// The settings of nudges.
extension Setting {
    static let nudges = [
        Setting("nudges.mode", "or disabled, dry_run, live; \"\": live if there is a sink") {
            text($0.nudgeMode.map { "\($0.word)" } ?? "")
        },
        Setting("nudges.stale_after", "of a location; or {default: 4h, on_mission: 1h, ios: 2h}") {
            staleness($0.policy.nudges.staleAfter)
        },
        Setting("nudges.min_interval", "between two nudges of one person, by the wall clock") {
            SettingText.of($0.policy.nudges.minInterval)
        },
        Setting("nudges.ttl", "a push is worth delivering for so long, 1s to 28d") {
            SettingText.of($0.policy.nudges.timeToLive)
        },
        Setting("nudges.rate", "nudges at most, 1/s to 600/s; who is late waits") {
            "\($0.policy.nudges.ratePerSecond)/s"
        },
        Setting("nudges.company", "or circle: who has no circles has no company") {
            "\($0.policy.nudges.company.word)"
        },
        Setting("nudges.sink", "who carries pushes: {webhook: {…}} or {expo: {…}}") { settings in
            let sink = settings.policy.nudges.sink
            if sink == .none { return "{}" }
            return "{\(sink.word): {\(settings.pushSink?.place ?? "")}}"
        },
        Setting("nudges.texts", "{CAUSE: {title, body}}, default for all others") {
            texts($0.nudgeTexts)
        },
    ]

    private static func staleness(_ stale: NudgeRules.Staleness) -> String {
        let others = stale.others.map { "\($0.name): \(SettingText.of($0.span))" }
        let standard = SettingText.of(stale.standard)
        if others.isEmpty { return standard }
        return "{\((["default: \(standard)"] + others).joined(separator: ", "))}"
    }

    private static func texts(_ texts: NudgeTexts) -> String {
        var all = [(NudgeTexts.fallbackName, texts.fallback)]
        all += GapCause.allCases.map { ("\($0.word)", texts.written[$0] ?? NudgeTexts.Text()) }
        let parts = all.compactMap { name, text -> String? in
            let lines = [("title", text.title), ("body", text.body)].compactMap { key, line in
                line.map { "\(key): \(quoted(Array($0.utf8)))" }
            }
            return lines.isEmpty ? nil : "\(name): {\(lines.joined(separator: ", "))}"
        }
        return "{\(parts.joined(separator: ", "))}"
    }
}

extension NudgeRules.Staleness {
    /// The ages that hold for some only, by the names of the settings.
    var others: [(name: String, span: Milliseconds)] {
        [("on_duty", onDuty), ("on_mission", onMission), ("ios", ios), ("android", android)]
            .compactMap { name, span in span.map { (name, $0) } }
    }
}
