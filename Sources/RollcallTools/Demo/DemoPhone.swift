import RollcallCore

/// A phone of the demo, and the backend's view of it: one as those of a fleet, but what befalls it is
/// the script's, which nobody can tell beforehand.
///
/// Its clock is right, and it lies still or moves as little as possible: what is shown is silence,
/// not movement. It has no coordinates at all.
struct DemoPhone: Sendable {
    /// The interval at which it reports; `liveness.on_duty.expected` of `DemoSettings`.
    static let every = Milliseconds.seconds(2)

    /// The condition that it is in. Who looks at Rollcall must find it out from outside.
    enum Condition: Equatable, Sendable {
        /// It collects and reports.
        case reporting
        /// It collects more than gets through: its queue grows from report to report.
        case fading
        /// It collects, and nothing gets through.
        case cut
        /// It reports once more, and then nothing runs on it.
        case leaving
        /// Nothing runs on it.
        case stopped
    }

    /// A fact about itself that a phone reports.
    enum Trait: Equatable, Sendable {
        case permission(String)
        case services(Bool)
        case power(String)
        case appState(String)
        /// From 0 to 1.
        case battery(Double)
    }

    let person: FleetPerson
    private(set) var condition = Condition.reporting
    private var handset = FleetHandset()
    private var isInForeground = false
    private var battery: Double
    /// The instant at which it reports next.
    private var due: Timestamp

    /// The phone of `person`, which reports for the first time at `due`.
    init(_ person: FleetPerson, battery: Double, due: Timestamp) {
        self.person = person
        self.battery = battery
        self.due = due
    }

    /// From now on this is the matter with it. Who reports again does so at once.
    mutating func become(_ condition: Condition, at now: Timestamp) {
        if condition == .reporting || condition == .leaving { due = now }
        self.condition = condition
    }

    /// From now on it says this about itself.
    mutating func say(_ trait: Trait) {
        switch trait {
        case .permission(let word): handset.isDenied = word == "denied"
        case .services(let areOn): handset.areServicesOff = !areOn
        case .power(let word): handset.savesPower = word == "low_power"
        case .appState(let word): isInForeground = word == "foreground"
        case .battery(let level): battery = level
        }
    }

    /// The batch that its backend has received from it by now; nil if there is none.
    mutating func report(at now: Timestamp) -> FleetBatch? {
        guard due <= now else { return nil }
        // After a stall it does not make up for what it missed.
        due = due + Self.every > now ? due + Self.every : now + Self.every
        guard condition != .stopped else { return nil }
        collect(at: now)
        guard condition != .cut else { return nil }
        let updates = Array(handset.queue.prefix(condition == .fading ? 1 : .max))
        handset.queue.removeFirst(updates.count)
        if condition == .leaving { condition = .stopped }
        battery = max(0.01, battery - 0.0002)
        var batch = handset.batch(updates, receivedAt: now.milliseconds)
        batch.duty = .onDuty
        batch.battery = Int8((battery * 100).rounded())
        batch.telemetry = handset.telemetry(
            isInForeground: isInForeground, queueDepth: handset.queue.count)
        return batch
    }

    /// Takes locations, as far as the phone lets the app.
    private mutating func collect(at now: Timestamp) {
        guard !handset.isDenied, !handset.areServicesOff else { return }
        // Who moves out of a good network moves.
        let ages: [Int64] = condition == .fading ? [1500, 900, 300] : [300]
        for age in ages { handset.collect(now.milliseconds - age) }
    }
}
