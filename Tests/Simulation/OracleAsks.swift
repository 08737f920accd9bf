/// Who is asked to reconnect because somebody wants it. Source: R3.
extension Oracle {
    /// Between two asks for one person at least, whoever asks, by the wall.
    static let askInterval: Span = 3_600_000
    private static let asksMax = 6
    private static let asksWithin: Span = 24 * 3_600_000
    /// A location this young need not be asked for.
    private static let freshFor: Span = 60_000

    /// Takes an ask, and says what came of it. What a member sends is a write of its source, an operator
    /// is none.
    mutating func take(_ ask: StoryAsk, from source: String?) {
        if ask.by != nil { noteWrite(from: source) }
        guard let index = index(of: Name(ask.responderID)) else { return answer(ask, "unknown") }
        if let by = ask.by, !shareACircle(index, self.index(of: Name(by))) {
            return answer(ask, "outsider")
        }
        let mode = policy.nudges.mode
        if mode == .disabled { return answer(ask, "disabled") }
        nudgesSent.removeAll { now - $0 >= Self.rateWindow }
        if let reason = reasonNotToAsk(index) {
            let until = reason == "throttled" ? askableFrom(index) : nil
            return answer(ask, reason, until: until)
        }
        if everybody[index].nudging.last[mode].map({ wall - $0.at < policy.nudges.minInterval })
            ?? false
        {
            marks.insert("asked within the interval between nudges")
        }
        nudgesSent.append(now)
        everybody[index].nudging.asks[mode, default: []].append(wall)
        tellNudge(index, "ask", nil)
        answer(ask, mode == .live ? "send" : "dry_run")
    }

    /// When somebody was asked for last in the mode in force, by the wall.
    func lastAsk(_ index: Int) -> Wall? {
        everybody[index].nudging.asks[policy.nudges.mode]?.last
    }

    private func shareACircle(_ index: Int, _ other: Int?) -> Bool {
        guard let other, other != index, everybody[other].retiredAt == nil else { return false }
        return !everybody[index].circles.isDisjoint(with: everybody[other].circles)
    }

    /// The first reason that holds, as of a nudge, with `fresh` behind what somebody said themselves.
    private mutating func reasonNotToAsk(_ index: Int) -> String? {
        guard everybody[index].status != nil else {
            return everybody[index].absence == "paused" ? "paused" : "off_duty"
        }
        if isBlindTo(index) { return "blind" }
        if isFresh(index) { return "fresh" }
        if !hasActivePeer(index) { return "solo" }
        if lacksToken(index) { return "no_token" }
        if let until = askableFrom(index), until > wall { return "throttled" }
        return nudgesSent.count < policy.nudges.rate ? nil : "rate"
    }

    /// Located within a minute, or so lately that they are not late.
    private func isFresh(_ index: Int) -> Bool {
        guard let location = everybody[index].nudging.location,
            let thresholds = thresholds(index, under: policy)
        else { return false }
        return observed(now) - observed(location) <= max(Self.freshFor, thresholds.degraded)
    }

    /// From when on somebody may be asked for, by the wall: an hour after the last ask, a day after the
    /// sixth before, and not while nudges are frozen.
    private mutating func askableFrom(_ index: Int) -> Wall? {
        var instants = [frozenUntil].compactMap { $0 }
        if let last = lastAsk(index) { instants.append(last + Self.askInterval) }
        let asks = everybody[index].nudging.asks[policy.nudges.mode] ?? []
        let recent = asks.filter { $0 + Self.asksWithin > wall }
        if recent.count >= Self.asksMax {
            marks.insert("asked for six times a day")
            instants.append(recent[recent.count - Self.asksMax] + Self.asksWithin)
        }
        return instants.max()
    }

    private mutating func answer(_ ask: StoryAsk, _ answer: String, until: Wall? = nil) {
        decisions.append(
            .ask(at: wall, responderID: ask.responderID, answer: answer, until: until))
        marks.insert("ask: \(answer)")
    }
}
