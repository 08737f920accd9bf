import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// How much may wait for the state writer, and whose fault it is if it is too much.
@Suite(.serialized) struct AdmissionTests {
    private let one = Array("one".utf8)
    private let two = Array("two".utf8)
    private static let own = Admission.writeBytes

    private func admission(_ change: (inout Admission.Limits) -> Void) -> Admission {
        var limits = Admission.Limits()
        change(&limits)
        return Admission(limits: limits)
    }

    @Test func `a source alone may go on until only the room for others is left`() throws {
        let admission = admission {
            $0.sharedWritesMax = 2
            $0.aloneBytesMax = 3 * (10 + Self.own)
        }
        let places = try (0..<3).map { _ in try admission.reserve(one, bytes: 10) }
        #expect(throws: Admission.Refusal.overloaded) { try admission.reserve(one, bytes: 0) }
        #expect(throws: Admission.Refusal.overloaded) { try admission.check(one) }
        #expect(admission.refused == 2)
        let other = try admission.reserve(two, bytes: 10)
        // From now on it has more than its share.
        #expect(throws: Admission.Refusal.share) { try admission.reserve(one, bytes: 0) }
        for place in places.dropFirst() { admission.release(place) }
        let again = try admission.reserve(one, bytes: 10)
        #expect(throws: Admission.Refusal.share) { try admission.check(one) }
        admission.release(other)
        _ = try admission.reserve(one, bytes: 10)
        admission.release(again)
        #expect(admission.refused == 2)
    }

    @Test func `while others wait a source has its share of writes and of bytes, and no more`()
        throws
    {
        let writes = admission { $0.sharedWritesMax = 3 }
        _ = try writes.reserve(two, bytes: 0)
        for _ in 0..<3 { _ = try writes.reserve(one, bytes: 0) }
        #expect(throws: Admission.Refusal.share) { try writes.reserve(one, bytes: 0) }
        _ = try writes.reserve(one, bytes: 0, isShared: false)
        let bytes = admission { $0.sharedBytesMax = 100 + Self.own }
        _ = try bytes.reserve(two, bytes: 0)
        #expect(throws: Admission.Refusal.share) { try bytes.reserve(one, bytes: 101) }
        _ = try bytes.reserve(one, bytes: 100)
        #expect(writes.refused + bytes.refused == 0)
    }

    @Test func `all together have a limit, and one body always finds room`() throws {
        let admission = admission { $0.bytesMax = 2 * Self.own + 100 }
        let first = try admission.reserve(one, bytes: 1 << 20)
        #expect(throws: Admission.Refusal.overloaded) { try admission.reserve(two, bytes: 0) }
        admission.release(first)
        _ = try admission.reserve(one, bytes: 50)
        let last = try admission.reserve(two, bytes: 50)
        let third = Array("three".utf8)
        #expect(throws: Admission.Refusal.overloaded) {
            try admission.reserve(third, bytes: 0, isShared: false)
        }
        admission.release(last)
        #expect(throws: Admission.Refusal.overloaded) { try admission.reserve(third, bytes: 51) }
        _ = try admission.reserve(third, bytes: 50)
        #expect(admission.refused == 3)
    }

    // MARK: With a state writer that is held up

    @Test func `a source that floods is told so, and the others are taken`() throws {
        let house = try HeldHouse { $0.sharedWritesMax = 4 }
        let quiet = try house.post("quiet", 1)
        #expect(isTrueSoon { house.admission.waiting == 1 })
        let loud = try house.post("loud", 6)
        #expect(isTrueSoon { house.counted(429) == 2 })
        let later = try house.post("quiet", 2)
        let beat = try RawClient(port: house.http.port)
        let body = "{\"every_seconds\":60}"
        beat.send(
            "POST /v1/heartbeat?source=loud HTTP/1.1\r\nHost: a\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        // One and two quiet ones, four loud ones, and a heartbeat, of which nobody has too many.
        #expect(isTrueSoon { house.admission.waiting == 8 })
        house.release()
        for client in quiet + later + [beat] { #expect(client.readAnswer().status == 200) }
        let answers = loud.map { $0.readAnswer() }
        #expect(
            answers.map(\.status).sorted { $0 ?? 0 < $1 ?? 0 } == [200, 200, 200, 200, 429, 429])
        let refused = try #require(answers.first { $0.status == 429 })
        #expect(refused.head.contains("Retry-After: 1"))
        #expect(refused.head.contains("Content-Type: application/problem+json"))
        #expect(house.admission.refused == 0)
        #expect(!house.isBlind)
    }

    @Test func `too much in all is answered 503, and it blinds the watch`() throws {
        let house = try HeldHouse { $0.bytesMax = 4 * (Self.own + HeldHouse.bodyBytes) }
        let clients = try (0..<14).flatMap { try house.post("pod-\($0)", 1) }
        #expect(isTrueSoon { house.counted(503) == 10 })
        house.release()
        let statuses = clients.map { $0.readAnswer().status }
        #expect(statuses.count { $0 == 200 } == 4)
        #expect(statuses.count { $0 == 503 } == 10)
        #expect(isTrueSoon { house.isBlind })
    }

    @Test func `what the watchdog answered is counted as it was answered`() throws {
        let house = try HeldHouse(limits: httpLimits { $0.parkedDeadline = .milliseconds(100) })
        let clients = try house.post("one", 2)
        for client in clients { #expect(client.readAnswer().status == 503) }
        #expect(house.http.stats.writesRefused == 2)
        // A question is no write.
        let question = try RawClient(port: house.http.port)
        question.send("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(question.readAnswer().status == 503)
        #expect(house.http.stats.writesRefused == 2)
        #expect(house.http.stats.parkedExpired == 3)
        house.release()
        #expect(isTrueSoon { house.counted(503) == 2 })
        #expect(house.counted(200) == 0)
    }
}

/// A server whose state writer stands still until it is released.
private final class HeldHouse: @unchecked Sendable {
    let admission: Admission
    let http: HTTPServer
    private let writer: StateWriter
    private let router: Router
    private let edge = EdgeStats()
    private let directory = TemporaryDirectory()
    private let gate = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let closed = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private var isHeld = true

    private static let body = "{\"responder_id\":\"somebody\"}"
    static var bodyBytes: Int { body.utf8.count }

    init(
        limits: HTTPLimits = patientLimits, _ change: (inout Admission.Limits) -> Void = { _ in }
    ) throws {
        sem_init(gate, 0, 0)
        sem_init(closed, 0, 0)
        var shares = Admission.Limits()
        change(&shares)
        let admission = Admission(limits: shares)
        self.admission = admission
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        writer = try StateWriter(
            path: directory.store, policy: Policy(), log: log, edge: edge,
            refusals: { admission.refused }, onFatal: { _ in })
        let router = Router(
            writer: writer, edge: edge, limits: BodyLimits(ScanLimits()),
            accessPolicy: AccessPolicy(AccessPolicy.Rules(), log: log), admission: admission,
            reloader: Reloader(
                Configuration(), source: .defaults, writer: writer, edge: edge, log: log,
                apply: { _ in EndpointChanges() }))
        self.router = router
        let listener = try HTTPListener(address: "127.0.0.1:0")
        var accessPoint = AccessPoint(listener)
        accessPoint.isLoopback = false
        http = try HTTPServer(
            listener: listener, limits: limits,
            early: { [accessPoint] in router.authorise($0, at: accessPoint) },
            handler: { router.handle($0, $1) })
        let box = Gate(gate)
        let isReached = Reached()
        writer.ask { _ in
            isReached.flag.store(true, ordering: .relaxed)
            while sem_wait(box.semaphore) != 0 && errno == EINTR {}
        }
        writer.start()
        #expect(isTrueSoon { isReached.flag.load(ordering: .relaxed) })
    }

    /// Lets the state writer go on.
    func release() {
        isHeld = false
        sem_post(gate)
    }

    /// Posts so many batches, each on a connection of its own.
    func post(_ source: String, _ count: Int) throws -> [RawClient] {
        try (0..<count).map { _ in
            let client = try RawClient(port: http.port)
            client.send(
                "POST /v1/batches?source=\(source) HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Length: \(Self.bodyBytes)\r\n\r\n\(Self.body)")
            return client
        }
    }

    /// Batches that were answered with this code.
    func counted(_ code: Int) -> Int {
        var page = Exposition(format: .text)
        edge.append(to: &page)
        let text = String(decoding: page.finish(), as: UTF8.self)
        let series = "rollcall_http_requests_total{route=\"batches\",code=\"\(code)\"} "
        return text.split(separator: "\n").lazy
            .compactMap { $0.hasPrefix(series) ? Int($0.dropFirst(series.count)) : nil }.first ?? 0
    }

    /// Whether the watch is blind for overload.
    var isBlind: Bool {
        let client = try? RawClient(port: http.port)
        client?.send("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n")
        return client?.readAnswer().body.contains("\"overload\"") ?? false
    }

    deinit {
        if isHeld { release() }
        http.stop()
        router.close()
        let box = Gate(closed)
        writer.stop { sem_post(box.semaphore) }
        while sem_wait(closed) != 0 && errno == EINTR {}
        for semaphore in [gate, closed] {
            sem_destroy(semaphore)
            semaphore.deallocate()
        }
    }

    private final class Reached: Sendable {
        let flag = Atomic(false)
    }

    /// `@unchecked Sendable` is true because semaphores are made for several threads.
    private struct Gate: @unchecked Sendable {
        let semaphore: UnsafeMutablePointer<sem_t>
        init(_ semaphore: UnsafeMutablePointer<sem_t>) { self.semaphore = semaphore }
    }
}
