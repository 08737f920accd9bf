import CSQLite
import Glibc
import Testing

@testable import RollcallStore

/// The journal against real files, in a directory of its own per test.
@Suite struct JournalTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.store }

    @Test func `the settings that promises stand on read back`() throws {
        let journal = try Journal(path: path)
        let connection = journal.connection
        let found = try [
            connection.text("PRAGMA journal_mode"), connection.text("PRAGMA synchronous"),
            connection.text("PRAGMA locking_mode"), connection.text("PRAGMA wal_autocheckpoint"),
            connection.text("PRAGMA journal_size_limit"), connection.text("PRAGMA foreign_keys"),
            connection.text("PRAGMA trusted_schema"), connection.text("PRAGMA cell_size_check"),
            connection.text("PRAGMA secure_delete"), connection.text("PRAGMA temp_store"),
            connection.text("PRAGMA mmap_size"), connection.text("PRAGMA application_id"),
            connection.text("PRAGMA user_version"), connection.text("PRAGMA page_size"),
        ]
        let wanted = [
            "wal", "2", "normal", "0", "67108864", "1", "0", "1", "1", "2", "0", "1380729676",
            "\(JournalSchema.version)", "4096",
        ]
        #expect(found == wanted)
        try connection.run("PRAGMA synchronous = NORMAL")
        #expect(throws: StoreError.setting(name: "synchronous", wanted: "2", found: "1")) {
            try JournalSchema.checkWriterSettings(connection)
        }
        try journal.close()
    }

    @Test func `only the owner can read the files`() throws {
        let journal = try Journal(path: path)
        for suffix in ["", "-wal", "-shm", ".lock"] {
            var status = stat()
            #expect(stat(path + suffix, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
        }
        try journal.close()
    }

    @Test func `rows, decisions and metadata survive a restart`() throws {
        var journal = try Journal(path: path)
        #expect(journal.isNew)
        #expect(try journal.lastTurn() == nil)
        try journal.begin()
        try journal.append(id: 5, kind: 1, responder: 41, previous: 0, text: "hello")
        try journal.append(id: 9, kind: 255, responder: 41, previous: 5, text: "")
        try journal.decide(id: 3, turn: 1, responder: 41, previous: 0, at: -7, text: "offline")
        try journal.set(-12, forKey: "epoch")
        try Array("bytes".utf8).withUnsafeBytes { try journal.set($0, forKey: "token") }
        let turn = Turn(
            number: 1, nowMilliseconds: 2, wallMilliseconds: 3, firstRow: 5, lastRow: 9,
            engineVersion: 4)
        try journal.write(turn: turn)
        try journal.commit()
        try journal.close()

        journal = try Journal(path: path)
        #expect(!journal.isNew)
        #expect(journal.lastRow == 9 && journal.lastDecision == 3)
        #expect(try journal.lastTurn() == turn)
        #expect(try journal.integer(forKey: "epoch") == -12)
        #expect(try journal.bytes(forKey: "token") == Array("bytes".utf8))
        #expect(try journal.integer(forKey: "nothing") == nil)
        #expect(try journal.tail(after: 0) == ["5/1/41/0 hello", "9/255/41/5 ", "turn 1"])
        #expect(try journal.decisionsAfter(turn: 0) == ["3@1/41/0/-7 offline"])
    }

    @Test(arguments: [1, 15, 16, 17, 32, 100] as [Int64])
    func `as many decisions as there are come back one by one`(count: Int64) throws {
        let journal = try Journal(path: path)
        var wanted: [String] = []
        for turn in 1...2 as ClosedRange<Int64> {
            try journal.begin()
            for place in 1...count {
                let id = 1000 * turn + place
                let text = String(repeating: "é", count: Int(id % 7))
                try journal.decide(
                    id: id, turn: turn, responder: place, previous: id - place, at: -id, text: text)
                wanted.append("\(id)@\(turn)/\(place)/\(id - place)/\(-id) \(text)")
            }
            try journal.write(turn: .of(turn, nil))
            try journal.commit()
        }
        #expect(try journal.decisionsAfter(turn: 0) == wanted)
        var damaged = 0
        try journal.replayDecisions(afterTurn: 0) { _, isWhole in damaged += isWhole ? 0 : 1 }
        #expect(damaged == 0)
    }

    @Test func `decisions of a turn that is rolled back come with no other`() throws {
        let journal = try Journal(path: path)
        for count in [3, 16, 20] as [Int64] {
            try journal.begin()
            for id in 1...count {
                try journal.decide(
                    id: id, turn: 1, responder: 1, previous: id - 1, at: id, text: "no")
            }
            try journal.rollback()
            #expect(journal.lastDecision == 0)
        }
        try journal.begin()
        try journal.decide(id: 1, turn: 1, responder: 1, previous: 0, at: 1, text: "yes")
        try journal.write(turn: .of(1, nil))
        try journal.commit()
        #expect(try journal.decisionsAfter(turn: 0) == ["1@1/1/0/1 yes"])
    }

    @Test func `a kill keeps what was committed and nothing else`() throws {
        let journal = try Journal(path: path)
        try journal.turn(1, rows: [(1, "kept")])
        try journal.begin()
        // More than the page cache, so that part of it has reached the log already.
        let large = String(repeating: "x", count: 1 << 20)
        for id in 2...20 { try journal.append(id: Int64(id), text: large) }
        #expect(directory.size("rollcall.db-wal") > 8 << 20)
        let killed = TemporaryDirectory()
        directory.copy("rollcall.db", to: killed)
        directory.copy("rollcall.db-wal", to: killed)
        let found = try Journal(path: killed.store)
        #expect(try found.tail(after: 0) == ["1/1/0/0 kept", "turn 1"])
        #expect(found.lastRow == 1)
        #expect(try found.connection.text("PRAGMA integrity_check") == "ok")
        try journal.rollback()
    }

    @Test func `the tail replays each turn's rows and then the turn`() throws {
        let journal = try Journal(path: path)
        try journal.turn(1, rows: [(1, "a"), (2, "b")])
        try journal.turn(2, rows: [(3, "c")])
        try journal.turn(3, rows: [])
        try journal.begin()
        try journal.decide(id: 1, turn: 4, responder: 7, previous: 0, at: 10, text: "d")
        try journal.append(id: 4, text: "e")
        try journal.append(id: 8, text: "f")
        try journal.write(turn: .of(4, 4...8))
        try journal.commit()
        let all = [
            "1/1/0/0 a", "2/1/0/0 b", "turn 1", "3/1/0/0 c", "turn 2", "turn 3", "4/1/0/0 e",
            "8/1/0/0 f", "turn 4",
        ]
        #expect(try journal.tail(after: 0) == all)
        #expect(try journal.tail(after: 2) == Array(all[5...]))
        #expect(try journal.tail(after: 4) == [])
        #expect(try journal.decisionsAfter(turn: 3) == ["1@4/7/0/10 d"])
        #expect(try journal.decisionsAfter(turn: 4) == [])
    }

    // MARK: Who may not open it

    @Test func `a second instance is refused, by any name, until the first has gone`() throws {
        let first = try Journal(path: path)
        let alias = directory.path + "/alias.db"
        #expect(symlink(path, alias) == 0)
        for name in [path, alias] {
            let error = try thrown { try Journal(path: name) }
            #expect(error == .secondInstance(path: path, process: getpid()))
            #expect(error.disposition == .fatal(.secondInstance))
        }
        try first.close()
        _ = try Journal(path: alias)
        _ = try Journal(path: path)
    }

    @Test func `a newer version is refused and stays as it was`() throws {
        let journal = try Journal(path: path)
        try journal.connection.run("PRAGMA user_version = 99")
        try journal.close()
        let before = directory.bytes("rollcall.db")
        let error = try thrown { try Journal(path: path) }
        #expect(error == .newerVersion(path: path, found: 99, known: JournalSchema.version))
        let wanted = """
            \(path) has store version 99, this rollcall knows up to \(JournalSchema.version): \
            run the newer rollcall, or restore a backup made before the upgrade
            """
        #expect(error.description == wanted)
        #expect(throws: error) { try JournalReader(path: path) }
        #expect(directory.bytes("rollcall.db") == before)
    }

    @Test func `another application's file is refused and stays as it was`() throws {
        try StoreFile.create(path)
        let other = try SQLiteConnection(path: path, access: .readWrite)
        try other.run("CREATE TABLE theirs(x)")
        try other.close()
        let before = directory.bytes("rollcall.db")
        let error = try thrown { try Journal(path: path) }
        #expect(error == .foreignFile(path: path, applicationID: 0, version: 0))
        #expect(directory.bytes("rollcall.db") == before)
    }

    @Test func `what is no database is called corrupt`() throws {
        directory.write("rollcall.db", "Dear diary, this is no database at all.")
        let error = try thrown { try Journal(path: path) }
        #expect(error.disposition == .fatal(.corrupt))
        let missing = try thrown { try Journal(path: "/no/such/r.db") }
        #expect(missing == .file(call: "realpath", path: "/no/such", errno: ENOENT))
    }

    // MARK: Trouble

    @Test func `a full disk refuses a turn whole and takes it when there is room`() throws {
        let journal = try Journal(path: path)
        try journal.turn(1, rows: [(1, "before")])
        try journal.connection.run("PRAGMA max_page_count = 1")
        let large = String(repeating: "x", count: 100_000)
        try journal.begin()
        try journal.append(id: 2, text: "small")
        let error = try thrown { try journal.append(id: 3, text: large) }
        #expect(error.disposition == .recoverable(.full))
        let wanted = """
            INSERT INTO journal(id, kind, responder, previous, body, checksum) \
            VALUES(:id, :kind, :responder, :previous, :body, :checksum): database or disk is full \
            (SQLite 13, errno 0): free some space
            """
        #expect(error.description == wanted)
        // SQLite may have rolled back by itself; a row now would be committed alone.
        #expect(throws: error) { try journal.append(id: 4, text: "alone") }
        #expect(throws: error) { try journal.commit() }
        try journal.rollback()
        #expect(journal.lastRow == 1)
        try journal.connection.run("PRAGMA max_page_count = 1073741823")
        try journal.turn(2, rows: [(2, "small"), (3, "large")])
        let wantedTail = ["2/1/0/0 small", "3/1/0/0 large", "turn 2"]
        #expect(try journal.tail(after: 1) == wantedTail)
    }

    @Test func `somebody else's lock is waited for briefly and is recoverable`() throws {
        let journal = try Journal(path: path)
        let outsider = try SQLiteConnection(path: path, access: .readWrite)
        try outsider.run("BEGIN IMMEDIATE")
        let error = try thrown { try journal.begin() }
        #expect(error.disposition == .recoverable(.busy))
        try journal.rollback()
        try outsider.run("ROLLBACK")
        try journal.turn(1, rows: [(1, "a")])
    }

    @Test func `errors of the disk are told apart by what they mean for a retry`() {
        func disposition(_ code: Int32, _ errno: Int32 = 0) -> StoreError.Disposition {
            StoreError.sqlite(
                SQLiteFailure(extendedCode: code, systemError: errno, message: "", sql: "")
            ).disposition
        }
        #expect(disposition(rollcall_ioerr_fsync, ENOSPC) == .fatal(.io))
        #expect(disposition(rollcall_ioerr_write, EIO) == .fatal(.io))
        #expect(disposition(rollcall_ioerr_write, EDQUOT) == .recoverable(.full))
        #expect(disposition(rollcall_ioerr_write, EROFS) == .recoverable(.readOnly))
        #expect(disposition(SQLITE_IOERR) == .fatal(.io))
        #expect(disposition(SQLITE_READONLY) == .recoverable(.readOnly))
        #expect(disposition(rollcall_readonly_dbmoved) == .fatal(.moved))
        #expect(disposition(SQLITE_CORRUPT) == .fatal(.corrupt))
        #expect(disposition(SQLITE_CONSTRAINT) == .fatal(.defect))
        let sync = StoreError.file(call: "fsync", path: "/", errno: ENOSPC)
        #expect(sync.disposition == .fatal(.io))
    }

    // MARK: Checkpoints

    @Test func `the two newest checkpoints are kept, and of each earlier day the newest`() throws {
        let journal = try Journal(path: path)
        let day: Int64 = 86_400_000
        let walls = [5, 6, day, day + 1, day + 2, day + 3]
        for (turn, wall) in zip(Int64(1)..., walls) {
            try journal.checkpoint(turn, wall: wall, slices: ["s\(turn)", "t\(turn)"])
        }
        try journal.begin()
        while try journal.pruneCheckpoints(slicesMax: 1) {}
        try journal.commit()
        var kept: [Int64] = []
        while let next = try journal.newestCheckpoint(notAfterTurn: (kept.last ?? 99) - 1) {
            kept.append(next.turn)
        }
        #expect(kept == [6, 5, 2])
        #expect(try journal.connection.integer("SELECT count(*) FROM checkpoint_slices") == 6)
        let newest = try #require(try journal.newestCheckpoint())
        let wanted = EngineCheckpoint(
            turn: 6, engineVersion: 8, slices: 2, createdMilliseconds: day + 3)
        #expect(newest == wanted)
        #expect(try journal.slices(of: newest) == ["s6", "t6"])
    }

    @Test func `an unfinished checkpoint is never read and goes after a restart`() throws {
        var journal = try Journal(path: path)
        try journal.checkpoint(1, wall: 1, slices: ["whole"])
        try journal.begin()
        try journal.beginCheckpoint(turn: 2, engineVersion: 8, wallMilliseconds: 2)
        try journal.slice(of: 2, 0, "half")
        try journal.commit()
        #expect(try journal.newestCheckpoint()?.turn == 1)
        try journal.close()
        journal = try Journal(path: path)
        #expect(try journal.newestCheckpoint()?.turn == 1)
        try journal.checkpoint(3, wall: 3, slices: ["new"])
        #expect(try journal.connection.integer("SELECT count(*) FROM checkpoints") == 2)
        #expect(try journal.connection.integer("SELECT count(*) FROM checkpoint_slices") == 2)
    }

    @Test func `a checkpoint that lacks a slice is damaged`() throws {
        let journal = try Journal(path: path)
        try journal.checkpoint(1, wall: 1, slices: ["a", "b", "c"])
        try journal.connection.run("DELETE FROM checkpoint_slices WHERE slice = 1")
        let checkpoint = try #require(try journal.newestCheckpoint())
        #expect(throws: StoreError.damaged("checkpoint of turn 1 has 1 of 3 whole slices")) {
            try journal.slices(of: checkpoint)
        }
    }

    // MARK: Readers

    @Test func `a reader walks back pointers, page by page, and never crosses people`() throws {
        let journal = try Journal(path: path)
        try journal.begin()
        for id in 1...6 as ClosedRange<Int64> {
            // What goes below was a turn of its own.
            if id == 3 {
                try journal.write(turn: .of(1, 1...2))
                try journal.commit()
                try journal.begin()
            }
            let responder = id % 2 + 1
            try journal.append(
                id: id, kind: 1, responder: responder, previous: max(0, id - 2), text: "\(id)")
            try journal.decide(
                id: id, turn: 1, responder: responder, previous: max(0, id - 2), at: id * 10,
                text: "d\(id)")
        }
        try journal.append(id: 7, kind: 1, responder: 9, previous: 6, text: "not theirs")
        try journal.write(turn: .of(2, 3...7))
        try journal.commit()
        let reader = try JournalReader(path: path)
        #expect(try reader.rows(from: 6, limit: 2) == (["6", "4"], 2))
        #expect(try reader.rows(from: 2, limit: 2) == (["2"], 0))
        #expect(try reader.rows(from: 99, limit: 2) == ([], 0))
        var seen: [Int64] = []
        let next = try reader.decisions(from: 5, atMilliseconds: 20...45, limit: 9) {
            seen.append($0.id)
        }
        #expect(seen == [3] && next == 0)
        #expect(throws: StoreError.damaged("row 6 of responder 1 points back to 4")) {
            try reader.rows(from: 7, limit: 9)
        }
        try journal.connection.run("DELETE FROM journal WHERE id <= 2")
        #expect(try reader.rows(from: 6, limit: 9) == (["6", "4"], 0))
    }

    @Test func `a reader sees what is committed and delays a truncate only`() throws {
        let journal = try Journal(path: path)
        try journal.turn(1, rows: [(1, "a")])
        let reader = try JournalReader(path: path)
        try journal.begin()
        try journal.append(id: 2, text: "b")
        #expect(try reader.rows(from: 2, limit: 1) == ([], 0))
        try journal.write(turn: .of(2, 2...2))
        try journal.commit()
        #expect(try reader.rows(from: 2, limit: 1) == (["b"], 0))

        let slow = try SQLiteConnection(path: path, access: .readOnly)
        try slow.run("BEGIN")
        #expect(try slow.integer("SELECT count(*) FROM journal") == 2)
        let error = try thrown { try slow.run("DELETE FROM journal") }
        #expect(error.disposition == .recoverable(.readOnly))
        try journal.turn(3, rows: [(3, "c")])
        #expect(try journal.checkpointWAL(.truncate).isBusy)
        let passive = try journal.checkpointWAL(.passive)
        #expect(!passive.isBusy && passive.checkpointed < passive.frames)
        try slow.run("COMMIT")
        let truncated = WALCheckpoint(isBusy: false, frames: 0, checkpointed: 0)
        #expect(try journal.checkpointWAL(.truncate) == truncated)
        #expect(directory.size("rollcall.db-wal") == 0)
    }
}
