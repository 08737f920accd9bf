import CGnuTLS
import Glibc
import RollcallCore

/// The TLS of one reading of the web configuration and its certificates: what every handshake is prepared
/// with that begins while it holds. It lives for as long as a connection that has it.
///
/// `@unchecked Sendable` is true because nothing of it changes once it is made, and GnuTLS lets any number
/// of sessions share credentials and priorities that nobody changes.
package final class ServerTLS: @unchecked Sendable {
    /// The settings that it was made of.
    package let settings: TLSServerSettings
    /// The instant at which the certificate expires.
    package let notAfter: Timestamp

    private let credentials: gnutls_certificate_credentials_t
    private let priorities: gnutls_priority_t

    /// Reads certificates and key.
    /// - Throws: `TLSServerFault` if one of them is none, the key is another certificate's, or GnuTLS
    ///   cannot do what is wanted.
    package init(_ settings: TLSServerSettings) throws(TLSServerFault) {
        if settings.clientAuth.isVerified, settings.clientAuthorities.isEmpty {
            throw TLSServerFault(
                field: "client_ca_file",
                reason: "must be given for \(settings.clientAuth.rawValue): whose certificates "
                    + "are good is not left to the system's authorities")
        }
        var made: gnutls_certificate_credentials_t?
        guard gnutls_certificate_allocate_credentials(&made) == 0, let made else {
            throw TLSServerFault(field: "cert_file", reason: "no memory")
        }
        do throws(TLSServerFault) {
            notAfter = try Self.load(settings, into: made)
            priorities = try TLSPriorities.made(settings)
        } catch {
            gnutls_certificate_free_credentials(made)
            throw error
        }
        credentials = made
        self.settings = settings
    }

    deinit {
        gnutls_certificate_free_credentials(credentials)
        gnutls_priority_deinit(priorities)
    }

    /// Puts certificates and key into `credentials`; returns when the certificate expires.
    private static func load(
        _ settings: TLSServerSettings, into credentials: gnutls_certificate_credentials_t
    ) throws(TLSServerFault) -> Timestamp {
        let notAfter = try expiry(of: settings.certificate)
        let code = withDatum(settings.certificate) { certificate in
            withDatum(settings.key) { key in
                gnutls_certificate_set_x509_key_mem2(
                    credentials, certificate, key, GNUTLS_X509_FMT_PEM, nil, 0)
            }
        }
        if code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH {
            throw TLSServerFault(field: "key_file", reason: "is not the key of the certificate")
        }
        guard code >= 0 else {
            throw TLSServerFault(
                field: "key_file",
                reason:
                    "must hold an unencrypted key, PEM: \(String(cString: gnutls_strerror(code)))")
        }
        if settings.clientAuthorities.isEmpty { return notAfter }
        let count = withDatum(settings.clientAuthorities) {
            gnutls_certificate_set_x509_trust_mem(credentials, $0, GNUTLS_X509_FMT_PEM)
        }
        guard count > 0 else {
            throw TLSServerFault(field: "client_ca_file", reason: "must hold a certificate, PEM")
        }
        return notAfter
    }

    private static func expiry(of chain: [UInt8]) throws(TLSServerFault) -> Timestamp {
        var made: gnutls_x509_crt_t?
        guard gnutls_x509_crt_init(&made) == 0, let made else {
            throw TLSServerFault(field: "cert_file", reason: "no memory")
        }
        defer { gnutls_x509_crt_deinit(made) }
        let code = withDatum(chain) { gnutls_x509_crt_import(made, $0, GNUTLS_X509_FMT_PEM) }
        guard code == 0 else {
            throw TLSServerFault(field: "cert_file", reason: "must hold a certificate, PEM")
        }
        guard isWhole(chain) else {
            throw TLSServerFault(
                field: "cert_file",
                reason: "must hold nothing but certificates, PEM: a later one is none")
        }
        let seconds = gnutls_x509_crt_get_expiration_time(made)
        return Timestamp(milliseconds: Int64(max(0, min(seconds, 1 << 40))) * 1000)
    }

    /// True if each certificate of a chain can be read.
    private static func isWhole(_ chain: [UInt8]) -> Bool {
        var list: UnsafeMutablePointer<gnutls_x509_crt_t?>?
        var count: UInt32 = 0
        let code = withDatum(chain) {
            gnutls_x509_crt_list_import2(&list, &count, $0, GNUTLS_X509_FMT_PEM, 0)
        }
        guard code >= 0, let list else { return false }
        for place in 0..<Int(count) { gnutls_x509_crt_deinit(list[place]) }
        rollcall_gnutls_free(list)
        return true
    }

    private static func withDatum<Value>(
        _ bytes: [UInt8], _ body: (UnsafePointer<gnutls_datum_t>) -> Value
    ) -> Value {
        var bytes = bytes
        return bytes.withUnsafeMutableBufferPointer { buffer in
            var datum = gnutls_datum_t(
                data: buffer.baseAddress, size: UInt32(truncatingIfNeeded: buffer.count))
            return body(&datum)
        }
    }

    // MARK: - Handshakes

    /// Prepares a session for its handshake; false without memory.
    func prepare(_ session: gnutls_session_t) -> Bool {
        guard gnutls_priority_set(session, priorities) == 0,
            gnutls_credentials_set(
                session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials)) == 0
        else { return false }
        // A missing one is refused by `refusal`, with an alert.
        let wanted = settings.clientAuth == .none ? GNUTLS_CERT_IGNORE : GNUTLS_CERT_REQUEST
        gnutls_certificate_server_set_request(session, wanted)
        return true
    }

    /// Bits of the modulus of a client's RSA key, and of its exponent, at most: a signature by one at both
    /// limits is verified within a millisecond or two.
    private static let rsaBitsMax = (modulus: 8192, exponent: 32)

    /// Returns true of a certificate in DER whose RSA key is beyond the limits, or that is none.
    static func isCostly(_ certificate: UnsafePointer<gnutls_datum_t>) -> Bool {
        var made: gnutls_x509_crt_t?
        guard gnutls_x509_crt_init(&made) == 0, let made else { return true }
        defer { gnutls_x509_crt_deinit(made) }
        guard gnutls_x509_crt_import(made, certificate, GNUTLS_X509_FMT_DER) == 0 else {
            return true
        }
        var (modulus, exponent) = (gnutls_datum_t(), gnutls_datum_t())
        let code = gnutls_x509_crt_get_pk_rsa_raw(made, &modulus, &exponent)
        // Of another kind of key, whose size its curve bounds.
        if code == GNUTLS_E_INVALID_REQUEST { return false }
        guard code == 0 else { return true }
        defer {
            rollcall_gnutls_free(modulus.data)
            rollcall_gnutls_free(exponent.data)
        }
        return bits(modulus) > rsaBitsMax.modulus || bits(exponent) > rsaBitsMax.exponent
    }

    /// Returns true of a certificate in DER that says that its key is for other uses than signing, by which a
    /// client proves that it has the key.
    static func isForOtherUses(_ certificate: UnsafePointer<gnutls_datum_t>) -> Bool {
        var made: gnutls_x509_crt_t?
        guard gnutls_x509_crt_init(&made) == 0, let made else { return true }
        defer { gnutls_x509_crt_deinit(made) }
        guard gnutls_x509_crt_import(made, certificate, GNUTLS_X509_FMT_DER) == 0 else {
            return true
        }
        var (uses, isCritical) = (UInt32(0), UInt32(0))
        let code = gnutls_x509_crt_get_key_usage(made, &uses, &isCritical)
        // Whoever says nothing allows all.
        return code == 0 && uses & UInt32(GNUTLS_KEY_DIGITAL_SIGNATURE) == 0
    }

    private static func bits(_ number: gnutls_datum_t) -> Int {
        let bytes = UnsafeBufferPointer(start: number.data, count: Int(number.size))
        let significant = bytes.drop { $0 == 0 }
        return significant.count * 8 - (significant.first?.leadingZeroBitCount ?? 0)
    }

    /// Returns the alert by which the client of a session is refused; nil if it may come in.
    func refusal(ofPeerIn session: gnutls_session_t) -> gnutls_alert_description_t? {
        if settings.clientAuth == .none { return nil }
        var count: UInt32 = 0
        guard let first = gnutls_certificate_get_peers(session, &count), count > 0 else {
            return settings.clientAuth.isRequired ? GNUTLS_A_CERTIFICATE_REQUIRED : nil
        }
        if settings.clientAuth.isVerified {
            var status: UInt32 = 0
            let code = rollcall_verify_client(session, &status)
            guard code == 0, status == 0 else {
                let isExpired = status & UInt32(GNUTLS_CERT_EXPIRED.rawValue) != 0
                return isExpired ? GNUTLS_A_CERTIFICATE_EXPIRED : GNUTLS_A_BAD_CERTIFICATE
            }
        }
        if settings.clientNames.isEmpty { return nil }
        let names = CertificateNames.all(of: first)
        return names.contains { settings.clientNames.contains($0) }
            ? nil : GNUTLS_A_ACCESS_DENIED
    }
}

/// The names that a certificate is for, as text: DNS names, addresses, mail addresses and URIs.
enum CertificateNames {
    private static let bytesMax = 1024
    /// Names of one certificate that are looked at.
    private static let countMax: UInt32 = 256

    /// Returns the names of a certificate in DER; none of what is no certificate.
    static func all(of certificate: UnsafePointer<gnutls_datum_t>) -> [String] {
        var made: gnutls_x509_crt_t?
        guard gnutls_x509_crt_init(&made) == 0, let made else { return [] }
        defer { gnutls_x509_crt_deinit(made) }
        guard gnutls_x509_crt_import(made, certificate, GNUTLS_X509_FMT_DER) == 0 else {
            return []
        }
        var names: [String] = []
        for place in 0..<countMax {
            var bytes = [UInt8](repeating: 0, count: bytesMax)
            var count = bytes.count
            let kind = gnutls_x509_crt_get_subject_alt_name(made, place, &bytes, &count, nil)
            if kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE { break }
            guard kind >= 0 else { continue }
            text(UInt32(kind), bytes[..<min(count, bytes.count)]).map { names.append($0) }
        }
        return names
    }

    private static func text(_ kind: UInt32, _ bytes: ArraySlice<UInt8>) -> String? {
        switch kind {
        case GNUTLS_SAN_DNSNAME.rawValue, GNUTLS_SAN_RFC822NAME.rawValue,
            GNUTLS_SAN_URI.rawValue:
            return String(validating: bytes, as: UTF8.self)
        case GNUTLS_SAN_IPADDRESS.rawValue:
            let family = bytes.count == 4 ? AF_INET : AF_INET6
            guard [4, 16].contains(bytes.count) else { return nil }
            var words = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            let isText = bytes.withUnsafeBytes {
                inet_ntop(family, $0.baseAddress, &words, socklen_t(INET6_ADDRSTRLEN)) != nil
            }
            guard isText else { return nil }
            return String(
                decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        default: return nil
        }
    }
}
