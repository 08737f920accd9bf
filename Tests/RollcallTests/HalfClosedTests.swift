import RollcallSupport
import Testing

/// Clients who close their direction behind the request, as `nc -N` does. Source: RFC 9293 §3.6.
@Suite(.serialized) struct HalfClosedTests {
    private static let post = "POST /v1/batches HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"

    @Test func `a half-closed client gets its answer, at once or later`() throws {
        let server = try echoServer()
        let client = try RawClient(port: server.port)
        client.send(Self.post)
        client.finishSending()
        #expect(client.readAnswer().body == "POST /v1/batches [] {}")
        #expect(client.isClosed)
    }

    @Test(arguments: [10, 3 << 20])
    func `a half-closed client gets an answer that took a while, however long it is`(
        bytes: Int
    ) throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        defer { server.stop() }
        let clients = try (0..<3).map { _ in try RawClient(port: server.port) }
        for (place, client) in clients.enumerated() {
            client.send(Self.post)
            if place != 1 { client.finishSending() }
        }
        replies.waitFor(3)
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: bytes)
        for reply in replies.removeAll() { reply.answer(HTTPResponse(status: 200, body: body)) }
        for (place, client) in clients.enumerated() {
            let answer = client.readAnswer()
            #expect(answer.status == 200 && answer.body.utf8.count == bytes)
            // Whoever may still ask keeps the connection.
            #expect(answer.head.contains("Connection: close") == (place != 1))
            if place != 1 { #expect(client.isClosed) }
        }
        clients[1].send(Self.post)
        replies.waitFor(1)
        for reply in replies.removeAll() { reply.answer(HTTPResponse(status: 204)) }
        #expect(clients[1].readAnswer().status == 204)
    }

    @Test func `a client who is gone costs nobody else their answer`() throws {
        let replies = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            handler: replies.take)
        defer { server.stop() }
        let gone = try RawClient(port: server.port)
        gone.send(Self.post)
        replies.waitFor(1)
        gone.close(resetting: true)
        let there = try RawClient(port: server.port)
        there.send(Self.post)
        replies.waitFor(2)
        for reply in replies.removeAll() { reply.answer(HTTPResponse(status: 200)) }
        #expect(there.readAnswer().status == 200)
    }
}
