import RollcallTools

/// The machine that Rollcall runs on, and its disk.
struct Host {
    /// Why nothing is taken in.
    enum Absence { case stopped, suspended }

    /// Nil while Rollcall runs.
    var absence: Absence?
    /// What backends keep for later because nobody answers.
    var held: [Parcel] = []
    /// Backends keep what is not taken; otherwise it is lost.
    var isRetried = true
    /// Crashes to come in a loop.
    var crashesLeft: Int64 = 0
    /// Writes are refused until then.
    var overloadUntil: Int64 = 0
    /// How many of a thousand.
    var refusedPerMille: Int64 = 0
    /// The store does not take anything.
    var isStoreFailing = false
    /// When it last could see again.
    var sightAt: Int64 = 0
}

extension World {
    /// Lengths around what decides: 15 s for a grace, 10 s for a late turn (B1, B5).
    private mutating func absenceLength() -> Int64 {
        let length = dice.pick([
            0, 1, 1000, 3000, 9999, 10_000, 10_001, 14_999, 15_000, 15_001, 30_000, 90_000,
            policy.onDuty.offlineAfter, policy.onDuty.offlineAfter * 3, 3_600_000, 20_000_000,
        ])
        return min(length, max(30_000, faultsEnd / 4))
    }

    /// True while Rollcall takes writes.
    var isUp: Bool { host.absence == nil }

    /// Something reaches the machine: it is taken, refused, kept for later or lost.
    mutating func arrive(_ parcel: Parcel) {
        if !isUp {
            if host.isRetried { host.held.append(parcel) } else { mark("lost while down") }
            return
        }
        if now < host.overloadUntil, dice.chance(host.refusedPerMille) {
            emit(.refused(count: Int(dice.pick([1, 1, 2, 5]))))
            if dice.chance(700) { plan(.arrive(parcel), in: dice.number(1...20) * 1000) }
            mark("write refused")
            return
        }
        if host.isStoreFailing { mark("write while the store fails") }
        emit(parcel.event, source: source(of: parcel))
    }

    /// At the same instant something else arrives, so that the order within it matters.
    mutating func peers() {
        guard faults.seeksActivePeer, isUp, dice.chance(500) else { return }
        let number = pickPhone()
        guard !phones[number].isDead, !phones[number].isKilled else { return }
        var item = batch(of: number, [])
        phones[number].reportedAt = now
        if dice.chance(500) { item.receivedAt = clock(of: phones[number].backend) }
        arrive(Parcel(backend: phones[number].backend, event: .batch([item])))
        mark("company at a fault's instant")
    }

    // MARK: - Absence

    private mutating func leave(_ absence: Host.Absence, for length: Int64) {
        host.absence = absence
        host.isRetried = dice.chance(600)
        plan(.resume, in: length)
    }

    /// Rollcall is killed; a supervisor starts it again.
    mutating func crash() {
        guard isUp else { return }
        peers()
        let length = absenceLength()
        mark(length >= 600_000 ? "long down time" : length == 0 ? "restart at once" : "crash")
        leave(.stopped, for: length)
    }

    /// Several crashes within minutes: more than there are graces (B5).
    mutating func crashInLoop() {
        guard isUp else { return }
        host.crashesLeft = dice.number(3...6)
        mark("crash loop")
        leave(.stopped, for: dice.pick([15_000, 15_000, 16_000, 40_000]))
    }

    /// An orderly stop.
    mutating func stop() {
        guard isUp else { return }
        peers()
        emit(.stop)
        mark("clean stop")
        leave(.stopped, for: absenceLength())
    }

    /// The machine sleeps; the next turn is late.
    mutating func suspend() {
        guard isUp else { return }
        peers()
        let length = absenceLength()
        leave(.suspended, for: max(length, 10_000 - (now - lastLineAt)))
    }

    /// It runs again.
    mutating func resume() {
        guard let absence = host.absence else { return }
        host.absence = nil
        host.sightAt = now
        if absence == .stopped {
            emit(.start)
        } else {
            wakeUp()
        }
        let held = bundled(host.held)
        host.held = []
        if held.count > 1 { mark("flood after an absence") }
        if dice.chance(500) {
            for parcel in held { arrive(parcel) }
        } else {
            for parcel in held { plan(.arrive(parcel), in: dice.number(0...5000)) }
        }
        peers()
        guard host.crashesLeft > 0 else { return }
        host.crashesLeft -= 1
        let pause: Int64 = dice.pick([1, 2000, 10_000, policy.onDuty.degradedAfter])
        if healing == nil { plan(.once(.crash), in: pause) }
    }

    /// `parcels` as they are if they are few, else each backend's batches in one array.
    private func bundled(_ parcels: [Parcel]) -> [Parcel] {
        guard parcels.count > 30 else { return parcels }
        var items: [[BatchItem]] = backends.map { _ in [] }
        var others: [Parcel] = []
        for parcel in parcels {
            if case .batch(let more) = parcel.event {
                items[parcel.backend] += more
            } else {
                others.append(parcel)
            }
        }
        return items.enumerated().filter { !$0.element.isEmpty }
            .map { Parcel(backend: $0.offset, event: .batch($0.element)) } + others.suffix(20)
    }

    /// The first turn after a sleep, at the end of which it is 5 s late or more.
    private mutating func wakeUp() {
        let distance = now - lastLineAt
        if distance <= 10_000 {
            mark("suspension just too short")
            emit(.turn(lateMilliseconds: dice.chance(500) ? nil : max(0, distance - 5000)))
            return
        }
        mark("suspension")
        var late = distance - 5000
        if dice.chance(300) { late = dice.number(5001...late) }
        emit(.turn(lateMilliseconds: dice.chance(300) ? nil : late))
    }

    /// A turn in good time.
    mutating func turn() {
        guard isUp else { return }
        if now - lastLineAt <= 10_000 {
            emit(.turn(lateMilliseconds: nil))
        } else if dice.chance(150) {
            // Turns between, which a story leaves out, make this one punctual.
            emit(.turn(lateMilliseconds: dice.pick([0, 4999, 5000])))
            mark("punctual turn after a long distance")
        }
    }

    // MARK: - Disk, load, clock

    /// The disk is full, or worse.
    mutating func failStore() {
        guard isUp, !host.isStoreFailing else { return }
        peers()
        host.isStoreFailing = true
        emit(.store(isFailing: true))
        mark("store failing")
        peers()
        plan(.storeWorks, in: absenceLength())
    }

    /// The disk takes writes again, as far as Rollcall runs to see it.
    mutating func storeWorks() {
        guard host.isStoreFailing else { return }
        guard isUp else {
            mark("store works while Rollcall is down")
            return plan(.storeWorks, in: 1000)
        }
        peers()
        host.isStoreFailing = false
        host.sightAt = now
        emit(.store(isFailing: false))
        peers()
    }

    /// Writes are refused for our own reasons (B1).
    mutating func overload() {
        guard isUp else { return }
        host.overloadUntil = now + dice.pick([1000, 5000, 15_000, 15_001, 40_000])
        host.refusedPerMille = dice.pick([300, 500, 500, 900])
        emit(.refused(count: Int(dice.pick([1, 4, 5, 9, 10, 12, 40]))))
        mark("overload")
        peers()
    }

    /// The wall steps; only stamps may notice.
    mutating func stepClock() {
        guard isUp else { return }
        let size: Int64 = dice.pick([1, 500, 1999, 2000, 2001, 60_000, 3_600_000, 86_400_000])
        let back = dice.chance(500)
        peers()
        emit(.clock(stepMilliseconds: back ? -size : size))
        mark(back ? "clock stepped back" : "clock stepped forward")
        if size == 86_400_000 { mark("clock a day off") }
        peers()
    }
}
