import RollcallCore

/// The telemetry that an app can tell of its phone. Older ones tell less.
package enum FleetApp: String, Sendable {
    /// Everything of the memo.
    case current
    /// Permission, location services and power only.
    case old
    /// No telemetry at all.
    case bare

    /// The version that such an app names.
    var version: StaticString {
        switch self {
        case .current: "4.2.0"
        case .old: "3.9.4"
        case .bare: "2.7.1"
        }
    }
}

/// The systems of phones.
package enum FleetPlatform: String, Sendable { case ios, android }

/// A part of a region whose network goes dark.
package struct FleetOutage: Sendable {
    package var region: Int
    package var begin: Int64
    package var end: Int64
    /// Of 1000 phones there, how many it silences.
    var perMille: Int64
}

/// One person and their phone, as they are on every day.
package struct FleetPerson: Sendable {
    /// From 0 on.
    package var number: Int
    package var id: String
    package var region: Int
    package var platform: FleetPlatform
    package var app: FleetApp
    var sendsInstallID = false
    /// The time by which the phone's clock is ahead.
    package var clockOffset: Int64 = 0
    /// True if the phone saves power whatever its battery; others do below 20 %.
    var alwaysSavesPower = false
    /// Of 1000 stretches of a shift, how many are spent moving.
    var movesPerMille: Int64 = 0
    /// The backend that forwards.
    var backend = FleetBackend.direct
    /// The circle they belong to, by its number.
    var circle: Int?
}

/// One person's day as it truly is.
package struct FleetDay: Sendable {
    /// The ranges of duty.
    package var shifts: [Range<Int64>] = []
    /// On a mission, inside of shifts.
    var missions: [Range<Int64>] = []
    /// Silences, in order, apart from each other.
    package var episodes: [FleetEpisode] = []
}

/// The truth of a fleet: who works when and who is silent why, drawn from the seed, person by person
/// and day by day, before the engine sees anything.
package struct FleetPlan: Sendable {
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000
    private static let directions = ["north", "south", "east", "west"]

    package let settings: FleetSettings
    package let regions: [String]
    /// Of all days, in order.
    package let outages: [FleetOutage]

    /// Draws what befalls the fleet as a whole.
    package init(_ settings: FleetSettings) {
        self.settings = settings
        regions = (0..<settings.regions).map { number in
            number < Self.directions.count ? Self.directions[number] : "region-\(number + 1)"
        }
        var outages: [FleetOutage] = []
        for day in 0..<settings.days {
            var dice = Self.dice(settings.seed, 0x0A7A, UInt64(day))
            for region in 0..<settings.regions {
                outages += Self.outage(region, day, settings, &dice)
            }
        }
        self.outages = outages
    }

    /// Dice of their own for each thing that is drawn, so that none depends on the order.
    private static func dice(_ seed: UInt64, _ salt: UInt64, _ number: UInt64) -> Dice {
        var mixed = Dice(seed: seed &+ salt &* 0x9E6C_63D0_876A_3F6B)
        return Dice(seed: mixed.next() ^ (number &* 0xD6E8_FEB8_6659_FD93))
    }

    /// Dice for what the phone of person `number` does.
    func dice(ofPhone number: Int) -> Dice { Self.dice(settings.seed, 0x7201, UInt64(number)) }

    /// A cell goes dark every fourth day where things go badly: far more often than anybody lives
    /// through it, or there would be nothing to evaluate by. Some are too small to be known for
    /// one.
    private static func outage(
        _ region: Int, _ day: Int64, _ settings: FleetSettings, _ dice: inout Dice
    ) -> [FleetOutage] {
        guard dice.chance(250 / settings.idle) else { return [] }
        let dawn = settings.start.milliseconds + day * Self.day
        let minutes: ClosedRange<Int64> = settings.beginsAtOnce ? 12...40 : 120...1260
        let begin = dawn + dice.number(minutes) * minute
        return [
            FleetOutage(
                region: region, begin: begin, end: begin + FleetCause.massOutage.duration(&dice),
                perMille: dice.pick([200, 600, 900, 1000]))
        ]
    }

    /// The person of a number from 0 on.
    package func person(_ number: Int) -> FleetPerson {
        var dice = Self.dice(settings.seed, 0x9E45, UInt64(number))
        let digits = String(number + 1)
        let id = "r-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
        var person = FleetPerson(
            number: number, id: id, region: number % settings.regions,
            platform: dice.pick([.ios, .android]),
            app: dice.chance(850) ? .current : dice.chance(700) ? .old : .bare,
            sendsInstallID: dice.chance(700), clockOffset: dice.number(-800...800),
            alwaysSavesPower: dice.chance(30), movesPerMille: dice.pick([100, 400, 800]),
            backend: dice.chance(600) ? .direct : dice.chance(700) ? .buffering : .opinionated)
        // Phones set their clocks by the network; few people do it by hand.
        if dice.chance(20) { person.clockOffset = -dice.number(20_000...600_000) }
        if dice.chance(20) { person.clockOffset = dice.number(20_000...600_000) }
        // Teams of a region: those of three shifts belong together.
        if dice.chance(400) {
            person.circle = number / (settings.regions * 12) * settings.regions + person.region
        }
        return person
    }

    // MARK: - A day

    /// Returns what befalls `person` on a day from 0 on.
    package func day(_ day: Int64, of person: FleetPerson) -> FleetDay {
        var dice = Self.dice(
            settings.seed, 0xDA1, UInt64(person.number) &* 1024 &+ UInt64(day))
        var plan = FleetDay()
        // Five days of seven; who is drawn for one day or less works.
        if settings.days > 1, (Int64(person.number) + day) % 7 >= 5 { return plan }
        plan.shifts = shifts(day, person, &dice)
        let dawn = settings.start.milliseconds + day * Self.day
        for (number, outage) in outages.enumerated()
        where outage.region == person.region && (dawn..<dawn + Self.day).contains(outage.begin) {
            strike(outage, number, &plan, &dice)
        }
        drawSilences(of: person, &plan, &dice)
        drawMissions(&plan, &dice)
        return plan
    }

    private func shifts(
        _ day: Int64, _ person: FleetPerson, _ dice: inout Dice
    ) -> [Range<Int64>] {
        let dawn = settings.start.milliseconds + day * Self.day
        if settings.beginsAtOnce {
            let begin = dawn + dice.number(500...120_000)
            return [begin..<begin + 8 * Self.hour]
        }
        let slot = Int64(person.number / settings.regions % 3)
        let begin = dawn + slot * 8 * Self.hour + dice.number(5...55) * Self.minute
        guard dice.chance(250) else { return [begin..<begin + 8 * Self.hour] }
        return [begin..<begin + 4 * Self.hour, begin + 5 * Self.hour..<begin + 9 * Self.hour]
    }

    private func strike(
        _ outage: FleetOutage, _ number: Int, _ plan: inout FleetDay, _ dice: inout Dice
    ) {
        guard let shift = plan.shifts.first(where: { $0.contains(outage.begin) }),
            outage.begin > shift.lowerBound + 10 * Self.minute, dice.chance(outage.perMille)
        else { return }
        let episode = FleetEpisode(
            cause: .massOutage, begin: outage.begin, end: outage.end, isReported: false,
            outage: number)
        add(episode, within: shift, to: &plan)
    }

    private func drawSilences(
        of person: FleetPerson, _ plan: inout FleetDay, _ dice: inout Dice
    ) {
        for (number, shift) in plan.shifts.enumerated() {
            var at = shift.lowerBound
            // An app that nobody opened: one shift of forty, where things go badly.
            if dice.chance(25 / settings.idle) {
                var episode = FleetEpisode(
                    cause: .neverStarted, begin: at,
                    end: at + FleetCause.neverStarted.duration(&dice))
                if number > 0 { episode.twist = .heardBefore }
                add(episode, within: shift, to: &plan)
                at = episode.end
            }
            var isSoon = false
            let first: ClosedRange<Int64> = settings.beginsAtOnce ? 2...80 : 6...80 * settings.idle
            at += dice.number(first) * Self.minute
            while at < shift.upperBound - 5 * Self.minute {
                var episode = gap(at, person, &dice)
                // Coverage that fell away at once has not faded.
                if isSoon, episode.cause == .tunnel { episode.isReported = false }
                add(episode, within: shift, to: &plan)
                at = episode.end
                // One tunnel often follows another at once.
                isSoon = episode.cause == .tunnel && dice.chance(150)
                at +=
                    isSoon
                    ? dice.number(45...100) * 1000
                    : settings.idle * dice.number(12 * Self.minute...180 * Self.minute)
            }
        }
        plan.episodes.sort { $0.begin < $1.begin }
    }

    private func isFree(_ episode: FleetEpisode, _ plan: FleetDay) -> Bool {
        plan.episodes.allSatisfy {
            let apart =
                $0.cause == .massOutage || episode.cause == .massOutage ? 5 * Self.minute : 0
            return episode.begin > $0.end + apart || episode.end < $0.begin - apart
        }
    }

    private func add(
        _ episode: FleetEpisode, within shift: Range<Int64>, to plan: inout FleetDay
    ) {
        guard isFree(episode, plan) else { return }
        var episode = episode
        if episode.end >= shift.upperBound || episode.cause == .offDutyReportedLate {
            episode.endsByDuty = true
            episode.end = min(episode.end, shift.upperBound)
        }
        plan.episodes.append(episode)
    }

    private func gap(
        _ begin: Int64, _ person: FleetPerson, _ dice: inout Dice
    ) -> FleetEpisode {
        let cause = FleetCause.draw(&dice, on: person.platform)
        var episode = FleetEpisode(
            cause: cause, begin: begin, end: begin + cause.duration(&dice))
        let app = person.app
        episode.sendsTelemetry = app != .bare
        switch cause {
        case .permissionRevoked, .locationServicesOff:
            // iOS tells the app; Android kills it, and only a service that is started again tells.
            let reports: Int64 =
                person.platform == .ios || cause == .locationServicesOff ? 900 : 450
            episode.isReported = app != .bare && dice.chance(reports)
            episode.twist = dice.chance(300) ? .repaired : .plain
            if dice.chance(50) { episode.twist = .noNetworkEither }
        case .tunnel:
            // Signs are as common as coverage that fades before it ends.
            episode.isReported = app == .current && dice.chance(450)
            if dice.chance(50) { episode.twist = .withoutFix }
            if dice.chance(40) { episode.twist = .batteryLow }
            if dice.chance(20) { episode.twist = .reinstalled }
            if dice.chance(15) { episode.twist = .permissionLost }
        case .batteryDied:
            if dice.chance(100) { episode.twist = .diedEarly }
            episode.isReported = app == .current && episode.twist == .plain
        case .lowPower: episode.isReported = app != .bare && dice.chance(850)
        case .suspended, .stationary, .killedInBackground, .killedInForeground, .crash, .reinstall:
            episode.isReported = app == .current
            if cause == .suspended, dice.chance(200) { episode.twist = .killedToo }
            if cause != .reinstall, dice.chance(20) { episode.twist = .updateWaiting }
        case .throttled, .doze:
            episode.isReported = app == .current
            if dice.chance(150) { episode.twist = .inBursts }
        case .deadZone: episode.isReported = app == .current
        // The phone believes in its Wi-Fi.
        case .captivePortal: episode.isReported = false
        case .massOutage, .neverStarted, .offDutyReportedLate, .offDutyReported, .pausedReported:
            break
        }
        return episode
    }

    /// Missions come at any time, but never in a break.
    private func drawMissions(_ plan: inout FleetDay, _ dice: inout Dice) {
        let breaks = plan.episodes.filter {
            $0.cause.isReportedAbsence || $0.cause == .offDutyReportedLate
        }
        for shift in plan.shifts {
            var at = shift.lowerBound + dice.number(10...240) * Self.minute
            while at < shift.upperBound - 40 * Self.minute {
                let mission =
                    at..<min(
                        at + dice.number(20...80) * Self.minute, shift.upperBound - Self.minute)
                at = mission.upperBound + dice.number(60...240) * Self.minute
                let isFree = breaks.allSatisfy {
                    $0.end + 20 * Self.minute < mission.lowerBound || $0.begin > mission.upperBound
                }
                if isFree { plan.missions.append(mission) }
            }
        }
    }
}
