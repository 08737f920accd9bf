import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// A sink that is no server: what it is sent is kept, and a script answers.
final class ScriptedSink: Sendable {
    private let seen = Mutex<[PushPayload]>([])
    private let asked = Mutex<[[[UInt8]]]>([])
    let kind: PushSink.Kind
    private let script: @Sendable (PushPayload) -> PushVerdict
    /// Tickets of which the receipts say that the phone has no such app any more.
    private let deadTickets: [String]
    private let times: OutboxTimes

    init(
        _ kind: PushSink.Kind = .webhook,
        deadTickets: [String] = [], times: OutboxTimes = .quick,
        _ script: @escaping @Sendable (PushPayload) -> PushVerdict = { _ in .delivered }
    ) {
        self.kind = kind
        self.script = script
        self.deadTickets = deadTickets
        self.times = times
    }

    /// What it was sent: `kind id`.
    var log: [String] {
        payloads.map { "\($0.kind.word) \(String(decoding: $0.responderID, as: UTF8.self))" }
    }

    /// The same, whole.
    var payloads: [PushPayload] { seen.withLock { $0 } }

    /// The tickets it was asked about, by question.
    var questions: [[String]] {
        asked.withLock { $0.map { $0.map { String(decoding: $0, as: UTF8.self) } } }
    }

    /// As delivery workers reach it.
    var endpoints: DeliveryEndpoints {
        var endpoints = DeliveryEndpoints()
        let kind = kind
        endpoints.pushSink = { PushSink(kind, url: "http://127.0.0.1:9") }
        endpoints.makePushCaller = { [self] _ in
            PushCalls(
                send: { payloads, _, _ in
                    payloads.map { payload in
                        self.seen.withLock { $0.append(payload) }
                        return PushResult(self.script(payload))
                    }
                },
                receipts: { tickets, _, _ in
                    self.asked.withLock { $0.append(tickets) }
                    return PushReceipts(
                        verdicts: tickets.map { ticket in
                            let isDead = self.deadTickets.contains { Array($0.utf8) == ticket }
                            return isDead ? .unregistered : .delivered
                        })
                })
        }
        endpoints.pushTimes.attempts = times
        endpoints.pushTimes.receiptEvery = Milliseconds(20)
        return endpoints
    }
}

/// A state writer that nudges everybody who was located ten seconds ago.
final class PushingStateWriter {
    let writer: StateWriter
    let log: LogCapture

    /// The policy that it begins with.
    static func policy(_ sink: NudgeRules.Sink) -> Policy {
        var policy = Policy()
        policy.nudges.mode = .live
        policy.nudges.sink = sink
        policy.nudges.staleAfter.standard = Milliseconds(1)
        policy.nudges.ratePerSecond = 600
        return policy
    }

    /// Opens the store in `directory` and starts.
    init(
        _ directory: TemporaryDirectory, _ sink: ScriptedSink, policy: Policy? = nil,
        aroundCommit: StateStore.AroundCommit? = nil
    ) throws {
        log = LogCapture()
        writer = try StateWriter(
            path: directory.store, policy: policy ?? Self.policy(sink.kind.rule), log: log.logger,
            edge: EdgeStats(), endpoints: sink.endpoints, aroundCommit: aroundCommit,
            refusals: { 0 },
            onFatal: { _ in })
        writer.start()
    }

    /// People report, with a location of ten seconds ago or none.
    @discardableResult
    func report(
        _ ids: [String], isLocated: Bool = true, sequence: Int = 1, ago: Int64 = 10_000,
        _ more: String = ""
    ) -> Receipt? {
        let captured = ClockReading.now().wall.milliseconds - ago
        let items = ids.map { id in
            let update =
                isLocated
                ? ",\"updates\":[{\"sequence\":\(sequence),\"captured_at\":\(captured)}]" : ""
            return "{\"responder_id\":\"\(id)\",\"region\":\"north\"\(more)\(update)}"
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        guard let scan = try? ItemScanner.scan(body.span, kind: .batch) else { return nil }
        return write(.items(scan.items, source: []))
    }

    /// Facts about people from the backend.
    func tell(_ facts: String) {
        guard let scan = try? ItemScanner.scan(Array(facts.utf8).span, kind: .responder) else {
            return
        }
        _ = write(.items(scan.items, source: []))
    }

    /// Writes an event and waits for its commit; nil if there was none.
    func write(_ event: Event) -> Receipt? {
        let answer = Mutex<(isThere: Bool, receipt: Receipt?)>((false, nil))
        writer.write(event) { outcome in
            var receipt: Receipt?
            if case .committed(let found) = outcome { receipt = found }
            answer.withLock { $0 = (true, receipt) }
        }
        _ = isTrueSoon { answer.withLock { $0.isThere } }
        return answer.withLock { $0.receipt }
    }

    /// What is known now.
    var view: (engine: Engine, pending: Int)? {
        let found = Mutex<(engine: Engine, pending: Int)?>(nil)
        writer.ask { view in
            found.withLock { $0 = (view.engine, view.store.pushesPending) }
        }
        _ = isTrueSoon { found.withLock { $0 != nil } }
        return found.withLock { $0 }
    }

    /// How many pushes came to an end.
    func ended(_ kind: PushKind, _ outcome: PushOutcome) -> Int {
        view?.engine.counters.nudges.pushed(kind, outcome) ?? -1
    }

    func stop() {
        let done = ReplyCounter()
        writer.stop { done.add("done") }
        #expect(isTrueSoon { !done.all.isEmpty })
    }
}
