import Logging
import RollcallCore

/// The report that a courier brings back.
struct CourierReport: Sendable {
    let lane: LaneKey
    /// The notice's number; 0 for a refresh.
    let notice: Int64
    /// The number of the attempt.
    let attempt: Int
    let result: AttemptResult
    let beganAt: Timestamp
    let took: Milliseconds
    /// The draft that was carried.
    let draft: PageDraft
}

/// Carries messages to one address of one receiver, one after the other, on a thread of its own:
/// whatever that receiver does holds up nobody else (A9).
final class Courier: Sendable {
    private enum Message: Sendable {
        case carry(PageDraft, attempt: Int)
        case close
    }

    /// Milliseconds of sleep without anything to do.
    private static let idleWait: Int64 = 3_600_000

    private let lane: LaneKey
    private let ways: DeliveryWays
    private let log: Logger
    private let report: @Sendable (CourierReport) -> Void
    private let mailbox = Mailbox<Message>()

    /// A courier to one address. `report` is called once for each message, on its thread.
    init(
        _ lane: LaneKey, _ ways: DeliveryWays, log: Logger,
        report: @escaping @Sendable (CourierReport) -> Void
    ) {
        self.lane = lane
        self.ways = ways
        self.log = log
        self.report = report
    }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start { self.run() } }

    /// Hands over a message. The outbox has one under way to each address.
    func carry(_ draft: PageDraft, attempt: Int) { mailbox.put(.carry(draft, attempt: attempt)) }

    /// Ends the thread after what it is at.
    func close() { mailbox.put(.close) }

    private func run() {
        let send = ways.makeSend(log)
        while true {
            for message in mailbox.takeAll(waiting: Self.idleWait) {
                switch message {
                case .carry(let draft, let attempt): carry(draft, attempt: attempt, send)
                case .close: return
                }
            }
        }
    }

    private func carry(_ draft: PageDraft, attempt: Int, _ send: DeliveryWays.Send) {
        let clock = ClockReading.now()
        let result: AttemptResult
        if let address = ways.address(lane.receiver) {
            let message = draft.message(externalURL: ways.externalURL())
            result = send(message, address, lane.target, clock.wall)
        } else {
            // A reload makes the receiver known before its address.
            result = AttemptResult(
                .retry, error: "the settings do not say how it is reached", mayHaveArrived: false)
        }
        report(
            CourierReport(
                lane: lane, notice: draft.notice, attempt: attempt, result: result,
                beganAt: clock.wall,
                took: Milliseconds(ClockReading.now().elapsed - clock.elapsed), draft: draft))
    }
}
