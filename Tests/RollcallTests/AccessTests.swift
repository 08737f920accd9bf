import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// Tokens, hosts and origins as values. Source: V9.
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

    // RFC 7617 §2: "the user-id and password MUST NOT contain any control characters", and "a
    // user-id containing a colon character is invalid": whatever stands behind the first is password.
    @Test func `a password begins behind the first colon, and may hold others`() throws {
        let access = try Access(tokens: [
            token("colons", "0123:4567:89ab:cdef"), token("begins", ":123456789abcdef"),
            token("plain", "0123456789abcdef"),
        ])
        for (field, name) in [
            // user:0123:4567:89ab:cdef, :0123:4567:89ab:cdef, user::123456789abcdef
            ("Basic dXNlcjowMTIzOjQ1Njc6ODlhYjpjZGVm", "colons"),
            ("Basic OjAxMjM6NDU2Nzo4OWFiOmNkZWY=", "colons"),
            ("Basic dXNlcjo6MTIzNDU2Nzg5YWJjZGVm", "begins"),
            ("Bearer 0123:4567:89ab:cdef", "colons"),
            // a:b:0123:4567:89ab:cdef, user:evil:0123456789abcdef, user:0123456789abcdef:,
            // 0123456789abcdef:0123456789abcdee, user, 0123456789abcdef
            ("Basic YTpiOjAxMjM6NDU2Nzo4OWFiOmNkZWY=", nil),
            ("Basic dXNlcjpldmlsOjAxMjM0NTY3ODlhYmNkZWY=", nil),
            ("Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVmOg==", nil),
            ("Basic MDEyMzQ1Njc4OWFiY2RlZjowMTIzNDU2Nzg5YWJjZGVl", nil),
            ("Basic dXNlcg==", nil), ("Basic MDEyMzQ1Njc4OWFiY2RlZg==", nil),
            // The user alone, as if it were a bearer; two schemes at once.
            ("Bearer user:0123456789abcdef", nil), ("Basic Bearer 0123456789abcdef", nil),
        ] as [(String, String?)] {
            #expect(access.holder(field)?.name == name, "\(field)")
        }
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

    @Test func `every route has its scope, and what is not known has the most`() {
        func scope(_ method: String, _ path: String) -> Access.Scope? {
            Route.scope(method, among: Route.of(Target(path)?.resource))
        }
        // Files of the page tell of nobody, and whoever signs in has no token yet.
        let open: Set<Resource> = [.healthy, .ready, .leader, .asset, .session]
        let ingest: [Resource: Set<String>] = [
            .batches: ["POST"], .transitions: ["POST"], .responders: ["POST", "PUT"],
            .heartbeat: ["POST", "DELETE"], .wakes: ["POST"], .nudges: ["POST"],
        ]
        let act: [Resource: Set<String>] = [
            .take: ["POST", "DELETE"], .silences: ["POST"], .silence: ["DELETE"], .drills: ["POST"],
        ]
        for resource in Resource.allCases {
            let path = resource.path.replacing("{id}", with: "r-1").replacing("{number}", with: "7")
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "post", ""] {
                let isInput = resource == .input || resource == .inputBelow
                let expected: Access.Scope? =
                    open.contains(resource)
                    ? nil
                    : isInput && ["GET", "POST", "PUT"].contains(method)
                        ? .ingest
                        : method == "GET"
                            && ![.clusterCopy, .cellSummary, .report].contains(resource)
                            ? .read
                            : ingest[resource]?.contains(method) == true
                                ? .ingest : act[resource]?.contains(method) == true ? .act : .admin
                #expect(scope(method, path) == expected, "\(method) \(path)")
            }
        }
        // Nothing is opened by the beginning or the end of a path.
        for path in ["/v1/batches/", "/v1/batches/x", "//v1/batches", "/x/v1/batches", "*", ""] {
            #expect(scope("POST", path) == .admin, "\(path)")
            #expect(scope("GET", path) == .read, "\(path)")
        }
        for path in ["/-/healthy/x", "/-/readyx", "/x/-/ready"] {
            #expect(scope("GET", path) == .read, "\(path)")
        }
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
            "[::ffff:127.0.0.1]", "localhost.", "example.org", "128.0.0.1", "xlocalhost",
            "x.localhost", "notlocalhost:1", "x127.0.0.1", "1127.0.0.1", "0127.0.0.1", "127.0.0.1.",
            "[1::1]", "[::2]", "[::1:1]",
        ] {
            #expect(HostName(name)?.isLoopback != true, "\(name)")
        }
        for text in [
            "", ":80", "a:b:c", "a:", "a:65536", "a:-1", "[::1", "::1", "[::1]x", "[localhost]",
            "a b", "a/b", "a@b", "ü", "a:+80", "a:-0", "[::1]:+80", "[::1]:", "[::1]]", "\u{212A}",
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
        #expect(ExternalURL("http://a:443")?.origin == "http://a:443")
        for bad in [
            "", "a", "//a", "ftp://a", "http://", "http:///x", "http://a:0x1", "http://a?b",
            "http://a#b", "http://u:p@a", "http://a b", "http://a\n", "http://a/\"", "https://:443",
        ] {
            #expect(ExternalURL(bad) == nil, "\(bad)")
        }
    }
}
