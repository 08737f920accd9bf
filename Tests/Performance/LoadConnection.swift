import Glibc

/// One keep-alive connection of the load: sends a request, reads its answer, checks it.
///
/// Owns its socket and its buffers, which never leave this file.
final class LoadConnection {
    /// What came of reading.
    enum Reading {
        /// The answer is not whole yet.
        case partial
        /// The answer is whole and right.
        case answered
        /// The answer is a whole 503: the server does not take more now.
        case refused(hasRetryAfter: Bool)
        /// The server closed the connection, and no whole answer came.
        case cut
    }

    /// The socket, for poll(2).
    private(set) var descriptor: Int32
    /// When the request on its way was begun.
    private(set) var begun = Nanoseconds(count: 0)

    private let port: UInt16
    private let form: Workload.Form
    private let request: UnsafeMutableRawBufferPointer
    private let batches: [Range<Int>]
    private let answer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: answerBytesMax, alignment: 1)
    private var sent = 0
    private var received = 0
    private var isBroken = false

    /// Connects to a port of the loopback interface.
    init(port: UInt16, workload: Workload) throws(BenchmarkError) {
        descriptor = try connectedSocket(port: port)
        self.port = port
        form = workload.form
        let (bytes, batches) = workload.request()
        self.batches = batches
        request = .allocate(byteCount: bytes.count, alignment: 1)
        request.copyBytes(from: bytes)
        if form == .row {
            try PostgresCaller.begin(descriptor, preparing: RowUpsert.statement)
        }
    }

    deinit {
        close(descriptor)
        request.deallocate()
        answer.deallocate()
    }

    /// Batches in each of its requests.
    var batchesPerRequest: Int { batches.count }

    /// Connects anew, if the server does not want to go on with this connection.
    func renew() throws(BenchmarkError) {
        guard isBroken || isSending || isLast else { return }
        close(descriptor)
        // Not closed twice should there be no new one.
        descriptor = -1
        descriptor = try connectedSocket(port: port)
        isBroken = false
        sent = request.count
        received = 0
    }

    /// Writes new batches into the request and begins to send it.
    func begin(_ source: inout BatchSource, at now: Nanoseconds) throws(BenchmarkError) {
        for batch in batches {
            let bytes = UnsafeMutableRawBufferPointer(rebasing: request[batch])
            switch form {
            case .object, .lines: source.writeNext(bytes)
            case .push: source.writeNextPush(bytes)
            case .row: source.writeNextRow(bytes)
            }
        }
        begun = now
        sent = 0
        received = 0
        try send()
    }

    /// True while poll(2) has to wait until more can be sent.
    var isSending: Bool { sent < request.count && !isBroken }

    /// Sends what the socket takes.
    func send() throws(BenchmarkError) {
        while isSending, let base = request.baseAddress {
            let count = Glibc.send(
                descriptor, base + sent, request.count - sent, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                return
            } else if errno == EPIPE || errno == ECONNRESET {
                // What the server said before it closed is still to be read.
                isBroken = true
            } else if errno != EINTR {
                throw .system(call: "send", errno: errno)
            }
        }
    }

    /// Reads what has come. Errors: an answer that is neither 503 nor 2xx, or did not take every
    /// batch.
    func read() throws(BenchmarkError) -> Reading {
        while let base = answer.baseAddress {
            let count = recv(descriptor, base + received, answer.count - received, 0)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { return .partial }
            if count == 0 || errno == ECONNRESET && count < 0 {
                isBroken = true
                return .cut
            }
            guard count > 0 else { throw .system(call: "recv", errno: errno) }
            received += count
            if let reading = try whole() { return reading }
            // The rest is on its way: asking at once would cost a call for nothing.
            return .partial
        }
        return .partial
    }

    /// What was received since the last request.
    var text: String {
        String(decoding: UnsafeRawBufferPointer(answer)[..<received], as: UTF8.self)
    }

    /// Whether the server said that it closes the connection.
    private var isLast: Bool {
        let answer = UnsafeRawBufferPointer(answer)
        guard let head = answer.end(of: "\r\n\r\n", in: 0..<received) else { return false }
        return answer.end(of: "\r\nConnection: close\r\n", in: 0..<head) != nil
    }

    /// What the answer is once all of it is there; nil before.
    private func whole() throws(BenchmarkError) -> Reading? {
        let answer = UnsafeRawBufferPointer(answer)
        if form == .row { return try wholeRow(answer) }
        guard let head = answer.end(of: "\r\n\r\n", in: 0..<received) else {
            if received == answer.count { throw .answer("its head has no end: \(text)") }
            return nil
        }
        guard let body = answer.number(after: "Content-Length: ", in: 0..<head) else {
            throw .answer("without Content-Length: \(text)")
        }
        guard head + body <= answer.count else {
            throw .answer("of \(body) bytes where \(answer.count - head) are enough: \(text)")
        }
        guard received >= head + body else { return nil }
        if answer.number(after: "HTTP/1.1 ", in: 0..<head) == 503 {
            return .refused(
                hasRetryAfter: answer.number(after: "\r\nRetry-After: ", in: 0..<head) != nil)
        }
        // The first "accepted" is that of the items; that of the updates comes after it.
        guard received == head + body, answer.end(of: "HTTP/1.1 2", in: 0..<head) == 10,
            form == .push
                || answer.number(after: "\"accepted\":", in: head..<received) == batches.count
        else { throw .answer("expected 2xx and \(batches.count) accepted, got: \(text)") }
        return .answered
    }
}

extension LoadConnection {
    /// The same of PostgreSQL: a row was put there or replaced, and it is ready for the next.
    private func wholeRow(_ answer: UnsafeRawBufferPointer) throws(BenchmarkError) -> Reading? {
        let last = max(0, received - 6)..<received
        guard answer.end(of: "Z\0\0\0\u{5}I", in: last) != nil else {
            if received == answer.count { throw .answer("without an end: \(text)") }
            return nil
        }
        guard answer.end(of: "INSERT 0 1\0", in: 0..<received) != nil else {
            throw .answer("one row expected, got: \(text)")
        }
        return .answered
    }
}

/// Longer than any answer that is expected, so that a wrong one can be shown.
private let answerBytesMax = 64 << 10

/// A non-blocking socket that is connected to a port of the loopback interface.
func connectedSocket(port: UInt16) throws(BenchmarkError) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
    var address = loopback(port: port)
    let result = withSocketAddress(&address) { connect(descriptor, $0, $1) }
    guard result == 0 else {
        let number = errno
        close(descriptor)
        throw .system(call: "connect to 127.0.0.1:\(port)", errno: number)
    }
    var yes: Int32 = 1
    setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    var on: Int32 = 1
    guard ioctl(descriptor, UInt(FIONBIO), &on) == 0 else {
        let number = errno
        close(descriptor)
        throw .system(call: "ioctl", errno: number)
    }
    return descriptor
}
