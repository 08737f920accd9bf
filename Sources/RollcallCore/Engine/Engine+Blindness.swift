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

    /// Deadlines of everybody who is not OFFLINE start anew (B5).
    private mutating func grantGrace() {
        liveness.grantGrace(&people.roster, policy, now: clock.observedNow)
        idleUntil = .distantPast
        alerting.board.startPendingAnew(clock.observedNow, policy.alerts)
    }

    /// Observed time was set back: no instant may lie in the future of it (B1, F9). What was
    /// decided in between stands.
    private mutating func setBack() {
        let now = clock.observedNow
        for number in 0..<roster.count {
            recount(number) { engine, person in engine.setBack(&person, to: now) }
        }
        nudges.clampInstants(to: now)
        factOverflows.changeAll { $0.clampInstants(to: now) }
        liveness.clampInstants(to: now)
        gaps.clampInstants(to: now)
        masses.clampInstants(to: now)
        alerting.evaluateFlappingAnew(now)
        awaitMissedAnew()
        alerting.board.clampInstants(to: now, policy.alerts)
        // Ages are others now, and everything is judged by them once we can see again (F8).
        alerting.board.isAllDirty = true
    }

    private func setBack(_ person: inout Responder, to now: ObservedTime) {
        person.clampInstants(to: now)
        if person.isActive {
            let limits = policy.thresholds(person)
            if person.darkFrom > now { startDark(&person) }
            person.degradedDeadline = min(person.degradedDeadline, now + limits.degraded)
            person.offlineDeadline = min(person.offlineDeadline, now + limits.offline)
        }
        if person.isStale, policy.nudges.staleFrom(person) > now { person.isStale = false }
    }
}

extension BlindReason {
    /// True of those that are over when we notice them: we did not run.
    fileprivate var isOver: Bool { self == .stopped || self == .suspended }
}

extension Responder {
    /// Moves every instant that lies after `now` to `now`.
    fileprivate mutating func clampInstants(to now: ObservedTime) {
        lastContact = min(lastContact, now)
        activeSince = min(activeSince, now)
        offlineSince = min(offlineSince, now)
        grace = min(grace, now)
        lastLocation = min(lastLocation, now)
        factTimes.clampInstants(to: now)
        emptyQueueAt = min(emptyQueueAt, now)
    }
}
