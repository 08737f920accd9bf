import Glibc
import Synchronization

/// Answers to clients who have closed their own direction and still read ours.
enum HalfClosed {
    /// Threads that send the rest of a long answer at once; beyond them it is cut off.
    private static let threadsMax = 8
    /// Bytes of such a thread's stack.
    private static let stackBytes = 256 << 10
    /// Milliseconds for which a client who reads nothing is waited for.
    private static let patience: Int32 = 10_000
    private static let threads = Atomic(0)

    /// Sends an answer, closes our direction, and calls `done` once. What there is no room for
    /// is sent by a thread of its own: whoever answers must not wait for a client.
    static func send(
        _ bytes: [UInt8], to wire: HTTPWire, then done: @escaping @Sendable () -> Void
    ) {
        let rest = push(bytes[...], to: wire)
        guard !rest.isEmpty, threads.add(1, ordering: .relaxed).newValue <= threadsMax else {
            if !rest.isEmpty { threads.subtract(1, ordering: .relaxed) }
            wire.end()
            return done()
        }
        let isStarted = DetachedThread.start(stackBytes: stackBytes) {
            finish(rest, to: wire)
            threads.subtract(1, ordering: .relaxed)
            done()
        }
        if isStarted { return }
        threads.subtract(1, ordering: .relaxed)
        wire.end()
        done()
    }

    private static func finish(_ bytes: ArraySlice<UInt8>, to wire: HTTPWire) {
        var rest = bytes
        while !rest.isEmpty {
            var ready = pollfd(fd: wire.descriptor, events: Int16(POLLOUT), revents: 0)
            // The watchdog cuts who takes nothing for `responseDeadline`.
            guard poll(&ready, 1, patience) > 0 else { break }
            rest = push(rest, to: wire)
        }
        wire.end()
    }

    /// Sends what there is room for; returns the rest, which is nothing once the client is gone.
    private static func push(
        _ bytes: ArraySlice<UInt8>, to wire: HTTPWire
    ) -> ArraySlice<UInt8> {
        wire.send(bytes).map { bytes.dropFirst($0) } ?? []
    }
}
