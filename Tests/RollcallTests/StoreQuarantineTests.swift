import CSQLite
import Glibc
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// A store that cannot be read is put aside, never deleted, and said (G12, D-08).
@Suite struct StoreQuarantineTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.store }

    private func aside() -> [String] {
        directory.names.filter { $0.contains(".corrupt-") }.sorted()
    }

    /// A store that was served and holds a turn, closed in order.
    private func serve() throws {
        let paging = try NotifyingStateWriter(directory, [:])
        paging.stop()
    }

    @Test func `only what says something of the store itself is a reason`() {
        func sqlite(_ code: Int32) -> StoreError {
            .sqlite(SQLiteFailure(extendedCode: code, systemError: 0, message: "", sql: ""))
        }
        #expect(StoreQuarantine.cause(sqlite(SQLITE_CORRUPT)) == .damaged)
        #expect(StoreQuarantine.cause(sqlite(SQLITE_NOTADB)) == .damaged)
        #expect(StoreQuarantine.cause(.damaged("x")) == .damaged)
        #expect(
            StoreQuarantine.cause(.foreignFile(path: "x", applicationID: 1, version: 1))
                == .foreign)
        for code in [
            SQLITE_IOERR, rollcall_ioerr_fsync, rollcall_ioerr_corruptfs, SQLITE_FULL, SQLITE_BUSY,
            SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_ERROR, SQLITE_PERM,
            SQLITE_PROTOCOL, SQLITE_LOCKED,
        ] {
            #expect(StoreQuarantine.cause(sqlite(code)) == nil, "\(code)")
        }
        #expect(StoreQuarantine.cause(.newerVersion(path: "x", found: 9, known: 7)) == nil)
        #expect(StoreQuarantine.cause(.secondInstance(path: "x", process: 1)) == nil)
        #expect(StoreQuarantine.cause(.file(call: "open", path: "x", errno: EIO)) == nil)
        #expect(StoreQuarantine.cause(.setting(name: "x", wanted: "1", found: "2")) == nil)
    }

    @Test func `what is no database is put aside, and receivers are told once`() throws {
        try serve()
        let diary = "Dear diary, this is no database at all."
        directory.write("rollcall.db", diary)
        let pager = ScriptedReceiver { _ in AttemptResult(.delivered, status: 202) }
        var paging = try NotifyingStateWriter(directory, ["oncall": pager])
        #expect(isTrueSoon { pager.messages.count == 1 })
        let alert = try #require(pager.messages.first?.alerts.first)
        #expect(
            alert.labels.contains(Label(Array("alertname".utf8), Array("RollcallStateLost".utf8))))
        #expect(alert.labels.contains(Label(Array("severity".utf8), Array("critical".utf8))))
        #expect(alert.annotations.contains(Label(Array("reason".utf8), Array("damaged".utf8))))
        #expect(alert.key.hasSuffix("-state"))
        let kept = try #require(aside().first)
        #expect(aside() == [kept, "\(kept)-shm"])
        #expect(directory.bytes(kept) == Array(diary.utf8))
        let line = "error what was known is lost: the store is begun anew cause=damaged"
        #expect(paging.log.lines.contains { $0.hasPrefix(line) && $0.contains("kept=\(kept)") })
        #expect(paging.log.lines.contains { $0.contains("nobody is nudged for an interval") })
        #expect(paging.drill("oncall") > 0)
        paging.stop()
        // It is not lost again; who could not be told before a restart is told after it, under the
        // same key and the same id.
        paging = try NotifyingStateWriter(directory, ["oncall": pager])
        #expect(isTrueSoon { pager.messages.contains { $0.alerts.first?.key == alert.key } })
        #expect(isTrueSoon { pager.messages.count { $0.alerts.first?.key == alert.key } == 2 })
        let ids = pager.messages.filter { $0.alerts.first?.key == alert.key }.map(\.id)
        #expect(Set(ids).count == 1)
        #expect(!paging.log.lines.contains { $0.hasPrefix("error what was known is lost") })
        #expect(aside().count == 2)
        paging.stop()
    }

    @Test(arguments: ["empty", "missing"])
    func `a store that is gone is lost, not new, if there was one`(how: String) throws {
        try serve()
        if how == "empty" { truncate(path, 0) } else { unlink(path) }
        var opening = try StoreOpening(path: path)
        #expect(opening.loss?.cause == .gone)
        #expect(opening.loss?.kept == [])
        // Also after a crash before anything was stored.
        try opening.store.journal.close()
        opening = try StoreOpening(path: path)
        #expect(opening.loss?.cause == .gone)
        try opening.store.journal.close()
        let paging = try NotifyingStateWriter(directory, [:])
        #expect(paging.log.lines.contains { $0.contains("cause=gone") })
        paging.stop()
        opening = try StoreOpening(path: path)
        #expect(opening.loss == nil)
        #expect(try opening.store.journal.stateLoss()?.cause == .gone)
        try opening.store.journal.close()
    }

    @Test func `where there never was a store, nothing is lost`() throws {
        for _ in 0..<2 {
            let opening = try StoreOpening(path: path)
            #expect(opening.loss == nil)
            try opening.store.journal.close()
        }
        let paging = try NotifyingStateWriter(directory, [:])
        #expect(!paging.log.lines.contains { $0.contains("is lost") })
        paging.stop()
    }

    @Test func `a log without its file is kept`() throws {
        directory.write("rollcall.db-wal", "what was acknowledged last")
        let opening = try StoreOpening(path: path)
        #expect(opening.loss?.cause == .gone)
        #expect(aside() == opening.loss?.kept)
        #expect(aside().count == 1 && aside()[0].hasSuffix("Z-wal"))
        #expect(directory.bytes(aside()[0]) == Array("what was acknowledged last".utf8))
        try opening.store.journal.close()
    }

    @Test func `another application's file is put aside, whatever its number`() throws {
        for (number, sql) in [(0, nil), (7, "PRAGMA application_id = 7" as SQL?)] {
            let directory = TemporaryDirectory()
            try StoreFile.create(directory.store)
            let other = try SQLiteConnection(path: directory.store, access: .readWrite)
            try other.run("CREATE TABLE theirs(x)")
            if let sql { try other.run(sql) }
            try other.close()
            let before = directory.bytes("rollcall.db")
            let opening = try StoreOpening(path: directory.store)
            let loss = try #require(opening.loss)
            #expect(loss.cause == .foreign)
            #expect(loss.evidence == "application_id \(number), user_version 0")
            #expect(directory.bytes(try #require(loss.kept.first)) == before)
            try opening.store.journal.close()
        }
    }

    @Test func `tables that are not ours are damage, in whatever version`() throws {
        for change: SQL in ["DROP TABLE dark", "PRAGMA user_version = 6"] {
            let directory = TemporaryDirectory()
            let store = try StateStore(path: directory.store)
            try store.journal.connection.run(change)
            try store.journal.close()
            let opening = try StoreOpening(path: directory.store)
            #expect(opening.loss?.cause == .damaged)
            #expect(
                opening.loss?.evidence.hasPrefix("its tables are not those of its version") == true)
            try opening.store.journal.close()
        }
    }

    @Test func `a newer version is refused, byte for byte`() throws {
        try serve()
        let store = try StateStore(path: path)
        try store.journal.connection.run("PRAGMA user_version = 99")
        try store.journal.close()
        let before = directory.bytes("rollcall.db")
        let error = try thrown { _ = try StoreOpening(path: path) }
        #expect(error == .newerVersion(path: path, found: 99, known: JournalSchema.version))
        #expect(directory.bytes("rollcall.db") == before)
        #expect(aside() == [])
    }

    @Test func `nothing that was put aside is overwritten`() throws {
        let wall = Timestamp(milliseconds: 1_795_230_000_123)
        var names: [String] = []
        for round in 0..<3 {
            directory.write("rollcall.db", "round \(round)")
            directory.write("rollcall.db-wal", "log \(round)")
            names += try StoreQuarantine.quarantine(path, at: wall)
        }
        let base = "rollcall.db.corrupt-20261121T030000Z"
        #expect(
            names == [
                base, "\(base)-wal", "\(base)-2", "\(base)-2-wal", "\(base)-3", "\(base)-3-wal",
            ])
        for round in 0..<3 {
            #expect(directory.bytes(names[2 * round]) == Array("round \(round)".utf8))
            #expect(directory.bytes(names[2 * round + 1]) == Array("log \(round)".utf8))
        }
        #expect(directory.names.sorted() == names.sorted())
    }

    @Test func `a store without its last turns is older, and freezes nudges`() throws {
        try serve()
        let copy = TemporaryDirectory()
        directory.copy("rollcall.db", to: copy)
        let sink = ScriptedSink()
        var pushing = try PushingStateWriter(directory, sink)
        // Nobody was nudged: only the turns tell.
        pushing.report(["a"], isLocated: false)
        pushing.stop()
        directory.copy("rollcall.db.epoch", to: copy)
        pushing = try PushingStateWriter(copy, sink)
        let line = "error the store is older than what was acknowledged"
        #expect(pushing.log.lines.contains { $0.hasPrefix(line) && $0.contains("cause=older") })
        let until = try #require(pushing.view?.engine.nudges.frozenUntil)
        #expect((until - ClockReading.now().wall).count > 5 * 3_600_000)
        pushing.stop()
        pushing = try PushingStateWriter(copy, sink)
        #expect(!pushing.log.lines.contains { $0.hasPrefix(line) })
        pushing.stop()
    }

    @Test func `damage that was met while it was served is looked for by the next start`() throws {
        try serve()
        let store = try StateStore(path: path)
        try store.journal.connection.run(
            "INSERT INTO gaps VALUES(1, 1, 0, x'', 0x123456789A, 5, 1, 1, x'', NULL)")
        try store.journal.close()
        try StoreSurgery.enlarge(path)
        // It stands in the table and in an index, which do not agree any more: only who looks at both
        // can tell.
        var bytes = directory.bytes("rollcall.db")
        let value: [UInt8] = [0x12, 0x34, 0x56, 0x78, 0x9A]
        let places = bytes.indices.prefix(1 << 20).filter { bytes[$0...].starts(with: value) }
        #expect(places.count == 2)
        bytes[try #require(places.last)] ^= 1
        directory.write("rollcall.db", bytes)
        for name in ["rollcall.db-wal", "rollcall.db-shm"] { unlink(directory.path + "/" + name) }
        let opening = try StoreOpening(path: path)
        #expect(opening.loss == nil)
        try opening.store.journal.close()
        StoreQuarantine.suspect(path)
        for cause in [StateLossCause.damaged, nil] {
            let opening = try StoreOpening(path: path)
            #expect(opening.loss?.cause == cause ?? .gone)
            #expect(!StoreQuarantine.isSuspect(path))
            try opening.store.journal.close()
        }
    }

    @Test func `while somebody copies the file, the log is not moved into it`() throws {
        let store = try StateStore(path: path)
        var lock = StoreCopyLock(copying: path, seconds: 1)
        #expect(lock != nil)
        let second = StoreCopyLock(copying: path, seconds: 1)
        #expect(second != nil)
        try store.journal.turn(1, rows: [(1, "a")])
        let before = directory.bytes("rollcall.db")
        for mode in [WALCheckpoint.Mode.passive, .truncate] {
            #expect(try store.journal.checkpointWAL(mode).isBusy)
        }
        #expect(directory.bytes("rollcall.db") == before)
        lock = nil
        #expect(try store.journal.checkpointWAL(.passive).isBusy)
        withExtendedLifetime(second) {}
        // Closing neither waits nor loses anything: the log stays.
        try store.journal.close()
        #expect(directory.bytes("rollcall.db") == before)
        let again = try Journal(path: path)
        #expect(try again.tail(after: 0) == ["1/1/0/0 a", "turn 1"])
        try again.close()
    }
}
