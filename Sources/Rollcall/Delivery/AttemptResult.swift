import RollcallCore

/// The result of one attempt to deliver a message. Source: A9.
package struct AttemptResult: Equatable, Sendable {
    /// The consequence of an attempt.
    package enum Kind: Equatable, Sendable {
        /// The receiver took it: 2xx.
        case delivered
        /// It will not take this one as it is: 3xx, and 4xx but 408, 425 and 429. Tried slowly, as
        /// a wrong secret repairs itself by somebody's hand, and told at once.
        case refused
        /// Nobody knows, or later it may: network errors, 408, 425, 429, 5xx.
        case retry
    }

    package var kind: Kind
    /// The answer's; nil without a whole answer.
    package var status: Int?
    /// The error, for people: scheme, host and port of a URL at most, and no secret.
    package var error: String?
    /// The time that the receiver wants to be left alone, at most `retryAfterMax`.
    package var retryAfter: Milliseconds?
    /// False if nothing can have reached the receiver.
    package var mayHaveArrived: Bool

    /// A result; unless it is said otherwise, something may have arrived.
    package init(
        _ kind: Kind, status: Int? = nil, error: String? = nil, retryAfter: Milliseconds? = nil,
        mayHaveArrived: Bool = true
    ) {
        self.kind = kind
        self.status = status
        self.error = error
        self.retryAfter = retryAfter
        self.mayHaveArrived = mayHaveArrived
    }

    /// The longest `Retry-After` that is heeded.
    package static let retryAfterMax = Milliseconds.seconds(5 * 60)
    /// Bytes of `error` at most.
    package static let errorBytesMax = 512
}
