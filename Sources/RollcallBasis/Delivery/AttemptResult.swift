import RollcallCore

/// The result of one attempt to deliver a message. Source: A9.
package struct AttemptResult: Equatable, Sendable {
    /// The consequence of it.
    package var kind: OutboxVerdict
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
        _ kind: OutboxVerdict, status: Int? = nil, error: String? = nil,
        retryAfter: Milliseconds? = nil,
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
