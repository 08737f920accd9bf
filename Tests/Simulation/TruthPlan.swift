/// What an app can tell of its phone. Older ones tell less.
enum TruthApp: String, Sendable {
    /// Everything of the memo.
    case current
    /// Permission, location services and power only.
    case old
    /// No telemetry at all.
    case bare
}

/// A part of a region whose network goes dark.
struct TruthOutage: Sendable {
    var region: String
    var begin: Int64
    var end: Int64
    /// Of 1000 phones there, how many it silences.
    var perMille: Int64
    /// Gaps that must have opened before it can be known (design §5 C1).
    var enough = 0
}

/// One person's day as it truly is.
struct TruthPerson: Sendable {
    var id: String
    var region: String
    var platform: String
    var app: TruthApp
    var sendsInstallID: Bool
    /// How far the phone's clock is ahead.
    var clockOffset: Int64
    /// True if the phone saves power whatever its battery; others do below 20 %.
    var alwaysSavesPower: Bool
    /// When duty begins and ends.
    var shifts: [Range<Int64>] = []
    /// On a mission, inside of shifts.
    var missions: [Range<Int64>] = []
    /// Silences, in order, apart from each other.
    var episodes: [TruthEpisode] = []
}

/// The truth of a day: who works when and who is silent why, drawn from a seed before the engine
/// sees anything.
struct TruthPlan: Sendable {
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    /// 2026-11-21T00:00:00Z.
    static let dawn: Int64 = 1_795_219_200_000
    private static let regions = ["north", "south", "east", "west"]
    private static let size = 160

    let seed: UInt64
    private(set) var outages: [TruthOutage] = []
    private(set) var people: [TruthPerson] = []
    private var dice: Dice

    /// Draws the day of `seed`.
    init(seed: UInt64) {
        self.seed = seed
        dice = Dice(seed: seed ^ 0x7201_74)
        for number in 1...Self.size { people.append(person(number)) }
        drawOutages()
        people = people.map { person in
            var person = person
            drawSilences(&person)
            drawMissions(&person)
            return person
        }
    }

    private mutating func person(_ number: Int) -> TruthPerson {
        let digits = String(number)
        var person = TruthPerson(
            id: "r-" + String(repeating: "0", count: 3 - digits.count) + digits,
            region: Self.regions[number % Self.regions.count],
            platform: dice.pick(["ios", "android"]),
            app: dice.chance(850) ? .current : dice.chance(700) ? .old : .bare,
            sendsInstallID: dice.chance(700), clockOffset: dice.number(-800...800),
            alwaysSavesPower: dice.chance(30))
        // Phones set their clocks by the network; few people do it by hand.
        if dice.chance(20) { person.clockOffset = -dice.number(20_000...600_000) }
        if dice.chance(20) { person.clockOffset = dice.number(20_000...600_000) }
        let begins = Int64(number / Self.regions.count % 3) * 7 * Self.hour
        let begin = Self.dawn + begins + dice.number(5...55) * Self.minute
        if dice.chance(250) {
            person.shifts = [
                begin..<begin + 4 * Self.hour, begin + 5 * Self.hour..<begin + 9 * Self.hour,
            ]
        } else {
            person.shifts = [begin..<begin + 8 * Self.hour]
        }
        return person
    }

    // MARK: - Silences

    /// A cell goes dark once or twice a day: far more often than anybody lives through it, or there
    /// would be no rows to judge. Some are too small to be known for an outage.
    private mutating func drawOutages() {
        for _ in 0..<2 where dice.chance(800) {
            let begin = Self.dawn + dice.number(60...1200) * Self.minute
            var outage = TruthOutage(
                region: dice.pick(Self.regions), begin: begin,
                end: begin + TruthCause.massOutage.duration(&dice),
                perMille: dice.pick([200, 600, 900, 1000]))
            let active = people.filter { person in
                person.region == outage.region && person.shifts.contains { $0.contains(begin) }
            }.count
            outage.enough = max(5, (active * 3 + 9) / 10)
            outages.append(outage)
        }
    }

    private mutating func drawSilences(_ person: inout TruthPerson) {
        for (number, outage) in outages.enumerated() where outage.region == person.region {
            guard let shift = person.shifts.first(where: { $0.contains(outage.begin) }),
                outage.begin > shift.lowerBound + 10 * Self.minute,
                dice.chance(outage.perMille)
            else { continue }
            let episode = TruthEpisode(
                cause: .massOutage, begin: outage.begin, end: outage.end, isTold: false,
                outage: number)
            if isFree(episode, person) { add(episode, within: shift, to: &person) }
        }
        for (number, shift) in person.shifts.enumerated() {
            var at = shift.lowerBound
            // An app that nobody opened: one shift of forty.
            if dice.chance(25) {
                var episode = TruthEpisode(
                    cause: .neverStarted, begin: at,
                    end: at + TruthCause.neverStarted.duration(&dice))
                if number > 0 { episode.twist = .heardBefore }
                if isFree(episode, person) { add(episode, within: shift, to: &person) }
                at = episode.end
            }
            var isSoon = false
            at += dice.number(6 * Self.minute...80 * Self.minute)
            while at < shift.upperBound - 5 * Self.minute {
                var episode = silence(at, person)
                // Coverage that fell away at once has not faded.
                if isSoon, episode.cause == .tunnel { episode.isTold = false }
                if isFree(episode, person) { add(episode, within: shift, to: &person) }
                at = episode.end
                // One tunnel often follows another at once.
                isSoon = episode.cause == .tunnel && dice.chance(150)
                at +=
                    isSoon
                    ? dice.number(45...100) * 1000
                    : dice.number(12 * Self.minute...180 * Self.minute)
            }
        }
        person.episodes.sort { $0.begin < $1.begin }
    }

    private func isFree(_ episode: TruthEpisode, _ person: TruthPerson) -> Bool {
        person.episodes.allSatisfy {
            $0.cause == .massOutage || episode.cause == .massOutage
                ? episode.begin > $0.end + 5 * Self.minute
                    || episode.end < $0.begin - 5 * Self.minute
                : episode.begin > $0.end || episode.end < $0.begin
        }
    }

    private func add(
        _ episode: TruthEpisode, within shift: Range<Int64>, to person: inout TruthPerson
    ) {
        var episode = episode
        if episode.end >= shift.upperBound || episode.cause == .offDutyToldLate {
            episode.endsByDuty = true
            episode.end = min(episode.end, shift.upperBound)
        }
        person.episodes.append(episode)
    }

    private mutating func silence(_ begin: Int64, _ person: TruthPerson) -> TruthEpisode {
        let cause = TruthCause.draw(&dice)
        var episode = TruthEpisode(
            cause: cause, begin: begin, end: begin + cause.duration(&dice))
        let app = person.app
        episode.sendsTelemetry = app != .bare
        switch cause {
        case .permissionRevoked, .locationServicesOff:
            // iOS tells the app; Android kills it, and only a service that is started again tells.
            let tells: Int64 = person.platform == "ios" || cause == .locationServicesOff ? 900 : 450
            episode.isTold = app != .bare && dice.chance(tells)
            episode.twist = dice.chance(300) ? .repaired : .plain
            if dice.chance(50) { episode.twist = .noNetworkEither }
        case .tunnel:
            // Signs are as common as coverage that fades before it ends.
            episode.isTold = app == .current && dice.chance(450)
            if dice.chance(50) { episode.twist = .withoutFix }
            if dice.chance(40) { episode.twist = .batteryLow }
            if dice.chance(20) { episode.twist = .reinstalled }
            if dice.chance(15) { episode.twist = .permissionLost }
        case .batteryDied:
            if dice.chance(100) { episode.twist = .diedEarly }
            episode.isTold = app == .current && episode.twist == .plain
        case .lowPower: episode.isTold = app != .bare && dice.chance(850)
        case .suspended, .killedInBackground, .killedInForeground, .crash, .reinstall:
            episode.isTold = app == .current
            if cause == .suspended, dice.chance(200) { episode.twist = .killedToo }
            if cause != .reinstall, dice.chance(20) { episode.twist = .updateWaiting }
        case .deadZone: episode.isTold = app == .current
        case .massOutage, .neverStarted, .offDutyToldLate, .offDutyTold: break
        }
        return episode
    }

    /// Missions come at any time, but never in a break.
    private mutating func drawMissions(_ person: inout TruthPerson) {
        let breaks = person.episodes.filter {
            $0.cause == .offDutyTold || $0.cause == .offDutyToldLate
        }
        for shift in person.shifts {
            var at = shift.lowerBound + dice.number(10...240) * Self.minute
            while at < shift.upperBound - 40 * Self.minute {
                let mission =
                    at..<min(
                        at + dice.number(20...80) * Self.minute, shift.upperBound - Self.minute)
                at = mission.upperBound + dice.number(60...240) * Self.minute
                let isFree = breaks.allSatisfy {
                    $0.end + 20 * Self.minute < mission.lowerBound || $0.begin > mission.upperBound
                }
                if isFree { person.missions.append(mission) }
            }
        }
    }
}
