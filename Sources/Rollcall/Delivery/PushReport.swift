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

/// The load of a courier of pushes.
enum PushLoad: Sendable {
    /// Pushes of one call, and the numbers of those that are told not to be sent.
    case pushes([PushDraft], held: [Int64])
    /// The tickets of one question.
    case tickets([[UInt8]])
}

extension DeliveryWays {
    /// Returns what carries pushes to the sink, or asks it for receipts, one call after the other, for
    /// the thread that it is made on (N7).
    func carrier(
        of lane: PushLane, log: Logger, report: @escaping (PushReport) -> Void
    ) -> (PushLoad) -> Void {
        let calls = makePushCaller(log)
        return { [self] load in
            switch load {
            case .pushes(let drafts, let held): report(carry(drafts, held, lane, calls))
            case .tickets(let tickets): report(ask(tickets, lane, calls))
            }
        }
    }

    private func carry(
        _ drafts: [PushDraft], _ held: [Int64], _ lane: PushLane, _ calls: PushCalls
    ) -> PushReport {
        // A reload makes the sink known before its address, and Expo must be told a token.
        guard let sink = pushSink(),
            sink.kind == .expo || drafts.count == 1,
            sink.kind == .webhook || drafts.allSatisfy({ $0.token != nil })
        else {
            return PushReport(lane, notSent: drafts.map(\.number) + held, Self.unknownSink)
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
        return report
    }

    private func ask(
        _ tickets: [[UInt8]], _ lane: PushLane, _ calls: PushCalls
    ) -> PushReport {
        guard let sink = pushSink(), sink.kind == .expo else {
            return PushReport(lane, notSent: [], Self.unknownSink)
        }
        let clock = ClockReading.now()
        var report = PushReport(lane)
        let receipts = calls.receipts(tickets, sink, clock.wall)
        report.receipts = receipts
        report.error = receipts.error
        report.took = Milliseconds(ClockReading.now().elapsed - clock.elapsed)
        return report
    }

    private static let unknownSink = "the settings do not say how it is reached"
}
