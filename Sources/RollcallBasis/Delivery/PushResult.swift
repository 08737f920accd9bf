import RollcallCore
import RollcallSupport

/// The result of one attempt to hand a push to its sink.
package struct PushResult: Equatable, Sendable {
    /// Bytes of `error` at most.
    package static let errorBytesMax = 200

    /// The verdict that follows from it.
    package let verdict: PushVerdict
    /// The answer's; nil without one.
    package let status: Int?
    /// The error, for people: no secret, no token.
    package let error: String?

    /// A result; `error` is cut to what it may have.
    package init(_ verdict: PushVerdict, status: Int? = nil, error: String? = nil) {
        self.verdict = verdict
        self.status = status
        self.error = error.map { NotificationWords.clipped($0, bytesMax: Self.errorBytesMax) }
    }
}

/// The answer of a sink that was asked for receipts.
package struct PushReceipts: Equatable, Sendable {
    /// In the order of the tickets; nil if it could not be asked.
    package let verdicts: [ReceiptVerdict]?
    /// The time that the sink wants to be left alone.
    package let retryAfter: Milliseconds?
    /// The reason why it could not be asked: no secret.
    package let error: String?

    /// Receipts, or why there are none.
    package init(
        verdicts: [ReceiptVerdict]?, retryAfter: Milliseconds? = nil, error: String? = nil
    ) {
        self.verdicts = verdicts
        self.retryAfter = retryAfter
        self.error = error.map { NotificationWords.clipped($0, bytesMax: PushResult.errorBytesMax) }
    }
}

/// The calls that send pushes. Both block their thread, and belong to it.
package struct PushCalls {
    /// Hands pushes to the sink: to `expo` up to `ExpoPush.messagesMax`, to `webhook` one. The
    /// results are in the same order, and as many.
    package let send: ([PushPayload], PushSink, Timestamp) -> [PushResult]
    /// Asks the sink for the receipts of up to `ExpoPush.ticketsMax` tickets.
    package let receipts: ([[UInt8]], PushSink, Timestamp) -> PushReceipts
}
