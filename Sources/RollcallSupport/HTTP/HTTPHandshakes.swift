import CGnuTLS
import CMicroHTTPD
import Glibc
import Synchronization

/// The costly part of TLS handshakes, on a thread of its own: the signature and the exchange of keys take
/// as long as dozens of requests, and whoever connects need not be known.
///
/// A connection is suspended from its start until our flight is sent. What is left is done by
/// libmicrohttpd, as it can take over a handshake that has begun and no session that has ended one.
///
/// `@unchecked Sendable` is true because everything mutable is in a lock or touched by its thread alone;
/// the pipe's ends are constant from `start` until the thread has ended.
final class HTTPHandshakes: @unchecked Sendable {
    private struct Incoming {
        var connections: [HTTPConnection] = []
        var isClosed = true
    }

    private let incoming = Mutex(Incoming())
    private var readEnd: Int32 = -1
    private var writeEnd: Int32 = -1
    private var thread: pthread_t?

    /// Nothing runs before `start`.
    init() {}

    /// Starts the thread.
    /// - Throws: `HTTPServerError.handshakes` if the system gives no pipe or no thread.
    func start() throws(HTTPServerError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .handshakes(errno: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
        var created = pthread_t()
        let context = Unmanaged.passRetained(self)
        let failure = pthread_create(&created, nil, runHandshakes, context.toOpaque())
        guard failure == 0 else {
            context.release()
            for end in ends { Glibc.close(end) }
            throw .handshakes(errno: failure)
        }
        thread = created
        incoming.withLock { $0.isClosed = false }
    }

    /// Gives back what is in the middle of a handshake, and ends the thread.
    func close() {
        guard let thread else { return }
        self.thread = nil
        incoming.withLock { $0.isClosed = true }
        wake()
        pthread_join(thread, nil)
        Glibc.close(readEnd)
        Glibc.close(writeEnd)
    }

    /// Begins the handshake of a connection that is suspended.
    func begin(_ connection: HTTPConnection) {
        connection.beginTLS()
        guard let session = connection.wire.tls, connection.tls?.prepare(session) == true else {
            shutdown(connection.descriptor, Int32(SHUT_RDWR))
            connection.greeted()
            return
        }
        // Of TLS 1.3 our flight is several writes: the second would wait for the acknowledgement of the
        // first, which clients put off by 40 ms.
        var yes: Int32 = 1
        setsockopt(
            connection.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes,
            socklen_t(MemoryLayout<Int32>.size))
        let ours = Unmanaged.passUnretained(connection).toOpaque()
        gnutls_session_set_ptr(session, ours)
        gnutls_session_set_verify_function(session, verifyClient)
        gnutls_handshake_set_hook_function(
            session, UInt32(GNUTLS_HANDSHAKE_CERTIFICATE_VERIFY.rawValue), GNUTLS_HOOK_PRE, boundKey
        )
        let socket = UnsafeMutableRawPointer(bitPattern: Int(connection.descriptor))
        gnutls_transport_set_ptr2(session, ours, socket)
        gnutls_transport_set_pull_function(session, pullBytes)
        let isTaken = incoming.withLock {
            if $0.isClosed { return false }
            $0.connections.append(connection)
            // Under the lock: once `close` has it the pipe's end may be somebody else's.
            wake()
            return true
        }
        if !isTaken { connection.greeted() }
    }

    private func wake() {
        var byte: UInt8 = 1
        // A full pipe wakes just as well.
        _ = write(writeEnd, &byte, 1)
    }

    // MARK: - The thread

    /// Shakes hands until `close`.
    fileprivate func run() {
        // Batches of those who are known come first.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        var open: [HTTPConnection] = []
        while true {
            var polled = [pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)]
            for connection in open {
                let isWriting = connection.wire.tls.map { gnutls_record_get_direction($0) } == 1
                polled.append(
                    pollfd(
                        fd: connection.descriptor, events: Int16(isWriting ? POLLOUT : POLLIN),
                        revents: 0))
            }
            guard poll(&polled, nfds_t(polled.count), -1) >= 0 else { continue }
            if polled[0].revents != 0 {
                var bytes = [UInt8](repeating: 0, count: 256)
                while read(readEnd, &bytes, bytes.count) == bytes.count {}
            }
            var rest: [HTTPConnection] = []
            for (connection, found) in zip(open, polled.dropFirst()) {
                if found.revents != 0, isDone(connection) {
                    connection.greeted()
                } else {
                    rest.append(connection)
                }
            }
            let (new, isClosed) = incoming.withLock { incoming in
                defer { incoming.connections = [] }
                return (incoming.connections, incoming.isClosed)
            }
            open = rest + new
            guard isClosed else { continue }
            for connection in open { connection.greeted() }
            return
        }
    }

    /// Goes on with a handshake; true once nothing of it is ours any more.
    private func isDone(_ connection: HTTPConnection) -> Bool {
        guard let session = connection.wire.tls else { return true }
        if !connection.hasHello {
            guard let first = firstByte(connection.descriptor) else { return true }
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) {
                refusePlain(connection.descriptor)
                return true
            }
            connection.hasHello = true
        }
        let code = gnutls_handshake(session)
        if code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED {
            return gnutls_record_get_direction(session) == 0 && isFlightSent(session)
        }
        if code < 0, gnutls_error_is_fatal(code) == 0 { return false }
        // Not by libmicrohttpd 0.9.75, which closes without a word.
        if code < 0 { gnutls_alert_send_appropriate(session, code) }
        hangUp(connection.descriptor)
        return true
    }

    /// The first byte that lies there; nil at the end of the stream.
    private func firstByte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count > 0 ? byte : nil
    }

    /// Answers who speaks HTTP without TLS here, as other servers do.
    private func refusePlain(_ descriptor: Int32) {
        let text =
            "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
            + "Client sent an HTTP request to an HTTPS server.\n"
        _ = Array(text.utf8).withUnsafeBytes {
            send(
                descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        hangUp(descriptor)
    }
}

/// Below what serves requests.
private let niceness: Int32 = 10

/// Reads what lies there, since closing with bytes unread would destroy what was sent last, and ends
/// both directions: libmicrohttpd sees the end, and closes.
private func hangUp(_ descriptor: Int32) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var rounds = 16
    while rounds > 0, recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {
        rounds -= 1
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
}

/// True once the server has sent all it sends before the client answers.
private func isFlightSent(_ session: gnutls_session_t) -> Bool {
    let last = gnutls_handshake_get_last_out(session)
    return last == GNUTLS_HANDSHAKE_FINISHED || last == GNUTLS_HANDSHAKE_SERVER_HELLO_DONE
}

/// Reads for a session; while the handshake is ours nothing behind our flight, so that it cannot end
/// there, however fast the client is.
private func pullBytes(
    _ context: gnutls_transport_ptr_t?, _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int {
    guard let context else { return -1 }
    let connection = Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
    guard let session = connection.wire.tls else { return -1 }
    if connection.isGreeting, isFlightSent(session) {
        gnutls_transport_set_errno(session, EAGAIN)
        return -1
    }
    let got = recv(connection.descriptor, bytes, count, 0)
    if got < 0 { gnutls_transport_set_errno(session, errno) }
    return got
}

/// Judges what a client shows of itself, in the middle of the handshake.
private func verifyClient(_ session: gnutls_session_t?) -> Int32 {
    guard let session, let context = gnutls_session_get_ptr(session) else {
        return GNUTLS_E_CERTIFICATE_ERROR
    }
    let connection = Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
    guard let refusal = connection.tls?.refusal(ofPeerIn: session) else { return 0 }
    return refuse(connection, session, refusal)
}

/// Refuses a key that makes it costly to verify its signature, which GnuTLS does before it asks
/// `verifyClient` in TLS 1.3, on libmicrohttpd's thread: the client's certificate is read by then. And one
/// that is not for signing, which GnuTLS refuses itself, but without an alert.
private func boundKey(
    _ session: gnutls_session_t?, _ type: UInt32, _ when: UInt32, _ isIncoming: UInt32,
    _ message: UnsafePointer<gnutls_datum_t>?
) -> Int32 {
    guard isIncoming != 0, let session, let context = gnutls_session_get_ptr(session) else {
        return 0
    }
    var count: UInt32 = 0
    guard let first = gnutls_certificate_get_peers(session, &count), count > 0,
        ServerTLS.isCostly(first) || ServerTLS.isForOtherUses(first)
    else { return 0 }
    let connection = Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
    return refuse(connection, session, GNUTLS_A_UNSUPPORTED_CERTIFICATE)
}

/// Ends the handshake of a client with an alert.
private func refuse(
    _ connection: HTTPConnection, _ session: gnutls_session_t, _ alert: gnutls_alert_description_t
) -> Int32 {
    connection.traffic.web?.countCertificate()
    gnutls_alert_send(session, GNUTLS_AL_FATAL, alert)
    hangUp(connection.descriptor)
    return GNUTLS_E_CERTIFICATE_ERROR
}

/// The thread itself. Not a closure, which could be bound to the main actor.
private func runHandshakes(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<HTTPHandshakes>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
