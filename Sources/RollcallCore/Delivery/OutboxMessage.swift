/// A notice on its way to one address of its receiver. Source: A9.
package struct OutboxMessage: Equatable, Sendable {
    /// The state of a message. The raw values are stored.
    ///
    ///                ┌────────── failed ──────────┐
    ///                ▼                            │
    ///     decided ► waiting ──── attempt ────► sending ── 2xx ──► held ──► over
    ///                ▲                          ▲ │
    ///                └── later failed ── refused ◄┘ 4xx
    ///
    /// Settings that are read again retry soon what is refused, and at another URL what is waiting
    /// too. From waiting and refused it also comes to its end when its time is over, when nothing
    /// of it is left to be told, and when the receiver is gone.
    package enum State: UInt8, CaseIterable, Sendable {
        /// To be sent at `next`.
        case waiting = 0
        /// An attempt began. If this is found at a start, nobody knows what became of it.
        case sending = 1
        /// Waits too, after a 4xx: what comes later about its alert need not wait for it.
        case refused = 2
        /// Finished; some of what it told still fires, as far as the receiver knows.
        case held = 3
        /// Finished, and nothing depends on it any more.
        case over = 4

        /// True once it is finished.
        package var isFinished: Bool { self == .held || self == .over }
    }

    package let notice: Notice
    /// The place among the receiver's addresses, from 0.
    package let target: Int
    package let decidedAt: Timestamp
    /// The instant at which it was decided, by the clock that its waits run by.
    package let since: RunningTime
    /// The members that are still to be told, by their places, from the lowest bit on; once it is
    /// held, those that the receiver knows to fire.
    package internal(set) var left: UInt64
    package internal(set) var state = State.waiting
    /// Attempts that were begun.
    package internal(set) var attempts = 0
    /// The instant from which it may be tried next.
    package internal(set) var next: RunningTime
    /// Nil until it is finished.
    package internal(set) var outcome: NoticeOutcome?
    package internal(set) var finishedAt = Timestamp.distantPast
    /// For each member a number that those messages share which must keep their order.
    private(set) var orders: [UInt64] = []
    /// The alert whose storms and single messages keep their order among each other; nil where a
    /// storm has a key of its own, or there are none (D11).
    private(set) var stormOrder: AlertName?
    /// True if what is left is about something critical: somebody has to get up.
    private(set) var isCritical = false
    // What follows is of this process: a start forgets it.
    /// The instant at which the last attempt was over.
    var triedAt = RunningTime.distantPast
    /// The error of the last attempt; nil if there was none, or another process tried it.
    var lastError: String?
    /// It was tried in this round of probes.
    var isProbed = false
    /// The number of times it failed at an address that took others just before.
    var strikes = 0
    /// Until then it rests while others go: it may be itself what the address cannot take.
    var restUntil = RunningTime.distantPast

    /// A message of a notice that is decided now.
    init(_ notice: Notice, target: Int, decidedAt: Timestamp, now: RunningTime) {
        precondition(notice.members.count <= Notice.membersMax, "a notice is bounded")
        self.notice = notice
        self.target = target
        self.decidedAt = decidedAt
        since = now
        next = now
        left = notice.members.isEmpty ? 0 : .max >> UInt64(64 - notice.members.count)
    }

    /// A message as the store keeps it; nil if that cannot be.
    package init?(
        _ notice: Notice, target: Int, decidedAt: Timestamp, since: RunningTime, left: UInt64,
        state: State, attempts: Int, next: RunningTime, outcome: NoticeOutcome?,
        finishedAt: Timestamp
    ) {
        let count = notice.members.count
        guard count <= Notice.membersMax, count == 64 || left >> UInt64(count) == 0,
            state.isFinished == (outcome != nil), attempts >= 0, target >= 0
        else { return nil }
        self.init(notice, target: target, decidedAt: decidedAt, now: since)
        self.left = left
        self.state = state
        self.attempts = attempts
        self.next = next
        self.outcome = outcome
        self.finishedAt = finishedAt
    }

    /// The notice's number.
    package var number: Int64 { notice.number }

    /// The queue that it goes through.
    package var queue: QueueKey { QueueKey(receiver: notice.receiver, target: target) }

    /// True if it tells that something fires.
    var isTrigger: Bool { notice.kind != .resolved }

    /// True if it is a test of the way to the receiver (A11).
    var isDrill: Bool { notice.members.contains { $0.name == .rollcallDrill } }

    /// True if nothing of it is to be told any more.
    var isEmpty: Bool { left == 0 }

    /// The members that are left.
    package var members: [NoticeMember] {
        notice.members.indices.filter { left >> UInt64($0) & 1 == 1 }.map { notice.members[$0] }
    }

    /// The firings of the members that are left.
    var incidents: [Int64] {
        notice.members.indices.filter { left >> UInt64($0) & 1 == 1 }
            .map { notice.members[$0].incident }
    }

    /// The instant from which it may be sent, as far as it alone decides.
    var ready: RunningTime { max(next, restUntil) }

    /// The place of a firing among the members that are left.
    func place(of incident: Int64) -> Int? {
        notice.members.indices.first {
            left >> UInt64($0) & 1 == 1 && notice.members[$0].incident == incident
        }
    }

    mutating func remove(_ place: Int) {
        left &= ~(1 << UInt64(place))
        if isCritical { isCritical = hasCritical }
    }

    private static let severity = StaticString("severity").bytes
    private static let critical = Severity.critical.word.bytes

    private var hasCritical: Bool {
        notice.members.indices.contains {
            left >> UInt64($0) & 1 == 1
                && notice.members[$0].labels.value(of: Self.severity) == Self.critical
        }
    }

    /// True if what must not overtake it waits for it. A refused one may be refused for ever, and one
    /// that fails again where others are taken may be what the address cannot take: those hold
    /// nobody up but, the latter, what is about the same alert (A9, D2).
    var holdsUpStorms: Bool { state != .refused && strikes < 2 }

    /// The orders of the members that are left.
    var ordersLeft: [UInt64] {
        left == 0 ? [] : orders.indices.filter { left >> UInt64($0) & 1 == 1 }.map { orders[$0] }
    }

    /// Finds out in what it must keep to the order. A pager knows firings by keys of their own; to
    /// all others an alert is its labels, and the end of one firing would end the next one too. A
    /// storm's labels may become worse ones.
    mutating func setOrders(_ kind: ReceiverKind) {
        let isByNumber = kind.keepsIncidents || notice.storm != nil
        orders = notice.members.map {
            isByNumber ? UInt64(bitPattern: $0.incident) : $0.labels.fingerprint
        }
        stormOrder = kind.isChannel ? notice.members.first?.name : nil
        isCritical = hasCritical
    }
}

/// One address of one receiver: its messages go one after the other.
package struct QueueKey: Hashable, Comparable, Sendable {
    package let receiver: [UInt8]
    /// The place among the receiver's addresses, from 0.
    package let target: Int

    /// The address of a receiver by its name and number.
    package init(receiver: [UInt8], target: Int) {
        self.receiver = receiver
        self.target = target
    }

    package static func < (a: QueueKey, b: QueueKey) -> Bool {
        a.receiver == b.receiver
            ? a.target < b.target : a.receiver.lexicographicallyPrecedes(b.receiver)
    }
}

extension [Label] {
    /// A number that equal lists share: FNV-1a. Two lists that share it by chance wait for each
    /// other, which harms nobody.
    var fingerprint: UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ bytes: [UInt8]) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            hash = (hash ^ 0xFF) &* 0x100_0000_01B3
        }
        for label in self {
            add(label.name)
            add(label.value)
        }
        return hash
    }
}
