/// One phone and what Rollcall hears of it in a day. It reports honestly, and only what a phone can
/// know at that instant.
struct TruthPhone {
    private let person: TruthPerson
    private var dice: Dice
    /// The lines for `rollcall replay`, in no order.
    private(set) var lines: [(at: Int64, text: String)] = []

    private var sequence: Int64 = 1
    private var install = 1
    private var queue: [StoryUpdate] = []
    /// The app's state and until when.
    private var face = (word: "background", until: Int64.min)
    /// From 0 to 1, as of an instant.
    private var battery: (level: Double, at: Int64)
    private var isCharging = false
    /// The telemetry that episodes change.
    private var permission = "granted"
    private var services = true
    private var savesPower = false
    private var networkType = "cellular"

    /// The phone of `person`; `seed` draws what the plan leaves open.
    init(_ person: TruthPerson, seed: UInt64) {
        self.person = person
        dice = Dice(seed: seed)
        battery = (0.8, person.shifts.first?.lowerBound ?? TruthPlan.dawn)
        battery.level = Double(dice.number(55...100)) / 100
    }

    /// Lives the day.
    mutating func live() {
        var rest = person.episodes[...]
        for shift in person.shifts {
            tellDuty("ON_DUTY", shift.lowerBound)
            var now = shift.lowerBound + dice.number(1000...20_000)
            while now < shift.upperBound {
                let episode = rest.first
                if let episode, episode.begin <= now, episode.begin < shift.upperBound {
                    rest.removeFirst()
                    fallSilent(episode, shift)
                    now = episode.end + interval(episode.end)
                    if episode.cause == .offDutyToldLate { now += 10 * TruthPlan.minute }
                    continue
                }
                var next = now + pause(now)
                // A mission that begins is told by the phone at once.
                for mission in person.missions where (now..<next).contains(mission.lowerBound) {
                    next = max(now + 1000, mission.lowerBound + dice.number(500...4000))
                }
                look(now, episode)
                let isLast = episode.map { next >= $0.begin } ?? false
                report(now, episode, isLast: isLast)
                now = isLast ? min(next, episode?.begin ?? next) : next
            }
            tellDuty("OFF_DUTY", shift.upperBound)
        }
        for mission in person.missions {
            tellDuty("ON_MISSION", mission.lowerBound)
            tellDuty("ON_DUTY", mission.upperBound)
        }
    }

    // MARK: - Reports

    private func isOnMission(_ at: Int64) -> Bool { person.missions.contains { $0.contains(at) } }

    private func interval(_ at: Int64) -> Int64 { isOnMission(at) ? 15_000 : 60_000 }

    /// Until the next report: with jitter, and seldom so late that a deadline passes.
    private mutating func pause(_ at: Int64) -> Int64 {
        let usual = interval(at)
        let isLate = dice.chance(3)
        return usual * dice.number(85...108) / 100
            + (isLate ? usual * dice.number(50...110) / 100 : 0)
    }

    /// Where the app and the battery are at `now`, `episode` being the next silence.
    private mutating func look(_ now: Int64, _ episode: TruthEpisode?) {
        if now >= face.until {
            // Most of a shift the phone is in a pocket.
            let isUp = dice.chance(isOnMission(now) ? 500 : 150)
            face = (isUp ? "foreground" : "background", now + dice.number(2...25) * 60_000)
        }
        let hours = Double(now - battery.at) / Double(TruthPlan.hour)
        battery.level += hours * (isCharging ? 0.5 : -0.07)
        battery.at = now
        if battery.level < 0.2, dice.chance(30) { isCharging = true }
        if battery.level > 0.9 { isCharging = false }
        battery.level = min(max(battery.level, 0.06), 1)
        networkType = "cellular"
        if let episode, episode.begin - now < 40 * TruthPlan.minute { foretell(episode, now) }
        savesPower = person.alwaysSavesPower || battery.level < 0.2
        if let episode, episode.cause == .lowPower, episode.isTold,
            episode.begin - now < 4 * interval(now)
        {
            savesPower = true
        }
    }

    /// What leads to a silence shows before it.
    private mutating func foretell(_ episode: TruthEpisode, _ now: Int64) {
        let left = episode.begin - now
        if left < 3 * TruthPlan.minute {
            switch episode.cause {
            case .suspended, .killedInBackground: face = ("background", episode.begin + 1)
            case .killedInForeground: face = ("foreground", episode.begin + 1)
            default: break
            }
        }
        let dies = episode.cause == .batteryDied
        if dies || episode.twist == .batteryLow {
            isCharging = false
            let last = episode.twist == .diedEarly ? 0.12 : 0.02
            battery.level = min(
                battery.level, last + 0.3 * Double(left) / Double(40 * TruthPlan.minute))
        }
    }

    /// Takes a location and sends what waits.
    private mutating func report(_ now: Int64, _ episode: TruthEpisode?, isLast: Bool) {
        collect(now)
        guard let episode, episode.isTold, episode.cause == .tunnel || episode.cause == .deadZone
        else { return send(now) }
        if episode.cause == .deadZone {
            if isLast { networkType = "none" }
            return send(now)
        }
        // Coverage fades over the last four reports: less is sent than is taken.
        guard episode.begin - now < 4 * interval(now) else { return send(now) }
        collect(now)
        batch(now, [queue.removeFirst()])
    }

    private mutating func collect(_ now: Int64, isCached: Bool = false) {
        let captured = now + person.clockOffset - dice.number(0...2000)
        queue.append(StoryUpdate(sequence: sequence, capturedAt: captured, isCached: isCached))
        sequence += 1
    }

    private mutating func send(_ now: Int64) {
        let updates = queue
        queue = []
        batch(now, updates)
    }

    /// Empties a long queue: in pieces, seldom the newest first.
    private mutating func flush(_ now: Int64) {
        guard queue.count > 3, dice.chance(700) else { return send(now) }
        let size = Int(dice.number(3...30))
        var pieces = stride(from: 0, to: queue.count, by: size).map {
            Array(queue[$0..<min($0 + size, queue.count)])
        }
        if dice.chance(300) { pieces.reverse() }
        var at = now
        for piece in pieces {
            queue.removeAll { update in piece.contains { $0.sequence == update.sequence } }
            batch(at, piece)
            at += dice.number(200...3000)
        }
    }

    // MARK: - Silences

    private mutating func fallSilent(_ episode: TruthEpisode, _ shift: Range<Int64>) {
        switch episode.cause {
        case .tunnel, .deadZone, .massOutage: losesNetwork(episode)
        case .permissionRevoked, .locationServicesOff: mayNotLook(episode)
        case .lowPower: throttle(episode)
        case .offDutyTold, .offDutyToldLate:
            let isLate = episode.cause == .offDutyToldLate
            tellDuty("OFF_DUTY", isLate ? episode.end : episode.begin)
            let back = episode.end + (isLate ? 10 * TruthPlan.minute : 0)
            if back < shift.upperBound - 1000 {
                tellDuty("ON_DUTY", back)
                comeBack(back + 1000, episode)
            }
        case .reinstall:
            reinstall()
            if !episode.endsByDuty { comeBack(episode.end, episode) }
        case .neverStarted, .suspended, .killedInBackground, .killedInForeground, .crash,
            .batteryDied:
            if episode.twist == .updateWaiting { collect(episode.begin) }
            if episode.cause == .batteryDied {
                battery = (0.15, episode.end)
                isCharging = true
            }
            if !episode.endsByDuty { comeBack(episode.end, episode) }
        }
    }

    /// The app lives, takes locations and cannot send.
    private mutating func losesNetwork(_ episode: TruthEpisode) {
        var now = episode.begin
        while now < episode.end {
            collect(now, isCached: episode.twist == .withoutFix)
            now += pause(now)
        }
        if episode.twist == .reinstalled { reinstall() }
        if episode.endsByDuty { return }
        if episode.twist == .permissionLost {
            permission = "denied"
        } else {
            collect(episode.end)
        }
        // Most phones notice the network at once, others wait for their next attempt.
        look(episode.end, nil)
        flush(episode.end)
        permission = "granted"
    }

    /// Nothing is taken; if the app can, it says so first.
    private mutating func mayNotLook(_ episode: TruthEpisode) {
        func revoke(_ isRevoked: Bool) {
            if episode.cause == .permissionRevoked {
                permission = isRevoked ? "denied" : "granted"
            } else {
                services = !isRevoked
            }
        }
        revoke(true)
        if episode.isTold { batch(episode.begin, []) }
        if episode.endsByDuty { return revoke(false) }
        if episode.twist != .repaired {
            look(episode.end, nil)
            batch(episode.end, [])
            revoke(false)
            return comeBack(episode.end + dice.number(5000...50_000), episode)
        }
        revoke(false)
        comeBack(episode.end, episode)
    }

    /// Reports come, but rarely.
    private mutating func throttle(_ episode: TruthEpisode) {
        battery = (0.15, episode.begin)
        var now = episode.begin
        while true {
            now += interval(now) * dice.number(25...90) / 10
            if now >= episode.end { break }
            look(now, nil)
            savesPower = true
            collect(now)
            send(now)
        }
        isCharging = true
        if !episode.endsByDuty { comeBack(episode.end, episode) }
    }

    private mutating func comeBack(_ now: Int64, _ episode: TruthEpisode) {
        look(now, nil)
        // What the system last knew of the place, from inside the gap: old apps do not mark it.
        if episode.cause.stopsTheApp, dice.chance(120), episode.end > episode.begin {
            collect(dice.number(episode.begin...episode.end), isCached: person.app == .current)
        }
        collect(now)
        flush(now)
    }

    private mutating func reinstall() {
        install += 1
        sequence = 1
        queue = []
    }

    // MARK: - Lines

    /// The backend tells a change of duty, and who it is about.
    private mutating func tellDuty(_ duty: String, _ at: Int64) {
        let fact = FactItem(
            responderID: person.id, dutyState: duty, region: person.region,
            platform: person.platform)
        line(at, "responder", fact.json())
    }

    /// A request of the phone, forwarded by the backend.
    private mutating func batch(_ now: Int64, _ updates: [StoryUpdate]) {
        let received = now + dice.number(50...900)
        var members = [
            JSON.member("responder_id", person.id), "\"received_at\":" + JSON.time(received),
            JSON.member("platform", person.platform),
        ]
        if person.sendsInstallID {
            members.append(JSON.member("install_id", "\(person.id)/\(install)"))
        }
        if person.app == .current {
            let hundredths = Int((battery.level * 100).rounded())
            let text = hundredths < 10 ? "0.0\(hundredths)" : "0.\(hundredths)"
            members.append("\"battery_level\":" + (hundredths >= 100 ? "1" : text))
        }
        if person.app != .bare { members.append("\"telemetry\":" + telemetry()) }
        if !updates.isEmpty {
            members.append("\"updates\":" + JSON.array(updates.map { $0.json() }))
        }
        line(received + dice.number(5...100), "batch", JSON.object(members))
    }

    private mutating func telemetry() -> String {
        var members = [
            JSON.member("permission_status", permission), "\"location_services\":\(services)",
            JSON.member("power_mode", savesPower ? "low_power" : "normal"),
        ]
        if person.app == .current {
            // A healthy queue is now and then seen with an entry or two that came just now.
            let passing = queue.isEmpty && dice.chance(120) ? Int(dice.number(1...3)) : queue.count
            members.append(JSON.member("app_state", face.word))
            members.append("\"queue_depth\":\(passing)")
            members.append(JSON.member("network_type", networkType))
        }
        return JSON.object(members)
    }

    private mutating func line(_ at: Int64, _ kind: String, _ body: String) {
        let members = ["\"at\":" + JSON.time(at), JSON.member("kind", kind), "\"body\":" + body]
        lines.append((at, JSON.object(members)))
    }
}
