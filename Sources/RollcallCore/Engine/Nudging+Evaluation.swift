/// Decides who is nudged: asked to open their app. Source: N1 to N5, N8, N10; F31 to F34.
///
/// Nobody is searched for: a location that grows old is a deadline like any other, and what held a
/// nudge back makes its people evaluated again when it changes.
extension Nudging {
    /// An `Evaluation` holds what is decided at one instant, of all who are evaluated at it.
    private struct Evaluation {
        let policy: Policy
        let clock: ObservationClock
        /// The number of people who may be nudged still.
        var room: Int
        /// Those who wait for their turn from now on.
        var waiting: [UInt32] = []
        var entries: [Entry] = []

        var rules: NudgeRules { policy.nudges }
    }

    // MARK: - One person

    /// A person may have changed: the switch is armed by newer locations, and whoever is due is
    /// evaluated when the instant closes. Returns what followed a nudge, if that is known by it.
    mutating func follow(
        from before: Responder, _ person: inout Responder, _ number: Int, _ rules: NudgeRules,
        now: ObservedTime
    ) -> NudgeReport? {
        let report = person.hasNudges ? noteNews(from: before, person, number) : nil
        if before.circles != person.circles || before.region != person.region {
            forgetPeersElsewhere(number)
        }
        if rules.staleFrom(person) <= now {
            // What holds a nudge back may have changed with anything else.
            if !person.isStale || before.isActive != person.isActive
                || before.circles != person.circles || before.region != person.region
                || before.lastLocation != person.lastLocation || before.duty != person.duty
                || before.factor != person.factor || before.isBehind != person.isBehind
                || before.promise != person.promise
            {
                toEvaluate.append(UInt32(number))
            }
            person.isStale = true
        } else if person.isStale || person.hasNudges && Self.isNews(from: before, person) {
            person.isStale = false
            wanted.remove(UInt32(number))
            states[number]?.reason = nil
            if states[number]?.isEmpty ?? false { states[number] = nil }
        }
        return report
    }

    /// Returns true if somebody is no longer expected, or was located anew: who is due no longer
    /// because observed time was set back is held until then.
    private static func isNews(from before: Responder, _ person: Responder) -> Bool {
        !person.isActive || person.lastLocation > before.lastLocation
    }

    /// Notes what a newer location, or contact, says about the last nudge.
    private mutating func noteNews(
        from before: Responder, _ person: Responder, _ number: Int
    ) -> NudgeReport? {
        guard person.lastLocation > before.lastLocation || person.lastContact > before.lastContact,
            var state = states[number]
        else { return nil }
        if person.lastLocation > before.lastLocation {
            state.live.isArmed = true
            state.dryRun.isArmed = true
        }
        var report: NudgeReport?
        if state.followed != 0 {
            state.hasContact = state.hasContact || person.lastContact > state.followedFrom
            if person.lastLocation > state.followedFrom {
                report = Self.end(&state, .located)
            }
        }
        states[number] = state
        return report
    }

    // MARK: - Once an instant

    /// The earliest instant at which time alone changes something about nudges, in blindness too
    /// (F32).
    @inline(__always)
    func nextInstant(_ rules: NudgeRules, _ clock: ObservationClock) -> RunningTime {
        var next = followed.first?.at ?? .distantFuture
        guard rules.mode != .disabled else { return next }
        if let throttle = throttles.first {
            next = min(
                next, RunningTime(milliseconds: throttle.at.milliseconds) - clock.wallOffset)
        }
        if !clock.isBlind, let grace = graces.first {
            next = min(next, clock.running(grace.at))
        }
        return row.isEmpty ? next : min(next, nextTurn(rules, clock))
    }

    /// True if there is anything to be decided now.
    @inline(__always)
    func isDue(_ clock: ObservationClock) -> Bool {
        if !toEvaluate.isEmpty || !row.isEmpty { return true }
        if let first = followed.first, first.at <= clock.now { return true }
        if let first = throttles.first, first.at <= clock.wallNow { return true }
        if let first = graces.first, !clock.isBlind, first.at <= clock.observedNow { return true }
        return false
    }

    /// Evaluates everybody for whom something changed, by their ids (F1). Returns what is to be
    /// written, in its order.
    mutating func settle(
        _ people: inout People, _ gaps: GapBook, _ policy: Policy, _ clock: ObservationClock
    ) -> [Entry] {
        let entries = settleFollowed(people.roster, clock)
        guard policy.nudges.mode != .disabled else {
            toEvaluate = []
            return entries
        }
        takeTimers(clock.wallNow, clock.isBlind ? nil : clock.observedNow)
        guard !toEvaluate.isEmpty || !row.isEmpty else { return entries }
        var evaluation = Evaluation(
            policy: policy, clock: clock, room: turns(policy.nudges, clock), entries: entries)
        let evaluated = Set(toEvaluate).sorted {
            people.roster.precedes(Int($0), Int($1))
        }
        toEvaluate = []
        for number in evaluated {
            // Whoever waits and comes before them goes before them.
            while evaluation.room > 0, let first = row.last,
                people.roster.precedes(Int(first), Int(number))
            {
                takeFirstOfRow(&people, gaps, &evaluation)
            }
            evaluate(Int(number), &people, gaps, &evaluation)
        }
        while evaluation.room > 0, !row.isEmpty { takeFirstOfRow(&people, gaps, &evaluation) }
        enterRow(evaluation.waiting, people.roster)
        return evaluation.entries
    }

    private mutating func takeFirstOfRow(
        _ people: inout People, _ gaps: GapBook, _ evaluation: inout Evaluation
    ) {
        guard let first = row.popLast() else { return }
        states[Int(first)]?.isInRow = false
        if states[Int(first)]?.reason == .rate { evaluate(Int(first), &people, gaps, &evaluation) }
    }

    private mutating func evaluate(
        _ number: Int, _ people: inout People, _ gaps: GapBook, _ evaluation: inout Evaluation
    ) {
        let person = people.roster[number]
        let (rules, clock) = (evaluation.rules, evaluation.clock)
        // Whoever is due no longer was let go when that changed.
        guard person.isStale, rules.staleFrom(person) <= clock.observedNow else { return }
        defer { people.roster[number].hasNudges = true }
        var state = states[number] ?? NudgeState()
        defer { states[number] = state }
        let throttle = state.throttle(in: rules.mode)
        let free = throttledUntil(throttle, rules)
        let isThrottled = free > clock.wallNow
        // It fired, and fires again after the interval; until then nothing is due (F31).
        if isThrottled && throttle.isSpent { return wait(&state, number, until: free) }
        if let reason = reasonToHold(person, number, people, isThrottled, evaluation) {
            if reason == .throttled { wait(&state, number, until: free) }
            let isBrief = reason == .rate && waitsBriefly(evaluation)
            if reason == .rate, !state.isInRow { evaluation.waiting.append(UInt32(number)) }
            if reason == .blind { holdBlind(&state, person, number, evaluation) }
            awaitPeers(&state, number, reason, clock)
            // Who is asked about again is held for what was known before.
            let isAskedAgain =
                reason == .pendingPeers && state.reason != nil && state.reason != .blind
            guard reason != state.reason, !isAskedAgain else { return }
            state.reason = reason
            if isBrief { return }
            var report = NudgeReport(.hold, rules)
            report.facts = Self.facts(person, gaps[number], now: clock.observedNow)
            report.reason = reason
            report.until = reason == .throttled ? free : nil
            evaluation.entries.append((number, report))
        } else {
            evaluation.room -= 1
            sends.append(clock.now)
            let facts = Self.facts(person, gaps[number], now: clock.observedNow)
            send(&state, number, facts, &evaluation)
        }
    }

    /// The first reason that holds, in the order of F32; while we cannot see there is no other.
    private mutating func reasonToHold(
        _ person: Responder, _ number: Int, _ people: People, _ isThrottled: Bool,
        _ evaluation: Evaluation
    ) -> NudgeReason? {
        let rules = evaluation.rules
        if isBlind(to: person, evaluation.policy, evaluation.clock) { return .blind }
        let (policy, clock) = (evaluation.policy, evaluation.clock)
        // Whose turn does not come now is asked about shortly before it does (K3).
        if policy.role == .cell, evaluation.room <= 0, !lacksToken(number, rules),
            states[number]?.isInRow == true, states[number]?.reason == .rate
        {
            return .rate
        }
        if let reason = reasonOfPeers(person, number, people, policy, clock) { return reason }
        if lacksToken(number, rules) { return .noToken }
        if isThrottled { return .throttled }
        return evaluation.room > 0 ? nil : .rate
    }

    /// True of the first who waits for a turn of this cell that comes soon: of that nothing is written (K2).
    private func waitsBriefly(_ evaluation: Evaluation) -> Bool {
        guard let share, row.isEmpty, evaluation.waiting.isEmpty else { return false }
        let wall = evaluation.clock.wallNow
        let next = share.next(from: wall, rate: evaluation.rules.ratePerSecond)
        return next.map { $0 - wall <= Self.briefly } ?? false
    }

    /// True while blind, and for one offline threshold after an episode of 15 s or more (F31).
    func isBlind(to person: Responder, _ policy: Policy, _ clock: ObservationClock) -> Bool {
        let seesAgainFrom = seesAgainFrom(offline: policy.thresholds(person).offline)
        return clock.isBlind || clock.observedNow < seesAgainFrom
    }

    /// Evaluated again when we see again, and once the time after that is over.
    private mutating func holdBlind(
        _ state: inout NudgeState, _ person: Responder, _ number: Int, _ evaluation: Evaluation
    ) {
        if !state.isInBlind { blind.append(UInt32(number)) }
        state.isInBlind = true
        guard !evaluation.clock.isBlind else { return }
        let offline = evaluation.policy.thresholds(person).offline
        graces.push(.init(at: seesAgainFrom(offline: offline), number: UInt32(number)))
    }

    private mutating func send(
        _ state: inout NudgeState, _ number: Int, _ facts: NudgeFacts,
        _ evaluation: inout Evaluation
    ) {
        let (rules, clock) = (evaluation.rules, evaluation.clock)
        state.reason = nil
        if rules.mode == .live {
            state.live.send(at: clock.wallNow)
        } else {
            state.dryRun.send(at: clock.wallNow)
        }
        wait(&state, number, until: clock.wallNow + rules.minInterval)
        evaluation.entries += push(&state, number, facts, rules, clock)
    }

    /// A push is decided, and what follows it is looked at. Returns what is to be written.
    mutating func push(
        _ state: inout NudgeState, _ number: Int, _ facts: NudgeFacts, _ rules: NudgeRules,
        _ clock: ObservationClock
    ) -> [Entry] {
        var entries: [Entry] = []
        var report = NudgeReport(.send, rules)
        report.number = takeNumber()
        report.facts = facts
        if rules.mode == .live {
            // What followed the one before is known by now, unless the interval is very short.
            if state.followed != 0 {
                entries.append((number, Self.end(&state, Self.seen(state, clock))))
            }
            state.followed = report.number
            state.followedFrom = clock.observedNow
            state.followedUntil = clock.now + Self.followedFor
            state.hasContact = false
            state.platform = facts.platform
            followed.push(.init(at: state.followedUntil, number: UInt32(number)))
        }
        entries.append((number, report))
        return entries
    }

    /// Returns what is known of somebody who is to be nudged.
    static func facts(_ person: Responder, _ gap: Gap?, now: ObservedTime) -> NudgeFacts {
        var facts = NudgeFacts()
        facts.platform = person.platform
        facts.lastLocationAt = person.lastLocationAt
        facts.stale = now - max(person.lastLocation, person.activeSince)
        if person.telemetry.isPermissionDenied {
            facts.cause = .permissionDenied
        } else if person.telemetry.areServicesOff {
            facts.cause = .locationServicesOff
        } else if let gap, person.hasGap {
            facts.cause = gap.report.suspected
        } else if person.telemetry.isLowPower {
            facts.cause = .lowPower
        }
        return facts
    }

    // MARK: - What followed (N8)

    private mutating func settleFollowed(_ roster: Roster, _ clock: ObservationClock) -> [Entry] {
        guard let first = followed.first, first.at <= clock.now else { return [] }
        var entries: [Entry] = []
        for entry in takeFollowed(clock.now, roster) {
            let number = Int(entry.number)
            guard var state = states[number], state.followed != 0, state.followedUntil == entry.at
            else { continue }
            entries.append((number, Self.end(&state, Self.seen(state, clock))))
            states[number] = state
        }
        return entries
    }

    /// Returns what followed a nudge, as far as it was seen.
    private static func seen(_ state: NudgeState, _ clock: ObservationClock) -> NudgeOutcome {
        if state.hasContact { return .contact }
        let began = state.followedUntil - followedFor
        return clock.blind(since: began).count > 0 ? .unseen : .silent
    }

    /// It is known what followed the last nudge.
    private static func end(_ state: inout NudgeState, _ outcome: NudgeOutcome) -> NudgeReport {
        var report = NudgeReport(.followed)
        report.number = state.followed
        report.outcome = outcome
        report.facts.platform = state.platform
        state.followed = 0
        return report
    }
}

extension NudgeReport {
    /// A decision by `rules`.
    init(_ kind: Kind, _ rules: NudgeRules) {
        self.init(kind)
        isDryRun = rules.mode == .dryRun
    }
}
