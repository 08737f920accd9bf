import CMicroHTTPD
import Glibc
import Synchronization

/// Answers to clients who have closed their own direction and still read ours.
enum HalfClosed {
    /// Threads that send the rest of a long answer at once; beyond them it is cut off.
    private static let threadsMax = 8
    /// Bytes of such a thread's stack.
    private static let stackBytes = 128 << 10
    /// Milliseconds for which a client who reads nothing is waited for.
    private static let patience: Int32 = 10_000
    private static let threads = Atomic(0)

    /// True if nothing more will come from a socket: the end of its stream stands next.
    static func isEnd(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    /// Sends an answer, closes our direction, and calls `done` once. What the socket's buffer has no
    /// room for is sent by a thread of its own: whoever answers must not wait for a client.
    static func send(
        _ bytes: [UInt8], to descriptor: Int32, then done: @escaping @Sendable () -> Void
    ) {
        let rest = push(bytes[...], to: descriptor)
        guard !rest.isEmpty, threads.add(1, ordering: .relaxed).newValue <= threadsMax else {
            if !rest.isEmpty { threads.subtract(1, ordering: .relaxed) }
            shutdown(descriptor, Int32(SHUT_WR))
            return done()
        }
        let isStarted = DetachedThread.start(stackBytes: stackBytes) {
            finish(rest, to: descriptor)
            threads.subtract(1, ordering: .relaxed)
            done()
        }
        if isStarted { return }
        threads.subtract(1, ordering: .relaxed)
        shutdown(descriptor, Int32(SHUT_WR))
        done()
    }

    private static func finish(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&ready, 1, patience) > 0 else { break }
            let before = rest.count
            rest = push(rest, to: descriptor)
            if rest.count == before { break }
        }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends what there is room for; returns the rest, which is nothing once the client is gone.
    private static func push(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> ArraySlice<UInt8>
    {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno == EAGAIN ? rest : []
            }
        }
        return []
    }
}
