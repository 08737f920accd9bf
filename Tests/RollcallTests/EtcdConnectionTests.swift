import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S3: what is sent twice and what never is, by servers that behave as an etcd may.
@Suite struct EtcdConnectionTests {
    /// A server that answers by a script, and notes what it was asked.
    private final class ScriptedEtcd: Sendable {
        let server: HTTPServer
        private let log = ReplyCounter()

        init(_ script: @escaping @Sendable (_ path: String, _ token: String?) -> (Int, String))
            throws
        {
            let log = log
            server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
                request, reply in
                log.add(request.path + (request.authorization.map { " \($0)" } ?? ""))
                let (status, body) = script(request.path, request.authorization)
                reply.answer(
                    HTTPResponse(
                        status: status, headers: [("Content-Type", "application/json")],
                        body: Array(body.utf8)))
            }
        }

        var questions: [String] { log.all }
        var url: String { "http://127.0.0.1:\(server.port)" }
    }

    private static let put = KeyValueTransaction([.put(key: [1], value: [2])])
    private static let done =
        #"{"header":{"revision":"5"},"succeeded":true,"responses":[{"response_put":{}}]}"#
    private static let answered = KeyValueOutcome.answered(
        KeyValueAnswer(isTrue: true, revision: 5, found: []))

    private static func run(_ store: EtcdStore) throws -> KeyValueOutcome {
        let box = Mailbox<KeyValueOutcome>()
        store.run(put) { box.put($0) }
        for _ in 0..<20 {
            if let outcome = box.takeAll(waiting: 1000).first { return outcome }
        }
        throw CancellationError()
    }

    @Test("S3: what may have arrived is not sent to the next member; the next transaction is")
    func unknownIsNotSentAgain() throws {
        // Takes connections, and never answers.
        let silent = try HTTPListener(address: "127.0.0.1:0")
        defer { silent.close() }
        let other = try ScriptedEtcd { _, _ in (200, Self.done) }
        defer { other.server.stop() }
        var settings = EtcdSettings(endpoints: ["http://127.0.0.1:\(silent.port)", other.url])
        settings.timeout = Milliseconds(300)
        let store = EtcdStore(settings)
        defer { store.close() }
        let first = try Self.run(store)
        guard case .unknown = first else {
            Issue.record("\(first)")
            return
        }
        #expect(other.questions.isEmpty)
        #expect(try Self.run(store) == Self.answered)
        #expect(other.questions == ["/v3/kv/txn"])
    }

    @Test("S3: what reached nobody goes to the next member at once")
    func notSentIsSentElsewhere() throws {
        let other = try ScriptedEtcd { _, _ in (200, Self.done) }
        defer { other.server.stop() }
        let store = EtcdStore(EtcdSettings(endpoints: ["http://127.0.0.1:1", other.url]))
        defer { store.close() }
        #expect(try Self.run(store) == Self.answered)
        let nowhere = EtcdStore(EtcdSettings(endpoints: ["http://127.0.0.1:1"]))
        defer { nowhere.close() }
        guard case .notRun = try Self.run(nowhere) else {
            Issue.record("sent to nobody, and not known")
            return
        }
    }

    @Test(
        "S3: a token that is not known any more is got anew, and what was refused for it sent again"
    )
    func tokenIsRenewed() throws {
        let tokens = ReplyCounter()
        let etcd = try ScriptedEtcd { path, token in
            if path == EtcdGateway.authenticationPath {
                tokens.add("t")
                return (200, #"{"token":"t\#(tokens.all.count)"}"#)
            }
            if token == "t2" { return (200, Self.done) }
            let words = "etcdserver: invalid auth token"
            return (401, #"{"error":"\#(words)","message":"\#(words)","code":16}"#)
        }
        defer { etcd.server.stop() }
        var settings = EtcdSettings(endpoints: [etcd.url])
        settings.user = ("rollcall", try Secret(Array("secret".utf8)))
        let store = EtcdStore(settings)
        defer { store.close() }
        #expect(try Self.run(store) == Self.answered)
        #expect(
            etcd.questions == [
                "/v3/auth/authenticate", "/v3/kv/txn t1", "/v3/auth/authenticate", "/v3/kv/txn t2",
            ])
        // It is kept.
        #expect(try Self.run(store) == Self.answered)
        #expect(etcd.questions.count == 5)
    }

    @Test("S3: a token that is refused for good ends as not run, after one more try")
    func tokenIsRefused() throws {
        let etcd = try ScriptedEtcd { path, _ in
            path == EtcdGateway.authenticationPath
                ? (200, #"{"token":"t"}"#)
                : (401, #"{"error":"etcdserver: invalid auth token","code":16}"#)
        }
        defer { etcd.server.stop() }
        var settings = EtcdSettings(endpoints: [etcd.url])
        settings.user = ("rollcall", try Secret(Array("secret".utf8)))
        let store = EtcdStore(settings)
        defer { store.close() }
        #expect(try Self.run(store) == .notRun("etcdserver: invalid auth token (code 16)"))
        #expect(etcd.questions.count == 4)
    }

    @Test("S3: a member that fails is not the first to be asked next time")
    func failingMemberIsAvoided() throws {
        let failing = try ScriptedEtcd { _, _ in
            (503, #"{"error":"etcdserver: no leader","code":14}"#)
        }
        defer { failing.server.stop() }
        let other = try ScriptedEtcd { _, _ in (200, Self.done) }
        defer { other.server.stop() }
        let store = EtcdStore(EtcdSettings(endpoints: [failing.url, other.url]))
        defer { store.close() }
        #expect(try Self.run(store) == .unknown("etcdserver: no leader (code 14)"))
        #expect(try Self.run(store) == Self.answered)
        #expect(failing.questions.count == 1)
    }
}
