import CGnuTLS

/// Versions, cipher suites and curves, as GnuTLS is told of them.
enum TLSPriorities {
    /// The suites that Go knows as good, and the parts of which GnuTLS puts them together. Source: the list
    /// of crypto/tls's CipherSuites().
    private static let known: [String: (exchange: String?, cipher: String, mac: String)] = {
        var known: [String: (exchange: String?, cipher: String, mac: String)] = [
            "TLS_AES_128_GCM_SHA256": (nil, "AES-128-GCM", "AEAD"),
            "TLS_AES_256_GCM_SHA384": (nil, "AES-256-GCM", "AEAD"),
            "TLS_CHACHA20_POLY1305_SHA256": (nil, "CHACHA20-POLY1305", "AEAD"),
        ]
        for kind in ["ECDSA", "RSA"] {
            let exchange = "ECDHE-\(kind)"
            let head = "TLS_ECDHE_\(kind)_WITH_"
            known["\(head)AES_128_CBC_SHA"] = (exchange, "AES-128-CBC", "SHA1")
            known["\(head)AES_256_CBC_SHA"] = (exchange, "AES-256-CBC", "SHA1")
            known["\(head)AES_128_GCM_SHA256"] = (exchange, "AES-128-GCM", "AEAD")
            known["\(head)AES_256_GCM_SHA384"] = (exchange, "AES-256-GCM", "AEAD")
            known["\(head)CHACHA20_POLY1305_SHA256"] = (exchange, "CHACHA20-POLY1305", "AEAD")
        }
        return known
    }()

    private static let groups = [
        "X25519": "X25519", "CurveP256": "SECP256R1", "CurveP384": "SECP384R1",
        "CurveP521": "SECP521R1",
    ]
    /// The curves where none are listed. GnuTLS has finite fields too, one share of which takes a hundred
    /// milliseconds.
    private static let usualCurves = ["X25519", "CurveP256", "CurveP384", "CurveP521"]

    /// Returns the priorities of settings, which the caller has to free.
    /// - Throws: `TLSServerFault` if a name is not known, or GnuTLS cannot do what is wanted.
    static func made(_ settings: TLSServerSettings) throws(TLSServerFault) -> gnutls_priority_t {
        guard settings.oldest <= settings.newest else {
            throw TLSServerFault(
                field: "max_version",
                reason: "must not be older than min_version (\(settings.oldest.rawValue))")
        }
        let text = try text(settings)
        var priorities: gnutls_priority_t?
        guard gnutls_priority_init(&priorities, text, nil) == 0, let priorities else {
            throw TLSServerFault(field: "cipher_suites", reason: "GnuTLS knows no such choice")
        }
        do throws(TLSServerFault) {
            try check(priorities, settings)
        } catch {
            gnutls_priority_deinit(priorities)
            throw error
        }
        return priorities
    }

    private static func text(_ settings: TLSServerSettings) throws(TLSServerFault) -> String {
        var words = ["NORMAL", "-VERS-ALL"]
        words += TLSServerSettings.Version.allCases.reversed().filter {
            (settings.oldest...settings.newest).contains($0)
        }.map { "+\($0.priority)" }
        // Who records today must not read it tomorrow with a stolen key.
        words += ["-RSA", "-DHE-RSA"]
        if !settings.suites.isEmpty {
            var (exchanges, ciphers, macs) = ([String](), [String](), [String]())
            for name in settings.suites {
                guard let parts = known[name] else {
                    throw TLSServerFault(
                        field: "cipher_suites", reason: "unknown cipher \(name)")
                }
                if let exchange = parts.exchange, !exchanges.contains(exchange) {
                    exchanges.append(exchange)
                }
                if !ciphers.contains(parts.cipher) { ciphers.append(parts.cipher) }
                if !macs.contains(parts.mac) { macs.append(parts.mac) }
            }
            words += ["-KX-ALL"] + exchanges.map { "+\($0)" }
            words += ["-CIPHER-ALL"] + ciphers.map { "+\($0)" }
            words += ["-MAC-ALL"] + macs.map { "+\($0)" }
            // TLS 1.3 exchanges keys by groups alone, and asks for none of these.
            if exchanges.isEmpty { words += ["+ECDHE-RSA", "+ECDHE-ECDSA"] }
        }
        words.append("-GROUP-ALL")
        for name in settings.curves.isEmpty ? usualCurves : settings.curves {
            guard let group = groups[name] else {
                throw TLSServerFault(
                    field: "curve_preferences", reason: "unknown curve \(name)")
            }
            words.append("+GROUP-\(group)")
        }
        if settings.prefersOwnOrder { words.append("%SERVER_PRECEDENCE") }
        return words.joined(separator: ":")
    }

    /// GnuTLS takes each exchange with each cipher: what was not listed must not come in by that.
    private static func check(
        _ priorities: gnutls_priority_t, _ settings: TLSServerSettings
    ) throws(TLSServerFault) {
        if settings.suites.isEmpty { return }
        var isNewest = false
        var place: UInt32 = 0
        while true {
            var suite: UInt32 = 0
            let code = gnutls_priority_get_cipher_suite_index(priorities, place, &suite)
            if code == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE { break }
            place += 1
            var least = GNUTLS_VERSION_UNKNOWN
            guard code == 0,
                let name = gnutls_cipher_suite_info(Int(suite), nil, nil, nil, nil, &least)
            else { continue }
            if least == GNUTLS_TLS1_3 {
                isNewest = true
                continue
            }
            guard settings.oldest < .tls13 else { continue }
            let goName = self.goName(String(cString: name))
            guard settings.suites.contains(goName) else {
                throw TLSServerFault(
                    field: "cipher_suites",
                    reason: "GnuTLS takes each exchange of keys with each cipher: list "
                        + "\(goName) too, or leave out what brings it")
            }
        }
        guard isNewest || settings.newest < .tls13 else {
            throw TLSServerFault(
                field: "cipher_suites",
                reason:
                    "leave none for TLS 1.3, for which GnuTLS takes the same ciphers: list one of "
                    + "GCM or CHACHA20, or say max_version: TLS12")
        }
    }

    /// Of GnuTLS's `TLS_ECDHE_RSA_AES_128_CBC_SHA1`.
    private static func goName(_ name: String) -> String {
        var name = name
        for kind in ["ECDSA", "RSA"] {
            name = name.replacing("TLS_ECDHE_\(kind)_", with: "TLS_ECDHE_\(kind)_WITH_")
        }
        if name.hasSuffix("_SHA1") { name.removeLast() }
        return name.hasSuffix("_POLY1305") ? name + "_SHA256" : name
    }
}
