import Glibc
import RollcallSupport
import Synchronization
import Testing

/// What the HTTP edge grants at most, and what it refuses.
@Suite(.serialized) struct HTTPLimitsTests {
    private let post = "POST /v1/batches HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
    private let get = "GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `a body at the limit is taken, one byte more is answered 413`() throws {
        let server = try echoServer(httpLimits { $0.bodyBytesMax = 100_000 })
        for count in [100_000, 100_001, 5_000_000] {
            let client = try RawClient(port: server.port)
            let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n"
            runBeside({ client.send(head + String(repeating: "x", count: count)) }) {
                #expect(client.readAnswer().status == (count > 100_000 ? 413 : 200))
            }
            #expect(count == 100_000 || client.isClosed)
        }
        for claim in ["100001", "18446744073709551615", "18446744073709551616"] {
            let huge = try RawClient(port: server.port)
            huge.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(claim)\r\n\r\n")
            #expect(huge.readAnswer().status == 413)
            #expect(huge.isClosed)
        }
    }

    @Test func `chunks up to the limit are taken, one byte more is answered 413`() throws {
        let server = try echoServer(httpLimits { $0.bodyBytesMax = 100_000 })
        for (last, status) in [("0\r\n\r\n", 200), ("1\r\nx\r\n0\r\n\r\n", 413)] {
            let client = try RawClient(port: server.port)
            client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "2710\r\n" + String(repeating: "x", count: 10000) + "\r\n"
            for _ in 0..<10 { client.send(chunk) }
            client.send(last)
            #expect(client.readAnswer().status == status)
            #expect(status == 200 || client.isClosed)
        }
    }

    @Test func `bodies that wait are limited together`() throws {
        let replies = ReplyBox()
        let limits = httpLimits { $0.bodiesBytesMax = 3 }
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits,
            handler: replies.take)
        let first = try RawClient(port: server.port)
        first.send(post)
        replies.waitFor(1)
        let second = try RawClient(port: server.port)
        second.send(post)
        #expect(second.readAnswer().status == 503)
        replies.all[0].answer(HTTPResponse(status: 200))
        #expect(first.readAnswer().status == 200)
        first.send(post)
        replies.waitFor(2)
        replies.all[1].answer(HTTPResponse(status: 200))
        #expect(first.readAnswer().status == 200)
    }

    @Test func `bodies that fill the common room are taken, one more is refused and counted`()
        throws
    {
        let replies = ReplyBox()
        let refused = ReplyCounter()
        let limits = httpLimits { $0.bodiesBytesMax = 4 }
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits,
            refused: { refused.add("\($0.method) \($0.path) \($1)") }, handler: replies.take)
        let clients = try (0..<3).map { _ in try RawClient(port: server.port) }
        for client in clients.dropLast() { client.send(post) }
        replies.waitFor(2)
        clients[2].send(post)
        let answer = clients[2].readAnswer()
        #expect(answer.status == 503)
        #expect(answer.head.contains("Retry-After: 1"))
        #expect(server.stats.writesRefused == 1)
        #expect(refused.all == ["POST /v1/batches 503"])
        for reply in replies.all { reply.answer(HTTPResponse(status: 200)) }
        for client in clients.dropLast() { #expect(client.readAnswer().status == 200) }
    }

    @Test func `what is answered by the head alone is told`() throws {
        let refused = ReplyCounter()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"),
            limits: httpLimits { $0.bodyBytesMax = 10 },
            refused: { refused.add("\($1)") },
            handler: { $1.answer(HTTPResponse(status: 200)) })
        let cases = [
            ("Content-Length: 100000", 413), ("Transfer-Encoding: gzip", 400), ("X: y", 200),
        ]
        for (fields, status) in cases {
            let client = try RawClient(port: server.port)
            client.send("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n")
            #expect(client.readAnswer().status == status)
        }
        #expect(refused.all == ["413", "400"])
    }

    @Test func `a refused body is read up to a limit, beyond it the connection ends`() throws {
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"),
            limits: httpLimits { $0.discardBytesMax = 1000 },
            early: { _ in HTTPResponse(status: 404) },
            handler: { $1.answer(HTTPResponse(status: 200)) })
        for (count, isKept) in [(1000, true), (1001, false)] {
            let client = try RawClient(port: server.port)
            let body = String(repeating: "x", count: count)
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n\(body)")
            let answer = client.readAnswer()
            #expect(answer.status == 404)
            #expect(answer.head.contains("Connection: close") == !isKept)
            if isKept {
                client.send(get)
                #expect(client.readAnswer().status == 404)
            } else {
                #expect(client.isClosed)
            }
        }
    }

    @Test(
        arguments: ["GET", "HEAD", "DELETE"],
        ["Content-Length: 100000", "Content-Length: 10", "Transfer-Encoding: chunked"])
    func `V9: whose body nobody reads is answered by the head`(method: String, field: String) throws
    {
        let server = try echoServer(httpLimits { $0.bodyDeadline = .seconds(120) })
        let client = try RawClient(port: server.port)
        client.send("\(method) /x?a=b HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n5\r\n{")
        let answer = client.readAnswer(isHead: method == "HEAD")
        #expect(answer.status == 200)
        #expect(answer.head.contains("Connection: close"))
        let asked = method == "HEAD" ? "" : "\(method) /x [a=b] "
        #expect(answer.body == asked)
        #expect(client.isClosed)
        #expect(server.stats.bodiesCut == 0)
    }

    @Test func `V9: whose body nobody reads gets a late and long answer whole`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        let client = try RawClient(port: server.port)
        client.send("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n012")
        replies.waitFor(1)
        replies.all[0].answer(HTTPResponse(status: 200, body: Array(repeating: 65, count: 1 << 20)))
        // The rest of the body, and what must not be taken for a request.
        client.send("3456789" + post)
        let answer = client.readAnswer()
        #expect(answer.status == 200)
        #expect(answer.body.utf8.count == 1 << 20)
        #expect(client.isClosed)
        #expect(replies.all.count == 1)
    }

    @Test func `V9: who is refused does not hold a place by a body that does not come`() throws {
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"),
            limits: httpLimits {
                $0.bodyDeadline = .seconds(120)
                $0.lingerDeadline = .milliseconds(300)
            },
            early: { _ in HTTPResponse(status: 404) },
            handler: { $1.answer(HTTPResponse(status: 200)) })
        let question = try RawClient(port: server.port)
        question.send("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
        #expect(question.readAnswer().status == 404)
        #expect(question.isClosed)
        let write = try RawClient(port: server.port)
        write.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
        #expect(isTrueSoon { server.stats.bodiesCut == 1 })
        #expect(write.isClosed)
    }

    @Test func `V9: whose body comes too slowly gives way to who waits, and that is told once`()
        throws
    {
        let told = ReplyCounter()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"),
            limits: httpLimits {
                $0.connectionsMax = 4
                $0.bodyDeadline = .seconds(120)
                $0.atCapacityDeadline = .seconds(1)
            },
            full: { told.add("\($0)") },
            handler: { $1.answer(HTTPResponse(status: 200)) })
        let slow = try (0..<4).map { _ in try RawClient(port: server.port) }
        for client in slow {
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        }
        #expect(isTrueSoon { server.stats.connectionsOpen == 4 })
        let late = try RawClient(port: server.port)
        late.send(get)
        #expect(late.readAnswer().status == 200)
        #expect(server.stats.bodiesCut > 0)
        #expect(told.all == ["4"])
        withExtendedLifetime(slow) {}
    }

    @Test func `a head has its room, and one byte more is answered 431`() throws {
        let server = try echoServer()
        /// The answer to a head that takes so many bytes, in so many fields.
        func answer(_ count: Int, fields: Int = 2) throws -> RawClient.Answer {
            let client = try RawClient(port: server.port)
            var head = "GET / HTTP/1.1\r\nHost: a\r\n"
            for _ in 0..<(fields - 2) { head += "Y: b\r\n" }
            let rest = count - head.utf8.count - "X: \r\n\r\n".utf8.count - fields * 64
            client.send(head + "X: \(String(repeating: "v", count: rest))\r\n\r\n")
            let answer = client.readAnswer()
            #expect(answer.status == 200 || client.isClosed)
            return answer
        }
        let limit = HTTPLimits().headBytesMax
        for fields in [2, 150] {
            #expect(try answer(limit, fields: fields).status == 200)
            let refused = try answer(limit + 1, fields: fields)
            #expect(refused.status == 431)
            #expect(refused.head.contains("Content-Type: application/problem+json"))
        }
        // However long, there is an answer: ours as far as it fits into the buffer.
        for count in stride(from: limit, to: 18 << 10, by: 37) {
            #expect(try answer(count + 1).status == 431)
        }
        let line = try RawClient(port: server.port)
        line.send("GET /\(String(repeating: "p", count: 17 << 10)) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(line.readAnswer().status == 414)
    }

    @Test func `a refusal by the head comes before a long body and after a short one`() throws {
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"),
            early: { _ in HTTPResponse(status: 404) },
            handler: { $1.answer(HTTPResponse(status: 200)) })
        let client = try RawClient(port: server.port)
        client.send(post + get)
        #expect(client.readAnswer().status == 404)
        #expect(client.readAnswer().status == 404)
        let asking = "Host: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        client.send("POST / HTTP/1.1\r\n" + asking)
        #expect(client.readAnswer().status == 404)
        #expect(client.isClosed)
        let long = try RawClient(port: server.port)
        long.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        #expect(long.readAnswer().status == 404)
        #expect(long.isClosed)
    }

    @Test(arguments: [
        "Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
        "Host: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        "Host: a\r\nContent-Length: +2\r\n\r\n{}", "Host: a\r\nContent-Length: -2\r\n\r\n{}",
        "Host: a\r\nContent-Length: 0x2\r\n\r\n{}", "Host: a\r\nContent-Length: 2 \r\n\r\n{}",
        "Host: a\r\nContent-Length: 2, 2\r\n\r\n{}", "Host: a\r\nContent-Length:\r\n\r\n{}",
        "Host: a\r\nContent-Length: two\r\n\r\n{}",
        "Host: a\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        "Host: a\r\nTransfer-Encoding: identity\r\n\r\n{}",
        "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Host: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 2\r\n\r\n{}", "Host: a\r\nHost: b\r\n\r\n",
        "Host: a b\r\n\r\n", "Host: a/b\r\n\r\n", "Host: a@b\r\n\r\n", "Host: \u{E9}\r\n\r\n",
        "Host: a\r\nContent-Length : 2\r\n\r\n{}", "Host: a\r\n X: b\r\n\r\n",
        "Host: a\r\nContent-Length: 2\r\n 0\r\n\r\n{}",
        "Host: a\r\nContent\r\n -Length: 2\r\n\r\n{}",
        "Host: a\r\nContent: 2\r\n -Length\r\n\r\n{}",
        "Host: a\r\nX: b\rContent-Length: 2\r\n\r\n{}",
        "Host: a\nX: b\r\n\r\n", "Host: a\r\nX: b\n\r\n", "Host: a\r\nX: b\r\n\n",
        "Host: a\r\nX: b\0c\r\n\r\n", "Host: a\r\nX\u{1}: b\r\n\r\n", "Host: a\r\nX(: b\r\n\r\n",
        "Host: a\r\n: b\r\n\r\n", "Host: a\r\nno colon\r\n\r\n",
    ])
    func `a head whose end of body is open to interpretation is answered 400 and closed`(
        fields: String
    ) throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        client.send("POST /v1/batches HTTP/1.1\r\n" + fields)
        #expect(client.readAnswer().status == 400)
        client.finishSending()
        #expect(client.isClosed)
    }

    @Test(arguments: [
        "GET  / HTTP/1.1\r\n", "GET /a b HTTP/1.1\r\n", "GET / HTTP/1.1\n",
        "GET /\u{1} HTTP/1.1\r\n", "GET /a\0b HTTP/1.1\r\n", "GET /a?b\0c HTTP/1.1\r\n",
        "GET /a?b=c\0&d=e HTTP/1.1\r\n", "CONNECT a:80 HTTP/1.1\r\n", "CONNECT / HTTP/1.1\r\n",
        "GET a HTTP/1.1\r\n", "GET \\a HTTP/1.1\r\n", "GET https://a/b HTTP/1.1\r\n",
        "GET http:///b HTTP/1.1\r\n", "GET http://u@a/b HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n", "GET\t/ HTTP/1.1\r\n", "GET /\r\n", "G\u{1}T / HTTP/1.1\r\n",
    ])
    func `a request line that is not three words is answered 400 and closed`(line: String) throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        client.send(line + "Host: a\r\n\r\n")
        #expect(client.readAnswer().status == 400)
        #expect(client.isClosed)
    }

    @Test func `a target with a host is that host's path`() throws {
        let server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            let text = "\(request.host ?? "") \(request.path) \(request.query)"
            reply.answer(HTTPResponse(status: 200, body: Array(text.utf8)))
        }
        let client = try RawClient(port: server.port)
        for (target, expected) in [
            ("http://b:80/c/d?e=f", "b:80 /c/d [(name: \"e\", value: \"f\")]"),
            ("HTTP://b", "b / []"), ("/c", "a /c []"), ("*", "a * []"), ("/c?", "a /c []"),
            ("/c?d&", "a /c [(name: \"d\", value: \"\")]"),
            ("/?&&", "a / []"),
        ] {
            client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.readAnswer().body == expected)
        }
    }

    @Test func `a later minor version is read as 1.1, Host and chunks included`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        let chunks = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        client.send("POST / HTTP/1.2\r\n" + chunks)
        #expect(client.readAnswer().body == "POST / [] {}")
        let other = try RawClient(port: server.port)
        other.send("GET / HTTP/1.2\r\n\r\n")
        #expect(other.readAnswer().status == 400)
    }

    @Test(arguments: [
        "2\r\n{}\r\n0\r\n\r\n", "2\n{}\r\n0\r\n\r\n", "2;a=b\n{}\n0\n\n",
        "2\r\n{}\r\n0\r\nX: a\n\n",
    ])
    func `nothing behind a body in chunks is taken for a request`(chunks: String) throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        let client = try RawClient(port: server.port)
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + chunks + post)
        replies.waitFor(1)
        replies.all[0].answer(HTTPResponse(status: 202))
        let answer = client.readAnswer()
        #expect(answer.status == 202 && answer.head.contains("Connection: close"))
        #expect(client.isClosed)
        #expect(replies.all.count == 1)
    }

    @Test func `a head that comes in pieces is read like any other`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        let field = "X-Long: " + String(repeating: "v", count: 5000) + "\r\n"
        for piece in ["G", "ET / HTTP/1.1", "\r", "\nHost: a\r", "\n", field, field, "\r", "\n"] {
            client.send(piece)
            usleep(2000)
        }
        #expect(client.readAnswer().body == "GET / [] ")
        client.send("GET / HTTP/1.0\r\n\r\n")
        #expect(client.readAnswer().body == "GET / [] ")
    }

    // MARK: Deadlines and connections

    @Test func `a head or body that drips is cut, idle keep-alive is not`() throws {
        let limits = httpLimits {
            $0.headerDeadline = .seconds(2)
            $0.bodyDeadline = .seconds(2)
        }
        let server = try echoServer(limits)
        let idle = try RawClient(port: server.port)
        idle.send(get)
        #expect(idle.readAnswer().status == 200)
        let head = try RawClient(port: server.port)
        let body = try RawClient(port: server.port)
        let second = try RawClient(port: server.port)
        second.send(get)
        #expect(second.readAnswer().status == 200)
        head.send("GET / HTTP/1.1\r\nX: ")
        body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
        second.send("GET / HTTP/1.1\r\nX: ")
        #expect(
            isTrueSoon {
                for client in [head, body, second] { client.send("x") }
                usleep(50_000)
                return server.stats.headersCut == 2 && server.stats.bodiesCut == 1
            })
        for client in [head, body, second] { #expect(client.isClosed) }
        idle.send(get)
        #expect(idle.readAnswer().status == 200)
        #expect(server.stats.headersCut == 2)
        #expect(server.stats.bodiesCut == 1)
        #expect(server.stats.idleCut == 0)
    }

    @Test func `a client that does not take its answer is cut`() throws {
        // Time enough to begin: an answer that is cut before its first byte ends in good order.
        let limits = httpLimits { $0.responseDeadline = .seconds(2) }
        let body = [UInt8](repeating: 65, count: 50 << 20)
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits
        ) { _, reply in reply.answer(HTTPResponse(status: 200, body: body)) }
        let client = try RawClient(port: server.port)
        client.send(get)
        #expect(isTrueSoon { server.stats.responsesCut == 1 })
        #expect(isTrueSoon { server.stats.connectionsOpen == 0 })
        // Else the kernel would go on holding what was not taken.
        #expect(client.unreadEnd == .error(ECONNRESET))
    }

    @Test func `who waits for a connection gets one although nobody is idle`() throws {
        let server = try echoServer(httpLimits { $0.connectionsMax = 4 })
        let isOver = Atomic(false)
        let request = get
        let busy: @Sendable () -> Void = {
            while !isOver.load(ordering: .relaxed) {
                guard let client = try? RawClient(port: server.port) else { return }
                var isOpen = true
                while isOpen, !isOver.load(ordering: .relaxed) {
                    client.send(request)
                    let answer = client.readAnswer()
                    #expect(answer.status == 200)
                    isOpen = !answer.head.contains("Connection: close")
                }
            }
        }
        runBeside(busy) {
            runBeside(busy) {
                runBeside(busy) {
                    runBeside(busy) {
                        #expect(isTrueSoon { server.stats.connectionsOpen == 4 })
                        if let late = try? RawClient(port: server.port) {
                            late.send(get)
                            #expect(late.readAnswer().status == 200)
                        }
                        isOver.store(true, ordering: .relaxed)
                    }
                }
            }
        }
        #expect(server.stats.idleCut == 0)
    }

    @Test func `who is served keeps the connection while others flood`() throws {
        // A sweep each 250 ms.
        let server = try echoServer(
            httpLimits {
                $0.connectionsMax = 4
                $0.lingerDeadline = .seconds(1)
            })
        let served = try RawClient(port: server.port)
        served.send(get)
        #expect(served.readAnswer().status == 200)
        // Three have a connection and say nothing, two wait.
        let silent = try (0..<5).map { _ in try RawClient(port: server.port) }
        for _ in 0..<12 {
            usleep(100_000)
            served.send(get)
            let answer = served.readAnswer()
            #expect(answer.status == 200)
            #expect(!answer.head.contains("Connection: close"))
        }
        withExtendedLifetime(silent) {}
    }

    @Test func `V9: who asks now and then over all connections lets others in`() throws {
        // A sweep each 250 ms.
        let server = try echoServer(
            httpLimits {
                $0.connectionsMax = 4
                $0.lingerDeadline = .seconds(1)
            })
        let isOver = Atomic(false)
        let request = get
        let port = server.port
        runBeside({
            // Longer than a moment apart, and never idle for long.
            var clients = (0..<4).compactMap { _ in try? RawClient(port: port) }
            while !isOver.load(ordering: .relaxed) {
                clients = clients.filter { client in
                    client.send(request)
                    return !client.readAnswer().head.contains("Connection: close")
                }
                usleep(400_000)
            }
        }) {
            #expect(isTrueSoon { server.stats.connectionsOpen == 4 })
            usleep(500_000)
            let late = try? RawClient(port: port)
            late?.send(request)
            #expect(late?.readAnswer().status == 200)
            isOver.store(true, ordering: .relaxed)
        }
        #expect(server.stats.idleCut == 0)
    }

    @Test func `connections past the limit wait, and idle ones give way to them`() throws {
        let limits = httpLimits {
            $0.connectionsMax = 4
            $0.headerDeadline = .seconds(2)
        }
        let server = try echoServer(limits)
        let clients = try (0..<4).map { _ in try RawClient(port: server.port) }
        for client in clients {
            client.send(get)
            #expect(client.readAnswer().status == 200)
        }
        let fifth = try RawClient(port: server.port)
        fifth.send(get)
        usleep(100_000)
        #expect(server.stats.connectionsOpen == 4)
        clients[0].send(get)
        #expect(clients[0].readAnswer().status == 200)
        #expect(fifth.readAnswer().status == 200)
        #expect(server.stats.idleCut > 0)
        withExtendedLifetime(clients) {}
    }
}
