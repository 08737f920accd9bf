/// The messages on their way to receivers: which is sent next, when, and what becomes of it.
///
/// A value without clock, threads and rows: the state writer tells it what was decided, what was
/// tried and what time it is, writes down what it changes, and sends only what is written.
///
/// Source: A9. What it does on each message stands at `OutboxMessage.State`.
package struct Outbox: Equatable, Sendable {
    /// Messages that wait, at most. Beyond it repeats are given up first, then ends, then the rest,
    /// the oldest of the fullest queue first; each is a dead letter.
    package static let messagesMax = 10_000

    /// The most other alerts that a message tells to fire beside its own: more are counted.
    /// Nobody's body has room for more.
    package static let contextMax = 99

    /// The store's number: part of every key, and of what jitter is made of.
    package let store: UInt64
    package let times: OutboxTimes
    package let messagesMax: Int
    /// The receivers that the settings know.
    package private(set) var receivers: [Receiver] = []
    /// In their order.
    private(set) var queues: [OutboxQueue] = []
    /// Ends that nobody was told of yet.
    private var ends: [NoticeEnd] = []
    /// Queues that are no more, and what is to be stored of them.
    private var queuesGone: [QueueKey] = []
    private var changesLeft = OutboxChanges()
    /// The storms that something may tell of, or that somebody knows.
    private var storms: Set<Int64> = []
    /// The latest instant that it was told of: nothing can have been due before.
    private var latest: RunningTime

    /// An outbox of `messages` as the store keeps them, at a start.
    package init(
        store: UInt64, messages: [OutboxMessage] = [], now: RunningTime,
        times: OutboxTimes = OutboxTimes(), messagesMax: Int = Self.messagesMax
    ) {
        self.store = store
        self.times = times
        self.messagesMax = messagesMax
        latest = now
        for message in messages where message.state != .over {
            note(message.notice)
            queues[queue(message.queue)].restore(message, now: now, times)
        }
    }

    // MARK: - What is decided

    /// Takes the receivers of the settings: messages to those that are gone come to their end. What
    /// they took stays known for as long as it fires, and if they come back they know it still.
    package mutating func follow(_ receivers: [Receiver]) {
        self.receivers = receivers
        for receiver in receivers {
            for target in 0..<max(1, receiver.targets) {
                let place = queue(QueueKey(receiver: receiver.name, target: target))
                queues[place].follow(receiver, times)
            }
        }
        for place in queues.indices where kind(of: queues[place].key) == nil {
            queues[place].follow(nil, times)
        }
    }

    /// Takes a notice that was decided at `wall`: a message to each address of its receiver.
    package mutating func decide(_ notice: Notice, at wall: Timestamp, now: RunningTime) {
        latest = max(latest, now)
        note(notice)
        let receiver = receivers.first { $0.name == notice.receiver }
        for target in 0..<max(1, receiver?.targets ?? 1) {
            let place = queue(QueueKey(receiver: notice.receiver, target: target))
            queues[place].admit(
                OutboxMessage(notice, target: target, decidedAt: wall, now: now), times)
        }
    }

    /// A firing is over, whoever is told of that: who was not reached yet is not told of it later.
    package mutating func end(incident: Int64) {
        for place in queues.indices { queues[place].end(incident) }
    }

    /// Of all storms only `alive` are not over: who was not reached is not told later, and what is known
    /// of them is known no more (A9, D11).
    package mutating func endStorms(but alive: @autoclosure () -> Set<Int64>) {
        guard !storms.isEmpty else { return }
        let alive = alive()
        for storm in storms.subtracting(alive).sorted() { end(incident: storm) }
        storms.formIntersection(alive)
    }

    private mutating func note(_ notice: Notice) {
        guard notice.storm != nil, notice.kind != .resolved else { return }
        storms.formUnion(notice.members.map(\.incident))
    }

    /// A receiver is told of a firing together with others: what waits to tell it singly is taken
    /// back. What was tried may have arrived, and is known to (D11).
    package mutating func withdraw(incident: Int64, from receiver: [UInt8]) {
        for place in queues.indices where queues[place].key.receiver == receiver {
            queues[place].withdraw(incident)
        }
    }

    /// Settings were read again, and say so much of the ways to addresses. Returns how many messages
    /// are tried sooner because of that (N-09). To be stored like all that changes.
    package mutating func retrySoon(_ changes: EndpointChanges, now: RunningTime) -> Int {
        latest = max(latest, now)
        return queues.indices.reduce(0) {
            $0 + queues[$1].retrySoon(changes.of(queues[$1].key), now: now, times)
        }
    }

    // MARK: - What is due

    /// Returns the instant at which `settle` or `begin` next has something to do, never before the
    /// latest instant that it was told of: how late a turn is follows from this.
    package mutating func due() -> RunningTime { max(latest, dueAtAll()) }

    private mutating func dueAtAll() -> RunningTime {
        if !ends.isEmpty || waitingCount > messagesMax { return .distantPast }
        var due = RunningTime.distantFuture
        for place in queues.indices {
            due = min(due, queues[place].due(times))
            if queues[place].busy == nil, hasRefresh(place) {
                due = min(due, queues[place].nextRefresh)
            }
        }
        return due
    }

    /// Ends what has nothing more to do, and hands over all ends that nobody was told of.
    package mutating func settle(now: RunningTime, wall: Timestamp) -> [NoticeEnd] {
        latest = max(latest, now)
        for place in queues.indices {
            queues[place].settle(now: now, wall: wall, times, ends: &ends)
        }
        while waitingCount > messagesMax, let end = giveUpOne(now: now, wall: wall) {
            ends.append(end)
        }
        for place in queues.indices where queues[place].isOver {
            changesLeft.add(queues[place].changes.take())
        }
        queuesGone += queues.filter(\.isOver).map(\.key)
        queues.removeAll { $0.isOver }
        defer { ends = [] }
        return ends
    }

    private mutating func giveUpOne(now: RunningTime, wall: Timestamp) -> NoticeEnd? {
        let fullest = queues.indices.max { queues[$0].waitingCount < queues[$1].waitingCount }
        return fullest.flatMap { queues[$0].giveUpOne(now: now, wall: wall, times) }
    }

    /// Begins the next attempt of each queue that is free. To be stored before it is sent.
    package mutating func begin(now: RunningTime) -> [OutboxSending] {
        latest = max(latest, now)
        var sendings: [OutboxSending] = []
        for place in queues.indices {
            let key = queues[place].key
            if let message = queues[place].begin(now: now, times) {
                let (context, count) = context(of: message, in: queues[place])
                sendings.append(
                    OutboxSending(
                        queue: key,
                        content: .message(message, context: context, contextCount: count)))
            } else if let refresh = refresh(place, now: now) {
                sendings.append(OutboxSending(queue: key, content: refresh))
            }
        }
        return sendings
    }

    /// Returns what else of the same name the receiver knows to fire, and how many there are: chats
    /// and webhooks are told all of a name at once, as an Alertmanager would.
    private func context(
        of message: OutboxMessage, in queue: OutboxQueue
    ) -> (members: [NoticeMember], count: Int) {
        guard queue.kind.isNotifiedOfWholeGroups, let name = message.notice.members.first?.name
        else {
            return ([], 0)
        }
        let own = message.notice.members.map(\.incident)
        return queue.known.known(name, but: own, count: Self.contextMax)
    }

    // MARK: - Refreshes

    private func hasRefresh(_ place: Int) -> Bool {
        guard queues[place].kind == .alertmanager, !queues[place].isGone else { return false }
        if !queues[place].ended.isEmpty { return true }
        let receiver = queues[place].key.receiver
        return queues.contains { $0.key.receiver == receiver && !$0.known.isEmpty }
    }

    /// Every Alertmanager of a receiver is told what any of them knows: one that is new, or has
    /// forgotten, learns it so.
    private mutating func refresh(_ place: Int, now: RunningTime) -> OutboxSending.Content? {
        let queue = queues[place]
        guard queue.busy == nil, hasRefresh(place), queue.nextRefresh <= now else { return nil }
        // What is on its way to it goes first.
        let open = queue.waiting.incidents
        var firing: [Int64: NoticeMember] = [:]
        for other in queues where other.key.receiver == queue.key.receiver {
            other.known.forEachKnown { member in
                if !open.contains(member.incident) { firing[member.incident] = member }
            }
        }
        let members = firing.sorted { $0.key < $1.key }.map(\.value)
        let labels = Set(members.map(\.labels.fingerprint))
        let ended = queue.ended.filter { $0.value.until > now && !labels.contains($0.key) }
            .map(\.value.member).filter { !open.contains($0.incident) }
            .sorted { $0.incident < $1.incident }
        queues[place].beginRefresh(now: now, times, isEmpty: members.isEmpty && ended.isEmpty)
        return queues[place].busy == nil ? nil : .refresh(firing: members, ended: ended)
    }

    /// A refresh came to its end.
    package mutating func refreshed(_ key: QueueKey) {
        if let place = queues.firstIndex(where: { $0.key == key }) { queues[place].endRefresh() }
    }

    // MARK: - What came of it

    /// Notes what an attempt came to, with the `error` that people are shown. `retryAfter` is how
    /// long the receiver wants to be left alone.
    ///
    /// The end of a message is handed over by `settle` too, which belongs to the same turn.
    package mutating func end(
        _ notice: Int64, in key: QueueKey, _ verdict: OutboxVerdict, error: String? = nil,
        retryAfter: Milliseconds? = nil,
        now: RunningTime, wall: Timestamp
    ) -> AttemptEnd {
        latest = max(latest, now)
        guard let place = queues.firstIndex(where: { $0.key == key }) else { return .unknown }
        let attempts = queues[place].waiting[notice]?.attempts ?? 0
        // Spread over everything that tells two attempts apart.
        var seed = OutboxTimes.mixed(store ^ UInt64(bitPattern: notice))
        seed = OutboxTimes.mixed(seed ^ UInt64(key.target) << 32 ^ UInt64(attempts))
        let end = queues[place].end(
            notice, verdict, error, retryAfter: retryAfter, seed: seed, now: now, wall: wall, times)
        if case .finished(let end) = end { ends.append(end) }
        return end
    }

    /// True if something is to be stored.
    package var hasChanges: Bool {
        !changesLeft.isEmpty || queues.contains { !$0.changes.isEmpty }
    }

    /// Takes what is to be stored.
    package mutating func takeChanges() -> OutboxChanges {
        var changes = OutboxChanges()
        swap(&changes, &changesLeft)
        for place in queues.indices { changes.add(queues[place].changes.take()) }
        return changes
    }

    /// Takes the addresses that nothing will be sent to any more.
    package mutating func takeQueuesGone() -> [QueueKey] {
        defer { queuesGone = [] }
        return queuesGone
    }

    // MARK: - Answers

    /// Messages that wait or are being sent, by receiver.
    package var pending: [[UInt8]: Int] {
        var counts: [[UInt8]: Int] = [:]
        for queue in queues where !queue.isGone || !queue.waiting.isEmpty {
            counts[queue.key.receiver, default: 0] += queue.waiting.count
        }
        return counts
    }

    /// True as long as something of a notice is to be sent.
    package func isOpen(_ notice: Int64) -> Bool {
        queues.contains { $0.waiting[notice] != nil }
    }

    /// Returns the number of incidents that a receiver was told of, or may have been, and not of
    /// their ends.
    package func incidentsOpened(by receiver: [UInt8]) -> Int {
        var incidents: Set<Int64> = []
        for queue in queues where queue.key.receiver == receiver {
            for message in queue.known.inOrder where !message.isDrill {
                incidents.formUnion(message.incidents)
            }
        }
        return incidents.count
    }

    /// True while something is being sent.
    package var isSending: Bool { queues.contains { $0.busy != nil } }

    /// Returns when the oldest message about something critical that waits was decided; nil if none
    /// does.
    package mutating func oldestCritical() -> RunningTime? {
        queues.indices.compactMap { queues[$0].oldestCritical() }.min()
    }

    private var waitingCount: Int { queues.reduce(0) { $0 + $1.waitingCount } }

    private func kind(of key: QueueKey) -> ReceiverKind? {
        receivers.first { $0.name == key.receiver && key.target < max(1, $0.targets) }?.kind
    }

    /// The place of a queue; it is made if it is not there.
    private mutating func queue(_ key: QueueKey) -> Int {
        let place = queues.firstIndex { $0.key >= key } ?? queues.count
        if place < queues.count, queues[place].key == key { return place }
        let kind = kind(of: key)
        // Of one that the settings do not know nobody knows that it is only a log.
        queues.insert(OutboxQueue(key, kind ?? .webhook, isGone: kind == nil), at: place)
        return place
    }
}
