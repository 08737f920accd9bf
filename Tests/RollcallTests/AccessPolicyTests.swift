import Glibc
import Logging
import Rollcall
import RollcallBasis
import RollcallSupport
import Testing

/// Who is let in, over real sockets. Source: V9.
@Suite(.serialized) struct AccessPolicyTests {
    private static let ingest = "ingest-0123456789"
    private static let read = "read-0123456789ab"
    private static let admin = "admin-0123456789a"

    private func access() throws -> Access {
        try Access(tokens: [
            Access.Token(name: "pod", scopes: [.ingest], bytes: Array(Self.ingest.utf8)),
            Access.Token(name: "page", scopes: [.read], bytes: Array(Self.read.utf8)),
            Access.Token(name: "boss", scopes: [.admin], bytes: Array(Self.admin.utf8)),
        ])
    }

    /// Sends one request and reads its answer.
    private func ask(
        _ port: Int, _ method: String, _ path: String, token: String? = nil, fields: String = "",
        host: String = "localhost", body: String = ""
    ) throws -> RawClient.Answer {
        let client = try RawClient(port: port)
        let bearer = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let length = method == "GET" ? "" : "Content-Length: \(body.utf8.count)\r\n"
        let head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        client.send(head + bearer + fields + length + "\r\n" + body)
        return client.readAnswer()
    }

    private let batch = "{\"responder_id\":\"a\"}"

    @Test func `without tokens all is open on loopback`() throws {
        let house = try House()
        #expect(try ask(house.port, "POST", "/v1/batches", body: batch).status == 200)
        #expect(try ask(house.port, "GET", "/metrics").status == 200)
    }

    @Test func `who has no token learns nothing but health`() throws {
        let house = try House { $0.accessPolicy.access = try access() }
        let answer = try ask(house.port, "POST", "/v1/batches", body: batch)
        #expect(answer.status == 401)
        #expect(
            answer.head.filter { $0.hasPrefix("WWW-Authenticate") } == [
                "WWW-Authenticate: Bearer realm=\"rollcall\"",
                "WWW-Authenticate: Basic realm=\"rollcall\", charset=\"UTF-8\"",
            ])
        for (method, path) in [
            ("GET", "/"), ("GET", "/metrics"), ("GET", "/v1/status"), ("GET", "/nothing"),
            ("DELETE", "/v1/heartbeat"), ("PATCH", "/v1/batches"),
        ] {
            let other = try ask(house.port, method, path, token: "wrong-0123456789abc")
            #expect(other.status == 401)
            #expect(other.body == answer.body)
        }
        #expect(try ask(house.port, "GET", "/-/healthy").status == 200)
        #expect(try ask(house.port, "GET", "/-/ready").status == 200)
    }

    @Test func `a token opens its scopes and no other`() throws {
        let house = try House { $0.accessPolicy.access = try access() }
        func status(_ method: String, _ path: String, _ token: String) throws -> Int? {
            try ask(
                house.port, method, path, token: token,
                body: path == "/v1/heartbeat" ? "{\"every_seconds\":60}" : batch
            ).status
        }
        #expect(try status("POST", "/v1/batches", Self.ingest) == 200)
        #expect(try status("POST", "/v1/heartbeat", Self.ingest) == 200)
        #expect(try status("GET", "/v1/status", Self.read) == 200)
        #expect(try status("GET", "/metrics", Self.read) == 200)
        #expect(try status("POST", "/v1/batches", Self.read) == 403)
        #expect(try status("POST", "/v1/batches", Self.admin) == 403)
        #expect(try status("GET", "/v1/status", Self.ingest) == 403)
        #expect(try status("GET", "/metrics", Self.admin) == 403)
        #expect(try status("GET", "/nothing", Self.ingest) == 404)
        #expect(try status("PATCH", "/v1/batches", Self.read) == 405)
        // Its name is the source of writes that name none.
        let known = try ask(house.port, "GET", "/v1/status", token: Self.read)
        #expect(known.body.contains("\"source\":\"pod\""))
        let browser = try ask(
            house.port, "GET", "/", fields: "Authorization: Basic OnJlYWQtMDEyMzQ1Njc4OWFi\r\n")
        #expect(browser.status == 200)
    }

    @Test func `what one source may not do to all others needs more than ingest`() throws {
        let house = try House {
            $0.accessPolicy.access = try Access(tokens: [
                Access.Token(name: "pod", scopes: [.ingest], bytes: Array(Self.ingest.utf8)),
                Access.Token(
                    name: "boss", scopes: [.ingest, .admin], bytes: Array(Self.admin.utf8)),
            ])
        }
        func status(_ method: String, _ path: String, _ token: String) throws -> Int? {
            let roster = "[{\"responder_id\":\"a\"}]"
            return try ask(house.port, method, path, token: token, body: roster).status
        }
        for path in [
            "/v1/responders?shrink=allow", "/v1/responders?source=pod&shrink=allow",
            "/v1/responders?%73hrink=%61llow",
        ] {
            #expect(try status("PUT", path, Self.ingest) == 403, "\(path)")
            #expect(try status("PUT", path, Self.admin) == 200, "\(path)")
        }
        #expect(try status("PUT", "/v1/responders", Self.ingest) == 200)
        for path in ["?source=other", "?source=pod&source=other", "?source=", "?source=POD"] {
            #expect(try status("DELETE", "/v1/heartbeat\(path)", Self.ingest) == 403, "\(path)")
        }
        #expect(try status("DELETE", "/v1/heartbeat?source=other", Self.admin) == 200)
        #expect(try status("DELETE", "/v1/heartbeat?source=pod", Self.ingest) == 200)
        #expect(try status("DELETE", "/v1/heartbeat", Self.ingest) == 200)
    }

    /// B2, F6: the latest told holds, whoever tells it; a switch that is stretched is nearly off.
    @Test func `a longer promise by another's token is taken, named and logged`() throws {
        let log = LogCapture()
        let house = try House(log: log.logger) {
            $0.accessPolicy.access = try Access(tokens: [
                Access.Token(name: "pod", scopes: [.ingest], bytes: Array(Self.ingest.utf8)),
                Access.Token(name: "two", scopes: [.ingest], bytes: Array(Self.read.utf8)),
                Access.Token(
                    name: "boss", scopes: [.ingest, .admin], bytes: Array(Self.admin.utf8)),
            ])
        }
        func beat(_ seconds: Int, _ path: String, _ token: String) throws -> String {
            let answer = try ask(
                house.port, "POST", "/v1/heartbeat\(path)", token: token,
                body: "{\"every_seconds\":\(seconds)}")
            #expect(answer.status == 200)
            return answer.body
        }
        let isNamed = { (body: String) in body.contains(#""pointer":"/every_seconds""#) }
        // Its own, for the first time, as often or more often: nothing to be said.
        #expect(try !isNamed(beat(10, "", Self.ingest)))
        #expect(try !isNamed(beat(20, "", Self.ingest)))
        #expect(try !isNamed(beat(3600, "?source=pod-2", Self.read)))
        #expect(try !isNamed(beat(20, "?source=pod", Self.read)))
        #expect(try !isNamed(beat(10, "?source=pod", Self.read)))
        #expect(try !isNamed(beat(60, "?source=pod", Self.admin)))
        #expect(!log.lines.contains { $0.contains("promise") })
        let answer = try beat(3600, "?source=pod", Self.read)
        #expect(
            answer == #"{"accepted":1,"problems":[{"index":0,"pointer":"/every_seconds","#
                + #""detail":"it holds, but 60 s were promised before, and this token is not the "#
                + "source's own\"}]}\n")
        let line = log.lines.first { $0.contains("promise") } ?? ""
        #expect(line.hasPrefix("warning another's token stretched the promise of a source"))
        #expect(line.contains("before=60") && line.contains("every=1h"))
        #expect(line.contains("source=pod") && line.contains("token=two"))
    }

    @Test func `refusals are counted like all answers`() throws {
        let house = try House { $0.accessPolicy.access = try access() }
        _ = try ask(house.port, "POST", "/v1/batches", body: batch)
        _ = try ask(house.port, "POST", "/v1/batches", token: Self.read, body: batch)
        let page = try ask(house.port, "GET", "/metrics", token: Self.read).body
        for code in [401, 403] {
            #expect(
                page.contains(
                    "rollcall_http_requests_total{route=\"batches\",code=\"\(code)\"} 1\n"))
        }
    }

    // MARK: Hosts and origins

    @Test func `on loopback another machine's name is refused, for reading too`() throws {
        let house = try House {
            $0.accessPolicy.externalURL = ExternalURL("https://watch.example.org/rollcall")
        }
        for host in [
            "localhost", "127.0.0.1:\(house.port)", "[::1]", "localhost:1", "watch.example.org",
            "LOCALHOST", "Watch.Example.ORG:8443", "127.9.9.9",
        ] {
            #expect(try ask(house.port, "GET", "/v1/status", host: host).status == 200)
        }
        // Only the whole name is ours: neither what it ends, nor what it begins, nor its domain.
        for host in [
            "evil.example", "evil.example:\(house.port)", "127.0.0.1.evil.example", "",
            "evil-watch.example.org", "evil.watch.example.org", "watch.example.org.evil.example",
            "watch.example.org.", "example.org", "org", "watch.example.or", "x127.0.0.1",
            "x.127.0.0.1", "xlocalhost", "evil.localhost", "localhost.", "[::2]", ":\(house.port)",
            "localhost:", "localhost:+1", "localhost:1:1", "localhost,evil.example",
        ] {
            #expect(try ask(house.port, "GET", "/v1/status", host: host).status == 403)
            #expect(try ask(house.port, "GET", "/-/healthy", host: host).status == 403)
        }
        let old = try RawClient(port: house.port)
        old.send("GET /-/healthy HTTP/1.0\r\n\r\n")
        #expect(old.readAnswer().status == 200)
    }

    @Test func `a target's own authority is evaluated in place of Host, and Host stands once`()
        throws
    {
        let house = try House()
        func status(_ target: String, _ hosts: String...) throws -> Int? {
            let client = try RawClient(port: house.port)
            let fields = hosts.map { "Host: \($0)\r\n" }.joined()
            client.send("GET \(target) HTTP/1.1\r\n\(fields)\r\n")
            return client.readAnswer().status
        }
        #expect(try status("http://localhost/v1/status", "evil.example") == 200)
        #expect(try status("http://evil.example/v1/status", "localhost") == 403)
        #expect(try status("http://evil.example/-/healthy", "localhost") == 403)
        #expect(try status("/v1/status", "localhost", "evil.example") == 400)
        #expect(try status("/v1/status", "evil.example", "localhost") == 400)
        #expect(try status("/v1/status", "localhost", "localhost") == 400)
    }

    @Test func `a trusted name is let in exactly, at any port, and opens no page`() throws {
        let house = try House {
            $0.accessPolicy.trustedHosts = ["api.example.org-shadow", "[2001:db8::1]"]
            $0.accessPolicy.metricsListenAddress = "127.0.0.1:0"
        }
        for host in [
            "api.example.org-shadow", "API.Example.ORG-shadow:8443", "[2001:DB8::1]",
            "[2001:db8::1]:80", "localhost",
        ] {
            #expect(try ask(house.port, "GET", "/v1/status", host: host).status == 200)
        }
        for host in [
            "api.example.org", "x.api.example.org-shadow", "api.example.org-shadow.evil.example",
            "api.example.org-shadow.", "pi.example.org-shadow", "[2001:db8::2]", "evil.example",
        ] {
            #expect(try ask(house.port, "GET", "/v1/status", host: host).status == 403)
        }
        let probes = try #require(house.server.probesPort)
        let trusted = "api.example.org-shadow"
        #expect(try ask(probes, "GET", "/metrics", host: trusted).status == 200)
        #expect(try ask(probes, "GET", "/metrics", host: "evil.example").status == 403)
        // Not even one that calls itself as Host does: those pages are another server's.
        for origin in ["http://\(trusted)", "https://\(trusted)", "http://api.example.org"] {
            let answer = try ask(
                house.port, "POST", "/v1/heartbeat", fields: "Origin: \(origin)\r\n",
                host: trusted, body: "{\"every_seconds\":60}")
            #expect(answer.status == 403)
        }
        let answer = try ask(
            house.port, "POST", "/v1/heartbeat", host: trusted, body: "{\"every_seconds\":60}")
        #expect(answer.status == 200)
    }

    @Test func `beyond loopback any name will do`() throws {
        let house = try House { $0.listenAddress = "0.0.0.0:0" }
        #expect(try ask(house.port, "GET", "/v1/status", host: "evil.example").status == 200)
    }

    @Test func `pages of another origin may read, as far as browsers let them, but not write`()
        throws
    {
        let house = try House {
            $0.accessPolicy.externalURL = ExternalURL("https://watch.example.org")
        }
        func status(_ method: String, _ origin: String) throws -> Int? {
            try ask(
                house.port, method, "/v1/heartbeat", fields: "Origin: \(origin)\r\n",
                host: "localhost:10112", body: "{\"every_seconds\":60}"
            ).status
        }
        for origin in [
            "http://localhost:10112", "HTTP://LOCALHOST:10112", "https://watch.example.org",
        ] {
            #expect(try status("POST", origin) == 200)
            #expect(try status("DELETE", origin) == 200)
        }
        for origin in [
            "http://localhost", "https://localhost:10112", "http://localhost:10113", "null",
            "http://watch.example.org", "https://watch.example.org.evil.example",
            "http://evil.example", "https://evil-watch.example.org",
            "https://watch.example.org:8443",
            "https://watch.example.org/", "https://example.org",
            "http://localhost:10112.evil.example",
            "http://xlocalhost:10112", "http://localhost:101120", "http://127.0.0.1:10112",
            "//localhost:10112", "localhost:10112", "", "file://",
        ] {
            #expect(try status("POST", origin) == 403)
            #expect(try status("DELETE", origin) == 403)
        }
        let reading = try ask(
            house.port, "GET", "/v1/status", fields: "Origin: http://evil.example\r\n")
        #expect(reading.status == 200)
        #expect(!reading.head.contains { $0.lowercased().hasPrefix("access-control") })
    }

    // MARK: The listener of its own

    @Test func `the second listener has metrics and health for everybody and nothing else`() throws
    {
        let house = try House {
            $0.accessPolicy.access = try access()
            $0.accessPolicy.metricsListenAddress = "127.0.0.1:0"
        }
        let port = try #require(house.server.probesPort)
        for path in ["/metrics", "/-/healthy", "/-/ready"] {
            #expect(try ask(port, "GET", path).status == 200)
            #expect(try ask(port, "POST", path).status == 405)
        }
        for path in ["/", "/v1/status", "/v1/responders", "/v1/batches"] {
            #expect(try ask(port, "GET", path, token: Self.read).status == 404)
            #expect(try ask(port, "POST", path, token: Self.ingest, body: batch).status == 404)
        }
        #expect(try ask(port, "GET", "/metrics", host: "evil.example").status == 403)
        #expect(try ask(house.port, "GET", "/metrics").status == 401)
    }

    @Test func `a full main listener does not hold up probes`() throws {
        let house = try House {
            $0.connectionsMax = 8
            $0.accessPolicy.metricsListenAddress = "127.0.0.1:0"
        }
        let port = try #require(house.server.probesPort)
        let clients = try (0..<20).map { _ in try RawClient(port: house.port) }
        for client in clients { client.send("POST /v1/batches HTTP/1.1\r\nHost: ") }
        usleep(50_000)
        for _ in 0..<20 {
            #expect(try ask(port, "GET", "/-/ready").status == 200)
            #expect(try ask(port, "GET", "/metrics").status == 200)
        }
        withExtendedLifetime(clients) {}
    }
}

/// A whole server on a store of its own, gone with its test.
final class House {
    let server: Server
    private let directory = TemporaryDirectory()

    var port: Int { server.port }

    init(
        log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ change: (inout Configuration) throws -> Void = { _ in }
    ) throws {
        var configuration = Configuration()
        configuration.listenAddress = "127.0.0.1:0"
        configuration.storagePath = directory.store
        try change(&configuration)
        server = try Server(configuration, log: log)
    }

    deinit { server.stop() }
}
