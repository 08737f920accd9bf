import Glibc
import Synchronization

/// Somebody who asks at a fixed pace while something else is measured.
final class Questioner: Sendable {
    /// What was found out by asking.
    private struct Found {
        var questions = 0
        var span = Nanoseconds(count: 0)
        var histogram = LatencyHistogram()
    }

    /// What is asked, for reports.
    let title: String

    private let paths: [String]
    private let every: Nanoseconds
    private let port: UInt16
    private let isStopped = Atomic(false)
    private let found = Mutex(Found())

    /// Asks for one path after the other, one of them each `every`.
    init(_ title: String, _ paths: [String], every: Nanoseconds, at port: UInt16) {
        self.title = title
        self.paths = paths
        self.every = every
        self.port = port
    }

    /// Starts it, or starts it again.
    func start() throws(BenchmarkError) -> LoadThread {
        isStopped.store(false, ordering: .relaxed)
        return try LoadThread { [self] () throws(BenchmarkError) in try run() }
    }

    /// Ends it with the question on its way.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// What was waited for so far; nil without any question.
    var stats: QuestionStats? {
        found.withLock { found in
            guard let latency50 = found.histogram.quantile(0.5),
                let latency99 = found.histogram.quantile(0.99),
                let longest = found.histogram.quantile(1)
            else { return nil }
            return QuestionStats(
                perSecond: Double(found.questions) / found.span.seconds, latency50: latency50,
                latency99: latency99, longest: longest)
        }
    }

    private func run() throws(BenchmarkError) {
        let caller = try Caller(port: port)
        let begun = Nanoseconds.now()
        var due = begun
        var next = 0
        while !isStopped.load(ordering: .relaxed) {
            _ = try caller.ask("GET", paths[next % paths.count])
            next += 1
            // Who would have asked while it was waited for has waited too, for the rest of it.
            let done = Nanoseconds.now()
            found.withLock { found in
                found.questions += 1
                repeat {
                    found.histogram.record(done - due)
                    due = due + every
                } while due < done
            }
            sleep(until: due)
        }
        found.withLock { $0.span = $0.span + (Nanoseconds.now() - begun) }
    }
}

/// What those waited who asked.
struct QuestionStats {
    /// Questions answered in a second.
    let perSecond: Double
    /// From when it should have been asked to the answer.
    let latency50, latency99, longest: Nanoseconds
}
