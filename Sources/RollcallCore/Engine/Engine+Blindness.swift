/// Losing sight and having it back. Source: B1, B5, D5.
extension Engine {
    /// The instant until which beats can be heard (D6).
    var heardUntil: RunningTime {
        sight.heardUntil(clock.open[Int(BlindReason.store.rawValue)], now: clock.now)
    }

    /// Opens and ends windows by what holds at this instant, and grants the grace of an episode that
    /// is over (F7). True if one began or ended.
    mutating func settleBlindness() -> Bool {
        emit(sight.expire(now: clock.now, heardUntil: heardUntil))
        // Most instants know nothing of it.
        guard clock.isBlind || !sight.isUndisturbed else { return false }
        let changes = sight.takeChanges(clock.open, now: clock.now)
        for (reason, _) in changes.ends where reason.isOver { _ = clock.regain(reason) }
        for (reason, since) in changes.begins where !reason.isOver {
            keepDarkShown(at: clock.observedNow)
            clock.lose(reason, since: since)
            if since < clock.now { setBack() }
        }
        for (reason, _) in changes.ends where !reason.isOver { _ = clock.regain(reason) }
        for reported in clock.report(ended: changes.ends) {
            decisions.append(
                .blind(
                    at: clock.wallNow, begins: reported.begins, since: clock.wall(reported.since),
                    reason: reported.reason))
        }
        let onset = clock.onset
        guard let earnsGrace = clock.endEpisode() else { return !changes.isEmpty }
        nudges.seeAgain(after: clock.now - (onset ?? clock.now), now: clock.observedNow)
        // Who could not be told while we were blind is told now (B4).
        alerting.notifications.isDirty = true
        if earnsGrace { grantGrace() }
        return !changes.isEmpty
    }
}

extension BlindReason {
    /// True of those that are over when we notice them: we did not run.
    fileprivate var isOver: Bool { self == .stopped || self == .suspended }
}
