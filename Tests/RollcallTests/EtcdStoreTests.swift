import Foundation
import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S2, S3, S8, S12: the turn log on a real etcd. Without `etcd` on this machine nothing is tested.
@Suite(.serialized, .enabled(if: RunningEtcd.isThere))
struct EtcdStoreTests {
    /// A store that waits for what it asks.
    private struct Asking {
        let store: EtcdStore

        init(_ endpoints: [String], _ change: (inout EtcdSettings) -> Void = { _ in }) {
            var settings = EtcdSettings(endpoints: endpoints)
            settings.timeout = Milliseconds(1000)
            change(&settings)
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

    @Test("S2, S8, S12: the turn log on etcd: made, appended to, beaten, read, trimmed")
    func turnLog() throws {
        let etcd = try RunningEtcd()
        // The first endpoint is nobody's: what certainly reached nobody goes to the next.
        let asking = Asking(["http://127.0.0.1:1"] + etcd.endpoints)
        defer { asking.store.close() }
        try asking.waitUntilThere()
        try TurnLogExercise.run(on: asking.store)
    }

    @Test(
        "S3: an etcd that dies and comes back: nothing hangs, and the watch goes on where it broke")
    func restart() throws {
        let etcd = try RunningEtcd()
        let asking = Asking(etcd.endpoints)
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

    private static func put(_ value: [UInt8], at key: UInt8 = 107) -> KeyValueTransaction {
        KeyValueTransaction([.put(key: [key], value: value)])
    }

    @Test("S3: a member of three dies: within seconds the others answer, and nothing is put twice")
    func memberDies() throws {
        let etcd = try RunningEtcd(members: 3)
        let asking = Asking(etcd.endpoints)
        defer { asking.store.close() }
        try asking.waitUntilThere()
        var revision: Int64 = 0
        guard case .answered(let answer) = try asking.run(Self.put([0])) else {
            Issue.record("not put")
            return
        }
        revision = answer.revision
        etcd.kill(0)
        var landed: UInt8 = 0
        for value: UInt8 in 1...60 where landed == 0 {
            // As the log does: each put compares what it stands on, and unknown ones are read.
            let transaction = KeyValueTransaction(
                if: [.revision(key: [107], is: revision)],
                [.put(key: [107], value: [value])], otherwise: [.get(key: [107])])
            switch try asking.run(transaction) {
            case .answered(let answer) where answer.isTrue: landed = value
            case .answered(let answer): revision = answer.found[0][0].revision
            case .notRun, .unknown: usleep(100_000)
            }
        }
        #expect(landed > 0)
    }

    @Test("S3: without space etcd runs nothing, says so, and is still read")
    func withoutSpace() throws {
        let etcd = try RunningEtcd(["--quota-backend-bytes", "\(4 << 20)"])
        let asking = Asking(etcd.endpoints)
        defer { asking.store.close() }
        try asking.waitUntilThere()
        var words = ""
        for key: UInt8 in 1...30 where words.isEmpty {
            let value = [UInt8](repeating: key, count: 512 << 10)
            if case .notRun(let why) = try asking.run(Self.put(value, at: key)) { words = why }
        }
        #expect(words == "etcdserver: mvcc: database space exceeded (code 8)")
        guard case .answered = try asking.run(KeyValueTransaction([.get(key: [1])])) else {
            Issue.record("not read")
            return
        }
    }

    @Test("etcd asks for a user: a token is got, and got anew once it is not known any more")
    func user() throws {
        let etcd = try RunningEtcd()
        try Asking(etcd.endpoints).waitUntilThere()
        let caller = try HTTPCaller()
        for (path, body) in [
            ("user/add", #"{"name":"root","password":"s3\"cret"}"#),
            ("role/add", #"{"name":"root"}"#),
            ("user/grant", #"{"user":"root","role":"root"}"#), ("enable", "{}"),
        ] {
            var call = HTTPCall(.post, etcd.endpoints[0] + "/v3/auth/" + path)
            call.body = Array(body.utf8)
            #expect(try caller.answer(to: call).status == 200)
        }
        let without = Asking(etcd.endpoints)
        defer { without.store.close() }
        let refused = try without.run(Self.put([1]))
        guard case .notRun(let why) = refused, why.contains("user name is empty") else {
            Issue.record("\(refused)")
            return
        }
        let password = try Secret(Array("s3\"cret".utf8))
        let asking = Asking(etcd.endpoints) { $0.user = ("root", password) }
        defer { asking.store.close() }
        try asking.waitUntilThere()
        // Tokens do not outlive the process.
        etcd.kill()
        try etcd.start()
        try asking.waitUntilThere()
        guard case .answered = try asking.run(Self.put([2])) else {
            Issue.record("not put")
            return
        }
        let wrong = try Secret(Array("wrong".utf8))
        let other = Asking(etcd.endpoints) { $0.user = ("root", wrong) }
        defer { other.store.close() }
        guard case .notRun = try other.run(Self.put([3])) else {
            Issue.record("put with a wrong password")
            return
        }
    }

    @Test("etcd asks for a certificate: ours is shown, and whoever has none reaches nothing")
    func certificates() throws {
        let directory = TemporaryDirectory()
        let made = Process()
        made.executableURL = URL(fileURLWithPath: "/bin/sh")
        made.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        made.arguments = [
            "-ec",
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
            for who in server client; do
              openssl req -newkey rsa:2048 -nodes -keyout $who.key -out $who.csr -subj /CN=$who
              printf 'subjectAltName=IP:127.0.0.1' > $who.ext
              openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial \\
                -out $who.pem -days 2 -extfile $who.ext
            done
            """,
        ]
        made.standardError = FileHandle.nullDevice
        made.standardOutput = FileHandle.nullDevice
        try made.run()
        made.waitUntilExit()
        #expect(made.terminationStatus == 0)
        let path = { (name: String) in "\(directory.path)/\(name)" }
        let etcd = try RunningEtcd(
            scheme: "https",
            [
                "--cert-file", path("server.pem"), "--key-file", path("server.key"),
                "--client-cert-auth", "--trusted-ca-file", path("ca.pem"),
            ])
        let asking = Asking(etcd.endpoints) {
            $0.authorityFile = path("ca.pem")
            $0.clientCertificate = ClientCertificate(
                certificate: path("client.pem"), key: path("client.key"))
        }
        defer { asking.store.close() }
        try asking.waitUntilThere()
        guard case .answered = try asking.run(Self.put([1])) else {
            Issue.record("not put")
            return
        }
        let nobody = Asking(etcd.endpoints) { $0.authorityFile = path("ca.pem") }
        defer { nobody.store.close() }
        if case .answered = try nobody.run(Self.put([2])) { Issue.record("put by nobody") }
        let trusting = Asking(etcd.endpoints)
        defer { trusting.store.close() }
        guard case .notRun = try trusting.run(Self.put([3])) else {
            Issue.record("sent to whom nobody trusts")
            return
        }
    }
}
