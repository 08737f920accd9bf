import Foundation
import Logging
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// A store with a history that is written turn by turn, by virtual time.
struct HistoryStory {
    /// A midnight.
    static let began: Int64 = 1_795_219_200_000
    static let day: Int64 = 86_400

    let store: StateStore
    var engine = Engine()
    var turn: Int64 = 0

    init(_ directory: TemporaryDirectory) throws { store = try StateStore(path: directory.store) }

    /// One turn, `seconds` after the beginning.
    mutating func turn(at seconds: Int64, _ events: [Event] = []) throws {
        let pending = try pendingTurn(at: seconds, events)
        try store.commit([pending])
    }

    /// One turn that takes samples as the state writer does.
    mutating func sampledTurn(
        _ sampler: inout FleetSampler, at seconds: Int64, _ events: [Event] = []
    ) throws {
        var pending = try pendingTurn(at: seconds, events)
        pending.sample = sampler.sample(engine)
        try store.commit([pending])
    }

    /// Seven minutes of one person, from the last beat of a heartbeat on: that nobody was watching is
    /// noticed after two and a half.
    mutating func blindMinutes() throws {
        var sampler = FleetSampler()
        let source = Array("pod".utf8)
        try sampledTurn(
            &sampler, at: 0,
            [
                .heartbeat(source: source, every: .seconds(60)),
                try Self.batches(["a"], sequence: 1, captured: 0),
            ])
        for minute: Int64 in 1...6 { try sampledTurn(&sampler, at: minute * 60) }
        try sampledTurn(&sampler, at: 370, [.heartbeat(source: source, every: .seconds(0))])
        try sampledTurn(&sampler, at: 380)
    }

    /// The instant so many seconds after the beginning, as a question names it.
    static func time(_ seconds: Int64) -> String {
        RFC3339.string(Timestamp(milliseconds: began + seconds * 1000))
    }

    /// One turn that is not committed yet.
    mutating func pendingTurn(at seconds: Int64, _ events: [Event] = []) throws -> PendingTurn {
        let now = RunningTime(milliseconds: Self.began + seconds * 1000)
        var pending = PendingTurn()
        for event in events { _ = pending.fold(event, into: &engine, at: now) }
        engine.advance(to: now)
        pending.take(from: &engine)
        turn += 1
        pending.close(number: turn, engine)
        return pending
    }

    /// Batches of these people, each with one new location, captured `captured` seconds after the
    /// beginning.
    static func batches(
        _ ids: [String], sequence: Int, captured: Int64, region: String = "north"
    ) throws -> Event {
        let items = ids.map { id in
            """
            {"responder_id":"\(id)","region":"\(region)","platform":"ios","duty_state":"ON_DUTY",
            "telemetry":{"app_state":"background"},
            "updates":[{"sequence":\(sequence),"captured_at":\(began + captured * 1000)}]}
            """
        }
        return try Self.items(.batch, "[\(items.joined(separator: ","))]")
    }

    static func items(_ kind: ItemKind, _ body: String) throws -> Event {
        let bytes = Array(body.utf8)
        return .items(
            try ItemScanner.scan(bytes.span, kind: kind).items, source: EventSource.standard)
    }

    /// People fall silent, and come back 400 s after they were heard with what they had captured
    /// meanwhile; the verdict follows. Ten minutes in all.
    mutating func silence(_ ids: [String], from seconds: Int64, region: String = "north") throws {
        let sequence = Int(seconds)
        try turn(
            at: seconds,
            [
                try Self.batches(ids, sequence: sequence, captured: seconds, region: region)
            ])
        try turn(at: seconds + 200)
        try turn(
            at: seconds + 400,
            [
                try Self.batches(
                    ids, sequence: sequence + 1, captured: seconds + 150, region: region)
            ])
        try turn(
            at: seconds + 480,
            [
                try Self.batches(
                    ids, sequence: sequence + 2, captured: seconds + 480, region: region)
            ])
        try turn(
            at: seconds + 560,
            [
                try Self.batches(
                    ids, sequence: sequence + 3, captured: seconds + 560, region: region)
            ])
        // Off duty, so that what lies between is no gap.
        let facts = ids.map { "{\"responder_id\":\"\($0)\",\"duty_state\":\"OFF_DUTY\"}" }
        try turn(
            at: seconds + 561,
            [try Self.items(.responder, "[\(facts.joined(separator: ","))]")])
    }

    /// The rows of a statement's one column.
    func integers(_ sql: SQL) throws -> [Int64] {
        try store.journal.connection.integers(sql)
    }
}

extension SQLiteConnection {
    /// The rows of a statement's one column; 0 for what is no integer.
    func integers(_ sql: SQL) throws(StoreError) -> [Int64] {
        try Statement(self, sql).all { row in
            if case .integer(let number) = row.value(at: 0) { number } else { 0 }
        }
    }
}

/// A server on a story's store, and a client of it.
final class HistoryServer {
    let writer: StateWriter
    let router: Router
    private let http: HTTPServer

    /// Opens the store of a story, which must be closed. What bounds a question is `limits`, but
    /// not the time that it takes: the state writer may wait for a slow disk.
    init(
        _ directory: TemporaryDirectory, limits: HistoryLimits = HistoryLimits(),
        policy: Policy = Policy(), rules: AccessPolicy.Rules = AccessPolicy.Rules()
    ) throws {
        var limits = limits
        limits.time = .seconds(60)
        limits.patience = .seconds(60)
        limits.writerPatience = .seconds(30)
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let edge = EdgeStats()
        writer = try StateWriter(
            path: directory.store, policy: policy, log: log, edge: edge, refusals: { 0 },
            onFatal: { _ in })
        let router = Router(
            writer: writer, edge: edge, limits: BodyLimits(ScanLimits()),
            accessPolicy: AccessPolicy(rules, log: log), admission: Admission(),
            reloader: Reloader(
                Configuration(), source: .defaults, writer: writer, edge: edge, log: log,
                apply: { _ in EndpointChanges() }), historyLimits: limits)
        self.router = router
        let listener = try HTTPListener(address: "127.0.0.1:0")
        let door = AccessPoint(listener)
        http = try HTTPServer(
            listener: listener, limits: patientLimits, early: { router.authorise($0, at: door) },
            handler: { router.handle($0, $1) })
        writer.start()
    }

    /// Stops the server and closes the store.
    func stop() {
        http.stop()
        router.close()
        let isDone = ReplyCounter()
        writer.stop { isDone.add("done") }
        #expect(isTrueSoon { !isDone.all.isEmpty })
    }

    /// The answer to a GET, or to another request.
    func answer(
        _ target: String, _ method: String = "GET", body: String? = nil, token: String? = nil,
        fields: [String] = []
    ) throws -> RawClient.Answer {
        let client = try RawClient(port: http.port)
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        let bearer = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let more = fields.map { "\($0)\r\n" }.joined()
        client.send(
            "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(bearer)\(more)\(length)\r\n"
                + (body ?? ""))
        return client.readAnswer()
    }

    /// The object that is answered to a GET, with 200.
    func get(_ target: String) throws -> [String: Any] {
        let answer = try answer(target)
        #expect(answer.status == 200, "\(target): \(answer.body)")
        let parsed = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
        return try #require(parsed as? [String: Any])
    }

    /// Everything that is under `member`, page by page.
    func pages(_ target: String, _ member: String) throws -> [[[String: Any]]] {
        var pages: [[[String: Any]]] = []
        var next = ""
        for _ in 0..<1000 {
            let page = try get(target + next)
            pages.append(try #require(page[member] as? [[String: Any]]))
            guard let cursor = page["next"] as? String else { return pages }
            next = (target.contains("?") ? "&" : "?") + "after=\(cursor)"
        }
        Issue.record("\(target) has no end")
        return pages
    }
}
