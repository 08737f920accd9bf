import RollcallCore

/// Hands pushes to their sink, one request at a time.
package final class PushCaller {
    package init() {}

    /// Hands pushes to the sink.
    package func send(
        _ pushes: [PushDraft], to sink: PushSink, now: Timestamp
    ) -> [PushResult] {
        pushes.map { _ in PushResult(.refused(retryAfter: nil)) }
    }

    /// Asks for receipts.
    package func receipts(
        _ tickets: [[UInt8]], from sink: PushSink, now: Timestamp
    ) -> PushReceipts {
        PushReceipts(verdicts: nil)
    }
}
