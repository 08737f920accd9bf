import CSQLite
import Glibc
import Testing

@testable import RollcallStore

/// The journal on a disk that fails when told to. One after the other: the faults are global.
@Suite(.serialized) struct JournalFaultTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.store }

    @Test func `whichever write finds no room, the turn is refused whole and taken later`() throws {
        // Larger than the page cache, so that some writes come before the commit.
        let rows = (3...14).map { (Int64($0), String(repeating: "x", count: 1 << 20)) }
        var refused: Set<String> = []
        for room in sequence(first: 0, next: { $0 < 8 ? $0 + 1 : $0 * 2 }) {
            let directory = TemporaryDirectory()
            let path = directory.store
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

    @Test func `whichever write finds no room, decisions are refused and taken later`() throws {
        func decide(_ journal: Journal) throws {
            try journal.begin()
            for id in 1...40 as ClosedRange<Int64> {
                try journal.decide(
                    id: id, turn: 2, responder: id, previous: 0, at: id,
                    text: String(repeating: "x", count: 1 << 19))
            }
            try journal.write(turn: .of(2, nil))
            try journal.commit()
        }
        for room in sequence(first: 0, next: { $0 < 8 ? $0 + 1 : $0 * 2 }) {
            let directory = TemporaryDirectory()
            let journal = try Journal(path: directory.store, vfs: FaultyDisk.install())
            FaultyDisk.writesLeft = room
            defer { FaultyDisk.writesLeft = .max }
            do {
                try decide(journal)
                break
            } catch let error as StoreError {
                FaultyDisk.writesLeft = .max
                #expect(error.disposition == .recoverable(.full))
                try journal.rollback()
                #expect(try journal.decisionsAfter(turn: 0) == [])
                try decide(journal)
                #expect(try journal.decisionsAfter(turn: 0).count == 40)
            }
        }
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
