import RollcallTools

/// What a phone could say of itself, and what of it reaches the backend.
struct PhoneCondition {
    /// How much a phone tells.
    enum Habit { case nothing, power, some, all }

    /// How much of it is sent.
    var habit = Habit.nothing
    var savesPower = false
    var isDenied = false
    var areServicesOff = false
    var isInBackground = false
    var network = "cellular"
    /// Ten-thousandths; nil is never sent.
    var battery: Int?
    /// What it said last.
    var said = StoryTelemetry()

    /// Draws how talkative a phone is.
    static func drawn(_ dice: inout Dice, _ faults: WorldFaults) -> PhoneCondition {
        var condition = PhoneCondition()
        condition.habit = dice.pick([.nothing, .power, .some, .all])
        if faults.has(.telemetry) { condition.habit = dice.pick([.some, .all]) }
        if dice.chance(500) { condition.battery = Int(dice.number(400...10_000)) }
        condition.isInBackground = dice.chance(500)
        return condition
    }

    /// What a phone with `depth` updates in its queue says; `isHeard` draws what is left out.
    func telemetry(depth: Int, _ dice: inout Dice) -> StoryTelemetry {
        var telemetry = StoryTelemetry()
        if habit == .nothing { return telemetry }
        telemetry.powerMode = savesPower ? "low_power" : "normal"
        if habit == .power { return telemetry }
        let behind = dice.pick(["background", "background", "suspended", "terminated"])
        telemetry.permissionStatus = isDenied ? "denied" : "granted"
        telemetry.locationServices = !areServicesOff
        telemetry.appState = isInBackground ? behind : "foreground"
        telemetry.networkType = network
        telemetry.queueDepth = depth
        guard habit == .some else { return telemetry }
        if dice.chance(400) { telemetry.permissionStatus = nil }
        if dice.chance(400) { telemetry.locationServices = nil }
        if dice.chance(400) { telemetry.powerMode = nil }
        if dice.chance(400) { telemetry.appState = nil }
        if dice.chance(400) { telemetry.networkType = nil }
        if dice.chance(200) { telemetry.queueDepth = nil }
        return telemetry
    }
}

/// In which way a silent phone returns.
enum Comeback: CaseIterable {
    /// With all that it collected, in pieces and out of order.
    case inPieces
    /// With a batch without updates; what it collected comes later, or never.
    case empty
    /// The system had stopped it: nothing was collected.
    case stopped
    /// As another install.
    case reinstalled
    /// Only the server says that it is back.
    case byServer
    /// After the person went off duty.
    case afterDuty
    /// For a moment only.
    case forAMoment
    /// And then Rollcall is blind or down when the verdict is due.
    case beforeBlindness
    /// It says what silenced it.
    case confessing
}

extension World {
    /// What the phone says of itself, truly or not, with `item`.
    mutating func say(_ number: Int, in item: inout BatchItem) {
        let condition = phones[number].condition
        let depth = phones[number].queue.count
        var telemetry = condition.telemetry(depth: depth, &dice)
        if faults.has(.telemetry) {
            switch dice.number(0...29) {
            case 0:
                telemetry = condition.said
                mark("stale telemetry")
            case 1:
                telemetry = StoryTelemetry()
                mark("telemetry left out")
            case 2:
                telemetry.permissionStatus = dice.pick(["granted", "denied"])
                telemetry.locationServices = dice.chance(700)
                telemetry.queueDepth = Int(dice.number(0...9))
                mark("wrong telemetry")
            case 3:
                telemetry = StoryTelemetry(queueDepth: depth)
                mark("telemetry of one member")
            default: break
            }
        }
        phones[number].condition.said = telemetry
        item.telemetry = telemetry
        if let battery = condition.battery, dice.chance(800) { item.battery = battery }
    }

    /// Something becomes wrong with a phone, or right again, and mostly it goes silent soon.
    mutating func ail(_ number: Int, _ fault: Fault) {
        let isWell: Bool
        switch fault {
        case .permission:
            phones[number].condition.isDenied.toggle()
            isWell = !phones[number].condition.isDenied
            mark(isWell ? "permission granted again" : "permission revoked")
        case .services:
            phones[number].condition.areServicesOff.toggle()
            isWell = !phones[number].condition.areServicesOff
            mark(isWell ? "location services on again" : "location services off")
        case .drain:
            let level = Int(dice.pick([499, 500, 501, 100, 9000]))
            phones[number].condition.battery = level
            isWell = level > 1000
            mark(isWell ? "battery charged" : "battery nearly empty")
        case .weakNetwork:
            phones[number].weakUntil = now + interval(of: number) * dice.number(3...6)
            phones[number].condition.network = "cellular"
            phones[number].tunnelUntil = phones[number].weakUntil + 1
            mark("weak network")
            return weaken(number)
        default:
            phones[number].condition.isInBackground.toggle()
            isWell = !phones[number].condition.isInBackground
        }
        guard isRunning(number) else { return }
        if dice.chance(700) { report(number, again: false) }
        guard !isWell, dice.chance(600) else { return }
        phones[number].mutedUntil = now + stretch(of: number)
    }

    /// Before a tunnel the network is weak: what gets through tells of a queue that grows.
    private mutating func weaken(_ number: Int) {
        guard isRunning(number) || phones[number].tunnelUntil > now else { return }
        phones[number].tunnelUntil = phones[number].weakUntil + stretch(of: number)
        for _ in 0..<dice.number(2...4) {
            collect(number)
            collect(number)
            sendNewest(number)
        }
    }

    /// Sends the newest update alone; the others stay in the queue.
    mutating func sendNewest(_ number: Int) {
        guard let newest = phones[number].queue.popLast() else { return }
        var item = batch(of: number, [newest])
        if dice.chance(300) { item.telemetry.networkType = "none" }
        phones[number].reportedAt = now
        hand(item)
    }

    /// A cell fails: everybody in the region is without network, or is asleep.
    mutating func cutOffRegion(of number: Int) {
        let length = stretch(of: number)
        let region = phones[number].region
        var count = 0
        for other in phones.indices where phones[other].region == region && !phones[other].isDead {
            if dice.chance(150) { continue }
            count += 1
            if dice.chance(700) {
                phones[other].tunnelUntil = now + length
            } else {
                phones[other].mutedUntil = now + length
            }
        }
        mark(count >= 5 ? "five and more cut off" : "region cut off")
    }

    // MARK: - Silence and return

    /// Somebody is silent beyond a threshold and returns in a way that matters to a verdict.
    mutating func fallSilent(_ number: Int) {
        guard isRunning(number), phones[number].mutedUntil <= now else { return }
        let profile = policy.profile(phones[number].duty)
        let isLong = dice.chance(850)
        let after = isLong ? profile.offlineAfter : profile.degradedAfter
        let length = after + dice.number(1...max(2, profile.expected))
        let way = dice.pick(Comeback.allCases)
        report(number, again: false)
        phones[number].mutedUntil = now + length + 1
        plan(.comeback(phone: number, way: way), in: length)
        if way == .afterDuty, dice.chance(700) {
            phones[number].duty = "OFF_DUTY"
            tell(phones[number].fact(), from: phones[number].backend)
        }
    }

    /// The phone is back.
    mutating func comeBack(_ number: Int, _ way: Comeback) {
        guard healing == nil, isRunning(number) else { return }
        mark("return \(way)")
        phones[number].mutedUntil = now
        let backend = phones[number].backend
        switch way {
        case .inPieces: returnInPieces(number)
        case .empty:
            hand(batch(of: number, []))
            if dice.chance(700) {
                let wait: Int64 = dice.pick([1, 1000, 60_000, 119_999, 120_000, 120_001])
                plan(.remains(phone: number, collected(number)), in: wait)
            }
        case .stopped: report(number, again: false)
        case .reinstalled:
            phones[number].install += 1
            phones[number].queue = []
            phones[number].sequence = dice.pick([0, 1])
            report(number, again: false)
        case .byServer:
            let at: Int64? = dice.chance(500) ? clock(of: backend) : nil
            let item = TransitionItem(
                responderID: phones[number].id, from: "OFFLINE", to: "ONLINE", at: at)
            deliver(.transition([item]), from: backend)
            if dice.chance(500) { returnInPieces(number) }
        case .afterDuty:
            if phones[number].duty == "OFF_DUTY" { phones[number].duty = "ON_DUTY" }
            tell(phones[number].fact(), from: backend)
            report(number, again: false)
        case .forAMoment:
            report(number, again: false)
            let profile = policy.profile(phones[number].duty)
            phones[number].mutedUntil = now + profile.offlineAfter + profile.expected
        case .beforeBlindness:
            report(number, again: false)
            let length: Int64 = dice.pick([119_000, 119_999, 120_000, 110_000, 60_000])
            plan(.once(dice.pick([.store, .crash, .stop, .suspend, .outage])), in: length)
        case .confessing:
            phones[number].condition.habit = .all
            phones[number].condition.isDenied = dice.chance(500)
            phones[number].condition.areServicesOff = !phones[number].condition.isDenied
            report(number, again: false)
            phones[number].condition.isDenied = false
            phones[number].condition.areServicesOff = false
        }
    }

    /// Updates captured since the phone last reported, some cached or by a wrong clock.
    private mutating func collected(_ number: Int) -> [StoryUpdate] {
        let silence = now - (phones[number].reportedAt ?? now)
        let count = dice.number(1...6)
        guard phones[number].sequence < Int64.max - count else { return [] }
        let clock = phoneClock(number)
        // All of one kind is what decides; a mixture shows only the strongest.
        let kind = dice.number(0...4)
        var updates: [StoryUpdate] = []
        for step in 0..<count {
            var update = StoryUpdate(sequence: phones[number].sequence)
            let captured = clock - silence * (count - step) / (count + 1)
            update.capturedAt = captured
            switch kind {
            case 0: update.isCached = true
            case 1: update.capturedAt = nil
            case 2: update.capturedAt = captured + 3_600_000
            case 3:
                // At the last contact, or an expected interval before the return, or beside them.
                let expected = policy.profile(phones[number].duty).expected
                let edge = dice.chance(500) ? clock - silence : clock - expected
                update.capturedAt = edge + dice.number(-1...1)
            default: break
            }
            phones[number].sequence += 1
            updates.append(update)
        }
        mark("backlog of kind \(kind)")
        return updates
    }

    private mutating func returnInPieces(_ number: Int) {
        let updates = collected(number)
        phones[number].reportedAt = now
        let size = Int(dice.number(1...3))
        var pieces = stride(from: 0, to: updates.count, by: size).map {
            Array(updates[$0..<min($0 + size, updates.count)])
        }
        if dice.chance(300) { pieces.reverse() }
        var wait: Int64 = 0
        for piece in pieces {
            if wait == 0 {
                hand(batch(of: number, piece))
            } else {
                plan(.remains(phone: number, piece), in: wait)
            }
            if dice.chance(500) { wait += dice.pick([1, 1000, 30_000, 119_000]) }
        }
    }
}
