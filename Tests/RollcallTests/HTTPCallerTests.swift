import Glibc
import RollcallCore
import Synchronization
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

@Suite struct HTTPCallerTests {
    private static func call(
        _ port: Int, _ method: HTTPCall.Method = .get, _ path: String = "/",
        change: (inout HTTPCall) -> Void = { _ in }
    ) -> HTTPCall {
        var call = HTTPCall(method, "http://127.0.0.1:\(port)\(path)")
        call.connectTimeout = .seconds(60)
        call.timeout = .seconds(60)
        change(&call)
        return call
    }

    /// What became of a call, in one line.
    private static func outcome(_ call: HTTPCall, _ caller: HTTPCaller? = nil) -> String {
        do throws(HTTPCallError) {
            let caller = if let caller { caller } else { try HTTPCaller() }
            let answer = try caller.answer(to: call)
            return "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
        } catch {
            return "\(error.cause), \(error.mayHaveArrived ? "may have arrived" : "not sent")"
        }
    }

    // MARK: - Permits

    @Test func `S6: without a permit a request does not go out, though the connection stands`()
        throws
    {
        let server = try CannedServer(["/": "OK"])
        let permit = SendingPermit()
        var call = HTTPCall(.get, server.url)
        call.permit = permit
        #expect(Self.outcome(call) == "200 OK")
        permit.follow(ClockReading.now().elapsed - 1)
        #expect(Self.outcome(call) == "notPermitted, not sent")
        #expect(server.questions.count == 1)
        permit.follow(ClockReading.now().elapsed + 60_000)
        #expect(Self.outcome(call) == "200 OK")
    }

    // MARK: - Loading

    @Test func `a library that is not there is named, with what to do`() {
        let loaded = Result { () throws(CurlMissing) in
            try CurlLibrary(names: ["libnobody-has-this.so.4"])
        }
        guard case .failure(let missing) = loaded else {
            Issue.record("it was found")
            return
        }
        #expect(
            "\(missing)" == """
                libcurl cannot be loaded (libnobody-has-this.so.4: cannot open shared object \
                file: No such file or directory): install it (on Debian, package libcurl4 or curl)
                """)
        #expect(throws: HTTPCallError.self) { try HTTPCaller(library: loaded) }
    }

    @Test func `a library without curl's functions is not taken for curl`() {
        #expect(throws: CurlMissing(troubles: ["libm.so.6: has no curl_global_init"])) {
            try CurlLibrary(names: ["libm.so.6"])
        }
    }

    @Test func `the second name is tried when the first is not there`() throws {
        let library = try CurlLibrary(names: ["libnobody-has-this.so.4"] + CurlLibrary.names)
        #expect(library.version.hasPrefix("libcurl/"))
    }

    // MARK: - Answers

    @Test(arguments: [HTTPCall.Method.get, .post, .put, .delete])
    func `method, path, query and body arrive as they are`(method: HTTPCall.Method) throws {
        let server = try echoServer()
        defer { server.stop() }
        let call = Self.call(server.port, method, "/a%2Fb?x=%3D&y") {
            if method != .get { $0.body = Array("body".utf8) }
        }
        // Our own server reads none where it means nothing.
        let body = method == .get || method == .delete ? "" : "body"
        #expect(Self.outcome(call) == "200 \(method.rawValue) /a%2Fb [x==, y=] \(body)")
    }

    @Test func `fields go out, and those of the answer come back`() throws {
        let server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            let text = "\(request.authorization ?? "") \(request.contentType ?? "")"
            reply.answer(
                HTTPResponse(
                    status: 503,
                    headers: [("Content-Type", "text/plain"), ("Retry-After", "7")],
                    body: Array(text.utf8)))
        }
        defer { server.stop() }
        let call = Self.call(server.port, .post) {
            $0.headers = [("Authorization", "Bearer t"), ("Content-Type", "application/json")]
        }
        let expected = HTTPCallAnswer(
            status: 503, contentType: "text/plain", retryAfter: "7",
            body: Array("Bearer t application/json".utf8))
        #expect(try HTTPCaller().answer(to: call) == expected)
    }

    @Test func `a connection is used again, and not what was set for the call before`() throws {
        let server = try echoServer()
        defer { server.stop() }
        let caller = try HTTPCaller()
        let first = try caller.answer(
            to: Self.call(server.port, .post) { $0.body = Array("x".utf8) })
        let second = try caller.answer(to: Self.call(server.port))
        #expect(first.isNewConnection && !second.isNewConnection)
        #expect(String(decoding: second.body, as: UTF8.self) == "GET / [] ")
        let third = try caller.answer(to: Self.call(server.port) { $0.mayBeSentTwice = false })
        #expect(third.isNewConnection)
    }

    @Test(arguments: [100_000, 5_000_000])
    func `a large body arrives whole`(count: Int) throws {
        let server = try echoServer()
        defer { server.stop() }
        let body = [UInt8](repeating: UInt8(ascii: "b"), count: count)
        let call = Self.call(server.port, .post) {
            $0.body = body
            $0.answerBytesMax = count + 100
        }
        #expect(try HTTPCaller().answer(to: call).body.suffix(count) == body[...])
    }

    @Test func `a redirect is an answer and is not followed`() {
        let server = BadServer()
        server.serve { connection in
            _ = connection.request()
            connection.send(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(server.port)/b\r\n"
                    + "Content-Length: 0\r\n\r\n")
        } while: {
            #expect(Self.outcome(Self.call(server.port)) == "302 ")
        }
        #expect(server.count == 1)
    }

    // MARK: - Limits

    @Test func `an answer at the limit is taken, one byte more is not`() throws {
        let server = try echoServer()
        defer { server.stop() }
        let text = "GET / [] "
        let fits = Self.call(server.port) { $0.answerBytesMax = text.utf8.count }
        #expect(Self.outcome(fits) == "200 \(text)")
        let over = Self.call(server.port) { $0.answerBytesMax = text.utf8.count - 1 }
        #expect(Self.outcome(over) == "answerTooLarge(bytesMax: 8), may have arrived")
    }

    @Test func `an answer without an end is cut at the limit`() {
        let server = BadServer()
        server.serve { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\n\r\n")
            while connection.send(String(repeating: "x", count: 65536)) {}
        } while: {
            #expect(
                Self.outcome(Self.call(server.port))
                    == "answerTooLarge(bytesMax: 1048576), may have arrived")
        }
    }

    @Test func `a head without an end is cut`() {
        let server = BadServer()
        server.serve { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\n")
            while connection.send("X: \(String(repeating: "x", count: 1000))\r\n") {}
        } while: {
            #expect(
                Self.outcome(Self.call(server.port))
                    == "headTooLarge(bytesMax: 65536), may have arrived")
        }
    }

    @Test func `a field without an end is cut`() {
        let server = BadServer()
        server.serve { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nX: ")
            while connection.send(String(repeating: "x", count: 10_000)) {}
        } while: {
            #expect(
                Self.outcome(Self.call(server.port))
                    == "headTooLarge(bytesMax: 65536), may have arrived")
        }
    }

    @Test func `an answer behind an answer is nobody's`() throws {
        let server = BadServer()
        server.serve(3) { connection in
            for word in ["first", "second", "third"] {
                guard connection.request() != nil else { return }
                connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: \(word.count)\r\n\r\n\(word)"
                        + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
            }
        } while: {
            guard let caller = try? HTTPCaller() else { return }
            for _ in 0..<3 {
                let outcome = Self.outcome(Self.call(server.port), caller)
                #expect(!outcome.contains("forged"))
            }
        }
    }

    @Test func `a call that nobody waits for is given up, also in the midst of its answer`() {
        for isBegun in [false, true] {
            let server = BadServer()
            let began = ClockReading.now().elapsed
            server.serve { connection in
                guard connection.request() != nil else { return }
                if isBegun { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx") }
                while connection.isObserved { usleep(10_000) }
            } while: {
                let call = Self.call(server.port) {
                    $0.isAwaited = { ClockReading.now().elapsed < began + 200 }
                }
                #expect(Self.outcome(call).hasPrefix("givenUp"))
                // It is asked about once a second.
                #expect(ClockReading.now().elapsed < began + 20_000)
            }
        }
    }

    @Test func `silence and dripping both end with the time-out`() {
        for isDripping in [false, true] {
            // On a slow machine the time may be over before the request is out.
            for milliseconds in [300, 3000, 30_000] as [Int64] {
                let patience = Milliseconds(milliseconds)
                let cause = HTTPCallError.Cause.timedOut(after: patience)
                let text = Self.outcome(of: patience, isDripping: isDripping)
                if milliseconds < 30_000, text == "\(cause), not sent" { continue }
                #expect(text == "\(cause), may have arrived")
                break
            }
        }
    }

    /// What becomes of a call with this time-out to a server whose answer never ends.
    private static func outcome(of patience: Milliseconds, isDripping: Bool) -> String {
        let server = BadServer()
        let text = Mutex("")
        server.serve { connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.send(isDripping ? "x" : "") && connection.isObserved {
                usleep(20_000)
            }
        } while: {
            let outcome = outcome(call(server.port) { $0.timeout = patience })
            text.withLock { $0 = outcome }
        }
        return text.withLock { $0 }
    }

    @Test func `a connection that does not come ends with the time-out for it`() throws {
        let server = BadServer(backlog: 0)
        let first = try RawClient(port: server.port)
        let call = Self.call(server.port) { $0.connectTimeout = Milliseconds(200) }
        let cause = HTTPCallError.Cause.timedOut(after: Milliseconds(200))
        #expect(Self.outcome(call) == "\(cause), not sent")
        first.close(resetting: false)
    }

    // MARK: - Bad servers

    @Test func `nobody listens there`() {
        let text = Self.outcome(Self.call(BadServer.closedPort()))
        #expect(text == "notConnected(errno: \(ECONNREFUSED)), not sent")
    }

    @Test func `an end in the middle is no answer`() {
        for head in ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"] {
            for isReset in [false, true] {
                let server = BadServer()
                server.serve { connection in
                    _ = connection.request()
                    connection.send(head)
                    if isReset { connection.reset() }
                } while: {
                    #expect(Self.outcome(Self.call(server.port)) == "cutOff, may have arrived")
                }
            }
        }
    }

    @Test func `what is no HTTP is said to be none`() {
        let server = BadServer()
        server.serve { connection in
            _ = connection.request()
            connection.send("220 mail.example.org ESMTP\r\n")
        } while: {
            #expect(Self.outcome(Self.call(server.port)) == "notHTTP, may have arrived")
        }
    }

    @Test func `what must not arrive twice is not sent again on a stale connection`() {
        for mayBeSentTwice in [true, false] {
            let server = BadServer()
            let requests = Mutex(0)
            server.serve(2) { connection in
                while connection.request() != nil {
                    let number = requests.withLock {
                        $0 += 1
                        return $0
                    }
                    // The second is read and never answered.
                    if number == 2 { return }
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    if !mayBeSentTwice { return }
                }
            } while: {
                guard let caller = try? HTTPCaller() else { return }
                #expect(Self.outcome(Self.call(server.port, .post), caller) == "200 ok")
                let again = Self.call(server.port, .post) { $0.mayBeSentTwice = mayBeSentTwice }
                let expected = mayBeSentTwice ? "200 ok" : "cutOff, may have arrived"
                #expect(Self.outcome(again, caller) == expected)
            }
            #expect(requests.withLock { $0 } == (mayBeSentTwice ? 3 : 2))
        }
    }

    @Test func `what must not arrive twice leaves no connection open behind it`() {
        let server = BadServer()
        let isClosed = Mutex(false)
        server.serve { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.awaitRequest()
            isClosed.withLock { $0 = !connection.isObserved }
        } while: {
            guard let caller = try? HTTPCaller() else { return }
            let call = Self.call(server.port, .post) { $0.mayBeSentTwice = false }
            #expect(Self.outcome(call, caller) == "200 ok")
            withExtendedLifetime(caller) {
                for _ in 0..<2000 where !isClosed.withLock({ $0 }) { usleep(10_000) }
            }
        }
        #expect(isClosed.withLock { $0 })
    }

    // MARK: - What is shown

    @Test func `an error shows nothing of a URL but its scheme, host and port`() {
        let port = BadServer.closedPort()
        var call = HTTPCall(.post, "http://user:pass@127.0.0.1:\(port)/secret?key=secret#s")
        call.headers = [("Authorization", "Bearer secret")]
        #expect(throws: HTTPCallError.self) { try HTTPCaller().answer(to: call) }
        do {
            _ = try HTTPCaller().answer(to: call)
        } catch {
            let expected =
                "http://127.0.0.1:\(port): cannot be connected to: Connection refused"
            #expect("\(error)" == expected)
        }
    }

    @Test(arguments: [
        "", "ftp://h/", "file:///etc/passwd", "http://", "http:///x", "127.0.0.1:80", "http://a b/",
        "http://h/\r\nX: y", "http://h:99999/", "http://h:x/", "gopher://h", "http://[::1/",
    ])
    func `only http and https with a host are called`(url: String) {
        #expect(Self.outcome(HTTPCall(.get, url)) == "wrongURL, not sent")
    }

    @Test func `a field cannot end its line`() {
        let call = Self.call(1) { $0.headers = [("X", "a\r\nY: b")] }
        #expect(Self.outcome(call) == "wrongField(name: \"X\"), not sent")
    }

    @Test func `a tab within a field is sent, and what no field may hold is not`() {
        #expect(HTTPCaller.canSend("application/json;\tcharset=utf-8"))
        for value in ["a\nb", "a\rb", "a\u{0}b", "a\u{1}b", "a\u{7F}b"] {
            #expect(!HTTPCaller.canSend(value))
        }
    }

    // MARK: - Authorities

    @Test func `an extra file is put behind the machine's`() throws {
        let folder = TemporaryDirectory()
        let (system, extra) = (folder.path + "/system", folder.path + "/extra")
        folder.write("system", "-----BEGIN CERTIFICATE-----\na")
        folder.write("extra", "-----BEGIN CERTIFICATE-----\nb\n")
        let authorities = Authorities(extra: extra) { $0 == "SSL_CERT_FILE" ? system : nil }
        #expect(
            String(decoding: try authorities.bundle(with: extra), as: UTF8.self) == """
                -----BEGIN CERTIFICATE-----
                a
                -----BEGIN CERTIFICATE-----
                b


                """)
    }

    @Test func `a file without certificates is an error that names it`() throws {
        let folder = TemporaryDirectory()
        for (name, text) in [("none", nil), ("empty", ""), ("other", "hello")] {
            let path = folder.path + "/" + name
            if let text { folder.write(name, text) }
            let caller = try HTTPCaller(authorities: Authorities(extra: path))
            #expect(
                Self.outcome(HTTPCall(.get, "https://127.0.0.1:1/"), caller)
                    == "unusableAuthorities(path: \"\(path)\"), not sent")
        }
    }
}
