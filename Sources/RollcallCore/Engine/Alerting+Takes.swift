/// Alerting takes in who sees to an incident: until that ends nobody is told of it again, and nobody
/// further. Source: R2.
extension Alerting {
    /// Somebody takes an incident, or gives it back.
    mutating func change(
        _ change: TakeChange, _ context: AlertContext, _ receipt: inout Receipt
    ) {
        let incident =
            switch change {
            case .begin(let take): take.incident
            case .end(let incident): incident
            }
        let keys = keys(of: incident)
        receipt.takeFault = fault(of: change, incident, keys, context.clock)
        guard receipt.takeFault == nil else { return }
        receipt.taken = incident
        receipt.accepted = 1
        for key in keys { hold(key, context) }
        holdStorms()
        // What a storm did not tell meanwhile it tells now.
        if case .end = change { notifications.storms.isDirty = true }
    }

    /// Makes a change, or returns why not; `keys` are the alerts of the incident.
    private mutating func fault(
        of change: TakeChange, _ incident: Int64, _ keys: [AlertKey], _ clock: ObservationClock
    ) -> TakeFault? {
        guard !keys.isEmpty else {
            return (1..<notifications.nextIncident).contains(incident) ? .resolved : .unknown
        }
        if keys.contains(where: { $0.name == .watchdog }) { return .watchdog }
        switch change {
        case .begin(let take): return notifications.takes.begin(take, clock) ? nil : .over
        case .end:
            let isTaken = notifications.take(of: incident, at: clock.now) != nil
            notifications.takes.end(incident)
            return isTaken ? nil : .untaken
        }
    }

    /// The alerts that fire of an incident, in order: of a storm its members.
    private func keys(of incident: Int64) -> [AlertKey] {
        if let storm = notifications.storms.storms.first(where: { $0.episode == incident }) {
            return storm.members.values.map(\.key).sorted(by: AlertKey.areInOrder)
        }
        var keys: [AlertKey] = []
        board.forEach { key, alert in
            if alert.state == .firing, alert.incident == incident { keys.append(key) }
        }
        return keys
    }

    private mutating func hold(_ key: AlertKey, _ context: AlertContext) {
        guard var alert = board[key] else { return }
        alert.heldUntil = heldUntil(alert)
        alert.dropStaleMutes(context.receivers, now: context.clock.now)
        board.note(key, alert, repeatAt: alert.nextNotification(context.receivers))
    }

    /// Storms know until when somebody sees to them, or to all of their members: of several receivers each
    /// has a storm of its own about the same alerts.
    mutating func holdStorms() {
        for storm in notifications.storms.storms {
            var members = storm.members.isEmpty ? RunningTime.distantPast : .distantFuture
            for single in storm.members.values {
                members = min(members, board[single.key]?.heldUntil ?? .distantPast)
            }
            notifications.storms.hold(
                storm.episode,
                until: max(notifications.takes.heldUntil(storm.episode), members))
        }
    }

    /// Returns the instant until which somebody sees to an alert that fires, or to a storm that tells of
    /// it; the distant past if nobody does.
    func heldUntil(_ alert: Alert) -> RunningTime {
        guard !notifications.takes.isEmpty else { return .distantPast }
        return alert.notified.lazy.filter { $0.storm != 0 }
            .map { notifications.takes.heldUntil($0.storm) }
            .reduce(notifications.takes.heldUntil(alert.incident)) { max($0, $1) }
    }

    /// After a checkpoint was read, alerts know who sees to them, and since when they fire: what older
    /// versions wrote says so by the wall alone.
    mutating func restoreHolds(_ clock: ObservationClock) {
        for key in board.firing {
            guard var alert = board[key] else { continue }
            if alert.firedAt == .distantPast { alert.firedAt = clock.instant(of: alert.startsAt) }
            alert.heldUntil = heldUntil(alert)
            board.note(key, alert)
        }
        holdStorms()
    }
}
