import RollcallCore
import Testing

@testable import RollcallSupport

/// The room for bodies, of which whoever nobody knows has a small share. Source: K5.
struct BodyRoomTests {
    private func begin(
        _ server: HTTPServer, _ path: String, _ count: Int, of length: Int, coding: String = ""
    ) throws -> RawClient {
        let client = try RawClient(port: server.port)
        client.send(
            "POST \(path) HTTP/1.1\r\nHost: a\r\n\(coding)Content-Length: \(length)\r\n\r\n"
                + String(repeating: "x", count: count))
        return client
    }

    @Test func `strangers have a small share of the common room, and take no more of it`() throws {
        let limits = httpLimits {
            ($0.bodiesBytesMax, $0.bodyBytesMax) = (1000, 100)
            ($0.unauthenticatedBodiesBytesMax, $0.unauthenticatedBodyBytesMax) = (18, 10)
            ($0.atCapacityDeadline, $0.bodyDeadline) = (.seconds(1), .seconds(60))
        }
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits,
            isUnauthenticated: { $0.path == "/v1/in/x" },
            handler: { $1.answer(HTTPResponse(status: 200, body: $0.body)) })
        // They announce a byte more than they send, and hold what they sent.
        let silent = try (0..<2).map { _ in try begin(server, "/v1/in/x", 9, of: 10) }
        #expect(try begin(server, "/v1/in/x", 11, of: 11).readAnswer().status == 413)
        #expect(try begin(server, "/v1/batches", 100, of: 100).readAnswer().status == 200)
        #expect(try begin(server, "/v1/batches", 101, of: 101).readAnswer().status == 413)
        #expect(try begin(server, "/v1/in/x", 10, of: 10).readAnswer().status == 503)
        // Who says nothing more is cut soon while there is little room, the last of them too, and gives it back.
        for client in silent { #expect(client.isClosed) }
        let isTaken = isTrueSoon {
            (try? begin(server, "/v1/in/x", 10, of: 10))?.readAnswer().status == 200
        }
        #expect(isTaken)
        #expect(server.stats.writesRefused == 0)
    }

    @Test func `who is refused in the middle gives back their room before they have gone`() throws {
        let limits = httpLimits {
            ($0.unauthenticatedBodiesBytesMax, $0.unauthenticatedBodyBytesMax) = (18, 12)
            ($0.lingerDeadline, $0.bodyDeadline) = (.seconds(60), .seconds(60))
            $0.atCapacityDeadline = .seconds(60)
        }
        let server = try HTTPServer(
            listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits,
            isUnauthenticated: { _ in true },
            handler: { $1.answer(HTTPResponse(status: 200, body: $0.body)) })
        let holder = try begin(server, "/v1/in/x", 9, of: 10)
        #expect(try begin(server, "/v1/in/x", 13, of: 13).readAnswer().status == 413)
        let refused = try begin(server, "/v1/in/x", 8, of: 12)
        // It has 8 of the 9 that are left once this one finds no room for 2.
        #expect(
            isTrueSoon { (try? begin(server, "/v1/in/x", 2, of: 2))?.readAnswer().status == 503 })
        refused.send("xx")
        #expect(refused.readAnswer().status == 503)
        #expect(try begin(server, "/v1/in/x", 9, of: 9).readAnswer().status == 200)
        withExtendedLifetime((holder, refused)) {}
    }

    @Test func `what a stranger compressed is left to whoever knows them`() throws {
        for (isUnauthenticated, status) in [(true, 200), (false, 400)] {
            let server = try HTTPServer(
                listener: try HTTPListener(address: "127.0.0.1:0"),
                isUnauthenticated: { _ in isUnauthenticated },
                handler: { request, reply in
                    let isAsItCame = request.contentEncoding == "gzip" && request.body.count == 5
                    reply.answer(HTTPResponse(status: isAsItCame ? 200 : 500))
                })
            // It is no gzip, which nobody notices who does not expand it.
            let coding = "Content-Encoding: gzip\r\n"
            let client = try begin(server, "/v1/in/x", 5, of: 5, coding: coding)
            #expect(client.readAnswer().status == status)
        }
    }
}
