extension Oracle {
    /// When somebody was last nudged in one mode. Source: N2, N10.
    struct LastNudge {
        /// By the wall.
        let at: Wall
        /// True once a newer location armed the switch again. Source: N1.
        var isArmed = false
    }

    /// What can hold a nudge back, as far as it is somebody's own or their company's.
    struct Circumstances: Equatable {
        var duty: Duty?
        var factor: Double
        var region: String
        var isBehind: Bool
        var promise: Span
        var circles: Set<String>
        var location: Instant?
        /// Of each of their circles, and of their region, whether nobody else is active there.
        var isAlone: [String: Bool]
    }

    /// What there is to know of somebody's nudges.
    struct Nudging {
        /// The newest location. Source: F9, I5.
        var location: Instant?
        /// True if that came with what is being taken.
        var isNewlyLocated = false
        /// Where a push would reach them.
        var token: String?
        /// By mode. Source: N10.
        var last: [StoryNudges.Mode: LastNudge] = [:]
        /// True once the location was found too old, until it is young again.
        var isDue = false
        /// When somebody asked for them and was sent, by the wall and by mode. Source: R3.
        var asks: [StoryNudges.Mode: [Wall]] = [:]
        /// What was last written of why not, since they were last not due. Source: N8.
        var reason: String?
        /// When they were last looked at while they were due.
        var circumstances: Circumstances?
        /// True if something about them changed in this instant.
        var isToBeEvaluated = false
        /// The end of the throttle, as it was when they were nudged or held by it.
        var waitsUntil: Wall?
    }

    static let rateWindow: Span = 1000
    private static let stepMax: Span = 60_000

    // MARK: - What changes

    /// Takes the location of an update that was accepted; one in the future counts as now.
    /// Source: F9, F16, I6.
    mutating func locate(_ update: StoryUpdate, of item: BatchItem, _ index: Int) {
        guard let captured = update.capturedAt else { return }
        let receivedAt = min(item.receivedAt ?? wall, wall)
        let isAhead = captured - receivedAt > Self.skewMax
        let at = instant(toldAs: isAhead ? receivedAt : captured)
        if let last = everybody[index].nudging.location, observed(at) <= observed(last) { return }
        everybody[index].nudging.location = at
        everybody[index].nudging.isNewlyLocated = true
        for mode in everybody[index].nudging.last.keys {
            everybody[index].nudging.last[mode]?.isArmed = true
        }
    }

    /// Takes a push token; whoever is due is evaluated with it. Source: N7, N8.
    mutating func learnToken(_ token: String?, of index: Int) {
        guard let token else { return }
        everybody[index].nudging.token = token
        if everybody[index].nudging.isDue { everybody[index].nudging.isToBeEvaluated = true }
    }

    /// A forward step of the wall freezes nudges for an interval. Source: N2.
    mutating func freezeNudges(step: Span) {
        guard step > Self.stepMax else { return }
        frozenUntil = max(frozenUntil ?? .min, wall + policy.nudges.minInterval)
    }

    /// Something was told about one person, or changed: whoever is due and for whom something is
    /// otherwise now is evaluated at the end of the instant. Only about that person it is asked
    /// whether they became due; time alone makes others due when we can see. Source: N1, F8.
    mutating func lookAtNudges(about index: Int? = nil) {
        for other in everybody.indices
        where everybody[other].nudging.isDue || other == index {
            lookAtNudge(of: other)
        }
        if let index { everybody[index].nudging.isNewlyLocated = false }
    }

    /// The same about everybody, when time passed or the settings changed.
    mutating func lookAtAllNudges(areEvaluated: Bool = false) {
        for index in everybody.indices {
            lookAtNudge(of: index)
            if areEvaluated, everybody[index].nudging.isDue {
                everybody[index].nudging.isToBeEvaluated = true
            }
        }
    }

    private mutating func lookAtNudge(of index: Int) {
        var nudging = everybody[index].nudging
        if isLocationOld(index) {
            let circumstances = circumstances(of: index)
            if !nudging.isDue || nudging.circumstances != circumstances {
                nudging.isToBeEvaluated = true
            }
            nudging.circumstances = circumstances
            nudging.isDue = true
        } else {
            // What was told is forgotten; a window noticed late alone forgets nothing.
            if nudging.isDue || nudging.isNewlyLocated || everybody[index].status == nil {
                nudging.reason = nil
            }
            nudging.isDue = false
        }
        everybody[index].nudging = nudging
    }

    /// Observed time was set back: who is due no longer was never told to be young. Source: B1, F9.
    mutating func setBackNudges() {
        for index in everybody.indices where !isLocationOld(index) {
            everybody[index].nudging.isDue = false
        }
    }

    // MARK: - What holds

    /// Whether somebody is due: active, located once, and not since for as long as the smallest age
    /// that applies. Source: N1, F31, F34.
    private func isLocationOld(_ index: Int) -> Bool {
        guard policy.nudges.mode != .disabled, let due = staleFrom(index) else { return false }
        return observed(now) >= due
    }

    /// The observed time from which on they are due.
    private func staleFrom(_ index: Int) -> Span? {
        let person = everybody[index]
        guard person.status != nil, let location = person.nudging.location else { return nil }
        let rules = policy.nudges
        var limits = [rules.staleAfter]
        if let limit = person.duty == .onMission ? rules.staleOnMission : rules.staleOnDuty {
            limits.append(limit)
        }
        if person.platform == "ios", let limit = rules.staleOfIOS { limits.append(limit) }
        if person.platform == "android", let limit = rules.staleOfAndroid { limits.append(limit) }
        let since = max(observed(location), observed(person.activeSince))
        return since + limits.reduce(.max, min)
    }

    private func circumstances(of index: Int) -> Circumstances {
        let person = everybody[index]
        var isAlone = ["region \(person.region)": !hasOthers(index, inRegion: true)]
        for circle in person.circles {
            isAlone["circle \(circle)"] = !hasOthers(index, inCircle: circle)
        }
        return Circumstances(
            duty: person.duty, factor: person.factor, region: person.region,
            isBehind: person.isBehind, promise: person.promise, circles: person.circles,
            location: person.nudging.location, isAlone: isAlone)
    }

    private func hasOthers(
        _ index: Int, inRegion: Bool = false, inCircle circle: String = ""
    ) -> Bool {
        everybody.indices.contains { other in
            other != index && everybody[other].status != nil
                && (inRegion
                    ? everybody[other].region == everybody[index].region
                    : everybody[other].circles.contains(circle))
        }
    }

    /// Source: N3, F33.
    func hasActivePeer(_ index: Int) -> Bool {
        let circles = everybody[index].circles
        if circles.isEmpty {
            return !policy.nudges.needsCircle && hasOthers(index, inRegion: true)
        }
        return circles.contains { hasOthers(index, inCircle: $0) }
    }

    /// The observed time until which nudges are held as if we were blind. Source: F31.
    private func blindUntil(_ index: Int) -> Span? {
        guard let sawAgainAt, let limits = thresholds(index, under: policy) else { return nil }
        return observed(sawAgainAt) + limits.offline
    }

    func isBlindTo(_ index: Int) -> Bool {
        isBlind || observed(now) < blindUntil(index) ?? .min
    }

    /// Until when the throttle, a freeze or an ask holds, by the wall. Source: N2, R3.
    private func throttledUntil(_ index: Int) -> Wall {
        let last = everybody[index].nudging.last[policy.nudges.mode]
        return max(
            frozenUntil ?? .min, last.map { $0.at + policy.nudges.minInterval } ?? .min,
            lastAsk(index).map { $0 + Self.askInterval } ?? .min)
    }

    func lacksToken(_ index: Int) -> Bool {
        policy.nudges.sink == .expo && everybody[index].nudging.token == nil
    }

    /// The first reason that holds. Source: F32.
    private func reasonToHold(_ index: Int, room: Int) -> String? {
        if isBlindTo(index) { return "blind" }
        if !hasActivePeer(index) { return "solo" }
        if lacksToken(index) { return "no_token" }
        if throttledUntil(index) > wall { return "throttled" }
        return room > 0 ? nil : "rate"
    }

    /// Nudged, and nothing newer since: nothing is due before the throttle ends. Source: F31, F32.
    private func isSpent(_ index: Int) -> Bool {
        guard let last = everybody[index].nudging.last[policy.nudges.mode] else { return false }
        return !last.isArmed && throttledUntil(index) > wall
    }

    /// Whether what holds a nudge back does so still.
    private func isStillHeld(_ index: Int, room: Int) -> Bool {
        switch everybody[index].nudging.reason {
        case "blind": isBlindTo(index)
        case "solo": !hasActivePeer(index)
        case "no_token": lacksToken(index)
        case "throttled": throttledUntil(index) > wall
        case "rate": room <= 0
        default: isSpent(index)
        }
    }

    // MARK: - Evaluation

    /// Evaluates by id all who are due and for whom something changed, whose turn it is, or who are
    /// held by nothing any more. Source: F1, F32, N1, N10.
    mutating func evaluateNudges() {
        if !isBlind { lookAtAllNudges() }
        nudgesSent.removeAll { now - $0 >= Self.rateWindow }
        var room = policy.nudges.rate - nudgesSent.count
        for index in everybody.indices {
            var isEvaluated = everybody[index].nudging.isToBeEvaluated
            everybody[index].nudging.isToBeEvaluated = false
            if policy.nudges.mode == .disabled { continue }
            if let until = everybody[index].nudging.waitsUntil, until <= wall {
                everybody[index].nudging.waitsUntil = nil
                isEvaluated = true
            }
            guard everybody[index].nudging.isDue, isLocationOld(index) else { continue }
            if everybody[index].nudging.reason == "rate", room > 0 { isEvaluated = true }
            if !isBlindTo(index), !isStillHeld(index, room: room) { isEvaluated = true }
            if isEvaluated { judge(index, &room) }
        }
    }

    private mutating func judge(_ index: Int, _ room: inout Int) {
        let before = everybody[index].nudging.reason
        if isSpent(index) {
            everybody[index].nudging.waitsUntil = throttledUntil(index)
            return
        }
        guard let reason = reasonToHold(index, room: room) else {
            room -= 1
            return nudge(index)
        }
        if reason == "throttled" {
            everybody[index].nudging.waitsUntil = throttledUntil(index)
            let isFrozen = everybody[index].nudging.last[policy.nudges.mode] == nil
            if isFrozen { marks.insert("nudges frozen") }
        }
        everybody[index].nudging.reason = reason
        if reason != before { tellNudge(index, "hold", reason) }
    }

    private mutating func nudge(_ index: Int) {
        let mode = policy.nudges.mode
        if let last = everybody[index].nudging.last[mode] {
            marks.insert(last.isArmed ? "nudged for another silence" : "nudged again")
        }
        let reason = everybody[index].nudging.reason
        marks.insert("nudged" + (reason.map { " after \($0)" } ?? " at once"))
        nudgesSent.append(now)
        everybody[index].nudging.last[mode] = LastNudge(at: wall)
        everybody[index].nudging.waitsUntil = wall + policy.nudges.minInterval
        everybody[index].nudging.reason = nil
        tellNudge(index, "send", nil)
    }

    mutating func tellNudge(_ index: Int, _ decision: String, _ reason: String?) {
        decisions.append(
            .nudge(
                at: wall, responderID: everybody[index].responderID, decision: decision,
                reason: reason))
    }

    /// When time alone changes something about nudges, as far as that can be at present; some may
    /// be in the past.
    func nudgeInstants() -> [Instant] {
        if policy.nudges.mode == .disabled { return [] }
        var instants = nudgesSent.map { $0 + Self.rateWindow }
        let offset = now - observed(now)
        for index in everybody.indices {
            if let until = everybody[index].nudging.waitsUntil { instants.append(until - steps) }
            if isBlind { continue }
            if let due = staleFrom(index) { instants.append(due + offset) }
            if let until = blindUntil(index) { instants.append(until + offset) }
        }
        return instants
    }
}
