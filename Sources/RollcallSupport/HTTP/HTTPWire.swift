import CGnuTLS
import CMicroHTTPD
import Glibc

/// The way of bytes to a client past libmicrohttpd: the socket as it is, or the TLS session over it.
///
/// `@unchecked Sendable` is true because the session is libmicrohttpd's, which leaves it alone while the
/// connection is suspended, and calls us on its own thread else; so one thread uses it at a time.
struct HTTPWire: @unchecked Sendable {
    /// The socket.
    let descriptor: Int32
    private let session: gnutls_session_t?

    /// The way to the client of a connection that has begun; without its handle one without TLS.
    init(of handle: OpaquePointer?, descriptor: Int32) {
        self.descriptor = descriptor
        session = handle.flatMap { rollcall_tls_session($0) }.map { OpaquePointer($0) }
    }

    /// The session that has to be prepared before its handshake; nil where no TLS is spoken.
    var tls: gnutls_session_t? { session }

    /// Sends what there is room for; returns how much that was, nil if the client is gone.
    func send(_ bytes: ArraySlice<UInt8>) -> Int? {
        var count = 0
        while count < bytes.count {
            let written = bytes.dropFirst(count).withUnsafeBytes { push($0) }
            guard let written else { return nil }
            if written == 0 { return count }
            count += written
        }
        return count
    }

    /// Returns 0 if there is no room. TLS has taken the bytes then, and is to be shown the same ones
    /// again: "you must call this function again with the exact same parameters".
    private func push(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let session else {
            let written = Glibc.send(
                descriptor, bytes.baseAddress, bytes.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if written >= 0 { return written }
            return errno == EAGAIN || errno == EINTR ? 0 : nil
        }
        let written = gnutls_record_send(session, bytes.baseAddress, bytes.count)
        if written >= 0 { return written }
        let isLater =
            written == Int(GNUTLS_E_AGAIN) || written == Int(GNUTLS_E_INTERRUPTED)
        return isLater ? 0 : nil
    }

    /// Says that nothing more comes, and closes our direction.
    func end() {
        // "GNUTLS_SHUT_WR sends an alert containing a close request": without it the end of an answer
        // without a length could be anybody's.
        if let session { gnutls_bye(session, GNUTLS_SHUT_WR) }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// True if nothing more will come from the client: the end of its stream stands next.
    ///
    /// In TLS nobody says so and goes on reading: "The other party MUST respond with a close_notify alert
    /// of its own and close down the connection immediately, discarding any pending writes". Source: RFC
    /// 5246 §7.2.1.
    var isEnd: Bool {
        guard session == nil else { return false }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }
}
