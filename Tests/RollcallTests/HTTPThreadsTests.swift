import Glibc
import RollcallSupport
import Synchronization
import Testing

/// Several threads at the connections of one listener.
@Suite(.serialized) struct HTTPThreadsTests {
    private let limits = httpLimits { $0.threads = 3 }

    @Test func `a thread that is at work holds up none of the others`() throws {
        let (isHeld, isReleased) = (Flag(), Flag())
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits
        ) { request, reply in
            if request.path == "/held" {
                isHeld.raise()
                while !isReleased.isRaised { usleep(1000) }
            }
            reply.answer(HTTPResponse(status: 200))
        }
        let held = try RawClient(port: server.port)
        held.send(get("/held"))
        #expect(isTrueSoon { isHeld.isRaised })
        // The thread of the first accepts nobody meanwhile.
        for _ in 0..<6 {
            let other = try RawClient(port: server.port)
            other.send(get("/other"))
            #expect(other.readAnswer().status == 200)
        }
        isReleased.raise()
        #expect(held.readAnswer().status == 200)
    }

    @Test func `what bodies may take they may take together`() throws {
        let server = try echoServer(
            httpLimits {
                $0.threads = 3
                $0.bodiesBytesMax = 1000
            })
        let head = "POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n"
        let clients = try (0..<3).map { _ in try RawClient(port: server.port) }
        for client in clients { client.send(head + String(repeating: "x", count: 400)) }
        #expect(isTrueSoon { server.stats.writesRefused == 1 })
        for client in clients { client.send(String(repeating: "x", count: 100)) }
        let statuses = clients.map { $0.readAnswer().status ?? 0 }
        #expect(statuses.sorted() == [200, 200, 503])
        // Nothing of it is held any more, soon after its answer came: that is another thread's.
        func isTaken() -> Bool {
            guard let next = try? RawClient(port: server.port) else { return false }
            next.send(head + String(repeating: "x", count: 500))
            return next.readAnswer().status == 200
        }
        for _ in 0..<6 { #expect(isTrueSoon(isTaken)) }
    }

    @Test func `each gets the answer to its own request, while many ask at once`() throws {
        let server = try echoServer(limits)
        let port = server.port
        let wrong = Atomic(0)
        @Sendable func ask(_ name: String) {
            guard let client = try? RawClient(port: port) else { return }
            for round in 0..<200 {
                // Others ask for the same now and then, as the last answer is kept for the next.
                let path = round.isMultiple(of: 3) ? "/same" : "/\(name)/\(round)"
                client.send(get(path))
                if client.readAnswer().body != "GET \(path) [] " {
                    wrong.add(1, ordering: .relaxed)
                }
            }
        }
        runBeside({ ask("a") }) {
            runBeside({ ask("b") }) { runBeside({ ask("c") }) { ask("d") } }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
    }

    @Test func `a stop waits for what is parked at every thread`() throws {
        let box = ReplyBox()
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits, handler: box.take)
        let clients = try (0..<9).map { _ in try RawClient(port: server.port) }
        for client in clients { client.send(get("/parked")) }
        box.waitFor(9)
        runBeside({ server.stop() }) {
            for reply in box.removeAll() { reply.answer(HTTPResponse(status: 204)) }
        }
        for client in clients { #expect(client.readAnswer().status == 204) }
    }
}

/// Something that has happened, for several threads.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}

private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }
