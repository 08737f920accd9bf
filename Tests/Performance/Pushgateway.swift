import Glibc

/// The peer that backends push to today: one group for each responder, scraped by Prometheus.
struct Pushgateway {
    /// The process.
    let server: ServerProcess

    /// The name of its program, and of the package that has it.
    static let name = "prometheus-pushgateway"

    /// Its name in reports, without its check.
    static let looseTitle = "Pushgateway"

    private static let patience = Nanoseconds.milliseconds(30_000)

    /// Starts it, with what a stopped one left in `store`.
    ///
    /// Without its check it answers 202 before it has looked at what was pushed, and "DANGEROUS" is
    /// its own word for it.
    init(_ program: Program, store: String, isChecking: Bool) throws(BenchmarkError) {
        let check = isChecking ? [] : ["--push.disable-consistency-check"]
        server = try ServerProcess(
            name: Self.looseTitle, executable: program.path,
            arguments: [
                "--web.listen-address=127.0.0.1:0", "--persistence.file=\(store)",
                "--log.level=info",
            ] + check,
            announcement: .log, errorsPath: store + "-errors")
    }

    /// One that runs.
    init(_ server: ServerProcess) { self.server = server }

    /// Pushes every responder's group once and waits until all of them are there.
    func fill(_ source: inout BatchSource) throws(BenchmarkError) {
        let connections = 4
        let workload = Workload(
            name: "groups", connections: connections, batchesPerRequest: 1, form: .push)
        var generator = try LoadGenerator(workload, to: server)
        try generator.run(&source, requests: source.people / connections)
        let deadline = Nanoseconds.now() + Self.patience
        var groups = 0
        while Nanoseconds.now() < deadline {
            groups = try Page(port: server.port, path: "/metrics").count(
                of: GroupPush.lastSeen + "{")
            if groups == source.people { return }
            usleep(100_000)
        }
        throw .answer("Pushgateway has \(groups) groups of \(source.people)")
    }
}

/// A page that was asked for over a connection of its own, as HTTP/1.0: servers that stream then
/// send it as it is, without chunks.
struct Page {
    /// Without the head.
    let body: ArraySlice<UInt8>
    /// From connecting to the last byte.
    let span: Nanoseconds
    /// The code of its status line.
    let status: Int

    private static let patienceMilliseconds: Int32 = 20_000

    /// Asks a server on the loopback interface.
    init(port: UInt16, path: String) throws(BenchmarkError) {
        let begun = Nanoseconds.now()
        let descriptor = try connectedSocket(port: port)
        defer { close(descriptor) }
        let request = Array("GET \(path) HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw .system(call: "send", errno: errno)
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { break }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno == EAGAIN {
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&polled, 1, Self.patienceMilliseconds) != 0 else {
                    throw .answer("GET \(path): none for \(Self.patienceMilliseconds) ms")
                }
            } else if errno != EINTR {
                throw .system(call: "recv", errno: errno)
            }
        }
        span = Nanoseconds.now() - begun
        let head = bytes.withUnsafeBytes { bytes in
            bytes.end(of: "\r\n\r\n", in: 0..<bytes.count).map { end in
                (end, bytes.number(after: " ", in: 0..<end))
            }
        }
        guard let (end, code) = head, let code else {
            throw .answer("GET \(path): without a head or a status")
        }
        status = code
        body = bytes[end...]
    }

    /// How often a text occurs.
    func count(of text: String) -> Int {
        let text = Array(text.utf8)
        guard let first = text.first else { return 0 }
        var count = 0
        var index = body.startIndex
        while let found = body[index...].firstIndex(of: first) {
            if body[found...].starts(with: text) { count += 1 }
            index = found + 1
        }
        return count
    }

    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }
}
