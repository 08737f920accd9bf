import CGnuTLS
import Foundation
import Logging
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// The web configuration: every field of exporter-toolkit's format is done or refused in words, and none is
/// passed over. Source: V18.
@Suite struct WebSettingsTests {
    private static let hash = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"

    /// A folder with `a.pem`, `a.key` and the same of `b`, which nobody else reads.
    private static let folder: TemporaryDirectory = {
        let folder = TemporaryDirectory()
        let made = Process()
        made.executableURL = URL(fileURLWithPath: "/bin/sh")
        made.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        made.arguments = [
            "-ec",
            """
            umask 077
            for who in a b; do
              openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \\
                -keyout $who.key -out $who.pem -days 2 -subj /CN=$who
            done
            (cat a.pem; echo "-----BEGIN CERTIFICATE-----"; echo MIIB
              echo "-----END CERTIFICATE-----") > broken.pem
            """,
        ]
        made.standardError = FileHandle.nullDevice
        made.standardOutput = FileHandle.nullDevice
        try? made.run()
        made.waitUntilExit()
        return folder
    }()

    private static let pair = "cert_file: a.pem, key_file: a.key"

    private func read(_ yaml: String) throws(InputFileError) -> WebSettings {
        let name = "web-\(UInt64.random(in: .min ... .max)).yml"
        Self.folder.write(name, yaml)
        chmod("\(Self.folder.path)/\(name)", 0o600)
        return try WebSettings(name: name, path: "\(Self.folder.path)/\(name)")
    }

    private func fault(_ yaml: String) -> String {
        do throws(InputFileError) {
            _ = try read(yaml)
            return "taken"
        } catch {
            guard case .wrongConfiguration(_, let fault) = error else { return "\(error)" }
            return fault.message.replacing(Self.folder.path, with: "DIR")
        }
    }

    @Test func `the whole of the format that can be done is taken`() throws {
        let settings = try read(
            """
            tls_server_config:
              cert_file: a.pem
              key_file: \(Self.folder.path)/a.key
              client_auth_type: RequireAndVerifyClientCert
              client_ca_file: b.pem
              client_allowed_sans: [one.example, 192.0.2.1]
              min_version: TLS12
              max_version: TLS13
              cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]
              prefer_server_cipher_suites: false
              curve_preferences: [X25519, CurveP256, CurveP384, CurveP521]
            http_server_config:
              http2: false
              headers:
                Content-Security-Policy: default-src 'none'
                X-Frame-Options: sameorigin
                X-Content-Type-Options: nosniff
                X-XSS-Protection: "1"
                Strict-Transport-Security: max-age=1
            basic_auth_users:
              alice: \(Self.hash)
              bob: \(Self.hash.replacing("$2y$", with: "$2b$"))
            """)
        let tls = try #require(settings.tls)
        #expect(tls.clientAuth == .requireAndVerify)
        #expect(tls.clientNames == ["one.example", "192.0.2.1"])
        #expect(tls.oldest == .tls12)
        #expect(tls.newest == .tls13)
        #expect(tls.suites == ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"])
        #expect(!tls.prefersOwnOrder)
        #expect(tls.curves == ["X25519", "CurveP256", "CurveP384", "CurveP521"])
        #expect(
            settings.fields.map(\.name) == [
                "Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options",
                "X-XSS-Protection", "Strict-Transport-Security",
            ])
        #expect(settings.users.map(\.name) == ["alice", "bob"])
        #expect(settings.files.count == 3)
        #expect(settings.warnings == [])
        #expect("\(settings)".contains("2y") == false)
        #expect("\(tls)" == "<tls>")
    }

    @Test func `certificate, key and authority may stand in the file itself`() throws {
        let text = { (name: String) in
            try String(contentsOfFile: "\(Self.folder.path)/\(name)", encoding: .ascii)
                .split(separator: "\n").map { "    \($0)\n" }.joined()
        }
        let settings = try read(
            "tls_server_config:\n  cert: |\n\(try text("a.pem"))  key: |\n\(try text("a.key"))"
                + "  client_auth_type: VerifyClientCertIfGiven\n  client_ca: |\n\(try text("b.pem"))"
        )
        #expect(settings.tls?.clientAuth == .verifyIfGiven)
        #expect(settings.files == [])
    }

    @Test(arguments: [
        "{}", "tls_server_config: {}", "tls_server_config:", "basic_auth_users:", "# nothing",
        "http_server_config: {headers: {X-Frame-Options: ''}}",
    ])
    func `what says nothing means nothing`(yaml: String) throws {
        let settings = try read(yaml)
        #expect(settings.tls == nil)
        #expect(settings.users.isEmpty)
        #expect(settings.fields.isEmpty)
    }

    @Test(arguments: [
        ("NoClientCert", TLSServerSettings.ClientAuth.none), ("''", .none),
        ("RequestClientCert", .request), ("RequireAnyClientCert", .requireAny),
        ("RequireClientCert", .requireAny),
    ])
    func `a policy without authorities is taken`(
        word: String, policy: TLSServerSettings.ClientAuth
    ) throws {
        let settings = try read("tls_server_config: {\(Self.pair), client_auth_type: \(word)}")
        #expect(settings.tls?.clientAuth == policy)
    }

    @Test(arguments: [
        ("nonsense: 1", "nonsense: unknown setting"),
        (
            "tls_server_confg: {}",
            "tls_server_confg: unknown setting, did you mean \"tls_server_config\"?"
        ),
        ("[]", "the file: a mapping is expected"),
        (
            "tls_server_config: {\(pair), certfile: x}",
            "tls_server_config.certfile: unknown setting, did you mean \"cert_file\"?"
        ),
        (
            "tls_server_config: {min_version: TLS12}",
            "tls_server_config.cert_file or cert must be given where TLS is spoken"
        ),
        (
            "tls_server_config: {cert_file: a.pem}",
            "tls_server_config.key_file or key must be given where TLS is spoken"
        ),
        (
            "tls_server_config: {cert: x, \(pair)}",
            "tls_server_config.cert and cert_file must not both be given"
        ),
        (
            "tls_server_config: {cert_file: b.pem, key_file: a.key}",
            "tls_server_config.key_file is not the key of the certificate"
        ),
        (
            "tls_server_config: {cert_file: a.key, key_file: a.key}",
            "tls_server_config.cert_file must hold a certificate, PEM"
        ),
        (
            "tls_server_config: {cert_file: none.pem, key_file: a.key}",
            "tls_server_config.cert_file must name a file that can be read (DIR/none.pem: cannot be "
                + "read: No such file or directory)"
        ),
        (
            "tls_server_config: {\(pair), client_auth_type: Maybe}",
            "tls_server_config.client_auth_type must be one of NoClientCert, RequestClientCert, "
                + "RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert, "
                + "RequireClientCert (Maybe)"
        ),
        (
            "tls_server_config: {\(pair), client_auth_type: RequireAndVerifyClientCert}",
            "tls_server_config.client_ca_file must be given for RequireAndVerifyClientCert: whose "
                + "certificates are good is not left to the system's authorities"
        ),
        (
            "tls_server_config: {\(pair), client_ca_file: b.pem}",
            "tls_server_config.client_ca_file says nothing without client_auth_type"
        ),
        (
            "tls_server_config: {\(pair), client_allowed_sans: [a]}",
            "tls_server_config.client_allowed_sans requires client_auth_type to be "
                + "RequireAnyClientCert or RequireAndVerifyClientCert"
        ),
        (
            "tls_server_config: {\(pair), client_auth_type: VerifyClientCertIfGiven, "
                + "client_ca_file: a.pem, client_allowed_sans: [a]}",
            "tls_server_config.client_allowed_sans requires client_auth_type to be "
                + "RequireAnyClientCert or RequireAndVerifyClientCert"
        ),
        (
            "tls_server_config: {\(pair), client_auth_type: RequestClientCert, "
                + "client_allowed_sans: [a]}",
            "tls_server_config.client_allowed_sans requires client_auth_type to be "
                + "RequireAnyClientCert or RequireAndVerifyClientCert"
        ),
        ("tls_server_config: server.pem", "tls_server_config must be a mapping"),
        ("tls_server_config: ''", "tls_server_config must be a mapping"),
        ("tls_server_config: 'null'", "tls_server_config must be a mapping"),
        ("tls_server_config: true", "tls_server_config must be a mapping"),
        ("tls_server_config: [a.pem]", "tls_server_config must be a mapping"),
        ("tls_server_config: []", "tls_server_config must be a mapping"),
        ("http_server_config: x", "http_server_config must be a mapping"),
        ("http_server_config: {headers: x}", "http_server_config.headers must be a mapping"),
        ("http_server_config: {headers: ''}", "http_server_config.headers must be a mapping"),
        ("basic_auth_users: ''", "basic_auth_users must be a mapping"),
        ("basic_auth_users: alice", "basic_auth_users must be a mapping"),
        (
            "tls_server_config: {cert_file: broken.pem, key_file: a.key}",
            "tls_server_config.cert_file must hold nothing but certificates, PEM: a later one is none"
        ),
        (
            "tls_server_config: {\(pair), client_auth_type: VerifyClientCertIfGiven, "
                + "client_ca_file: a.key}",
            "tls_server_config.client_ca_file must hold a certificate, PEM"
        ),
        (
            "tls_server_config: {\(pair), min_version: SSL30}",
            "tls_server_config.min_version must be one of TLS10, TLS11, TLS12, TLS13 (SSL30)"
        ),
        (
            "tls_server_config: {\(pair), min_version: TLS13, max_version: TLS12}",
            "tls_server_config.max_version must not be older than min_version (TLS13)"
        ),
        (
            "tls_server_config: {\(pair), cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]}",
            "tls_server_config.cipher_suites unknown cipher TLS_RSA_WITH_RC4_128_SHA"
        ),
        (
            "tls_server_config: {\(pair), cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
                + "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]}",
            "tls_server_config.cipher_suites GnuTLS takes each exchange of keys with each cipher: "
                + "list TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 too, or leave out what brings it"
        ),
        (
            "tls_server_config: {\(pair), cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]}",
            "tls_server_config.cipher_suites leave none for TLS 1.3, for which GnuTLS takes the same "
                + "ciphers: list one of GCM or CHACHA20, or say max_version: TLS12"
        ),
        (
            "tls_server_config: {\(pair), curve_preferences: [P256]}",
            "tls_server_config.curve_preferences unknown curve P256"
        ),
        (
            "tls_server_config: {\(pair), prefer_server_cipher_suites: 5}",
            "tls_server_config.prefer_server_cipher_suites must be true or false (5)"
        ),
        (
            "http_server_config: {http2: true}",
            "http_server_config.http2 cannot be had: HTTP/1.1 is spoken here, to whoever speaks HTTP/2 "
                + "too: leave it out, or say false"
        ),
        (
            "http_server_config: {headers: {Server: x}}",
            "http_server_config.headers.Server: unknown setting"
        ),
        (
            "http_server_config: {headers: {X-Frame-Options: allow}}",
            "http_server_config.headers.X-Frame-Options must be deny or sameorigin (allow)"
        ),
        (
            "http_server_config: {headers: {X-Content-Type-Options: sniff}}",
            "http_server_config.headers.X-Content-Type-Options must be nosniff (sniff)"
        ),
        (
            "http_server_config: {headers: {X-XSS-Protection: \"a\\nb\"}}",
            "http_server_config.headers.X-XSS-Protection must be one line of ASCII"
        ),
        (
            "rate_limit: {interval: 1s}",
            "rate_limit is not done here: Rollcall has limits of its own, under limits: leave it out"
        ),
        (
            "basic_auth_users: [alice]", "basic_auth_users must be a mapping"
        ),
        (
            "basic_auth_users: {alice: secret}",
            "basic_auth_users user \"alice\": must have a hash by bcrypt ($2a$, $2b$ or $2y$); make one "
                + "with: htpasswd -nBC 10 \"\""
        ),
        (
            "basic_auth_users: {alice: \(hash.replacing("$10$", with: "$31$"))}",
            "basic_auth_users user \"alice\": the cost of the hash is 31, and must be 4 to 14: no "
                + "request waits for longer"
        ),
        (
            "basic_auth_users: {alice: \(hash.replacing("$10$", with: "$15$"))}",
            "basic_auth_users user \"alice\": the cost of the hash is 15, and must be 4 to 14: no "
                + "request waits for longer"
        ),
        (
            "basic_auth_users: {\"a:\\u0301b\": \(hash)}",
            "basic_auth_users a user's name must have 1 to 128 bytes without colons and control "
                + "characters"
        ),
        (
            "basic_auth_users: {'a:b': \(hash)}",
            "basic_auth_users a user's name must have 1 to 128 bytes without colons and control "
                + "characters"
        ),
    ])
    func `what cannot be done is refused in words`(yaml: String, words: String) {
        #expect(fault(yaml) == words)
    }

    @Test func `a cipher list that can be had is had, and old protocols where they are wanted`()
        throws
    {
        for suites in [
            "TLS_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "
                + "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ] {
            _ = try read("tls_server_config: {\(Self.pair), cipher_suites: [\(suites)]}")
        }
        let old = try read(
            "tls_server_config: {\(Self.pair), min_version: TLS10, max_version: TLS11}")
        #expect(old.tls?.newest == .tls11)
        let alone = try read("tls_server_config: {\(Self.pair), min_version: TLS13}")
        #expect(alone.tls?.newest == .tls13)
    }

    @Test
    func `V18: keys are exchanged by the curves that are listed, and never by a finite field`()
        throws
    {
        func groups(_ more: String) throws -> [String] {
            let settings = try read("tls_server_config: {\(Self.pair)\(more)}")
            let made = try TLSPriorities.made(try #require(settings.tls))
            defer { gnutls_priority_deinit(made) }
            var list: UnsafePointer<UInt32>?
            let count = Int(gnutls_priority_group_list(made, &list))
            return (0..<count).compactMap { place in
                list.flatMap { gnutls_group_get_name(gnutls_group_t($0[place])) }.map {
                    String(cString: $0)
                }
            }
        }
        let all = ["X25519", "SECP256R1", "SECP384R1", "SECP521R1"]
        #expect(try groups("") == all)
        #expect(try groups(", min_version: TLS13") == all)
        #expect(try groups(", curve_preferences: []") == all)
        #expect(try groups(", curve_preferences: [CurveP384, X25519]") == ["SECP384R1", "X25519"])
    }

    @Test func `a renewal that began before a reload does not put the old settings back`() throws {
        func tls(_ name: String) throws -> ServerTLS {
            let pair = "cert_file: \(name).pem, key_file: \(name).key"
            return try ServerTLS(try #require(try read("tls_server_config: {\(pair)}").tls))
        }
        let (old, new, renewed) = (try tls("a"), try tls("b"), try tls("b"))
        let policy = AccessPolicy(AccessPolicy.Rules(), log: Logger(label: "test"))
        let front = WebFront(policy, tls: old)
        #expect(front.renew(old, of: 0))
        let generation = front.follow(new)
        #expect(!front.renew(old, of: 0))
        #expect(front.tls === new)
        #expect(front.renew(renewed, of: generation))
        #expect(front.tls === renewed)
    }

    @Test func `an outline opens nothing, and names files as the settings would`() throws {
        Self.folder.write(
            "outline.yml",
            """
            tls_server_config:
              {cert_file: none.pem, key_file: ../none.key, client_ca_file: /none, client_auth_type: RequireAndVerifyClientCert}
            basic_auth_users: {alice: \(Self.hash)}
            """)
        for (name, files) in [
            ("outline.yml", ["../none.key", "/none", "none.pem"]),
            ("tls/outline.yml", ["/none", "tls/../none.key", "tls/none.pem"]),
            ("/etc/a/outline.yml", ["/etc/a/../none.key", "/etc/a/none.pem", "/none"]),
        ] {
            let web = try WebSettings(outline: name, at: "\(Self.folder.path)/outline.yml")
            #expect(web.files == files)
            #expect(web.name == name)
            #expect(web.tls?.clientAuth == .requireAndVerify)
            #expect(web.users.map(\.name) == ["alice"])
        }
    }

    @Test func `certificates alone are enough from a start, and not by a reload`() throws {
        let verified = "client_auth_type: RequireAndVerifyClientCert, client_ca_file: b.pem"
        var alone = AccessSettings()
        alone.web = try read("tls_server_config: {\(Self.pair), \(verified)}")
        var users = AccessSettings()
        users.web = try read(
            "tls_server_config: {\(Self.pair), \(verified)}\nbasic_auth_users: {a: \(Self.hash)}")
        let everywhere = "0.0.0.0:80"
        #expect {
            try alone.checkCertificates(inForce: users, listenAddress: everywhere)
        } throws: {
            "\($0)".contains("after a restart alone: connections that stand have shown none")
        }
        try alone.checkCertificates(inForce: users, listenAddress: "127.0.0.1:80")
        try alone.checkCertificates(inForce: alone, listenAddress: everywhere)
        try users.checkCertificates(inForce: alone, listenAddress: everywhere)
        alone.isInsecure = true
        try alone.checkCertificates(inForce: users, listenAddress: everywhere)
    }

    @Test
    func `the settings name the file, beside their own, and a user may not have a token's name`()
        throws
    {
        Self.folder.write("users.yml", "basic_auth_users: {alice: \(Self.hash)}\n")
        Self.folder.write("top.yml", "web: {config_file: users.yml}\n")
        let source = SettingsSource(
            path: "\(Self.folder.path)/top.yml", flags: [:], environment: [:])
        let policy = try source.read().accessPolicy
        #expect(policy.web.name == "users.yml")
        #expect(policy.access.isOpen)
        #expect(!policy.letIn.isOpen)
        #expect(policy.letIn.userNames == ["alice"])
        try policy.check(listenAddress: "0.0.0.0:80")
        Self.folder.write(
            "twice.yml",
            "web: {config_file: users.yml, tokens: [{name: alice, scopes: [read], "
                + "token: 0123456789abcdef}]}\n")
        let twice = SettingsSource(
            path: "\(Self.folder.path)/twice.yml", flags: [:], environment: [:])
        #expect {
            try twice.read()
        } throws: {
            "\($0)".hasSuffix(
                "web.config_file and web.tokens do not go together: user \"alice\": another user, or a "
                    + "token, has this name")
        }
        let flag = SettingsSource(
            path: nil, flags: ["web.config_file": "/none.yml"], environment: [:])
        #expect {
            try flag.read()
        } throws: {
            "\($0)"
                == "--web.config.file: web.config_file cannot be used: /none.yml: cannot be read: No such "
                + "file or directory"
        }
    }
}
