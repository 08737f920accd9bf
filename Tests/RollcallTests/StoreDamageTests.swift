import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport
@testable import RollcallTools

/// A store in which a bit flipped or of which an end is missing is never wrong silently (G12, D-08).
///
/// `ROLLCALL_FLIPS=1000` flips that many bits, and cuts files 200 times.
@Suite struct StoreDamageTests {
    private static let asked = ProcessInfo.processInfo.environment["ROLLCALL_FLIPS"].flatMap(
        Int.init)
    private static let flips = asked ?? 120
    private static let cuts = asked == nil ? 40 : 200

    /// What came of a damaged store.
    private enum Outcome: String {
        /// It has what it had.
        case same
        /// What is wrong in it was said; the state is right.
        case said
        /// It was put aside, and that was said.
        case quarantine = "putAside"
        /// The epoch file knows of more than there is, and that is said.
        case older
        /// It was not opened, for a reason, and is where it was.
        case refused
        /// It serves, and refuses to tell the part of its history that is damaged.
        case historyRefused
        /// It decides by something else than what was written, and nobody knows.
        case silent
    }

    /// A store as a kill leaves it: some of it in the file, some in the log.
    private struct Original {
        var files: [String: [UInt8]] = [:]
        var state: [[UInt8]]
        var history: [UInt8]
        var rest: String

        init() throws {
            let directory = TemporaryDirectory()
            let story = try ExportStory(path: directory.store)
            try story.tell()
            try story.tellRest()
            let page = EpochFile.Page(
                store: story.store.number, claims: 0, turn: story.turn,
                reading: EpochFile.Reading(ClockReading.now()))
            try EpochFile(storePath: directory.store).write(page)
            _ = try story.store.journal.checkpointWAL(.passive)
            for _ in 0..<12 { try story.commit([try story.batch(#"{"responder_id":"r-1"}"#)]) }
            EpochFile(storePath: directory.store).note(turn: story.turn)
            try EpochFile(storePath: directory.store).write(
                EpochFile.Page(
                    store: story.store.number, claims: 0, turn: story.turn,
                    reading: page.reading))
            for name in ["rollcall.db", "rollcall.db-wal", "rollcall.db.epoch"] {
                files[name] = directory.bytes(name)
            }
            // The number of the last push is the store's.
            state = StoreDamageTests.state(try story.store.recover().engine)
            history = try StoreDamageTests.history(directory.store)
            rest = try StoreDamageTests.rest(story.store)
            try story.close()
        }
    }

    private static func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    private static func history(_ path: String) throws -> [UInt8] { try PackedStore.export(path) }

    /// What the tables hold that an export does not carry.
    private static func rest(_ store: StateStore) throws -> String {
        var rows: [String] = []
        for table in RowChecksum.Table.partly {
            let select = try Statement(store.journal.connection, "\(select: table)")
            while try select.next() {
                let values = (0..<select.columnCount).map { column in
                    switch select.value(at: column) {
                    case .text(let bytes), .blob(let bytes): "\(Array(bytes))"
                    case let value: "\(value)"
                    }
                }
                rows.append("\(table) \(values.joined(separator: ","))")
            }
        }
        return rows.joined(separator: "\n")
    }

    private static func outcome(
        _ original: Original, _ files: [String: [UInt8]], _ what: String
    ) throws -> Outcome {
        let directory = TemporaryDirectory()
        for (name, bytes) in files { directory.write(name, bytes) }
        let opening: StoreOpening
        do throws(StoreError) {
            opening = try StoreOpening(path: directory.store)
        } catch {
            #expect(!directory.names.contains { $0.contains(".corrupt-") }, "\(what): \(error)")
            #expect(directory.bytes("rollcall.db") == files["rollcall.db"], "\(what): \(error)")
            return .refused
        }
        let store = opening.store
        defer { try? store.journal.close() }
        if let loss = opening.loss {
            #expect(!loss.evidence.isEmpty)
            let kept = try #require(loss.kept.first)
            #expect(kept.hasPrefix("rollcall.db.corrupt-"))
            #expect(directory.bytes(kept) == files["rollcall.db"], "\(what): nothing is changed")
            return .quarantine
        }
        let recovered = opening.recovered
        let page = try #require(EpochFile(storePath: directory.store).page())
        let verdict = EpochFile.verdict(
            page, store: store.number, claims: 0, turn: recovered.lastTurn?.number ?? 0,
            page.reading)
        if verdict.isRestored { return .older }
        guard state(recovered.engine) == original.state else { return .silent }
        if recovered.differences > 0 || !recovered.checkpointsDamaged.isEmpty { return .said }
        do {
            guard try history(directory.store) == original.history else { return .silent }
        } catch is ExportError {
            return .historyRefused
        }
        guard try rest(store) == original.rest else {
            // Whoever is to be told is told so.
            do throws(StoreError) {
                for table in RowChecksum.Table.partly {
                    try RowChecksum.check(table, store.journal.connection)
                }
            } catch {
                return .historyRefused
            }
            return .silent
        }
        return .same
    }

    private func aggregates(_ outcomes: [Outcome]) -> String {
        Dictionary(grouping: outcomes, by: \.rawValue).map { "\($0.key) \($0.value.count)" }
            .sorted().joined(separator: ", ")
    }

    @Test func `a flipped bit is noticed, or changes nothing that is decided by`() throws {
        let original = try Original()
        let filled = original.files.mapValues { bytes in bytes.indices.filter { bytes[$0] != 0 } }
        var dice = SystemRandomNumberGenerator()
        var outcomes: [Outcome] = []
        for number in 0..<Self.flips {
            let name = number % 4 == 3 ? "rollcall.db-wal" : "rollcall.db"
            var files = original.files
            // Much of a small store is empty pages, in which nothing can be wrong.
            let full = try #require(filled[name])
            let place = full[Int.random(in: full.indices, using: &dice)]
            let bit = UInt8(1) << Int.random(in: 0..<8, using: &dice)
            files[name]?[place] ^= bit
            let what = "bit \(bit) of byte \(place) of \(name)"
            let outcome = try Self.outcome(original, files, what)
            #expect(outcome != .silent, "\(what)")
            outcomes.append(outcome)
        }
        print("flips: \(aggregates(outcomes))")
        // The control: damage is met, and noticed.
        #expect(outcomes.contains { $0 != .same })
    }

    /// Decisions are sought by their turns, and one that was not as it was written would lead by others.
    @Test func `a decision or a turn that is only sought by is looked at, too`() throws {
        let original = try Original()
        for (table, columns) in [("decisions", ["turn"]), ("turns", ["wall_ms", "last_row"])] {
            for (column, bit) in columns.flatMap({ column in [7, 63].map { (column, $0) } }) {
                for row in [1, 2, 20, 40] {
                    let directory = TemporaryDirectory()
                    for (name, bytes) in original.files { directory.write(name, bytes) }
                    let flip = StoreSurgery.flip(
                        column, of: table, where: "rowid = \(row)", bit: 1 << bit)
                    try StoreSurgery.run(directory.store, flip)
                    #expect(throws: ExportError.self, "\(table) \(row) \(column) \(bit)") {
                        try Self.history(directory.store)
                    }
                }
            }
        }
    }

    @Test func `K6: where the past of another cell ends is known, or said to be damaged`() throws {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        let reader = try HistoryReader(path: directory.store)
        #expect(try reader.decisionsOfOrigin() == 0)
        let key = HistoryReader.originDecisionsKey
        try journal.begin()
        try journal.set(40, forKey: key)
        try journal.commit()
        #expect(try reader.decisionsOfOrigin() == 40)
        let flip = StoreSurgery.flip("value", of: "meta", where: "key = '\(key)'", bit: 1 << 3)
        try StoreSurgery.run(directory.store, flip)
        #expect(throws: StoreError.self) { try reader.decisionsOfOrigin() }
    }

    @Test func `a file of which an end is missing is noticed`() throws {
        let original = try Original()
        var outcomes: [Outcome] = []
        for number in 0..<Self.cuts {
            let name = number % 2 == 0 ? "rollcall.db" : "rollcall.db-wal"
            var files = original.files
            let count = try #require(files[name]?.count)
            // Not the last bytes of the log: what stands there may be an older frame's.
            let left = number < 2 ? 0 : Int.random(in: 0..<count)
            files[name]?.removeLast(count - left)
            let outcome = try Self.outcomeOfCut(original, files, "\(name) cut to \(left)")
            #expect(outcome != .silent, "\(name) cut to \(left) of \(count)")
            outcomes.append(outcome)
        }
        print("cuts: \(aggregates(outcomes))")
        #expect(outcomes.contains(.older) && outcomes.contains(.quarantine))
    }

    private static func outcomeOfCut(
        _ original: Original, _ files: [String: [UInt8]], _ what: String
    ) throws -> Outcome {
        guard files["rollcall.db"]?.isEmpty == true else {
            return try outcome(original, files, what)
        }
        // Nothing of the file is left; the log, which SQLite would delete, is kept.
        let directory = TemporaryDirectory()
        for (name, bytes) in files { directory.write(name, bytes) }
        let opening = try StoreOpening(path: directory.store)
        let loss = try #require(opening.loss)
        #expect(loss.cause == .gone)
        let kept = try #require(loss.kept.first)
        #expect(kept.hasSuffix("Z-wal"))
        #expect(directory.bytes(kept) == files["rollcall.db-wal"])
        return .quarantine
    }

    /// The control: without checksums the same test finds what is silently wrong.
    @Test func `a flip in a value is silent where no checksum is`() throws {
        let original = try Original()
        let directory = TemporaryDirectory()
        for (name, bytes) in original.files { directory.write(name, bytes) }
        var store = try StateStore(path: directory.store)
        let connection = store.journal.connection
        try connection.run("UPDATE turns SET checksum = NULL")
        try connection.run(
            """
            UPDATE turns SET now_ms = now_ms + 1
            WHERE number = (SELECT max(number) FROM turns)
            """)
        #expect(try Self.state(store.recover().engine) != original.state)
        try connection.run("UPDATE turns SET checksum = 12345 WHERE number > 1")
        try store.journal.close()
        store = try StateStore(path: directory.store)
        let error = try thrown { try store.recover() }
        #expect(error.disposition == .fatal(.corrupt))
    }

    /// SQLite reads what is missing at the end of a file as zeros, the checksum with it.
    @Test func `a row of which the end became zeros is noticed`() throws {
        let original = try Original()
        for table in ["journal", "turns"] {
            let directory = TemporaryDirectory()
            for (name, bytes) in original.files { directory.write(name, bytes) }
            var store = try StateStore(path: directory.store)
            try store.journal.connection.run(
                table == "journal"
                    ? "UPDATE journal SET body = zeroblob(length(body)), checksum = 0"
                    : "UPDATE turns SET now_ms = now_ms + 1, checksum = 0")
            try store.journal.close()
            store = try StateStore(path: directory.store)
            let error = try thrown { try store.recover() }
            #expect(error.disposition == .fatal(.corrupt), "\(table)")
        }
    }

    @Test func `a checkpoint that is damaged is passed over, and given up`() throws {
        let original = try Original()
        let directory = TemporaryDirectory()
        for (name, bytes) in original.files { directory.write(name, bytes) }
        let store = try StateStore(path: directory.store)
        let newest = try #require(try store.journal.newestCheckpoint())
        try store.journal.connection.run(
            """
            UPDATE checkpoint_slices SET body = zeroblob(length(body))
            WHERE slice = 1 AND turn = (SELECT max(turn) FROM checkpoints)
            """)
        try store.journal.close()
        let log = LogCapture()
        func open() throws -> StateWriter {
            try StateWriter(
                path: directory.store, policy: ExportStory.policy(offlineAfter: 240),
                log: log.logger, edge: EdgeStats(), refusals: { 0 }, onFatal: { _ in })
        }
        let opening = try StoreOpening(path: directory.store)
        #expect(opening.loss == nil)
        #expect(opening.recovered.checkpointsDamaged == [newest.turn])
        #expect(Self.state(opening.recovered.engine) == original.state)
        try opening.store.journal.close()
        _ = try open()
        let line = "error a checkpoint is damaged: an older one and the journal were read instead"
        #expect(log.lines.count { $0 == "\(line) checkpoint=\(newest.turn)" } == 1)
        // The next start does not look at it any more.
        _ = try open()
        #expect(log.lines.count { $0.hasPrefix(line) } == 1)
    }

    /// B1, D6: the turn that says that the store fails was kept, and the process ended before the one that
    /// says its end.
    @Test func `a start behind a recovery that was cut off is not blind for good`() throws {
        let directory = TemporaryDirectory()
        let story = try ExportStory(path: directory.store)
        try story.commit([.start(), .policy(ExportStory.policy(offlineAfter: 240))])
        try story.commit([.store(isFailing: true)])
        try story.commit([], after: 5)
        #expect(story.engine.isStoreFailing)
        try story.close()
        let writer = try StateWriter(
            path: directory.store, policy: ExportStory.policy(offlineAfter: 240),
            log: LogCapture().logger, edge: EdgeStats(), refusals: { 0 }, onFatal: { _ in })
        #expect(writer.start())
        let views = ReplyCounter()
        writer.ask { views.add("\($0.engine.isStoreFailing)") }
        #expect(isTrueSoon { views.all == ["false"] })
        let ends = ReplyCounter()
        writer.stop { ends.add("stopped") }
        #expect(isTrueSoon { !ends.all.isEmpty })
    }
}
