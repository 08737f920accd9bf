import Glibc
import RollcallCore
import Synchronization

/// The people who go on reporting once a minute while something is measured.
final class FleetBackground: Sendable {
    /// Batches in one body at most.
    private static let bodyMax = 500
    /// Bodies a second at least, so that a small fleet does not report in heaps.
    private static let bodiesPerSecond = 10

    private let isStopped = Atomic(false)
    private let sent = Atomic(0)
    private let waits = Mutex<[WaitSample]>([])
    private let people: Range<Int>
    private let port: UInt16
    private let regions: Int
    private let others: Set<Int>
    private let demand: FleetPoster.Demand

    /// Batches sent so far.
    var batches: Int { sent.load(ordering: .relaxed) }

    /// Rounds begin at `firstRound`; each person has one a minute, but for `others`. There are so many
    /// `regions`, and bodies have to be taken as `demand` says.
    init(
        _ people: Range<Int>, at port: UInt16, regions: Int = 32, but others: Set<Int> = [],
        demand: FleetPoster.Demand = .all
    ) {
        (self.regions, self.others, self.demand) = (regions, others, demand)
        self.people = people
        self.port = port
    }

    /// Starts it.
    func start(firstRound: Int) throws(BenchmarkError) -> LoadThread {
        try LoadThread { [self] () throws(BenchmarkError) in try run(firstRound) }
    }

    /// The longest wait for an answer to a body that was posted within a stretch of time; nil if none
    /// was.
    func longestWait(from start: Nanoseconds, to end: Nanoseconds) -> Nanoseconds? {
        waits.withLock { waits in
            waits.filter { $0.at >= start && $0.at < end }.map(\.span).max()
        }
    }

    /// Ends it with the body on its way.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func run(_ firstRound: Int) throws(BenchmarkError) {
        var poster = try FleetPoster(
            .onDuty(regions: regions), to: port, demand: demand)
        let perSecond = Double(people.count) / 60
        let size = min(Self.bodyMax, max(1, Int(perSecond) / Self.bodiesPerSecond))
        let interval = Nanoseconds(count: Int64(Double(size) / perSecond * 1e9))
        var round = firstRound
        var next = people.lowerBound
        var due = Nanoseconds.now()
        while !isStopped.load(ordering: .relaxed) {
            let end = min(next + size, people.upperBound)
            let now = wallNow()
            let begun = Nanoseconds.now()
            let who =
                others.isEmpty ? Array(next..<end) : (next..<end).filter { !others.contains($0) }
            if !who.isEmpty {
                try poster.post(who, round: { _ in round }, receivedAt: { _ in now })
                waits.withLock { $0.append(WaitSample(at: begun, span: .now() - begun)) }
                sent.add(who.count, ordering: .relaxed)
            }
            next = end
            if next == people.upperBound {
                next = people.lowerBound
                round += 1
            }
            // What could not be sent in time is not sent later: nobody measures a flood.
            due = max(due + interval, .now() - interval)
            sleep(until: due)
        }
    }
}

/// Somebody who asks `GET /v1/status` every 2 ms: what a user feels while the state writer is busy.
final class FleetProbe: Sendable {
    /// Between two questions.
    private static let every = Nanoseconds.milliseconds(2)

    private let isStopped = Atomic(false)
    private let samples = Mutex<[WaitSample]>([])
    private let port: UInt16

    /// A probe of the server at a port.
    init(at port: UInt16) { self.port = port }

    /// Starts it.
    func start() throws(BenchmarkError) -> LoadThread {
        try LoadThread { [self] () throws(BenchmarkError) in try run() }
    }

    /// Ends it.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func run() throws(BenchmarkError) {
        let caller = try Caller(port: port)
        let request = Caller.request("GET", "/v1/status")
        var due = Nanoseconds.now()
        while !isStopped.load(ordering: .relaxed) {
            let answer = try caller.ask(request)
            guard answer.status == 200 else {
                throw .answer("GET /v1/status: \(answer.status): \(answer.text)")
            }
            // Who would have asked while it was waited for has waited too, for the rest of it.
            let done = Nanoseconds.now()
            samples.withLock { samples in
                repeat {
                    samples.append(WaitSample(at: due, span: done - due))
                    due = due + Self.every
                } while due < done
            }
            sleep(until: due)
        }
    }

    /// What was waited for by those who asked within a stretch of time.
    func latencies(from start: Nanoseconds, to end: Nanoseconds) -> ProbeStats? {
        let spans = samples.withLock { samples in
            samples.filter { $0.at >= start && $0.at < end }.map(\.span)
        }.sorted()
        guard let longest = spans.last else { return nil }
        return ProbeStats(
            latency50: spans[spans.count / 2], latency99: spans[spans.count * 99 / 100],
            longest: longest)
    }
}

/// How long somebody waited who asked at an instant.
private struct WaitSample {
    var at: Nanoseconds
    var span: Nanoseconds
}

/// Latencies of a probe.
struct ProbeStats {
    let latency50, latency99, longest: Nanoseconds
}
