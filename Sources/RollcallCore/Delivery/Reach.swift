/// The way that the news of a firing has come with one address, as it is shown. What decides is
/// what was decided (A6 to A9); what is shown as told is what was taken. Source: rule D1.
package struct Reach: Equatable, Sendable {
    /// The state of the news.
    ///
    ///     waiting ──► trying ──► taken
    ///        │          │ ▲
    ///        │          ▼ │
    ///        │        refused
    ///        └──► expired, dropped
    package enum State: UInt8, CaseIterable, Sendable {
        /// It was decided, and nothing was tried yet.
        case waiting = 0
        /// It was tried, or is being tried.
        case trying = 1
        /// The receiver's 2xx is committed.
        case taken = 2
        /// The receiver does not want it as it is; it is tried again slowly.
        case refused = 3
        /// It was given up after a day.
        case expired = 4
        /// It was given up because there was nothing to tell any more, or nobody to tell it to.
        case dropped = 5

        /// True if nothing is tried any more.
        package var isOver: Bool { self == .taken || self == .expired || self == .dropped }

        /// The word in answers.
        package var word: StaticString {
            switch self {
            case .waiting: "waiting"
            case .trying: "trying"
            case .taken: "taken"
            case .refused: "refused"
            case .expired: "expired"
            case .dropped: "dropped"
            }
        }
    }

    package let receiver: [UInt8]
    /// The place among the receiver's addresses, from 0.
    package let target: Int
    package var state: State
    package var decidedAt: Timestamp
    package var attempts = 0
    /// Of the last attempt, as far as this process made it.
    package var lastError: String?
    /// Not before then; nil if nothing is to be tried.
    package var nextAttemptAt: RunningTime?
    package var takenAt: Timestamp?
    /// The receiver that has not taken it, of its fallback (D3).
    package var fallbackOf: [UInt8]?
    /// The storm by which it is told; 0 if it is told singly (D11).
    package var storm: Int64 = 0

    /// Something that was decided for an address at an instant.
    package init(receiver: [UInt8], target: Int = 0, state: State, decidedAt: Timestamp) {
        self.receiver = receiver
        self.target = target
        self.state = state
        self.decidedAt = decidedAt
    }

    /// True if both are about the same address.
    package func isSameAddress(as other: Reach) -> Bool {
        receiver == other.receiver && target == other.target
    }

    init(_ message: OutboxMessage) {
        self.init(
            receiver: message.notice.receiver, target: message.target,
            state: State(message.state, message.outcome, attempts: message.attempts),
            decidedAt: message.decidedAt)
        attempts = message.attempts
        if state == .taken { takenAt = message.finishedAt }
        if !message.state.isFinished { lastError = message.lastError }
    }
}

extension Reach.State {
    /// The state as which a message's state and outcome, after so many attempts, are shown.
    package init(_ state: OutboxMessage.State, _ outcome: NoticeOutcome?, attempts: Int) {
        switch (state, outcome) {
        case (_, .delivered): self = .taken
        case (_, .expired): self = .expired
        case (_, .dropped), (_, .abandoned), (_, .removed): self = .dropped
        case (.refused, nil): self = .refused
        case (_, nil): self = attempts > 0 ? .trying : .waiting
        }
    }
}

extension OutboxQueue {
    /// Returns how far the news of a firing has come here, as far as it was decided at `since` and at
    /// `from` at the earliest; nil if nothing is known of it.
    func reach(
        of incident: Int64, since: Timestamp, from: RunningTime, _ times: OutboxTimes
    ) -> Reach? {
        func counts(_ message: OutboxMessage) -> Bool {
            message.decidedAt >= since && message.since >= from
        }
        let known = known.messages(of: incident).filter(counts)
        if let message = known.first(where: { $0.outcome == .delivered }) { return Reach(message) }
        if let number = waiting.triggers(of: incident).last, let message = waiting[number],
            counts(message)
        {
            var reach = Reach(message)
            if message.state != .sending {
                reach.nextAttemptAt = max(message.ready, pausedUntil(times))
            }
            return reach
        }
        return known.last.map { Reach($0) }
    }
}

extension Outbox {
    /// Returns how far the news of a firing has come, by the addresses that it was decided for and
    /// that are not done with it; of a storm only what was decided at `since`, and in running time at
    /// `from`, at the earliest: what was written before told of no later member (D11).
    package func reach(
        of incident: Int64, since: Timestamp = .distantPast, from: RunningTime = .distantPast
    ) -> [Reach] {
        queues.compactMap { $0.reach(of: incident, since: since, from: from, times) }
    }

    /// Returns the last error on the way of such news to a receiver; nil if there was none, or
    /// another process tried it.
    package func lastError(of incident: Int64, to receiver: [UInt8]) -> String? {
        let own = queues.filter { $0.key.receiver == receiver }
        return own.lazy.compactMap {
            $0.reach(of: incident, since: .distantPast, from: .distantPast, times)?.lastError
        }.first
            ?? own.lazy.compactMap(\.lastError).first
    }

    /// True if a receiver took the news of an alert, singly or by a storm, at `instant` at the latest. A
    /// line of our own log is nobody, unless nobody else is set for it (D1).
    package func isTaken(_ alert: borrowing Alert, by instant: Timestamp = .distantFuture) -> Bool {
        let isLogEnough = !receivers.areMoreThanLogs(for: alert.labels)
        let incidents = [alert.incident] + alert.notified.map(\.storm).filter { $0 != 0 }
        return incidents.contains { isTaken($0, by: instant, isLogEnough: isLogEnough) }
    }

    private func isTaken(_ incident: Int64, by instant: Timestamp, isLogEnough: Bool) -> Bool {
        queues.contains { queue in
            if queue.kind == .log, !isLogEnough { return false }
            return queue.known.messages(of: incident).contains {
                $0.outcome == .delivered && $0.finishedAt <= instant
            }
        }
    }
}
