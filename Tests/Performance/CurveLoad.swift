import Glibc
import RollcallCore

/// Batches of people who stand far from each other in memory, each with the sequence that comes
/// next, over one connection.
struct CurveLoad {
    /// A prime, so that with no number of people somebody comes twice before all have come.
    private static let step = 611_953

    private let people: Range<Int>
    private var poster: FleetPoster
    private let firstRound: Int
    /// Batches posted so far.
    private(set) var batches = 0
    /// How long their bodies took.
    private(set) var latencies = LatencyHistogram()

    /// A load by some people, who have all sent the round before `firstRound`.
    init(
        _ people: Range<Int>, _ batch: FleetBatch = .onDuty, firstRound: Int, to port: UInt16
    ) throws(BenchmarkError) {
        self.people = people
        self.firstRound = firstRound
        poster = try FleetPoster(batch, to: port)
    }

    /// Posts so many batches in one body, or what is left of a round: nobody may come twice.
    mutating func post(_ count: Int) throws(BenchmarkError) {
        let size = people.count
        let round = firstRound + batches / size
        let end = min(batches + count, (batches / size + 1) * size)
        let body = (batches..<end).map { people.lowerBound + $0 * Self.step % size }
        let now = wallNow()
        let begun = Nanoseconds.now()
        try poster.post(body, round: { _ in round }, receivedAt: { _ in now })
        latencies.record(.now() - begun)
        batches = end
    }

    /// Lets everybody send the last round, so that nobody's sequences have a hole; returns the next
    /// one.
    mutating func finishRound(
        batchesPerBody: Int = FleetBulk.batchesPerRequest
    ) throws(BenchmarkError) -> Int {
        while batches % people.count > 0 { try post(batchesPerBody) }
        return firstRound + batches / people.count
    }

    /// Posts until an instant.
    mutating func run(until end: Nanoseconds, batchesPerBody: Int) throws(BenchmarkError) {
        while Nanoseconds.now() < end { try post(batchesPerBody) }
    }
}

/// What a load cost a server.
struct CurveStats {
    /// Processor time of the server for each batch, microseconds.
    var processor: Double
    /// Mean of the state writer's turns, milliseconds.
    var turn: Double

    /// What batches that `load` posts, and counts, cost.
    init(
        _ server: ServerProcess, _ load: () throws(BenchmarkError) -> Int
    ) throws(BenchmarkError) {
        let caller = try Caller(port: server.port)
        let before = try MetricsReading(caller)
        let processorBefore = server.processorTime
        let batches = try load()
        let used = server.processorTime - processorBefore
        let after = try MetricsReading(caller)
        guard batches > 0 else { throw .answer("no batch was taken in the time of a run") }
        processor = used.microseconds / Double(batches)
        func grown(_ part: String) -> Double {
            let name = "rollcall_turn_duration_seconds_\(part)"
            return (after.value(name) ?? 0) - (before.value(name) ?? 0)
        }
        let turns = grown("count")
        turn = turns > 0 ? grown("sum") / turns * 1000 : 0
    }
}
