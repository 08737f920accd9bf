import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore

/// S1, S7, S11: what the store of a member of a watch on several machines keeps of the log.
@Suite struct StateStoreLogPlaceTests {
    /// A log of turns that an engine makes: what a leader would append.
    private struct Turns {
        var engine = Engine()
        var count: Int64 = 0
        var place = LogPlace()

        init() {
            place.log = 5
            place.position = 1
            place.hash = .max
            place.revision = 12
        }

        mutating func next(_ event: Event) -> (turn: PendingTurn, place: LogPlace) {
            count += 1
            var pending = PendingTurn()
            let now = max(RunningTime(milliseconds: 1_000_000 * count), engine.openInstant)
            _ = pending.fold(event, into: &engine, at: now)
            engine.advance(to: now)
            pending.take(from: &engine)
            pending.close(number: count, engine)
            let origin = LogOrigin(
                member: Array("a".utf8), incarnation: 3, reign: 1, serial: count)
            let entry = LogEntry(
                .turn, at: place.position + 1, after: place.hash, origin: origin,
                body: pending.logBytes)
            place = LogPlace(behind: entry, revision: place.revision + 7, log: place.log)
            return (pending, place)
        }
    }

    private static func state(_ store: StateStore) throws -> [[UInt8]] {
        let cut = Checkpoint(try store.recover().engine)
        return (0..<cut.sliceCount).map { cut.slice($0) }
    }

    @Test("S11: the place stands in the store with its turn, also after a restart")
    func placeIsKept() throws {
        let directory = TemporaryDirectory()
        var turns = Turns()
        let before = turns.place
        var store = try StateStore(path: directory.store)
        #expect(try store.join(watch: 41, at: before))
        #expect(store.number == 41)
        #expect(try store.logPlace() == before)
        for event: Event in [.start(), .policy(Policy()), .refused(count: 3)] {
            let (turn, place) = turns.next(event)
            try store.commit(turn, at: place)
            #expect(try store.logPlace() == place)
        }
        try store.journal.close()
        store = try StateStore(path: directory.store)
        #expect(store.number == 41)
        #expect(try store.logPlace() == turns.place)
        #expect(try store.recover().lastTurn?.number == 3)
        try store.journal.close()
    }

    @Test("S1: a turn that was not committed leaves the place where it was")
    func failureLeavesPlace() throws {
        var turns = Turns()
        let directory = TemporaryDirectory()
        var store = try StateStore(path: directory.store)
        _ = try store.join(watch: 41, at: turns.place)
        let (first, place) = turns.next(.start())
        try store.commit(first, at: place)
        let (second, later) = turns.next(.refused(count: 1))
        #expect(throws: StoreError.self) {
            try store.commit(second, at: later) { () throws(StoreError) in
                throw .damaged("on its way")
            }
        }
        #expect(try store.logPlace() == place)
        #expect(try store.journal.lastTurn()?.number == 1)
        // And again: the same turn at the same place.
        try store.commit(second, at: later)
        #expect(try store.logPlace() == later)
        try store.journal.close()
    }

    @Test("S7: a store with turns of another watch does not join, and stays as it is")
    func anothersStore() throws {
        var turns = Turns()
        let directory = TemporaryDirectory()
        var store = try StateStore(path: directory.store)
        let number = store.number
        try store.commit([turns.next(.start()).turn])
        #expect(try store.join(watch: number &+ 1, at: turns.place) == false)
        #expect(store.number == number)
        #expect(try store.journal.storeNumber() == number)
        #expect(try store.logPlace() == LogPlace())
        #expect(try store.join(watch: number, at: turns.place))
        try store.journal.close()
    }

    @Test("S16: without a log nothing of one stands in the store")
    func nothingWithout() throws {
        var turns = Turns()
        let directory = TemporaryDirectory()
        let store = try StateStore(path: directory.store)
        try store.commit([turns.next(.start()).turn])
        #expect(try store.journal.bytes(forKey: "log_place") == nil)
        try store.journal.close()
    }

    @Test("S11: a place that makes no sense is damage, not the beginning")
    func damagedPlace() throws {
        let directory = TemporaryDirectory()
        let store = try StateStore(path: directory.store)
        for bytes: [UInt8] in [[], [1], [2, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]] {
            try store.journal.begin()
            try store.journal.set(bytes, forKey: "log_place")
            try store.journal.commit()
            #expect(throws: StoreError.self) { try store.logPlace() }
        }
        try store.journal.close()
    }

    @Test("S1, S10: a follower's store, fed from the log's bytes, recovers to its leader's state")
    func followerEqualsLeader() throws {
        var turns = Turns()
        let (leaders, followers) = (TemporaryDirectory(), TemporaryDirectory())
        var leader = try StateStore(path: leaders.store)
        var follower = try StateStore(path: followers.store)
        _ = try leader.join(watch: 41, at: turns.place)
        _ = try follower.join(watch: 41, at: turns.place)
        var engine = Engine()
        let reign = Reign(number: 1, member: Array("a".utf8), unobserved: Milliseconds(2500))
        let events: [Event] = [
            .reign(reign), .policy(Policy()), .refused(count: 2), .clock(step: Milliseconds(700)),
        ]
        for event in events {
            let (turn, place) = turns.next(event)
            try leader.commit(turn, at: place)
            let copy = try #require(PendingTurn(logBytes: turn.logBytes))
            #expect(TurnFolder.fold(copy, into: &engine) == .same)
            try follower.commit(copy, at: place)
        }
        #expect(try follower.recover().differences == 0)
        #expect(try Self.state(follower) == Self.state(leader))
        #expect(try follower.logPlace() == leader.logPlace())
        try leader.journal.close()
        try follower.journal.close()
    }
}
