/// The store's knowledge of nudges, where today's rules would have decided otherwise. Source: J4, N2.
extension Engine {
    /// The people who were nudged, and the counts, at one turn.
    package struct NudgeLedger: Sendable {
        fileprivate let states: SideTable<NudgeState>
        fileprivate let nextPush: Int64
        fileprivate let counters: NudgeCounters
    }

    /// The ledger now.
    package var nudgeLedger: NudgeLedger {
        NudgeLedger(states: nudges.states, nextPush: nudges.nextPush, counters: counters.nudges)
    }

    /// Takes over a push's number from the store (J4): the next push comes behind number `number`.
    package mutating func note(storedPush number: Int64) {
        nudges.nextPush = max(nudges.nextPush, number + 1)
    }

    /// Goes on from `ledger` and what was stored since, in its order, instead of what was decided
    /// again: whoever was nudged is not nudged again, and whoever was not may be.
    ///
    /// What was told to us are events, not decisions: freezes, dead tokens and contact stand as they
    /// were folded again.
    package mutating func take(_ ledger: NudgeLedger, stored: [Decision]) {
        nudges.nextPush = ledger.nextPush
        counters.nudges.goOn(from: ledger.counters)
        nudges.forgetQueues()
        // In place of what was decided again stands what was known then.
        var numbers: [Int] = []
        nudges.states.forEach { number, _ in numbers.append(number) }
        for number in numbers { goBack(number, to: ledger.states[number] ?? NudgeState()) }
        ledger.states.forEach { number, state in
            if nudges.states[number] == nil { goBack(number, to: state) }
        }
        for decision in stored {
            switch decision {
            case .nudge(let at, let number, let report): take(report, at: at, number)
            case .wake(let at, let number, let push):
                note(storedPush: push)
                guard isKnown(number) else { continue }
                nudges.woken[number] = max(nudges.woken[number] ?? .distantPast, wasRunning(at))
            default: break
            }
        }
        evaluateAllAgain()
    }

    private func isKnown(_ number: Int) -> Bool {
        (0..<roster.count).contains(number) && roster[number].idCount > 0
    }

    /// The running instant of a wall time.
    private func wasRunning(_ time: Timestamp) -> RunningTime { clock.now - (clock.wallNow - time) }

    /// Puts what was known of somebody in the place of what was decided again.
    private mutating func goBack(_ number: Int, to then: NudgeState) {
        guard isKnown(number) else { return }
        var state = then
        let now = nudges.states[number] ?? NudgeState()
        state.deadToken = now.deadToken
        // A switch that was armed since stays so; one that was only spent again was not.
        func isArmed(_ then: NudgeState.Throttle, _ now: NudgeState.Throttle) -> Bool {
            then.isArmed || now.isArmed || now.sentAt != then.sentAt
        }
        state.live.isArmed = isArmed(then.live, now.live)
        state.dryRun.isArmed = isArmed(then.dryRun, now.dryRun)
        if state.followed != 0 {
            state.hasContact = then.hasContact || roster[number].lastContact > then.followedFrom
        }
        if !roster[number].isStale { state.reason = nil }
        // Who waits for what is found out anew.
        state.isInRow = false
        state.isInBlind = false
        state.waitsUntil = nil
        nudges.states[number] = state.isEmpty ? nil : state
        roster[number].hasNudges = roster[number].hasNudges || !state.isEmpty
    }

    private mutating func take(_ report: NudgeReport, at: Timestamp, _ number: Int) {
        counters.nudges.note(report)
        note(storedPush: report.number)
        guard isKnown(number) else { return }
        var state = nudges.states[number] ?? NudgeState()
        let person = roster[number]
        switch report.kind {
        case .hold: state.reason = person.isStale ? report.reason : nil
        case .followed: if state.followed == report.number { state.followed = 0 }
        case .send:
            let isArmed = person.lastLocationAt > report.facts.lastLocationAt
            let throttle = NudgeState.Throttle(sentAt: at, isArmed: isArmed)
            state.reason = nil
            if report.isDryRun {
                state.dryRun = throttle
            } else {
                state.live = throttle
                state.followed = report.number
                state.followedFrom = clock.reported(at)
                state.followedUntil = wasRunning(at) + NudgingState.followedFor
                state.hasContact = person.lastContact > state.followedFrom
                state.platform = report.facts.platform
            }
        }
        nudges.states[number] = state
        roster[number].hasNudges = true
    }

    /// Whoever is due is evaluated at the next instant, and what followed is waited for.
    private mutating func evaluateAllAgain() {
        let states = nudges.states
        states.forEach { number, state in
            guard state.followed != 0 else { return }
            nudges.followed.push(.init(at: state.followedUntil, number: UInt32(number)))
        }
        for number in 0..<roster.count where roster[number].isStale {
            nudges.toEvaluate.append(UInt32(number))
        }
    }
}
