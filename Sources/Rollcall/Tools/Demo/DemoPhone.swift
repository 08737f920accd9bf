import RollcallCore

/// A phone of the demo, and the backend's view of it: what it collects, what gets through.
///
/// Its clock is right, and it lies still or moves as little as possible: what is shown is silence,
/// not movement. It has no coordinates at all.
struct DemoPhone: Equatable, Sendable {
    /// The interval at which it reports; `liveness.on_duty.expected` of `DemoSettings`.
    static let every = Milliseconds.seconds(2)
    /// Locations that wait on it at most; beyond it the oldest go.
    static let waitingMax = 1000

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

    /// A location that waits to be sent: all of it that Rollcall keeps.
    private struct Update: Equatable, Sendable {
        let sequence: Int64
        let capturedAt: Timestamp
    }

    let id: String
    let region: String
    let platform: String
    private(set) var condition = Condition.reporting
    private var permission = "granted"
    private var hasServices = true
    private var power = "normal"
    private var appState = "background"
    private var battery: Double
    private var sequence: Int64 = 0
    private var waiting: [Update] = []
    /// The instant at which it reports next.
    private var due: Timestamp

    /// A phone that reports for the first time at `due`.
    init(id: String, region: String, platform: String, battery: Double, due: Timestamp) {
        self.id = id
        self.region = region
        self.platform = platform
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
        case .permission(let word): permission = word
        case .services(let areOn): hasServices = areOn
        case .power(let word): power = word
        case .appState(let word): appState = word
        case .battery(let level): battery = level
        }
    }

    /// The batch that its backend has received from it by now; nil if there is none.
    mutating func batch(at now: Timestamp) -> JSONTree? {
        guard due <= now else { return nil }
        // After a stall it does not make up for what it missed.
        due = due + Self.every > now ? due + Self.every : now + Self.every
        guard condition != .stopped else { return nil }
        collect(at: now)
        guard condition != .cut else { return nil }
        let sent = condition == .fading ? min(1, waiting.count) : waiting.count
        let updates = waiting.prefix(sent)
        waiting.removeFirst(sent)
        if condition == .leaving { condition = .stopped }
        battery = max(0.01, battery - 0.0002)
        return [
            "responder_id": .text(id), "received_at": .text(RFC3339.string(now)),
            "duty_state": "ON_DUTY", "region": .text(region), "platform": .text(platform),
            "app_version": "4.1.0", "battery_level": .number((battery * 100).rounded() / 100),
            "telemetry": [
                "permission_status": .text(permission), "location_services": .boolean(hasServices),
                "power_mode": .text(power), "app_state": .text(appState),
                "network_type": "cellular", "queue_depth": .integer(Int64(waiting.count)),
            ],
            "updates": .list(
                updates.map {
                    [
                        "sequence": .integer($0.sequence),
                        "captured_at": .text(RFC3339.string($0.capturedAt)),
                    ]
                }),
        ]
    }

    /// Takes locations, as far as the phone lets the app.
    private mutating func collect(at now: Timestamp) {
        guard permission == "granted", hasServices else { return }
        // Who moves out of a good network moves.
        let ages: [Int64] = condition == .fading ? [1500, 900, 300] : [300]
        for age in ages {
            sequence += 1
            waiting.append(Update(sequence: sequence, capturedAt: now - Milliseconds(age)))
        }
        waiting.removeFirst(max(0, waiting.count - Self.waitingMax))
    }
}
