import Testing

@testable import Rollcall

/// Tokens, hosts and origins as values. Source: design §9 "Security".
@Suite struct AccessTests {
    private let long = String(repeating: "k", count: 32)

    private func token(
        _ name: String, _ text: String, _ scopes: Set<Access.Scope> = [.ingest]
    ) throws(AccessError) -> Access.Token {
        try Access.Token(name: name, scopes: scopes, bytes: Array(text.utf8))
    }

    @Test func `without tokens everything is open, and nobody is known`() {
        #expect(Access().isOpen)
        #expect(Access().holder("Bearer \(long)") == nil)
    }

    @Test func `a token is known as bearer and as anybody's password`() throws {
        let access = try Access(tokens: [
            token("one", "correct-horse-battery"), token("two", "0123456789abcdef"),
        ])
        // user:0123456789abcdef and :0123456789abcdef, with and without padding
        for field in [
            "Bearer 0123456789abcdef", "bearer  0123456789abcdef",
            "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVm", "BASIC OjAxMjM0NTY3ODlhYmNkZWY=",
            "Basic OjAxMjM0NTY3ODlhYmNkZWY",
        ] {
            #expect(access.holder(field)?.name == "two", "\(field)")
        }
        #expect(access.holder("Bearer correct-horse-battery")?.name == "one")
    }

    @Test(arguments: [
        "", "Bearer", "Bearer ", "0123456789abcdef", "Bearer 0123456789abcde",
        "Bearer 0123456789abcdef ", "Bearer 0123456789abcdefg", "Bearer 0123456789ABCDEF",
        "Bearer 0123456789abcdef\0", "Basic 0123456789abcdef", "Digest 0123456789abcdef",
        "Basic MDEyMzQ1Njc4OWFiY2RlZg==", "Basic ====", "Basic a", "Basic !!!!",
        "Basic MDEyMzQ1Njc4OWFiY2RlZjo=", "Bearer\t0123456789abcdef",
        "Bearer " + String(repeating: "x", count: 600),
    ])
    func `what is not exactly the token opens nothing`(field: String) throws {
        let access = try Access(tokens: [token("one", "0123456789abcdef")])
        #expect(access.holder(field) == nil)
        #expect(access.holder(nil) == nil)
    }

    @Test func `tokens have 16 to 512 visible characters`() throws {
        for (count, isTaken) in [(0, false), (15, false), (16, true), (512, true), (513, false)] {
            let text = String(repeating: "x", count: count)
            guard isTaken else {
                #expect(throws: AccessError.text(name: "a")) { try token("a", text) }
                continue
            }
            let access = try Access(tokens: [token("a", text)])
            #expect(access.holder("Bearer \(text)")?.name == "a")
            // Padding does not make a longer or shorter one the same.
            #expect(access.holder("Bearer \(text)\0") == nil)
        }
        for bad in ["a space in between!", "tab\tin between them", "umlaut-ü-umlaut-ü"] {
            #expect(throws: AccessError.text(name: "a")) { try token("a", bad) }
        }
    }

    @Test func `64 tokens are taken, one more is an error`() throws {
        let tokens = try (0..<65).map { number in
            try token("t\(number)", "\(number)-\(long)", Set(Access.Scope.allCases))
        }
        let access = try Access(tokens: Array(tokens.dropLast()))
        for number in 0..<64 {
            #expect(access.holder("Bearer \(number)-\(long)")?.name == "t\(number)")
        }
        #expect(throws: AccessError.count) { try Access(tokens: tokens) }
    }

    @Test func `names are unique and can be shown, texts differ, scopes are told`() throws {
        let first = try token("a", long)
        #expect(throws: AccessError.sameName("a")) {
            try Access(tokens: [first, token("a", long + "x")])
        }
        #expect(throws: AccessError.sameText("a", "b")) {
            try Access(tokens: [first, token("b", long)])
        }
        #expect(throws: AccessError.scopes(name: "a")) { try token("a", long, []) }
        for name in ["", String(repeating: "n", count: 129), "a\nb"] {
            #expect(throws: AccessError.name) { try token(name, long) }
        }
        #expect(try token(String(repeating: "n", count: 128), long).name.count == 128)
    }

    @Test func `a token never prints`() throws {
        let access = try Access(tokens: [token("one", "correct-horse-battery")])
        var dumped = ""
        dump(access, to: &dumped)
        for text in [dumped, "\(access)", String(reflecting: access.tokens[0])] {
            #expect(text.contains("one"))
            #expect(!text.contains("correct"))
            #expect(!text.contains("\(UInt64(UInt8(ascii: "c")))"))
        }
    }

    @Test func `every route has its scope`() {
        let ids = ["/v1/responders/r-1", "/v1/nothing", "/"]
        for path in ids + ["/v1/batches", "/v1/status", "/metrics", "/v1/responders"] {
            #expect(Router.scope("GET", path) == .read)
        }
        for path in ["/v1/batches", "/v1/transitions", "/v1/responders", "/v1/heartbeat"] {
            #expect(Router.scope("POST", path) == .ingest)
        }
        #expect(Router.scope("PUT", "/v1/responders") == .ingest)
        #expect(Router.scope("DELETE", "/v1/heartbeat") == .ingest)
        #expect(Router.scope("POST", "/v1/wakes") == .ingest)
        #expect(Router.scope("DELETE", "/v1/responders/r-1") == .admin)
        #expect(Router.scope("POST", "/-/reload") == .admin)
        #expect(Router.scope("POST", "/v1/silences") == .admin)
        #expect(Router.scope("POST", "/v1/drill") == .admin)
        for path in ["/-/healthy", "/-/ready"] { #expect(Router.scope("GET", path) == nil) }
    }

    // MARK: Hosts

    @Test func `loopback has few names`() {
        for name in [
            "localhost", "LocalHost:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8080",
            "[0:0:0:0:0:0:0:1]",
        ] {
            #expect(HostName(name)?.isLoopback == true, "\(name)")
        }
        for name in [
            "localhost.example.org", "127.0.0.1.example.org", "127.1", "0.0.0.0", "[::]",
            "[::ffff:127.0.0.1]", "localhost.", "example.org", "128.0.0.1",
        ] {
            #expect(HostName(name)?.isLoopback != true, "\(name)")
        }
        for text in [
            "", ":80", "a:b:c", "a:", "a:65536", "a:-1", "[::1", "::1", "[::1]x", "[localhost]",
            "a b", "a/b", "a@b", "ü",
        ] {
            #expect(HostName(text) == nil, "\(text)")
        }
    }

    @Test func `an external URL is http or https, a host, and maybe a port and a path`() throws {
        let url = try #require(ExternalURL("HTTPS://Rollcall.Example.org:443/watch//"))
        #expect(url.text == "HTTPS://Rollcall.Example.org:443/watch")
        #expect(url.origin == "https://rollcall.example.org")
        #expect(url.host == "rollcall.example.org")
        #expect(ExternalURL("http://a:8080")?.origin == "http://a:8080")
        #expect(ExternalURL("http://[::1]:80/")?.origin == "http://[::1]")
        #expect(ExternalURL("https://a:80")?.origin == "https://a:80")
        for bad in [
            "", "a", "//a", "ftp://a", "http://", "http:///x", "http://a:0x1", "http://a?b",
            "http://a#b", "http://u:p@a", "http://a b", "http://a\n", "http://a/\"", "https://:443",
        ] {
            #expect(ExternalURL(bad) == nil, "\(bad)")
        }
    }
}
