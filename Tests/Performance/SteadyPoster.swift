import Glibc
import Synchronization

/// A backend that posts one batch after the other to whoever takes them, and notes for how long
/// nobody did.
final class SteadyPoster: Sendable {
    /// Between two tries while nobody takes anything.
    private static let pauseMicroseconds: UInt32 = 2000

    private struct State {
        var isOver = false
        var taken = 0
        var last = Nanoseconds.now()
        var longest = Nanoseconds(count: 0)
    }

    private let ports: [UInt16]
    private let state = Mutex(State())

    /// A backend that knows the servers at these ports.
    init(_ ports: [UInt16]) { self.ports = ports }

    /// The number of batches that were acknowledged so far.
    var taken: Int { state.withLock { $0.taken } }

    /// The longest time without an acknowledgement since it was last asked for, once another
    /// batch was acknowledged.
    func longestGap() -> Nanoseconds {
        state.withLock { state in
            defer { state.longest = Nanoseconds(count: 0) }
            return state.longest
        }
    }

    /// Begins to post.
    func start() throws(BenchmarkError) -> LoadThread {
        try LoadThread { [self] () throws(BenchmarkError) in run() }
    }

    /// Ends it soon.
    func end() { state.withLock { $0.isOver = true } }

    private func run() {
        let body = #"{"responder_id":"steady","duty_state":"ON_DUTY","region":"region-0"}"#
        let request = Array(
            """
            POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n\(body)
            """.utf8)
        var place = 0
        var caller: Caller?
        while !state.withLock({ $0.isOver }) {
            if caller == nil { caller = try? Caller(port: ports[place]) }
            if let answer = try? caller?.ask(request), answer.status == 200 {
                state.withLock { state in
                    let now = Nanoseconds.now()
                    state.taken += 1
                    state.longest = max(state.longest, now - state.last)
                    state.last = now
                }
                continue
            }
            caller = nil
            place = (place + 1) % ports.count
            usleep(Self.pauseMicroseconds)
        }
    }
}
