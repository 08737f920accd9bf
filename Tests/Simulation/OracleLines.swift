extension Oracle {
    /// Takes what a line says, at an instant that `move` has reached. Source: J1, F1, F5.
    mutating func take(_ told: StoryLine) {
        let line = told.corrected(by: clocks.correction(of: told.source))
        switch line.event {
        case .batch(let items):
            noteWrite(from: line.source)
            let taken = items.map { item in
                defer { lookAfterChange(of: item.responderID) }
                return takeBatch(item)
            }
            guard taken.contains(true) else { return }
            hasInput = true
            noteBatches()
        case .transition(let items):
            noteWrite(from: line.source)
            for item in items {
                takeTransition(item)
                lookAfterChange(of: item.responderID)
            }
        case .responder(let items):
            noteWrite(from: line.source)
            hasInput = true
            for item in items { takeFacts(item) }
        case .roster(let items, let note):
            noteWrite(from: line.source)
            takeRoster(items, note)
        case .erase(let responderID):
            noteWrite(from: line.source)
            erase(responderID)
        case .heartbeat(let everySeconds):
            takeHeartbeat(everySeconds: everySeconds, from: line.source)
        case .refused(let count): takeRefusals(count)
        case .store(let isFailing): takeStore(isFailing: isFailing)
        case .policy(let policy):
            let areEvaluated = policy.nudges != self.policy.nudges
            takePolicy(policy)
            for index in everybody.indices { followMissed(index) }
            lookAtAllNudges(areEvaluated: areEvaluated)
        case .start: start()
        case .silence(let silence): begin(silence)
        case .silenceEnd(let number): silences.removeAll { $0.number == number }
        case .take(let take): begin(take)
        case .giveBack(let incident): giveBack(incident)
        case .ask(let ask): take(ask, from: line.source)
        case .stop: isStopped = true
        case .turn: takeTurn(line.event)
        case .skew(let skew): tell(clocks.take(line.source, skew: skew, at: now))
        case .clock(let step):
            tell(clocks.take(step: step, at: now))
            freezeNudges(step: step)
        }
    }

    /// What an item has changed about a person may be news of others' kinds.
    private mutating func lookAfterChange(of responderID: String) {
        let index = index(of: Name(responderID))
        if let index { followMissed(index) }
        lookAtNudges(about: index)
    }

    /// Counts refused writes towards overload. Source: B1.
    private mutating func takeRefusals(_ count: Int) {
        guard count > 0 else { return }
        writes.append(
            Write(at: Moment(instant: now, wall: wall), count: count, isRefused: true))
    }

    /// Notes since when the store fails; a failing store can not fail again. Source: B1, D6.
    private mutating func takeStore(isFailing: Bool) {
        if !isFailing {
            // Whoever beat meanwhile was refused.
            if storeFailing != nil {
                beatAtStart()
                lastBatch?.at = now
            }
            storeFailing = nil
        } else if storeFailing == nil {
            storeFailing = Moment(instant: now, wall: wall)
        }
    }

    /// Tells what changed about clocks. Source: D10.
    mutating func tell(_ changes: [(source: String, clock: ClockBook.Clock)]) {
        for (source, clock) in changes {
            decisions.append(
                .skew(
                    at: wall, source: source, state: clock.state, skew: clock.skew,
                    correction: clock.correction))
        }
    }

    /// We did not run since the last line, stopped or crashed. Source: B1, F5, F10.
    private mutating func start() {
        isStopped = false
        tell(clocks.look(at: now))
        if hasBegun { becomeBlind(.stopped, since: lastLine, isPast: true) }
        beatAtStart()
        restartFallbacks()
    }

    /// We slept since the last line if the turn is late. Source: B1, D6.
    private mutating func takeTurn(_ event: StoryEvent) {
        guard isLate(event, at: now) else { return }
        tell(clocks.look(at: now))
        becomeBlind(.suspended, since: lastLine, isPast: true)
        beatAtStart()
        restartFallbacks()
    }
}
