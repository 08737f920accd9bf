import Foundation
import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S2, S3, S8, S12: the turn log on a real etcd. Without `etcd` on this machine nothing is tested.
@Suite(.serialized, .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/etcd")))
struct EtcdStoreTests {
    /// One etcd on loopback, killed with this.
    private final class RunningEtcd {
        let directory = TemporaryDirectory()
        let client: Int
        private let peer: Int
        private var process = Process()

        init() throws {
            (client, peer) = (try Self.freePort(), try Self.freePort())
            try start()
        }

        deinit { kill() }

        var endpoint: String { "http://127.0.0.1:\(client)" }

        func start() throws {
            process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/etcd")
            process.arguments = [
                "--name", "e", "--data-dir", "\(directory.path)/etcd", "--listen-client-urls",
                endpoint, "--advertise-client-urls", endpoint, "--listen-peer-urls",
                "http://127.0.0.1:\(peer)", "--initial-advertise-peer-urls",
                "http://127.0.0.1:\(peer)", "--initial-cluster", "e=http://127.0.0.1:\(peer)",
            ]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
        }

        func kill() {
            guard process.isRunning else { return }
            _ = Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        private static func freePort() throws -> Int {
            let listener = try HTTPListener(address: "127.0.0.1:0")
            defer { listener.close() }
            return Int(listener.port)
        }
    }

    /// A store that waits for what it asks.
    private struct Asking {
        let store: EtcdStore

        init(_ endpoints: [String], timeout: Int64 = 2000) {
            var settings = EtcdSettings(endpoints: endpoints)
            settings.timeout = Milliseconds(timeout)
            store = EtcdStore(settings)
        }

        func run(_ transaction: KeyValueTransaction) throws -> KeyValueOutcome {
            try Self.wait { reply in store.run(transaction, reply: reply) }
        }

        /// Asks until the etcd answers.
        func waitUntilThere() throws {
            for _ in 0..<100 {
                if case .answered = try run(KeyValueTransaction([.get(key: [1])])) { return }
                usleep(100_000)
            }
            Issue.record("etcd does not come up")
        }

        static func wait<Value: Sendable>(
            _ ask: (@escaping @Sendable (Value) -> Void) -> Void
        ) throws -> Value {
            let box = Mailbox<Value>()
            ask { box.put($0) }
            for _ in 0..<20 {
                if let value = box.takeAll(waiting: 1000).first { return value }
            }
            throw CancellationError()
        }
    }

    private static func entry(_ position: Int64, after previous: UInt64, _ body: [UInt8])
        -> LogEntry
    {
        LogEntry(
            position == 1 ? .creation : .turn, at: position, after: previous,
            origin: LogOrigin(
                member: Array("a".utf8), incarnation: 1, reign: 1, serial: position),
            body: body)
    }

    @Test("S2, S8, S12: the turn log on etcd: made, appended to, beaten, read, trimmed")
    func turnLog() throws {
        let etcd = try RunningEtcd()
        // The first endpoint is nobody's: what certainly reached nobody goes to the next.
        let asking = Asking(["http://127.0.0.1:1", etcd.endpoint])
        defer { asking.store.close() }
        try asking.waitUntilThere()
        var sizes = RingLog.Sizes()
        sizes.slots = 64
        sizes.partBytes = 4096
        let log = RingLog(asking.store, prefix: Array("/t/".utf8), sizes: sizes)
        let nothing: HeadOutcome = try Asking.wait { log.head(reply: $0) }
        #expect(nothing == HeadOutcome.none)
        let first = Self.entry(1, after: 0, [1, 2, 3])
        guard case .landed = try Asking.wait({ log.create(log: 9, first, reply: $0) }) else {
            Issue.record("not made")
            return
        }
        let second: AppendOutcome = try Asking.wait { log.create(log: 8, first, reply: $0) }
        #expect(second == .refused)
        guard case .view(let view) = try Asking.wait({ log.head(reply: $0) }) else {
            Issue.record("no head")
            return
        }
        #expect(view.head.log == 9 && view.head.position == 1)
        // What the watch tells is what is read.
        let news = Mailbox<LogNews>()
        log.watch(after: view.head.revision) { news.put($0) }
        // In one request, and in parts.
        var last = view
        var entries: [LogEntry] = []
        for (index, size) in [10, 20_000, 0].enumerated() {
            let entry = Self.entry(
                Int64(index + 2), after: last.head.hash,
                (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) })
            guard
                case .landed(let head) = try Asking.wait({
                    log.append(entry, after: last, reply: $0)
                })
            else {
                Issue.record("not landed")
                return
            }
            // S2: whoever holds the end from before is refused.
            let late = Self.entry(Int64(index + 2), after: last.head.hash, [9])
            let refused: AppendOutcome = try Asking.wait { [last] in
                log.append(late, after: last, reply: $0)
            }
            #expect(refused == .refused)
            last.head = head
            entries.append(entry)
        }
        guard case .landed = try Asking.wait({ log.beat(after: last.head, reply: $0) }) else {
            Issue.record("no beat")
            return
        }
        guard
            case .entries(let read, _) = try Asking.wait({
                log.read(after: 1, limit: 10, reply: $0)
            })
        else {
            Issue.record("not read")
            return
        }
        #expect(read.map(\.entry) == entries)
        var heard: [Int64] = []
        var hasBeaten = false
        for _ in 0..<50 where !hasBeaten {
            for item in news.takeAll(waiting: 100) {
                switch item {
                case .entry(let landed): heard.append(landed.entry.position)
                case .beat: hasBeaten = true
                case .lost: Issue.record("the watch is lost")
                }
            }
        }
        #expect(hasBeaten && heard.contains(2) && heard == heard.sorted())
    }

    @Test(
        "S3: an etcd that dies and comes back: nothing hangs, and the watch goes on where it broke")
    func restart() throws {
        let etcd = try RunningEtcd()
        let asking = Asking([etcd.endpoint], timeout: 1000)
        defer { asking.store.close() }
        try asking.waitUntilThere()
        let key = Array("/k".utf8)
        let news = Mailbox<KeyValueNews>()
        asking.store.watch(prefix: key, after: 1) { news.put($0) }
        func put(_ value: UInt8) throws -> KeyValueOutcome {
            try asking.run(KeyValueTransaction([.put(key: key, value: [value])]))
        }
        guard case .answered = try put(1) else {
            Issue.record("not put")
            return
        }
        etcd.kill()
        switch try put(2) {
        case .answered: Issue.record("an answer of nobody")
        case .notRun, .unknown: break
        }
        try etcd.start()
        try asking.waitUntilThere()
        guard case .answered(let answer) = try put(3) else {
            Issue.record("not put again")
            return
        }
        var values: [UInt8] = []
        for _ in 0..<100 where values.last != 3 {
            for case .changed(let rows) in news.takeAll(waiting: 100) {
                values += rows.flatMap(\.value)
            }
        }
        #expect(values.first == 1 && values.last == 3)
        #expect(Set(values).count == values.count)
        // S12: what is compacted is gone for whoever watches from before.
        asking.store.forget(before: answer.revision)
        usleep(300_000)
        let late = Mailbox<KeyValueNews>()
        asking.store.watch(prefix: key, after: 1) { late.put($0) }
        var isGone = false
        for _ in 0..<50 where !isGone {
            isGone = late.takeAll(waiting: 100).contains(.gone)
        }
        #expect(isGone)
    }
}
