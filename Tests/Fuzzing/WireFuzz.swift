import Glibc
import Logging
import RollcallCore

@testable import RollcallSupport

/// Bytes on a connection to the real listener, as one segment and then the end of what the client
/// sends. Whatever comes, the connection is closed, and what came before looks like answers.
enum WireFuzz {
    static let target = FuzzTarget("wire", texts: samples) { bytes in
        guard let client = client() else { return }
        defer { close(client) }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                send(
                    client, buffer.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { break }
            sent += count
        }
        shutdown(client, Int32(SHUT_WR))
        let answer = read(client)
        let begins = Array("HTTP/1.1 ".utf8)
        require(answer.isEmpty || answer.starts(with: begins), "an answer, or nothing")
        if answer.isEmpty { return }
        let status = String(decoding: answer.dropFirst(begins.count).prefix(3), as: UTF8.self)
        require(Int(status).map { (100...599).contains($0) && $0 != 500 } ?? false, status)
    }

    /// Nil where it is not the listener's fault: libFuzzer's timer came meanwhile, or the last minute's
    /// connections have all the ports.
    private static func client() -> Int32? {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(server.port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, size) }
        }
        if isConnected != 0, [EINTR, EADDRNOTAVAIL].contains(errno) {
            close(client)
            return nil
        }
        require(isConnected == 0, "the listener takes connections: errno \(errno)")
        // The kernel would otherwise keep each of them for a minute.
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(client, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        return client
    }

    /// Everything until the server closes.
    private static func read(_ client: Int32) -> [UInt8] {
        var answer: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = recv(client, &part, part.count, 0)
            if count <= 0 { return answer }
            answer += part[..<count]
        }
    }

    /// Every request is answered with what was understood of it: routes have a target of their own.
    private static let server: HTTPServer = {
        do {
            var limits = HTTPLimits()
            limits.bodyBytesMax = 1024
            limits.discardBytesMax = 512
            return try HTTPServer(
                listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits,
                early: { request in
                    guard request.path == "/refused" else { return nil }
                    return .problem(403, "Forbidden", detail: "by its head")
                },
                handler: { request, reply in
                    let words = request.query.map { "\($0.name)=\($0.value)" }
                    let fields = [
                        request.contentType, request.contentEncoding, request.accept,
                        request.acceptEncoding, request.host, request.origin,
                        request.authorization,
                    ].map { $0 ?? "-" }
                    let text = ([request.method, request.path] + words + fields).joined()
                    let headers = [("X-Path", request.path), ("X-Type", fields[0])]
                    reply.answer(
                        HTTPResponse(
                            status: 200, headers: headers, body: Array(text.utf8) + request.body))
                })
        } catch {
            fatalError("\(error)")
        }
    }()

    private static let samples = [
        "GET /a%2Fb?x=1&y=%41+b&z HTTP/1.1\r\nHost: localhost\r\nAccept: a\r\nAccept: b\r\n\r\n",
        "POST /v1/batches HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            + "Content-Type: application/json\r\nAuthorization: Bearer x\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "5;x=y\r\nhello\r\n0\r\nTrailer: z\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
        "HEAD / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
        "POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nOrigin: http://a\r\n"
            + "Accept-Encoding: gzip\r\n folded\r\nBad Name : x\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n", "GET  /\u{0} HTTP/1.1\r\nHost:\ta\t \r\n\r\n",
    ]
}
