import Logging
import RollcallCore

/// The report that a delivery worker to a receiver's address brings back.
struct DeliveryReport: Sendable {
    let queue: QueueKey
    /// The payload that was carried.
    let payload: NotificationPayload
    /// The number of the attempt.
    let attempt: Int
    let result: AttemptResult
    let beganAt: Timestamp
    var took = Milliseconds(0)

    /// The notice's number; 0 for a refresh.
    var notice: Int64 { payload.notice }
}

extension DeliveryEndpoints {
    /// Returns what carries drafts to one address of one receiver, for the thread that it is made on.
    func carrier(
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
