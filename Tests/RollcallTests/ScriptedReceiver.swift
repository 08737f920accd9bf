import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// A receiver that is no server: what it is sent is kept, and a script answers.
final class ScriptedReceiver: Sendable {
    /// What a script sees.
    struct Attempt: Sendable {
        let message: NotificationMessage
        let target: Int
        /// Which one of all that this receiver saw, from 0.
        let place: Int
    }

    private let seen = Mutex<[Attempt]>([])
    private let script: @Sendable (Attempt) -> AttemptResult

    init(_ script: @escaping @Sendable (Attempt) -> AttemptResult) { self.script = script }

    /// What it was sent: `id kind keys`.
    var log: [String] {
        seen.withLock { attempts in
            attempts.map { attempt in
                let keys = attempt.message.members.map {
                    "\($0.key.split(separator: "-").last ?? "")"
                }
                return "\(attempt.message.id.split(separator: "_").last ?? "") "
                    + "\(attempt.message.kind.word) \(keys.joined(separator: " "))"
            }
        }
    }

    /// The same, whole.
    var messages: [NotificationMessage] { seen.withLock { $0.map(\.message) } }

    fileprivate func take(_ message: NotificationMessage, _ target: Int) -> AttemptResult {
        let attempt = seen.withLock { attempts in
            let attempt = Attempt(message: message, target: target, place: attempts.count)
            attempts.append(attempt)
            return attempt
        }
        return script(attempt)
    }
}

extension OutboxTimes {
    /// Waits that a test can sit out.
    static var quick: OutboxTimes {
        var times = OutboxTimes()
        times.retryMin = Milliseconds(2)
        times.retryMax = Milliseconds(10)
        times.refusedEvery = Milliseconds(200)
        return times
    }

    /// Only what is retried soon is tried again.
    static var slow: OutboxTimes {
        var times = OutboxTimes()
        times.retryMin = .seconds(3600)
        times.retryMax = .seconds(3600)
        times.refusedEvery = .seconds(3600)
        times.changedAfter = Milliseconds(10)
        times.unchangedAfter = Milliseconds(20)
        return times
    }
}

/// A state writer with receivers, by their names, on a store of its own.
final class NotifyingStateWriter {
    let writer: StateWriter
    let edge = EdgeStats()
    let log = LogCapture()

    /// Opens the store in `directory` and starts.
    init(
        _ directory: TemporaryDirectory, _ receivers: [String: ScriptedReceiver],
        kind: ReceiverKind = .pagerduty, times: OutboxTimes = .quick,
        _ change: (inout Policy) -> Void = { _ in }
    ) throws {
        var policy = Policy()
        for name in receivers.keys.sorted() {
            policy.receivers.append(Receiver(name: Array(name.utf8), kind: kind))
        }
        change(&policy)
        var endpoints = DeliveryEndpoints()
        endpoints.address = { name in
            ReceiverAddress(name: String(decoding: name, as: UTF8.self), kind: kind)
        }
        endpoints.externalURL = { "https://rollcall.example.org" }
        endpoints.makeSend = { _ in
            { message, address, target, _ in
                receivers[address.name]?.take(message, target)
                    ?? AttemptResult(.refused, error: "nobody")
            }
        }
        endpoints.times = times
        endpoints.sendingLeaveMax = .seconds(20)
        writer = try StateWriter(
            path: directory.store, policy: policy,
            log: log.logger, edge: edge, endpoints: endpoints,
            refusals: { 0 }, onFatal: { _ in })
        writer.start()
    }

    /// Writes an event and waits for its commit.
    func write(_ event: Event) -> Receipt? {
        let answers = Mutex<Receipt?>(nil)
        writer.write(event) { outcome in
            if case .committed(let receipt) = outcome { answers.withLock { $0 = receipt } }
        }
        _ = isTrueSoon { answers.withLock { $0 != nil } }
        return answers.withLock { $0 }
    }

    /// Settings were read again, and say so of the way to a receiver; returns once that is stored.
    func reload(_ change: EndpointChange, of name: String = "oncall") {
        var endpoints = EndpointChanges()
        endpoints.queues[QueueKey(receiver: Array(name.utf8), target: 0)] = change
        let done = ReplyCounter()
        writer.retrySoon(endpoints) { done.add("done") }
        #expect(isTrueSoon { !done.all.isEmpty })
    }

    /// Asks for a test of a receiver; the number of its notice.
    func drill(_ name: String) -> Int64 {
        write(.drill(receiver: Array(name.utf8)))?.drill ?? 0
    }

    /// What became of a notice by its end, or by the end of our patience.
    func deliveryStatus(of notice: Int64, patience: Milliseconds = .seconds(20))
        -> NoticeDeliveryStatus?
    {
        let answers = Mutex<[NoticeDeliveryStatus?]>([])
        writer.waitForNotice(notice, patience: patience) { deliveryStatus in
            answers.withLock { $0.append(deliveryStatus) }
        }
        #expect(isTrueSoon { answers.withLock { !$0.isEmpty } })
        return answers.withLock { $0.first ?? nil }
    }

    /// Stops. Once the state writer has heard of it, and goes on because something is being sent,
    /// `release` lets that come back.
    func stop(release: (() -> Void)? = nil) {
        let done = ReplyCounter()
        writer.stop { done.add("done") }
        if let release {
            let answers = ReplyCounter()
            writer.ask { _ in answers.add("it goes on") }
            #expect(isTrueSoon { !answers.all.isEmpty })
            release()
        }
        #expect(isTrueSoon { !done.all.isEmpty })
    }
}
