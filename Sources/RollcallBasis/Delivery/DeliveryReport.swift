import Logging
import RollcallCore
import RollcallSupport

/// The report that a delivery worker to a receiver's address brings back.
package struct DeliveryReport: Sendable {
    package let queue: QueueKey
    /// The payload that was carried.
    package let payload: NotificationPayload
    /// The number of the attempt.
    package let attempt: Int
    package let result: AttemptResult
    package let beganAt: Timestamp
    package var took = Milliseconds(0)

    /// A worker tells how one attempt ended, when it began, and what it took.
    package init(
        queue: QueueKey, payload: NotificationPayload, attempt: Int, result: AttemptResult,
        beganAt: Timestamp, took: Milliseconds = Milliseconds(0)
    ) {
        self.queue = queue
        self.payload = payload
        self.attempt = attempt
        self.result = result
        self.beganAt = beganAt
        self.took = took
    }

    /// The notice's number; 0 for a refresh.
    package var notice: Int64 { payload.notice }
}

extension DeliveryEndpoints {
    /// Returns what carries drafts to one address of one receiver, for the thread that it is made on.
    package func carrier(
        to queue: QueueKey, log: Logger, report: @escaping (DeliveryReport) -> Void
    ) -> ((payload: NotificationPayload, attempt: Int)) -> Void {
        let send = makeSend(log)
        return { [self] load in
            let clock = ClockReading.now()
            // A reload makes the receiver known before its address.
            var result = AttemptResult(
                .failed, error: "the settings do not say how it is reached", mayHaveArrived: false)
            if let address = address(queue.receiver) {
                let message = load.payload.message(externalURL: externalURL())
                result = send(message, address, queue.target, clock.wall)
            }
            report(
                DeliveryReport(
                    queue: queue, payload: load.payload, attempt: load.attempt, result: result,
                    beganAt: clock.wall,
                    took: Milliseconds(ClockReading.now().elapsed - clock.elapsed)))
        }
    }
}
