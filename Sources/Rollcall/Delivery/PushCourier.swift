import Logging
import RollcallCore

/// The report that a courier of pushes brings back.
struct PushReport: Sendable {
    let lane: PushLane
    /// The attempts, one for each push; empty for receipts.
    var attempts: [PushAttempt] = []
    /// The answer to a question for receipts.
    var receipts: PushReceipts?
    /// The first error, for people: no secret, no token.
    var error: String?
    /// The answer to that; nil without one.
    var status: Int?
    var took = Milliseconds(0)

    /// A report from `lane`.
    init(_ lane: PushLane) { self.lane = lane }

    /// The report about pushes that were not sent at all.
    init(_ lane: PushLane, notSent numbers: [Int64], _ error: String?) {
        self.lane = lane
        if lane.load == .receipts {
            receipts = PushReceipts(verdicts: nil, error: error)
        } else {
            attempts = numbers.map { PushAttempt($0, .refused(retryAfter: nil)) }
        }
        self.error = error
    }
}

/// Carries pushes to the sink, or asks it for receipts, one call after the other, on a thread of its
/// own (N7).
final class PushCourier: Sendable {
    private enum Message: Sendable {
        /// Pushes, and the numbers of those of the same call that are not to be sent.
        case carry([PushDraft], held: [Int64])
        case ask([[UInt8]])
        case close
    }

    /// Milliseconds of sleep without anything to do.
    private static let idleWait: Int64 = 3_600_000

    private let lane: PushLane
    private let ways: DeliveryWays
    private let log: Logger
    private let report: @Sendable (PushReport) -> Void
    private let mailbox = Mailbox<Message>()

    /// A courier of a lane. `report` is called once for each call, on its thread.
    init(
        _ lane: PushLane, _ ways: DeliveryWays, log: Logger,
        report: @escaping @Sendable (PushReport) -> Void
    ) {
        self.lane = lane
        self.ways = ways
        self.log = log
        self.report = report
    }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start { self.run() } }

    /// Hands over the pushes of one call; those of `held` are told not to be sent.
    func carry(_ drafts: [PushDraft], held: [Int64]) { mailbox.put(.carry(drafts, held: held)) }

    /// Hands over the tickets of one question.
    func ask(_ tickets: [[UInt8]]) { mailbox.put(.ask(tickets)) }

    /// Ends the thread after what it is at.
    func close() { mailbox.put(.close) }

    private func run() {
        let calls = ways.makePushCaller(log)
        while true {
            for message in mailbox.takeAll(waiting: Self.idleWait) {
                switch message {
                case .carry(let drafts, let held): carry(drafts, held, calls)
                case .ask(let tickets): ask(tickets, calls)
                case .close: return
                }
            }
        }
    }

    private func carry(_ drafts: [PushDraft], _ held: [Int64], _ calls: PushCalls) {
        let numbers = drafts.map(\.number)
        // A reload makes the sink known before its address, and Expo must be told a token.
        guard let sink = ways.pushSink(),
            sink.kind == .expo || drafts.count == 1,
            sink.kind == .webhook || drafts.allSatisfy({ $0.token != nil })
        else {
            return report(PushReport(lane, notSent: numbers + held, Self.unknownSink))
        }
        let clock = ClockReading.now()
        let results = calls.send(drafts, sink, clock.wall)
        var report = PushReport(lane, notSent: held, nil)
        report.took = Milliseconds(ClockReading.now().elapsed - clock.elapsed)
        if results.count == drafts.count {
            report.attempts += zip(drafts, results).map { draft, result in
                PushAttempt(
                    draft.number, result.verdict,
                    token: draft.token.map { StableHash.of($0.span, 0..<$0.count) } ?? 0)
            }
        }
        let first = results.first { $0.error != nil }
        report.error = first?.error
        report.status = first?.status
        self.report(report)
    }

    private func ask(_ tickets: [[UInt8]], _ calls: PushCalls) {
        guard let sink = ways.pushSink(), sink.kind == .expo else {
            return report(PushReport(lane, notSent: [], Self.unknownSink))
        }
        let clock = ClockReading.now()
        var report = PushReport(lane)
        let receipts = calls.receipts(tickets, sink, clock.wall)
        report.receipts = receipts
        report.error = receipts.error
        report.took = Milliseconds(ClockReading.now().elapsed - clock.elapsed)
        self.report(report)
    }

    private static let unknownSink = "the settings do not say how it is reached"
}
