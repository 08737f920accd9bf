/// A push on its way to somebody's phone. Source: N7.
package struct PushMessage: Equatable, Sendable {
    /// The state of a push. The raw values are stored.
    ///
    ///                ┌── certainly not sent ──┐
    ///                ▼                        │
    ///     decided ► waiting ─── attempt ──► sending ── taken, or nobody knows ──────► over
    ///                │                        │                                        ▲
    ///                │                        └── taken ──► ticketed ── its receipt ───┤
    ///                └── too late, not wanted any more, no sink ───────────────────────┘
    package enum State: UInt8, CaseIterable, Sendable {
        /// To be sent at `next`.
        case waiting = 0
        /// An attempt began. If this is found at a start, nobody knows what became of it, and it is
        /// over: nobody is asked twice (N7).
        case sending = 1
        /// The sink took it, and tells under its ticket what became of it, from `next` on.
        case ticketed = 2
        case over = 3

        /// The word in answers.
        package var word: StaticString {
            switch self {
            case .waiting: "waiting"
            case .sending: "sending"
            case .ticketed: "ticketed"
            case .over: "over"
            }
        }
    }

    package let number: Int64
    package let kind: PushKind
    /// The number of the person whom it is for.
    package let person: Int
    package let decidedAt: Timestamp
    /// The instant at which it was decided, by the clock that its waits run by.
    package let since: RunningTime
    /// Of a nudge: what was known when it was decided.
    package let facts: NudgeFacts
    package internal(set) var state = State.waiting
    /// Attempts that were begun.
    package internal(set) var attempts = 0
    /// The number of times it was refused by a sink that took others: not stored.
    var strikes = 0
    /// The instant from which it may be tried next; of a ticketed one, at which its receipt is
    /// asked for.
    package internal(set) var next: RunningTime
    /// The instant at which it is given up; of a ticketed one, at which its receipt is.
    package internal(set) var until: RunningTime
    /// The ticket under which the sink tells of it; empty without one.
    package internal(set) var ticket: [UInt8] = []
    /// `StableHash` of the token it was last sent to; 0 if none was.
    package internal(set) var token: UInt64 = 0
    /// Nil until it is over.
    package internal(set) var outcome: PushOutcome?
    package internal(set) var finishedAt = Timestamp.distantPast

    /// A push that is decided now, and is worth being delivered for `life`.
    package init(
        number: Int64, kind: PushKind, person: Int, decidedAt: Timestamp, now: RunningTime,
        life: Milliseconds, facts: NudgeFacts = NudgeFacts()
    ) {
        self.number = number
        self.kind = kind
        self.person = person
        self.decidedAt = decidedAt
        self.facts = facts
        since = now
        next = now
        until = now + life
    }

    /// The push of a nudge that is decided now, by rules; nil of any other decision, and of a dry
    /// run's.
    package init?(nudge decision: Decision, _ rules: NudgeRules, now: RunningTime) {
        guard case .nudge(let at, let person, let report) = decision, report.kind == .send,
            !report.isDryRun
        else { return nil }
        self.init(
            number: report.number, kind: .nudge, person: person, decidedAt: at, now: now,
            life: rules.timeToLive, facts: report.facts)
    }

    /// The part of a push that changes on its way, as the store keeps it.
    package struct Row: Equatable, Sendable {
        package var state: State
        package var attempts: Int
        package var next: RunningTime
        package var until: RunningTime
        package var ticket: [UInt8]
        package var token: UInt64
        package var outcome: PushOutcome?
        package var finishedAt: Timestamp

        /// A row.
        package init(
            state: State, attempts: Int, next: RunningTime, until: RunningTime, ticket: [UInt8],
            token: UInt64, outcome: PushOutcome?, finishedAt: Timestamp
        ) {
            self.state = state
            self.attempts = attempts
            self.next = next
            self.until = until
            self.ticket = ticket
            self.token = token
            self.outcome = outcome
            self.finishedAt = finishedAt
        }
    }

    /// The push as the store keeps it, with what changed since it was decided; nil if that cannot
    /// be.
    package init?(_ decided: PushMessage, as row: Row) {
        guard row.attempts >= 0, (row.state == .over) == (row.outcome != nil),
            row.state == .waiting || row.state == .over || row.attempts > 0,
            row.state != .ticketed || !row.ticket.isEmpty
        else { return nil }
        self = decided
        state = row.state
        attempts = row.attempts
        next = row.next
        until = row.until
        ticket = row.ticket
        token = row.token
        outcome = row.outcome
        finishedAt = row.finishedAt
    }

    /// The part that changes on its way.
    package var row: Row {
        Row(
            state: state, attempts: attempts, next: next, until: until, ticket: ticket,
            token: token, outcome: outcome, finishedAt: finishedAt)
    }
}

extension NudgeFacts {
    /// The facts as the store keeps them. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The facts that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init()
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }
}

/// The times for which pushes wait. Source: N7.
package struct PushTimes: Equatable, Sendable {
    /// Between attempts that certainly failed.
    package var attempts = OutboxTimes()
    /// From a ticket to the question for its receipt, and between two questions. Source: Expo,
    /// "Sending notifications": "check push receipts 15 minutes after sending".
    package var receiptEvery = Milliseconds.seconds(15 * 60)
    /// For how long it is asked: "receipts are cleared after 24 hours".
    package var receiptFor = Milliseconds.seconds(24 * 3600)
    /// The time for which a wake is worth being delivered (N9).
    package var wakeFor = Milliseconds.seconds(60)

    /// The times of the product.
    package init() {}
}

/// The load of one delivery worker at a time: pushes of one kind, or the question for receipts.
package struct PushQueue: Hashable, Sendable {
    /// The kinds of load.
    package enum Load: Hashable, Sendable {
        case pushes(PushKind)
        case receipts
    }

    package let load: Load
    /// The place among the delivery workers with the same load, from 0.
    package let place: Int

    /// The queue of a delivery worker.
    package init(_ load: Load, place: Int) {
        self.load = load
        self.place = place
    }
}

/// The pushes to be sent or asked for in one call, once they are stored.
package struct PushSending: Equatable, Sendable {
    package let queue: PushQueue
    /// To whom it goes.
    package let sink: NudgeRules.Sink
    package let messages: [PushMessage]

    /// The number of attempts that begin with it.
    package var claims: Int { queue.load == .receipts ? 0 : messages.count }
}

/// The result of one attempt to send a push.
package struct PushAttempt: Equatable, Sendable {
    package let number: Int64
    package let verdict: PushVerdict
    /// `StableHash` of the token it was sent to; 0 if none was.
    package let token: UInt64

    /// The attempt to send push `number`.
    package init(_ number: Int64, _ verdict: PushVerdict, token: UInt64 = 0) {
        self.number = number
        self.verdict = verdict
        self.token = token
    }
}
