import Glibc
import Testing

@testable import RollcallSupport

/// Who connects and says nothing: it must not make others wait. Source: V5, V8.
@Suite(.serialized) struct NewcomerTests {
    private let get = "GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `of newcomers that say nothing the oldest give way, whoever sent a head stays`()
        throws
    {
        let server = try echoServer(
            httpLimits {
                $0.newcomersMax = 2
                $0.newcomerGrace = .milliseconds(100)
                $0.headerDeadline = .seconds(60)
            })
        let known = try (0..<5).map { _ in try RawClient(port: server.port) }
        for client in known {
            client.send(get)
            #expect(client.readAnswer().status == 200)
        }
        let silent = try (0..<5).map { _ in
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nX: ")
            usleep(20_000)
            return client
        }
        #expect(isTrueSoon { server.stats.newcomersCut == 3 })
        for client in silent.prefix(3) { #expect(client.isClosed) }
        // Those at the limit stay, and are served once their head has come.
        usleep(300_000)
        for client in silent.suffix(2) {
            client.send("y\r\nHost: a\r\n\r\n")
            #expect(client.readAnswer().status == 200)
        }
        for client in known {
            client.send(get)
            #expect(client.readAnswer().status == 200)
        }
        #expect(server.stats.newcomersCut == 3)
        #expect(server.stats.headersCut == 0)
    }

    @Test func `a network is an IPv4 address, or 64 bits of an IPv6 one`() {
        func four(_ text: String) -> UInt64 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16.random(in: 1...65535)
            #expect(inet_pton(AF_INET, text, &address.sin_addr) == 1)
            return withUnsafeBytes(of: address) { HTTPConnection.network(of: $0) }
        }
        func six(_ text: String) -> UInt64 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = UInt16.random(in: 1...65535)
            #expect(inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
            return withUnsafeBytes(of: address) { HTTPConnection.network(of: $0) }
        }
        #expect(four("192.0.2.1") == four("192.0.2.1"))
        #expect(four("192.0.2.1") != four("192.0.2.2"))
        #expect(four("192.0.2.1") != four("192.0.3.1"))
        #expect(six("2001:db8::1") == six("2001:db8:0:0:ffff:ffff:ffff:ffff"))
        #expect(six("2001:db8::1") != six("2001:db8:0:1::1"))
        #expect(six("2001:db8::1") != six("2001:db9::1"))
    }

    @Test(arguments: [(512, 128), (140, 35), (64, 16), (8, 2), (1, 1)])
    func `one network never fills all connections with silence, however few there are`(
        connections: Int, newcomers: Int
    ) {
        var limits = HTTPLimits()
        limits.connectionsMax = connections
        #expect(limits.newcomersOfNetwork == newcomers)
    }
}
