/// An alert about the store, which no store can be asked for: RollcallStoreFailing, because it says
/// that nothing can be stored, and RollcallStateLost, because what was stored is gone. Told from
/// memory. Source: A5.
///
/// A value like the outbox: the state writer tells it when commits fail and work, sends what it
/// gives out and tells it what came of that. What it must know after a restart is one mark, which
/// the state writer leaves where a full disk takes it.
package struct StoreAlarm: Equatable, Sendable {
    /// A `State` says where the alarm stands.
    ///
    ///     fine ── a commit failed ──► failing ── 5 s ──► firing ── a commit worked ──► ending
    ///      ▲ ◄── a commit worked ──────┘  ▲                                           │  │
    ///      │                              └────────────── a commit failed ────────────┘  │
    ///      └─────────────────────────── everybody knows that it is over ────────────────┘
    package enum State: Equatable, Sendable {
        /// Commits work, and nobody has to be told of anything.
        case fine
        /// Commits fail, for less than `firesAfter`.
        case failing(since: RunningTime)
        /// Everybody is to know.
        case firing
        /// Commits work again, and not everybody who was told knows.
        case ending(since: RunningTime)
    }

    /// The time for which commits must fail before anybody is woken: as long as a turn may be late
    /// before that counts as blindness (B1). A lock that a backup holds, or a file that is rotated
    /// away from a full disk, is over before.
    package static let firesAfter = Engine.turnEvery
    /// The interval at which those who know are notified again.
    package static let repeatEvery = Milliseconds.seconds(10 * 60)

    /// A `Subject` says what the alarm is about.
    package enum Subject: Equatable, Sendable {
        /// RollcallStoreFailing: it goes on until a commit works.
        case failing
        /// RollcallStateLost: it happened, and is told once.
        case lost(StateLossCause)

        /// The alert.
        package var name: AlertName {
            self == .failing ? .rollcallStoreFailing : .rollcallStateLost
        }

        /// Somebody has to get up (D2).
        fileprivate var isUrgent: Bool { AlertRules()[name].severity == .critical }

        /// The word that its keys are made of.
        package var word: String { self == .failing ? "store" : "state" }

        /// The interval at which those who know are notified again of what goes on.
        fileprivate var repeatEvery: Milliseconds {
            self == .failing ? StoreAlarm.repeatEvery : .seconds(366 * 86_400)
        }
    }

    /// A `Sending` is a message that is to be sent to one address.
    package struct Sending: Equatable, Sendable {
        package let queue: QueueKey
        package let subject: Subject
        package let kind: Notice.Kind
        /// The id that tells it from other messages of the alarm, the same over retries.
        package let id: String
        package let member: NoticeMember
        /// The number of this attempt at the message.
        package let attempt: Int
    }

    /// A `Queue` holds what one address knows.
    private struct Queue: Equatable, Sendable {
        var kind: ReceiverKind
        /// The instant at which it took the message that it fires; nil before.
        var notifiedAt: Timestamp?
        /// Something may have arrived.
        var isUnsure = false
        /// It took the message that it is over.
        var isEnded = false
        var busy: Notice.Kind?
        /// The instant from which there is something to send to it, if it answers.
        var next: RunningTime
        /// A refusal counts as well: there is one message only.
        var outage = Outage()
        /// It refused the last message.
        var isRefused = false
        /// The change of its endpoint while something was in flight; nil without one.
        var changeMeanwhile: EndpointChange?
        /// Messages that it took.
        var taken = 0

        mutating func retrySoon(_ change: EndpointChange, now: RunningTime, _ times: OutboxTimes) {
            if busy != nil { changeMeanwhile = max(changeMeanwhile ?? change, change) }
            guard outage.isAway, isRefused || change == .place else { return }
            let soonest = times.soonest(change, now: now, triedAt: outage.triedAt)
            outage.retrySoon(to: soonest, opens: true, times)
        }

        /// Makes it due now, since what is new is sent at once.
        mutating func hurry(now: RunningTime, _ times: OutboxTimes) {
            next = now
            outage.retrySoon(to: now, opens: true, times)
        }
    }

    package let subject: Subject
    package private(set) var state = State.fine
    /// The instant at which the first commit failed.
    package private(set) var activeAt = Timestamp.distantPast
    /// The instant at which it fired, as those see it who were not notified yet that it was over.
    package private(set) var startsAt = Timestamp.distantPast
    /// The instant at which it fired last, which tells messages of one firing from another's.
    private var firedAt = Timestamp.distantPast
    /// Since when it fires, as far as somebody was to be told; nil while it does not.
    private var firingSince: RunningTime?
    /// The instant at which it was over.
    package private(set) var endsAt = Timestamp.distantPast
    /// True if the mark is left, or was tried to be.
    package private(set) var isMarked = false
    private let times: OutboxTimes
    private var queues: [QueueKey: Queue] = [:]

    /// An alarm at a start, when a commit has just worked. With a mark of the time at which it
    /// fired, the last process could not say that it is over: nobody knows who was told, so
    /// everybody who may have been gets to know.
    package init(
        markedAt: Timestamp? = nil, receivers: [Receiver] = [], now: RunningTime,
        wall: Timestamp, times: OutboxTimes = OutboxTimes()
    ) {
        self.times = times
        subject = .failing
        guard let markedAt else { return }
        (activeAt, startsAt, firedAt) = (markedAt, markedAt, markedAt)
        endsAt = max(markedAt, wall)
        state = .ending(since: now)
        isMarked = true
        queues = Self.addresses(receivers, .failing).mapValues {
            Queue(kind: $0.kind, isUnsure: true, next: now)
        }
    }

    /// An alarm of what was lost at `wall`: it fires at once, under the same ids after a restart.
    package init(
        lost cause: StateLossCause, at wall: Timestamp, times: OutboxTimes = OutboxTimes()
    ) {
        self.times = times
        subject = .lost(cause)
        (activeAt, startsAt, firedAt) = (wall, wall, wall)
        state = .firing
        isMarked = true
    }

    // MARK: - What happens

    /// A commit failed.
    package mutating func failed(now: RunningTime, wall: Timestamp) {
        switch state {
        case .fine:
            activeAt = wall
            state = .failing(since: now)
        case .ending:
            // For who knows that it was over, this is another.
            if isKnownToBeOver { activeAt = wall }
            state = .failing(since: now)
        case .failing, .firing: break
        }
    }

    /// A commit worked.
    package mutating func worked(now: RunningTime, wall: Timestamp) {
        switch state {
        case .failing where queues.isEmpty: state = .fine
        // It did not fire again, so there is no other end to tell of.
        case .failing where isKnownToBeOver: state = .ending(since: now)
        case .failing, .firing:
            endsAt = wall
            state = .ending(since: now)
            for key in queues.keys where queues[key]?.busy == nil {
                queues[key]?.hurry(now: now, times)
            }
        case .fine, .ending: break
        }
    }

    /// Time passes: true if it has just fired.
    package mutating func advance(now: RunningTime, wall: Timestamp) -> Bool {
        guard case .failing(let since) = state, now - since >= Self.firesAfter else { return false }
        state = .firing
        firedAt = wall
        // For who does not know yet that it was over, it never was.
        if isKnownToBeOver { startsAt = wall }
        // Whoever is told again that it is over would wait for that.
        for (key, queue) in queues where queue.isEnded && queue.busy == nil && !queue.outage.isAway
        {
            queues[key]?.next = now
        }
        return true
    }

    /// Nobody thinks that it still fires; some may be told the end again.
    private var isKnownToBeOver: Bool { queues.values.allSatisfy(\.isEnded) }

    /// Returns what the mark should be, if it is not: the time at which it fired, or none.
    package var markDue: Mark? {
        switch state {
        case .firing where !isMarked: .some(.set(startsAt))
        case .fine where isMarked: .some(.cleared)
        case .ending where isMarked && isKnownToBeOver: .some(.cleared)
        default: nil
        }
    }

    /// A `Mark` says when the alarm fired, or that the mark is cleared.
    package enum Mark: Equatable, Sendable {
        case set(Timestamp)
        case cleared
    }

    /// The mark was left or taken away, or could not be: either way the alarm goes on.
    package mutating func marked(_ mark: Mark) { isMarked = mark != .cleared }

    /// Settings were read again, and say so much of the ways to addresses: as `Outbox.retrySoon`.
    package mutating func retrySoon(_ changes: EndpointChanges, now: RunningTime) {
        for key in queues.keys { queues[key]?.retrySoon(changes.of(key), now: now, times) }
    }

    // MARK: - What is sent

    /// Begins what is due: to the addresses of those who want the alert and whom `isMuted` does not
    /// keep from it. An end is never muted (A7).
    package mutating func begin(
        receivers: [Receiver], isMuted: Bool, now: RunningTime
    ) -> [Sending] {
        let wanted = Self.addresses(receivers, subject)
        for (key, queue) in queues where wanted[key] == nil && queue.busy == nil {
            queues[key] = nil
        }
        var sendings: [Sending] = []
        firingSince = state == .firing ? firingSince ?? now : nil
        switch state {
        case .fine, .failing: break
        case .firing:
            guard !isMuted, isMarked else { break }
            for (key, receiver) in wanted {
                // Nobody can take what no store holds: who escalates is told in time (R2).
                let escalates = (firingSince ?? now) + receiver.escalateAfter
                guard queues[key] != nil || escalates <= now else { continue }
                var queue = queues[key] ?? Queue(kind: receiver.kind, next: now)
                if queue.busy == nil, ready(queue) <= now {
                    let kind = queue.notifiedAt == nil ? Notice.Kind.fired : .repeated
                    queue.busy = kind
                    queue.isEnded = false
                    sendings.append(sending(key, queue, kind))
                }
                queues[key] = queue
            }
        case .ending(let since):
            for key in queues.keys { finish(key, wanted[key], since, now) }
            for (key, queue) in queues where queue.busy == nil && ready(queue) <= now {
                queues[key]?.busy = .resolved
                sendings.append(sending(key, queue, .resolved))
            }
            if queues.isEmpty { state = .fine }
        }
        return sendings.sorted { $0.queue < $1.queue }
    }

    /// Forgets an address that need not be told of the end, or has been for long enough.
    private mutating func finish(
        _ key: QueueKey, _ receiver: Receiver?, _ since: RunningTime, _ now: RunningTime
    ) {
        guard let queue = queues[key], queue.busy == nil else { return }
        // An Alertmanager is told again for a while, in case that it forgets (A8).
        let timeout = receiver?.resolveTimeout ?? Milliseconds(0)
        let patience = queue.isEnded ? max(times.refreshEndedFor, timeout) : times.resolveFor
        let isAlertmanager = queue.kind == .alertmanager
        let isOver =
            now - since >= patience || (queue.isEnded && !isAlertmanager)
            || (!queue.isEnded && queue.notifiedAt == nil && !queue.isUnsure)
            || receiver.map { !$0.sendsResolved && !isAlertmanager } ?? true
        if isOver { queues[key] = nil }
    }

    /// Notes what an attempt came to.
    package mutating func end(
        _ key: QueueKey, _ verdict: OutboxVerdict, mayHaveArrived: Bool,
        retryAfter: Milliseconds? = nil, now: RunningTime, wall: Timestamp
    ) {
        guard var queue = queues[key], let kind = queue.busy else { return }
        queue.busy = nil
        queue.isRefused = verdict == .refused
        if verdict == .delivered {
            queue.outage.answered(now: now)
            queue.taken += 1
            if kind == .resolved {
                queue.isEnded = true
                (queue.notifiedAt, queue.isUnsure) = (nil, false)
            } else if queue.notifiedAt == nil {
                queue.notifiedAt = wall
            }
            let isAlertmanager = queue.kind == .alertmanager
            queue.next = now + (isAlertmanager ? times.refreshEvery : subject.repeatEvery)
        } else {
            let seed = UInt64(bitPattern: startsAt.milliseconds) ^ UInt64(queue.outage.failures + 1)
            queue.outage.failed(
                now: now,
                wish: verdict == .refused ? times.refusedEvery : times.heeded(retryAfter),
                seed: seed ^ UInt64(key.target) << 32)
            if verdict == .failed { queue.isUnsure = queue.isUnsure || mayHaveArrived }
        }
        if let change = queue.changeMeanwhile { queue.retrySoon(change, now: now, times) }
        queue.changeMeanwhile = nil
        // What came meanwhile is told at once, in its order.
        if case .ending = state, kind != .resolved { queue.hurry(now: now, times) }
        if state == .firing, kind == .resolved { queue.hurry(now: now, times) }
        queues[key] = queue
    }

    private func sending(_ key: QueueKey, _ queue: Queue, _ kind: Notice.Kind) -> Sending {
        var member = subject.member
        member.startsAt = startsAt
        if kind == .resolved { member.endsAt = max(endsAt, startsAt) }
        return Sending(
            queue: key, subject: subject, kind: kind,
            id: "\(subject.word)-\(firedAt.milliseconds)-\(kind.word)-\(queue.taken)",
            member: member,
            attempt: queue.outage.failures + 1)
    }

    private func ready(_ queue: Queue) -> RunningTime {
        max(queue.next, queue.outage.pausedUntil(isUrgent: subject.isUrgent, times))
    }

    // MARK: - What it says

    /// The silence that mutes it at `now`. `engine` is of the last commit: its silences do not end
    /// by themselves as long as nothing is evaluated.
    package func silence(in engine: Engine, now: RunningTime) -> Silence? {
        let labels = subject.member.labels
        return engine.alerting.notifications.silences.first {
            $0.ends > now && $0.matchers.fit(labels)
        }
    }

    /// Returns the state of the alert; nil if it has none.
    package var alertState: AlertState? {
        switch state {
        case .fine, .ending: nil
        case .failing: isKnownToBeOver ? .pending : .firing
        case .firing: .firing
        }
    }

    /// Returns who took the message that it fires, and when; by name.
    package var notified: [(receiver: [UInt8], at: Timestamp)] {
        queues.sorted { $0.key < $1.key }.compactMap { key, queue in
            queue.notifiedAt.map { (key.receiver, $0) }
        }
    }

    /// Returns how far its news has come, by address.
    package var reaches: [Reach] {
        queues.sorted { $0.key < $1.key }.map { key, queue in
            var reach = Reach(
                receiver: key.receiver, target: key.target, state: .waiting, decidedAt: startsAt)
            reach.attempts = queue.outage.failures + queue.taken
            reach.takenAt = queue.notifiedAt
            if queue.notifiedAt != nil {
                reach.state = .taken
            } else {
                let isTried = reach.attempts > 0 || queue.busy != nil
                reach.state = queue.isRefused ? .refused : isTried ? .trying : .waiting
                if queue.busy == nil { reach.nextAttemptAt = ready(queue) }
            }
            return reach
        }
    }

    /// Returns who is not notified because of `silence`, by name, with its number.
    package func receiversMuted(
        by silence: Silence?, of receivers: [Receiver]
    ) -> [(receiver: [UInt8], silence: Int64)] {
        guard let silence, state == .firing else { return [] }
        let known = Set(notified.map(\.receiver))
        return receivers.filter { $0.wants(subject.member.labels) && !known.contains($0.name) }
            .map { ($0.name, silence.number) }
    }

    private static func addresses(
        _ receivers: [Receiver], _ subject: Subject
    ) -> [QueueKey: Receiver] {
        var addresses: [QueueKey: Receiver] = [:]
        for receiver in receivers where receiver.wants(subject.member.labels) {
            for target in 0..<max(1, receiver.targets) {
                addresses[QueueKey(receiver: receiver.name, target: target)] = receiver
            }
        }
        return addresses
    }
}
