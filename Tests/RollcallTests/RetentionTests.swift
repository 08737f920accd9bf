import Logging
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport
@testable import RollcallTools

/// What is cut, what stays, and that nobody notices (J7).
@Suite struct RetentionTests {
    private static let day: Int64 = 86_400_000
    /// The midnight that every test begins at.
    private static let began: Int64 = 1_795_219_200_000
    private static let source = Array("default".utf8)

    private let directory = TemporaryDirectory()
    private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// A store with four turns a day and a checkpoint behind the last of each day.
    private func store(days: Int) throws -> (store: StateStore, engine: Engine) {
        let store = try StateStore(path: directory.store)
        var engine = Engine()
        var checkpoints = CheckpointWriter(last: nil)
        for turn in 0..<(days * 4) {
            let now = Self.began + Int64(turn) * Self.day / 4
            var pending = PendingTurn()
            let body = Array("{\"responder_id\":\"r-1\",\"updates\":[{\"sequence\":\(turn)}]}".utf8)
            let scan = try ItemScanner.scan(body.span, kind: .batch)
            let instant = RunningTime(milliseconds: now)
            _ = pending.fold(.items(scan.items, source: Self.source), into: &engine, at: instant)
            engine.advance(to: instant)
            pending.take(from: &engine)
            pending.close(number: Int64(turn + 1), engine)
            try store.commit([pending])
            guard turn % 4 == 3 else { continue }
            checkpoints.begin(turn: Int64(turn + 1), engine, clock(now))
            while checkpoints.isWriting {
                try store.journal.begin()
                try checkpoints.write(to: store.journal)
                try store.journal.commit()
                checkpoints.wrote()
            }
        }
        return (store, engine)
    }

    private func clock(_ wall: Int64) -> ClockReading {
        ClockReading(elapsed: wall, wall: Timestamp(milliseconds: wall))
    }

    /// Cuts until nothing is left to be cut; returns the number of pieces.
    private func cut(
        _ store: StateStore, age: Int64 = 30, bytesMax: Int64 = 4 << 30, at wall: Int64
    ) throws -> Int {
        var pieces = 0
        for round in 0..<100 {
            var writer = RetentionWriter(bytesMax: bytesMax, log: log)
            try writer.consider(
                store.journal, clock(wall), age: Milliseconds(age * Self.day),
                hasCheckpointed: round > 0)
            guard writer.isBusy else { return pieces }
            while writer.isBusy {
                try store.journal.begin()
                try writer.write(to: store.journal)
                try store.journal.commit()
                pieces += 1
            }
        }
        return pieces
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    @Test func `days beyond the retention go, whole, up to a kept checkpoint`() throws {
        let (store, engine) = try store(days: 40)
        let now = Self.began + 40 * Self.day
        let pieces = try cut(store, age: 30, at: now)
        #expect(pieces > 0)
        let first = try #require(try store.journal.firstTurn())
        // Nine days and their last checkpoints are gone; the tenth day is 30 days old.
        #expect(first.wallMilliseconds == Self.began + 10 * Self.day)
        let rows = try store.journal.connection.integer("SELECT min(id) FROM journal")
        #expect(rows == first.firstRow)
        let decisions = try store.journal.connection.integer("SELECT min(turn) FROM decisions")
        #expect(decisions >= first.number)
        // One silence between two batches: those of the days that are cut are gone, with their
        // dark time.
        let gaps = try store.journal.connection.integer("SELECT min(turn) FROM gaps")
        #expect(gaps >= first.number)
        #expect(try store.journal.connection.integer("SELECT count(*) FROM gaps") > 100)
        let day = try store.journal.connection.integer("SELECT min(day) FROM dark")
        #expect(day >= (Self.began + 9 * Self.day) / Self.day)
        let kept = try store.journal.checkpoints(beforeTurn: .max)
        #expect(kept.first?.turn == first.number - 1)
        #expect(state(try store.recover().engine) == state(engine))
        let again = try cut(store, age: 30, at: now)
        #expect(again == 0)
        try store.journal.close()
    }

    @Test func `beyond the size the oldest days go before their time, but never the last ones`()
        throws
    {
        let (store, engine) = try store(days: 10)
        let before = try store.journal.usedBytes()
        _ = try cut(store, bytesMax: before - 1, at: Self.began + 10 * Self.day)
        let first = try #require(try store.journal.firstTurn())
        #expect(first.number > 1 && first.number % 4 == 1)
        let after = try store.journal.usedBytes()
        #expect(after < before)
        _ = try cut(store, bytesMax: 1, at: Self.began + 10 * Self.day)
        let kept = try store.journal.checkpoints(beforeTurn: .max)
        #expect(kept.map(\.turn) == [36, 40])
        #expect(state(try store.recover().engine) == state(engine))
        try store.journal.close()
    }

    /// One day: 240 turns of 40 rows, and checkpoints behind turns 120, 180 and 240.
    private func crowdedDay() throws -> (store: StateStore, engine: Engine) {
        let store = try StateStore(path: directory.store)
        var engine = Engine()
        var checkpoints = CheckpointWriter(last: nil)
        for turn in 1...240 {
            let now = Self.began + Int64(turn) * 60_000
            var pending = PendingTurn()
            let items = (0..<40).map {
                #"{"responder_id":"somebody-\#($0)","updates":[{"sequence":\#(turn)}]}"#
            }
            let body = Array("[\(items.joined(separator: ","))]".utf8)
            let scan = try ItemScanner.scan(body.span, kind: .batch)
            let instant = RunningTime(milliseconds: now)
            _ = pending.fold(.items(scan.items, source: Self.source), into: &engine, at: instant)
            engine.advance(to: instant)
            pending.take(from: &engine)
            pending.close(number: Int64(turn), engine)
            try store.commit([pending])
            guard turn >= 120, turn % 60 == 0 else { continue }
            try checkpoints.writeWhole(
                turn: Int64(turn), engine, clock(now), to: store.journal)
        }
        return (store, engine)
    }

    @Test func `J7: the size is a cap: of a day that is not over as much goes as must`() throws {
        let (store, engine) = try crowdedDay()
        let now = Self.began + 241 * 60_000
        let capture = LogCapture()
        let bytesMax = try store.journal.usedBytes()
        var writer = RetentionWriter(bytesMax: bytesMax, log: capture.logger)
        for second in 0..<40 {
            // Between checkpoints, and long before the next look at the age.
            try writer.consider(
                store.journal, clock(now + Int64(second) * 1000), age: .seconds(30 * 86_400),
                hasCheckpointed: false)
            guard writer.isBusy else { break }
            #expect(writer.isBehind)
            try store.journal.begin()
            // All that is to go in this step, since there is time.
            let pieces = try writer.write(to: store.journal, allowance: .seconds(60))
            try store.journal.commit()
            #expect(pieces >= 1 && !writer.isBusy)
        }
        #expect(try store.journal.usedBytes() <= bytesMax - bytesMax / 16)
        let first = try #require(try store.journal.firstTurn())
        #expect(first.number > 1 && first.number < 120, "\(first.number)")
        #expect(try store.journal.firstUnpackedRow() == first.firstRow)
        #expect(state(try store.recover().engine) == state(engine))
        let text = capture.lines.joined(separator: "\n")
        #expect(text.contains("more than 80 % of storage.size"))
        #expect(text.contains("leaves less than 7 days of history"))
        // What a replay lacks by it is said.
        let note = try #require(try StoreExport(path: directory.store).note)
        #expect(note.contains("behind turn 180: what is kept from before, since "))
        try store.journal.close()
        #expect(try BackupCheck.run(directory.store, of: "it").number == 240)
    }

    @Test func `a size that the two newest checkpoints exceed takes nothing of them, and is said`()
        throws
    {
        let (store, engine) = try crowdedDay()
        let capture = LogCapture()
        var writer = RetentionWriter(bytesMax: 4096, log: capture.logger)
        for second in 0..<40 {
            try writer.consider(
                store.journal, clock(Self.began + 241 * 60_000 + Int64(second) * 1000),
                age: .seconds(30 * 86_400), hasCheckpointed: false)
            guard writer.isBusy else { continue }
            try store.journal.begin()
            try writer.write(to: store.journal)
            try store.journal.commit()
        }
        #expect(writer.isBeyond && !writer.isBehind)
        #expect(try store.journal.checkpoints(beforeTurn: .max).map(\.turn) == [180, 240])
        let text = capture.lines.joined(separator: "\n")
        #expect(text.contains("too small for what comes between two checkpoints"))
        #expect(state(try store.recover().engine) == state(engine))
        try store.journal.close()
    }

    @Test func `J7, J12: what is packed goes as if it were not, up to the same checkpoint`() throws
    {
        let (store, engine) = try store(days: 40)
        try PackedStore.pack(store.journal)
        let blocks = try store.journal.connection.integer("SELECT count(*) FROM blocks")
        let pieces = try cut(store, age: 30, at: Self.began + 40 * Self.day)
        #expect(pieces > 0)
        let first = try #require(try store.journal.firstTurn())
        #expect(first.wallMilliseconds == Self.began + 10 * Self.day)
        #expect(try store.journal.connection.integer(.firstRow) == first.firstRow)
        let left = try store.journal.connection.integer("SELECT count(*) FROM blocks")
        #expect(left == blocks - 20)
        #expect(try store.journal.checkpoints(beforeTurn: .max).first?.turn == first.number - 1)
        #expect(state(try store.recover().engine) == state(engine))
        let again = try cut(store, age: 30, at: Self.began + 40 * Self.day)
        #expect(again == 0)
        try store.journal.close()
    }

    @Test func `J7, J12: damage in what is packed keeps nothing that is too old`() throws {
        let (store, engine) = try store(days: 40)
        try PackedStore.pack(store.journal)
        try store.journal.connection.run("UPDATE blocks SET body = x'FF' || substr(body, 2)")
        let pieces = try cut(store, age: 30, at: Self.began + 40 * Self.day)
        #expect(pieces > 0)
        let first = try store.journal.connection.integer("SELECT min(first_turn) FROM segments")
        #expect(first == 41)
        #expect(try store.journal.firstTurn()?.number == 41)
        #expect(state(try store.recover().engine) == state(engine))
        try store.journal.close()
    }

    @Test func `J7, J12: of what is packed whole segments go for the size`() throws {
        let (store, engine) = try crowdedDay()
        // Of 40 turns each.
        try PackedStore.pack(store.journal, rowsMax: 1600)
        let before = try store.journal.usedBytes()
        var writer = RetentionWriter(bytesMax: before, log: log)
        try writer.consider(
            store.journal, clock(Self.began + 250 * 60_000), age: Milliseconds(30 * Self.day),
            hasCheckpointed: false)
        // A sixteenth would be in the middle of the first.
        #expect(writer.lastTurnCut == 40)
        while writer.isBusy {
            try store.journal.begin()
            try writer.write(to: store.journal)
            try store.journal.commit()
        }
        #expect(try store.journal.firstTurn()?.number == 41)
        #expect(try store.journal.usedBytes() < before)
        #expect(state(try store.recover().engine) == state(engine))
        try store.journal.close()
    }

    @Test func `a store younger than its retention is left alone`() throws {
        let (store, _) = try store(days: 3)
        let pieces = try cut(store, at: Self.began + 3 * Self.day)
        #expect(pieces == 0)
        try store.journal.close()
    }

    @Test func `a walk back ends where the retention has cut`() throws {
        let (store, engine) = try store(days: 10)
        _ = try cut(store, bytesMax: 1, at: Self.began + 10 * Self.day)
        let reader = try JournalReader(path: directory.store)
        var rows = 0
        let next = try reader.walk(from: engine.roster[0].lastRow, of: 1, limit: 1000) { _ in
            rows += 1
        }
        #expect(next == 0)
        #expect(rows == 4)
        try store.journal.close()
    }

    @Test func `a cut journal without a readable checkpoint is not folded from its middle`() throws
    {
        let (store, _) = try store(days: 10)
        _ = try cut(store, bytesMax: 1, at: Self.began + 10 * Self.day)
        try store.journal.connection.run("DELETE FROM checkpoints")
        let error = try thrown { try store.recover() }
        #expect(error.disposition == .fatal(.corrupt))
        try store.journal.close()
    }
}
