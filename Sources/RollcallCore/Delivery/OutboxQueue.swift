/// The messages to one address, and what it knows. Source: A9, rule D2.
///
/// An attempt costs the same however many messages wait: nothing here looks at all of them but a
/// start and a reload.
struct OutboxQueue: Equatable, Sendable {
    let key: QueueKey
    private(set) var kind: ReceiverKind
    /// The time for which an Alertmanager keeps what fires without word of it.
    private var resolveTimeout = Milliseconds(0)
    /// True once the settings do not know it any more.
    private(set) var isGone: Bool
    /// The messages to be sent.
    private(set) var waiting = OutboxOpen()
    /// The firings that it knows, or may know.
    private(set) var known = OutboxHeld()
    /// Firings that messages do not tell of any more.
    private var withdrawn = OutboxWithdrawn()
    /// By the fingerprints of their labels.
    private(set) var ended: [UInt64: Ended] = [:]
    private(set) var busy: Busy?
    /// The order in which messages are next.
    private var line = OutboxLine()
    /// The effect of the address on attempts.
    private(set) var outage = Outage()
    /// The error of the last attempt; nil if there was none, or another process made it.
    private(set) var lastError: String?
    /// The change of the way there while something was under way.
    private var changeMeanwhile: EndpointChange?
    /// The instant at which it is next told all that fires.
    private(set) var nextRefresh = RunningTime.distantPast
    /// The rows that are to be stored.
    var changes = ChangedRows<OutboxMessage>()

    init(_ key: QueueKey, _ kind: ReceiverKind, isGone: Bool) {
        self.key = key
        self.kind = kind
        self.isGone = isGone
    }

    // MARK: - What is decided

    /// The settings name its receiver; nil if they do not.
    mutating func follow(_ receiver: Receiver?, _ times: OutboxTimes) {
        let kind = receiver?.kind
        resolveTimeout = receiver?.resolveTimeout ?? resolveTimeout
        guard kind == nil || isGone || kind != self.kind else { return }
        isGone = kind == nil
        if isGone {
            // Nobody is told of its end.
            for message in known.inOrder where message.isDrill { forget(message.number, nil) }
            ended = [:]
        }
        self.kind = kind ?? self.kind
        line = OutboxLine()
        for message in open {
            if let kind { waiting.change(message.number) { $0.setOrders(kind) } }
        }
        for message in open { enter(message, times) }
    }

    /// Takes a message over from the store. What was being sent may have arrived or not, and is
    /// sent again at once: the failure was ours.
    mutating func restore(_ message: OutboxMessage, now: RunningTime, _ times: OutboxTimes) {
        var message = message
        guard !message.state.isFinished else { return known.insert(message) }
        message.setOrders(kind)
        if message.attempts > 0 {
            message.triedAt = now
            outage.restore(now: now, until: .distantPast)
        }
        if message.state == .sending {
            message.state = .waiting
            message.next = now
        } else if message.state == .waiting, message.attempts > 0 {
            // A receiver's wish; older versions kept their own waits in it.
            message.next = min(message.next, now + times.retryAfterMax)
            outage.restore(now: now, until: message.next)
        }
        waiting.insert(message)
        enter(message, times)
    }

    /// Takes a message that is decided now.
    mutating func admit(_ message: OutboxMessage, _ times: OutboxTimes) {
        var message = message
        message.setOrders(kind)
        for (place, member) in message.notice.members.enumerated() {
            // One that is still on its way tells it all.
            let isNotified =
                message.isTrigger
                ? !waiting.triggers(of: member.incident).isEmpty : end(member.incident)
            if isNotified { message.remove(place) }
        }
        waiting.insert(message)
        changes.note(message.number, message, isNew: true)
        enter(message, times)
    }

    /// A message takes its place in the line.
    private mutating func enter(_ message: OutboxMessage, _ times: OutboxTimes) {
        line.enter(message, expiry: expiry(message, times), isGone: isGone)
        line.offer(message, in: waiting)
        line.tidy(waiting)
    }

    /// A firing is over: what would tell it has nothing more to tell. True if the receiver cannot
    /// have heard of it, so that nothing is to be told of its end either.
    @discardableResult mutating func end(_ incident: Int64) -> Bool {
        withdraw(incident, isOver: true)
        for number in known.numbers(of: incident) {
            withdrawn.heard(incident)
            forget(number, incident)
        }
        return withdrawn.isUnheard(incident)
    }

    /// Withdraws the messages that would tell of a firing singly, for it is over or told together
    /// with others; then what is on its way may still be taken.
    mutating func withdraw(_ incident: Int64, isOver: Bool = false) {
        let messages = waiting.triggers(of: incident).compactMap { waiting[$0] }
        for message in withdrawn.take(incident, from: messages, isOver: isOver) {
            if let place = message.place(of: incident) { remove([place], from: message) }
        }
    }

    /// Some of a message is not to be told any more; what waited for that may be free.
    private mutating func remove(_ places: [Int], from message: OutboxMessage) {
        let left = waiting.change(message.number) { message in
            for place in places { message.remove(place) }
        }
        guard let left else { return }
        note(left)
        line.settle(left, isGone: isGone)
        line.offer(waiting.behind(message), in: waiting)
    }

    /// It is no longer by this message that the receiver knows of a firing, or of any.
    private mutating func forget(_ notice: Int64, _ incident: Int64?) {
        if let message = known.forget(notice, incident) { note(message) }
    }

    // MARK: - What is due

    /// Returns the instant at which something is to be done with the messages here.
    mutating func due(_ times: OutboxTimes) -> RunningTime {
        if isOver || line.hasEnding { return .distantPast }
        guard busy == nil else { return .distantFuture }
        let next = isGone ? RunningTime.distantFuture : line.next(in: waiting)
        let due = next == .distantFuture ? next : max(next, pausedUntil(times))
        return min(due, line.nextExpiry(in: waiting))
    }

    /// Until then nothing is sent.
    func pausedUntil(_ times: OutboxTimes) -> RunningTime {
        outage.pausedUntil(isUrgent: waiting.criticalCount > 0, times)
    }

    /// Returns when the oldest message about something critical was decided; nil if none waits.
    mutating func oldestCritical() -> RunningTime? { line.oldestCritical(in: waiting)?.since }

    /// Returns the instant at which a message is given up. An Alertmanager is told as long as it
    /// fires: it forgets by itself.
    private func expiry(_ message: OutboxMessage, _ times: OutboxTimes) -> RunningTime {
        if !message.isTrigger { return message.since + times.resolveFor }
        return kind == .alertmanager ? .distantFuture : message.since + times.triggerFor
    }

    /// Returns the end that a message comes to without anything being sent; nil for none.
    private func ending(
        _ message: OutboxMessage, now: RunningTime, _ times: OutboxTimes
    ) -> NoticeOutcome? {
        guard message.state != .sending else { return nil }
        if message.isEmpty { return message.attempts > 0 ? .abandoned : .dropped }
        if isGone { return .removed }
        return expiry(message, times) <= now ? .expired : nil
    }

    // MARK: - What is sent

    /// Begins the next attempt; nil if nothing is due.
    mutating func begin(now: RunningTime, _ times: OutboxTimes) -> OutboxMessage? {
        guard busy == nil, !isGone, pausedUntil(times) <= now,
            let number = line.take(now: now, from: &waiting)
        else { return nil }
        let begun = waiting.change(number) { message in
            message.state = .sending
            message.attempts += 1
        }
        guard let begun else { return nil }
        busy = .message(number)
        overtake(begun)
        note(begun)
        return begun
    }

    /// An end that was refused would, later, end the next firing too.
    private mutating func overtake(_ trigger: OutboxMessage) {
        guard trigger.isTrigger, !kind.keepsIncidents else { return }
        let orders = Set(trigger.ordersLeft)
        for number in waiting.sharing(trigger.ordersLeft) where number < trigger.number {
            guard let message = waiting[number], message.state == .refused else { continue }
            let places = message.orders.indices.filter {
                message.left >> UInt64($0) & 1 == 1 && orders.contains(message.orders[$0])
            }
            remove(places, from: message)
        }
    }

    /// Begins a refresh, unless there is nothing to be told.
    mutating func beginRefresh(now: RunningTime, _ times: OutboxTimes, isEmpty: Bool) {
        nextRefresh = now + times.refreshEvery
        ended = ended.filter { $0.value.until > now }
        if !isEmpty { busy = .refresh }
    }

    /// A refresh came to its end, whatever that is: the next one says the same.
    mutating func endRefresh() {
        if busy == .refresh { busy = nil }
    }

    /// Settings were read again: what is refused, and at another URL whatever waits, is tried
    /// sooner. What it asked for by `Retry-After` holds where it still is.
    ///
    /// Returns how many messages that retries soon.
    @discardableResult mutating func retrySoon(
        _ change: EndpointChange, now: RunningTime, _ times: OutboxTimes
    ) -> Int {
        // It may have left by the way from before.
        if case .message = busy { changeMeanwhile = max(changeMeanwhile ?? change, change) }
        var soonest = times.soonest(change, now: now, triedAt: outage.triedAt)
        let paused = pausedUntil(times)
        if change == .place {
            outage.moved(soonest: soonest, isUrgent: waiting.criticalCount > 0, times)
        } else {
            soonest = max(soonest, paused)
        }
        var count = 0
        for message in open where message.state != .sending {
            guard change == .place || message.state == .refused else { continue }
            let before = max(message.ready, message.state == .waiting ? paused : .distantPast)
            if message.attempts > 0, soonest < before { count += 1 }
            let changed = waiting.change(message.number) { message in
                if message.state == .waiting { (message.strikes, message.restUntil) = (0, now) }
                message.next = min(message.next, soonest)
            }
            guard let changed, changed != message else { continue }
            if changed.next != message.next { note(changed) }
            line.offer(changed, in: waiting)
        }
        return count
    }

    // MARK: - What came of it

    /// Notes what came of the attempt that is under way; `seed` spreads the wait.
    mutating func end(
        _ notice: Int64, _ verdict: OutboxVerdict, _ error: String?, retryAfter: Milliseconds?,
        seed: UInt64, now: RunningTime, wall: Timestamp, _ times: OutboxTimes
    ) -> AttemptEnd {
        guard busy == .message(notice), waiting[notice] != nil else { return .unknown }
        busy = nil
        let again = withdrawn.takeInFlight()
        let change = changeMeanwhile
        changeMeanwhile = nil
        lastError = verdict == .delivered ? nil : error
        let wish = times.heeded(retryAfter)
        let wasWell = !outage.isAway
        if verdict == .failed {
            outage.failed(now: now, wish: wish, seed: seed)
        } else {
            outage.answered(now: now, wish: wish)
            line.endRound(in: &waiting)
        }
        if verdict == .delivered {
            return .finished(finish(notice, .delivered, now: now, wall: wall, times))
        }
        let left = waiting.change(notice) { message in
            (message.triedAt, message.lastError) = (now, error)
            if verdict == .refused {
                message.state = .refused
                message.next = now + max(times.refusedEvery, wish)
                return
            }
            message.state = .waiting
            message.next = now + wish
            message.isProbed = true
            // An address that is too busy says so; one that took others does not fail by itself.
            guard wasWell, retryAfter == nil else { return }
            message.strikes += 1
            guard message.strikes > 1 else { return }
            message.restUntil =
                now + times.probe(after: message.strikes - 1, isUrgent: false, seed: ~seed)
        }
        guard let left else { return .unknown }
        note(left)
        line.failed(left)
        line.settle(left, isGone: isGone)
        line.offer(waiting.behind(left), in: waiting)
        for incident in again { withdraw(incident) }
        if let change { retrySoon(change, now: now, times) }
        guard let rest = waiting[notice], !rest.isEmpty else { return .again(at: now) }
        return .again(at: max(rest.ready, pausedUntil(times)))
    }

    /// Ends what has nothing more to do.
    mutating func settle(
        now: RunningTime, wall: Timestamp, _ times: OutboxTimes, ends: inout [NoticeEnd]
    ) {
        for number in line.takeEnding(now: now, from: waiting) {
            guard let message = waiting[number],
                let outcome = ending(message, now: now, times)
            else { continue }
            ends.append(finish(number, outcome, now: now, wall: wall, times))
        }
    }

    /// Gives up the oldest of those that can be missed best; nil if there is none.
    mutating func giveUpOne(
        now: RunningTime, wall: Timestamp, _ times: OutboxTimes
    ) -> NoticeEnd? {
        line.dispensable(in: waiting).map { finish($0, .expired, now: now, wall: wall, times) }
    }

    private mutating func finish(
        _ notice: Int64, _ outcome: NoticeOutcome, now: RunningTime, wall: Timestamp,
        _ times: OutboxTimes
    ) -> NoticeEnd {
        guard var message = waiting.remove(notice) else { preconditionFailure("it is open") }
        withdrawn.finish(message)
        line.offer(waiting.behind(message), in: waiting)
        message.outcome = outcome
        message.finishedAt = wall
        let mayBeKnown = outcome == .delivered || (outcome == .expired && message.attempts > 0)
        let isHeld =
            mayBeKnown && message.isTrigger && !message.isEmpty
            && !(isGone && message.isDrill)
        message.state = isHeld ? .held : .over
        if outcome == .delivered { deliver(message, now: now, times) }
        if isHeld { known.insert(message) }
        note(message)
        return NoticeEnd(
            notice: message.number, receiver: key.receiver, target: key.target, outcome: outcome,
            took: now - message.since)
    }

    private mutating func deliver(
        _ message: OutboxMessage, now: RunningTime, _ times: OutboxTimes
    ) {
        if known.isEmpty && ended.isEmpty { nextRefresh = now + times.refreshEvery }
        for member in message.members {
            if message.isTrigger {
                // It knows better now.
                for number in known.numbers(of: member.incident) {
                    forget(number, member.incident)
                }
                if !ended.isEmpty { ended[member.labels.fingerprint] = nil }
            } else if kind == .alertmanager {
                ended[member.labels.fingerprint] = Ended(
                    member: member, until: now + max(times.refreshEndedFor, resolveTimeout))
            }
        }
    }

    private mutating func note(_ message: OutboxMessage) { changes.note(message.number, message) }
}
