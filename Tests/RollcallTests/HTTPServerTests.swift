import Glibc
import RollcallSupport
import Synchronization
import Testing

/// Real sockets on loopback. Serialized: the deadlines are short, and the machine may be small.
@Suite(.serialized) struct HTTPServerTests {
    private let post = "POST /v1/batches HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
    private let get = "GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `an answer goes out whole, with the standing header fields`() throws {
        let server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            reply.answer(HTTPResponse(status: 200, headers: [("X-A", "b")], body: request.body))
        }
        let client = try RawClient(port: server.port)
        client.send(post)
        let answer = client.readAnswer()
        #expect(
            answer.head.filter { !$0.hasPrefix("Date: ") } == [
                "HTTP/1.1 200 OK", "X-Content-Type-Options: nosniff", "Cache-Control: no-store",
                "X-A: b", "Content-Length: 2",
            ])
        #expect(answer.body == "{}")
    }

    @Test func `a connection carries many requests, pipelined ones too`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        for _ in 0..<3 {
            client.send(get)
            #expect(client.readAnswer().body == "GET /v1/x [] ")
        }
        client.send(get + post + get)
        #expect(client.readAnswer().body == "GET /v1/x [] ")
        #expect(client.readAnswer().body == "POST /v1/batches [] {}")
        #expect(client.readAnswer().body == "GET /v1/x [] ")
    }

    @Test func `path is as sent and the query decoded`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        client.send("GET /v1/a%2Fb%20c?q=%C3%A9+1&flag&bad=%zz%4 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.readAnswer().body == "GET /v1/a%2Fb%20c [q=é 1, flag=, bad=%zz%4] ")
    }

    @Test func `an argument without anything is none, and one that is no UTF-8 is named`() throws {
        let server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            let names = request.query.map(\.name).joined(separator: ",")
            let text = "[\(names)] \(request.argumentUnread ?? "-")"
            reply.answer(HTTPResponse(status: 200, body: Array(text.utf8)))
        }
        let client = try RawClient(port: server.port)
        for (query, found) in [
            ("&&&", "[] -"), ("&a=1&&b", "[a,b] -"), ("=x", "[] -"), ("a=%C3%A9&b=%ff", "[a,b] b"),
            ("a=%C3", "[a] a"), ("%80=1&b=%80", "[\u{FFFD},b] \u{FFFD}"), ("a=%ED%A0%80", "[a] a"),
        ] {
            client.send("GET /?\(query) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.readAnswer().body == found, "\(query)")
        }
    }

    @Test func `a type is accepted if it is named with a weight`() {
        for (accept, isNamed) in [
            (nil, false), ("", false), ("*/*", false), ("text/*", false),
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true), ("text/event-stream;q=0", false),
            ("text/event-stream; q=0.000", false), ("text/event-stream;q=0.001", true),
            ("application/json, text/event-stream;q=0.5", true), ("text/event-streams", false),
            ("application/json;x=text/event-stream", false),
        ] as [(String?, Bool)] {
            let isFound = AcceptedType.names("text/event-stream", in: accept)
            #expect(isFound == isNamed, "\(accept ?? "none")")
        }
    }

    @Test func `HEAD is answered like GET, without the body`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        client.send("HEAD /v1/x HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = client.readAnswer(isHead: true)
        #expect(answer.head.contains("Content-Length: 13"))
        client.send(get)
        #expect(client.readAnswer().body == "GET /v1/x [] ")
    }

    /// The last answer is kept, to be sent again.
    @Test func `answers that differ in one thing only are never taken for each other`() throws {
        let answers = [
            HTTPResponse(status: 200, headers: [("X-A", "b")], body: Array("one".utf8)),
            HTTPResponse(status: 201, headers: [("X-A", "b")], body: Array("one".utf8)),
            HTTPResponse(status: 201, headers: [("X-A", "c")], body: Array("one".utf8)),
            HTTPResponse(status: 201, headers: [("X-B", "c")], body: Array("one".utf8)),
            HTTPResponse(status: 201, headers: [("X-B", "c")], body: Array("two".utf8)),
            HTTPResponse(status: 201, body: [UInt8](repeating: 0x61, count: 5000)),
            HTTPResponse(status: 201, body: [UInt8](repeating: 0x62, count: 5000)),
        ]
        let server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            reply.answer(answers[Int(request.path.dropFirst()) ?? 0])
        }
        let clients = [try RawClient(port: server.port), try RawClient(port: server.port)]
        for place in [0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 5, 0, 1, 0] {
            let expected = answers[place]
            for (client, method) in zip(clients + clients, ["GET", "HEAD", "GET", "GET"]) {
                client.send("\(method) /\(place) HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = client.readAnswer(isHead: method == "HEAD")
                #expect(answer.head[0].hasPrefix("HTTP/1.1 \(expected.status) "))
                #expect(
                    answer.head.filter { $0.hasPrefix("X-") && !$0.hasPrefix("X-Content") }
                        == expected.headers.map { "\($0.0): \($0.1)" })
                let body = String(decoding: expected.body, as: UTF8.self)
                #expect(answer.body == (method == "HEAD" ? "" : body))
            }
        }
    }

    @Test func `IPv6 is served, and an address not to be had is an error with its facts`() throws {
        let server = try HTTPServer(listener: try HTTPListener(address: "[::1]:0")) {
            $1.answer(HTTPResponse(status: 204))
        }
        #expect(server.port > 0)
        let taken = "[::1]:\(server.port)"
        #expect(throws: HTTPServerError.socket(call: "bind", address: taken, errno: EADDRINUSE)) {
            _ = try HTTPServer(listener: try HTTPListener(address: taken)) { _, _ in }
        }
        for bad in ["", "80", "localhost:1", "127.0.0.1:", "127.0.0.1:65536", "[::1:0", "::1"] {
            #expect(throws: HTTPServerError.address(bad)) {
                _ = try HTTPServer(listener: try HTTPListener(address: bad)) { _, _ in }
            }
        }
    }

    // MARK: Parking

    @Test func `64 parked requests are all answered from another thread`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        let clients = try (0..<64).map { _ in try RawClient(port: server.port) }
        for client in clients { client.send(post) }
        replies.waitFor(64)
        runBeside({ replies.all.forEach { $0.answer(HTTPResponse(status: 202)) } })
        for client in clients { #expect(client.readAnswer().status == 202) }
    }

    @Test func `answers that race with the handler's return are neither lost nor doubled`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        let isOver = Atomic(false)
        runBeside({
            let clients = (0..<8).compactMap { _ in try? RawClient(port: server.port) }
            for _ in 0..<1000 {
                for client in clients { client.send(post) }
                for client in clients { #expect(client.readAnswer().status == 200) }
            }
            isOver.store(true, ordering: .relaxed)
        }) {
            while !isOver.load(ordering: .relaxed) {
                for reply in replies.removeAll() { reply.answer(HTTPResponse(status: 200)) }
            }
        }
        #expect(server.stats.parkedExpired == 0)
    }

    @Test func `the first answer wins, and a late one does not reach the next request`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        let client = try RawClient(port: server.port)
        client.send(post)
        replies.waitFor(1)
        replies.all[0].answer(HTTPResponse(status: 201))
        replies.all[0].answer(HTTPResponse(status: 500))
        #expect(client.readAnswer().status == 201)
        client.send(post)
        replies.waitFor(2)
        replies.all[0].answer(HTTPResponse(status: 500))
        replies.all[1].answer(HTTPResponse(status: 202))
        #expect(client.readAnswer().status == 202)
    }

    @Test func `a parked request is answered 503 after the watchdog time`() throws {
        let replies = ReplyBox()
        let limits = httpLimits { $0.parkedDeadline = .milliseconds(200) }
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits
        ) { request, reply in
            // What is answered at once is not parked, however slow the machine is.
            if request.method == "GET" { return reply.answer(HTTPResponse(status: 200)) }
            replies.take(request, reply)
        }
        let client = try RawClient(port: server.port)
        client.send(post)
        let answer = client.readAnswer()
        #expect(answer.status == 503)
        #expect(answer.head.contains("Retry-After: 1"))
        #expect(answer.head.contains("Content-Type: application/problem+json"))
        #expect(
            answer.body == """
                {"type":"about:blank","title":"Service Unavailable","status":503,\
                "detail":"Not confirmed in time. Whether it was taken is unknown: send it again."}

                """)
        replies.all[0].answer(HTTPResponse(status: 500))
        client.send(get)
        #expect(client.readAnswer().status == 200)
        #expect(server.stats.parkedExpired == 1)
    }

    @Test func `a client that leaves while parked harms nobody`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        for count in 1...20 {
            let client = try RawClient(port: server.port)
            client.send(post)
            replies.waitFor(count)
            client.close(resetting: count.isMultiple(of: 2))
        }
        for reply in replies.removeAll() {
            reply.answer(HTTPResponse(status: 200, body: Array(repeating: 65, count: 100_000)))
        }
        #expect(isTrueSoon { server.stats.connectionsOpen == 0 })
        let client = try RawClient(port: server.port)
        client.send(get)
        replies.waitFor(1)
        replies.all[0].answer(HTTPResponse(status: 200))
        #expect(client.readAnswer().status == 200)
    }

    @Test func `stop waits for parked requests, which get their answers`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        let clients = try (0..<8).map { _ in try RawClient(port: server.port) }
        let late = try RawClient(port: server.port)
        late.send("POST /v1/batches HTTP/1.1\r\nHost: a\r\n")
        for client in clients { client.send(post) }
        replies.waitFor(8)
        runBeside({ server.stop() }) {
            // It refuses new connections first, and at once afterwards new requests.
            #expect(isTrueSoon { (try? RawClient(port: server.port)) == nil })
            usleep(100_000)
            late.send("Content-Length: 2\r\n\r\n{}")
            #expect(late.readAnswer().status == 503)
            for reply in replies.all { reply.answer(HTTPResponse(status: 200)) }
        }
        for client in clients {
            #expect(client.readAnswer().status == 200)
            #expect(client.isClosed)
        }
    }

    @Test func `stop waits for the watchdog when nobody answers`() throws {
        let replies = ReplyBox()
        let limits = httpLimits { $0.parkedDeadline = .milliseconds(200) }
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits,
            handler: replies.take)
        let client = try RawClient(port: server.port)
        client.send(post)
        replies.waitFor(1)
        server.stop()
        server.stop()
        #expect(client.readAnswer().status == 503)
        replies.all[0].answer(HTTPResponse(status: 200))
    }

    @Test func `after quiesce open connections are served and new ones refused`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        client.send(get)
        #expect(client.readAnswer().status == 200)
        server.quiesce()
        client.send(get)
        #expect(client.readAnswer().status == 200)
        #expect(throws: RawClient.Refused.self) { try RawClient(port: server.port) }
    }
}
