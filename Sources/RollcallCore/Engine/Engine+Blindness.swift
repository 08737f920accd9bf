/// Losing sight and having it back. Source: B1, B5, D5.
extension Engine {
    /// The instant until which beats can be heard: while the store fails we refuse them (D6).
    var heardUntil: RunningTime {
        isStoreFailing
            ? clock.open[Int(BlindReason.store.rawValue)] ?? clock.now : .distantFuture
    }

    /// Opens and ends windows by what holds at this instant, and grants the grace of an episode that
    /// is over (F7). True if one began or ended.
    mutating func settleBlindness() -> Bool {
        feed.evaluate(now: clock.now, heardUntil: heardUntil)
        emit(feed.skews.expire(now: clock.now))
        writes.expire(now: clock.now)
        // Most instants know nothing of it.
        guard
            clock.isBlind || !resumptions.isEmpty || isStoreFailing || writes.isOverloaded
                || feed.isAllMissing
        else { return false }
        var begins = resumptions
        var ends = resumptions
        resumptions = []
        for (reason, _) in ends { _ = clock.regain(reason) }
        func evaluate(_ reason: BlindReason, _ holds: Bool, since: @autoclosure () -> RunningTime) {
            let open = clock.open[Int(reason.rawValue)]
            if holds && open == nil { begins.append((reason, since())) }
            if !holds, let open { ends.append((reason, open)) }
        }
        evaluate(.heartbeat, feed.isAllMissing, since: feed.lastBeat)
        evaluate(.overload, writes.isOverloaded, since: writes.oldestRefusal ?? clock.now)
        evaluate(.store, isStoreFailing, since: clock.now)
        for (reason, since) in begins.sorted(by: { $0.reason.rawValue < $1.reason.rawValue })
        where reason != .stopped && reason != .suspended {
            keepDarkShown(at: clock.observedNow)
            clock.lose(reason, since: since)
            if since < clock.now { setBack() }
        }
        for (reason, _) in ends where reason != .stopped && reason != .suspended {
            _ = clock.regain(reason)
        }
        for reported in clock.report(ended: ends) {
            decisions.append(
                .blind(
                    at: clock.wallNow, begins: reported.begins, since: clock.wall(reported.since),
                    reason: reported.reason))
        }
        let onset = clock.onset
        let hasChanged = !(begins.isEmpty && ends.isEmpty)
        guard let earnsGrace = clock.endEpisode() else { return hasChanged }
        seeAgain(after: clock.now - (onset ?? clock.now))
        // Who could not be told while we were blind is told now (B4).
        notifications.isDirty = true
        if earnsGrace { grantGrace() }
        return hasChanged
    }
}
