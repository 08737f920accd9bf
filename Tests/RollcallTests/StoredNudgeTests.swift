import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore

/// Nudges over a restart: whoever was nudged is not nudged again, whatever the rules (J3, J4, N2).
@Suite struct StoredNudgeTests {
    private static let began: Int64 = 1_795_230_000_000
    private static let hour: Int64 = 3600
    /// Seconds between two turns.
    private static let step: Int64 = 900
    /// The last turn of the store.
    private static let last = 4 * hour + step

    private let directory = TemporaryDirectory()

    private func run(
        _ store: StateStore, _ engine: inout Engine, seconds: Int64, number: Int64,
        _ events: [Event] = []
    ) throws -> [Decision] {
        let now = RunningTime(milliseconds: Self.began + seconds * 1000)
        var pending = PendingTurn()
        for event in events { _ = pending.fold(event, into: &engine, at: now) }
        engine.advance(to: now)
        pending.take(from: &engine)
        pending.close(number: number, engine)
        try store.commit([pending])
        return pending.decisions.map(\.decision)
    }

    private func batch(_ ids: [String], at seconds: Int64, captured: Int64? = nil) throws -> Event {
        let items = ids.map { id in
            let update = captured.map {
                ",\"updates\":[{\"sequence\":\($0),\"captured_at\":\(Self.began + $0 * 1000)}]"
            }
            return "{\"responder_id\":\"\(id)\",\"region\":\"north\"\(update ?? "")}"
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        return .items(
            try ItemScanner.scan(body.span, kind: .batch).items, source: EventSource.standard)
    }

    private var policy: Policy {
        var policy = Policy()
        policy.nudges.mode = .live
        policy.nudges.sink = .webhook
        return policy
    }

    private func nudged(_ decisions: [Decision]) -> [Int] {
        decisions.compactMap {
            if case .nudge(_, let number, let report) = $0, report.kind == .send { return number }
            return nil
        }
    }

    /// A store in which both were nudged 4 h after their last locations, and one was located since.
    private func makeStore() throws -> Engine {
        let store = try StateStore(path: directory.store)
        var engine = Engine()
        var number: Int64 = 1
        _ = try run(
            store, &engine, seconds: 0, number: number,
            [.start(), .policy(policy), try batch(["a", "b"], at: 0, captured: 0)])
        var told: [Int] = []
        for seconds in stride(from: Self.step, through: Self.last, by: Int64.Stride(Self.step)) {
            number += 1
            let isLate = seconds == Self.last
            let events = try [
                batch(["a"], at: seconds),
                batch(["b"], at: seconds, captured: isLate ? seconds : nil),
            ]
            told += nudged(try run(store, &engine, seconds: seconds, number: number, events))
        }
        #expect(told == [0, 1])
        try store.journal.close()
        return engine
    }

    @Test func `a restart by the same rules knows who was nudged`() throws {
        let before = try makeStore()
        let recovered = try StateStore(path: directory.store).recover()
        #expect(recovered.differences == 0)
        #expect(recovered.engine.nudgeAnswer(0) == before.nudgeAnswer(0))
        #expect(recovered.engine.nudgeAnswer(0).lastAt != nil)
    }

    @Test func `another version's tail: whoever was nudged is not again, and numbers go on`() throws
    {
        let before = try makeStore()
        let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
        // Rules that would have nudged neither: what is decided again differs from the store.
        try connection.run("UPDATE turns SET engine_version = 4, checksum = NULL")
        try connection.run("DELETE FROM decisions WHERE kind = 7 AND responder = 2")
        try connection.close()
        let store = try StateStore(path: directory.store)
        var engine = try store.recover().engine
        #expect(engine.brokenInvariants() == [])
        // The first was nudged, says the store; the second never was, whatever today's rules say.
        #expect(engine.nudgeAnswer(0).lastAt == before.nudgeAnswer(0).lastAt)
        #expect(engine.nudgeAnswer(1).lastAt == nil)
        #expect(engine.counters.nudges.sent == 1)
        var number = try #require(try store.journal.lastTurn()).number
        var told: [Int] = []
        var pushes: [Int64] = []
        var at: [Int64] = []
        let end = Self.last + 7 * Self.hour
        for seconds in stride(from: Self.last + Self.step, through: end, by: Int(Self.step)) {
            number += 1
            let decisions = try run(
                store, &engine, seconds: seconds, number: number,
                [try batch(["a", "b"], at: seconds)])
            for decision in decisions {
                guard case .nudge(let time, let person, let report) = decision,
                    report.kind == .send
                else { continue }
                told.append(person)
                pushes.append(report.number)
                at.append((time.milliseconds - Self.began) / 1000)
            }
        }
        // The second 4 h after its new location, the first 6 h after its nudge.
        #expect(told == [1, 0])
        #expect(at == [Self.last + 4 * Self.hour, 10 * Self.hour])
        #expect(pushes == [2, 3])
        try store.journal.close()
    }
}
