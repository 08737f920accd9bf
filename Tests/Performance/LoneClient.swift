import Glibc
import Synchronization

/// Somebody who posts one batch after the other, alone: what everybody feels when nothing is wrong.
final class LoneClient: Sendable {
    /// Answers in a row that must be quick to say that it is over.
    private static let rowOfGood = 10
    /// The share of the time that is looked at, at its end, in which everything is over.
    private static let calmShare = 0.4

    private struct Sample {
        let at: Nanoseconds
        let span: Nanoseconds
        let isServed: Bool
    }

    private let port: UInt16
    private let request: [UInt8]
    private let samples = Mutex<[Sample]>([])

    /// A client of the server at a port.
    init(at port: UInt16) {
        self.port = port
        // No update: what the others are acknowledged can be counted by theirs.
        let body = #"{"responder_id":"alone","duty_state":"ON_DUTY","region":"region-0"}"#
        request = Array(
            """
            POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n\(body)
            """.utf8)
    }

    /// Posts so many batches; what half of them took at most.
    func measure(_ count: Int) throws(BenchmarkError) -> Nanoseconds {
        let caller = try Caller(port: port)
        var spans: [Nanoseconds] = []
        for _ in 0..<count {
            let answer = try caller.ask(request)
            guard answer.status == 200 else {
                throw .answer("200 expected, got \(answer.status): \(answer.text)")
            }
            spans.append(answer.span)
        }
        return Self.middle(spans)
    }

    /// Connects at once and posts from an instant on, for `span`.
    func watch(
        after instant: Nanoseconds, for span: Nanoseconds
    ) throws(BenchmarkError) -> LoadThread {
        try LoadThread { [self] () throws(BenchmarkError) in
            let caller = try Caller(port: port)
            sleep(until: instant)
            while Nanoseconds.now() < instant + span {
                let begun = Nanoseconds.now()
                let answer = try caller.ask(request)
                let sample = Sample(
                    at: begun - instant, span: answer.span, isServed: answer.status == 200)
                samples.withLock { $0.append(sample) }
            }
        }
    }

    /// What half of its batches took at most when everything was over, and how long after the
    /// instant it was served as quickly: ten times in a row within twice what it took before or
    /// takes then. Machines change their pace, so neither alone would do. Nil if it never was.
    func recovery(
        before: Nanoseconds
    ) -> (calm: Nanoseconds, after: Nanoseconds?) {
        let samples = samples.withLock { $0 }
        guard let last = samples.last else { return (Nanoseconds(count: 0), nil) }
        let begin = Nanoseconds(count: Int64(Double(last.at.count) * (1 - Self.calmShare)))
        let calm = Self.middle(samples.filter { $0.at >= begin }.map(\.span))
        let limit = max(before + before, calm + calm)
        var good = 0
        for (place, sample) in samples.enumerated() {
            good = sample.isServed && sample.span <= limit ? good + 1 : 0
            if good == Self.rowOfGood { return (calm, samples[place + 1 - good].at) }
        }
        return (calm, nil)
    }

    private static func middle(_ spans: [Nanoseconds]) -> Nanoseconds {
        Nanoseconds(count: Int64(median(spans.map { Double($0.count) }) ?? 0))
    }
}
