/// Alerts, silences and what became of messages, for a scrape. Source: Contract/Alerts, V2.
extension Exposition {
    mutating func appendAlerts(
        _ engine: Engine, _ regions: RegionLabels, _ alarms: [AlertName: AlertState]
    ) {
        appendStates(engine, alarms)
        family("rollcall_silences_active", .gauge, "Silences in force.")
        sample(Quantity(engine.alerting.notifications.silences.count))
        family("rollcall_incidents_taken", .gauge, "Incidents that somebody sees to.")
        sample(Quantity(engine.alerting.notifications.takesCount(at: engine.clock.now)))
        family(
            "rollcall_notifications", .counter,
            "Messages that came to their end, by receiver and what became of them.")
        for receiver in engine.policy.receivers {
            for outcome in NoticeOutcome.allCases {
                sample(
                    ["receiver": .bytes(receiver.name), "outcome": .word(outcome.word)],
                    Quantity(engine.counters.notifications.count(receiver.name, outcome)))
            }
        }
        family(
            "rollcall_fallbacks", .counter,
            "Alerts that were given to a fallback, by the receiver that had not taken them.")
        for receiver in engine.policy.receivers where !receiver.fallback.isEmpty {
            let count = engine.counters.notifications.given(
                from: receiver.name, to: receiver.fallback)
            sample(
                ["receiver": .bytes(receiver.name), "fallback": .bytes(receiver.fallback)],
                Quantity(count))
        }
        family(
            "rollcall_responders_flapping", .gauge,
            "Responders that change between ONLINE and OFFLINE too often, by region.")
        appendRegions(regions, of: engine.aggregates.flapping) {
            engine.aggregates.flapping(in: $0)
        }
        family(
            "rollcall_responders_missed", .gauge,
            "Responders that ResponderOffline counts, by region; 0 while it is switched off.")
        appendRegions(regions, of: engine.aggregates.missed) { engine.aggregates.missed(in: $0) }
    }

    /// A sample for each region that has a label, and one for the rest of all.
    private mutating func appendRegions(
        _ regions: RegionLabels, of all: Int, _ count: (UInt32) -> Int
    ) {
        let ofRegion = stencil("region")
        var rest = all
        for (place, row) in regions.rows.enumerated() {
            let isOther = regions.hasOther && place == regions.rows.count - 1
            let own = row.number.map(count) ?? 0
            rest -= own
            sample(ofRegion, row.text, Quantity(isOther ? rest : own))
        }
    }

    private mutating func appendStates(_ engine: Engine, _ alarms: [AlertName: AlertState]) {
        family("rollcall_alerts", .gauge, "Alerts that are pending or firing.")
        // What is firing keeps its severity, whatever the settings say meanwhile (A1).
        var counts: [AlertSeries: Int] = [:]
        for name in AlertName.allCases where name != .rollcallDrill {
            // On one machine there are no reigns (S16).
            if name == .rollcallUnsteady, engine.liveness.reigns.isEmpty { continue }
            // Only the fleet cell knows cells (K7).
            if name == .cellDark, engine.policy.role != .fleet { continue }
            if name == .fleetDark, engine.policy.role != .cell { continue }
            for state in AlertState.shown {
                counts[AlertSeries(name, engine.policy.alerts[name].severity, state)] = 0
            }
        }
        for state in AlertState.shown {
            counts[AlertSeries(.telemetryFeedDown, .warning, state)] = 0
        }
        engine.alerting.board.forEach { key, alert in
            let severity = engine.severity(key, alert)
            counts[AlertSeries(key.name, severity, alert.state), default: 0] += 1
        }
        for (name, state) in alarms {
            counts[AlertSeries(name, engine.policy.alerts[name].severity, state)] = 1
        }
        for (series, count) in counts.sorted(by: { $0.key.rank < $1.key.rank }) {
            sample(
                [
                    "alertname": .word(series.name.word), "severity": .word(series.severity.word),
                    "alertstate": .word(series.state.word),
                ], Quantity(count))
        }
    }
}

/// The labels of a series of `rollcall_alerts`.
private struct AlertSeries: Hashable {
    let name: AlertName
    let severity: Severity
    let state: AlertState

    init(_ name: AlertName, _ severity: Severity, _ state: AlertState) {
        self.name = name
        self.severity = severity
        self.state = state
    }

    var rank: Int {
        (name.rank << 8 | Int(severity.rawValue)) << 8 | Int(state.rawValue)
    }
}

extension AlertState {
    /// The states that last.
    fileprivate static let shown: [AlertState] = [.pending, .firing]
}
