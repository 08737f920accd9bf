import RollcallCore
import Synchronization

/// Batches of many people, a thousand a body, over a few connections at once: how a fleet is
/// enrolled.
enum FleetBulk {
    /// Batches in a body.
    static let batchesPerRequest = 1000
    private static let connections = 4

    /// Posts one batch of each person; returns how long it took.
    static func post(
        _ people: Range<Int>, _ batch: FleetBatch, round: Int, at server: ServerProcess,
        demand: FleetPoster.Demand = .all, receivedAt: @escaping @Sendable (Int) -> Timestamp
    ) throws(BenchmarkError) -> Nanoseconds {
        let queue = BulkQueue(people)
        let port = server.port
        let begun = Nanoseconds.now()
        var threads: [LoadThread] = []
        for _ in 0..<connections {
            threads.append(
                try LoadThread { () throws(BenchmarkError) in
                    var poster = try FleetPoster(batch, to: port, demand: demand)
                    while let people = queue.take(batchesPerRequest) {
                        try poster.post(people, round: { _ in round }, receivedAt: receivedAt)
                    }
                })
        }
        for thread in threads { try thread.join() }
        return Nanoseconds.now() - begun
    }
}

/// People who still have to be posted.
private final class BulkQueue: Sendable {
    private let next: Atomic<Int>
    private let end: Int

    init(_ people: Range<Int>) {
        next = Atomic(people.lowerBound)
        end = people.upperBound
    }

    /// The next ones; nil if there are none.
    func take(_ count: Int) -> Range<Int>? {
        let first = next.add(count, ordering: .relaxed).oldValue
        return first < end ? first..<min(first + count, end) : nil
    }
}

/// Which round each thread of a load has come to, and what all of them posted.
final class FleetRounds: Sendable {
    private struct State {
        var next: [Int]
        var batches = 0
    }

    private let state: Mutex<State>

    /// Everybody has sent round 0.
    init(threads: Int) {
        state = Mutex(State(next: [Int](repeating: 1, count: threads)))
    }

    /// Batches that all threads have posted.
    var batches: Int { state.withLock { $0.batches } }

    /// The round that the people of a thread send next.
    func next(of thread: Int) -> Int { state.withLock { $0.next[thread] } }

    /// Notes what a thread has done.
    func end(of thread: Int, _ next: Int, batches: Int) {
        state.withLock {
            $0.next[thread] = next
            $0.batches += batches
        }
    }
}
