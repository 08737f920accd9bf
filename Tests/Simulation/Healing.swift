import RollcallTools

/// The second part of a story: nothing is wrong any more, and everything must become right.
struct Healing {
    /// When the last fault is over and the truth is told; milliseconds since the story began.
    var healsAt: Int64 = 0
    /// How long all is well at least; now and then long enough for the last verdicts.
    var leastMilliseconds: Int64 = 60_000
    /// How often somebody reports.
    var slotEvery: Int64 = 0
    /// Reports to come before the end.
    var slotsLeft: Int64 = 0
    /// Everybody's reports of one instant come in one array.
    var isBundled = false
    /// When each phone reported last, by number.
    var reportedAt: [Int64] = []
}

extension World {
    /// Beyond so many reports at different instants a story is too long.
    private static let slotsMax: Int64 = 110
    /// Longer than refused writes are remembered (B1).
    private static let calmMilliseconds: Int64 = 16_000

    /// Everything is repaired, and soon the backends tell the truth.
    mutating func heal() {
        agenda.clear()
        healing = Healing()
        if dice.chance(300) {
            healing?.leastMilliseconds = 126_000
            mark("two minutes of calm")
        }
        host.crashesLeft = 0
        host.overloadUntil = 0
        for number in backends.indices {
            backends[number].outageUntil = 0
            backends[number].clockOffset = 0
            backends[number].delay = 0
        }
        for number in phones.indices {
            phones[number].clockOffset = 0
            phones[number].clockDrift = 0
            phones[number].isKilled = false
            phones[number].tunnelUntil = 0
            phones[number].weakUntil = 0
        }
        // Who holds a beat back does not send it later: it would arm a source that was disarmed.
        host.held.removeAll { if case .heartbeat = $0.event { true } else { false } }
        resume()
        storeWorks()
        if steps != 0, !faults.backendsFollowHost || dice.chance(500) {
            emit(.clock(stepMilliseconds: -steps))
            mark("clock restored")
        }
        measureTheTruth()
        for number in backends.indices { flush(number) }
        calmHeartbeats()
        plan(.truth, in: Self.calmMilliseconds)
    }

    /// Sources beat on, seldom enough for a story, or are disarmed.
    private mutating func calmHeartbeats() {
        for number in backends.indices {
            guard let every = backends[number].beatsEvery else { continue }
            if dice.chance(300) {
                backends[number].beatsEvery = nil
                send(beat: 0, number)
                mark("heartbeat disarmed at the end")
            } else {
                let least = (quietMilliseconds + Self.calmMilliseconds) / 1000 / 20
                backends[number].beatsEvery = Int(min(3600, max(Int64(every), least + 1)))
                beat(number)
            }
        }
    }

    /// How long all must be well: until whoever is silent must be OFFLINE.
    private var quietMilliseconds: Int64 {
        let longest = policy.patience
        let least = healing?.leastMilliseconds ?? 60_000
        return max(least, longest * 3, Int64(Double(longest) * factorSeen) + 2000)
    }

    /// How often a phone of this duty reports while all is well.
    private func calmInterval(_ duty: String) -> Int64 {
        let profile = policy.profile(duty)
        let often = max(profile.expected * 7 / 10, profile.degradedAfter * 4 / 10)
        let interval = max(1, Int64(Double(often) * policy.factorMin))
        return faults.usesWholeSeconds ? max(1000, interval / 1000 * 1000) : interval
    }

    /// The backends tell what is true of everybody, by a roster or one by one.
    mutating func tellTruth() {
        healing?.healsAt = now
        slowDownIfNeeded()
        var retired = 0
        for number in phones.indices {
            phones[number].pausedUntil = phones[number].isPaused ? wall + 30 * 86_400_000 : nil
            if phones[number].isErased, dice.chance(500) {
                deliver(.responder([phones[number].fact()]), from: 0)
                mark("named again at the end")
            }
            if faults.has(.roster), phones[number].isDead, retired < 5, dice.chance(300) {
                phones[number].isRetired = true
                retired += 1
                mark("retired at the end")
            }
        }
        let known = phones.filter { !$0.isErased && !$0.isRetired }.map { $0.fact() }
        if faults.has(.roster) {
            deliver(.roster(known, RosterNote()), from: 0)
        } else if !known.isEmpty {
            deliver(.responder(known), from: 0)
        }
        beginSlots()
    }

    /// If the longest threshold is long and somebody's interval short, everybody gets the slack
    /// duty: a story must end.
    private mutating func slowDownIfNeeded() {
        let slack =
            calmInterval("ON_DUTY") >= calmInterval("ON_MISSION") ? "ON_DUTY" : "ON_MISSION"
        guard quietMilliseconds / shortestInterval > Self.slotsMax else { return }
        for number in phones.indices where phones[number].duty != "OFF_DUTY" {
            phones[number].duty = slack
        }
        mark("wildly different profiles")
    }

    private var shortestInterval: Int64 {
        let duties = phones.filter { !$0.isDead && $0.duty != "OFF_DUTY" }.map(\.duty)
        return duties.map { calmInterval($0) }.min() ?? max(1000, quietMilliseconds / 4)
    }

    private mutating func beginSlots() {
        let every = shortestInterval
        let count = (quietMilliseconds + every - 1) / every
        healing?.slotEvery = every
        healing?.slotsLeft = count
        healing?.isBundled = count * Int64(phones.count { !$0.isDead }) > 150
        healing?.reportedAt = phones.map { _ in Int64.min / 2 }
        plan(.slot, in: 1 + dice.number(0...every - 1))
    }

    /// Those whose turn it is report; at the last slot everybody who lives.
    mutating func reportTogether() {
        guard var healing else { return }
        var items: [[BatchItem]] = backends.map { _ in [] }
        for number in phones.indices where !phones[number].isDead {
            let phone = phones[number]
            if phone.isPaused || phone.duty == "OFF_DUTY" && dice.chance(800) { continue }
            let due = healing.reportedAt[number] + calmInterval(phone.duty) - healing.slotEvery
            guard now >= due || healing.slotsLeft == 0 else { continue }
            healing.reportedAt[number] = now
            items[phone.backend].append(calmReport(number))
        }
        if healing.isBundled {
            let all = items.flatMap { $0 }
            let backend = Int(healing.slotsLeft) % backends.count
            if !all.isEmpty { arrive(Parcel(backend: backend, event: .batch(all))) }
        } else {
            for (backend, few) in items.enumerated() {
                for item in few {
                    let wait = healing.slotsLeft == 0 ? 0 : dice.number(0...healing.slotEvery / 8)
                    plan(.arrive(Parcel(backend: backend, event: .batch([item]))), in: wait)
                }
            }
        }
        if faults.has(.opinion), dice.chance(100) { opineTruly() }
        healing.slotsLeft -= 1
        self.healing = healing
        let isOver = healing.slotsLeft < 0
        plan(isOver ? .end : .slot, in: isOver ? 0 : healing.slotEvery)
    }

    private mutating func calmReport(_ number: Int) -> BatchItem {
        if phones[number].sequence < .max {
            phones[number].queue.append(
                StoryUpdate(sequence: phones[number].sequence, capturedAt: phoneClock(number)))
            phones[number].sequence += 1
        }
        var item = batch(of: number, phones[number].queue)
        phones[number].queue = []
        phones[number].reportedAt = now
        // After a reinstall without ids and with a wrong clock all updates may look old: then only
        // the backend's time proves contact (I4).
        // A new install may look like retries, which move nothing without a time (I4).
        let mayRepeat = faults.has(.reinstall) || phones[number].install > 1
        if backends[phones[number].backend].stamps || mayRepeat {
            item.receivedAt = clock(of: phones[number].backend)
        }
        return item
    }

    /// A backend declares what is so.
    private mutating func opineTruly() {
        let number = Int(dice.number(0...Int64(phones.count - 1)))
        let phone = phones[number]
        guard phone.isExpected else { return }
        let offline = policy.patience
        let isSilent = now - (phone.contactAt ?? 0) > offline * 2
        var item = TransitionItem(responderID: phone.id, from: "ONLINE", to: "OFFLINE")
        if !phone.isDead, phone.contactAt == now {
            item = TransitionItem(responderID: phone.id, from: "OFFLINE", to: "ONLINE", at: wall)
        } else if !phone.isDead || !isSilent {
            return
        }
        arrive(Parcel(backend: phone.backend, event: .transition([item])))
    }
}
