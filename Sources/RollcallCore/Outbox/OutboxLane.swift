/// The messages to one address, and what it knows. Source: design §6 A9.
struct OutboxLane: Equatable, Sendable {
    /// What the address is being sent: one thing at a time.
    enum Busy: Equatable, Sendable {
        case message(Int64)
        case refresh
    }

    /// An end that was told, for those who are told it again for a while.
    struct Ended: Equatable, Sendable {
        var member: NoticeMember
        var until: RunningTime
    }

    let key: LaneKey
    private(set) var kind: ReceiverKind
    /// True once the settings do not know it any more.
    private(set) var isGone: Bool
    /// What is to be sent, by notice.
    private(set) var open: [OutboxMessage] = []
    /// What it knows to fire, or may know, by notice.
    private(set) var held: [OutboxMessage] = []
    private(set) var ended: [Ended] = []
    private(set) var busy: Busy?
    /// Failures since it last answered.
    private var failures = 0
    /// Until then only what was never tried is sent.
    private var pausedUntil = RunningTime.distantPast
    /// When the last attempt was over.
    private var triedAt = RunningTime.distantPast
    /// What became of the way there while something was under way.
    private var changeMeanwhile: WayChange?
    /// When it is next told all that fires.
    private(set) var nextRefresh = RunningTime.distantPast
    /// What became of messages since it was last taken, by notice.
    private(set) var changed: [Int64: OutboxMessage] = [:]
    /// Those of them that the store does not have.
    private(set) var added: Set<Int64> = []
    /// The result of `due`, until something changes.
    private var dueKnown: RunningTime?

    init(_ key: LaneKey, _ kind: ReceiverKind, isGone: Bool) {
        self.key = key
        self.kind = kind
        self.isGone = isGone
    }

    /// Messages that are not finished and not being sent.
    var waitingCount: Int { open.count - (busy == nil || busy == .refresh ? 0 : 1) }

    /// True once nothing is left of an address that is gone.
    var isOver: Bool { isGone && busy == nil && open.isEmpty }

    // MARK: - What is decided

    /// The settings name its receiver, which is of `kind`; nil if they do not.
    mutating func follow(_ kind: ReceiverKind?) {
        isGone = kind == nil
        dueKnown = nil
        if isGone {
            for message in held { forget(message.notice.number, all: true) }
            ended = []
        }
        guard let kind, kind != self.kind else { return }
        self.kind = kind
        for place in open.indices { open[place].setOrders(kind) }
    }

    /// Takes a message over from the store. What was being sent may have arrived or not, and is
    /// sent again at once: the failure was ours.
    mutating func restore(_ message: OutboxMessage, now: RunningTime) {
        var message = message
        dueKnown = nil
        guard !message.state.isFinished else { return held.insertInOrder(message) }
        message.setOrders(kind)
        if message.attempts > 0 { triedAt = now }
        if message.state == .sending {
            message.state = .waiting
            message.next = now
        }
        open.insertInOrder(message)
    }

    /// Takes a message that is decided now.
    mutating func admit(_ message: OutboxMessage) {
        var message = message
        message.setOrders(kind)
        for (place, member) in message.notice.members.enumerated() {
            // One that is still on its way tells it all.
            let isTold =
                message.isTrigger
                ? open.contains { $0.isTrigger && $0.place(of: member.incident) != nil }
                : end(member.incident)
            if isTold { message.remove(place) }
        }
        open.insertInOrder(message)
        added.insert(message.number)
        note(message)
    }

    /// A firing is over: what would tell it has nothing more to tell. True if the receiver cannot
    /// have heard of it, so that nothing is to be told of its end either.
    @discardableResult mutating func end(_ incident: Int64) -> Bool {
        var isUnheard = false
        var mayBeHeard = false
        for index in open.indices where open[index].isTrigger {
            guard let place = open[index].place(of: incident) else { continue }
            if open[index].attempts > 0 { mayBeHeard = true } else { isUnheard = true }
            open[index].remove(place)
            note(open[index])
        }
        for message in held where message.place(of: incident) != nil {
            mayBeHeard = true
            forget(message.number, incident)
        }
        return isUnheard && !mayBeHeard
    }

    /// It is no longer by this message that the receiver knows of a firing, or of any.
    private mutating func forget(_ notice: Int64, _ incident: Int64 = 0, all: Bool = false) {
        guard let index = held.firstIndex(where: { $0.number == notice }) else { return }
        if all { held[index].left = 0 }
        if let place = held[index].place(of: incident) { held[index].remove(place) }
        if held[index].isEmpty { held[index].state = .over }
        note(held[index])
        if held[index].isEmpty { held.remove(at: index) }
    }

    // MARK: - What is due

    /// When something is to be done with the messages here.
    mutating func due(_ times: OutboxTimes) -> RunningTime {
        if let dueKnown { return dueKnown }
        var due = RunningTime.distantFuture
        if isOver || open.contains(where: { ending($0, now: .distantPast, times) != nil }) {
            due = .distantPast
        } else if busy == nil {
            forEachUnblocked { due = min(due, ready($0)) }
            for message in open { due = min(due, expiry(message, times)) }
        }
        dueKnown = due
        return due
    }

    /// When a message may be sent, as far as it alone decides. What was never tried does not wait
    /// for a receiver that fails to come back: it may be there again.
    private func ready(_ message: OutboxMessage) -> RunningTime {
        message.attempts == 0 ? message.next : max(message.next, pausedUntil)
    }

    /// When it is given up. An Alertmanager is told as long as it fires: it forgets by itself.
    private func expiry(_ message: OutboxMessage, _ times: OutboxTimes) -> RunningTime {
        if !message.isTrigger { return message.since + times.resolveFor }
        return kind == .alertmanager ? .distantFuture : message.since + times.triggerFor
    }

    /// What becomes of a message without anything being sent.
    private func ending(
        _ message: OutboxMessage, now: RunningTime, _ times: OutboxTimes
    ) -> NoticeOutcome? {
        guard message.state != .sending else { return nil }
        if message.isEmpty { return message.attempts > 0 ? .abandoned : .dropped }
        if isGone { return .removed }
        return expiry(message, times) <= now ? .expired : nil
    }

    /// Calls `body` with the messages that need not wait for an earlier one about the same alert.
    private func forEachUnblocked(_ body: (OutboxMessage) -> Void) {
        var seen: Set<UInt64> = []
        for message in open {
            let orders = message.ordersLeft
            if seen.isDisjoint(with: orders) { body(message) }
            // A refused one may be refused for ever.
            if message.state != .refused { seen.formUnion(orders) }
        }
    }

    // MARK: - What is sent

    /// Begins the next attempt: what was never tried first, of that the critical, then what waits
    /// longest. Nil if nothing is due.
    mutating func begin(now: RunningTime, _ times: OutboxTimes) -> OutboxMessage? {
        guard busy == nil, !isGone, due(times) <= now else { return nil }
        var best: OutboxMessage?
        forEachUnblocked { message in
            guard !message.isEmpty, ready(message) <= now else { return }
            if let other = best, !isBefore(message, other) { return }
            best = message
        }
        guard let number = best?.number, let index = index(of: number) else { return nil }
        open[index].state = .sending
        open[index].attempts += 1
        busy = .message(number)
        overtake(open[index])
        note(open[index])
        return open[index]
    }

    private func isBefore(_ a: OutboxMessage, _ b: OutboxMessage) -> Bool {
        let (isATried, isBTried) = (a.attempts > 0, b.attempts > 0)
        if isATried != isBTried { return isBTried }
        if !isATried, a.isCritical != b.isCritical { return a.isCritical }
        return ready(a) != ready(b) ? ready(a) < ready(b) : a.number < b.number
    }

    /// An end that was refused would, later, end the next firing too.
    private mutating func overtake(_ trigger: OutboxMessage) {
        guard trigger.isTrigger, kind != .pagerduty else { return }
        let orders = trigger.ordersLeft
        for index in open.indices where open[index].state == .refused {
            let places = open[index].orders.indices.filter {
                open[index].left >> UInt64($0) & 1 == 1 && orders.contains(open[index].orders[$0])
            }
            guard open[index].number < trigger.number, !places.isEmpty else { continue }
            for place in places { open[index].remove(place) }
            note(open[index])
        }
    }

    /// Begins a refresh, unless there is nothing to be told.
    mutating func beginRefresh(now: RunningTime, _ times: OutboxTimes, isEmpty: Bool) {
        nextRefresh = now + times.refreshEvery
        ended.removeAll { $0.until <= now }
        if isEmpty { return }
        busy = .refresh
        dueKnown = nil
    }

    /// A refresh came to its end, whatever that is: the next one says the same.
    mutating func endRefresh() {
        guard busy == .refresh else { return }
        busy = nil
        dueKnown = nil
    }

    /// Settings were read again: what is refused, and at another URL whatever waits for another
    /// attempt, is tried sooner. What it asked for by `Retry-After` holds where it still is.
    ///
    /// Returns how many messages that hastens.
    @discardableResult mutating func hasten(
        _ change: WayChange, now: RunningTime, _ times: OutboxTimes
    ) -> Int {
        // It may have left by the way from before.
        if case .message = busy { changeMeanwhile = max(changeMeanwhile ?? change, change) }
        var soonest = times.soonest(change, now: now, triedAt: triedAt)
        if change == .place {
            failures = 0
            pausedUntil = min(pausedUntil, soonest)
            for index in open.indices { open[index].attemptsElsewhere = open[index].attempts }
        } else {
            soonest = max(soonest, pausedUntil)
        }
        dueKnown = nil
        var count = 0
        for index in open.indices {
            let isTried = open[index].state == .waiting && open[index].attempts > 0
            guard open[index].state == .refused || (isTried && change == .place),
                soonest < open[index].next
            else { continue }
            open[index].next = soonest
            note(open[index])
            count += 1
        }
        return count
    }

    // MARK: - What came of it

    /// Notes what came of the attempt that is under way.
    mutating func end(
        _ notice: Int64, _ verdict: OutboxVerdict, retryAfter: Milliseconds?, seed: UInt64,
        now: RunningTime, wall: Timestamp, _ times: OutboxTimes
    ) -> AttemptEnd {
        guard busy == .message(notice), let index = index(of: notice) else { return .unknown }
        busy = nil
        dueKnown = nil
        triedAt = now
        let change = changeMeanwhile
        changeMeanwhile = nil
        let wish = min(retryAfter ?? Milliseconds(0), times.retryAfterMax)
        if verdict != .failed {
            failures = 0
            pausedUntil = now + wish
        }
        switch verdict {
        case .delivered:
            return .finished(finish(index, .delivered, now: now, wall: wall, times))
        case .refused:
            open[index].state = .refused
            open[index].next = now + max(times.refusedEvery, wish)
        case .failed:
            failures += 1
            open[index].state = .waiting
            let here = open[index].attempts - open[index].attemptsElsewhere
            open[index].next = now + max(times.retry(after: here, seed: seed), wish)
            pausedUntil = now + max(times.retry(after: failures, seed: ~seed), wish)
        }
        note(open[index])
        if let change { hasten(change, now: now, times) }
        return .again(at: open[index].isEmpty ? now : ready(open[index]))
    }

    /// Ends what has nothing more to do.
    mutating func settle(
        now: RunningTime, wall: Timestamp, _ times: OutboxTimes, ends: inout [NoticeEnd]
    ) {
        guard due(times) <= now else { return }
        for message in open {
            guard let outcome = ending(message, now: now, times),
                let index = index(of: message.number)
            else { continue }
            ends.append(finish(index, outcome, now: now, wall: wall, times))
        }
    }

    /// Gives a message up.
    mutating func giveUp(
        _ notice: Int64, now: RunningTime, wall: Timestamp, _ times: OutboxTimes
    ) -> NoticeEnd? {
        index(of: notice).map { finish($0, .expired, now: now, wall: wall, times) }
    }

    private mutating func finish(
        _ index: Int, _ outcome: NoticeOutcome, now: RunningTime, wall: Timestamp,
        _ times: OutboxTimes
    ) -> NoticeEnd {
        var message = open.remove(at: index)
        message.outcome = outcome
        message.finishedAt = wall
        let mayBeKnown = outcome == .delivered || (outcome == .expired && message.attempts > 0)
        let isHeld = mayBeKnown && message.isTrigger && !message.isEmpty && !isGone
        message.state = isHeld ? .held : .over
        if outcome == .delivered { deliver(message, now: now, times) }
        if isHeld { held.insertInOrder(message) }
        note(message)
        return NoticeEnd(
            notice: message.number, receiver: key.receiver, target: key.target, outcome: outcome,
            took: now - message.since)
    }

    private mutating func deliver(
        _ message: OutboxMessage, now: RunningTime, _ times: OutboxTimes
    ) {
        if held.isEmpty && ended.isEmpty { nextRefresh = now + times.refreshEvery }
        for member in message.members {
            if message.isTrigger {
                // It knows better now.
                for earlier in held where earlier.place(of: member.incident) != nil {
                    forget(earlier.number, member.incident)
                }
                ended.removeAll { $0.member.labels == member.labels }
            } else if kind == .alertmanager {
                ended.append(Ended(member: member, until: now + times.refreshEndedFor))
            }
        }
    }

    // MARK: - Bookkeeping

    private func index(of notice: Int64) -> Int? { open.firstIndex { $0.number == notice } }

    private mutating func note(_ message: OutboxMessage) {
        dueKnown = nil
        changed[message.number] = message
    }

    /// Takes what is to be stored: what it has not, and what has changed.
    mutating func takeChanges() -> OutboxChanges {
        guard !changed.isEmpty else { return OutboxChanges() }
        var changes = OutboxChanges()
        for (number, message) in changed.sorted(by: { $0.key < $1.key }) {
            if added.contains(number) {
                changes.added.append(message)
            } else {
                changes.changed.append(message)
            }
        }
        changed = [:]
        added = []
        return changes
    }
}

extension [OutboxMessage] {
    /// Puts a message in its place; most come in their order.
    fileprivate mutating func insertInOrder(_ message: OutboxMessage) {
        let place = lastIndex { $0.number < message.number }
        insert(message, at: place.map { $0 + 1 } ?? 0)
    }
}
