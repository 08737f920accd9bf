import RollcallTools

/// One person with one phone. Its own life is true; what Rollcall hears of it is another matter.
struct Phone {
    /// Whether the app sends install ids.
    enum InstallIDs { case never, always, fromNextInstall }

    /// The person.
    var id: String
    /// The backend that its reports go to.
    var backend: Int
    /// Where the person works.
    var region: String
    /// The circles they belong to; nil is never sent.
    var circles: [String]?
    /// The system, sent or not.
    var platform: String?
    /// The true duty state.
    var duty = "ON_DUTY"
    /// The true state of sharing.
    var isPaused = false
    /// When the pause ends by itself, by the host's wall.
    var pausedUntil: Int64?
    /// What it could say of itself, and says.
    var condition = PhoneCondition()
    /// Whether every batch carries duty, region and sharing, or only the backend tells them.
    var sendsFacts = true

    /// How install ids are used.
    var installIDs = InstallIDs.never
    /// Installs so far.
    var install = 1
    /// The next update's number.
    var sequence: Int64 = 1
    /// How far the phone's clock is ahead.
    var clockOffset: Int64 = 0
    /// Milliseconds a minute by which its clock gains.
    var clockDrift: Int64 = 0
    /// Seconds that a phone promises at most.
    static let promiseMax: Int64 = 60
    /// Whether it tells when it will next report. Source: P5.
    var promises = false
    /// Tenths of the expected interval between reports.
    var slowness: Int64 = 10

    /// Updates that could not be sent yet.
    var queue: [StoryUpdate] = []
    /// Only the newest update gets through until then: the queue grows.
    var weakUntil: Int64 = 0
    /// No network until then.
    var tunnelUntil: Int64 = 0
    /// The next wait of the offline queue; zero if no retry is planned. It goes from 1 to 30 s.
    var backoff: Int64 = 0
    /// The app does not run.
    var isKilled = false
    /// Reports nothing until then, so that a deadline comes near.
    var mutedUntil: Int64 = 0
    /// Its app counts no updates (P4).
    var countsNothing = false
    /// Never reports again.
    var isDead = false
    /// Never had a phone: the backend's fancy.
    var isGhost = false

    /// Erased from Rollcall and not named since.
    var isErased = false
    /// Left out of the last roster, and nothing brings them back.
    var isRetired = false
    /// The newest contact that reached Rollcall, as it must understand it.
    var contactAt: Int64?
    /// When the phone last reported.
    var reportedAt: Int64?

    /// Whether the person is active, as far as the world knows (L1).
    var isExpected: Bool { duty != "OFF_DUTY" && !isPaused && !isErased && !isRetired }

    /// The person as a backend knows them.
    func fact() -> FactItem {
        FactItem(
            responderID: id, dutyState: duty, region: region, circles: circles,
            sharing: isPaused ? "paused" : "active", pausedUntil: isPaused ? pausedUntil : nil,
            platform: platform)
    }
}

extension World {
    /// Ids that need care in JSON and in ordering by bytes.
    private static let strangeIDs = [
        "r-1", "R-1", "r 2 \"two\"", "r\\3", "é-4", "日本-5", "r/6", "😀-7", "r-10", "z",
    ]

    /// Adds a person.
    mutating func enrol(_ number: Int, of size: Int) {
        var id = "r-\(number + 1)"
        if faults.seeksActivePeer, number < Self.strangeIDs.count { id = Self.strangeIDs[number] }
        var phone = Phone(
            id: id, backend: Int(dice.number(0...Int64(backends.count - 1))),
            region: dice.pick(regions))
        if dice.chance(400) { phone.circles = dice.pick([[], ["c-1"], ["c-1", "c-2"]]) }
        if dice.chance(700) { phone.platform = dice.pick(["ios", "android"]) }
        if dice.chance(400) { phone.duty = "ON_MISSION" }
        if dice.chance(60) { phone.duty = "OFF_DUTY" }
        phone.condition = .drawn(&dice, faults)
        phone.promises = faults.has(.cadence) && dice.chance(500)
        phone.sendsFacts = dice.chance(600)
        phone.countsNothing = dice.chance(200)
        phone.installIDs = dice.pick([.never, .never, .always, .fromNextInstall])
        phone.sequence = dice.pick([0, 1, 1, 4711, Int64.max - 5000])
        if faults.has(.driftingClock), dice.chance(300) {
            phone.clockDrift = dice.pick([-2000, -60, 60, 2000, 90_000])
            mark("drifting phone clock")
        }
        if faults.has(.ghost), number > 0, dice.chance(150) {
            phone.isGhost = true
            phone.isDead = true
            mark("somebody without a phone")
        }
        phoneNumbers[id] = phones.count
        phones.append(phone)
    }

    /// How long until the phone's next report.
    func interval(of number: Int) -> Int64 {
        max(1, policy.profile(phones[number].duty).expected * phones[number].slowness / 10)
    }

    /// The phone takes its location, queues it, and sends if it can. `again` if it is to do so for
    /// ever.
    mutating func report(_ number: Int, again: Bool = true) {
        let phone = phones[number]
        if phone.isDead || phone.isKilled { return }
        let jitter: Int64 = dice.pick([0, 0, 50, 150])
        let percent = 100 - jitter / 3 + dice.number(0...jitter)
        if again { plan(.report(phone: number), in: interval(of: number) * percent / 100) }
        if now < phone.mutedUntil { return }
        if phone.isPaused, dice.chance(800) { return }
        if phone.duty == "OFF_DUTY", dice.chance(800) { return }
        collect(number)
        if now < phone.weakUntil, now >= phone.tunnelUntil { return sendNewest(number) }
        if now < phone.tunnelUntil {
            if phone.backoff == 0 { wait(number) }
            return
        }
        send(number)
    }

    /// The offline queue tries again, later each time: 1, 2, 4 … 30 s.
    mutating func retry(_ number: Int) {
        let phone = phones[number]
        if phone.isDead || phone.isKilled || phone.backoff == 0 { return }
        if now < phone.tunnelUntil {
            wait(number)
        } else {
            send(number)
        }
    }

    private mutating func wait(_ number: Int) {
        let backoff = min(max(1000, phones[number].backoff * 2), 30_000)
        phones[number].backoff = backoff
        if backoff == 30_000 { mark("back-off at its longest") }
        plan(.retry(phone: number), in: backoff)
    }

    mutating func collect(_ number: Int) {
        let count = dice.pick([0, 1, 1, 1, 1, 1, 2, 3])
        for step in 0..<count where phones[number].sequence < .max {
            var update = StoryUpdate(sequence: phones[number].sequence)
            let isBare = faults.has(.bareUpdate) && dice.chance(150)
            if !isBare {
                update.capturedAt = phoneClock(number) - Int64(count - 1 - step) * 1000
            } else {
                mark("update without a location")
            }
            if faults.has(.cachedFix), dice.chance(200) {
                update.isCached = true
                mark("cached fix")
            }
            phones[number].sequence += 1
            phones[number].queue.append(update)
        }
        // A phone keeps only so much.
        if phones[number].queue.count > 90 {
            phones[number].queue.removeFirst()
            mark("offline queue overflowed")
        }
    }

    /// The phone's own clock.
    func phoneClock(_ number: Int) -> Int64 {
        trueWall + phones[number].clockOffset + phones[number].clockDrift * now / 60_000
    }

    /// Empties the queue: in one batch or in several, seldom the newest first.
    mutating func send(_ number: Int) {
        let queue = phones[number].queue
        phones[number].queue = []
        phones[number].backoff = 0
        phones[number].reportedAt = now
        guard queue.count > 3 else { return hand(batch(of: number, queue)) }
        mark("backlog")
        var chunks: [[StoryUpdate]] = [queue]
        if dice.chance(600) {
            let size = Int(dice.number(2...30))
            chunks = stride(from: 0, to: queue.count, by: size).map {
                Array(queue[$0..<min($0 + size, queue.count)])
            }
            mark("backlog in parts")
        }
        if dice.chance(250) {
            chunks.reverse()
            mark("backlog newest first")
        }
        for chunk in chunks { hand(batch(of: number, chunk)) }
    }

    /// What the phone says with `updates`.
    mutating func batch(of number: Int, _ updates: [StoryUpdate]) -> BatchItem {
        let phone = phones[number]
        var item = BatchItem(responderID: phone.id)
        item.updates = updates
        if phone.sendsFacts {
            item.dutyState = phone.duty
            item.sharing = phone.isPaused ? "paused" : "active"
            item.region = phone.region
            item.circles = phone.circles
            item.platform = phone.platform
        }
        say(number, in: &item)
        if phone.promises, dice.chance(700) {
            let seconds = interval(of: number) / 1000 + 1
            item.nextExpectedIn = min(
                Phone.promiseMax, seconds * dice.pick([1, 1, 2, 5, 20]) + dice.number(0...2))
            mark("promise")
        }
        let sendsIDs =
            switch phone.installIDs {
            case .never: false
            case .always: true
            case .fromNextInstall: phone.install > 1
            }
        if sendsIDs { item.installID = "\(phone.id)/\(phone.install)" }
        if phone.countsNothing { dropSequences(of: &item) }
        return item
    }

    /// The phone does not count its updates; one without a time is none then (P4).
    private mutating func dropSequences(of item: inout BatchItem) {
        item.updates.removeAll { $0.capturedAt == nil }
        // Now and then an app was updated just now: what waited has its sequence still.
        for index in item.updates.indices where !(faults.has(.bareUpdate) && dice.chance(30)) {
            item.updates[index].sequence = nil
            mark("update without a sequence")
        }
    }
}
