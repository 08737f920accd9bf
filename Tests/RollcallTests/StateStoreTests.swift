import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore

/// What is written turn by turn is what a restart comes back to (J1 to J5).
@Suite struct StateStoreTests {
    private static let began: Int64 = 1_795_230_000_000

    private func items(_ kind: ItemKind, _ body: String, source: String = "default") throws -> Event
    {
        let bytes = Array(body.utf8)
        return .items(
            try ItemScanner.scan(bytes.span, kind: kind).items, source: Array(source.utf8))
    }

    @Test func `a log that is long at the start is moved into the file`() throws {
        let directory = TemporaryDirectory()
        let killed = TemporaryDirectory()
        let store = try StateStore(path: directory.store)
        try StoreSurgery.run(
            directory.store,
            """
            PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF; CREATE TABLE padding(x);
            INSERT INTO padding VALUES(zeroblob(40000000))
            """)
        for name in ["rollcall.db", "rollcall.db-wal"] { directory.copy(name, to: killed) }
        try store.journal.close()
        #expect(killed.size("rollcall.db") < 1 << 20)
        let paging = try NotifyingStateWriter(killed, [:])
        #expect(isTrueSoon { killed.size("rollcall.db") > 40_000_000 })
        paging.stop()
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    /// Every kind of event that the journal knows.
    private func events(_ turn: Int) throws -> [Event] {
        let id = "r-\(turn % 5)"
        switch turn % 12 {
        case 0:
            return [
                try items(
                    .batch,
                    "[{\"responder_id\":\"\(id)\",\"updates\":[{\"sequence\":\(turn)}]},{\"responder_id\":\"x\"}]"
                ),
                try items(.batch, "{\"responder_id\":\"y\"}", source: "backend-2"),
            ]
        case 1:
            return [
                try items(.responder, "{\"responder_id\":\"\(id)\",\"duty_state\":\"ON_MISSION\"}")
            ]
        case 2:
            return [
                try items(
                    .transition,
                    "{\"responder_id\":\"\(id)\",\"from\":\"ONLINE\",\"to\":\"OFFLINE\"}")
            ]
        case 3: return [.heartbeat(source: Array("backend-2".utf8), every: Milliseconds(60_000))]
        case 4: return [.refused(count: 3), .clock(step: Milliseconds(-700))]
        case 5: return [.store(isFailing: true)]
        case 6: return [.store(isFailing: false), try items(.batch, "[]")]
        case 7:
            var policy = Policy()
            policy.onDuty.offlineAfter = .seconds(200)
            return [.policy(policy)]
        case 8: return [.erase(.id(Array("x".utf8)), source: Array("default".utf8))]
        case 9: return [.turn(lateness: Milliseconds(9000))]
        case 10:
            guard
                case .items(let list, let source) = try items(
                    .rosterEntry, "[{\"responder_id\":\"r-1\"},{\"responder_id\":\"r-2\"}]")
            else { return [] }
            return [.roster(list, source: source, RosterTerms(allowsShrink: true))]
        default: return [try items(.batch, "{\"responder_id\":\"x\"}"), .stop, .start()]
        }
    }

    /// Folds and commits turns from `first` on and returns the engine.
    private func run(
        _ store: StateStore, _ engine: inout Engine, turns: ClosedRange<Int>
    ) throws {
        for turn in turns {
            let now = RunningTime(milliseconds: Self.began + Int64(turn) * 4000)
            var pending = PendingTurn()
            for event in try events(turn) { _ = pending.fold(event, into: &engine, at: now) }
            engine.advance(to: now)
            pending.take(from: &engine)
            pending.close(number: Int64(turn), engine)
            try store.commit([pending])
        }
    }

    @Test func `a restart folds the journal to the very same state, and decides nothing anew`()
        throws
    {
        let directory = TemporaryDirectory()
        var engine = Engine()
        do {
            let store = try StateStore(path: directory.store)
            try run(store, &engine, turns: 1...150)
            try store.journal.close()
        }
        let store = try StateStore(path: directory.store)
        let recovered = try store.recover()
        #expect(recovered.differences == 0)
        #expect(recovered.rows > 150)
        #expect(recovered.lastTurn?.number == 150)
        let isSame = state(recovered.engine) == state(engine)
        #expect(isSame)
        try store.journal.close()
    }

    @Test func `a restart begins with the newest checkpoint that can be read`() throws {
        let directory = TemporaryDirectory()
        var engine = Engine()
        do {
            let store = try StateStore(path: directory.store)
            try run(store, &engine, turns: 1...60)
            try checkpoint(engine, turn: 60, store, damage: false)
            try run(store, &engine, turns: 61...90)
            try checkpoint(engine, turn: 90, store, damage: true)
            try run(store, &engine, turns: 91...100)
            try store.journal.close()
        }
        let store = try StateStore(path: directory.store)
        let recovered = try store.recover()
        #expect(recovered.checkpoint?.turn == 60)
        #expect(recovered.differences == 0)
        let isSame = state(recovered.engine) == state(engine)
        #expect(isSame)
        try store.journal.close()
    }

    private func checkpoint(
        _ engine: Engine, turn: Int64, _ store: StateStore, damage: Bool
    ) throws {
        let cut = Checkpoint(engine)
        try store.journal.begin()
        try store.journal.beginCheckpoint(
            turn: turn, engineVersion: Engine.version, wallMilliseconds: Self.began)
        for index in 0..<cut.sliceCount {
            var slice = cut.slice(index)
            if damage { slice.removeLast() }
            try slice.withUnsafeBytes {
                try store.journal.appendSlice(turn: turn, index: Int64(index), body: $0)
            }
        }
        try store.journal.completeCheckpoint(turn: turn, slices: Int64(cut.sliceCount))
        try store.journal.commit()
    }

    /// Of a roster only who was taken stands in the journal, and of a refused one that it came.
    @Test func `a restart knows rosters in parts as they were`() throws {
        let directory = TemporaryDirectory()
        var engine = Engine()
        var turn: Int64 = 8
        func part(_ body: String, hasMore: Bool, at seconds: Int64, _ store: StateStore) throws {
            let now = RunningTime(milliseconds: Self.began + seconds * 1000)
            guard case .items(let list, let source) = try items(.rosterEntry, body) else { return }
            let terms = RosterTerms(id: Array("a".utf8), hasMore: hasMore)
            var pending = PendingTurn()
            _ = pending.fold(.roster(list, source: source, terms), into: &engine, at: now)
            engine.advance(to: now)
            pending.decisions = engine.takeDecisions()
            turn += 1
            pending.close(number: turn, engine)
            try store.commit([pending])
        }
        do {
            let store = try StateStore(path: directory.store)
            try run(store, &engine, turns: 1...8)
            let both = #"[{"responder_id":"r-1"},{"responder_id":"x"}]"#
            try part(both, hasMore: false, at: 60, store)
            try part(#"[{"responder_id":"x"}]"#, hasMore: true, at: 660, store)
            try part(both, hasMore: true, at: 700, store)
            try part(both, hasMore: true, at: 1300, store)
            try store.journal.close()
        }
        let store = try StateStore(path: directory.store)
        let recovered = try store.recover()
        #expect(recovered.differences == 0)
        let isSame = state(recovered.engine) == state(engine)
        #expect(isSame)
        try store.journal.close()
    }

    @Test func `decisions that come out otherwise are counted, not told`() throws {
        let directory = TemporaryDirectory()
        var engine = Engine()
        do {
            let store = try StateStore(path: directory.store)
            var pending = PendingTurn()
            let now = RunningTime(milliseconds: Self.began)
            _ = pending.fold(
                try items(.batch, "{\"responder_id\":\"a\"}"), into: &engine, at: now)
            engine.advance(to: now)
            pending.decisions = Array(engine.takeDecisions().dropLast())
            pending.close(number: 1, engine)
            try store.commit([pending])
            try store.journal.close()
        }
        let store = try StateStore(path: directory.store)
        let recovered = try store.recover()
        #expect(recovered.differences == 1)
        #expect(recovered.engine.decisions.isEmpty)
        try store.journal.close()
    }
}
