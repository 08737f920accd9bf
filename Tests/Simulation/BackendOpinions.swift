import RollcallTools

/// What backends claim and know: their own status transitions, facts, rosters, erasures.
extension World {
    /// What everybody was before they were that, by the model's own ladder.
    private static let better = ["ONLINE": "OFFLINE", "DEGRADED": "ONLINE", "OFFLINE": "DEGRADED"]

    /// A backend that is heard now, if there is one.
    private mutating func pickBackend() -> Int {
        let heard = backends.indices.filter { backends[$0].outageUntil <= now }
        return dice.pick(heard.isEmpty ? Array(backends.indices) : heard)
    }

    // MARK: - Transitions

    /// A backend declares somebody's status: agreeing, early, late or wrong. Source: L7.
    mutating func opine() {
        let backend = pickBackend()
        if dice.chance(200), let old = backends[backend].opinions.last {
            mark("transition retried")
            return deliver(old, from: backend)
        }
        var number = Int(dice.number(0...Int64(phones.count - 1)))
        if dice.chance(200), let unheard = phones.indices.first(where: { isUnheard($0) }) {
            number = unheard
            mark("transition of somebody never heard")
        }
        let items = [opinion(on: number, by: backend)]
        let event = StoryEvent.transition(items)
        if items[0].id != nil { backends[backend].opinions = [event] }
        deliver(event, from: backend)
    }

    private func isUnheard(_ number: Int) -> Bool { phones[number].contactAt == nil }

    private mutating func opinion(on number: Int, by backend: Int) -> TransitionItem {
        let phone = phones[number]
        let profile = policy.profile(phone.duty)
        let heard = phone.contactAt ?? now
        let clock = clock(of: backend)
        var item = TransitionItem(responderID: phone.id, from: "ONLINE", to: "OFFLINE")
        switch dice.number(0...6) {
        case 0:
            let isOffline = now - heard > profile.offlineAfter
            item.to = isOffline ? "OFFLINE" : "DEGRADED"
            let after = isOffline ? profile.offlineAfter : profile.degradedAfter
            item.at = min(clock, clock - (now - heard) + after)
            mark("transition agreeing")
        case 1, 2:
            item.to = dice.pick(["OFFLINE", "OFFLINE", "DEGRADED"])
            if dice.chance(500) { item.at = clock }
            mark("transition early")
        case 3:
            item.to = dice.pick(["OFFLINE", "DEGRADED"])
            // At the last contact itself, or before: changes nothing.
            item.at = clock - (now - heard) - dice.pick([0, 1, 1000, profile.degradedAfter])
            mark("transition late")
        case 4:
            item.to = "ONLINE"
            if dice.chance(600) { item.at = clock - dice.pick([0, 1000, profile.degradedAfter]) }
            mark("transition ONLINE")
        case 5:
            item.to = dice.pick(["UNKNOWN", "DEGRADED", "ONLINE"])
            mark("transition wrong")
        default:
            item.to = dice.pick(["OFFLINE", "ONLINE"])
            item.at = clock + dice.pick([1, 1000, 3_600_000])
            mark("transition from the future")
        }
        item.from = Self.better[item.to] ?? "ONLINE"
        if dice.chance(200) { item.from = dice.pick(["ONLINE", "DEGRADED", "OFFLINE", "UNKNOWN"]) }
        if dice.chance(500) { item.id = nextTransitionID() }
        return item
    }

    private mutating func nextTransitionID() -> String {
        transitionCount += 1
        return "t-\(transitionCount)"
    }

    /// The backend declares 20 and more worse although they were just heard. Source: L7.
    mutating func declareMass() {
        let backend = pickBackend()
        let chosen = phones.indices.filter { !phones[$0].isDead && !phones[$0].isErased }
        guard isUp, now >= backends[backend].outageUntil else { return }
        if dice.chance(700) {
            var items: [BatchItem] = []
            for number in chosen { items.append(batch(of: number, [])) }
            if !items.isEmpty { arrive(Parcel(backend: backend, event: .batch(items))) }
        }
        let to = dice.pick(["OFFLINE", "OFFLINE", "DEGRADED"])
        var declarations: [TransitionItem] = []
        for number in chosen {
            let id = dice.chance(300) ? nextTransitionID() : nil
            declarations.append(
                TransitionItem(responderID: phones[number].id, from: "ONLINE", to: to, id: id))
        }
        guard !declarations.isEmpty else { return }
        mark(declarations.count >= 20 ? "mass declaration" : "everybody declared")
        let cut = Int(dice.number(0...Int64(declarations.count)))
        let parts = [declarations[..<cut], declarations[cut...]]
        var wait: Int64 = dice.pick([0, 1, 1000])
        for part in parts where !part.isEmpty {
            deliver(.transition(Array(part)), from: backend, after: wait)
            wait += dice.pick([0, 1000, 30_000, 59_000, 60_000, 61_000])
        }
    }

    // MARK: - Facts

    /// Sends a fact, with its time or without.
    mutating func tell(_ fact: FactItem, from backend: Int) {
        var fact = fact
        if fact.at == nil, dice.chance(400) { fact.at = clock(of: backend) }
        deliver(.responder([fact]), from: backend)
    }

    /// The backend tells what it knows, now or late, or invents a duty.
    mutating func tellFact() {
        let backend = pickBackend()
        let number = Int(dice.number(0...Int64(phones.count - 1)))
        var fact = phones[number].fact()
        switch dice.number(0...4) {
        case 0:
            fact = FactItem(responderID: fact.responderID)
            mark("empty fact")
        case 1:
            fact.at = clock(of: backend) - dice.pick([1000, 59_999, 60_000, 60_001, 300_000])
            mark("fact of the past")
        case 2:
            fact.at = clock(of: backend) + dice.pick([1, 2001, 3_600_000])
            mark("fact from the future")
        case 3:
            // An order that the phone does not know of yet.
            phones[number].duty = dice.pick(["ON_DUTY", "ON_MISSION"])
            fact.dutyState = phones[number].duty
            mark("duty told by the backend")
        default: break
        }
        if dice.chance(150) {
            deliver(.responder(phones.indices.map { phones[$0].fact() }), from: backend)
            mark("facts about everybody")
        }
        tell(fact, from: backend)
    }

    /// A whole roster, complete or with people missing.
    mutating func sendRoster() {
        let backend = pickBackend()
        var entries: [FactItem] = []
        for number in phones.indices where !phones[number].isErased || dice.chance(200) {
            entries.append(
                dice.chance(700)
                    ? phones[number].fact() : FactItem(responderID: phones[number].id))
        }
        var allowsShrink = dice.chance(200)
        switch dice.number(0...5) {
        case 0:
            entries = Array(entries.dropFirst(Int(dice.number(1...5))))
            mark("roster shrunk a little")
        case 1:
            entries = Array(entries.suffix(entries.count * 2 / 5))
            allowsShrink = dice.chance(400)
            let active = phones.count { $0.duty != "OFF_DUTY" && !$0.isPaused && !$0.isErased }
            let isTooSmall = active - entries.count > 5 && active > entries.count * 2
            if isTooSmall { mark(allowsShrink ? "roster shrunk by permission" : "roster refused") }
        default: mark("roster complete")
        }
        if dice.chance(300) {
            sendParts(entries, allowsShrink: allowsShrink, from: backend)
        } else {
            deliver(.roster(entries, RosterNote(allowsShrink: allowsShrink)), from: backend)
        }
    }

    /// A roster in parts: some come late, are lost or come twice, and ids are used again.
    private mutating func sendParts(
        _ entries: [FactItem], allowsShrink: Bool, from backend: Int
    ) {
        mark("roster in parts")
        let id = dice.chance(100) ? "roster" : "roster-\(dice.number(0...99))"
        let size = max(1, entries.count / Int(dice.number(2...4)))
        var wait: Int64 = 0
        for start in stride(from: 0, to: entries.count, by: size) {
            let part = Array(entries[start..<min(start + size, entries.count)])
            let isLast = start + size >= entries.count
            if dice.chance(40), !isLast {
                mark("part of a roster lost")
                continue
            }
            if dice.chance(30) { wait += dice.number(590_000...610_000) }
            let note = RosterNote(allowsShrink: allowsShrink, id: id, hasMore: !isLast)
            deliver(.roster(part, note), from: backend, after: wait)
            if dice.chance(100) {
                mark("part of a roster repeated")
                deliver(.roster(part, note), from: backend, after: wait + dice.number(0...60_000))
            }
            wait += dice.number(0...5_000)
        }
    }

    /// Somebody is erased; their phone goes on; a fact may name them again (F17).
    mutating func eraseSomebody() {
        let number = pickPhone()
        let backend = pickBackend()
        deliver(.erase(responderID: phones[number].id), from: backend)
        mark("erased")
        if dice.chance(600) {
            let fact = phones[number].fact()
            deliver(.responder([fact]), from: backend, after: stretch(of: number))
            mark("named again after erasure")
        }
    }

    // MARK: - Deadlines

    /// Keeps somebody quiet until a deadline of theirs, to have something happen right there.
    mutating func seekEdge() {
        let number = pickPhone()
        let phone = phones[number]
        let profile = policy.profile(phone.duty)
        var from = max(phone.contactAt ?? now, host.sightAt)
        if dice.chance(150) { from = phone.contactAt ?? now }
        let after = dice.chance(500) ? profile.degradedAfter : profile.offlineAfter
        let at = from + after + dice.pick([-1, 0, 0, 0, 1])
        guard at > now else { return }
        phones[number].mutedUntil = at + 1
        phones[number].queue = []
        plan(.edge(phone: number), in: at - now)
    }

    /// Something happens at a deadline itself (F1).
    mutating func edge(_ number: Int) {
        guard isUp, healing == nil else { return }
        let backend = phones[number].backend
        mark("event at a deadline")
        switch dice.number(0...9) {
        case 0, 1, 2:
            guard !phones[number].isDead, phones[number].sequence < .max else { return }
            phones[number].mutedUntil = now
            var item = batch(of: number, [])
            item.updates = [StoryUpdate(sequence: phones[number].sequence, capturedAt: trueWall)]
            phones[number].sequence += 1
            phones[number].reportedAt = now
            if backends[backend].stamps { item.receivedAt = clock(of: backend) }
            arrive(Parcel(backend: backend, event: .batch([item])))
        case 3, 4:
            let items = [opinion(on: number, by: backend)]
            arrive(Parcel(backend: backend, event: .transition(items)))
        case 5: strikePhone(.dutyShift)
        case 6: changePolicy()
        case 7: failStore()
        case 8: dice.chance(500) ? crash() : stop()
        default:
            var fact = FactItem(responderID: phones[number].id)
            fact.pausedUntil = wall + policy.profile(phones[number].duty).degradedAfter
            arrive(Parcel(backend: backend, event: .responder([fact])))
        }
    }
}
