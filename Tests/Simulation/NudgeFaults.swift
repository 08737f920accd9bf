import RollcallTools

/// What nudges depend on: settings, tokens, circles, company, the wall. Source: Contract/Nudges.
extension World {
    /// Rules that fit the settings in force.
    mutating func drawnNudges(_ policy: StoryPolicy) -> StoryNudges {
        var nudges = StoryNudges.drawn(&nudgeDice, policy)
        if faults.usesWholeSeconds { nudges.roundToSeconds() }
        return nudges
    }

    /// In most worlds something happens to nudges again and again; some know it from the start.
    mutating func beginNudging() {
        guard nudgeDice.chance(850) else { return }
        if nudgeDice.chance(500) {
            let facts = phones.indices.filter { _ in nudgeDice.chance(600) }.map { number in
                FactItem(responderID: phones[number].id, pushToken: "token \(number)")
            }
            if !facts.isEmpty { emit(.responder(facts)) }
        }
        plan(.nudging, in: nudgeDice.number(0...max(1, faultsEnd / 5)))
    }

    /// One thing changes, and the next is planned.
    mutating func changeNudges() {
        guard healing == nil else { return }
        plan(.nudging, in: nudgeDice.number(1...max(1, faultsEnd / 8)))
        guard isUp else { return }
        switch nudgeDice.number(0...9) {
        case 0, 1: changeNudgeRules()
        case 2: tellToken()
        case 3, 4: changeCircles()
        case 5, 6: changePeers()
        case 7: stepWall()
        case 8: changeBlindly()
        default: sendOldLocation()
        }
    }

    private mutating func pickForNudges() -> Int {
        Int(nudgeDice.number(0...Int64(phones.count - 1)))
    }

    /// The operator changes who is nudged when, and nothing else.
    private mutating func changeNudgeRules() {
        var new = policy
        for part in 0...3 where nudgeDice.chance(400) { new.nudges.draw(part, &nudgeDice, new) }
        if faults.usesWholeSeconds { new.nudges.roundToSeconds() }
        guard new.nudges != policy.nudges else { return }
        if (new.nudges.mode == .disabled) != (policy.nudges.mode == .disabled) {
            mark("nudges switched on or off")
        }
        if new.nudges.mode != policy.nudges.mode { mark("nudge mode changed") }
        emit(.policy(new))
        mark("nudge rules changed")
    }

    /// A phone has a token, or another one.
    private mutating func tellToken() {
        let number = pickForNudges()
        let token = "token \(number)-\(nudgeDice.number(0...9))"
        emit(.responder([FactItem(responderID: phones[number].id, pushToken: token)]))
        mark("push token told")
    }

    /// Somebody belongs to other circles now.
    private mutating func changeCircles() {
        let number = pickForNudges()
        phones[number].circles = nudgeDice.pick([
            [], ["c-1"], ["c-1", "c-2"], ["c-2"], ["alone \(number)"], ["alone \(number)", "c-1"],
        ])
        emit(
            .responder([
                FactItem(responderID: phones[number].id, circles: phones[number].circles)
            ]))
        mark("circles changed")
    }

    /// All but one of a region go home, or one who went comes back.
    private mutating func changePeers() {
        let number = pickForNudges()
        let others = phones.indices.filter {
            $0 != number && phones[$0].region == phones[number].region && !phones[$0].isErased
        }
        guard !others.isEmpty else { return }
        if nudgeDice.chance(500), others.count <= 8 {
            for other in others { phones[other].duty = "OFF_DUTY" }
            emit(.responder(others.map { duty(of: $0) }))
            mark("somebody is left alone")
        } else {
            let other = nudgeDice.pick(others)
            phones[other].duty = phones[other].duty == "OFF_DUTY" ? "ON_DUTY" : "OFF_DUTY"
            emit(.responder([duty(of: other)]))
            mark("company comes or goes")
        }
    }

    private func duty(of number: Int) -> FactItem {
        FactItem(responderID: phones[number].id, dutyState: phones[number].duty)
    }

    /// The wall steps around the limit from which nudges freeze (N2).
    private mutating func stepWall() {
        let step: Int64 = nudgeDice.pick([
            1000, 59_999, 60_000, 60_001, 120_000, 600_000, -1000, -60_001, -600_000,
        ])
        emit(.clock(stepMilliseconds: step))
        mark(step > 60_000 ? "a step that freezes nudges" : "a step that freezes nothing")
    }

    /// Nothing is stored for a while, in which something changes (F32).
    private mutating func changeBlindly() {
        guard !host.isStoreFailing else { return }
        host.isStoreFailing = true
        emit(.store(isFailing: true))
        let length: Int64 = nudgeDice.pick([
            1, 5000, 14_999, 15_000, 15_001, 60_000, policy.onDuty.offlineAfter,
        ])
        plan(.storeWorks, in: min(length, max(1, faultsEnd / 6)))
        for _ in 0..<nudgeDice.number(1...3) {
            switch nudgeDice.number(0...4) {
            case 0: changeNudgeRules()
            case 1: tellToken()
            case 2: changeCircles()
            case 3: changePeers()
            default: sendOldLocation()
            }
        }
        mark("changes that nudges depend on in blindness")
    }

    /// A location that is too old when it comes, or so new that it arms the switch anew.
    private mutating func sendOldLocation() {
        let number = pickForNudges()
        guard !phones[number].isDead, !phones[number].isKilled else { return }
        let ages: [Int64] = [
            0, 1000, policy.nudges.staleAfter - 1, policy.nudges.staleAfter,
            policy.nudges.staleAfter + 1, policy.nudges.staleAfter * 2,
        ]
        guard phones[number].sequence < .max else { return }
        let update = StoryUpdate(
            sequence: phones[number].sequence, capturedAt: wall - nudgeDice.pick(ages))
        phones[number].sequence += 1
        phones[number].reportedAt = now
        emit(.batch([batch(of: number, [update])]), source: source(of: number))
        mark("an old location")
    }

    private func source(of number: Int) -> String? {
        source(of: Parcel(backend: phones[number].backend, event: .turn(lateMilliseconds: nil)))
    }
}
