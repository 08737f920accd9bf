/// Counts what one setting decides, decision by decision.
///
/// It counts what a person sees: changes, alarms, pages, nudges. It knows people by number only.
package struct TuneAggregates: Equatable, Sendable {
    /// Pages kept for the comparison with others; what fires beyond is only counted.
    static let notificationsMax = 100_000

    /// The memory of a person.
    private struct Person: Equatable, Sendable {
        var activeAt = Timestamp.distantPast
        var gapFrom = Timestamp.distantPast
        var lateAt = Timestamp.distantPast
        var offlineAt = Timestamp.distantPast
        var isLate = false
        var isFlapping = false
        var duty = DutyState.onDuty
    }

    private let healsWithin: Milliseconds
    private let phoneName: PhoneName
    private var people: ContiguousArray<Person> = []
    package private(set) var counts = TuneCounts()
    /// Spells that ended and were not yet taken.
    private var ended: [LateSpell] = []
    /// Pages that are over.
    package private(set) var notifications: [FiredNotification] = []
    private var firing: [AlertKey: Timestamp] = [:]
    private var firstRunning: RunningTime?
    private var firstObserved = ObservedTime.distantPast
    /// From the first instant to the last.
    package private(set) var span = Milliseconds(0)
    /// The part of the span that we could see.
    package private(set) var observed = Milliseconds(0)

    /// Counts for which an OFFLINE that ends within `healsWithin` was a false alarm, and which tell
    /// phones apart by `phoneName`.
    package init(healsWithin: Milliseconds, phoneName: PhoneName = .manufacturer) {
        self.healsWithin = healsWithin
        self.phoneName = phoneName
    }

    // MARK: - From the engine

    /// The history begins, with the engine as it is then.
    package mutating func begin(_ engine: Engine) {
        guard firstRunning == nil else { return }
        firstRunning = engine.clock.now
        firstObserved = engine.clock.observedNow
        for number in 0..<engine.roster.count { adopt(number, engine) }
    }

    /// Somebody whom the history finds on duty, late or not.
    private mutating func adopt(_ number: Int, _ engine: Engine) {
        let responder = engine.roster[number]
        reach(number)
        guard responder.isActive else { return }
        people[number].duty = responder.duty
        people[number].gapFrom = responder.lastContactAt
        guard responder.status == .degraded || responder.status == .offline else { return }
        people[number].isLate = true
        people[number].lateAt = responder.since
        if responder.status == .offline { people[number].offlineAt = responder.since }
    }

    /// Counts a decision; `engine` is as it stands after the step that decided it.
    package mutating func take(_ decision: Decision, _ engine: Engine) {
        switch decision {
        case .status(let at, let number, let from, let to, let origin):
            take(at, number, from, to, origin, engine)
        case .gap(_, let number, let gap) where gap.state == .open:
            reach(number)
            people[number].gapFrom = max(
                gap.report.facts.lastContactAt, people[number].activeAt)
        case .alert(let at, let report) where report.key.name.isReplayed: take(at, report)
        case .nudge(_, _, let report):
            if report.kind == .send { counts.nudges += 1 }
            if report.kind == .hold, let reason = report.reason {
                counts.holds[Int(reason.rawValue)] += 1
            }
        case .gap, .alert, .notice, .mute, .wake, .blind, .skew, .update, .person, .action,
            .delivery, .push:
            break
        }
    }

    private mutating func take(
        _ at: Timestamp, _ number: Int, _ from: Status?, _ to: Status?, _ origin: Origin,
        _ engine: Engine
    ) {
        reach(number)
        let duty = engine.roster[number].duty
        // Whoever goes off duty was late in the state from before.
        if duty.isOn { people[number].duty = duty }
        if from == nil { people[number].activeAt = at }
        let isLate = to == .degraded || to == .offline
        let cell = (people[number].duty, engine.roster[number].platform)
        if to == .degraded { counts[cell.0, cell.1].degraded += 1 }
        if to == .offline { counts[cell.0, cell.1].offline += 1 }
        if to == .online, from == .degraded || from == .offline {
            counts[cell.0, cell.1].back += 1
        }
        if isLate, !people[number].isLate {
            people[number].isLate = true
            people[number].lateAt = at
            people[number].offlineAt = .distantPast
            people[number].gapFrom = .distantPast
        }
        if to == .offline, people[number].offlineAt == .distantPast {
            people[number].offlineAt = at
        }
        if !isLate, people[number].isLate {
            let ending: LateSpell.Ending =
                to == nil ? .duty : origin == .policy ? .policy : .contact
            end(number, at, ending, engine)
        }
        if engine.roster[number].isFlapping, !people[number].isFlapping {
            people[number].isFlapping = true
            counts.flapping += 1
        }
    }

    private mutating func take(_ at: Timestamp, _ report: AlertReport) {
        let place = Int(report.key.name.rawValue)
        switch report.state {
        case .firing:
            guard firing[report.key] == nil else { return }
            firing[report.key] = at
            counts.notifications[place].fired += 1
            if report.severity == .critical { counts.notifications[place].critical += 1 }
        case .resolved:
            guard let start = firing.removeValue(forKey: report.key) else { return }
            end(FiredNotification(key: report.key, start: start, end: at), isOver: true)
        case .pending, .inactive: break
        }
    }

    private mutating func end(_ page: FiredNotification, isOver: Bool) {
        let place = Int(page.key.name.rawValue)
        let length = max(Milliseconds(0), page.end - page.start)
        counts.notifications[place].firing.count += length.count
        if isOver, length <= healsWithin { counts.notifications[place].short += 1 }
        if notifications.count < Self.notificationsMax { notifications.append(page) }
    }

    private mutating func reach(_ number: Int) {
        while people.count <= number { people.append(Person()) }
    }

    // MARK: - Spells

    /// The spell of a person that goes on; nil if they are not late.
    func open(_ number: Int) -> LateSpell? {
        guard people.indices.contains(number), people[number].isLate else { return nil }
        let person = people[number]
        var spell = LateSpell(number: number, lateAt: person.lateAt)
        if person.gapFrom > .distantPast { spell.gapFrom = person.gapFrom }
        if person.offlineAt > .distantPast { spell.offlineAt = person.offlineAt }
        spell.duty = person.duty
        return spell
    }

    private mutating func end(
        _ number: Int, _ at: Timestamp, _ ending: LateSpell.Ending, _ engine: Engine
    ) {
        guard var spell = open(number) else { return }
        people[number].isLate = false
        spell.end = at
        spell.ending = ending
        spell.platform = engine.roster[number].platform
        spell.phone = engine.phone(of: number).map { phoneName.text(in: $0) } ?? []
        let from = RunningTime(
            milliseconds: ((spell.gapFrom ?? spell.lateAt) - engine.clock.wallOffset)
                .milliseconds)
        spell.isBlind = GapReport.isLeftOut(
            blind: engine.clock.blind(since: from), of: engine.clock.now - from)
        ended.append(spell)
        count(spell)
    }

    private mutating func count(_ spell: LateSpell) {
        switch spell.outcome(healsWithin: healsWithin) {
        case .healed:
            counts[spell.duty, spell.platform].healed += 1
            counts.note(phone: spell, isHealed: true)
        case .real:
            counts[spell.duty, spell.platform].real += 1
            if let delay = spell.delay { counts.note(delay: delay, spell.duty) }
            counts.note(phone: spell, isHealed: false)
        case .censored: counts.censored += 1
        case .unseen: counts.unseen += 1
        case .changed, nil: break
        }
    }

    /// Hands over the spells that ended since the last time.
    package mutating func takeEnded() -> [LateSpell] {
        defer { ended.removeAll(keepingCapacity: true) }
        return ended
    }

    /// The history ends, with the engine as it is then.
    package mutating func finish(_ engine: Engine) {
        begin(engine)
        let now = engine.clock.wallNow
        // Who was erased is nobody's gap any more.
        for number in people.indices
        where people[number].isLate && engine.roster[number].idCount > 0 {
            end(number, now, .data, engine)
        }
        for key in firing.keys.sorted(by: AlertKey.areInOrder) {
            guard let start = firing[key] else { continue }
            end(FiredNotification(key: key, start: start, end: now), isOver: false)
        }
        firing = [:]
        span = engine.clock.now - (firstRunning ?? engine.clock.now)
        observed = max(Milliseconds(0), engine.clock.observedNow - firstObserved)
    }
}
