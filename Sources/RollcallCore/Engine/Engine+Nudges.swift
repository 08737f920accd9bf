/// Decides who is asked to open their app. Source: N1 to N5, N8, N10; F31 to
/// F34.
///
/// Nobody is searched for: a location that grows old is a deadline like any other, and what held a
/// nudge back makes its people evaluated again when it changes.
extension Engine {
    // MARK: - Staleness

    /// A person may have changed: the switch is armed by newer locations, and whoever is due is
    /// evaluated when the instant closes.
    mutating func followNudges(from before: Responder, _ person: inout Responder, _ number: Int) {
        people.followGroups(from: before, person, number, &nudges.toEvaluate)
        if person.hasNudges { noteNews(from: before, person, number) }
        if policy.nudges.staleFrom(person) <= clock.observedNow {
            // What holds a nudge back may have changed with anything else.
            if !person.isStale || before.isActive != person.isActive
                || before.circles != person.circles || before.region != person.region
                || before.lastLocation != person.lastLocation || before.duty != person.duty
                || before.factor != person.factor || before.isBehind != person.isBehind
                || before.promise != person.promise
            {
                nudges.toEvaluate.append(UInt32(number))
            }
            person.isStale = true
        } else if person.isStale || person.hasNudges && isNews(from: before, person) {
            person.isStale = false
            nudges.states[number]?.reason = nil
            if nudges.states[number]?.isEmpty ?? false { nudges.states[number] = nil }
        }
    }

    /// Returns true if somebody is no longer expected, or was located anew: who is due no longer
    /// because observed time was set back is held until then.
    private func isNews(from before: Responder, _ person: Responder) -> Bool {
        !person.isActive || person.lastLocation > before.lastLocation
    }

    /// Notes what a newer location, or contact, says about the last nudge.
    private mutating func noteNews(
        from before: Responder, _ person: Responder, _ number: Int
    ) {
        guard person.lastLocation > before.lastLocation || person.lastContact > before.lastContact,
            var state = nudges.states[number]
        else { return }
        if person.lastLocation > before.lastLocation {
            state.live.isArmed = true
            state.dryRun.isArmed = true
        }
        if state.followed != 0 {
            state.hasContact = state.hasContact || person.lastContact > state.followedFrom
            if person.lastLocation > state.followedFrom { follow(&state, number, .located) }
        }
        nudges.states[number] = state
    }

    // MARK: - Once an instant

    /// The earliest instant at which time alone changes something about nudges, in blindness too
    /// (F32).
    var nextNudge: RunningTime {
        var next = nudges.followed.first?.at ?? .distantFuture
        guard policy.nudges.mode != .disabled else { return next }
        if let throttle = nudges.throttles.first {
            next = min(
                next, RunningTime(milliseconds: throttle.at.milliseconds) - clock.wallOffset)
        }
        if !clock.isBlind, let grace = nudges.graces.first {
            next = min(next, clock.running(grace.at))
        }
        if nudges.row.isEmpty { return next }
        return min(next, nudges.nextTurn(policy.nudges, clock.now))
    }

    /// Evaluates everybody for whom something changed, by their ids (F1).
    mutating func settleNudges() {
        settleFollowed()
        guard policy.nudges.mode != .disabled else {
            nudges.toEvaluate = []
            return
        }
        nudges.takeTimers(clock.wallNow, clock.isBlind ? nil : clock.observedNow)
        guard !nudges.toEvaluate.isEmpty || !nudges.row.isEmpty else { return }
        var waiting: [UInt32] = []
        let evaluated = Set(nudges.toEvaluate).sorted { roster.precedes(Int($0), Int($1)) }
        nudges.toEvaluate = []
        var room = nudges.room(policy.nudges, clock.now)
        for number in evaluated {
            // Whoever waits and comes before them goes before them.
            while room > 0, let first = nudges.row.last, roster.precedes(Int(first), Int(number)) {
                takeFirstOfRow(&room, &waiting)
            }
            evaluate(Int(number), &room, &waiting)
        }
        while room > 0, !nudges.row.isEmpty { takeFirstOfRow(&room, &waiting) }
        nudges.enterRow(waiting, roster)
    }

    private mutating func takeFirstOfRow(_ room: inout Int, _ waiting: inout [UInt32]) {
        guard let first = nudges.row.popLast() else { return }
        nudges.states[Int(first)]?.isInRow = false
        if nudges.states[Int(first)]?.reason == .rate { evaluate(Int(first), &room, &waiting) }
    }

    // MARK: - One person

    private mutating func evaluate(_ number: Int, _ room: inout Int, _ waiting: inout [UInt32]) {
        let person = roster[number]
        // Whoever is due no longer was let go when that changed.
        guard person.isStale, policy.nudges.staleFrom(person) <= clock.observedNow else { return }
        let rules = policy.nudges
        var state = nudges.states[number] ?? NudgeState()
        let throttle = state.throttle(in: rules.mode)
        let free = nudges.throttledUntil(throttle, policy.nudges)
        let isThrottled = free > clock.wallNow
        // It fired, and fires again after the interval; until then nothing is due (F31).
        if isThrottled && throttle.isSpent {
            nudges.wait(&state, number, until: free)
            return keep(state, number)
        }
        if let reason = reasonToHold(person, number, isThrottled: isThrottled, room: room) {
            if reason == .throttled { nudges.wait(&state, number, until: free) }
            if reason == .rate, !state.isInRow { waiting.append(UInt32(number)) }
            if reason == .blind { holdBlind(&state, person, number) }
            if reason != state.reason {
                state.reason = reason
                write(.hold, person, number) {
                    $0.reason = reason
                    $0.until = reason == .throttled ? free : nil
                }
            }
            return keep(state, number)
        }
        room -= 1
        nudges.sends.append(clock.now)
        send(&state, person, number)
        keep(state, number)
    }

    private mutating func keep(_ state: NudgeState, _ number: Int) {
        nudges.states[number] = state
        roster[number].hasNudges = true
    }

    /// The first reason that holds, in the order of F32; while we cannot see there is no other.
    private func reasonToHold(
        _ person: Responder, _ number: Int, isThrottled: Bool, room: Int
    ) -> NudgeReason? {
        if isBlindToNudges(person) { return .blind }
        if !people.hasActivePeer(person, policy.nudges.peers) { return .solo }
        if lacksToken(number) { return .noToken }
        if isThrottled { return .throttled }
        return room > 0 ? nil : .rate
    }

    /// True while blind, and for one offline threshold after an episode of 15 s or more (F31).
    func isBlindToNudges(_ person: Responder) -> Bool {
        clock.isBlind || clock.observedNow < seesAgainFrom(person)
    }

    func seesAgainFrom(_ person: Responder) -> ObservedTime {
        nudges.sawAgainAt == .distantPast
            ? .distantPast : nudges.sawAgainAt + policy.thresholds(person).offline
    }

    /// True if the sink must be told a token that nobody told us.
    func lacksToken(_ number: Int) -> Bool {
        policy.nudges.sink == .expo && nudges.tokens[number] == nil
    }

    /// Evaluated again when we see again, and once the time after that is over.
    private mutating func holdBlind(
        _ state: inout NudgeState, _ person: Responder, _ number: Int
    ) {
        if !state.isInBlind { nudges.blind.append(UInt32(number)) }
        state.isInBlind = true
        if !clock.isBlind {
            nudges.graces.push(.init(at: seesAgainFrom(person), number: UInt32(number)))
        }
    }

    private mutating func send(_ state: inout NudgeState, _ person: Responder, _ number: Int) {
        let sent = NudgeState.Throttle(sentAt: clock.wallNow, isArmed: false)
        let push = nudges.takeNumber()
        state.reason = nil
        if policy.nudges.mode == .live {
            state.live = sent
            // What followed the one before is known by now, unless the interval is very short.
            if state.followed != 0 { follow(&state, number, seen(state)) }
            state.followed = push
            state.followedFrom = clock.observedNow
            state.followedUntil = clock.now + NudgingState.followedFor
            state.hasContact = false
            state.platform = person.platform
            nudges.followed.push(.init(at: state.followedUntil, number: UInt32(number)))
        } else {
            state.dryRun = sent
        }
        nudges.wait(&state, number, until: sent.sentAt + policy.nudges.minInterval)
        write(.send, person, number) { $0.number = push }
    }

    private mutating func write(
        _ kind: NudgeReport.Kind, _ person: Responder, _ number: Int,
        _ body: (inout NudgeReport) -> Void
    ) {
        var report = NudgeReport(kind)
        report.isDryRun = policy.nudges.mode == .dryRun
        report.facts = nudgeFacts(person, number)
        body(&report)
        counters.nudges.note(report)
        decisions.append(.nudge(at: clock.wallNow, number: number, report))
    }

    /// Returns what is known of somebody who is to be nudged.
    package func nudgeFacts(_ person: Responder, _ number: Int) -> NudgeFacts {
        var facts = NudgeFacts()
        facts.platform = person.platform
        facts.lastLocationAt = person.lastLocationAt
        facts.stale = clock.observedNow - max(person.lastLocation, person.activeSince)
        if person.telemetry.isPermissionDenied {
            facts.cause = .permissionDenied
        } else if person.telemetry.areServicesOff {
            facts.cause = .locationServicesOff
        } else if let gap = gaps[number], person.hasGap {
            facts.cause = gap.report.suspected
        } else if person.telemetry.isLowPower {
            facts.cause = .lowPower
        }
        return facts
    }

    // MARK: - What followed (N8)

    private mutating func settleFollowed() {
        var due: [DeadlineQueue<RunningTime>.Entry] = []
        while let first = nudges.followed.first, first.at <= clock.now {
            _ = nudges.followed.popFirst()
            due.append(first)
        }
        // Of one instant by their ids (F1): the queue keeps equals in the order in which they came,
        // and after a restart they came in another one.
        due.sort {
            $0.at == $1.at ? roster.precedes(Int($0.number), Int($1.number)) : $0.at < $1.at
        }
        for first in due {
            let number = Int(first.number)
            guard var state = nudges.states[number], state.followed != 0,
                state.followedUntil == first.at
            else { continue }
            follow(&state, number, seen(state))
            nudges.states[number] = state
        }
    }

    /// Returns what followed a nudge, as far as it was seen.
    private func seen(_ state: NudgeState) -> NudgeOutcome {
        if state.hasContact { return .contact }
        let began = state.followedUntil - NudgingState.followedFor
        return clock.blind(since: began).count > 0 ? .unseen : .silent
    }

    private mutating func follow(
        _ state: inout NudgeState, _ number: Int, _ outcome: NudgeOutcome
    ) {
        var report = NudgeReport(.followed)
        report.number = state.followed
        report.outcome = outcome
        report.facts.platform = state.platform
        state.followed = 0
        counters.nudges.note(report)
        decisions.append(.nudge(at: clock.wallNow, number: number, report))
    }

    // MARK: - What changes everything

    /// Nudges are frozen for an interval (N2).
    mutating func freezeNudges() {
        nudges.freeze(until: clock.wallNow + policy.nudges.minInterval)
    }

    // MARK: - Pushes that came to their end

    /// A push came to its end: it is counted, and a dead token is not used again (N7).
    mutating func end(_ end: PushEnd) {
        counters.nudges.note(end)
        guard end.outcome == .unregistered, (0..<roster.count).contains(end.person),
            let token = nudges.tokens[end.person],
            StableHash.of(token.span, 0..<token.count) == end.token
        else { return }
        edit(end.person) { engine, person in
            engine.nudges.dropToken(end.token, person, end.person)
            person.hasNudges = true
        }
    }
}
