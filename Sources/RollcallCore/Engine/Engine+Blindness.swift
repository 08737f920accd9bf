/// Losing sight and having it back. Source: B1, B5, D5.
extension Engine {
    /// The instant until which beats can be heard: while the store fails we refuse them (D6).
    var heardUntil: RunningTime {
        isStoreFailing
            ? watch.open[Int(BlindReason.store.rawValue)] ?? watch.now : .distantFuture
    }

    /// Opens and ends windows by what holds at this instant, and grants the grace of an episode that
    /// is over (F7). True if one began or ended.
    mutating func settleBlindness() -> Bool {
        feed.judge(now: watch.now, heardUntil: heardUntil)
        tell(feed.skews.expire(now: watch.now))
        writes.expire(now: watch.now)
        // Most instants know nothing of it.
        guard
            watch.isBlind || !resumptions.isEmpty || isStoreFailing || writes.isOverloaded
                || feed.isAllMissing
        else { return false }
        var begins = resumptions
        var ends = resumptions
        resumptions = []
        for (reason, _) in ends { _ = watch.regain(reason) }
        func judge(_ reason: BlindReason, _ holds: Bool, since: @autoclosure () -> RunningTime) {
            let open = watch.open[Int(reason.rawValue)]
            if holds && open == nil { begins.append((reason, since())) }
            if !holds, let open { ends.append((reason, open)) }
        }
        judge(.heartbeat, feed.isAllMissing, since: feed.lastBeat)
        judge(.overload, writes.isOverloaded, since: writes.oldestRefusal ?? watch.now)
        judge(.store, isStoreFailing, since: watch.now)
        for (reason, since) in begins.sorted(by: { $0.reason.rawValue < $1.reason.rawValue })
        where reason != .stopped && reason != .suspended {
            keepDarkShown(at: watch.watchedNow)
            watch.lose(reason, since: since)
            if since < watch.now { setBack() }
        }
        for (reason, _) in ends where reason != .stopped && reason != .suspended {
            _ = watch.regain(reason)
        }
        for told in watch.tell(ended: ends) {
            decisions.append(
                .blind(
                    at: watch.wallNow, begins: told.begins, since: watch.wall(told.since),
                    reason: told.reason))
        }
        let onset = watch.onset
        let hasChanged = !(begins.isEmpty && ends.isEmpty)
        guard let earnsGrace = watch.endEpisode() else { return hasChanged }
        seeAgain(after: watch.now - (onset ?? watch.now))
        // Who could not be told while we were blind is told now (B4).
        desk.isDirty = true
        if earnsGrace { grantGrace() }
        return hasChanged
    }
}
