extension Oracle {
    /// What the wall shows now. Source: T1.
    var wall: Wall { now + steps }

    /// Observed time at an instant: it stands still in blind windows, so an instant inside one
    /// counts as its onset. Source: T1, B1, F9.
    func observed(_ instant: Instant) -> Span {
        var blind: Span = 0
        var covered = Instant.min
        for window in windows {
            if window.since >= instant { break }
            let from = max(window.since, covered)
            let until = min(window.until ?? .max, instant)
            if until > from {
                blind += until - from
                covered = until
            }
        }
        return instant - blind
    }

    /// The instant that lies as far back as the wall says, never in the future. Source: F9.
    func instant(toldAs wall: Wall?) -> Instant {
        guard let wall else { return now }
        return now - max(0, self.wall - wall)
    }

    /// Brings the clock to a line's instant and decides what falls due before it.
    ///
    /// Nothing is decided after the last line before a `start` or a turn that came late.
    /// Source: F5, B1.
    mutating func move(to target: Instant, for event: StoryEvent) {
        guard hasBegun else {
            now = target
            return
        }
        guard target > now else { return }
        close()
        var sleeps = isLate(event, at: target)
        if case .start = event { sleeps = true }
        if !sleeps {
            while let next = nextInstant(), next < target {
                now = next
                close()
            }
        }
        now = target
    }

    /// Whether an event is a turn that shows that the process slept: more than 5 s late, or, if it
    /// does not say how late, more than 10 s after the last line. Source: B1.
    func isLate(_ event: StoryEvent, at target: Instant) -> Bool {
        guard hasBegun, case .turn(let lateMilliseconds) = event else { return false }
        if let lateMilliseconds { return lateMilliseconds > 5_000 }
        return target - lastLine.instant > 10_000
    }

    /// Decides what falls due at this instant after everything that arrived at it. Source: F1.
    mutating func close() {
        tell(clocks.look(at: now))
        evaluateBlindness()
        if !isBlind {
            suspectFeed()
            endPauses()
            passDeadlines()
            forget()
            deliverVerdicts()
        }
        evaluateAlerts()
        evaluateNotices()
        evaluateNudges()
    }

    /// The next instant at which something may fall due without a line: the least of all that lie
    /// ahead. While blind no deadline passes. Source: L8, B4, F8.
    private func nextInstant() -> Instant? {
        var next: Instant?
        let now = now
        func consider(_ instant: Instant) {
            if instant > now { next = min(next ?? instant, instant) }
        }
        for source in sources { consider(source.nextInstant) }
        for instant in clocks.instants { consider(instant) }
        for write in writes { consider(write.at.instant + Self.overloadWindow) }
        for instant in alertInstants() { consider(instant) }
        for instant in noticeInstants() + nudgeInstants() { consider(instant) }
        for window in windows where window.until == nil { consider(window.since + Self.toldFrom) }
        if isBlind { return next }
        if let stall = stallInstant() { consider(stall) }
        let offset = now - observed(now)
        for index in everybody.indices {
            if let comeback = everybody[index].comeback { consider(comeback.due) }
            if everybody[index].isPaused, let until = everybody[index].pausedUntil {
                consider(until - steps)
            }
            switch everybody[index].status {
            case .online:
                consider(everybody[index].degradedDeadline + offset)
                consider(everybody[index].offlineDeadline + offset)
            case .degraded, .unknown:
                consider(everybody[index].offlineDeadline + offset)
            case .offline:
                consider(observed(everybody[index].offlineAt) + policy.forgetAfter + offset)
            case nil: break
            }
        }
        return next
    }
}
