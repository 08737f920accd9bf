import Glibc
import RollcallCore
import RollcallSupport
import Synchronization

/// The backend of the demo's phones: forwards what they send to Rollcall's public API, as a real one
/// would, and sends the same again when it is not acknowledged.
final class DemoBackend: Sendable {
    /// Between two looks at the phones.
    private static let tickMicroseconds: UInt32 = 100_000
    /// Between two attempts of the same body, whatever the server asks for: a story waits for it.
    private static let pauses = (first: Int64(500), last: Int64(500), asked: Int64(500))

    private let cast: Mutex<DemoCast>
    private let queue: FleetQueue
    private let isStopping = Atomic(false)
    private let isOver = Atomic(false)

    /// A backend that forwards to the server at `address`.
    init(_ cast: DemoCast, to address: ServerAddress) {
        self.cast = Mutex(cast)
        queue = FleetQueue(address, source: DemoSettings.source, pauses: Self.pauses)
    }

    /// The counts of its work so far.
    var aggregates: FleetAggregates { queue.state.aggregates }

    /// The reason why the server takes nothing from it, ever.
    var trouble: String? { queue.state.fault }

    /// Lets something happen to the phones.
    func apply(_ act: DemoAct) {
        let now = ClockReading.now().wall
        cast.withLock { $0.apply(act, at: now) }
    }

    /// Looks at the phones.
    func look<Value: Sendable>(_ body: (DemoCast) -> Value) -> Value { cast.withLock { body($0) } }

    /// Starts its threads; false if the system has none left.
    func start() -> Bool {
        queue.start()
            && DetachedThread.start {
                self.run()
                self.isOver.store(true, ordering: .releasing)
            }
    }

    /// Ends its threads soon.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        queue.cut()
    }

    /// True once its threads do nothing any more.
    var isIdle: Bool { isOver.load(ordering: .acquiring) && queue.state.isDone }

    private func run() {
        var writer = look { $0.writer }
        var parcel = FleetParcel(queue)
        var nextBeat = Int64.min
        while !isStopping.load(ordering: .relaxed) {
            let now = ClockReading.now()
            // While the server does not answer nobody reports: phones make up for nothing.
            if queue.state.waiting == 0 {
                if now.elapsed >= nextBeat {
                    nextBeat = now.elapsed + Int64(DemoSettings.beatSeconds) * 1000
                    let beat = "{\"every_seconds\":\(DemoSettings.beatSeconds)}"
                    queue.put(FleetPost(path: "/v1/heartbeat", body: Array(beat.utf8), items: 1))
                }
                for report in cast.withLock({ $0.reports(at: now.wall) }) {
                    parcel.add(FleetLine(report, .direct), &writer)
                }
                parcel.send()
            }
            usleep(Self.tickMicroseconds)
        }
    }
}
