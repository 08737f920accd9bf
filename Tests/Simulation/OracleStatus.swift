extension Oracle {
    /// Ends the pauses that have run out, by the wall. Source: F8, F1.
    mutating func endPauses() {
        for index in everybody.indices where everybody[index].isPaused {
            guard let until = everybody[index].pausedUntil, until <= wall else { continue }
            everybody[index].isPaused = false
            everybody[index].pausedUntil = nil
            reconsider(index)
            followMissed(index)
            lookAtNudges(about: index)
        }
    }

    /// Passes the deadlines that have come. Source: L4, L5, F3, F18.
    mutating func passDeadlines() {
        let reached = observed(now)
        for index in everybody.indices {
            guard let status = everybody[index].status, status != .offline else { continue }
            let isAbsent = everybody[index].offlineDeadline <= reached
            if status == .online {
                guard isAbsent || everybody[index].degradedDeadline <= reached else {
                    continue
                }
                change(index, to: .degraded, by: .deadline)
            }
            if isAbsent { change(index, to: .offline, by: .deadline) }
            followMissed(index)
        }
    }

    /// Forgets whoever was OFFLINE for too long. Source: L10, F22.
    mutating func forget() {
        let reached = observed(now)
        for index in everybody.indices where everybody[index].status == .offline {
            guard observed(everybody[index].offlineAt) + policy.forgetAfter <= reached else {
                continue
            }
            everybody[index].isForgotten = true
            expectNoMore(index, by: .deadline)
            followMissed(index)
            lookAtNudges(about: index)
        }
    }

    /// Changes a status; `from` is printed if somebody knew better what it was. Source: L7, L9.
    mutating func change(_ index: Int, to status: Status, by origin: Origin, from: Status? = nil) {
        let before = everybody[index].status
        printStatus(index, from: from ?? before, to: status, origin)
        everybody[index].status = status
        if status == .offline { everybody[index].offlineAt = now }
        if origin == .deadline || origin == .server { fallSilent(index, from: before, to: status) }
        noteChange(index, from: before, origin)
    }

    /// A person's thresholds by their duty, and the app, the factors and the promise of their last
    /// contact; nil if they have
    /// no duty that knows any. Source: L4, F4, F19.
    func thresholds(_ index: Int, under policy: StoryPolicy) -> Thresholds? {
        guard let profile = profile(index, under: policy) else { return nil }
        let factor = everybody[index].factor
        let promise = promise(index, under: policy)
        return Thresholds(
            degraded: max(
                Span((Double(profile.degradedAfter) * factor).rounded()), promise * 3 / 2),
            offline: max(Span((Double(profile.offlineAfter) * factor).rounded()), promise * 3))
    }

    /// A person's profile by their duty and where the app was at the last contact. Source: P5.
    func profile(_ index: Int, under policy: StoryPolicy) -> StoryPolicy.Profile? {
        let isBehind = everybody[index].isBehind
        switch everybody[index].duty {
        case .onDuty: return isBehind ? policy.onDutyBehind ?? policy.onDuty : policy.onDuty
        case .onMission:
            return isBehind ? policy.onMissionBehind ?? policy.onMission : policy.onMission
        case .offDuty, nil: return nil
        }
    }

    /// What a person's phone promised, as far as it is believed; 0 for nothing. Source: P5.
    func promise(_ index: Int, under policy: StoryPolicy) -> Span {
        let isOnMission = everybody[index].duty == .onMission
        let most = isOnMission ? policy.missionPromiseMax : policy.promiseMax
        return min(everybody[index].promise, most / 3)
    }

    /// The thresholds that hold for somebody who is expected now; nil for others.
    func thresholdsInForce(_ index: Int) -> Thresholds? {
        everybody[index].status == nil ? nil : thresholds(index, under: policy)
    }

    /// Sets the deadlines by the latest of last contact, becoming active and the last grace.
    /// Source: F18.
    mutating func startDeadlines(of index: Int) {
        guard let thresholds = thresholds(index, under: policy) else { return }
        let base = observed(base(index, countsGrace: true))
        everybody[index].degradedDeadline = base + thresholds.degraded
        everybody[index].offlineDeadline = base + thresholds.offline
    }

    /// Observed time was set back to an onset: no deadline lies further behind it than its
    /// threshold. Source: B1, and the decision about deadlines in a window noticed later.
    mutating func setBackDeadlines(to onset: Instant) {
        for index in everybody.indices {
            guard let thresholds = thresholdsInForce(index) else { continue }
            everybody[index].degradedDeadline = min(
                everybody[index].degradedDeadline, observed(onset) + thresholds.degraded)
            everybody[index].offlineDeadline = min(
                everybody[index].offlineDeadline, observed(onset) + thresholds.offline)
        }
    }

    /// After news: makes a person expected or not, else re-judges if their profile changed.
    /// Source: L1, L6.
    mutating func reconsider(_ index: Int, before old: Thresholds? = nil) {
        let isActive = everybody[index].absence == nil
        switch everybody[index].status {
        case nil:
            if isActive { expect(index) }
        case .some:
            if !isActive {
                expectNoMore(index, by: .duty)
            } else if let old, let new = thresholds(index, under: policy), new != old {
                rejudge(index, from: old, to: new, by: .duty)
            }
        }
    }

    /// Puts other settings in force. Source: L6, F19.
    mutating func takePolicy(_ new: StoryPolicy) {
        let before = policy
        policy = new
        for index in everybody.indices where everybody[index].status != nil {
            guard let was = thresholds(index, under: before),
                let now = thresholds(index, under: policy), was != now
            else { continue }
            rejudge(index, from: was, to: now, by: .policy)
        }
    }

    /// UNKNOWN, and at once what recent contact before it is worth. Source: L2, F5.
    private mutating func expect(_ index: Int) {
        printStatus(index, from: nil, to: .unknown, .duty)
        everybody[index].status = .unknown
        everybody[index].activeSince = now
        everybody[index].grace = nil
        everybody[index].isHeard = false
        everybody[index].adopted = []
        clearFlapping(index)
        startDeadlines(of: index)
        guard let last = everybody[index].lastContact,
            let thresholds = thresholds(index, under: policy),
            observed(now) - observed(last) <= thresholds.degraded
        else { return }
        everybody[index].isHeard = true
        change(index, to: .online, by: .contact)
    }

    private mutating func expectNoMore(_ index: Int, by origin: Origin) {
        printStatus(index, from: everybody[index].status, to: nil, origin)
        everybody[index].status = nil
        clearFlapping(index)
        endGapWithDuty(index)
    }

    /// A stricter threshold puts nobody late at once, a looser one brings no deadline forward and
    /// evaluates by age, never for the worse. Source: L6, F19.
    private mutating func rejudge(
        _ index: Int, from old: Thresholds, to new: Thresholds, by origin: Origin
    ) {
        everybody[index].degradedDeadline = moved(
            everybody[index].degradedDeadline, of: index, from: old.degraded, to: new.degraded)
        everybody[index].offlineDeadline = moved(
            everybody[index].offlineDeadline, of: index, from: old.offline, to: new.offline)
        // Each threshold on its own: who is DEGRADED was so by the one, who is OFFLINE by the
        // other.
        guard let status = everybody[index].status,
            status == .degraded && new.degraded > old.degraded
                || status == .offline && new.offline > old.offline
        else { return }
        let age = observed(now) - observed(base(index, countsGrace: false))
        var byAge = new.status(ofAge: age)
        if !everybody[index].isHeard, byAge != .offline { byAge = .unknown }
        byAge = everybody[index].capped(byAge)
        guard byAge < status else { return }
        change(index, to: byAge, by: origin)
    }

    /// One deadline under another threshold. Source: L6, F19.
    private func moved(_ deadline: Span, of index: Int, from old: Span, to new: Span) -> Span {
        if new < old { return min(deadline, observed(now) + new) }
        if new > old {
            return max(deadline, observed(base(index, countsGrace: true)) + new)
        }
        return deadline
    }

    /// The latest of last contact, becoming active and, if it counts, the last grace. Source: F18.
    private func base(_ index: Int, countsGrace: Bool) -> Instant {
        var base = everybody[index].activeSince
        let others = [everybody[index].lastContact, countsGrace ? everybody[index].grace : nil]
        for case let other? in others
        where (observed(other), other) > (observed(base), base) {
            base = other
        }
        return base
    }

    private mutating func printStatus(
        _ index: Int, from: Status?, to: Status?, _ origin: Origin
    ) {
        decisions.append(
            .status(
                at: wall, responderID: everybody[index].responderID, from: Status.text(from),
                to: Status.text(to), origin: origin.rawValue))
    }
}
