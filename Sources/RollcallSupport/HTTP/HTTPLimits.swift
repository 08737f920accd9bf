import Glibc

/// The limits that the HTTP edge grants. Each limit ends in a status code or in a count of
/// `HTTPStats`.
package struct HTTPLimits: Sendable {
    /// Body of one request, bytes; beyond it 413.
    package var bodyBytesMax = 8 << 20
    /// Bodies of all requests that are not answered yet, bytes; beyond it 503. Without it the
    /// two limits beside it would allow 4 GiB.
    package var bodiesBytesMax = 256 << 20
    /// Body of a request of somebody whom nobody knows yet, bytes; beyond it 413.
    package var unauthenticatedBodyBytesMax = 256 << 10
    /// Bodies of all of these, bytes, of those above; beyond it 503. So strangers who say nothing more take
    /// no room of others.
    package var unauthenticatedBodiesBytesMax = 16 << 20
    /// Body that is read and thrown away so that an early refusal keeps the connection, bytes.
    package var discardBytesMax = 64 << 10
    /// Open connections; further ones wait in the kernel's backlog, over TLS before their handshake too, and
    /// meanwhile each answer ends its connection. Poll mode costs each request
    /// about 15 ns per open connection of its thread (measured).
    package var connectionsMax = 512
    /// Threads that share the connections, each of which stays with one of them. Each has its share of
    /// `connectionsMax`, so that one may be full while others are not: then the others accept.
    package var threads = 1
    /// Answers without an end that may be open at once, beside the connections: over TLS each stays a
    /// connection of libmicrohttpd's.
    package var streamsMax = 0
    /// Connections of one network (an IPv4 address, 64 bits of an IPv6 one) that have not sent their
    /// first head yet; of further ones the oldest give way. Those that sent one do not count: a proxy
    /// carries everybody from one address, and keeps its connections open.
    package var newcomersMax = 128
    /// The connections without a first head that one network may have: a quarter of all at most, so
    /// that there is room for others also where there are few.
    package var newcomersOfNetwork: Int { max(1, min(newcomersMax, connectionsMax / 4)) }
    /// The time within which somebody who is being connected to sends the head, or may have to give
    /// way.
    package var newcomerGrace = Duration.milliseconds(250)
    /// Buffer of one connection, bytes. What does not even fit into it libmicrohttpd answers
    /// itself, with 431 or 414. More is slower: 0.9.75 fills the whole buffer with zeros
    /// after each request (256 KiB: 55 µs instead of 11, `wrk -t1 -c64` with 300-byte POSTs).
    package var connectionMemoryBytes = 16 << 10
    /// The bytes that the head of a request may take of that buffer, with 64 for each field and
    /// each argument; beyond it 431. The rest is for the answer: without room for one,
    /// libmicrohttpd closes the connection without a word.
    package var headBytesMax = 15 << 10
    /// From the connection's start, or a later request's first byte, to the end of its head.
    package var headerDeadline = Duration.seconds(10)
    /// From the end of the head to the end of the body.
    package var bodyDeadline = Duration.seconds(30)
    /// Instead of `headerDeadline`, and of `bodyDeadline` for a body that comes more slowly than
    /// `bodyPaceMin`, while somebody waits for a connection; of strangers, however fast they are, also while they
    /// hold half of their share.
    package var atCapacityDeadline = Duration.seconds(5)
    /// Bytes a second.
    package var bodyPaceMin = 1 << 10
    /// From the answer to its last byte in the kernel.
    package var responseDeadline = Duration.seconds(10)
    /// From parking to the watchdog's 503.
    package var parkedDeadline = Duration.seconds(5)
    /// For the client to take note of an answer sent before its body was read; and for a short body
    /// to come that is thrown away before a refusal.
    package var lingerDeadline = Duration.seconds(2)
    /// Keep-alive without a request, whole seconds. Ended early, after `headerDeadline`, while
    /// all connections are in use, and after `atCapacityDeadline` while somebody waits for one.
    package var idleDeadline = Duration.seconds(75)

    /// The limits of the product.
    package init() {}

    /// The threads of a listener, if nobody says how many: one a processor, and four at most, as what they
    /// hand on to is one thread.
    package static var usualThreads: Int {
        max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    /// The limits of the listener for probes: some scrapers and probes, no bodies to speak of.
    package static var probes: HTTPLimits {
        var limits = HTTPLimits()
        limits.connectionsMax = 64
        limits.newcomersMax = 16
        limits.bodyBytesMax = 1 << 10
        limits.bodiesBytesMax = 64 << 10
        limits.discardBytesMax = 1 << 10
        return limits
    }
}

/// The counts of the HTTP edge since its start.
package struct HTTPStats: Sendable, Equatable {
    /// Connections open now.
    package var connectionsOpen = 0
    /// Connections that may be open at once.
    package var connectionsMax = 0
    /// Connections cut because a head took longer than its deadline.
    package var headersCut = 0
    /// Connections cut because a body took longer than its deadline.
    package var bodiesCut = 0
    /// Connections cut because an answer was not taken within `responseDeadline`.
    package var responsesCut = 0
    /// Connections that gave way to others of their network before they had sent a head.
    package var newcomersCut = 0
    /// Idle connections cut because all connections were in use.
    package var idleCut = 0
    /// Parked requests the watchdog answered 503.
    package var parkedExpired = 0
    /// Writes answered 503 here for our own reasons, stopping aside: by the watchdog, or because
    /// there was no room for their bodies. They count against the watch (B1).
    package var writesRefused = 0

    /// All zero.
    package init() {}
}

/// The reason why the HTTP edge could not start.
package enum HTTPServerError: Error, Equatable, CustomStringConvertible {
    /// The address is neither `IPv4:port` nor `[IPv6]:port`.
    case address(String)
    /// A system call failed on the way to a listening socket.
    case socket(call: String, address: String, errno: Int32)
    /// libmicrohttpd refused to start.
    case daemon(address: String, errno: Int32)
    /// The watchdog could not be started.
    case watchdog(errno: Int32)
    /// The thread of TLS handshakes could not be started.
    case handshakes(errno: Int32)

    /// A text that says what failed, with what, and what to do.
    package var description: String {
        switch self {
        case .address(let address):
            "listen address \(address): must be like 127.0.0.1:8080 or [::1]:8080"
        case .socket(let call, let address, let errno):
            "listen address \(address): \(call): \(errorText(errno))"
        case .daemon(let address, let errno):
            "listen address \(address): libmicrohttpd did not start: \(errorText(errno))"
        case .watchdog(let errno):
            "HTTP watchdog did not start: \(errorText(errno))"
        case .handshakes(let errno):
            "the thread of TLS handshakes did not start: \(errorText(errno))"
        }
    }
}

private func errorText(_ number: Int32) -> String {
    guard let text = strerror(number) else { return "error \(number)" }
    return String(cString: text)
}
