import RollcallCore

/// The life of a phone in its silences.
extension FleetPhone {
    /// Lives an episode from its beginning to its end.
    mutating func fallSilent(_ episode: FleetEpisode) {
        if person.backend == .opinionated { opine(episode) }
        switch episode.cause {
        case .tunnel, .deadZone, .captivePortal, .massOutage: losesNetwork(episode)
        case .permissionRevoked, .locationServicesOff: mayNotLook(episode)
        case .lowPower: savePower(episode)
        case .throttled, .doze: sleep(episode)
        case .offDutyReported, .offDutyReportedLate: breakOff(episode)
        case .pausedReported: pauseSharing(episode)
        case .reinstall:
            beginGap(episode)
            handset.reinstall()
            comeBack(from: episode)
        case .neverStarted, .suspended, .stationary, .killedInBackground, .killedInForeground,
            .crash, .batteryDied:
            beginGap(episode)
            if episode.twist == .updateWaiting { collect(episode.begin) }
            if episode.cause == .batteryDied {
                battery = (0.15, episode.end)
                isCharging = true
            }
            comeBack(from: episode)
        }
    }

    /// The backend's own model looks every half minute, by the memo's thresholds.
    private mutating func opine(_ episode: FleetEpisode) {
        guard isLost(episode) else { return }
        let scan = 30_000 - episode.begin % 30_000
        let late = episode.begin + 120_000 + scan
        let lost = episode.begin + 210_000 + scan
        emit(.transition(from: .online, to: .degraded, at: late), late + 40)
        emit(.transition(from: .degraded, to: .offline, at: lost), lost + 40)
    }

    /// True if the backend's model notices such a silence.
    private func isLost(_ episode: FleetEpisode) -> Bool {
        !episode.cause.isHeardWithin && !episode.cause.isReportedAbsence
            && episode.cause != .offDutyReportedLate && episode.cause != .neverStarted
            && episode.end - episode.begin > 4 * FleetPlan.minute
    }

    /// The app lives, takes locations and cannot send.
    private mutating func losesNetwork(_ episode: FleetEpisode) {
        beginGap(episode)
        var now = episode.begin
        while now < episode.end {
            collect(now, isCached: episode.twist == .withoutFix)
            now += pause(now)
        }
        if episode.twist == .reinstalled { handset.reinstall() }
        if episode.endsByDuty { return endGap(episode.end) }
        // Most phones notice the network at once, others wait for their next attempt: the back-off
        // of the queue goes up to 30 s.
        var back = episode.end
        if dice.chance(300) {
            back = min(back + dice.number(1000...30_000), max(back, shift.upperBound - 1000))
        }
        if episode.twist == .permissionLost { handset.isDenied = true } else { collect(back) }
        look(back, nil)
        flush(back)
        handset.isDenied = false
    }

    /// Nothing is taken; if the app can, it says so first.
    private mutating func mayNotLook(_ episode: FleetEpisode) {
        func revoke(_ isRevoked: Bool, _ phone: inout FleetPhone) {
            if episode.cause == .permissionRevoked {
                phone.handset.isDenied = isRevoked
            } else {
                phone.handset.areServicesOff = isRevoked
            }
        }
        revoke(true, &self)
        if episode.isReported { batch(episode.begin, []) }
        beginGap(episode)
        if episode.endsByDuty {
            revoke(false, &self)
            return endGap(episode.end)
        }
        if episode.twist != .repaired {
            look(episode.end, nil)
            batch(episode.end, [])
            revoke(false, &self)
            return comeBack(episode.end + dice.number(5000...50_000), episode)
        }
        revoke(false, &self)
        comeBack(episode.end, episode)
    }

    /// Reports come, but rarely.
    private mutating func savePower(_ episode: FleetEpisode) {
        battery = (0.15, episode.begin)
        beginGap(episode)
        var reported = episode
        // The first rare report told the mode of those to come.
        reported.isReported = person.app != .bare
        var now = episode.begin
        while true {
            now += interval(now) * dice.number(25...90) / 10
            if now >= episode.end { break }
            look(now, nil)
            handset.savesPower = true
            collect(now)
            send(now)
            beginGap(reported)
        }
        isCharging = true
        comeBack(from: episode)
    }

    /// The system lets the app wake a few times an hour, or ever more rarely: it sends where the
    /// phone was last, and what was collected for it.
    private mutating func sleep(_ episode: FleetEpisode) {
        beginGap(episode)
        var wait = FleetPlan.minute * (episode.cause == .doze ? 5 : dice.number(10...20))
        var now = episode.begin
        while now + wait < episode.end - 4 * FleetPlan.minute {
            if episode.twist == .inBursts {
                for _ in 0..<dice.number(1...3) { collect(now + dice.number(wait / 4...wait / 2)) }
            }
            now += wait
            look(now, nil)
            collect(now, isCached: person.app == .current)
            send(now)
            beginGap(episode)
            wait =
                episode.cause == .doze
                ? min(wait * 2, 60 * FleetPlan.minute) : FleetPlan.minute * dice.number(10...25)
        }
        comeBack(from: episode)
    }

    private mutating func breakOff(_ episode: FleetEpisode) {
        let isLate = episode.cause == .offDutyReportedLate
        beginGap(episode)
        emit(.duty(.offDuty), isLate ? episode.end : episode.begin)
        let back = episode.end + (isLate ? 10 * FleetPlan.minute : 0)
        // Nobody waits for them from the moment that the office knows.
        if isLate { endGap(episode.end) }
        guard back < shift.upperBound - 1000 else { return endGap(shift.upperBound) }
        emit(.duty(.onDuty), back)
        comeBack(back + 1000, episode)
    }

    private mutating func pauseSharing(_ episode: FleetEpisode) {
        beginGap(episode)
        emit(.paused(until: episode.end), episode.begin)
        // A pause that runs out needs no word, but most apps say it.
        if dice.chance(700) { emit(.resumed, episode.end) }
        if episode.endsByDuty { return endGap(episode.end) }
        comeBack(episode.end + 1000, episode)
    }

    // MARK: - Back again

    private mutating func comeBack(from episode: FleetEpisode) {
        if episode.endsByDuty { return endGap(episode.end) }
        comeBack(episode.end, episode)
    }

    private mutating func comeBack(_ now: Int64, _ episode: FleetEpisode) {
        look(now, nil)
        // What the system last knew of the place, from inside the gap: old apps do not mark it.
        if episode.cause.stopsTheApp, dice.chance(120), episode.end > episode.begin {
            collect(dice.number(episode.begin...episode.end), isCached: person.app == .current)
        }
        collect(now)
        flush(now)
        if person.backend == .opinionated, isLost(episode) {
            emit(.transition(from: .offline, to: .online, at: now + 900), now + 1100)
        }
    }
}
