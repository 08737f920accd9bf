import Glibc
import Synchronization

/// A pager at 127.0.0.1 that takes every event, or none while it is away.
final class StormPager: Sendable {
    /// Where events are to be posted.
    let port: UInt16
    private let listener: Int32
    private let taken = Atomic(0)
    private let met = Atomic(0)
    private let isAway = Atomic(false)
    private let isOver = Atomic(false)
    private let thread: LoadThread

    private static let answerTaken = response("202 Accepted")
    private static let answerAway = response("503 Service Unavailable")

    /// Listens. It is to be closed.
    init() throws(BenchmarkError) {
        let (descriptor, port) = try loopbackListener()
        listener = descriptor
        self.port = port
        let box = PagerBox()
        thread = try LoadThread { () throws(BenchmarkError) in
            while box.pager == nil { usleep(1000) }
            box.pager?.serve()
        }
        box.set(self)
    }

    /// Events that it took.
    var count: Int { taken.load(ordering: .relaxed) }
    /// Events that it was asked to take, whatever it answered.
    var asked: Int { met.load(ordering: .relaxed) }

    /// From now on it answers 503, or takes what comes.
    func set(away: Bool) { isAway.store(away, ordering: .relaxed) }

    /// Waits until so many were taken. Errors: not within ten minutes.
    func wait(for count: Int) throws(BenchmarkError) {
        let deadline = Nanoseconds.now() + .milliseconds(600_000)
        while self.count < count {
            guard Nanoseconds.now() < deadline else {
                throw .answer("the pager was told \(self.count) of \(count) events")
            }
            usleep(2000)
        }
    }

    /// Ends it.
    func stop() throws(BenchmarkError) {
        isOver.store(true, ordering: .relaxed)
        try thread.join()
        close(listener)
    }

    private static func response(_ status: String) -> [UInt8] {
        Array("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n".utf8)
    }

    /// Answers over all connections until it is over.
    fileprivate func serve() {
        var connections: [(descriptor: Int32, bytes: [UInt8])] = []
        defer { for connection in connections { close(connection.descriptor) } }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while !isOver.load(ordering: .relaxed) {
            var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            polled += connections.map {
                pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&polled, nfds_t(polled.count), 50) > 0 else { continue }
            for place in connections.indices.reversed() where polled[place + 1].revents != 0 {
                let count = recv(connections[place].descriptor, &buffer, buffer.count, 0)
                if count > 0 {
                    connections[place].bytes += buffer[..<count]
                    answer(&connections[place])
                } else if count == 0 || errno != EAGAIN {
                    close(connections[place].descriptor)
                    connections.remove(at: place)
                }
            }
            if polled[0].revents != 0, case let new = accept(listener, nil, nil), new >= 0 {
                _ = fcntl(new, F_SETFL, O_NONBLOCK)
                connections.append((new, []))
            }
        }
    }

    /// Answers each request that is whole.
    private func answer(_ connection: inout (descriptor: Int32, bytes: [UInt8])) {
        while let length = Self.requestBytes(connection.bytes) {
            connection.bytes.removeFirst(length)
            let isTaken = !isAway.load(ordering: .relaxed)
            met.add(1, ordering: .relaxed)
            let bytes = isTaken ? Self.answerTaken : Self.answerAway
            // A few bytes to a loopback peer that waits for them.
            _ = send(connection.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            if isTaken { taken.add(1, ordering: .relaxed) }
        }
    }

    /// The length of the first request with its body; nil if it is not whole yet.
    private static func requestBytes(_ bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let head = bytes.end(of: "\r\n\r\n", in: 0..<bytes.count) else { return nil }
            let body = bytes.number(after: "Content-Length: ", in: 0..<head) ?? 0
            return head + body <= bytes.count ? head + body : nil
        }
    }
}

/// Hands a pager over to its thread, which is started before it is whole.
private final class PagerBox: Sendable {
    private let held = Mutex<StormPager?>(nil)

    /// The pager, once it is whole.
    var pager: StormPager? { held.withLock { $0 } }

    func set(_ pager: StormPager) { held.withLock { $0 = pager } }
}
