import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore

/// Alerts over a restart: nobody is told twice, and a page keeps its key (J3, J4, §6 A1).
@Suite struct StoredAlertTests {
    private static let began: Int64 = 1_795_230_000_000

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

    /// A store in which one region has nobody online and the receiver was told, behind a silence.
    private func makeStore(isTaken: Bool = true) throws -> Engine {
        let store = try StateStore(path: directory.store)
        var policy = Policy()
        var hook = Receiver(name: Array("hook".utf8), kind: .webhook)
        hook.fallback = Array("duty".utf8)
        var duty = Receiver(name: Array("duty".utf8), kind: .webhook)
        duty.match = [.never]
        policy.receivers = [hook, duty]
        let batch = Array(#"{"responder_id":"1","region":"north"}"#.utf8)
        let list = try ItemScanner.scan(batch.span, kind: .batch).items
        let silence = Silence(
            matchers: [LabelMatcher(name: Array("region".utf8), values: [Array("south".utf8)])],
            endsAt: Timestamp(milliseconds: Self.began + 86_400_000), author: Array("kim".utf8),
            comment: Array("exercise".utf8))
        var engine = Engine()
        _ = try run(
            store, &engine, seconds: 0, number: 1,
            [
                .start(), .policy(policy), .silence(.begin(silence)),
                .items(list, source: Array("default".utf8)),
            ])
        _ = try run(
            store, &engine, seconds: 200, number: 2, [.drill(receiver: Array("hook".utf8))])
        let end = NoticeEnd(
            notice: 1, receiver: Array("hook".utf8), target: 0, outcome: .delivered,
            took: Milliseconds(80))
        let events = (isTaken ? [.outcome(end)] : []) + [Event.silence(.end(9))]
        _ = try run(store, &engine, seconds: 202, number: 3, events)
        try store.journal.close()
        return engine
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    @Test func `a restart knows what fires and who was told`() throws {
        let engine = try makeStore()
        let recovered = try StateStore(path: directory.store).recover()
        #expect(recovered.differences == 0)
        #expect(state(recovered.engine) == state(engine))
        let alert = try #require(
            recovered.engine.alerting.board.all.first { $0.key.name == .noOnlineResponders }?.alert)
        #expect(alert.notified.map(\.receiver) == [Array("hook".utf8)])
        #expect(recovered.engine.alerting.notifications.silences.map(\.number) == [1])
    }

    @Test(arguments: [false, true], [false, true])
    func `D3: a restart knows what was taken, after another version's tail too`(
        isOther: Bool, isTaken: Bool
    ) throws {
        _ = try makeStore(isTaken: isTaken)
        if isOther {
            let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
            try connection.run("UPDATE turns SET engine_version = 3, checksum = NULL")
            try connection.close()
        }
        let store = try StateStore(path: directory.store)
        var engine = try store.recover().engine
        #expect(engine.brokenInvariants() == [])
        _ = try run(store, &engine, seconds: 210, number: 4, [.start()])
        let given = try run(store, &engine, seconds: 270, number: 5).filter { decision in
            guard case .notice(_, let notice) = decision else { return false }
            return notice.receiver == Array("duty".utf8)
        }
        #expect(given.count == (isTaken ? 0 : 1))
    }

    @Test func `another version's tail keeps the page's key and tells nobody again`() throws {
        let before = try makeStore()
        let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
        try connection.run("UPDATE turns SET engine_version = 3, checksum = NULL")
        try connection.close()
        let store = try StateStore(path: directory.store)
        var engine = try store.recover().engine
        let key = AlertKey(name: .noOnlineResponders, subject: .region(Array("north".utf8)))
        let (then, now) = (before.alerting.board[key], engine.alerting.board[key])
        #expect(now?.incident == then?.incident)
        #expect(now?.startsAt == then?.startsAt)
        #expect(now?.labels == then?.labels)
        #expect(
            engine.alerting.notifications.nextNotice == before.alerting.notifications.nextNotice)
        #expect(
            engine.alerting.notifications.nextIncident == before.alerting.notifications.nextIncident
        )
        let notified = try run(store, &engine, seconds: 210, number: 4, [.start()])
        #expect(notified.allSatisfy { if case .notice = $0 { false } else { true } })
    }
}
