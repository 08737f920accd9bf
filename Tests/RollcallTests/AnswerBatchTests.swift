import RollcallSupport
import Testing

/// Answers that are given together go out together, and each as it would by itself. Source: J9.
@Suite(.serialized) struct AnswerBatchTests {
    private static let post = "POST /v1/batches HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
    /// So many do not wait for the rest.
    private static let most = 128

    private let batch = AnswerBatch()
    private let replies = ReplyBox()

    private func server() throws -> HTTPServer {
        try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: patientLimits,
            answers: batch, handler: replies.take)
    }

    /// Clients whose requests wait for their answers, and the replies in their order.
    private func waiting(
        _ count: Int, at server: HTTPServer
    ) throws -> (clients: [RawClient], replies: [HTTPReply]) {
        let clients = try (0..<count).map { _ in try RawClient(port: server.port) }
        for (place, client) in clients.enumerated() {
            client.send(Self.post)
            replies.waitFor(place + 1)
        }
        // Once a further one was handed over, the one thread of the connections has parked all before it.
        let last = try RawClient(port: server.port)
        last.send(Self.post)
        replies.waitFor(count + 1)
        var all = replies.removeAll()
        all.removeLast().answer(HTTPResponse(status: 200))
        return (clients, all)
    }

    @Test func `answers that are gathered go out at the end of their turn`() throws {
        let server = try server()
        defer { server.stop() }
        for _ in 0..<2 {
            let (clients, replies) = try waiting(3, at: server)
            batch.gather {
                for reply in replies { reply.answer(HTTPResponse(status: 200)) }
                for client in clients { #expect(client.hasNothing) }
            }
            for client in clients { #expect(client.readAnswer().status == 200) }
        }
        // Nothing is left of them.
        let after = try waiting(1, at: server)
        for reply in after.replies { reply.answer(HTTPResponse(status: 204)) }
        #expect(after.clients[0].readAnswer().status == 204)
    }

    @Test func `the first do not wait for more than their number`() throws {
        let server = try server()
        defer { server.stop() }
        let (clients, all) = try waiting(Self.most + 1, at: server)
        batch.gather {
            for reply in all.dropLast(2) { reply.answer(HTTPResponse(status: 200)) }
            #expect(clients.allSatisfy { $0.hasNothing })
            all[Self.most - 1].answer(HTTPResponse(status: 200))
            let isOut = { clients.count { !$0.hasNothing } == Self.most }
            #expect(isTrueSoon(isOut))
            all[Self.most].answer(HTTPResponse(status: 200))
            #expect(isOut())
        }
        for client in clients { #expect(client.readAnswer().status == 200) }
    }

    @Test func `another thread's answers do not wait`() throws {
        let server = try server()
        defer { server.stop() }
        let (clients, all) = try waiting(1, at: server)
        batch.gather {
            runBeside { for reply in all { reply.answer(HTTPResponse(status: 200)) } }
            #expect(clients[0].readAnswer().status == 200)
        }
    }

    @Test func `who closed their direction, or is gone, costs nobody else their answer`() throws {
        let server = try server()
        defer { server.stop() }
        let (clients, replies) = try waiting(4, at: server)
        clients[0].finishSending()
        clients[1].close(resetting: true)
        // A request behind the one that is answered, and then the end.
        clients[2].send(Self.post)
        clients[2].finishSending()
        batch.gather {
            for reply in replies { reply.answer(HTTPResponse(status: 200)) }
        }
        let closed = clients[0].readAnswer()
        #expect(closed.status == 200 && closed.head.contains("Connection: close"))
        #expect(clients[0].isClosed)
        #expect(clients[2].readAnswer().status == 200)
        self.replies.waitFor(1)
        for reply in self.replies.removeAll() { reply.answer(HTTPResponse(status: 204)) }
        #expect(clients[2].readAnswer().status == 204)
        let there = clients[3].readAnswer()
        #expect(there.status == 200 && !there.head.contains("Connection: close"))
    }

    @Test func `an answer that waits for others is not given up by a stop`() throws {
        let server = try server()
        let (clients, replies) = try waiting(2, at: server)
        batch.gather {
            for reply in replies { reply.answer(HTTPResponse(status: 200)) }
            server.quiesce()
        }
        server.stop()
        for client in clients { #expect(client.readAnswer().status == 200) }
    }
}
