import Glibc

/// One keep-alive connection that asks one thing at a time and waits for the answer.
///
/// Owns its socket. For one thread.
final class Caller {
    /// What came back.
    struct Answer {
        /// The code of its status line.
        let status: Int
        /// Without the head.
        let body: [UInt8]
        /// From the first byte sent to the last one received.
        let span: Nanoseconds

        /// The body as text.
        var text: String { String(decoding: body, as: UTF8.self) }

        /// The digits behind the first occurrence of `name`; nil if there are none.
        func number(after name: StaticString) -> Int? {
            body.withUnsafeBytes { $0.number(after: name, in: 0..<$0.count) }
        }
    }

    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 8 << 10)

    /// Connects to a port of the loopback interface.
    init(port: UInt16) throws(BenchmarkError) { descriptor = try connectedSocket(port: port) }

    deinit { close(descriptor) }

    /// Asks without a body. Errors: another status than `expected`.
    func ask(
        _ method: String, _ path: String, expecting expected: Int = 200
    ) throws(BenchmarkError) -> Answer {
        let answer = try ask(Self.request(method, path))
        guard answer.status == expected else {
            throw .answer(
                "\(method) \(path): \(answer.status), \(expected) expected: \(answer.text)")
        }
        return answer
    }

    /// Asks for a page as gzip.
    func askPacked(_ path: String) throws(BenchmarkError) -> Answer {
        try ask(Self.request("GET", path, fields: "Accept-Encoding: gzip\r\n"))
    }

    /// A request without a body.
    static func request(_ method: String, _ path: String, fields: String = "") -> [UInt8] {
        Array("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n".utf8)
    }

    /// Sends a whole request and waits for the whole answer, whatever its status.
    func ask(_ request: [UInt8]) throws(BenchmarkError) -> Answer {
        let begun = Nanoseconds.now()
        try send(request)
        var received = 0
        while true {
            received += try receive(at: received)
            guard let (status, body) = try whole(received) else { continue }
            return Answer(
                status: status, body: Array(buffer[body]), span: Nanoseconds.now() - begun)
        }
    }

    private func send(_ request: [UInt8]) throws(BenchmarkError) {
        var sent = 0
        while sent < request.count {
            let count = request.withUnsafeBytes { bytes in
                Glibc.send(
                    descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                try wait(for: POLLOUT)
            } else if errno != EINTR {
                throw .system(call: "send", errno: errno)
            }
        }
    }

    private func receive(at place: Int) throws(BenchmarkError) -> Int {
        if place == buffer.count { buffer += [UInt8](repeating: 0, count: buffer.count) }
        while true {
            let count = buffer.withUnsafeMutableBytes { bytes in
                recv(descriptor, bytes.baseAddress.map { $0 + place }, bytes.count - place, 0)
            }
            if count > 0 { return count }
            if count == 0 { throw .answer("the server closed the connection") }
            if errno == EAGAIN {
                try wait(for: POLLIN)
            } else if errno != EINTR {
                throw .system(call: "recv", errno: errno)
            }
        }
    }

    /// The status and where the body is, once all of it is there.
    private func whole(
        _ received: Int
    ) throws(BenchmarkError) -> (status: Int, body: Range<Int>)? {
        let found: (status: Int?, head: Int, body: Int?)? = buffer.withUnsafeBytes { bytes in
            guard let head = bytes.end(of: "\r\n\r\n", in: 0..<received) else { return nil }
            return (
                bytes.number(after: "HTTP/1.1 ", in: 0..<head), head,
                bytes.number(after: "Content-Length: ", in: 0..<head)
            )
        }
        guard let found else { return nil }
        guard let status = found.status, let body = found.body else {
            throw .answer("without a status or Content-Length")
        }
        return received < found.head + body ? nil : (status, found.head..<(found.head + body))
    }

    private func wait(for event: Int32) throws(BenchmarkError) {
        var polled = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        guard poll(&polled, 1, answerPatienceMilliseconds) != 0 else {
            throw .answer("none for \(answerPatienceMilliseconds) ms")
        }
    }
}

/// Rollcall's watchdog answers after 5 s.
private let answerPatienceMilliseconds: Int32 = 20_000
