import Logging
import RollcallCore

/// The report that a courier to a receiver's address brings back.
struct CourierReport: Sendable {
    let lane: LaneKey
    /// The draft that was carried.
    let draft: PageDraft
    /// The number of the attempt.
    let attempt: Int
    let result: AttemptResult
    let beganAt: Timestamp
    var took = Milliseconds(0)

    /// The notice's number; 0 for a refresh.
    var notice: Int64 { draft.notice }
}

extension DeliveryWays {
    /// Returns what carries drafts to one address of one receiver, for the thread that it is made on.
    func carrier(
        to lane: LaneKey, log: Logger, report: @escaping (CourierReport) -> Void
    ) -> ((draft: PageDraft, attempt: Int)) -> Void {
        let send = makeSend(log)
        return { [self] load in
            let clock = ClockReading.now()
            // A reload makes the receiver known before its address.
            var result = AttemptResult(
                .failed, error: "the settings do not say how it is reached", mayHaveArrived: false)
            if let address = address(lane.receiver) {
                let message = load.draft.message(externalURL: externalURL())
                result = send(message, address, lane.target, clock.wall)
            }
            report(
                CourierReport(
                    lane: lane, draft: load.draft, attempt: load.attempt, result: result,
                    beganAt: clock.wall,
                    took: Milliseconds(ClockReading.now().elapsed - clock.elapsed)))
        }
    }
}
