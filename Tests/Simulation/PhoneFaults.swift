import RollcallTools

/// What befalls phones and the people who carry them.
extension World {
    /// A phone at random, of those that still live if there are any.
    mutating func pickPhone() -> Int {
        let living = phones.indices.filter { !phones[$0].isDead }
        return dice.pick(living.isEmpty ? Array(phones.indices) : living)
    }

    /// A stretch of time that matters to this phone's thresholds.
    mutating func stretch(of number: Int) -> Int64 {
        let profile = policy.profile(phones[number].duty)
        return dice.pick([
            profile.degradedAfter / 2, profile.degradedAfter + profile.expected,
            profile.offlineAfter + profile.expected, profile.offlineAfter * 2,
            profile.offlineAfter * 5,
        ])
    }

    /// One of the faults that strike phones happens to one of them.
    mutating func strikePhone(_ fault: Fault) {
        let number = pickPhone()
        switch fault {
        case .tunnel:
            phones[number].tunnelUntil = now + stretch(of: number)
            mark("tunnel")
        case .kill: kill(number)
        case .reinstall: reinstall(number)
        case .skewedClock, .steppingClock: turnClock(number, fault)
        case .dutyShift: shiftDuty(number)
        case .pause: pause(number)
        case .lowPower:
            phones[number].condition.savesPower.toggle()
            mark("low power mode")
        case .throttle:
            let isSlow = phones[number].slowness > 10
            phones[number].slowness = isSlow ? 10 : dice.pick([14, 18, 30, 60])
            mark("background throttling")
        case .move: move(number)
        case .death: die(number)
        case .holes: skip(number)
        case .collision: collide(number)
        case .permission, .services, .drain, .appState, .weakNetwork: ail(number, fault)
        case .cell: cutOffRegion(of: number)
        case .silence: fallSilent(number)
        default: break
        }
    }

    private mutating func kill(_ number: Int) {
        guard !phones[number].isKilled else { return }
        phones[number].isKilled = true
        if dice.chance(500) { phones[number].queue = [] }
        mark("app killed")
        plan(.revive(phone: number), in: stretch(of: number))
    }

    /// The app runs again, its sequence goes on.
    mutating func revive(_ number: Int) {
        phones[number].isKilled = false
        phones[number].backoff = 0
        report(number)
    }

    private mutating func reinstall(_ number: Int) {
        phones[number].install += 1
        phones[number].queue = []
        phones[number].sequence = dice.pick([0, 1])
        if dice.chance(200), phones[number].platform != nil {
            phones[number].platform = dice.pick(["ios", "android"])
        }
        switch phones[number].installIDs {
        case .never: mark("reinstall without ids")
        case .always: mark("reinstall with ids")
        case .fromNextInstall: mark("install ids begin")
        }
        if phones[number].install > 5 { mark("more installs than are remembered") }
        guard phones[number].installIDs == .always else { return }
        if dice.chance(600) { plan(.once(.reinstall), in: interval(of: number) * 2) }
        if dice.chance(300), isRunning(number) {
            var item = batch(of: number, [StoryUpdate(sequence: dice.number(0...9000))])
            let old = dice.number(1...Int64(phones[number].install))
            item.installID = "\(phones[number].id)/\(old)"
            hand(item)
            mark("an old install speaks again")
        }
    }

    private mutating func turnClock(_ number: Int, _ fault: Fault) {
        let wrong: Int64 = dice.pick([
            2000, 2001, 5000, 60_000, 3_600_000, 86_400_000, 2_300_000_000_000, -1000, -60_000,
            -3_600_000, -86_400_000, -1_700_000_000_000,
        ])
        if fault == .steppingClock, phones[number].clockOffset != 0 {
            phones[number].clockOffset = 0
            mark("phone clock corrected")
        } else {
            phones[number].clockOffset = wrong
            mark(wrong > 2000 ? "phone clock in the future" : "phone clock behind")
        }
    }

    private mutating func shiftDuty(_ number: Int) {
        let old = phones[number].duty
        let new = dice.pick(["ON_DUTY", "ON_MISSION", "OFF_DUTY"].filter { $0 != old })
        phones[number].duty = new
        mark("duty shift")
        switch dice.number(0...3) {
        case 0:
            // The backend says so, the phone still sends the old state: both within 60 s (F15).
            var late = batch(of: number, [])
            late.dutyState = old
            tell(phones[number].fact(), from: phones[number].backend)
            let wait: Int64 = dice.pick([0, 0, 30_000, 59_999, 60_000, 60_001])
            if isRunning(number) {
                deliver(.batch([late]), from: phones[number].backend, after: wait)
                mark("duty told by both")
            }
        case 1, 2: tell(phones[number].fact(), from: phones[number].backend)
        default:
            // Who is off duty must be told by somebody.
            if isRunning(number) {
                phones[number].sendsFacts = true
                hand(batch(of: number, []))
            }
        }
    }

    func isRunning(_ number: Int) -> Bool {
        !phones[number].isDead && !phones[number].isKilled && now >= phones[number].tunnelUntil
    }

    private mutating func pause(_ number: Int) {
        var fact = FactItem(responderID: phones[number].id)
        if phones[number].isPaused {
            phones[number].isPaused = false
            phones[number].pausedUntil = nil
            fact.sharing = "active"
            mark("pause ended early")
        } else {
            phones[number].isPaused = true
            let length = stretch(of: number)
            switch dice.number(0...3) {
            case 0: fact.sharing = "paused"
            case 1:
                fact.sharing = "paused"
                fact.pausedUntil = wall + length
            case 2: fact.pausedUntil = wall + length
            default:
                // One that is over already means active (F23).
                fact.pausedUntil = wall - length
                phones[number].isPaused = false
                mark("pause in the past")
            }
            phones[number].pausedUntil = fact.pausedUntil
            if phones[number].isPaused, fact.pausedUntil != nil { mark("pause with an end") }
            if phones[number].isPaused { mark("sharing paused") }
        }
        tell(fact, from: phones[number].backend)
        if phones[number].isPaused, fact.pausedUntil != nil, dice.chance(700) {
            // The phone itself knows nothing of the end; it just goes on then.
            phones[number].isPaused = false
            phones[number].pausedUntil = nil
            phones[number].mutedUntil = now + dice.number(0...1) * stretch(of: number)
        }
    }

    /// Two batches received at the same instant tell different things: the higher sequence holds
    /// (I2), in whichever order they come. Or two updates carry the same sequence.
    private mutating func collide(_ number: Int) {
        guard isRunning(number), phones[number].sequence < Int64.max - 2 else { return }
        let backend = phones[number].backend
        var items: [BatchItem] = []
        for step in 0..<2 {
            let update = StoryUpdate(
                sequence: phones[number].sequence, capturedAt: phoneClock(number) + Int64(step))
            var item = batch(of: number, [update])
            item.receivedAt = clock(of: backend)
            item.dutyState = phones[number].duty
            items.append(item)
            if step > 0 { break }
            if dice.chance(700) {
                phones[number].sequence += 1
                phones[number].duty = dice.pick(["ON_DUTY", "ON_MISSION", "OFF_DUTY"])
                phones[number].condition.savesPower.toggle()
                mark("facts received at one instant")
            } else {
                mark("one sequence twice")
            }
        }
        phones[number].sequence += 1
        phones[number].reportedAt = now
        if dice.chance(500) { items.reverse() }
        if dice.chance(500) {
            deliver(.batch(items), from: backend)
        } else {
            for item in items { deliver(.batch([item]), from: backend) }
        }
    }

    private mutating func move(_ number: Int) {
        phones[number].region = dice.pick(["north", "south", "east", "default"])
        phones[number].circles = dice.pick([[], ["c-1"], ["c-2", "c-3"]])
        if dice.chance(500) { tell(phones[number].fact(), from: phones[number].backend) }
        mark("moved to another region")
    }

    private mutating func die(_ number: Int) {
        // Somebody must be left, as long as there is somebody.
        let others = phones.count { !$0.isDead } - 1
        guard others > 0 || now > faultsEnd / 2 && dice.chance(500) else { return }
        phones[number].isDead = true
        mark("death")
    }

    /// Every other update is lost: more holes than are remembered; some arrive after all (I1).
    private mutating func skip(_ number: Int) {
        guard isRunning(number), phones[number].sequence < Int64.max / 2 else { return }
        let count = dice.number(4...75)
        let first = phones[number].sequence + 1
        phones[number].sequence += 2 * count + 1
        let clock = phoneClock(number)
        let updates = (0..<count).map { step in
            StoryUpdate(sequence: first + 2 * step, capturedAt: clock - (count - step) * 10)
        }
        hand(batch(of: number, updates))
        let holes = (0..<min(count, 5)).map { step in
            StoryUpdate(sequence: first + 2 * step + 1, capturedAt: clock - (count - step) * 10 + 5)
        }
        hand(batch(of: number, holes))
        mark(count > 64 ? "more holes than are remembered" : "holes")
    }
}
