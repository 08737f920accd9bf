import RollcallTools

/// One backend instance, which forwards what phones send and has opinions of its own.
struct Backend {
    /// Its name as a source; nil is `default`.
    var name: String?
    /// Sets `received_at`.
    var stamps = true
    /// How long it takes to forward, milliseconds.
    var delay: Int64 = 0
    /// How far its clock is ahead.
    var clockOffset: Int64 = 0
    /// Says when it sends, so that its clock is measured.
    var tellsItsClock = false
    /// Forwards everything of so long at once; zero forwards each at once.
    var buffersFor: Int64 = 0
    /// Cut off until then.
    var outageUntil: Int64 = 0
    /// What comes while it is cut off is lost.
    var losesInOutage = false
    /// Batches held back.
    var held: [BatchItem] = []
    /// Seconds between its heartbeats; nil sends none.
    var beatsEvery: Int?
    /// True while Rollcall waits for its beats.
    var isArmed = false
    /// The last named transitions, for retries.
    var opinions: [StoryEvent] = []
}

extension World {
    /// One to three backends with their habits.
    mutating func makeBackends() {
        let names = ["a", "b", "backend-3"]
        for number in 0..<Int(dice.number(1...3)) {
            var backend = Backend(name: number == 0 && dice.chance(500) ? nil : names[number])
            backend.stamps = dice.chance(650)
            backend.delay = dice.pick([0, 0, 20, 150, 700])
            if faults.has(.delay) { backend.delay = dice.pick([0, 150, 1000, 4000]) }
            if faults.has(.buffer), dice.chance(600) {
                backend.buffersFor = dice.pick([500, 2000, 10_000, policy.onDuty.degradedAfter])
            }
            if faults.has(.backendSkew), dice.chance(600) {
                backend.clockOffset = dice.pick([-1500, -200, 300, 1999, 2000, 2001, 5000])
                mark("backend clock skewed")
                backend.tellsItsClock = clockDice.chance(700)
                if backend.tellsItsClock, clockDice.chance(400) {
                    backend.clockOffset = clockDice.pick([40_000, 299_000, 400_000, -2500])
                }
            }
            backends.append(backend)
        }
    }

    /// Rollcall's answer to a source is its own; the others are numbered.
    private func source(_ backend: Int) -> String? { backends[backend].name }

    /// The backend's clock.
    func clock(of backend: Int) -> Int64 {
        (faults.backendsFollowHost ? wall : trueWall) + backends[backend].clockOffset
    }

    // MARK: - Forwarding

    /// A backend hears a phone.
    mutating func hand(_ item: BatchItem) {
        let number = phones[phoneNumbers[item.responderID] ?? 0].backend
        let backend = backends[number]
        var item = item
        if backend.stamps || backend.buffersFor > 0 && dice.chance(900) {
            item.receivedAt = clock(of: number)
        }
        if now < backend.outageUntil {
            if backend.losesInOutage {
                mark("batch lost in an outage")
            } else {
                backends[number].held.append(item)
            }
            return
        }
        if backend.buffersFor > 0, healing == nil {
            backends[number].held.append(item)
            if backends[number].held.count == 1 {
                plan(.flush(backend: number), in: backend.buffersFor)
            }
            return
        }
        deliver(.batch([item]), from: number)
        if faults.has(.duplicate), dice.chance(100) {
            deliver(.batch([item]), from: number, after: dice.number(1...120) * 1000)
            mark("duplicate")
        }
        if faults.has(.stuckForwarder), dice.chance(100) {
            item.receivedAt = nil
            for _ in 0..<dice.number(1...4) {
                deliver(.batch([item]), from: number, after: dice.number(1...60) * 1000)
            }
            mark("stuck forwarder")
        }
    }

    /// Sends `event` to the host, through delays and outages.
    mutating func deliver(_ event: StoryEvent, from number: Int, after wait: Int64 = 0) {
        let backend = backends[number]
        var delay = wait + backend.delay * dice.number(50...150) / 100
        if faults.has(.delay), healing == nil, dice.chance(80) {
            delay += dice.number(0...3) * policy.onDuty.degradedAfter / 2
            mark("delayed and overtaken")
        }
        delay = max(delay, backend.outageUntil - now)
        let parcel = Parcel(backend: number, event: event)
        if delay <= 0 { arrive(parcel) } else { plan(.arrive(parcel), in: delay) }
    }

    /// What was held back goes out, in one array or one by one.
    mutating func flush(_ number: Int) {
        guard now >= backends[number].outageUntil else { return }
        var held = backends[number].held
        backends[number].held = []
        guard !held.isEmpty else { return }
        if held.count > 3, dice.chance(200) {
            held.reverse()
            mark("flushed newest first")
        }
        if held.count > 20 || dice.chance(800) {
            if held.count > 1 { mark("several batches in one array") }
            arrive(Parcel(backend: number, event: .batch(held)))
        } else {
            for item in held { arrive(Parcel(backend: number, event: .batch([item]))) }
        }
    }

    /// One backend is cut off, or all are.
    mutating func loseBackend() {
        let loses = dice.chance(300)
        let everybody = dice.chance(500)
        let chosen = Int(dice.number(0...Int64(backends.count - 1)))
        for number in backends.indices where everybody || number == chosen {
            var length = dice.pick([5000, 15_000, 40_000, 120_000, policy.onDuty.offlineAfter * 2])
            if let every = backends[number].beatsEvery, dice.chance(600) {
                // Missing 2.5 beats and what lies beside it (B2).
                length = Int64(every) * dice.pick([2500, 3000, 8000, 40_000]) + dice.number(-1...1)
                length = min(length, faultsEnd / 3)
                mark("heartbeats missing")
                if !everybody, backends.count > 1, dice.chance(250) {
                    // Disarmed by itself while another one beats (B2).
                    length = dice.pick([890_000, 900_000, 1_000_000]) + Int64(every) * 2500
                    mark("source missing for 15 minutes")
                }
            }
            backends[number].outageUntil = now + length
            backends[number].losesInOutage = loses
            plan(.flush(backend: number), in: length + 1)
        }
        mark(everybody ? "all backends cut off" : "backend cut off")
    }

    // MARK: - Heartbeats

    /// The heartbeats of those that send any begin.
    mutating func beginBeating() {
        guard faults.has(.heartbeat) else { return }
        for number in backends.indices where dice.chance(700) {
            // No more lines of beats than of batches.
            let least = faultsEnd / 1000 / 40
            let every = max(dice.pick([1, 2, 5, 10, 30]), least)
            backends[number].beatsEvery = Int(min(3600, max(1, every)))
            plan(.beat(backend: number), in: dice.number(0...faultsEnd / 10))
        }
    }

    /// A heartbeat, kept or changed.
    mutating func beat(_ number: Int) {
        guard var every = backends[number].beatsEvery else { return }
        if healing == nil {
            switch dice.number(0...49) {
            case 0:
                send(beat: 0, number)
                mark("heartbeat disarmed")
                plan(.beat(backend: number), in: faultsEnd / 8)
                return
            case 1:
                every = Int(min(3600, max(1, Int64(every) * dice.pick([5, 15, 30]) / 10)))
                backends[number].beatsEvery = every
                mark("heartbeat interval changed")
            case 2, 3:
                plan(
                    .beat(backend: number), in: Int64(every) * dice.pick([2499, 2500, 2501, 9000]))
                mark("beats skipped")
                return
            default: break
            }
        }
        if backends.count(where: { $0.isArmed }) > 1 { mark("several sources beat") }
        send(beat: every, number)
        plan(.beat(backend: number), in: Int64(every) * 1000)
    }

    /// Sends one heartbeat, unless the backend is cut off.
    mutating func send(beat every: Int, _ number: Int) {
        guard now >= backends[number].outageUntil, isUp else { return }
        backends[number].isArmed = every > 0
        if dice.chance(150) { peers() }
        arrive(Parcel(backend: number, event: .heartbeat(everySeconds: every)))
        if dice.chance(150) { peers() }
    }

    /// The name that the host sees on a parcel.
    func source(of parcel: Parcel) -> String? { source(parcel.backend) }
}
