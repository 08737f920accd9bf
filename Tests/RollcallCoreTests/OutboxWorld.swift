@testable import RollcallCore

/// A pager, alerts that come and go, an outbox and its store: small enough to be walked through
/// whole. A pager opens an incident anew if its trigger comes once more after its resolve.
struct OutboxWorld {
    /// What can happen next.
    enum Step: Equatable {
        case fire(Int)
        case resolve(Int)
        case repeats(Int)
        /// A turn of the state writer; killed before or after its attempts are sent.
        case turn(killed: Bool)
        /// What becomes of what is being sent: whether it was taken, and what is seen of that.
        case result(isTaken: Bool, OutboxVerdict)
        /// It was taken or not, and we are killed before the result is stored.
        case killed(isTaken: Bool)
    }

    private static let times: OutboxTimes = {
        var times = OutboxTimes()
        times.retryMin = Milliseconds(1)
        times.retryMax = Milliseconds(1)
        times.refusedEvery = Milliseconds(1)
        return times
    }()

    private let receivers: [Receiver]
    private let isGrouped: Bool
    private(set) var outbox: Outbox
    private var rows: [Int64: OutboxMessage] = [:]
    private var now = RunningTime(milliseconds: 0)
    private var notices: Int64 = 0
    /// The incident of each alert that fires, 0 for none; how often it may fire.
    private var firing: [Int64]
    private var firesLeft: [Int]
    private var repeatsLeft: Int
    private var incidents: Int64 = 0
    /// On its way to the pager.
    private var flying: OutboxMessage?
    /// Which alert each incident is of.
    private var alertOf: [Int64: Int64] = [:]
    /// The pager's side: what is open, by keys.
    private var open: Set<Int64> = []
    private var opened: [Int64: Int] = [:]
    /// Notices of which the 2xx is stored, and incidents whose resolve is.
    private var delivered: Set<Int64> = []
    private var resolved: Set<Int64> = []
    /// What must never be.
    private(set) var faults: [String] = []

    init(_ kind: ReceiverKind, alerts: Int, fires: Int, repeats: Int) {
        receivers = [OutboxStage.receiver("oncall", kind)]
        isGrouped = kind != .pagerduty
        outbox = Outbox(store: 1, now: now, times: Self.times)
        outbox.follow(receivers)
        firing = [Int64](repeating: 0, count: alerts)
        firesLeft = [Int](repeating: fires, count: alerts)
        repeatsLeft = repeats
    }

    /// All that tells this world from others. Times do not: whatever waits is due.
    var state: String {
        func text(_ message: OutboxMessage) -> String {
            "\(message.number).\(message.notice.kind.rawValue).\(message.left)."
                + "\(message.state.rawValue).\(min(1, message.attempts))"
        }
        let messages = outbox.queues.flatMap { $0.open + $0.known.inOrder }.map(text)
        let stored = rows.sorted { $0.key < $1.key }.filter { $0.value.state != .over }
            .map { text($0.value) }
        return "\(firing)\(firesLeft)\(repeatsLeft)\(messages)\(stored)\(flying.map(text) ?? "")"
            + "\(open.sorted())\(opened.sorted { $0.key < $1.key })\(resolved.sorted())"
            + "\(delivered.sorted())\(notices)"
    }

    /// What can happen now.
    var steps: [Step] {
        var steps: [Step] = []
        for alert in firing.indices {
            if firing[alert] == 0, firesLeft[alert] > 0 { steps.append(.fire(alert)) }
            if firing[alert] > 0 { steps.append(.resolve(alert)) }
            if firing[alert] > 0, repeatsLeft > 0 { steps.append(.repeats(alert)) }
        }
        if isGrouped, firing.count > 1, firing.allSatisfy({ $0 == 0 }), firesLeft[0] > 0,
            firesLeft[1] > 0
        {
            steps.append(.fire(-1))
        }
        if flying != nil {
            steps += [
                .result(isTaken: true, .delivered), .result(isTaken: true, .failed),
                .result(isTaken: false, .failed), .result(isTaken: false, .refused),
                .killed(isTaken: true), .killed(isTaken: false),
            ]
        } else if outbox.queues.contains(where: { !$0.open.isEmpty }) {
            steps += [.turn(killed: false), .turn(killed: true)]
        }
        return steps
    }

    /// The world after `step`.
    func after(_ step: Step) -> OutboxWorld {
        var world = self
        world.take(step)
        return world
    }

    private mutating func take(_ step: Step) {
        now = now + Milliseconds(1000)
        switch step {
        case .fire(let alert):
            let alerts = alert < 0 ? Array(firing.indices) : [alert]
            for alert in alerts {
                incidents += 1
                firing[alert] = incidents
                alertOf[incidents] = Int64(alert)
                firesLeft[alert] -= 1
            }
            decide(.fired, alerts)
        case .resolve(let alert):
            decide(.resolved, [alert])
            resolved.insert(firing[alert])
            firing[alert] = 0
        case .repeats(let alert):
            repeatsLeft -= 1
            decide(.repeated, [alert])
        case .turn(let isKilled):
            settle()
            let sendings = outbox.begin(now: now)
            store()
            if isKilled { return restart() }
            for sending in sendings {
                guard case .message(let message, _, _) = sending.content else { continue }
                check(message)
                flying = message
            }
        case .result(let isTaken, let verdict):
            if isTaken { arrive() }
            if let flying {
                _ = outbox.end(
                    flying.number, in: flying.queue, verdict, now: now, wall: OutboxStage.wall)
                if verdict == .delivered { delivered.insert(flying.number) }
            }
            flying = nil
            settle()
            store()
        case .killed(let isTaken):
            if isTaken { arrive() }
            flying = nil
            restart()
        }
    }

    private mutating func decide(_ kind: Notice.Kind, _ alerts: [Int]) {
        notices += 1
        let members = alerts.map {
            OutboxStage.member(firing[$0], region: "alert \($0)")
        }
        let notice = Notice(
            number: notices, receiver: receivers[0].name, kind: kind, members: members)
        outbox.decide(notice, at: OutboxStage.wall, now: now)
        store()
    }

    private mutating func settle() {
        _ = outbox.settle(now: now, wall: OutboxStage.wall)
    }

    private mutating func store() {
        let changes = outbox.takeChanges()
        for message in changes.added + changes.changed { rows[message.number] = message }
    }

    private mutating func restart() {
        let messages = rows.values.sorted { $0.number < $1.number }
        outbox = Outbox(store: 1, messages: messages, now: now, times: Self.times)
        outbox.follow(receivers)
    }

    /// What goes out must be right whatever becomes of it.
    private mutating func check(_ message: OutboxMessage) {
        if delivered.contains(message.number) { faults.append("\(message.number) sent after 2xx") }
        for member in message.members where message.isTrigger && resolved.contains(member.incident)
        {
            faults.append("trigger of \(member.incident) after its end")
        }
    }

    private mutating func arrive() {
        guard let flying else { return }
        for incident in flying.members.map(\.incident) {
            if !flying.isTrigger {
                open.remove(key(incident))
            } else if open.insert(key(incident)).inserted {
                opened[incident, default: 0] += 1
                if opened[incident] == 2 { faults.append("\(incident) opened twice") }
            }
        }
    }

    /// A pager tells incidents apart, all others alerts.
    private func key(_ incident: Int64) -> Int64 {
        isGrouped ? alertOf[incident] ?? -1 : incident
    }

    /// What the pager shows once everything works for long enough, and should not, or the reverse.
    var faultsAfterHealing: [String] {
        var world = self
        if world.flying != nil { world.take(.result(isTaken: true, .failed)) }
        for _ in 0..<50 {
            guard let step = world.healing else { break }
            world.take(step)
        }
        let incidents = world.firing.filter { $0 > 0 }
        let truth = Set(incidents.map { world.key($0) })
        var faults = world.faults
        if world.open != truth {
            faults.append("open \(world.open.sorted()), true \(truth.sorted())")
        }
        if world.outbox.queues.contains(where: { !$0.open.isEmpty }) {
            faults.append("not drained")
        }
        for incident in incidents where !isGrouped && world.opened[incident] != 1 {
            faults.append("\(incident) opened \(world.opened[incident] ?? 0) times")
        }
        return faults
    }

    private var healing: Step? {
        if flying != nil { return .result(isTaken: true, .delivered) }
        let isOpen = outbox.queues.contains { !$0.open.isEmpty }
        return isOpen ? .turn(killed: false) : nil
    }
}
