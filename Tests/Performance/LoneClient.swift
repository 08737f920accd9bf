import Glibc
import Synchronization

/// Somebody who posts one batch after the other, alone: what everybody feels when nothing is wrong.
final class LoneClient: Sendable {
    /// Answers in a row that must be as quick as before to say that it is over.
    private static let rowOfGood = 10
    /// Who has waited so long says that it does not recover.
    private static let patience = Nanoseconds.milliseconds(20_000)

    private let port: UInt16
    private let request: [UInt8]
    private let recovered = Mutex<Nanoseconds?>(nil)

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

    /// Posts so many batches; what half and what all but a hundredth of them took at most.
    func measure(_ count: Int) throws(BenchmarkError) -> (half: Nanoseconds, most: Nanoseconds) {
        let caller = try Caller(port: port)
        var latencies = LatencyHistogram()
        for _ in 0..<count {
            let answer = try caller.ask(request)
            guard answer.status == 200 else {
                throw .answer("200 expected, got \(answer.status): \(answer.text)")
            }
            latencies.record(answer.span)
        }
        guard let half = latencies.quantile(0.5), let most = latencies.quantile(0.99) else {
            throw .answer("a lone client posted nothing")
        }
        return (half, most)
    }

    /// From an instant on, posts until ten answers in a row took no longer than `limit`.
    func awaitRecovery(
        after instant: Nanoseconds, limit: Nanoseconds
    ) throws(BenchmarkError) -> LoadThread {
        try LoadThread { [self] () throws(BenchmarkError) in
            let caller = try Caller(port: port)
            sleep(until: instant)
            var good = 0
            var since = instant
            while good < Self.rowOfGood, Nanoseconds.now() < instant + Self.patience {
                let begun = Nanoseconds.now()
                let answer = try caller.ask(request)
                if answer.status == 200, answer.span <= limit {
                    if good == 0 { since = begun }
                    good += 1
                } else {
                    good = 0
                }
            }
            if good == Self.rowOfGood { recovered.withLock { $0 = since - instant } }
        }
    }

    /// How long after the instant it was as quick as before; nil if it never was.
    var recovery: Nanoseconds? { recovered.withLock { $0 } }
}
