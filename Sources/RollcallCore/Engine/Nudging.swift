/// `Nudging` decides who is asked to open their app, and whose phone is woken: it keeps what is
/// remembered of both, and who waits for what. Source: Contract/Nudges.
///
/// It is told whose location grew old or young, and decides what is written about them; the engine
/// counts and writes it. It changes no person but for the mark that something is remembered of them.
package struct Nudging: Sendable {
    /// A decision about somebody, or what became known about a nudge of theirs.
    typealias Entry = (number: Int, report: NudgeReport)

    /// The time for which what follows a nudge is looked at (N8).
    package static let followedFor = Milliseconds.seconds(30 * 60)
    /// A wait for a turn of this cell of which nothing is written.
    static let briefly = Milliseconds.seconds(5)
    /// A forward step of the wall beyond this freezes nudges (N2).
    package static let stepMax = Milliseconds.seconds(60)

    /// The number that the next push gets, nudge or wake.
    var nextPush: Int64 = 1
    /// Nudges are frozen until then, by the wall (N2).
    package private(set) var frozenUntil = Timestamp.distantPast
    /// The instant at which we last saw again after a blind episode of 15 s or more (F31).
    private var sawAgainAt = ObservedTime.distantPast
    /// The nudges of the last second, oldest first; at most as many as the rate allows.
    var sends: [RunningTime] = []

    // Of those few who have it, by number, which is stored with the people.

    /// The states that are remembered of nudges.
    var states = SideTable<NudgeState>()
    /// The tokens under which phones are reached, as they were told.
    var tokens = SideTable<[UInt8]>()
    /// The instants at which phones were last woken (N9).
    var woken = SideTable<RunningTime>()
    /// Of a cell: what others said lately of somebody's company.
    var peerAnswers: [UInt32: PeerAnswer] = [:]

    // What follows is not stored: it follows from the people, and of a cell from the map.

    /// Of a cell, its share of the fleet's nudges; nil elsewhere.
    var share: NudgeShare?

    /// Those whose company is to be asked for in other cells.
    var wanted = WantedRow()
    /// Those of them about whom it was asked lately, and when.
    var asked: [UInt32: RunningTime] = [:]
    /// The people who are to be evaluated when the instant closes.
    var toEvaluate: [UInt32] = []
    /// The people who wait for their turn; the first by id is the last. Those who wait no longer
    /// leave when their turn comes.
    var row: [UInt32] = []
    /// The people who were held because we could not see.
    var blind: [UInt32] = []
    /// The instants, by the wall, at which the throttle lets somebody go.
    var throttles = DeadlineQueue<Timestamp>()
    /// The instants at which somebody is evaluated again after blindness.
    var graces = DeadlineQueue<ObservedTime>()
    /// The instants at which it is known what followed a nudge.
    var followed = DeadlineQueue<RunningTime>()

    init() {}

    mutating func takeNumber() -> Int64 {
        defer { nextPush += 1 }
        return nextPush
    }

    /// Nudges are frozen for an interval (N2).
    mutating func freeze(_ rules: NudgeRules, wall: Timestamp) {
        frozenUntil = max(frozenUntil, wall + rules.minInterval)
    }

    // MARK: - Sight

    /// The instant from which on somebody with this offline threshold is not held for blindness that
    /// is over: one of it after an episode of 15 s or more (F31).
    func seesAgainFrom(offline: Milliseconds) -> ObservedTime {
        sawAgainAt == .distantPast ? .distantPast : sawAgainAt + offline
    }

    /// We can see again at `now`, after an episode of `length`.
    mutating func seeAgain(after length: Milliseconds, now: ObservedTime) {
        if length >= ObservationClock.graceFrom { sawAgainAt = now }
        // Whoever is due still is held, now until a time that is known.
        for number in blind {
            states[Int(number)]?.isInBlind = false
            if states[Int(number)]?.reason == .blind { toEvaluate.append(number) }
        }
        blind = []
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        sawAgainAt = min(sawAgainAt, now)
        states.changeAll { $0.clampInstants(to: now) }
    }

    // MARK: - Who may be nudged

    /// Returns until when the throttle holds, by the wall.
    func throttledUntil(_ throttle: NudgeState.Throttle, _ rules: NudgeRules) -> Timestamp {
        // Whoever was asked for is not nudged besides (R3).
        let asked = throttle.asks.last.map { $0 + AskLimits.interval } ?? .distantPast
        guard throttle.sentAt > .distantPast else { return max(frozenUntil, asked) }
        return max(throttle.sentAt + rules.minInterval, frozenUntil, asked)
    }

    /// True if the sink must be told a token that nobody told us.
    func lacksToken(_ number: Int, _ rules: NudgeRules) -> Bool {
        rules.sink == .expo && tokens[number] == nil
    }

    /// Returns how many may be sent something now, by those of this watch alone.
    mutating func room(_ rules: NudgeRules, _ now: RunningTime) -> Int {
        sends.removeAll { now - $0 >= .seconds(1) }
        return max(0, rules.ratePerSecond - sends.count)
    }

    /// Returns how many may be nudged now, of the whole fleet (N10, K2).
    mutating func turns(_ rules: NudgeRules, _ clock: ObservationClock) -> Int {
        let room = room(rules, clock.now)
        guard let share else { return room }
        let used = sends.count { $0 == clock.now }
        return min(room, share.turns(at: clock.wallNow, rate: rules.ratePerSecond) - used)
    }

    /// Returns the instant at which the next of the row may be nudged.
    func nextTurn(_ rules: NudgeRules, _ clock: ObservationClock) -> RunningTime {
        let now = clock.now
        guard !row.isEmpty else { return .distantFuture }
        if let share {
            // What is evaluated at this instant has had its turns.
            let wall = clock.wallNow + Milliseconds(1)
            guard let next = share.next(from: wall, rate: rules.ratePerSecond) else {
                return .distantFuture
            }
            return now + (next - clock.wallNow)
        }
        let recent = sends.filter { now - $0 < .seconds(1) }
        guard recent.count >= rules.ratePerSecond else { return now }
        return recent[recent.count - rules.ratePerSecond] + .seconds(1)
    }

    // MARK: - Form

    mutating func code(_ archive: inout Archive) {
        archive.code(&nextPush)
        archive.code(&frozenUntil)
        archive.code(&sawAgainAt)
        archive.code(&sends, empty: .distantPast) { $0.code(&$1) }
    }
}
