import Glibc
import Synchronization

/// Everybody's batches, one a request over a few connections, each as soon as the one before is
/// answered: what users feel while the store has something else to do.
final class ChoreLoad: Sendable {
    /// Connections that post at once.
    static let connections = 16

    private struct State {
        var isStopped = false
        var latencies = LatencyHistogram()
        var batches = 0
    }

    private let people: Int
    private let port: UInt16
    private let firstRound: Int
    private let state = Mutex(State())

    /// A load by so many people, who have all sent the round before `firstRound`.
    init(people: Int, firstRound: Int, to port: UInt16) {
        self.people = people
        self.firstRound = firstRound
        self.port = port
    }

    /// Starts it.
    func start() throws(BenchmarkError) -> [LoadThread] {
        var threads: [LoadThread] = []
        for index in 0..<Self.connections {
            threads.append(
                try LoadThread { [self] () throws(BenchmarkError) in try run(index) })
        }
        return threads
    }

    /// Ends it with the batches on their way.
    func stop() { state.withLock { $0.isStopped = true } }

    /// What was answered since it was asked for the last time.
    func take() -> (batches: Int, latencies: LatencyHistogram) {
        state.withLock { state in
            defer { (state.batches, state.latencies) = (0, LatencyHistogram()) }
            return (state.batches, state.latencies)
        }
    }

    private func run(_ index: Int) throws(BenchmarkError) {
        let each = people / Self.connections
        let own = (index * each)..<((index + 1) * each)
        var load = try CurveLoad(own, firstRound: firstRound, to: port)
        while !state.withLock({ $0.isStopped }) {
            let begun = Nanoseconds.now()
            try load.post(1)
            let span = Nanoseconds.now() - begun
            state.withLock {
                $0.latencies.record(span)
                $0.batches += 1
            }
        }
    }
}
