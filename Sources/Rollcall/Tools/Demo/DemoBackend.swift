import Glibc
import RollcallCore
import Synchronization

/// The backend of the demo's phones: forwards what they send to Rollcall's public API, as a real one
/// would, and sends the same again when it is not acknowledged.
final class DemoBackend: Sendable {
    /// Between two looks at the phones.
    private static let tickMicroseconds: UInt32 = 100_000
    /// Between two attempts of the same body.
    private static let retryMicroseconds: UInt32 = 500_000

    private let cast: Mutex<DemoCast>
    private let url: String
    private let isStopping = Atomic(false)
    private let isOver = Atomic(false)
    private let counts = Mutex(Counts())

    /// The counts of its work.
    struct Counts: Sendable {
        var batches = 0
        /// Requests that were not acknowledged, and sent again.
        var retries = 0
        /// The last answer that was neither 200 nor worth another attempt.
        var trouble: String?
    }

    /// A backend that forwards to the server at `url`.
    init(_ cast: DemoCast, to url: String) {
        self.cast = Mutex(cast)
        self.url = url
    }

    /// The counts of its work so far.
    var figures: Counts { counts.withLock { $0 } }

    /// Lets something happen to the phones.
    func apply(_ act: DemoAct) {
        let now = ClockReading.now().wall
        cast.withLock { $0.apply(act, at: now) }
    }

    /// Looks at the phones.
    func look<Value: Sendable>(_ body: (DemoCast) -> Value) -> Value { cast.withLock { body($0) } }

    /// Starts its thread; false if the system has none left.
    func start(_ caller: @escaping @Sendable () throws(HTTPCallError) -> HTTPCaller) -> Bool {
        DetachedThread.start {
            if let caller = try? caller() { self.run(caller) }
            self.isOver.store(true, ordering: .releasing)
        }
    }

    /// Ends its thread soon.
    func stop() { isStopping.store(true, ordering: .relaxed) }

    /// True once its thread does nothing any more.
    var isQuiet: Bool { isOver.load(ordering: .acquiring) }

    private var goesOn: Bool { !isStopping.load(ordering: .relaxed) }

    private func run(_ caller: HTTPCaller) {
        var nextBeat = Int64.min
        while goesOn {
            let now = ClockReading.now()
            if now.elapsed >= nextBeat {
                nextBeat = now.elapsed + Int64(DemoSettings.beatSeconds) * 1000
                let beat: JSONTree = ["every_seconds": .integer(Int64(DemoSettings.beatSeconds))]
                post([beat], "/v1/heartbeat", caller)
            }
            let (facts, batches) = cast.withLock { ($0.takeFacts(), $0.batches(at: now.wall)) }
            // What is known of people first: a batch of somebody who is back on duty is no news then.
            if !facts.isEmpty { post(facts, "/v1/responders", caller) }
            if !batches.isEmpty { post(batches, "/v1/batches", caller) }
            counts.withLock { $0.batches += batches.count }
            usleep(Self.tickMicroseconds)
        }
    }

    /// Sends items, one a line, until they are acknowledged or will never be.
    private func post(_ items: [JSONTree], _ path: String, _ caller: HTTPCaller) {
        var call = HTTPCall(.post, "\(url)\(path)?source=\(DemoSettings.source)")
        let type = items.count == 1 ? "application/json" : "application/x-ndjson"
        call.headers = [("Content-Type", type)]
        for item in items {
            item.append(to: &call.body)
            call.body.append(0x0A)
        }
        while goesOn {
            let status = (try? caller.answer(to: call))?.status
            switch status {
            case 200?: return
            case nil, 408?, 429?, 503?:
                counts.withLock { $0.retries += 1 }
                usleep(Self.retryMicroseconds)
            case let other?:
                counts.withLock { $0.trouble = "POST \(path) was answered \(other)" }
                return
            }
        }
    }
}
