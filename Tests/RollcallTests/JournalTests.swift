import CSQLite
import Glibc
import Testing

@testable import Rollcall

/// The journal against real files, in a directory of its own per test.
@Suite struct JournalTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/rollcall.db" }

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
            "wal", "2", "normal", "0", "67108864", "1", "0", "1", "1", "2", "0", "1380729676", "1",
            "4096",
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
        let found = try Journal(path: killed.path + "/rollcall.db")
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
        try journal.connection.run("PRAGMA user_version = 2")
        try journal.close()
        let before = directory.bytes("rollcall.db")
        let error = try thrown { try Journal(path: path) }
        #expect(error == .newerVersion(path: path, found: 2, known: 1))
        let wanted = """
            \(path) has store version 2, this rollcall knows up to 1: run the newer rollcall, \
            or restore a backup made before the upgrade
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
            INSERT INTO journal(id, kind, responder, previous, body) VALUES(?, ?, ?, ?, ?): \
            database or disk is full (SQLite 13, errno 0): free some space; it is tried again by \
            itself
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
        #expect(throws: StoreError.damaged("checkpoint of turn 1 has 1 of 3 slices")) {
            try journal.slices(of: checkpoint)
        }
    }

    // MARK: Readers

    @Test func `a reader walks back pointers, page by page, and never crosses people`() throws {
        let journal = try Journal(path: path)
        try journal.begin()
        for id in 1...6 as ClosedRange<Int64> {
            let responder = id % 2 + 1
            try journal.append(
                id: id, kind: 1, responder: responder, previous: max(0, id - 2), text: "\(id)")
            try journal.decide(
                id: id, turn: 1, responder: responder, previous: max(0, id - 2), at: id * 10,
                text: "d\(id)")
        }
        try journal.append(id: 7, kind: 1, responder: 9, previous: 6, text: "not theirs")
        try journal.write(turn: .of(1, 1...7))
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

/// The journal on a disk that fails when told to. One after the other: the faults are global.
@Suite(.serialized) struct JournalFaultTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/rollcall.db" }

    @Test func `whichever write finds no room, the turn is refused whole and taken later`() throws {
        // Larger than the page cache, so that some writes come before the commit.
        let rows = (3...14).map { (Int64($0), String(repeating: "x", count: 1 << 20)) }
        var refused: Set<String> = []
        for room in sequence(first: 0, next: { $0 < 8 ? $0 + 1 : $0 * 2 }) {
            let directory = TemporaryDirectory()
            let path = directory.path + "/rollcall.db"
            let journal = try Journal(path: path, vfs: FaultyDisk.install())
            try journal.turn(1, rows: [(1, "a"), (2, "b")])
            FaultyDisk.writesLeft = room
            defer { FaultyDisk.writesLeft = .max }
            do {
                try journal.turn(2, rows: rows)
                break
            } catch let error as StoreError {
                FaultyDisk.writesLeft = .max
                guard case .sqlite(let failure) = error else { throw error }
                refused.insert(String(failure.sql.prefix(6)))
                #expect(error.disposition == .recoverable(.full))
                try journal.rollback()
                #expect(try journal.tail(after: 1) == [])
                try journal.turn(2, rows: rows)
            }
            try journal.close()
            #expect(try Journal(path: path).tail(after: 1).count == 13)
        }
        #expect(refused == ["INSERT", "COMMIT"])
    }

    @Test func `a checkpoint that finds no room loses nothing and is done later`() throws {
        let journal = try Journal(path: path, vfs: FaultyDisk.install())
        try journal.turn(1, rows: [(1, "a")])
        FaultyDisk.writesLeft = 1
        let error = try thrown { try journal.checkpointWAL(.truncate) }
        FaultyDisk.writesLeft = .max
        #expect(error.disposition == .recoverable(.full))
        try journal.turn(2, rows: [(2, "b")])
        #expect(try !journal.checkpointWAL(.truncate).isBusy)
        #expect(try journal.tail(after: 0) == ["1/1/0/0 a", "turn 1", "2/1/0/0 b", "turn 2"])
    }

    @Test func `a failed fsync is final: no call tries it again`() throws {
        let journal = try Journal(path: path, vfs: FaultyDisk.install())
        try journal.turn(1, rows: [(1, "a")])
        FaultyDisk.sync = rollcall_ioerr_fsync
        let error = try thrown { try journal.turn(2, rows: [(2, "b")]) }
        FaultyDisk.sync = SQLITE_OK
        #expect(error.disposition == .fatal(.io))
        try journal.rollback()
        #expect(throws: error) { try journal.begin() }
        #expect(throws: error) { try journal.checkpointWAL(.passive) }
        #expect(throws: error) { try journal.close() }
        // Whether turn 2 is there is unknown, as its 503 said; turn 1 was acknowledged.
        #expect(try Journal(path: path).tail(after: 0).prefix(2) == ["1/1/0/0 a", "turn 1"])
    }

    @Test func `a failed fsync while checkpointing or closing is not swallowed`() throws {
        let journal = try Journal(path: path, vfs: FaultyDisk.install())
        try journal.turn(1, rows: [(1, "a")])
        FaultyDisk.sync = rollcall_ioerr_fsync
        defer { FaultyDisk.sync = SQLITE_OK }
        let error = try thrown { try journal.close() }
        #expect(error.disposition == .fatal(.io))
        FaultyDisk.sync = SQLITE_OK
        #expect(try Journal(path: path).tail(after: 0) == ["1/1/0/0 a", "turn 1"])
    }
}

/// SQLite's own system layer, whose writes and syncs return what a test wants.
private enum FaultyDisk {
    nonisolated(unsafe) static var writesLeft = Int.max
    nonisolated(unsafe) static var sync = SQLITE_OK
    nonisolated(unsafe) private static let real =
        UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    nonisolated(unsafe) private static let layer =
        UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    private static let registered: Int32 = register()

    /// Makes the layer known to SQLite and returns its name.
    static func install() -> String {
        #expect(registered == SQLITE_OK)
        return "faulty"
    }

    private static func register() -> Int32 {
        guard let system = sqlite3_vfs_find("unix") else { return SQLITE_ERROR }
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("faulty"))
        layer.pointee.xOpen = { layer, name, file, flags, flagsOut in
            let code = sqlite3_vfs_find("unix").pointee.xOpen(layer, name, file, flags, flagsOut)
            guard code == SQLITE_OK, let methods = file?.pointee.pMethods else { return code }
            file?.pointee.pMethods = FaultyDisk.faulty(methods.pointee)
            return code
        }
        return sqlite3_vfs_register(layer, 0)
    }

    /// A table per file, never freed: the database's has locks, the log's has none.
    private static func faulty(_ methods: sqlite3_io_methods) -> UnsafePointer<sqlite3_io_methods> {
        real.initialize(to: methods)
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: methods)
        table.pointee.xWrite = { file, bytes, count, offset in
            guard FaultyDisk.writesLeft > 0 else { return SQLITE_FULL }
            FaultyDisk.writesLeft -= 1
            return FaultyDisk.real.pointee.xWrite(file, bytes, count, offset)
        }
        table.pointee.xSync = { file, flags in
            guard FaultyDisk.sync == SQLITE_OK else { return FaultyDisk.sync }
            return FaultyDisk.real.pointee.xSync(file, flags)
        }
        return UnsafePointer(table)
    }
}

/// A directory that goes with its test. Without Foundation, as the journal itself.
private final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/journal-tests-XXXXXX".utf8CString)
        let made = mkdtemp(&template).flatMap { realpath($0, nil) }
        path = made.map { String(cString: $0) } ?? ""
        free(made)
        precondition(!path.isEmpty, "mkdtemp")
    }

    deinit {
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + "/rollcall.db" + suffix) }
        unlink(path + "/alias.db")
        rmdir(path)
    }

    func size(_ name: String) -> Int {
        var status = stat()
        return stat(path + "/" + name, &status) == 0 ? Int(status.st_size) : -1
    }

    func bytes(_ name: String) -> [UInt8] {
        let file = open(path + "/" + name, O_RDONLY)
        defer { close(file) }
        return [UInt8](unsafeUninitializedCapacity: max(0, size(name))) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
    }

    func write(_ name: String, _ text: String) {
        write(name, Array(text.utf8))
    }

    func copy(_ name: String, to other: TemporaryDirectory) {
        other.write(name, bytes(name))
    }

    private func write(_ name: String, _ bytes: [UInt8]) {
        let file = open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(file) }
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }
}

private func thrown<Result>(_ body: () throws -> Result) throws -> StoreError {
    try #require(throws: StoreError.self) { _ = try body() }
}

extension Turn {
    fileprivate static func of(_ number: Int64, _ rows: ClosedRange<Int64>?) -> Turn {
        Turn(
            number: number, nowMilliseconds: number, wallMilliseconds: number,
            firstRow: rows?.lowerBound ?? 1, lastRow: rows?.upperBound ?? 0, engineVersion: 8)
    }
}

extension Journal {
    fileprivate func append(
        id: Int64, kind: UInt8 = 1, responder: Int64 = 0, previous: Int64 = 0, text: String
    ) throws {
        try Array(text.utf8).withUnsafeBytes {
            try append(id: id, kind: kind, responder: responder, previous: previous, body: $0)
        }
    }

    fileprivate func decide(
        id: Int64, turn: Int64, responder: Int64, previous: Int64, at: Int64, text: String
    ) throws {
        try Array(text.utf8).withUnsafeBytes {
            try appendDecision(
                id: id, turn: turn, kind: 1, responder: responder, previous: previous,
                atMilliseconds: at, body: $0)
        }
    }

    fileprivate func turn(_ number: Int64, rows: [(id: Int64, text: String)]) throws {
        try begin()
        for row in rows { try append(id: row.id, text: row.text) }
        let range = rows.first.map { $0.id...(rows.last?.id ?? $0.id) }
        try write(turn: .of(number, range))
        try commit()
    }

    fileprivate func slice(of turn: Int64, _ index: Int64, _ text: String) throws {
        try Array(text.utf8).withUnsafeBytes {
            try appendSlice(turn: turn, index: index, body: $0)
        }
    }

    fileprivate func checkpoint(_ turn: Int64, wall: Int64, slices: [String]) throws {
        try begin()
        try beginCheckpoint(turn: turn, engineVersion: 8, wallMilliseconds: wall)
        for (index, text) in slices.enumerated() { try slice(of: turn, Int64(index), text) }
        try completeCheckpoint(turn: turn, slices: Int64(slices.count))
        try commit()
    }

    @discardableResult
    fileprivate func slices(of checkpoint: EngineCheckpoint) throws -> [String] {
        var texts: [String] = []
        try readSlices(of: checkpoint) { texts.append(String(decoding: $0, as: UTF8.self)) }
        return texts
    }

    fileprivate func tail(after turn: Int64) throws -> [String] {
        var lines: [String] = []
        try replayTail(
            afterTurn: turn,
            row: { row in
                let text = String(decoding: row.body, as: UTF8.self)
                lines.append("\(row.id)/\(row.kind)/\(row.responder)/\(row.previous) \(text)")
            },
            turn: { lines.append("turn \($0.number)") })
        return lines
    }

    fileprivate func decisionsAfter(turn: Int64) throws -> [String] {
        var lines: [String] = []
        try replayDecisions(afterTurn: turn) { row in
            let text = String(decoding: row.body, as: UTF8.self)
            let numbers = "\(row.responder)/\(row.previous)/\(row.atMilliseconds)"
            lines.append("\(row.id)@\(row.turn)/\(numbers) \(text)")
        }
        return lines
    }
}

extension JournalReader {
    @discardableResult
    fileprivate func rows(from id: Int64, limit: Int) throws -> ([String], Int64) {
        var texts: [String] = []
        let next = try walk(from: id, limit: limit) {
            texts.append(String(decoding: $0.body, as: UTF8.self))
        }
        return (texts, next)
    }
}
