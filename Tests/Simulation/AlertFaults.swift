import RollcallTools

/// What alerts are about: phones that come and go, regions that empty. Source: Contract/Alerts.
extension World {
    // MARK: - Flapping

    /// Somebody comes and goes several times.
    mutating func beginFlapping() {
        let number = pickPhone()
        guard isRunning(number), phones[number].mutedUntil <= now else { return }
        mark("a phone comes and goes")
        flap(number, dice.number(2...6))
    }

    /// The phone is back, and silent again until it is OFFLINE. Now and then the server says so
    /// before, or says that it is back: such changes do not count (F28).
    mutating func flap(_ number: Int, _ left: Int64) {
        guard healing == nil, isRunning(number) else { return }
        let backend = phones[number].backend
        phones[number].mutedUntil = now
        if dice.chance(850) {
            report(number, again: false)
        } else {
            let item = TransitionItem(responderID: phones[number].id, from: "OFFLINE", to: "ONLINE")
            deliver(.transition([item]), from: backend)
            mark("the server says that it came")
        }
        guard left > 0 else { return }
        let profile = policy.profile(phones[number].duty)
        let length = profile.offlineAfter + dice.pick([0, 1, 1, profile.expected])
        phones[number].mutedUntil = now + length + 1
        if dice.chance(150) {
            let item = TransitionItem(
                responderID: phones[number].id, from: "ONLINE",
                to: dice.pick(["OFFLINE", "OFFLINE", "DEGRADED"]))
            deliver(.transition([item]), from: backend, after: dice.number(1...max(1, length / 2)))
            mark("the server says that it went")
        }
        plan(.flap(phone: number, left: left - 1), in: length)
    }

    // MARK: - Staff

    /// A region's people go home together, or come to work, or move to another region.
    mutating func changeStaff() {
        let region = phones[pickPhone()].region
        let staff = phones.indices.filter { phones[$0].region == region && !phones[$0].isErased }
        guard let first = staff.first else { return }
        let isWorking = staff.contains { phones[$0].duty != "OFF_DUTY" }
        let moves = dice.chance(250)
        let target = dice.pick(["north", "south", "east", "default", "west"])
        for number in staff where dice.chance(950) {
            if moves {
                phones[number].region = target
            } else {
                phones[number].duty = isWorking ? "OFF_DUTY" : dice.pick(["ON_DUTY", "ON_MISSION"])
            }
        }
        mark(moves ? "a region moves" : isWorking ? "a region goes home" : "a region comes to work")
        let facts = staff.map { phones[$0].fact() }
        let backend = phones[first].backend
        if dice.chance(600) {
            deliver(.responder(facts), from: backend)
        } else {
            for fact in facts { tell(fact, from: backend) }
        }
        if moves { return }
        if isWorking {
            if dice.chance(700) { plan(.once(.staffing), in: max(stretch(of: first), 1)) }
        } else if dice.chance(500) {
            keepWaiting(for: staff)
        }
    }

    /// Whoever came to work is not heard for a while, and nothing is seen when that begins to count
    /// (F29).
    private mutating func keepWaiting(for staff: [Int]) {
        guard let first = staff.first else { return }
        let length = stretch(of: first)
        for number in staff {
            phones[number].mutedUntil = max(phones[number].mutedUntil, now + length)
        }
        mark("a region at work is not heard")
        guard dice.chance(600) else { return }
        let degraded = policy.profile(phones[first].duty).degradedAfter
        let fault = dice.pick([Fault.outage, .outage, .outage, .store, .overload, .crash, .suspend])
        plan(.once(fault), in: dice.number(degraded / 2...degraded + 1))
    }
}
