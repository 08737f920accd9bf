import Synchronization

/// The one thread that compresses answers: neither the state writer nor a listener's thread, for which
/// everybody waits, spends a millisecond on it. Source: V16.
///
/// One compressor serves all listeners, with the same memory however many ask at once. It comes with
/// the first job.
package final class AnswerCompressor: Sendable {
    /// A job of the thread: it gets the compressor, nil where there is none.
    package typealias Job = @Sendable (GzipWriter?) -> Void

    /// The time after which the thread looks whether it is to end.
    private static let sleepMax: Int64 = 3_600_000

    private let jobs = Mailbox<Job>()
    private let isClosed = Atomic(false)
    private let isRunning = Atomic(false)

    /// A compressor whose thread runs until `close`.
    package init() {
        let hasThread = DetachedThread.start { [self] in run() }
        isRunning.store(hasThread, ordering: .releasing)
    }

    /// Ends the thread behind the jobs that wait.
    package func close() {
        isClosed.store(true, ordering: .releasing)
        jobs.put { _ in }
    }

    /// Hands over a job, done after those before it. Without a thread it is done at once, uncompressed.
    package func take(_ job: @escaping Job) {
        guard isRunning.load(ordering: .acquiring) else { return job(nil) }
        jobs.put(job)
    }

    private func run() {
        var gzip: GzipWriter?
        while true {
            let isLast = isClosed.load(ordering: .acquiring)
            for job in jobs.takeAll(waiting: isLast ? 0 : Self.sleepMax) {
                if gzip == nil { gzip = GzipWriter() }
                job(gzip)
            }
            if isLast { return }
        }
    }
}

extension HTTPResponse {
    /// Returns the answer by gzip; as it is where that fails, or makes it no shorter.
    package func compressed(by gzip: GzipWriter?) -> HTTPResponse {
        guard let packed = gzip?.compressed(body), packed.count < body.count else { return self }
        var response = self
        response.body = packed
        response.headers.append(("Content-Encoding", "gzip"))
        return response
    }
}
