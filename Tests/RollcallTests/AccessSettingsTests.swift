import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// The settings under `web`: tokens, the listener of its own, the way in from outside.
@Suite struct AccessSettingsTests {
    private static let text = "0123456789abcdef-secret"

    private func read(_ yaml: String, opensSecrets: Bool = true) throws -> AccessSettings {
        var sources = SettingSources()
        sources.opensSecrets = opensSecrets
        return try Configuration(yaml: yaml, sources: &sources).accessPolicy
    }

    private func fault(_ yaml: String) -> String {
        do {
            _ = try read(yaml)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test func `the example of the design can be read`() throws {
        let accessPolicy = try read(
            """
            web:
              listen_address: 127.0.0.1:10112
              metrics_listen_address: ""
              external_url: ""
              tokens:
                - {name: backend-1, scopes: [ingest], token: \(Self.text)}
                - name: page
                  scopes: [read, admin, read]
                  token: other-\(Self.text)
            """)
        #expect(accessPolicy.metricsListenAddress == "")
        #expect(accessPolicy.externalURL == nil)
        #expect(accessPolicy.access.tokens.map(\.name) == ["backend-1", "page"])
        #expect(accessPolicy.access.tokens.map(\.scopes) == [[.ingest], [.read, .admin]])
        #expect(accessPolicy.access.holder("Bearer \(Self.text)")?.name == "backend-1")
        let others = try read(
            "web: {metrics_listen_address: '0.0.0.0:10113', external_url: 'https://a/b', tokens: }")
        #expect(others.metricsListenAddress == "0.0.0.0:10113")
        #expect(others.externalURL?.text == "https://a/b")
        #expect(others.access.isOpen)
        #expect(try read("web: {metrics_listen_address: , external_url: }") == AccessSettings())
    }

    @Test(arguments: [
        ("tokens: 5", "line 2: web.tokens must be a list"),
        ("tokens: [5]", "line 2: web.tokens[0]: a mapping is expected"),
        (
            "tokens: [{name: a, scopes: [ingest], tokn: b}]",
            "line 2: web.tokens[0].token or token_file must be given"
        ),
        (
            "tokens: [{name: a, scope: [ingest], token: 0123456789abcdef}]",
            "line 2: web.tokens[0]: token \"a\": scopes must list one or more of ingest, read, "
                + "act, admin, input:NAME"
        ),
        (
            "tokens: [{name: a, scopes: [write], token: 0123456789abcdef}]",
            "line 2: web.tokens[0].scopes must be some of ingest, read, act, admin, input:NAME (write)"
        ),
        (
            "tokens: [{name: a, scopes: ingest, token: 0123456789abcdef}]",
            "line 2: web.tokens[0].scopes must be a list of ingest, read, act, admin, input:NAME"
        ),
        (
            "tokens: [{name: a, scopes: [ingest], token: 0123456789abcde}]",
            "line 2: web.tokens[0]: token \"a\": must have 16 to 512 visible ASCII characters "
                + "without spaces; make one with: openssl rand -hex 32"
        ),
        (
            "tokens: [{scopes: [ingest], token: 0123456789abcdef}]",
            "line 2: web.tokens[0]: name: must have 1 to 128 bytes without control characters"
        ),
        (
            "tokens: [{name: a, scopes: [ingest], token: 0123456789abcdef, more: 1}]",
            "line 2: web.tokens[0].more: unknown setting"
        ),
        (
            "tokens: [{name: a, scopes: [read], token: 0123456789abcdef}, "
                + "{name: a, scopes: [read], token: 0123456789abcdeg}]",
            "line 2: web.tokens: token \"a\": named twice"
        ),
        (
            "external_url: 'https://user:hidden@a'",
            "line 2: web.external_url must be like https://watch.example.org or "
                + "http://host:8080/path, without user, query or fragment"
        ),
        (
            "person_url: 'https://{id}.example.org/'",
            "line 2: web.person_url must be like https://example.org/people/{id}, with http or "
                + "https and {id} behind the host"
        ),
    ])
    func `a mistake is told with its line, and never with the token`(
        line: String, message: String
    ) {
        #expect(fault("web:\n  \(line)") == message)
    }

    @Test func `trusted hosts are names, kept as they are compared`() throws {
        let hosts = try read(
            "web: {trusted_hosts: [API.Example.org, api.example.org, '[2001:DB8::1]', 10.0.0.7]}")
        #expect(hosts.trustedHosts == ["api.example.org", "[2001:db8::1]", "10.0.0.7"])
        #expect(hosts.rules.trustedHosts == hosts.trustedHosts)
        #expect(try read("web: {trusted_hosts: []}").trustedHosts == [])
        let many = (0..<16).map { "h\($0)" }
        #expect(try read("web: {trusted_hosts: \(many)}").trustedHosts == many)
        #expect(
            fault("web:\n  trusted_hosts: \(many + ["one-more"])")
                == "line 2: web.trusted_hosts must be a list of at most 16 names")
        #expect(
            fault("web:\n  trusted_hosts: api.example.org")
                == "line 2: web.trusted_hosts must be a list of at most 16 names")
    }

    @Test(arguments: [
        "'*.example.org'", "'*'", "api.example.org:443", "https://api.example.org", "a/b", "''",
        "'a b'", ".example.org/", "kö", "'[::1'", "[a]",
    ])
    func `what no Host could be is no trusted host`(name: String) {
        let message = fault("web:\n  trusted_hosts: [ok, \(name)]")
        #expect(
            message.hasPrefix(
                "line 2: web.trusted_hosts must hold names as Host has them, each exact and "
                    + "without a port"))
    }

    @Test func `64 tokens can be set, one more is an error`() throws {
        func yaml(_ count: Int) -> String {
            "web:\n  tokens:\n"
                + (0..<count).map {
                    "    - {name: t\($0), scopes: [ingest], token: \(Self.text)-\($0)}\n"
                }.joined()
        }
        #expect(try read(yaml(64)).access.tokens.count == 64)
        #expect(fault(yaml(65)) == "line 2: web.tokens: must hold at most 64 tokens")
    }

    @Test func `a replay needs no tokens`() throws {
        let yaml = "web: {tokens: [{name: a, scopes: [ingest], token_file: /not/there}]}"
        #expect(try read(yaml, opensSecrets: false).access.isOpen)
        #expect(fault(yaml).contains("/not/there"))
    }

    @Test func `beyond loopback needs tokens, or the word for it`() throws {
        var accessPolicy = AccessSettings()
        for address in ["127.0.0.1:1", "127.1.2.3:0", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"] {
            try accessPolicy.check(listenAddress: address)
        }
        let open = ["0.0.0.0:1", "[::]:1", "192.168.1.1:1", "[::ffff:127.0.0.1]:1", "128.0.0.1:1"]
        for address in open {
            let error = #expect(throws: ConfigurationError.self) {
                try accessPolicy.check(listenAddress: address)
            }
            #expect("\(error.map { "\($0)" } ?? "")".contains("web.tokens"))
        }
        accessPolicy.isInsecure = true
        for address in open { try accessPolicy.check(listenAddress: address) }
        accessPolicy = try read("web: {tokens: [{name: a, scopes: [ingest], token: \(Self.text)}]}")
        for address in open { try accessPolicy.check(listenAddress: address) }
        // What is no address is the listener's to refuse.
        try AccessSettings().check(listenAddress: "nonsense")
    }
}
