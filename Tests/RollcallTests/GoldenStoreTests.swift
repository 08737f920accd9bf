import Foundation
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore

/// Stores that older versions left behind are opened, migrated and gone on with (J4).
@Suite struct GoldenStoreTests {
    private let directory = TemporaryDirectory()
    /// That to which they are migrated.
    private let version = JournalSchema.version

    private func unpack(_ version: Int) throws -> String {
        try GoldenStore.unpack(version, into: directory)
    }

    private func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    @Test func `version 1: everybody is there, the tail is folded, the counters go on`() throws {
        let store = try StateStore(path: try unpack(1))
        let recovered = try store.recover()
        let engine = recovered.engine
        #expect(recovered.checkpoint?.engineVersion == 1)
        #expect(recovered.differences == 0)
        #expect(recovered.rows > 0)
        let people = (0..<engine.roster.count).map { number in
            let person = engine.roster[number]
            let status = person.isActive ? "\(person.status.word)" : "NOT_EXPECTED"
            return "\(text(engine.roster.id(number))) \(status) "
                + "\(text(engine.regions[person.region])) "
                + text(engine.versions[UInt32(person.appVersion)])
        }
        #expect(
            people == [
                "r-0 ONLINE north 4.0", "r-1 NOT_EXPECTED south 4.1", "r-2 ONLINE ouest é 4.2",
                "r-3 ONLINE north 4.0", "r-4 OFFLINE south 4.1", "r-5 ONLINE ouest é 4.2",
                "r-6 ONLINE north 4.0", "r-7 ONLINE south 4.1", "r-8 ONLINE ouest é 4.2",
                "r-9 ONLINE north 4.0", "r-10 ONLINE south 4.1", "r-11 ONLINE ouest é 4.2",
                "f-1 NOT_EXPECTED east ", "late-1 ONLINE north ",
            ])
        #expect(engine.pausedUntil(1) != nil)
        #expect(engine.counters.batches == 15)
        #expect(engine.counters.updates == [39, 0, 0])
        #expect(engine.counters.installsReset == 1)
        #expect(engine.sight.feed.sources.map { text($0.name) } == ["backend-1"])
        #expect(engine.brokenInvariants() == [])
        try store.journal.close()
    }

    @Test func `version 1: it is migrated once, written on, and read again`() throws {
        let path = try unpack(1)
        var store = try StateStore(path: path)
        #expect(try store.journal.connection.integer("PRAGMA user_version") == version)
        let recovered = try store.recover()
        let engine = try GoldenStore.start(store, recovered.engine, after: recovered.lastTurn) {
            let person = ErasedPerson.id(Array("r-2".utf8))
            _ = $0.fold(.erase(person, source: []), into: &$1, at: $2)
        }
        try store.journal.close()
        store = try StateStore(path: path)
        let again = try store.recover().engine
        #expect(again.roster.number(of: Array("r-2".utf8)) == nil)
        #expect(again.roster.count == engine.roster.count)
        #expect(try store.journal.erasures().map(\.responder) == [3])
        try store.journal.close()
    }

    @Test func `version 2: erasures and people are there; gaps begin with the next silence`() throws
    {
        let store = try StateStore(path: try unpack(2))
        #expect(try store.journal.connection.integer("PRAGMA user_version") == version)
        let recovered = try store.recover()
        #expect(recovered.checkpoint?.engineVersion == 2)
        #expect(recovered.rows > 0)
        let engine = recovered.engine
        let ids = (0..<engine.roster.count).map { text(engine.roster.id($0)) }
        #expect(
            ids == (0..<11).map { "r-\($0)" } + ["", "", "f-1", "late-1"])
        #expect(engine.roster[0].status == .offline)
        let erasures = try store.journal.erasures()
        #expect(erasures.map(\.responder) == [13, 12])
        #expect(erasures.allSatisfy { $0.finishedAt != nil })
        #expect(erasures.map(\.gap) == [0, 0])
        #expect(engine.brokenInvariants() == [])
        // Who was silent when the old version ended comes back: the gap is known from then on.
        try GoldenStore.start(store, engine, after: recovered.lastTurn) {
            let batch = Array("{\"responder_id\":\"r-0\"}".utf8)
            let scan = try ItemScanner.scan(batch.span, kind: .batch)
            _ = $0.fold(.items(scan.items, source: []), into: &$1, at: $2)
        }
        #expect(
            try store.journal.connection.integer("SELECT count(*) FROM gaps WHERE closed_ms > 0")
                == 1)
        try store.journal.close()
    }

    @Test func `version 3: gaps are there; the outbox begins empty, and the store has a number`()
        throws
    {
        let path = try unpack(3)
        var store = try StateStore(path: path)
        #expect(try store.journal.connection.integer("PRAGMA user_version") == version)
        let recovered = try store.recover()
        #expect(recovered.checkpoint?.engineVersion == 3)
        #expect(recovered.rows > 0)
        let engine = recovered.engine
        let ids = (0..<engine.roster.count).map { text(engine.roster.id($0)) }
        #expect(ids == (0..<7).map { "r-\($0)" } + ["", "late-1"])
        #expect(try store.journal.connection.integer("SELECT count(*) FROM gaps") == 11)
        #expect(try store.journal.messages() == [])
        #expect(try store.journal.notices.deliveryStatus(of: 1) == nil)
        #expect(engine.brokenInvariants() == [])
        let number = store.number
        try store.journal.close()
        store = try StateStore(path: path)
        #expect(store.number == number)
        try store.journal.close()
    }

    @Test func `version 4: what is on its way stays so, nobody was nudged, and nobody is again`()
        throws
    {
        let store = try StateStore(path: try unpack(4))
        #expect(try store.journal.connection.integer("PRAGMA user_version") == version)
        let recovered = try store.recover()
        #expect(recovered.checkpoint?.engineVersion == 4)
        #expect(recovered.rows > 0)
        let engine = recovered.engine
        let ids = (0..<engine.roster.count).map { text(engine.roster.id($0)) }
        #expect(ids == (0..<7).map { "r-\($0)" } + ["", "late-1"])
        let circles = text(engine.circles[engine.roster[1].circles])
        #expect(engine.pushToken(1).map { text($0) } == "ExponentPushToken[golden]")
        #expect(circles.contains("alpha"))
        #expect(try store.journal.messages().contains { !$0.state.isFinished })
        #expect(try store.journal.pushes() == [])
        #expect(try store.journal.pushClaims() == 0)
        #expect(engine.counters.nudges == NudgeCounters())
        #expect(engine.brokenInvariants() == [])
        try store.journal.close()
    }

    @Test func `version 5: pushes and nudges are there; samples begin with the next minute`()
        throws
    {
        let store = try StateStore(path: try unpack(5))
        #expect(try store.journal.connection.integer("PRAGMA user_version") == version)
        let recovered = try store.recover()
        #expect(recovered.checkpoint?.engineVersion == 5)
        #expect(recovered.rows > 0 && recovered.differences == 0)
        let engine = recovered.engine
        let ids = (0..<engine.roster.count).map { text(engine.roster.id($0)) }
        #expect(ids == (0..<7).map { "r-\($0)" } + ["", "late-1"])
        #expect(try store.journal.lastPush() == 7)
        #expect(engine.counters.nudges != NudgeCounters())
        #expect(engine.brokenInvariants() == [])
        #expect(try store.journal.connection.integer("SELECT count(*) FROM samples") == 0)
        try GoldenStore.start(store, engine, after: recovered.lastTurn, isSampled: true)
        #expect(try store.journal.connection.integer("SELECT offline FROM samples") == 8)
        try store.journal.close()
    }

    @Test func `version 6: everything is there, and rows carry checksums from then on`() throws {
        let store = try StateStore(path: try unpack(6))
        let connection = store.journal.connection
        #expect(try connection.integer("PRAGMA user_version") == version)
        let recovered = try store.recover()
        #expect(recovered.checkpoint?.engineVersion == 5)
        #expect(recovered.rows > 0 && recovered.differences == 0)
        #expect(recovered.checkpointsDamaged == [])
        let engine = recovered.engine
        let ids = (0..<engine.roster.count).map { text(engine.roster.id($0)) }
        #expect(ids == (0..<7).map { "r-\($0)" } + ["", "late-1"])
        #expect(engine.brokenInvariants() == [])
        #expect(try connection.integer("SELECT count(checksum) FROM journal") == 0)
        try GoldenStore.start(store, engine, after: recovered.lastTurn)
        #expect(try connection.integer("SELECT count(*) FROM journal WHERE checksum > 0") == 1)
        #expect(try connection.integer("SELECT count(*) FROM turns WHERE checksum > 0") == 1)
        #expect(try store.recover().differences == 0)
        try store.journal.close()
    }

    @Test func `version 7: what is on its way is counted, and checksums come with what is written`()
        throws
    {
        let path = try unpack(7)
        var opening = try StoreOpening(path: path)
        var journal = opening.store.journal
        #expect(opening.loss == nil)
        #expect(opening.recovered.rows > 0 && opening.recovered.differences == 0)
        #expect(opening.messages.map(\.number) == [1002, 1003])
        #expect(opening.messages.map(\.state) == [.sending, .waiting])
        #expect(opening.pushes.map(\.number) == [9002, 9003])
        #expect(opening.pushes.map(\.state) == [.ticketed, .waiting])
        #expect(try journal.storedAlive() == AliveCounts(messages: 2, pushes: 2))
        #expect(try journal.pushClaims() == 2)
        #expect(try journal.stateLoss()?.evidence == "golden")
        #expect(try journal.erasures().map { $0.finishedAt == nil } == [false, true])
        #expect(try journal.notices.deliveryStatus(of: 1001)?.targets.first?.attempts.count == 1)
        #expect(try checksums(journal) == ["meta 3"])
        // What was on its way comes to its end; the rest of it stays without.
        var engine = opening.recovered.takeEngine()
        let now = engine.clock.now + Milliseconds(1000)
        let wall = engine.clock.wallNow
        var outbox = Outbox(store: opening.store.number, messages: opening.messages, now: now)
        outbox.follow([Receiver(name: Array("oncall".utf8), kind: .webhook)])
        outbox.end(incident: 502)
        var box = PushBox(store: opening.store.number, messages: opening.pushes)
        box.follow(.none)
        _ = box.settle(now: now, wall: wall)
        _ = outbox.begin(now: now)
        let queue = QueueKey(receiver: Array("oncall".utf8), target: 0)
        _ = outbox.end(1002, in: queue, .delivered, now: now, wall: wall)
        var pending = PendingTurn()
        _ = pending.fold(.start(), into: &engine, at: now)
        engine.advance(to: now)
        pending.take(from: &engine)
        _ = outbox.settle(now: now, wall: wall)
        pending.outbox = outbox.takeChanges()
        pending.pushes = box.takeChanges()
        pending.sample = FleetSample(engine)
        pending.pushClaims = 3
        pending.close(number: (opening.recovered.lastTurn?.number ?? 0) + 1, engine)
        try opening.store.commit([pending])
        let alive = try journal.storedAlive()
        #expect(alive.pushes == 0 && alive.messages < 2)
        let summed = try checksums(journal)
        #expect(summed.prefix(3) == ["meta 4", "samples 1", "regionSamples 1"])
        try journal.close()
        opening = try StoreOpening(path: path)
        journal = opening.store.journal
        #expect(opening.loss == nil && opening.recovered.differences == 0)
        #expect(opening.messages.count == alive.messages && opening.pushes.isEmpty)
        #expect(try journal.pushClaims() == 3)
        try journal.close()
    }

    @Test func `version 8: all of it is there as it was summed, and is gone on with`() throws {
        let path = try unpack(8)
        var opening = try StoreOpening(path: path)
        var journal = opening.store.journal
        #expect(opening.loss == nil)
        #expect(try journal.connection.integer("PRAGMA user_version") == version)
        #expect(opening.recovered.checkpoint?.engineVersion == 5)
        #expect(opening.recovered.rows == 3 && opening.recovered.differences == 0)
        #expect(opening.recovered.checkpointsDamaged == [])
        #expect(
            try checksums(journal) == [
                "meta 6", "checkpoints 3", "erasures 2", "outbox 3", "attempts 2", "pushes 3",
                "gaps 14", "dark 12", "samples 1",
            ])
        for table in RowChecksum.Table.partly {
            try RowChecksum.check(table, journal.connection)
        }
        #expect(opening.messages.map(\.number) == [1002, 1003])
        #expect(opening.pushes.map(\.number) == [9002, 9003])
        #expect(try journal.storedAlive() == AliveCounts(messages: 2, pushes: 2))
        #expect(try journal.pushClaims() == 2)
        #expect(try journal.stateLoss()?.evidence == "told once")
        #expect(try journal.erasures().map { $0.finishedAt == nil } == [false, true])
        let engine = opening.recovered.takeEngine()
        #expect(engine.brokenInvariants() == [])
        let silences = engine.alerting.notifications.silences
        #expect(silences.map { text($0.comment) } == ["golden"])
        try GoldenStore.start(opening.store, engine, after: opening.recovered.lastTurn)
        try journal.close()
        opening = try StoreOpening(path: path)
        journal = opening.store.journal
        #expect(opening.loss == nil && opening.recovered.differences == 0)
        #expect(opening.recovered.engine.roster.count == engine.roster.count)
        try journal.close()
    }

    @Test func `version 9 of engine 6: everybody is there, and regions are counted from now on`()
        throws
    {
        let path = try unpack(9)
        var opening = try StoreOpening(path: path)
        #expect(opening.loss == nil)
        #expect(opening.recovered.checkpoint?.engineVersion == 6)
        #expect(opening.recovered.rows > 0 && opening.recovered.differences == 0)
        let engine = opening.recovered.takeEngine()
        #expect(engine.brokenInvariants() == [])
        let people = (0..<engine.roster.count).map { number in
            let person = engine.roster[number]
            let status = person.isActive ? "\(person.status.word)" : "NOT_EXPECTED"
            return "\(text(engine.roster.id(number))) \(status) "
                + "\(text(engine.regions[person.region])) "
                + text(engine.versions[UInt32(person.appVersion)])
        }
        #expect(
            people == [
                "r-0 ONLINE north 4.0", "r-1 NOT_EXPECTED south 4.1",
                "r-2 NOT_EXPECTED ouest é 4.0", "r-3 ONLINE north 4.1", "r-4 DEGRADED south 4.0",
                "r-5 DEGRADED ouest é 4.1", "r-6 ONLINE north 4.0", "r-7 ONLINE south 4.1",
                " NOT_EXPECTED  ", "f-1 NOT_EXPECTED east ", "late-1 ONLINE north ",
            ])
        try GoldenStore.start(
            opening.store, engine, after: opening.recovered.lastTurn, isSampled: true)
        try opening.store.journal.close()
        opening = try StoreOpening(path: path)
        #expect(opening.loss == nil && opening.recovered.differences == 0)
        #expect(opening.recovered.engine.roster.count == engine.roster.count)
        let counted = opening.store.journal.connection
        #expect(try counted.integer("SELECT count(*) FROM sampled_regions") == 4)
        try opening.store.journal.close()
    }

    /// How many rows of which tables of version 8 have a checksum.
    private func checksums(_ journal: Journal) throws -> [String] {
        try RowChecksum.Table.partly.compactMap { table in
            var count = 0
            let select = try Statement(journal.connection, "\(select: table)")
            while try select.next() {
                if select.checksum != nil { count += 1 }
            }
            return count == 0 ? nil : "\(table) \(count)"
        }
    }

    @Test func `version 10: everybody is there; what is old is packed, and read as before`() throws
    {
        let path = try unpack(10)
        var opening = try StoreOpening(path: path)
        #expect(opening.loss == nil)
        #expect(opening.recovered.rows > 0 && opening.recovered.differences == 0)
        let engine = opening.recovered.takeEngine()
        #expect(engine.brokenInvariants() == [])
        let ids = (0..<engine.roster.count).map { text(engine.roster.id($0)) }
        #expect(ids == (0..<8).map { "r-\($0)" } + ["", "f-1", "late-1"])
        let journal = opening.store.journal
        let kept = try journal.checkpoints(beforeTurn: .max)
        #expect(kept.count == 2)
        let before = try PackedStore.export(path)
        let rows = try journal.connection.integer("SELECT count(*) FROM journal")
        try PackedStore.pack(journal)
        #expect(try journal.lastSegment()?.lastTurn == kept[0].turn)
        #expect(try journal.connection.integer("SELECT count(*) FROM journal") < rows - 40)
        #expect(try PackedStore.export(path) == before)
        try journal.close()
        opening = try StoreOpening(path: path)
        #expect(opening.loss == nil && opening.recovered.differences == 0)
        #expect(opening.recovered.engine.roster.count == engine.roster.count)
        try opening.store.journal.close()
    }

    /// A kill leaves the files as they are at that moment; the cache is small, so that some of what
    /// is not committed is in the log already.
    @Test(arguments: 1..<Int(JournalSchema.version))
    func `a kill at any step of the migration leaves the old store, which is migrated again`(
        version: Int
    ) throws {
        let path = try unpack(version)
        let steps = JournalSchema.steps(from: Int64(version))
        var states: Set<[[UInt8]]> = []
        for kill in 0...steps.count {
            let killed = TemporaryDirectory()
            do {
                let connection = try SQLiteConnection(path: path, access: .readWrite)
                try JournalSchema.guardConnection(connection)
                try connection.run("PRAGMA cache_size = 1")
                try connection.run("BEGIN IMMEDIATE")
                for step in steps.prefix(kill) { try connection.run(step) }
                for name in ["rollcall.db", "rollcall.db-wal"] {
                    directory.copy(name, to: killed)
                }
                try connection.run("ROLLBACK")
                try connection.close()
            }
            let opening = try StoreOpening(path: killed.store)
            #expect(opening.loss == nil, "killed before step \(kill)")
            #expect(opening.recovered.rows > 0)
            let connection = opening.store.journal.connection
            #expect(try connection.integer("PRAGMA user_version") == JournalSchema.version)
            #expect(try connection.text("PRAGMA integrity_check") == "ok")
            let checkpoint = Checkpoint(opening.recovered.engine)
            states.insert((0..<checkpoint.sliceCount).map { checkpoint.slice($0) })
            try opening.store.journal.close()
        }
        #expect(states.count == 1)
    }
}
