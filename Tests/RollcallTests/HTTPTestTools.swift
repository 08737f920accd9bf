import Glibc
import Synchronization
import Testing

@testable import RollcallSupport

/// The product's limits with a change.
func httpLimits(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
    var limits = HTTPLimits()
    change(&limits)
    return limits
}

/// The product's limits, for requests that a slow disk may keep waiting.
let patientLimits = httpLimits { $0.parkedDeadline = .seconds(60) }

/// A server that answers each request with what it understood of it.
func echoServer(_ limits: HTTPLimits = HTTPLimits()) throws -> HTTPServer {
    try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0"), limits: limits) {
        request, reply in
        let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ", ")
        let text = "\(request.method) \(request.path) [\(query)] "
        reply.answer(HTTPResponse(status: 200, body: Array(text.utf8) + request.body))
    }
}

/// Replies that wait to be answered.
final class ReplyBox: Sendable {
    private let replies = Mutex<[HTTPReply]>([])

    /// All that came, in their order.
    var all: [HTTPReply] { replies.withLock { $0 } }

    /// The handler: keeps the reply.
    @Sendable func take(_ request: HTTPRequest, _ reply: HTTPReply) {
        replies.withLock { $0.append(reply) }
    }

    /// Takes all out.
    func removeAll() -> [HTTPReply] {
        replies.withLock {
            let all = $0
            $0 = []
            return all
        }
    }

    /// Waits until so many have come.
    func waitFor(_ count: Int) {
        #expect(isTrueSoon { all.count >= count })
    }
}

/// What a server said of its own accord.
final class ReplyCounter: Sendable {
    private let lines = Mutex<[String]>([])

    /// All of it, in its order.
    var all: [String] { lines.withLock { $0 } }

    /// Notes one.
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Whether the condition comes true: after 30 s nobody waits any more, however slow the machine is.
func isTrueSoon(_ condition: () -> Bool) -> Bool {
    for _ in 0..<30_000 {
        if condition() { return true }
        usleep(1000)
    }
    return false
}

/// Makes a call of the system again until no stop of the process interrupts it: "certain blocking
/// interfaces can fail with the error EINTR after the process is stopped and then resumed via
/// SIGCONT", sockets with a time-out among them. Source: signal(7).
func untilUninterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// Runs `other` on a thread of its own while `body` runs here, and waits for both.
func runBeside(
    _ other: @escaping @Sendable () -> Void, while body: () -> Void = {}
) {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Work(run: other))
    pthread_create(&thread, nil, runWork, box.toOpaque())
    body()
    pthread_join(thread, nil)
}

private final class Work: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

/// A client that can say anything, correct or not.
///
/// `@unchecked Sendable` is true because reading and sending threads touch different parts of it.
final class RawClient: @unchecked Sendable {
    /// The connection was refused.
    struct Refused: Error {}
    /// One answer.
    struct Answer {
        /// The status line and the header fields.
        var head: [String]
        /// The body.
        var body: String
        /// The status, if there was an answer at all.
        var status: Int? {
            head.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") }
        }
    }

    private var descriptor: Int32
    private var buffer: [UInt8] = []

    /// Connects.
    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        if connected != 0 {
            Glibc.close(descriptor)
            descriptor = -1
            throw Refused()
        }
    }

    deinit { close(resetting: false) }

    /// Closes, with a reset if wanted.
    func close(resetting: Bool) {
        guard descriptor >= 0 else { return }
        var hard = linger(l_onoff: resetting ? 1 : 0, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Sends, as far as the server lets us.
    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                untilUninterrupted {
                    Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                }
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Whether nothing has come that was not read.
    var hasNothing: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0
            && errno == EAGAIN
    }

    /// Closes our direction.
    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// How a stream ends: without an error, or with this one.
    enum End: Equatable { case orderly, error(Int32) }

    /// Reads to the end, and says which it is. The error is taken at once: whatever is called
    /// afterwards, a free of memory among them, may leave another one.
    private func end() -> End {
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = untilUninterrupted { recv(descriptor, &part, part.count, 0) }
            let error = errno
            if count <= 0 { return count == 0 ? .orderly : .error(error) }
        }
    }

    /// Whether the end of the stream comes, with or without something before it: 0.9.75 answers
    /// a `Content-Length` it cannot read with its head sent twice.
    var isClosed: Bool { [.orderly, .error(ECONNRESET)].contains(end()) }

    /// How the stream ends if nothing is read before it has: who takes what is there makes room for
    /// the rest, and for an end without a reset. Nothing if it does not end.
    var unreadEnd: End? {
        isTrueSoon { tcpInfo(descriptor)?.tcpi_state == UInt8(TCP_CLOSE) } ? end() : nil
    }

    /// Reads one answer.
    func readAnswer(isHead: Bool = false) -> Answer {
        while true {
            let text = String(decoding: buffer, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
                let length = head.first { $0.hasPrefix("Content-Length: ") }?.dropFirst(16)
                let count = isHead ? 0 : Int(length ?? "") ?? 0
                let bytes = text[..<end.upperBound].utf8.count
                if buffer.count >= bytes + count {
                    let body = String(decoding: buffer[bytes..<(bytes + count)], as: UTF8.self)
                    buffer.removeFirst(bytes + count)
                    return Answer(head: head, body: body)
                }
            }
            var part = [UInt8](repeating: 0, count: 65536)
            let count = untilUninterrupted { recv(descriptor, &part, part.count, 0) }
            if count <= 0 { return Answer(head: ["recv \(count) errno \(errno)"], body: text) }
            buffer += part[..<count]
        }
    }
}
