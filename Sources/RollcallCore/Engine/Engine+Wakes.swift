/// Decides whose phone is woken when somebody looks at a circle. Source: N9.
extension Engine {
    /// A location this young need not be asked for.
    private static var freshFor: Milliseconds { .seconds(60) }
    /// Between two wakes of one phone at least; it also runs while we are blind.
    private static var wokenFor: Milliseconds { .seconds(5 * 60) }

    /// The first by their ids of those a call is about, and how many more there are; the viewer
    /// looks already.
    package func members(of call: WakeCall) -> (first: [Int], beyond: Int) {
        switch call {
        case .members(let members): return (members, 0)
        case .circle(let circle, let viewer):
            let own = roster.number(of: viewer)
            let others = people.members(ofCircle: circle).lazy.map { Int($0) }.filter { $0 != own }
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

    mutating func wake(_ call: WakeCall, _ receipt: inout Receipt) {
        receipt.accepted = 1
        let (members, beyond) = members(of: call)
        receipt.wakesBeyond = beyond
        for number in members.prefix(WakeCall.membersMax) {
            guard (0..<roster.count).contains(number), roster[number].idCount > 0 else { continue }
            let reason = reasonNotToWake(number)
            receipt.wakes.append(WakeAnswer(person: number, reason: reason))
            counters.nudges.note(wake: reason)
            guard reason == nil else { continue }
            nudges.woken[number] = clock.now
            let push = nudges.takeNumber()
            decisions.append(.wake(at: clock.wallNow, number: number, push: push))
        }
    }

    private func reasonNotToWake(_ number: Int) -> WakeReason? {
        let person = roster[number]
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
        if let woken = nudges.woken[number], clock.now - woken < Self.wokenFor { return .woken }
        if person.telemetry.isLowPower { return .lowPower }
        return lacksToken(number) ? .noToken : nil
    }
}
