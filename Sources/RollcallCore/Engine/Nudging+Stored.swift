/// The store's knowledge of nudges, where today's rules would have decided otherwise. Source: J4, N2.
extension Nudging {
    /// The people who were nudged, and the counts, at one turn.
    struct Ledger: Sendable {
        let states: SideTable<NudgeState>
        let nextPush: Int64
        let counters: NudgeCounters
    }

    /// Takes over a push's number from the store: the next push comes behind number `number`.
    mutating func note(storedPush number: Int64) { nextPush = max(nextPush, number + 1) }

    /// Goes on from `ledger` and what was stored since, in its order, instead of what was decided
    /// again: whoever was nudged is not nudged again, and whoever was not may be.
    ///
    /// What was told to us are events, not decisions: freezes, dead tokens and contact stand as they
    /// were folded again.
    mutating func take(
        _ ledger: Ledger, stored: [Decision], _ people: inout People, _ clock: ObservationClock,
        _ counters: inout NudgeCounters
    ) {
        nextPush = ledger.nextPush
        counters.goOn(from: ledger.counters)
        forgetQueues()
        // In place of what was decided again stands what was known then.
        var numbers: [Int] = []
        states.forEach { number, _ in numbers.append(number) }
        for number in numbers { goBack(number, to: ledger.states[number] ?? NudgeState(), &people) }
        ledger.states.forEach { number, state in
            if states[number] == nil { goBack(number, to: state, &people) }
        }
        for decision in stored {
            switch decision {
            case .nudge(let at, let number, let report):
                counters.note(report)
                note(storedPush: report.number)
                if people.knows(number) { take(report, at: at, number, &people, clock) }
            case .wake(let at, let number, let push):
                note(storedPush: push)
                guard people.knows(number) else { continue }
                woken[number] = max(woken[number] ?? .distantPast, clock.instant(of: at))
            default: break
            }
        }
        evaluateAllAgain(people.roster)
    }

    /// Puts what was known of somebody in the place of what was decided again.
    private mutating func goBack(_ number: Int, to then: NudgeState, _ people: inout People) {
        guard people.knows(number) else { return }
        let person = people.roster[number]
        var state = then
        let now = states[number] ?? NudgeState()
        state.deadToken = now.deadToken
        // A switch that was armed since stays so; one that was only spent again was not.
        func isArmed(_ then: NudgeState.Throttle, _ now: NudgeState.Throttle) -> Bool {
            then.isArmed || now.isArmed || now.sentAt != then.sentAt
        }
        state.live.isArmed = isArmed(then.live, now.live)
        state.dryRun.isArmed = isArmed(then.dryRun, now.dryRun)
        if state.followed != 0 {
            state.hasContact = then.hasContact || person.lastContact > then.followedFrom
        }
        if !person.isStale { state.reason = nil }
        // Who waits for what is found out anew.
        state.isInRow = false
        state.isInBlind = false
        state.waitsUntil = nil
        states[number] = state.isEmpty ? nil : state
        people.roster[number].hasNudges = person.hasNudges || !state.isEmpty
    }

    private mutating func take(
        _ report: NudgeReport, at: Timestamp, _ number: Int, _ people: inout People,
        _ clock: ObservationClock
    ) {
        var state = states[number] ?? NudgeState()
        let person = people.roster[number]
        switch report.kind {
        case .hold: state.reason = person.isStale ? report.reason : nil
        case .followed: if state.followed == report.number { state.followed = 0 }
        case .send:
            let isArmed = person.lastLocationAt > report.facts.lastLocationAt
            var throttle = report.isDryRun ? state.dryRun : state.live
            if report.facts.isAsked {
                throttle.ask(at: at)
            } else {
                throttle.send(at: at, isArmed: isArmed)
                state.reason = nil
            }
            if report.isDryRun {
                state.dryRun = throttle
            } else {
                state.live = throttle
                state.followed = report.number
                state.followedFrom = clock.reported(at)
                state.followedUntil = clock.instant(of: at) + Self.followedFor
                state.hasContact = person.lastContact > state.followedFrom
                state.platform = report.facts.platform
            }
        }
        states[number] = state
        people.roster[number].hasNudges = true
    }

    /// Whoever is due is evaluated at the next instant, and what followed is waited for.
    private mutating func evaluateAllAgain(_ roster: Roster) {
        let states = states
        states.forEach { number, state in
            guard state.followed != 0 else { return }
            followed.push(.init(at: state.followedUntil, number: UInt32(number)))
        }
        for number in 0..<roster.count where roster[number].isStale {
            toEvaluate.append(UInt32(number))
        }
    }
}
