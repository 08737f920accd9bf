import Glibc

/// A stream of events over a connection of its own: counts what comes and checks that it comes in
/// order.
///
/// Owns its socket and its buffer, which never leave this file. For one thread.
final class EventStream {
    private static let bufferBytes = 256 << 10
    private static let patienceMilliseconds: Int32 = 20_000

    /// The socket, for poll(2).
    let descriptor: Int32
    /// Events so far, without the first word of the stream.
    private(set) var events = 0
    /// The number of the newest event, or of where it began.
    private(set) var last: Int

    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: bufferBytes, alignment: 1)
    private var received = 0
    private var hasBegun = false

    /// Asks for what is behind a place; it has not begun yet.
    init(port: UInt16, behind place: EventPlace) throws(BenchmarkError) {
        descriptor = try connectedSocket(port: port)
        last = place.number
        let request = Array(
            """
            GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\
            Last-Event-ID: \(place.cursor)\r\n\r\n
            """.utf8)
        let sent = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
        // A new connection has room for so little.
        guard sent == request.count else { throw .system(call: "send", errno: errno) }
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// Waits until it has begun.
    func begin() throws(BenchmarkError) {
        while !hasBegun { try wait() }
    }

    /// Waits for more and takes it. Errors: nothing comes, or what is wrong.
    func wait() throws(BenchmarkError) {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, Self.patienceMilliseconds) > 0 else {
            throw .answer("a stream told nothing for \(Self.patienceMilliseconds) ms")
        }
        try take()
    }

    /// Takes what has come. Errors: the stream ended, or an event is not behind the one before.
    func take() throws(BenchmarkError) {
        while let base = buffer.baseAddress {
            let count = recv(descriptor, base + received, buffer.count - received, 0)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { return }
            guard count > 0 else { throw .answer("a stream ended") }
            received += count
            try read()
        }
    }

    /// Reads whole lines and keeps the rest.
    private func read() throws(BenchmarkError) {
        let bytes = UnsafeRawBufferPointer(buffer)
        var place = 0
        if !hasBegun {
            guard let end = bytes.end(of: "\nevent: begin\n", in: 0..<received) else { return }
            guard bytes.end(of: "HTTP/1.1 200 ", in: 0..<end) == 13 else {
                throw .answer("no stream: \(String(decoding: bytes[..<received], as: UTF8.self))")
            }
            hasBegun = true
            place = end
        }
        while let start = bytes.end(of: "\n\nid: ", in: place..<received) {
            guard let end = bytes.end(of: "\nevent: ", in: start..<received) else { break }
            guard let number = bytes.number(after: "-", in: start..<end), number > last else {
                throw .answer("an event of a stream is not behind number \(last)")
            }
            last = number
            events += 1
            place = end
        }
        // The longest that a mark may have begun with; all before it is read.
        place = max(place, received - 512)
        if let base = buffer.baseAddress { memmove(base, base + place, received - place) }
        received -= place
    }
}

/// A place among the events.
struct EventPlace: Sendable {
    /// The epoch of the server's cursors.
    let epoch: String
    /// The number of the last event before it.
    let number: Int

    /// As it stands in `after`.
    var cursor: String { "\(epoch)-\(number)" }

    /// The same epoch's first place: all events are behind it.
    var first: EventPlace { EventPlace(epoch: epoch, number: 0) }

    /// The place behind all that was decided so far.
    init(now caller: Caller) throws(BenchmarkError) {
        let text = try caller.ask("GET", "/v1/events?after=now").text
        let cursor = text.split(separator: "\"").dropLast().last ?? ""
        let parts = cursor.split(separator: "-")
        guard parts.count == 2, let number = Int(parts[1]) else {
            throw .answer("no cursor: \(text)")
        }
        self.init(epoch: String(parts[0]), number: number)
    }

    private init(epoch: String, number: Int) {
        self.epoch = epoch
        self.number = number
    }
}
