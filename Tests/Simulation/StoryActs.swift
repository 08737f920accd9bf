import RollcallTools

/// Somebody's word that they see to an incident. Source: R2.
struct StoryTake: Equatable {
    /// By the number of the firing; nobody needs to know that it is one.
    var incident: Int64
    /// By the wall.
    var until: Int64
}

/// Somebody's wish that a person reconnects. Source: R3.
struct StoryAsk: Equatable {
    var responderID: String
    /// The member of a circle who asks; nil for an operator.
    var by: String?

    /// The wish as the body of `POST /v1/nudges`.
    func json() -> String {
        let asker = by.map { [JSON.member("by", $0)] } ?? []
        return JSON.object([JSON.member("responder_id", responderID)] + asker)
    }
}

extension World {
    /// Draws up to five receivers. Some are told only of what nobody takes; and in some worlds somebody
    /// listens for the watchdog, which is an incident of its own.
    mutating func drawnReceivers() -> [StoryReceiver] {
        var receivers = StoryReceiver.drawn(&noticeDice)
        for place in receivers.indices where actDice.chance(300) {
            receivers[place].escalateAfter = actDice.pick([1, 5000, 60_000, 300_000, 600_000])
        }
        guard actDice.chance(120) else { return receivers }
        let matcher = StoryMatcher(label: "alertname", value: "Watchdog")
        receivers.append(
            StoryReceiver(
                name: "watch", isPager: false, matchers: [matcher], sendsResolved: true,
                repeatInterval: 60_000))
        return receivers
    }

    /// In most worlds people take incidents and ask for each other; in some somebody does not cease to.
    mutating func beginActing() {
        if actDice.chance(800) {
            plan(.acting, in: actDice.number(0...max(1, faultsEnd / 6)))
        }
        guard actDice.chance(400) else { return }
        let leaps = actDice.chance(600) ? actDice.number(8...12) : 0
        plan(
            .asking(phone: nil, leaps: leaps), in: actDice.number(0...max(1, faultsEnd * 2 / 3)))
    }

    /// Somebody does something, and the next is planned.
    mutating func actAgain() {
        guard healing == nil else { return }
        plan(.acting, in: actDice.number(1...max(1, faultsEnd / 10)))
        act()
    }

    /// Somebody acts at the very instant of something else, before it or behind.
    mutating func act(beside happening: Happening) {
        switch happening {
        case .resume, .storeWorks, .nudging, .telling, .once,
            .strike(.crash), .strike(.stop), .strike(.store), .strike(.suspend),
            .strike(.clockStep),
            .strike(.erase), .strike(.overload), .strike(.policy):
            if actDice.chance(120) { act() }
        default: break
        }
    }

    /// Somebody asks for one and the same person about once an hour; where there are leaps left the wall
    /// makes an hour of a moment.
    mutating func askAgain(for phone: Int?, leaps: Int64) {
        guard healing == nil else { return }
        guard isUp else { return plan(.asking(phone: phone, leaps: leaps), in: 1000) }
        let phone = phone ?? pickForAsk()
        let hour: Int64 = 3_600_000
        var pause = actDice.pick([hour, hour, hour, hour - 1, hour + 1, hour / 2])
        if leaps > 0, policy.nudges.minInterval > 1000 {
            // A leap freezes nudges for an interval (N2).
            var new = policy
            new.nudges.minInterval = 1000
            emit(.policy(new))
        }
        emit(.ask(StoryAsk(responderID: phones[phone].id)))
        mark("asked again and again")
        if leaps > 0 {
            emit(.clock(stepMilliseconds: hour))
            pause = actDice.pick([1000, 1000, 1001, 5000])
        }
        if leaps != 1 { plan(.asking(phone: phone, leaps: max(0, leaps - 1)), in: pause) }
    }

    private mutating func act() {
        guard healing == nil, isUp else { return }
        switch actDice.number(0...9) {
        case 0...3: takeSome()
        case 4: giveBackSome()
        case 5: actBlindly()
        case 6: askForMany()
        default: for _ in 0..<actDice.number(1...3) { ask(for: phones[pickForAsk()].id) }
        }
    }

    /// Draws somebody, rather one who is silent: of others nobody needs to know where they are.
    private mutating func pickForAsk() -> Int {
        let silent = phones.indices.filter { number in
            let phone = phones[number]
            return (phone.isDead || phone.isKilled || phone.isGhost) && phone.duty != "OFF_DUTY"
        }
        if !silent.isEmpty, actDice.chance(600) { return actDice.pick(silent) }
        return pickAnybody()
    }

    private mutating func pickAnybody() -> Int {
        Int(actDice.number(0...Int64(phones.count - 1)))
    }

    /// Draws a member who may ask for somebody: often one who is in a circle of theirs.
    private mutating func pickAsker(for id: String) -> String {
        if actDice.chance(60) { return "nobody" }
        let circles = phoneNumbers[id].flatMap { phones[$0].circles } ?? []
        let others = phones.filter { phone in
            phone.id != id && (phone.circles ?? []).contains { circles.contains($0) }
        }
        if !others.isEmpty, actDice.chance(700) { return actDice.pick(others).id }
        return phones[pickAnybody()].id
    }

    // MARK: - Takes

    /// Somebody takes what there may be: the world does not know what fires.
    private mutating func takeSome() {
        let first = actDice.number(-1...8)
        for incident in first...first + actDice.pick([0, 0, 2, 5]) {
            let length: Int64 = actDice.pick([
                0, -1, 1, 1000, 5000, 60_000, 60_000, 600_000, 600_000, 3_600_000, 43_200_000,
                43_200_001, actDice.number(1...max(1, faultsEnd / 3)),
            ])
            emit(.take(StoryTake(incident: incident, until: wall + length)))
        }
    }

    private mutating func giveBackSome() {
        let first = actDice.number(0...8)
        for incident in first...first + actDice.pick([0, 3, 5]) {
            emit(.giveBack(incident: incident))
        }
    }

    // MARK: - Asks

    /// An operator, a member who may share a circle, or an outsider asks for somebody.
    private mutating func ask(for id: String) {
        let id = actDice.chance(40) ? "nobody" : id
        guard actDice.chance(500) else {
            return emit(.ask(StoryAsk(responderID: id)))
        }
        let asker = pickAsker(for: id)
        let backend = phoneNumbers[asker].map { phones[$0].backend } ?? 0
        emit(
            .ask(StoryAsk(responderID: id, by: asker)),
            source: source(of: Parcel(backend: backend, event: .stop)))
    }

    /// An operator asks for more people than may be nudged in a second.
    private mutating func askForMany() {
        for phone in phones.prefix(8) { emit(.ask(StoryAsk(responderID: phone.id))) }
        mark("asked for many at once")
    }

    /// Nothing is stored for a while, in which people act.
    private mutating func actBlindly() {
        guard !host.isStoreFailing else { return }
        host.isStoreFailing = true
        emit(.store(isFailing: true))
        let length: Int64 = actDice.pick([0, 1000, 15_000, 60_000, policy.onDuty.offlineAfter])
        plan(.storeWorks, in: min(length, max(1, faultsEnd / 6)))
        takeSome()
        ask(for: phones[pickForAsk()].id)
        mark("people act in blindness")
    }
}
