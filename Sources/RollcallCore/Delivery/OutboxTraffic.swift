/// The message or the refresh to be sent to one address, once it is stored.
package struct OutboxSending: Equatable, Sendable {
    /// The content of what is sent.
    package enum Content: Equatable, Sendable {
        /// A message as it is now, which is attempted for the `attempts`th time, and what else of
        /// the same name the receiver knows to fire, if it is told all of a name: the first
        /// `Outbox.contextMax` of `contextCount`.
        case message(OutboxMessage, context: [NoticeMember], contextCount: Int)
        /// All that fires, and what ended lately: no message, and nothing comes of it (A8).
        case refresh(firing: [NoticeMember], ended: [NoticeMember])
    }

    package let queue: QueueKey
    package let content: Content

    /// The number of the attempt at a message; 0 of a refresh.
    package var attempt: Int {
        if case .message(let message, _, _) = content { message.attempts } else { 0 }
    }
}

/// The result of an attempt, as far as it decides.
package enum OutboxVerdict: Equatable, Sendable {
    /// The receiver took it.
    case delivered
    /// It will not take this one as it is. Tried slowly, as a wrong secret repairs itself by
    /// somebody's hand, and told at once.
    case refused
    /// It did not, or nobody knows.
    case failed
}

/// The consequence of an attempt.
package enum AttemptEnd: Equatable, Sendable {
    /// Nothing: it was not under way.
    case unknown
    /// The message has come to its end.
    case finished(NoticeEnd)
    /// It is tried again at an instant, if something is left to be told by then.
    case again(at: RunningTime)
}
