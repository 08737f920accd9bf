import Glibc
import Logging
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// What waits is bounded by the time that it will take, as well as by bytes. Source: style 15.
@Suite(.serialized) struct WorkloadTests {
    private func workload(_ turns: [(bytes: Int, took: Duration)]) -> Workload {
        let workload = Workload()
        for (bytes, took) in turns {
            workload.answered(bytes)
            workload.turned(after: took)
        }
        return workload
    }

    private static let most = 64 << 20

    @Test func `three slow turns that brought much say what may wait`() {
        // A MiB a second: three seconds are three of them.
        let slow = (bytes: 1 << 20, took: Duration.seconds(1))
        #expect(workload([]).bytesMax(of: Self.most) == Self.most)
        #expect(workload([slow, slow]).bytesMax(of: Self.most) == Self.most)
        #expect(workload([slow, slow, slow]).bytesMax(of: Self.most) == 3 << 20)
        #expect(workload([slow, slow, slow]).bytesMax(of: 2 << 20) == 2 << 20)
        let slower = (bytes: 1 << 20, took: Duration.seconds(60))
        let least = workload([slower, slower, slower]).bytesMax(of: Self.most)
        #expect(least == Workload.bytesMin)
    }

    /// The old decision: one slow fsync must not refuse single batches, and blind the watch (B1).
    @Test func `one slow turn, or two, refuse nobody`() {
        let quick = (bytes: 1 << 20, took: Duration.milliseconds(10))
        let slow = (bytes: 1 << 20, took: Duration.seconds(9))
        for turns in [[quick, slow, slow], [slow, quick, slow], [slow, slow, quick]] {
            #expect(workload(turns).bytesMax(of: Self.most) == Self.most)
        }
        #expect(workload([slow, slow, slow, quick]).bytesMax(of: Self.most) == Self.most)
    }

    @Test func `turns that brought little are not asked`() {
        let little = (bytes: Workload.turnBytesMin - 1, took: Duration.seconds(4))
        let much = (bytes: Workload.turnBytesMin, took: Duration.seconds(4))
        #expect(workload([little, little, little]).bytesMax(of: Self.most) == Self.most)
        #expect(workload([much, little, much, little, much]).bytesMax(of: Self.most) < Self.most)
    }

    @Test func `the shares of sources are parts of what may wait`() throws {
        let slow = (bytes: 1 << 20, took: Duration.seconds(1))
        let admission = Admission(workload: workload([slow, slow, slow]))
        let (one, two) = (Array("one".utf8), Array("two".utf8))
        // Of 3 MiB one source alone may have 40 of 64 parts, and 24 while others wait.
        let first = try admission.reserve(one, bytes: 1 << 20)
        #expect(throws: Admission.Refusal.overloaded) { try admission.reserve(one, bytes: 1 << 20) }
        _ = try admission.reserve(two, bytes: 1 << 20)
        #expect(throws: Admission.Refusal.share) { try admission.reserve(one, bytes: 200 << 10) }
        _ = try admission.reserve(Array("three".utf8), bytes: 500 << 10)
        #expect(throws: Admission.Refusal.overloaded) {
            try admission.reserve(Array("four".utf8), bytes: 1 << 20)
        }
        admission.release(first)
        _ = try admission.reserve(Array("four".utf8), bytes: 1 << 20)
    }

    // MARK: With a slow store

    private static let items = 4000
    private static let body =
        "["
        + Array(repeating: #"{"responder_id":"somebody"}"#, count: items).joined(separator: ",")
        + "]"

    private func post(_ port: Int, _ source: String) throws -> RawClient {
        let client = try RawClient(port: port)
        client.send(
            "POST /v1/batches?source=\(source) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "Content-Length: \(Self.body.utf8.count)\r\n\r\n\(Self.body)")
        return client
    }

    @Test func `what a slow store lets in is answered before the watchdog does`() throws {
        let directory = TemporaryDirectory()
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let edge = EdgeStats()
        let workload = Workload()
        let admission = Admission(workload: workload)
        // 80 ms a body: nine seconds for what is posted below.
        let writer = try StateWriter(
            path: directory.store, policy: Policy(), log: log, edge: edge, workload: workload,
            aroundCommit: { turn, isCommitted in
                if !isCommitted { usleep(UInt32(20 * turn.rows.count)) }
            }, refusals: { admission.refused }, onFatal: { _ in })
        let router = Router(
            writer: writer, edge: edge, limits: BodyLimits(ScanLimits()),
            accessPolicy: AccessPolicy(AccessPolicy.Rules(), log: log), admission: admission,
            reloader: Reloader(
                Configuration(), source: .defaults, writer: writer, edge: edge, log: log,
                apply: { _ in EndpointChanges() }))
        let listener = try HTTPListener(address: "127.0.0.1:0")
        let door = AccessPoint(listener)
        let http = try HTTPServer(
            listener: listener, early: { router.authorise($0, at: door) },
            handler: { router.handle($0, $1) })
        writer.start()
        defer {
            http.stop()
            router.close()
            writer.stop {}
        }
        var rounds = 0
        while workload.bytesMax(of: 64 << 20) == 64 << 20, rounds < 40 {
            rounds += 1
            let clients = try (0..<6).map { try post(http.port, "warm-\($0)") }
            for client in clients { #expect(client.readAnswer().status == 200) }
        }
        #expect(workload.bytesMax(of: 64 << 20) < 64 << 20)
        let clients = try (0..<120).map { try post(http.port, "pod-\($0 % 12)") }
        let statuses = clients.map { $0.readAnswer().status }
        #expect(http.stats.parkedExpired == 0, "nothing that was let in is answered for its age")
        #expect(statuses.contains(200) && Set(statuses).isSubset(of: [200, 429, 503]))
        #expect(statuses.contains { $0 != 200 })
    }
}
