import RollcallCore

/// One phone and what Rollcall hears of it. It reports honestly, and only what a phone can know at
/// that instant. It lives piece by piece: what is not told yet need not be remembered.
struct FleetPhone: Sendable {
    let person: FleetPerson
    var dice: Dice
    /// The reports that it made and nobody took yet; nothing to come is earlier than `now`.
    private(set) var reports: [FleetReport] = []
    private(set) var gaps: [FleetGap] = []
    /// The instant that it has come to.
    private(set) var now: Int64 = 0

    // Its day
    private var nextDay: Int64 = 0
    private var shiftsLeft: ArraySlice<Range<Int64>> = []
    private var missions: [Range<Int64>] = []
    private var episodes: ArraySlice<FleetEpisode> = []
    var shift: Range<Int64> = 0..<0

    // Its state
    var handset = FleetHandset()
    /// The app's state and until when.
    var face = (isUp: false, until: Int64.min)
    private var motion = (isMoving: false, until: Int64.min)
    /// From 0 to 1, as of an instant.
    var battery: (level: Double, at: Int64)
    var isCharging = false
    /// The instant at which it was heard last, or its duty began.
    private var heardAt: Int64 = 0
    /// The silence that it is in, once it is in one.
    private var gap: (cause: FleetCause, isReported: Bool, from: Int64)?

    /// The phone of a person of `plan`.
    init(_ number: Int, of plan: FleetPlan) {
        person = plan.person(number)
        dice = plan.dice(ofPhone: number)
        battery = (Double(dice.number(55...100)) / 100, plan.settings.start.milliseconds)
    }

    /// Lives until nothing that comes before `limit` is missing.
    mutating func live(until limit: Int64, _ plan: FleetPlan) {
        while now < limit {
            if now >= shift.upperBound {
                beginShift(plan)
            } else {
                step()
            }
        }
    }

    /// Takes over what happens before `limit`, and what was lived of silence.
    mutating func take(
        before limit: Int64, into taken: inout [FleetReport], _ lived: inout [FleetGap]
    ) {
        lived += gaps
        gaps.removeAll()
        guard !reports.isEmpty else { return }
        var left: [FleetReport] = []
        for report in reports {
            if report.at < limit { taken.append(report) } else { left.append(report) }
        }
        reports = left
    }

    // MARK: - Shifts

    private mutating func beginShift(_ plan: FleetPlan) {
        while shiftsLeft.isEmpty {
            guard nextDay < plan.settings.days else {
                now = .max
                return
            }
            let day = plan.day(nextDay, of: person)
            shiftsLeft = day.shifts[...]
            missions = day.missions
            episodes = day.episodes[...]
            nextDay += 1
        }
        shift = shiftsLeft.removeFirst()
        if shift.lowerBound > battery.at + 4 * FleetPlan.hour {
            battery = (Double(dice.number(55...100)) / 100, shift.lowerBound)
            isCharging = false
        }
        handset.start()
        emit(.duty(.onDuty), shift.lowerBound)
        for mission in missions where shift.contains(mission.lowerBound) {
            emit(.duty(.onMission), mission.lowerBound)
            emit(.duty(.onDuty), mission.upperBound)
        }
        emit(.duty(.offDuty), shift.upperBound)
        heardAt = shift.lowerBound
        now = shift.lowerBound + dice.number(1000...20_000)
    }

    /// The next report, or the next silence as a whole.
    private mutating func step() {
        let episode = episodes.first
        if var episode = episode, episode.begin <= now, episode.begin < shift.upperBound {
            episodes.removeFirst()
            // One that comes upon the heels of another begins a little later.
            episode.begin = now
            episode.end = max(now, episode.end)
            fallSilent(episode)
            // It may have come back later than it could: a queue waits for its next attempt. Then it
            // reports soon: a mission may have begun meanwhile.
            let back = max(episode.end, heardAt)
            now = max(now, back + interval(back) / 2)
            return
        }
        var next = now + pause(now)
        // A mission that begins is told by the phone at once.
        for mission in missions where (now..<next).contains(mission.lowerBound) {
            next = max(now + 1000, mission.lowerBound + dice.number(500...4000))
        }
        look(now, episode)
        let isLast = episode.map { next >= $0.begin } ?? false
        report(now, episode, isLast: isLast)
        now = isLast ? max(now + 1, min(next, episode?.begin ?? next)) : next
    }

    // MARK: - Reports

    private func isOnMission(_ at: Int64) -> Bool { missions.contains { $0.contains(at) } }

    func interval(_ at: Int64) -> Int64 { isOnMission(at) ? 15_000 : 60_000 }

    /// Until the next report: with jitter, sooner where the way is the longer, and seldom so late
    /// that a deadline passes.
    mutating func pause(_ at: Int64) -> Int64 {
        let usual = interval(at)
        let isLate = dice.chance(3)
        let percent = motion.isMoving ? dice.number(50...106) : dice.number(85...108)
        return usual * percent / 100 + (isLate ? usual * dice.number(50...110) / 100 : 0)
    }

    /// Moves on where the app and the battery are at `now`, `episode` being the next silence.
    mutating func look(_ now: Int64, _ episode: FleetEpisode?) {
        if now >= face.until {
            // Most of a shift the phone is in a pocket.
            let isUp = dice.chance(isOnMission(now) ? 500 : 150)
            face = (isUp, now + dice.number(2...25) * FleetPlan.minute)
        }
        if now >= motion.until {
            motion = (
                dice.chance(isOnMission(now) ? 800 : person.movesPerMille),
                now + dice.number(3...30) * FleetPlan.minute
            )
        }
        let hours = Double(now - battery.at) / Double(FleetPlan.hour)
        battery.level += hours * (isCharging ? 0.5 : -0.07)
        battery.at = now
        if battery.level < 0.2, dice.chance(30) { isCharging = true }
        if battery.level > 0.9 { isCharging = false }
        battery.level = min(max(battery.level, 0.06), 1)
        handset.network = motion.isMoving || person.movesPerMille > 500 ? .cellular : .wifi
        if let episode, episode.begin - now < 40 * FleetPlan.minute { foretell(episode, now) }
        handset.savesPower = person.alwaysSavesPower || battery.level < 0.2
        if let episode, episode.cause == .lowPower, episode.isReported,
            episode.begin - now < 4 * interval(now)
        {
            handset.savesPower = true
        }
    }

    /// Shows what leads to a silence before it.
    private mutating func foretell(_ episode: FleetEpisode, _ now: Int64) {
        let left = episode.begin - now
        if left < 3 * FleetPlan.minute {
            switch episode.cause {
            case .suspended, .killedInBackground: face = (false, episode.begin + 1)
            case .killedInForeground: face = (true, episode.begin + 1)
            case .stationary, .doze, .throttled:
                face = (false, episode.end + 1)
                motion = (false, episode.end + 1)
            case .captivePortal: handset.network = .wifi
            case .tunnel, .deadZone: handset.network = .cellular
            default: break
            }
        }
        let dies = episode.cause == .batteryDied
        if dies || episode.twist == .batteryLow {
            isCharging = false
            let last = episode.twist == .diedEarly ? 0.12 : 0.02
            battery.level = min(
                battery.level, last + 0.3 * Double(left) / Double(40 * FleetPlan.minute))
        }
    }

    /// Takes a location and sends what waits.
    private mutating func report(_ now: Int64, _ episode: FleetEpisode?, isLast: Bool) {
        // Who lies still sends where they were last: the phone lives, and saves its power.
        let isStill = !motion.isMoving && dice.chance(500)
        collect(now, isCached: isStill && person.app == .current)
        guard let episode, episode.isReported,
            episode.cause == .tunnel || episode.cause == .deadZone
        else {
            // Who moves takes more than one.
            if motion.isMoving, !isLast, dice.chance(300) { collect(now) }
            return send(now)
        }
        if episode.cause == .deadZone {
            if isLast { handset.network = .none }
            return send(now)
        }
        // Coverage fades over the last four reports: less is sent than is taken.
        guard episode.begin - now < 4 * interval(now) else { return send(now) }
        collect(now)
        batch(now, [handset.queue.removeFirst()])
    }

    /// Takes a location.
    mutating func collect(_ now: Int64, isCached: Bool = false) {
        handset.collect(now + person.clockOffset - dice.number(0...2000), isCached: isCached)
    }

    /// Sends what waits.
    mutating func send(_ now: Int64) {
        let updates = handset.queue
        handset.queue = []
        batch(now, updates)
    }

    /// Empties a long queue: in pieces, seldom the newest first.
    mutating func flush(_ now: Int64) {
        let waiting = handset.queue
        guard waiting.count > 3, dice.chance(700) else { return send(now) }
        let size = Int(dice.number(3...30))
        var pieces = stride(from: 0, to: waiting.count, by: size).map {
            Array(waiting[$0..<min($0 + size, waiting.count)])
        }
        if dice.chance(300) { pieces.reverse() }
        var at = now
        for piece in pieces {
            handset.queue.removeAll { update in
                piece.contains { $0.sequence == update.sequence }
            }
            batch(at, piece)
            at += dice.number(1000...3000)
        }
    }

    // MARK: - What reaches Rollcall

    /// From now on it is silent, by this cause.
    mutating func beginGap(_ episode: FleetEpisode) {
        gap = (episode.cause, episode.isReported, heardAt)
    }

    /// It was heard again, or is not expected any more.
    mutating func endGap(_ at: Int64) {
        heardAt = max(heardAt, at)
        guard let gap else { return }
        self.gap = nil
        guard at > gap.from else { return }
        gaps.append(
            FleetGap(
                person: person.number, cause: gap.cause,
                from: Timestamp(milliseconds: gap.from), to: Timestamp(milliseconds: at),
                isReported: gap.isReported))
    }

    /// The backend tells something of the person.
    mutating func emit(_ content: FleetReport.Content, _ at: Int64) {
        reports.append(FleetReport(at: at, person: Int32(person.number), content: content))
    }

    /// A request of the phone, forwarded by its backend.
    mutating func batch(_ now: Int64, _ updates: [FleetUpdate]) {
        let received = now + dice.number(50...900)
        endGap(received)
        var batch = handset.batch(updates, receivedAt: received)
        if person.app == .current {
            batch.battery = Int8(min(100, max(0, (battery.level * 100).rounded())))
        }
        if person.app != .bare { batch.telemetry = telemetry() }
        var at = received + dice.number(5...100)
        switch person.backend {
        case .direct:
            if dice.chance(4) { emit(.batch(batch), at + dice.number(1000...30_000)) }
        case .buffering:
            let every = FleetBackend.bufferEvery
            at = (at / every + 1) * every
        case .opinionated:
            if dice.chance(40) { at += dice.number(500...8000) }
            if dice.chance(50) { batch.receivedAt = nil }
        }
        emit(.batch(batch), at)
    }

    private mutating func telemetry() -> FleetTelemetry {
        let waiting = handset.queue.count
        guard person.app == .current else {
            return handset.telemetry(isInForeground: nil, queueDepth: waiting)
        }
        // A healthy queue is now and then seen with an entry or two that came just now.
        let passing = waiting == 0 && dice.chance(120) ? Int(dice.number(1...3)) : waiting
        return handset.telemetry(isInForeground: face.isUp, queueDepth: passing)
    }
}
