/// Decides whose phone is woken when somebody looks at a circle. Source: design §7 N9.
extension Engine {
    /// A location this young need not be asked for.
    private static var freshFor: Milliseconds { .seconds(60) }
    /// Between two wakes of one phone at least; it also runs while we are blind.
    private static var wokenFor: Milliseconds { .seconds(5 * 60) }

    /// The numbers of those a call is about, by their ids; the viewer looks already. At most one
    /// more than are answered.
    package func members(of call: WakeCall) -> [Int] {
        switch call {
        case .members(let members): return members
        case .circle(let circle, let viewer):
            let own = roster.number(of: viewer)
            return members(ofCircle: circle).filter { $0 != own }
        }
    }

    mutating func wake(_ call: WakeCall, _ receipt: inout Receipt) {
        let members = members(of: call).filter {
            (0..<roster.count).contains($0) && roster[$0].idCount > 0
        }
        receipt.accepted = 1
        receipt.wakesBeyond = max(0, members.count - WakeCall.membersMax)
        for number in members.prefix(WakeCall.membersMax) {
            let reason = reasonNotToWake(number)
            receipt.wakes.append(WakeAnswer(person: number, reason: reason))
            counters.nudges.note(wake: reason)
            guard reason == nil else { continue }
            woken[number] = watch.now
            let push = nudges.takeNumber()
            decisions.append(.wake(at: watch.wallNow, number: number, push: push))
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
            watch.watchedNow - person.lastLocation <= Self.freshFor
        {
            return .fresh
        }
        if let woken = woken[number], watch.now - woken < Self.wokenFor { return .woken }
        if person.telemetry.isLowPower { return .lowPower }
        return lacksToken(number) ? .noToken : nil
    }
}
