import RollcallCore
import RollcallStore
import Testing

/// S7: a turn goes through the log as it is, and a follower folds it as its leader did.
struct PendingTurnBytesTests {
    /// A leader with a receiver, and the turns that it makes of batches of ten people.
    private struct Leader {
        var engine: Engine
        var outbox: Outbox
        var turns: [PendingTurn] = []

        init() {
            var policy = Policy()
            policy.receivers = [Receiver(name: Array("pager".utf8), kind: .pagerduty)]
            engine = Engine(policy: policy)
            outbox = Outbox(store: 7, messages: [], now: RunningTime(milliseconds: 0))
            turn(at: 0) { [.start(), .policy(policy)] }
        }

        mutating func turn(at milliseconds: Int64, _ events: () -> [Event]) {
            var pending = PendingTurn()
            let now = max(RunningTime(milliseconds: 1_000_000 + milliseconds), engine.openInstant)
            for event in events() { _ = pending.fold(event, into: &engine, at: now) }
            engine.advance(to: now)
            pending.take(from: &engine)
            outbox.follow(engine.policy.receivers)
            for case .notice(let at, let notice) in pending.decisions.map(\.decision) {
                outbox.decide(notice, at: at, now: now)
            }
            for sending in outbox.begin(now: now) {
                pending.attempts.append(
                    AttemptRow(
                        notice: 1, target: sending.queue.target, attempt: sending.attempt,
                        beganAt: engine.clock.wall(now)))
            }
            pending.outbox = outbox.takeChanges()
            pending.close(number: Int64(turns.count + 1), engine)
            turns.append(pending)
        }

        static func batches(_ people: Range<Int>, _ sequence: Int) -> Event {
            let items = people.map {
                #"{"responder_id":"r\#($0)","last_sequence":\#(sequence),"duty_state":"ON_DUTY"}"#
            }
            let body = Array("[\(items.joined(separator: ","))]".utf8)
            guard let scan = try? ItemScanner.scan(body.span, kind: .batch) else {
                preconditionFailure("a test writes what can be read")
            }
            return .items(scan.items, source: EventSource.standard)
        }
    }

    private static func story() -> [PendingTurn] {
        var leader = Leader()
        for minute in 0..<10 {
            leader.turn(at: Int64(minute) * 30_000 + 1) {
                [Leader.batches(0..<(minute < 3 ? 10 : 2), minute + 1)]
            }
        }
        leader.turn(at: 390_000) { [Leader.batches(5..<6, 90)] }
        leader.turn(at: 400_000) {
            [.erase(.id(Array("r1".utf8)), source: EventSource.standard)]
        }
        return leader.turns
    }

    @Test func `S7: a turn comes out of its bytes as it went in, and damaged bytes are none`()
        throws
    {
        let turns = Self.story()
        #expect(turns.contains { !$0.outbox.isEmpty } && turns.contains { !$0.attempts.isEmpty })
        #expect(turns.contains { !$0.dark.isEmpty } && turns.contains { !$0.erasures.isEmpty })
        for turn in turns {
            let bytes = turn.logBytes
            let read = try #require(PendingTurn(logBytes: bytes))
            #expect(read.logBytes == bytes && read.decisions == turn.decisions)
            #expect(read.outbox.added.map(\.number) == turn.outbox.added.map(\.number))
            #expect(read.outbox.changed.map(\.state) == turn.outbox.changed.map(\.state))
            #expect(read.attempts == turn.attempts && read.dark == turn.dark)
            #expect(read.erasures == turn.erasures && read.turn == turn.turn)
            #expect(PendingTurn(logBytes: Array(bytes.dropLast())) == nil)
            #expect(PendingTurn(logBytes: bytes + [0]) == nil)
        }
    }

    @Test func `S10: a follower that folds the turns decides the same, and says so if it does not`()
        throws
    {
        var engine = Engine()
        let turns = Self.story()
        for (place, turn) in turns.enumerated() {
            var other = engine
            var read = try #require(PendingTurn(logBytes: turn.logBytes))
            #expect(TurnFolder.fold(read, into: &engine) == .same, "turn \(place)")
            guard !read.decisions.isEmpty else { continue }
            read.decisions.removeLast()
            #expect(TurnFolder.fold(read, into: &other) == .differs(1))
        }
        #expect(engine.aggregates.byStatus.reduce(0, +) == 9)
        #expect(
            TurnFolder.fold(turns[1], into: &engine) == .damaged("it does not follow the last one"))
    }
}
