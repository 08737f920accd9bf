import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// Passes streams of events on from one cell, or from the fleet cell, each by a thread of its own. Source: K5.
final class StreamRelay: Sendable {
    /// Streams at once at most, whatever the settings say: each has a thread.
    static let streamsMax = 256
    /// Seconds without a byte after which a stream is over: a cell says something every fifteen.
    private static let silenceMax = 60
    /// The longest that one stream lasts; who follows comes back by itself.
    private static let longest = Milliseconds.seconds(24 * 3600)
    /// Milliseconds for which somebody who takes nothing is waited for.
    private static let takesWithin: Int32 = 30_000
    /// Milliseconds until the listener has handed over the connection.
    private static let handedOverWithin: Int64 = 5000

    private let pool: CallPool
    private let isClosing = Atomic(false)

    /// A relay for so many streams at once at most.
    init(streamsMax: Int) { pool = CallPool(threadsMax: min(streamsMax, Self.streamsMax)) }

    /// Ends the streams when next something comes of them.
    func close() {
        isClosing.store(true, ordering: .relaxed)
        pool.close()
    }

    /// Passes on the stream that `call` asks for; `answer` is called once, with it or with what the cell says
    /// instead.
    func pass(_ call: HTTPCall, answer: @escaping @Sendable (HTTPResponse) -> Void) {
        var call = call
        call.timeout = Self.longest
        call.idleSecondsMax = Self.silenceMax
        let isTaken = pool.take { [self, call] caller in
            guard let caller else { return answer(Router.unavailable("libcurl is missing")) }
            run(call, caller, answer)
        }
        if !isTaken {
            answer(Router.unavailable("as many streams of events as there may be are open already"))
        }
    }

    private func run(
        _ call: HTTPCall, _ caller: HTTPCaller, _ answer: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        var stream: HTTPStream?
        var hasAnswered = false
        do throws(HTTPCallError) {
            let other = try caller.answer(to: call) { bytes in
                if !hasAnswered {
                    hasAnswered = true
                    stream = Self.begin(answer)
                }
                guard let stream, !self.isClosing.load(ordering: .relaxed) else { return false }
                return Self.send(Array(bytes), over: stream)
            }
            if !hasAnswered { answer(Gateway.response(other)) }
        } catch {
            if !hasAnswered { answer(Router.unavailable(error.description)) }
        }
    }

    /// Answers by a stream, and waits for it; nil if the client is gone.
    private static func begin(_ answer: @Sendable (HTTPResponse) -> Void) -> HTTPStream? {
        let handed = Mailbox<HTTPStream>()
        var response = HTTPResponse(
            status: 200,
            headers: [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")])
        response.stream = { handed.put($0) }
        answer(response)
        guard let stream = handed.takeAll(waiting: handedOverWithin).first,
            send(stream.head, over: stream)
        else { return nil }
        return stream
    }

    /// Sends all of some bytes; false if the client is gone, or takes nothing.
    private static func send(_ bytes: [UInt8], over stream: HTTPStream) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let count = stream.send(rest) else { return false }
            rest = rest.dropFirst(count)
            guard !rest.isEmpty else { return true }
            var polled = pollfd(fd: stream.descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&polled, 1, takesWithin) > 0 else { return false }
        }
        return true
    }
}
