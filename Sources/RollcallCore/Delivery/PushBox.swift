/// The pushes on their way to phones: which is sent next, when, and what becomes of it.
///
/// A value without clock, threads and rows, like the outbox, and its opposite in one thing: what
/// may have gone out is never sent again, since one missed nudge is better than a double one (N7).
/// The state writer writes down what it changes, and sends only what is written.
///
/// Every end is handed over by `settle`, in the turn in which its row is written.
package struct PushBox: Equatable, Sendable {
    /// Pushes that wait, at most. Beyond it the oldest expire, wakes before nudges.
    package static let waitingMax = 10_000
    /// Tickets whose receipts are waited for, at most. Beyond it the oldest are never asked for.
    package static let ticketsMax = 100_000
    /// Pushes in one call to Expo: "an array of up to 100 messages".
    package static let expoMessagesMax = 100
    /// Receipts in one call to Expo: "IDs must contain no more than 300 ids" is its answer beyond.
    package static let expoReceiptsMax = 300
    /// Calls to a webhook at once, of one kind: each carries one push.
    package static let webhookQueues = 4

    /// The store's number: what jitter is made of.
    package let store: UInt64
    package let times: PushTimes
    let waitingMax: Int
    let ticketsMax: Int
    /// The sink that the settings name.
    package private(set) var sink = NudgeRules.Sink.none
    /// The pushes that wait or are being sent, by number.
    private(set) var open: [PushMessage] = []
    /// The pushes whose receipts are waited for.
    private(set) var tickets = PushTickets()
    /// The pushes that are over, with their outcomes, and not handed over yet.
    private var ending: [PushMessage] = []
    /// The pushes under way, by number.
    private var busy: [PushQueue: [Int64]] = [:]
    /// The changes of the way to the sink since they left, of those under way.
    private var changesMeanwhile: [PushQueue: EndpointChange] = [:]
    private var probe: PushQueue?
    /// The effect of the sink on attempts.
    private var outage = Outage()
    /// Until then a push from before a start waits, maybe because the sink wanted that.
    private var restoredUntil = RunningTime.distantPast
    private var changes = ChangedRows<PushMessage>()
    /// The result of `due`, until something changes.
    private var dueKnown: RunningTime?

    /// A box of `messages` as the store keeps them, at a start. In a store that was restored even
    /// what waits may have been sent, by whoever went on with it before (N2).
    package init(
        store: UInt64, messages: [PushMessage] = [], isRestored: Bool = false,
        times: PushTimes = PushTimes(), waitingMax: Int = Self.waitingMax,
        ticketsMax: Int = Self.ticketsMax
    ) {
        self.store = store
        self.times = times
        self.waitingMax = waitingMax
        self.ticketsMax = ticketsMax
        for message in messages {
            switch message.state {
            case .waiting where !isRestored:
                open.append(message)
                if message.attempts > 0 { restoredUntil = max(restoredUntil, message.next) }
            case .waiting, .sending: end(message, .unknown)
            case .ticketed: tickets.restore(message)
            case .over: break
            }
        }
        open.sort { $0.number < $1.number }
    }

    // MARK: - What is decided

    /// Takes the sink of the settings. Without one nothing waits any longer, and only the one that
    /// gave a ticket knows what became of it.
    package mutating func follow(_ sink: NudgeRules.Sink) {
        guard sink != self.sink else { return }
        self.sink = sink
        dueKnown = nil
        outage.forget()
        tickets.forgetFailures()
    }

    /// Settings were read again, and say so much of the way to the sink: what certainly was not
    /// sent is tried sooner (N-09). Returns how many pushes that retries soon.
    @discardableResult package mutating func retrySoon(
        _ change: EndpointChange, now: RunningTime
    ) -> Int {
        dueKnown = nil
        // They may have left by the way from before.
        for queue in busy.keys where queue.load != .receipts {
            changesMeanwhile[queue] = max(changesMeanwhile[queue] ?? change, change)
        }
        let (times, paused) = (times.attempts, pausedUntil)
        var soonest = times.soonest(change, now: now, triedAt: outage.triedAt)
        if change == .place {
            outage.moved(soonest: soonest, times)
            for place in open.indices { open[place].strikes = 0 }
            tickets.forgetFailures()
        } else {
            // What the sink asked for, or may have before a start, still holds.
            outage.retrySoon(to: soonest, opens: false, times)
            soonest = max(soonest, outage.closedUntil, restoredUntil)
        }
        var count = 0
        for place in open.indices where open[place].state == .waiting && open[place].attempts > 0 {
            guard soonest < max(open[place].next, paused) else { continue }
            open[place].next = min(open[place].next, soonest)
            note(open[place])
            count += 1
        }
        return count
    }

    /// Takes a push that is decided now.
    package mutating func decide(_ message: PushMessage) {
        let place = open.lastIndex { $0.number < message.number }
        open.insert(message, at: place.map { $0 + 1 } ?? 0)
        dueKnown = nil
        changes.note(message.number, message, isNew: true)
    }

    // MARK: - What is due

    /// Returns the instant at which `settle` or `begin` next has something to do.
    package mutating func due() -> RunningTime {
        if let dueKnown { return dueKnown }
        var due = tickets.due(isFree: queue(.receipts) != nil, times.attempts)
        let tickets = tickets.waiting.count
        if !ending.isEmpty || waitingCount > waitingMax || tickets > ticketsMax
            || (sink != .expo && tickets > 0)
        {
            due = .distantPast
        }
        let paused = pausedUntil
        let isFree = PushKind.allCases.map { queue(.pushes($0)) != nil }
        for place in open.indices where open[place].state == .waiting {
            due = min(due, sink == .none ? .distantPast : open[place].until)
            if isFree[Int(open[place].kind.rawValue)] {
                due = min(due, max(open[place].next, paused))
            }
        }
        dueKnown = due
        return due
    }

    /// Ends what has nothing more to wait for, and hands over all that is over: to be told the
    /// engine in the turn in which the changes are written.
    package mutating func settle(now: RunningTime, wall: Timestamp) -> [PushEnd] {
        guard due() <= now else { return [] }
        dueKnown = nil
        endWaiting(now: now)
        for message in tickets.giveUp(now: now, countMax: ticketsMax, all: sink != .expo) {
            end(message, .unknown)
        }
        defer { ending = [] }
        return ending.map { message in
            var message = message
            message.state = .over
            message.ticket = []
            message.finishedAt = wall
            note(message)
            return PushEnd(
                number: message.number, person: message.person, kind: message.kind,
                outcome: message.outcome ?? .unknown, token: message.token)
        }
    }

    private mutating func endWaiting(now: RunningTime) {
        var excess = waitingCount - waitingMax
        var victims: Set<Int64> = []
        for kind in [PushKind.wake, .nudge] where excess > 0 {
            for message in open where message.kind == kind && message.state == .waiting {
                guard excess > 0 else { break }
                victims.insert(message.number)
                excess -= 1
            }
        }
        let all = open
        open = []
        for message in all {
            let isOver =
                sink == .none || message.until <= now || victims.contains(message.number)
            if message.state == .waiting, isOver {
                end(message, sink == .none ? .removed : .expired)
            } else {
                open.append(message)
            }
        }
    }

    private mutating func end(_ message: PushMessage, _ outcome: PushOutcome) {
        var message = message
        message.outcome = outcome
        ending.append(message)
        dueKnown = nil
    }

    // MARK: - What is sent

    /// Begins what is due, as far as somebody is free to carry it. To be stored before it is sent.
    /// What is not wanted any more comes to its end in the next turn.
    package mutating func begin(
        now: RunningTime, isWanted: (PushMessage) -> Bool
    ) -> [PushSending] {
        guard sink != .none, due() <= now else { return [] }
        dueKnown = nil
        var sendings: [PushSending] = []
        // A wake is worth nothing a minute later.
        for kind in [PushKind.wake, .nudge] {
            while let queue = queue(.pushes(kind)) {
                let messages = claim(kind, now: now, isWanted)
                if messages.isEmpty { break }
                busy[queue] = messages.map(\.number)
                probe = outage.isAway ? queue : nil
                sendings.append(PushSending(queue: queue, sink: sink, messages: messages))
            }
        }
        if let queue = queue(.receipts) {
            let messages = tickets.begin(now: now, times.attempts)
            guard !messages.isEmpty else { return sendings }
            busy[queue] = messages.map(\.number)
            sendings.append(PushSending(queue: queue, sink: sink, messages: messages))
        }
        return sendings
    }

    /// A queue that nothing is under way in; nil without one. Expo takes many in a call, and few
    /// calls at once; a sink that is away is tried by one.
    private func queue(_ load: PushQueue.Load) -> PushQueue? {
        if load != .receipts, outage.isAway, isSending { return nil }
        let count: Int
        switch (sink, load) {
        case (.none, _), (.webhook, .receipts): count = 0
        case (.webhook, .pushes): count = Self.webhookQueues
        case (.expo, _): count = 1
        }
        return (0..<count).lazy.map { PushQueue(load, place: $0) }.first { busy[$0] == nil }
    }

    /// The next pushes of one call: what was never tried, then what was tried least recently.
    private mutating func claim(
        _ kind: PushKind, now: RunningTime, _ isWanted: (PushMessage) -> Bool
    ) -> [PushMessage] {
        let room = sink == .expo ? Self.expoMessagesMax : 1
        var places: [Int] = []
        var unwanted: Set<Int64> = []
        let isOpen = pausedUntil <= now
        for isFirst in [true, false] {
            var candidates = open.indices.filter { place in
                let message = open[place]
                return message.kind == kind && message.state == .waiting
                    && (message.attempts == 0) == isFirst && isOpen && message.next <= now
                    && message.until > now
            }
            if !isFirst { candidates.sort { (open[$0].next, $0) < (open[$1].next, $1) } }
            for place in candidates where places.count < room {
                let message = open[place]
                if isWanted(message) {
                    places.append(place)
                } else {
                    unwanted.insert(message.number)
                }
            }
        }
        let claimed = places.map { place in
            open[place].state = .sending
            open[place].attempts += 1
            note(open[place])
            return open[place]
        }
        for message in open where unwanted.contains(message.number) { end(message, .dropped) }
        if !unwanted.isEmpty { open.removeAll { unwanted.contains($0.number) } }
        return claimed
    }

    // MARK: - What came of it

    /// Notes what a call came to. Whatever it does not tell of is not known.
    package mutating func end(_ queue: PushQueue, _ attempts: [PushAttempt], now: RunningTime) {
        guard let numbers = busy.removeValue(forKey: queue) else { return }
        dueKnown = nil
        var notified: [Int64: PushAttempt] = [:]
        for attempt in attempts { notified[attempt.number] = attempt }
        let isTaken = attempts.contains { $0.verdict.isTaken }
        // Of a sink that takes others it is the push that is not taken.
        let isWell = isTaken || !outage.isAway
        var isUnknown = false
        var wish: Milliseconds?
        for number in numbers {
            guard let place = open.firstIndex(where: { $0.number == number }) else { continue }
            let attempt = notified[number] ?? PushAttempt(number, .unknown)
            open[place].token = attempt.token
            switch attempt.verdict {
            case .delivered: finish(place, .delivered)
            case .unregistered: finish(place, .unregistered)
            case .ticketed(let ticket): waitForReceipt(place, ticket, now: now)
            case .unknown:
                finish(place, .unknown)
                isUnknown = true
            case .refused(let retryAfter):
                let heeded = retryAfter.map(times.attempts.heeded)
                if let heeded { wish = max(wish ?? heeded, heeded) }
                refuse(place, retryAfter, isWell: isWell, now: now)
            }
        }
        if isTaken {
            outage.answered(now: now, wish: wish)
        } else {
            let isProbe = probe == queue || !outage.isAway
            let seed = Self.jitter(store, numbers.first ?? 0, UInt64(outage.failures + 1))
            outage.failed(now: now, wish: wish, seed: isProbe ? seed : nil)
            // Nobody knows what it does with a push: each would be lost for a while.
            if isUnknown { outage.close(times.attempts) }
        }
        if let change = changesMeanwhile.removeValue(forKey: queue) { retrySoon(change, now: now) }
    }

    private static func jitter(_ store: UInt64, _ number: Int64, _ salt: UInt64) -> UInt64 {
        OutboxTimes.mixed(OutboxTimes.mixed(store ^ UInt64(bitPattern: number)) ^ salt)
    }

    private mutating func finish(_ place: Int, _ outcome: PushOutcome) {
        end(open.remove(at: place), outcome)
    }

    private mutating func refuse(
        _ place: Int, _ retryAfter: Milliseconds?, isWell: Bool, now: RunningTime
    ) {
        open[place].state = .waiting
        if isWell { open[place].strikes += 1 }
        let seed = Self.jitter(store, open[place].number, ~UInt64(open[place].attempts))
        let (times, strikes) = (times.attempts, open[place].strikes)
        let wait = times.probe(after: strikes, isUrgent: false, seed: seed)
        let least = isWell ? wait : Milliseconds(0)
        open[place].next = now + max(least, times.heeded(retryAfter))
        note(open[place])
    }

    private mutating func waitForReceipt(_ place: Int, _ ticket: [UInt8], now: RunningTime) {
        // Without a ticket nobody can ever ask.
        if ticket.isEmpty { return finish(place, .unknown) }
        var message = open.remove(at: place)
        message.state = .ticketed
        message.ticket = ticket
        message.next = now + times.receiptEvery
        message.until = now + times.receiptFor
        tickets.keep(message)
        note(message)
    }

    /// Notes what the question for receipts came to, in the order of the tickets; nil if it could
    /// not be asked, or was not answered as it should: it does no harm to ask again.
    package mutating func take(
        _ receipts: [ReceiptVerdict]?, in queue: PushQueue, retryAfter: Milliseconds? = nil,
        now: RunningTime
    ) {
        guard busy.removeValue(forKey: queue) != nil else { return }
        dueKnown = nil
        let seed = Self.jitter(store, 0, UInt64(bitPattern: now.milliseconds))
        let wish = times.attempts.heeded(retryAfter)
        let notified = tickets.take(receipts, now: now, wish: wish, seed: seed)
        for (message, receipt) in notified ?? [] {
            switch receipt {
            case .delivered: end(message, .delivered)
            case .unregistered: end(message, .unregistered)
            case .failed: end(message, .failed)
            case .notReady:
                var message = message
                message.next = now + times.receiptEvery
                tickets.keep(message)
                note(message)
            }
        }
    }

    // MARK: - Bookkeeping

    private mutating func note(_ message: PushMessage) {
        dueKnown = nil
        changes.note(message.number, message)
    }

    /// Takes what is to be stored, by number.
    package mutating func takeChanges() -> PushChanges { changes.take() }

    /// True if something is to be stored.
    package var hasChanges: Bool { !changes.isEmpty }

    private var pausedUntil: RunningTime { outage.pausedUntil(times.attempts) }

    /// Pushes that the sink has not taken yet.
    package var pendingCount: Int { open.count }

    /// True while a push is being sent.
    package var isSending: Bool { busy.keys.contains { $0.load != .receipts } }

    private var waitingCount: Int {
        open.count - busy.reduce(0) { $0 + ($1.key.load == .receipts ? 0 : $1.value.count) }
    }
}
