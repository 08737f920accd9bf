import CMicroHTTPD
import Glibc

/// An answer without an end: the head is known, the body is sent as it comes about, by whoever holds
/// this. Its socket is not libmicrohttpd's any more: it costs neither a connection nor a wait in its
/// loop. Where TLS is spoken the session cannot be taken away from libmicrohttpd: then the connection is
/// suspended, which costs no wait either, and goes on to its end when this is let go.
package final class HTTPStream: Sendable {
    /// The socket, non-blocking, open for as long as this is held.
    package let descriptor: Int32
    /// The head of the answer, which is to be sent first.
    package let head: [UInt8]
    /// The wire of a suspended connection, and the work that ends it; nil for a socket of our own.
    private let lent: (wire: HTTPWire, end: @Sendable () -> Void)?

    /// Takes over the socket `descriptor` for an answer that begins with `head`. In its place stands one
    /// whose other end is closed, which libmicrohttpd closes as it would have closed the first; so this
    /// is done in its access handler alone. Nil if the system has no descriptors left.
    init?(taking descriptor: Int32, head: [UInt8]) {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { return nil }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
            close(own)
            return nil
        }
        close(ends[1])
        let isPut = dup2(ends[0], descriptor) >= 0
        close(ends[0])
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard isPut else {
            close(own)
            return nil
        }
        self.descriptor = own
        self.head = head
        lent = nil
    }

    /// Sends over the wire of a suspended connection; `end` is called once, when that is over.
    init(over wire: HTTPWire, head: [UInt8], end: @escaping @Sendable () -> Void) {
        descriptor = wire.descriptor
        self.head = head
        lent = (wire, end)
    }

    /// Bounds what the kernel holds for a client who does not read, bytes, and the milliseconds for
    /// which it waits for one who has vanished without a word.
    package func bound(_ bytes: Int32, patience: Int32) {
        set(SO_SNDBUF, SOL_SOCKET, bytes)
        set(TCP_USER_TIMEOUT, Int32(IPPROTO_TCP), patience)
    }

    private func set(_ option: Int32, _ level: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Sends what there is room for; returns how much that was, nil if the client is gone.
    package func send(_ bytes: ArraySlice<UInt8>) -> Int? {
        if let lent { return lent.wire.send(bytes) }
        var count = 0
        while count < bytes.count {
            let written = bytes.dropFirst(count).withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress, $0.count,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if written < 0 { return errno == EAGAIN || errno == EINTR ? count : nil }
            count += written
        }
        return count
    }

    deinit {
        if let lent { return lent.end() }
        // What was sent and not read yet reaches the client all the same.
        shutdown(descriptor, Int32(SHUT_WR))
        close(descriptor)
    }
}
