import CGnuTLS
import Glibc

/// TLS of a client over a socket that does not block, by GnuTLS: 1.2 or later, and the certificate has to
/// be one for the host that a trusted authority vouches for.
///
/// Source: gnutls.org manual, "How to use GnuTLS in applications", "Client examples".
final class TLSSession {
    /// A `Direction` says what a socket has to be ready for.
    enum Direction {
        case reading, writing
    }

    private let session: gnutls_session_t
    private let credentials: gnutls_certificate_credentials_t
    /// The name that the certificate has to have: the library keeps the pointer, not the text.
    private let name: UnsafeMutablePointer<CChar>

    /// A session over `socket`, which stays the caller's; the handshake is to be done.
    /// - Throws: `NetworkFault` if the library has no memory, or `trust` holds no certificate.
    init(host: String, trust: [UInt8], socket: Int32) throws(NetworkFault) {
        var allocated: gnutls_certificate_credentials_t?
        guard gnutls_certificate_allocate_credentials(&allocated) == 0, let allocated else {
            throw .encryption("no memory")
        }
        var made: gnutls_session_t?
        // "GNUTLS_NO_SIGNAL: In systems where SIGPIPE is delivered on send, it will be disabled."
        let flags = UInt32(GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL)
        guard gnutls_init(&made, flags) == 0, let made else {
            gnutls_certificate_free_credentials(allocated)
            throw .encryption("no memory")
        }
        guard let copy = strdup(host) else {
            gnutls_deinit(made)
            gnutls_certificate_free_credentials(allocated)
            throw .encryption("no memory")
        }
        session = made
        credentials = allocated
        name = copy
        try prepare(host, trust, socket)
    }

    private func prepare(
        _ host: String, _ trust: [UInt8], _ socket: Int32
    ) throws(NetworkFault) {
        var trust = trust
        let count = trust.withUnsafeMutableBufferPointer { buffer in
            var datum = gnutls_datum_t(
                data: buffer.baseAddress, size: UInt32(truncatingIfNeeded: buffer.count))
            return gnutls_certificate_set_x509_trust_mem(credentials, &datum, GNUTLS_X509_FMT_PEM)
        }
        guard count > 0 else { throw .encryption("no certificate authority can be read") }
        try check(
            gnutls_priority_set_direct(session, "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1", nil))
        try check(
            gnutls_credentials_set(
                session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials)))
        // "The Server Name Indication … must not be an IP address" (RFC 6066 §3): the library leaves
        // those out by itself.
        try check(
            gnutls_server_name_set(session, GNUTLS_NAME_DNS, host, host.utf8.count))
        // The handshake fails unless the chain is trusted and the certificate is one for this host.
        gnutls_session_set_verify_cert(session, name, 0)
        gnutls_transport_set_int2(session, socket, socket)
    }

    deinit {
        gnutls_deinit(session)
        gnutls_certificate_free_credentials(credentials)
        free(name)
    }

    /// True if bytes were decrypted that nobody has read.
    var hasPending: Bool { gnutls_record_check_pending(session) > 0 }

    /// Goes on with the handshake; returns what it waits for, nil once it is done.
    /// - Throws: `NetworkFault` if there is no trust, or no TLS.
    func handshake() throws(NetworkFault) -> Direction? {
        while true {
            let code = gnutls_handshake(session)
            if code == GNUTLS_E_SUCCESS { return nil }
            if code == GNUTLS_E_AGAIN {
                return gnutls_record_get_direction(session) == 0 ? .reading : .writing
            }
            if code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR { throw .certificate(verdict) }
            let isCut = [
                GNUTLS_E_PULL_ERROR, GNUTLS_E_PUSH_ERROR, GNUTLS_E_PREMATURE_TERMINATION,
            ].contains(code)
            if isCut {
                throw .encryption("the other side hangs up: does it speak TLS at this port?")
            }
            try check(code)
        }
    }

    /// Reads what is there; nil if nothing is, 0 at the end.
    func read(into buffer: UnsafeMutableBufferPointer<UInt8>) throws(NetworkFault) -> Int? {
        let got = gnutls_record_recv(session, buffer.baseAddress, buffer.count)
        // A peer that closes without saying so: for those that count bytes it is the same.
        if got == Int(GNUTLS_E_PREMATURE_TERMINATION) { return 0 }
        return try outcome(got)
    }

    /// Sends what fits; nil if nothing does. The library wants the same bytes again then.
    func write(_ buffer: UnsafeRawBufferPointer) throws(NetworkFault) -> Int? {
        try outcome(gnutls_record_send(session, buffer.baseAddress, buffer.count))
    }

    private func outcome(_ result: Int) throws(NetworkFault) -> Int? {
        if result >= 0 { return result }
        if result == Int(GNUTLS_E_AGAIN) || result == Int(GNUTLS_E_INTERRUPTED) { return nil }
        try check(Int32(truncatingIfNeeded: result))
        return nil
    }

    /// "gnutls_error_is_fatal: … a value of zero for non-fatal": those are for another try.
    private func check(_ code: Int32) throws(NetworkFault) {
        guard code < 0, gnutls_error_is_fatal(code) != 0 else { return }
        if code == GNUTLS_E_FATAL_ALERT_RECEIVED,
            let name = gnutls_alert_get_name(gnutls_alert_get(session))
        {
            throw .encryption("the other side says: \(String(cString: name))")
        }
        throw .encryption(String(cString: gnutls_strerror(code)))
    }

    /// Returns why the certificate is not trusted.
    private var verdict: String {
        let status = gnutls_session_get_verify_cert_status(session)
        var words = gnutls_datum_t()
        guard
            gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0) == 0,
            let data = words.data
        else { return "status \(status)" }
        defer { rollcall_gnutls_free(data) }
        let bytes = UnsafeBufferPointer(start: data, count: Int(words.size))
        let text = String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self)
        // Which is said already.
        let rest = text.replacing("The certificate is NOT trusted. ", with: "")
        return rest.split(separator: " ").joined(separator: " ")
    }
}
