/// The alerts and who is told of them: what fires, silences, storms, drills, and who flaps. Source:
/// Contract/Alerts.
///
/// It is told what is true, and decides what is said of it; it knows nobody but by their numbers.
package struct Alerting: Sendable {
    /// The alerts that are not inactive.
    package internal(set) var board = AlertBoard()
    /// Silences, drills, storms, and the numbers of notices and firings.
    package internal(set) var notifications = NotificationState()
    /// The cell whose alerts these are; empty where there are no cells, and at the fleet cell.
    package internal(set) var cell: [UInt8] = []
    private var flaps = SideTable<Flapping>()
    /// The instants at which changes that may be flapping leave the window.
    private var flapTimers = DeadlineQueue<ObservedTime>()
    /// The instants from which people are counted who are OFFLINE by then still (R1).
    private var missTimers = DeadlineQueue<ObservedTime>()
    /// The first by id of those who became missed where nothing fires yet, by region number: whoever is
    /// named when it does need not be looked for.
    var firstMissed: [UInt32: [Int]] = [:]

    init() {}

    // MARK: - Flapping

    /// The changes of everybody that may be flapping, as they are now.
    var flapsByNumber: SideTable<Flapping> { flaps }

    /// The earliest instant in observed time at which time alone changes an alert about people.
    var nextTimer: ObservedTime {
        min(
            board.nextTimer, flapTimers.first?.at ?? .distantFuture,
            missTimers.first?.at ?? .distantFuture)
    }

    /// Counts a change between ONLINE and OFFLINE, whatever was in between (A3, F28).
    mutating func followLastExtreme(
        _ person: inout Responder, _ number: Int, from: Status, _ origin: Origin,
        now: ObservedTime, _ rules: AlertRules
    ) {
        guard person.status == .online || person.status == .offline else { return }
        let isChange = person.lastExtreme.map { $0 != person.status } ?? false
        person.lastExtreme = person.status
        guard isChange, origin == .contact || origin == .deadline,
            !(from == .unknown && person.status == .offline)
        else { return }
        var flapping = flaps[number] ?? Flapping()
        flapping.change(at: now, rules)
        keep(flapping, &person, number, rules)
    }

    /// Whoever is no longer expected flaps no longer (F22).
    mutating func clearFlapping(_ person: inout Responder, _ number: Int) {
        person.lastExtreme = nil
        person.isFlapping = false
        flaps[number] = nil
    }

    /// Some are here no more.
    mutating func forget(_ numbers: [Int]) {
        for number in numbers { flaps[number] = nil }
        board.forgetMembers(Set(numbers))
    }

    /// Keeps what somebody's changes are now.
    mutating func keep(
        _ flapping: Flapping, _ person: inout Responder, _ number: Int, _ rules: AlertRules
    ) {
        var flapping = flapping
        person.isFlapping = flapping.isFlapping
        guard !flapping.changes.isEmpty else { return flaps[number] = nil }
        arm(&flapping, number, at: flapping.due(rules))
        flaps[number] = flapping
    }

    private mutating func arm(_ flapping: inout Flapping, _ number: Int, at due: ObservedTime) {
        guard flapping.armed != due else { return }
        flapping.armed = due
        flapTimers.push(.init(at: due, number: UInt32(number)))
    }

    /// The rules changed, or observed time was set back (B1): everybody who changed lately is
    /// evaluated when the instant closes, or when we can see again (L12, F8).
    mutating func evaluateFlappingAnew(_ now: ObservedTime) {
        var numbers: [Int] = []
        flaps.forEach { number, _ in numbers.append(number) }
        for number in numbers {
            guard var flapping = flaps[number] else { continue }
            flapping.clampInstants(to: now)
            arm(&flapping, number, at: now)
            flaps[number] = flapping
        }
    }

    /// Takes the next person some of whose changes are older than the window, without those; nil if
    /// there is nobody left.
    mutating func takeDueFlapping(
        _ now: ObservedTime, _ rules: AlertRules
    ) -> (number: Int, flapping: Flapping)? {
        while let first = flapTimers.first, first.at <= now {
            _ = flapTimers.popFirst()
            let number = Int(first.number)
            guard var flapping = flaps[number], flapping.armed == first.at else { continue }
            flapping.evaluate(now, rules)
            return (number, flapping)
        }
        return nil
    }

    /// Nothing fires, and nobody was told of anything. Who flaps is still known, and what is silenced.
    mutating func beginAnew() {
        board = AlertBoard()
        notifications = notifications.begunAnew()
        firstMissed = [:]
    }

    // MARK: - Who is missed

    /// A person is counted from an instant on if they are OFFLINE by then (R1).
    mutating func awaitMissed(_ number: Int, at instant: ObservedTime) {
        missTimers.push(.init(at: instant, number: UInt32(number)))
    }

    /// Waits for nobody any more.
    mutating func stopAwaitingMissed() { missTimers.removeAll() }

    /// Takes those whose instant has come, whatever became of them.
    mutating func takeMissed(until now: ObservedTime) -> [Int] {
        var numbers: [Int] = []
        while let first = missTimers.first, first.at <= now {
            _ = missTimers.popFirst()
            numbers.append(Int(first.number))
        }
        return numbers
    }

    /// Puts back somebody's changes.
    mutating func restore(_ flapping: Flapping?, _ number: Int) {
        guard let flapping else { return }
        flaps[number] = flapping
        flapTimers.push(.init(at: flapping.armed, number: UInt32(number)))
    }

    // MARK: - Settings

    /// Other rules hold from now on.
    mutating func change(to rules: AlertRules, now: ObservedTime) {
        evaluateFlappingAnew(now)
        board.armAgain(rules)
        board.isAllDirty = true
    }

    /// Other receivers: somebody may ask for the watchdog now, or nobody any more.
    mutating func follow(_ receivers: [Receiver], _ rules: AlertRules) {
        let labels = AlertKey(name: .watchdog, subject: .all)
            .labels(rules[.watchdog], .none, of: cell)
        notifications.wantsWatchdog = receivers.contains { $0.wants(labels) }
        notifications.isAllDirty = true
    }
}

/// The settings and the clock by which it is decided what is said of alerts.
struct AlertContext {
    let rules: AlertRules
    let receivers: [Receiver]
    let clock: ObservationClock

    init(_ policy: Policy, _ clock: ObservationClock) {
        (rules, receivers, self.clock) = (policy.alerts, policy.receivers, clock)
    }
}

extension AlertKey {
    /// Returns the severity by a rule: one source is missed less than all of them (F11).
    func severity(_ rule: AlertRules.Rule) -> Severity {
        if case .source = subject { .warning } else { rule.severity }
    }

    /// Returns all labels of an alert, by name: those of the identity win. One that a cell decides names the
    /// cell; `cell` is empty elsewhere.
    func labels(
        _ rule: AlertRules.Rule, _ severity: Severity, of cell: [UInt8]
    ) -> [Label] {
        var labels = [
            Label("alertname", name.word.bytes), Label("severity", severity.word.bytes),
        ]
        if let subjectName = subject.labelName { labels.append(Label(subjectName, subject.name)) }
        if name == .rollcallDrill { labels.append(Label("drill", Array("true".utf8))) }
        if !cell.isEmpty { labels.append(Label(Label.cell, cell)) }
        return (labels + rule.labels).ordered()
    }
}
