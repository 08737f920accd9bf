/// Decides whose phone is woken when somebody looks at a circle. Source: N9.
extension Nudging {
    /// A location this young need not be asked for.
    private static let freshFor = Milliseconds.seconds(60)
    /// Between two wakes of one phone at least; it also runs while we are blind.
    private static let wokenFor = Milliseconds.seconds(5 * 60)

    /// Wakes somebody's phone, by the push whose number is returned, unless there is a reason not to.
    mutating func wake(
        _ person: Responder, _ number: Int, _ rules: NudgeRules, _ clock: ObservationClock
    ) -> (push: Int64, reason: WakeReason?) {
        if let reason = reasonNotToWake(person, number, rules, clock) { return (0, reason) }
        woken[number] = clock.now
        return (takeNumber(), nil)
    }

    private func reasonNotToWake(
        _ person: Responder, _ number: Int, _ rules: NudgeRules, _ clock: ObservationClock
    ) -> WakeReason? {
        switch person.notExpected {
        case .paused: return .paused
        case .some: return .offDuty
        case nil: break
        }
        if person.lastLocation > .distantPast,
            clock.observedNow - person.lastLocation <= Self.freshFor
        {
            return .fresh
        }
        if let woken = woken[number], clock.now - woken < Self.wokenFor { return .woken }
        if person.telemetry.isLowPower { return .lowPower }
        return lacksToken(number, rules) ? .noToken : nil
    }
}

extension People {
    /// The first by their ids of those a call is about, and how many more there are; the viewer
    /// looks already.
    func members(of call: WakeCall) -> (first: [Int], beyond: Int) {
        switch call {
        case .members(let members): return (members, 0)
        case .circle(let circle, let viewer):
            let own = roster.number(of: viewer)
            let others = members(ofCircle: circle).lazy.map { Int($0) }.filter { $0 != own }
            var first: [Int] = []
            for number in others {
                let isFull = first.count == WakeCall.membersMax
                if isFull, let last = first.last, roster.precedes(last, number) { continue }
                let place = first.firstIndex { roster.precedes(number, $0) } ?? first.count
                first.insert(number, at: place)
                if isFull { first.removeLast() }
            }
            return (first, others.count - first.count)
        }
    }
}
