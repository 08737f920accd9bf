/// A `NudgeAnswer` says whether somebody would be nudged now. Source: N8.
package struct NudgeAnswer: Equatable, Sendable {
    /// True if their location is old enough to ask for (N1).
    package var isStale = false
    /// Everything that speaks against it now, in the order of F32; empty for those who are nudged,
    /// or whose location is young, or was never known.
    package var reasons: [NudgeReason] = []
    /// Observed time that the location is old; nil if there never was one.
    package var stale: Milliseconds?
    /// The age from which on they are nudged.
    package var limit = Milliseconds(0)
    /// The earliest instant, by the wall, at which time alone would let a nudge go, if sight is not
    /// lost; nil if time alone never does.
    package var earliest: Timestamp?
    /// The instant at which they were last nudged in the present mode; nil if never.
    package var lastAt: Timestamp?
    /// The facts known of them.
    package var facts = NudgeFacts()
}

extension Nudging {
    /// Returns whether somebody would be nudged now; if not, why not, and when at the earliest.
    func answer(
        _ number: Int, _ people: People, _ gap: Gap?, _ policy: Policy, _ clock: ObservationClock
    ) -> NudgeAnswer {
        let person = people.roster[number]
        let rules = policy.nudges
        let state = states[number] ?? NudgeState()
        let throttle = state.throttle(in: rules.mode)
        var answer = NudgeAnswer()
        answer.limit = rules.staleAfter.limit(person)
        answer.lastAt = throttle.sentAt > .distantPast ? throttle.sentAt : nil
        if let reason = person.notExpected {
            answer.reasons = [reason == .paused ? .paused : .offDuty]
        }
        guard person.lastLocation > .distantPast else { return answer }
        answer.facts = Self.facts(person, gap, now: clock.observedNow)
        answer.stale = answer.facts.stale
        guard person.isActive, rules.mode != .disabled else { return answer }
        let since = rules.staleFrom(person)
        answer.isStale = since <= clock.observedNow
        let free = throttledUntil(throttle, rules)
        if answer.isStale {
            switch hasPeerAnywhere(person, number, people, policy, clock) {
            case true: break
            case false: answer.reasons.append(.solo)
            // What is asked again is told as it was known before.
            case nil where state.reason == .solo: answer.reasons.append(.solo)
            case nil where state.isInRow: break
            case nil where state.reason == .pendingPeers || wanted.contains(UInt32(number)):
                answer.reasons.append(.pendingPeers)
            // Nothing depends on it while something else holds.
            case nil: break
            }
            if lacksToken(number, rules) { answer.reasons.append(.noToken) }
            if free > clock.wallNow { answer.reasons.append(.throttled) }
            if state.isInRow { answer.reasons.append(.rate) }
            if isBlind(to: person, policy, clock) { answer.reasons.append(.blind) }
        }
        // These end by what somebody tells, not by time.
        let untimed: Set<NudgeReason> = [.solo, .pendingPeers, .noToken]
        guard untimed.isDisjoint(with: answer.reasons) else { return answer }
        let seesAgainFrom = seesAgainFrom(offline: policy.thresholds(person).offline)
        let seen = max(since, seesAgainFrom, clock.observedNow)
        answer.earliest = max(clock.wallNow + (seen - clock.observedNow), free)
        return answer
    }
}
