/// Decides whether somebody is nudged because a member of a circle of theirs, or an operator, asks for
/// it. Source: R3.
extension Nudging {
    /// Asks for somebody, unless there is a reason not to. Returns what is to be written, and the answer.
    mutating func ask(
        _ asked: AskAnswer, _ people: inout People, _ gaps: GapBook, _ policy: Policy,
        _ clock: ObservationClock
    ) -> (entries: [Entry], answer: AskAnswer) {
        var answer = asked
        let (number, rules) = (asked.person, policy.nudges)
        let person = people.roster[number]
        var state = states[number] ?? NudgeState()
        let until = askableFrom(state.throttle(in: rules.mode), clock.wallNow)
        if let reason = reasonNotToAsk(number, people, policy, clock, until: until) {
            answer.result = .hold(reason)
            answer.until = reason == .throttled ? until : nil
            return ([], answer)
        }
        sends.append(clock.now)
        var facts = Self.facts(person, gaps[number], now: clock.observedNow)
        facts.isAsked = true
        let entries = push(&state, number, facts, rules, clock)
        if rules.mode == .live {
            state.live.ask(at: clock.wallNow)
        } else {
            state.dryRun.ask(at: clock.wallNow)
        }
        states[number] = state
        people.roster[number].hasNudges = true
        answer.result = rules.mode == .live ? .send : .dryRun
        answer.push = entries.last?.report.number ?? 0
        return (entries, answer)
    }

    /// The first reason that holds, in the order of F32, with `fresh` behind what they said themselves.
    private mutating func reasonNotToAsk(
        _ number: Int, _ people: People, _ policy: Policy, _ clock: ObservationClock,
        until: Timestamp
    ) -> NudgeReason? {
        let person = people.roster[number]
        switch person.notExpected {
        case .paused: return .paused
        case .some: return .offDuty
        case nil: break
        }
        if isBlind(to: person, policy, clock) { return .blind }
        let young = max(AskLimits.freshFor, policy.thresholds(person).degraded)
        if person.lastLocation > .distantPast, clock.observedNow - person.lastLocation <= young {
            return .fresh
        }
        if let reason = reasonOfPeers(person, number, people, policy, clock) { return reason }
        if lacksToken(number, policy.nudges) { return .noToken }
        if until > clock.wallNow { return .throttled }
        return room(policy.nudges, clock.now) > 0 ? nil : .rate
    }

    /// Returns the instant from which somebody may be asked for, by the wall: the interval between nudges
    /// does not count.
    private func askableFrom(_ throttle: NudgeState.Throttle, _ wall: Timestamp) -> Timestamp {
        let recent = throttle.asks.filter { $0 + AskLimits.within > wall }
        let last = throttle.asks.last.map { $0 + AskLimits.interval } ?? .distantPast
        guard recent.count >= AskLimits.countMax else { return max(frozenUntil, last) }
        return max(frozenUntil, last, recent[recent.count - AskLimits.countMax] + AskLimits.within)
    }
}

extension People {
    /// Returns a call with numbers in the place of ids.
    func people(of call: AskCall) -> AskCall {
        guard case .ids(let id, let asker) = call else { return call }
        return .numbers(
            roster.number(of: id) ?? -1, by: asker.map { roster.number(of: $0) ?? -1 })
    }

    /// True if somebody is in a circle of another who asks for them, is another, and did not leave the
    /// roster.
    func share(aCircle number: Int, _ other: Int) -> Bool {
        guard number != other, knows(other), !roster[other].isRetired else { return false }
        let own = circleNumbers(of: roster[number].circles)
        return circleNumbers(of: roster[other].circles).contains { own.contains($0) }
    }
}
