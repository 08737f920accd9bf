import Logging
import RollcallCore
import RollcallSupport

/// The report that a delivery worker of pushes brings back.
package struct PushReport: Sendable {
    package let queue: PushQueue
    /// The attempts, one for each push; empty for receipts.
    package var attempts: [PushAttempt] = []
    /// The answer to a question for receipts.
    package var receipts: PushReceipts?
    /// The first error, for people: no secret, no token.
    package var error: String?
    /// The answer to that; nil without one.
    var status: Int?
    package var took = Milliseconds(0)

    /// A report from `queue`.
    init(_ queue: PushQueue) { self.queue = queue }

    /// The report about pushes that were not sent at all.
    package init(_ queue: PushQueue, notSent numbers: [Int64], _ error: String?) {
        self.queue = queue
        if queue.load == .receipts {
            receipts = PushReceipts(verdicts: nil, error: error)
        } else {
            attempts = numbers.map { PushAttempt($0, .refused(retryAfter: nil)) }
        }
        self.error = error
    }
}

/// The load of a delivery worker of pushes.
package enum PushLoad: Sendable {
    /// Pushes of one call, and the numbers of those that are told not to be sent.
    case pushes([PushPayload], held: [Int64])
    /// The tickets of one question.
    case tickets([[UInt8]])
}

extension DeliveryEndpoints {
    /// Returns what carries pushes to the sink, or asks it for receipts, one call after the other, for
    /// the thread that it is made on (N7).
    package func carrier(
        of queue: PushQueue, log: Logger, report: @escaping (PushReport) -> Void
    ) -> (PushLoad) -> Void {
        let calls = makePushCaller(log)
        return { [self] load in
            switch load {
            case .pushes(let payloads, let held): report(carry(payloads, held, queue, calls))
            case .tickets(let tickets): report(ask(tickets, queue, calls))
            }
        }
    }

    private func carry(
        _ payloads: [PushPayload], _ held: [Int64], _ queue: PushQueue, _ calls: PushCalls
    ) -> PushReport {
        // A reload makes the sink known before its address, and Expo must be told a token.
        guard let sink = pushSink(),
            sink.kind == .expo || payloads.count == 1,
            sink.kind == .webhook || payloads.allSatisfy({ $0.token != nil })
        else {
            return PushReport(queue, notSent: payloads.map(\.number) + held, Self.unknownSink)
        }
        let clock = ClockReading.now()
        let results = calls.send(payloads, sink, clock.wall)
        var report = PushReport(queue, notSent: held, nil)
        report.took = Milliseconds(ClockReading.now().elapsed - clock.elapsed)
        if results.count == payloads.count {
            report.attempts += zip(payloads, results).map { payload, result in
                PushAttempt(
                    payload.number, result.verdict,
                    token: payload.token.map { StableHash.of($0.span, 0..<$0.count) } ?? 0)
            }
        }
        let first = results.first { $0.error != nil }
        report.error = first?.error
        report.status = first?.status
        return report
    }

    private func ask(
        _ tickets: [[UInt8]], _ queue: PushQueue, _ calls: PushCalls
    ) -> PushReport {
        guard let sink = pushSink(), sink.kind == .expo else {
            return PushReport(queue, notSent: [], Self.unknownSink)
        }
        let clock = ClockReading.now()
        var report = PushReport(queue)
        let receipts = calls.receipts(tickets, sink, clock.wall)
        report.receipts = receipts
        report.error = receipts.error
        report.took = Milliseconds(ClockReading.now().elapsed - clock.elapsed)
        return report
    }

    private static let unknownSink = "the settings do not say how it is reached"
}
